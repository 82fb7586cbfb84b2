"""The folder of a tuning run: the files of each iteration, and how a decoder's list is added.

A run of its own keeps everything in one folder, ``run3.weights``, ``run3.nbest.gz``, ``run3.log``, ``run3.json`` and
``plan.json``. A campaign keeps ``weights/3.weights``, ``weights/3.log`` and ``lists/3.nbest.gz``. In both, a list
appears under its name only when it is whole and was checked, so a run that was killed anywhere can be repeated.
"""

import gzip
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mert.decoder import Decoder, last_words
from rypt.campaign.folder import Campaign
from rypt.locked_files import lock
from rypt.text import InputError, RyptError, read_bytes

LISTS, WEIGHTS = "lists", "weights"  # the folders of a campaign
ATTEMPT = "decoding."  # what the folder of an unfinished decoding is called


@dataclass(frozen=True, slots=True)
class TuningFolder:
    """Where the files of iterations lie; their names begin with ``prefix`` and the number of the iteration.

    >>> TuningFolder.of_run(Path("rypt-tune")).list_file(3).as_posix()
    'rypt-tune/run3.nbest.gz'
    """

    lists: Path
    weights: Path
    prefix: str = ""

    @classmethod
    def of_run(cls, folder: Path) -> "TuningFolder":
        """The folder of a run of its own."""
        return cls(folder, folder, "run")

    @classmethod
    def of_campaign(cls, campaign: Campaign) -> "TuningFolder":
        """The two folders in which a campaign keeps its iterations."""
        return cls(campaign.path(LISTS), campaign.path(WEIGHTS))

    @property
    def plan_file(self) -> Path:
        """The plan of the run."""
        return self.lists / "plan.json"

    def weights_file(self, number: int) -> Path:
        """The weights that an iteration decodes with."""
        return self.weights / f"{self.prefix}{number}.weights"

    def list_file(self, number: int) -> Path:
        """The n-best list of an iteration, once it is whole."""
        return self.lists / f"{self.prefix}{number}.nbest.gz"

    def log_file(self, number: int) -> Path:
        """What the decoder printed."""
        return self.weights_file(number).with_suffix(".log")

    def record_file(self, number: int) -> Path:
        """The result of an iteration."""
        return self.lists / f"{self.prefix}{number}.json"

    def weights_files(self) -> dict[int, Path]:
        """The files of weights by their iteration, in order."""
        return self._numbered(self.weights, "weights")

    def list_files(self) -> dict[int, Path]:
        """The lists by their iteration, in order."""
        return self._numbered(self.lists, "nbest.gz")

    def _numbered(self, folder: Path, suffix: str) -> dict[int, Path]:
        pattern = re.compile(rf"{self.prefix}([1-9][0-9]{{0,8}})\.{re.escape(suffix)}")
        names = {path: pattern.fullmatch(path.name) for path in folder.glob(f"{self.prefix}*.{suffix}")}
        return dict(sorted((int(match[1]), path) for path, match in names.items() if match))

    def make(self) -> None:
        """Make the folders that do not exist."""
        for folder in (self.lists, self.weights):
            folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep a second run out of the folder."""
        with open(self.lists / "lock", "w") as file:
            if not lock(file):
                raise RyptError(f"another run is at work in {self.lists}")
            yield

    def decode(self, number: int, decoder: Decoder, check: Callable[[Path], None]) -> None:
        """Run a decoder with the weights of an iteration and keep its list, unless ``check`` refuses it.

        It writes to a folder of this attempt, out of the way of what an earlier attempt may have left running.
        """
        for stale in self.lists.glob(f"{ATTEMPT}*"):
            shutil.rmtree(stale, ignore_errors=True)
        attempt = Path(tempfile.mkdtemp(prefix=ATTEMPT, dir=self.lists)).resolve()
        nbest = attempt / f"{self.prefix}{number}.nbest"
        decoder(number, self.weights_file(number).resolve(), nbest)
        try:
            check_whole(nbest)
            check(nbest)
        except InputError as error:
            raise RyptError(f"{error}{last_words(self.log_file(number))}") from None
        keep_list(nbest, self.list_file(number))
        shutil.rmtree(attempt, ignore_errors=True)


def check_whole(nbest: Path) -> None:
    """Refuse a list that is empty or cut off."""
    data = read_bytes(nbest) if nbest.is_file() else b""
    if not data.strip():
        raise InputError(nbest, None, "the decoder wrote no candidates")
    if not data.endswith(b"\n"):
        line = data.count(b"\n") + 1
        raise InputError(
            nbest, line, "the list breaks off in the middle of a line: the decoder did not finish it"
        )


def keep_list(nbest: Path, kept: Path) -> None:
    """Move a list to its place, compressed; it appears there whole."""
    data = nbest.read_bytes()
    part = kept.with_name(kept.name + ".part")
    with open(part, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as stream:
        stream.write(data)
    with open(part, "rb") as written:
        os.fsync(written.fileno())
    shutil.move(part, kept)
    nbest.unlink()
