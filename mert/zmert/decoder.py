"""How Z-MERT decodes: weights go into the decoder's own configuration file, a script is run, its list is collected."""

import gzip
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from mert.decoder import NoMoreListsError, run_command
from mert.weights import read_weights
from mert.zmert.lists import ListRules
from rypt.text import InputError, open_binary_output, open_output

ORIGINAL = ".ZMERT.orig"


def java_number(value: float) -> str:
    """A number as Java prints it, which is what decoders that worked with Z-MERT have read so far.

    >>> java_number(0.5), java_number(1e-05), java_number(-2.5e7), java_number(100.0)
    ('0.5', '1.0E-5', '-2.5E7', '100.0')
    """
    if value == 0:
        return repr(value)
    exact = Decimal(repr(value)).normalize()
    if 1e-3 <= abs(value) < 1e7:
        text = f"{exact:f}"
        return text if "." in text else f"{text}.0"
    first, *others = map(str, exact.as_tuple().digits)
    return f"{'-' if value < 0 else ''}{first}.{''.join(others) or '0'}E{exact.adjusted()}"


class DecoderConfig:
    """A decoder's configuration: any text, in which lines that begin with the name of a weight and a space hold it.

    During a run the original file is kept beside it as ``.ZMERT.orig``; in the end it is put back, and the file with
    the final weights is ``.ZMERT.final``. A run that was killed is recognised by the kept file.
    """

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.path = path
        self.names = [name.encode() for name in names]
        self.original = path.with_name(path.name + ORIGINAL)
        self.template = (self.original if self.original.exists() else path).read_bytes()
        if self.original.exists() and path.exists():
            same = dict.fromkeys(names, 0.0)
            if self.filled(same) != self._fill(path.read_bytes(), same):
                message = f"expected only other weights than in {self.original}, which a killed run left"
                raise InputError(path, None, f"{message}: remove one of the two")

    def missing(self, names: Sequence[str]) -> list[str]:
        """Those of some weights that have no line."""
        present = {self._name_of(line) for line in self.template.split(b"\n")}
        return [name for name in names if name.encode() not in present]

    def _name_of(self, line: bytes) -> bytes | None:
        return next((name for name in self.names if line.startswith(name + b" ")), None)

    def _fill(self, template: bytes, weights: Mapping[str, float]) -> bytes:
        lines = []
        for line in template.split(b"\n"):
            name = self._name_of(line)
            lines.append(
                line if name is None else f"{name.decode()} {java_number(weights[name.decode()])}".encode()
            )
        return b"\n".join(lines)

    def filled(self, weights: Mapping[str, float]) -> bytes:
        """The file with these weights."""
        return self._fill(self.template, weights)

    def write(self, weights: Mapping[str, float], copy: str | None) -> None:
        """Write the file with these weights, and a copy of it beside it, named with this ending."""
        if not self.original.exists():
            _write(self.original, self.template)
        _write(self.path, self.filled(weights))
        if copy:
            _write(self.path.with_name(self.path.name + copy), self.filled(weights))

    def finish(self, weights: Mapping[str, float]) -> None:
        """Write the final file and put the original back."""
        _write(self.path.with_name(self.path.name + ".ZMERT.final"), self.filled(weights))
        _write(self.path, self.template)
        self.original.unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    with open_binary_output(path) as stream:
        stream.write(data)


@dataclass(frozen=True, slots=True)
class Script:
    """The file of ``-cmd``, run as a shell script where it is no program; ``success`` is the exit code of success."""

    path: Path
    pass_iteration: bool
    success: int
    timeout: float | None

    def run(self, iteration: int, log: Path) -> None:
        """Run it; an exit code of success other than 0 is turned into 0, and printed if it is missed."""
        path = shlex.quote(str(self.path.absolute()))
        command = path if os.access(self.path, os.X_OK) else f"sh {path}"
        if self.pass_iteration:
            command += f" {iteration}"
        if self.success:
            message = f'echo "exit code $code, expected {self.success} (-decExit)"'
            command += f"; code=$?; [ $code -eq {self.success} ] && exit 0; {message}; exit 1"
        run_command(command, iteration, log, self.timeout)


@dataclass(frozen=True, slots=True)
class ZmertLists:
    """Where lists come from and what is kept of them.

    ``fake`` names ready lists, ``?`` standing for the iteration; without one there the iteration ends the name.
    """

    output: Path
    rules: ListRules
    fake: str | None
    keep: bool
    compress: bool

    def ready(self, iteration: int) -> Path | None:
        """The list that takes the decoder's place in an iteration, where there is one."""
        if self.fake is None:
            return None
        name = self.fake.replace("?", str(iteration), 1) if "?" in self.fake else f"{self.fake}{iteration}"
        return Path(name) if Path(name).is_file() else None

    def save(self, iteration: int) -> None:
        """Keep a copy of the decoder's list, as ``.ZMERT.itK``."""
        data = self.output.read_bytes()
        kept = self.output.with_name(f"{self.output.name.removesuffix('.gz')}.ZMERT.it{iteration}")
        if self.output.suffix != ".gz" and not self.compress:
            _write(kept, data)
            return
        data = data if self.output.suffix == ".gz" else gzip.compress(data, mtime=0)
        kept.with_name(f"{kept.name}.gz").write_bytes(data)


class ZmertDecoder:
    """Decodes as Z-MERT does: the ready list of the iteration, else the script, else there are no more lists."""

    def __init__(
        self,
        config: DecoderConfig | None,
        script: Script | None,
        lists: ZmertLists,
        identity: str,
        *,
        keep_config: bool,
    ) -> None:
        self.config, self.script, self.lists, self.keep_config = config, script, lists, keep_config
        self.identity = identity

    def __call__(self, iteration: int, weights: Path, nbest: Path) -> None:
        """Decode, and write the list in the form of this package."""
        ready = self.lists.ready(iteration)
        if ready is None and self.script is None:
            raise NoMoreListsError
        if self.config is not None:
            self.config.write(
                read_weights(weights).values, f".ZMERT.it{iteration}" if self.keep_config else None
            )
        if ready is None:
            self._decode(iteration, weights)
        text = self.lists.rules.read(ready or self.lists.output)
        with open_output(nbest) as stream:
            stream.write(text)

    def _decode(self, iteration: int, weights: Path) -> None:
        assert self.script is not None
        output = self.lists.output
        output.unlink(missing_ok=True)  # an old list must not pass for a new one
        self.script.run(iteration, weights.with_suffix(".log"))
        if not output.is_file():
            raise InputError(output, None, f"the decoder wrote no such list in iteration {iteration}")
        if self.lists.keep:
            self.lists.save(iteration)

    def finish(self, weights: Mapping[str, float]) -> None:
        """Leave the decoder's files as Z-MERT does: the final configuration, the original one, no list."""
        if self.config is not None:
            self.config.finish(weights)
        if self.script is not None:
            self.lists.output.unlink(missing_ok=True)
