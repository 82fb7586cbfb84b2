"""The data of the demo: the bundled decoder, its corpus split for the demo, and all sizes."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import islice
from pathlib import Path

from rypt.text import InputError, open_output, read_lines

DECODER = Path(str(files("rypt.demo") / "decoder"))
KEPT = "demo.json"
TUNE, UNSEEN = "tune", "unseen"
TEXTS = ("de", "en", "trees")
START = "start.weights"


@dataclass(frozen=True, slots=True)
class Plan:
    """How large the demo is, and who judges.

    ``labels`` is the most new questions of an iteration, ``size`` how many candidates a segment has, ``compared`` on
    how many unseen segments two systems are compared, both results by ``judges`` workers each time. ``people``: a
    person judges in the browser, in the last iteration and in one comparison; ``begun`` is the most new questions of
    the iterations before, which simulated workers answer. ``segments`` is how many are taken at most of each part of
    the corpus.
    """

    labels: int = 200
    iterations: int = 3
    size: int = 15
    compared: int = 30
    judges: int = 3
    workers: int = 6
    accuracy: float = 0.9
    spam: float = 0.17
    budget: str = "60.00"
    seed: int = 1
    people: bool = False
    begun: int = 0
    segments: int = 120
    tune: tuple[str, ...] = ("dev", "test")
    unseen: tuple[str, ...] = ("heldout",)


def write_texts(folder: Path, plan: Plan) -> None:
    """Copy the corpus: segments to tune on, and segments that no tuning sees; the plan last, when all is there.

    The decoder starts with all weights 1, as ``rypt tune`` does when it is told nothing else.
    """
    texts = folder / "texts"
    texts.mkdir(parents=True, exist_ok=True)
    for name, parts in ((TUNE, plan.tune), (UNSEEN, plan.unseen)):
        for ending in TEXTS:
            lines = (line for part in parts for line in _first(part, ending, plan.segments))
            _write(texts / f"{name}.{ending}", lines)
        _write(texts / f"{name}.truth.jsonl", _truth(parts, plan.segments))
    known = (line for _, line in read_lines(DECODER / "weights.init"))
    _write(texts / START, (re.sub(r" -?[\d.]+", " 1", line) for line in known))
    with open_output(folder / KEPT) as stream:
        stream.write(json.dumps(asdict(plan)) + "\n")


def _first(part: str, ending: str, most: int) -> Iterator[str]:
    return islice((line for _, line in read_lines(DECODER / "corpus" / f"{part}.{ending}")), most)


def _truth(parts: Sequence[str], most: int) -> Iterator[str]:
    """The truth of the segments taken, which are numbered from 0 through all parts."""
    before = 0
    for part in parts:
        count = len(list(_first(part, "de", most)))
        for _, line in read_lines(DECODER / "corpus" / f"{part}.truth.jsonl"):
            record = json.loads(line)
            if (number := int(record["segment"])) < count:
                yield json.dumps({**record, "segment": str(before + number)}, ensure_ascii=False)
        before += count


def _write(path: Path, lines: Iterator[str]) -> None:
    with open_output(path) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def begin(folder: Path, plan: Plan) -> bool:
    """Whether the demo starts in this folder, rather than resumes; refuse a folder with other files."""
    kept = folder / KEPT
    if not kept.exists():
        names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        if folder.exists() and not names <= {"texts"}:  # what an interrupted beginning leaves
            raise InputError(
                folder, None, "expected a new or empty folder for the demo, or one of an earlier demo"
            )
        return True
    try:
        record = json.loads(kept.read_text(encoding="utf-8"))
        before = Plan(**{**record, "tune": tuple(record["tune"]), "unseen": tuple(record["unseen"])})
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(kept, None, "expected the plan of a demo; take another folder") from None
    if before != plan:
        differ = [name for name, value in asdict(plan).items() if getattr(before, name) != value]
        options = ", ".join(f"{name} {getattr(before, name)}" for name in differ)
        raise InputError(
            folder,
            None,
            f"a demo was begun here with {options}: give the same options to go on, or another folder",
        )
    return False
