"""How Z-MERT decodes: weights go into the decoder's own configuration file, a script is run, its list is collected."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mert.decoder import NoMoreListsError, run_command
from mert.weights import read_weights
from mert.zmert.lists import ListRules
from rypt.text import InputError, open_binary_output, open_output

ORIGINAL = ".ZMERT.orig"


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
            lines.append(line if name is None else name + f" {weights[name.decode()]!r}".encode())
        return b"\n".join(lines)

    def filled(self, weights: Mapping[str, float]) -> bytes:
        """The file with these weights."""
        return self._fill(self.template, weights)

    def write(self, weights: Mapping[str, float], copy: str | None) -> None:
        """Write the file with these weights, and a copy of it, named with this ending."""
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
class ZmertDecoder:
    """Decodes as Z-MERT does: the ready list of the iteration, else the script, else there are no more lists.

    ``script`` is the file of ``-cmd``, run by the shell where it is no program; it ends with the exit code ``success``,
    and is given the number of the iteration if ``pass_iteration``. ``fake`` names ready lists, ``?`` standing for the
    iteration; without one there the iteration ends the name. With ``save`` files of all iterations stay.
    """

    config: DecoderConfig | None
    script: Path | None
    output: Path
    rules: ListRules
    identity: str
    fake: str | None = None
    pass_iteration: bool = False
    success: int = 0
    save: bool = True

    def ready(self, iteration: int) -> Path | None:
        """The list that takes the decoder's place in an iteration, where there is one."""
        if self.fake is None:
            return None
        name = self.fake.replace("?", str(iteration), 1) if "?" in self.fake else f"{self.fake}{iteration}"
        return Path(name) if Path(name).is_file() else None

    def __call__(self, iteration: int, weights: Path, nbest: Path) -> None:
        """Decode, and write the list in the form of this package."""
        ready = self.ready(iteration)
        if ready is None and self.script is None:
            raise NoMoreListsError
        kept = f".ZMERT.it{iteration}"
        if self.config is not None:
            self.config.write(read_weights(weights).values, kept if self.save else None)
        if ready is None:
            self._run(iteration, weights.with_suffix(".log"))
            if self.save:
                _write(self.output.with_name(self.output.name + kept), self.output.read_bytes())
        text = self.rules.read(ready or self.output)
        with open_output(nbest) as stream:
            stream.write(text)

    def _run(self, iteration: int, log: Path) -> None:
        """Run the script; an exit code of success other than 0 is turned into 0, and printed if it is missed."""
        assert self.script is not None
        self.output.unlink(missing_ok=True)  # an old list must not pass for a new one
        path = shlex.quote(str(self.script.absolute()))
        command = path if os.access(self.script, os.X_OK) else f"sh {path}"
        if self.pass_iteration:
            command += f" {iteration}"
        if self.success:
            message = f'echo "exit code $code, expected {self.success} (-decExit)"'
            command += f"; code=$?; [ $code -eq {self.success} ] && exit 0; {message}; exit 1"
        run_command(command, iteration, log, None)
        if not self.output.is_file():
            raise InputError(self.output, None, f"the decoder wrote no such list in iteration {iteration}")

    def finish(self, weights: Mapping[str, float]) -> None:
        """Leave the decoder's files as Z-MERT does: the final configuration, the original one, no list."""
        if self.config is not None:
            self.config.finish(weights)
        if self.script is not None:
            self.output.unlink(missing_ok=True)
