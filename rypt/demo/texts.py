"""The demo's data and sizes: bundled German-English texts written for this project, and simulated judgments."""

import json
from dataclasses import asdict, dataclass
from importlib.resources import as_file, files
from pathlib import Path

from rypt.campaign.create import create_campaign
from rypt.campaign.folder import Campaign
from rypt.campaign.settings import SETTINGS, Languages
from rypt.database.exchange import import_file
from rypt.text import InputError, open_output, read_lines

DATABASE = "judgments.db"
SMALL = (
    *("source.de", "trees.de", "nbest.en", "reference.en", "reference.align", "weights.init"),
    "judgments.jsonl",
)
PLAN = "demo.json"
TUNE, UNSEEN = "tune", "unseen"
ENDINGS = (".de", ".en", ".trees", ".truth.jsonl", ".pool")
START = "start.weights"


@dataclass(frozen=True, slots=True)
class Plan:
    """How large the demo is, and who judges.

    ``labels`` is the maximum number of new questions of an iteration, ``size`` the number of candidates of a segment.
    Two systems are compared on ``compared`` unseen segments, both results by ``judges`` workers each time. With
    ``people`` a person judges in the browser, in the last iteration and in one comparison; ``begun`` is the maximum
    number of new questions of the iterations before, which simulated workers answer. ``segments`` limits both texts.
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


def open_demo(folder: Path) -> Campaign:
    """Make the small campaign: copy its texts into the folder and import its judgments; existing parts stay."""
    if (folder / SETTINGS).exists():
        if not all((folder / name).exists() for name in SMALL):
            raise InputError(folder, None, "is a campaign, but not the demo's")
        campaign = Campaign.open(folder)
    else:
        partial = {*SMALL, DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"}  # what an interrupted demo leaves
        if folder.exists() and not {path.name for path in folder.iterdir()} <= partial:
            raise InputError(folder, None, "expected a new or empty folder for the demo")
        folder.mkdir(parents=True, exist_ok=True)
        for name in SMALL:
            _copy(name, folder / name)
        campaign = create_campaign(
            folder,
            source=folder / "source.de",
            trees=folder / "trees.de",
            nbest=[folder / "nbest.en"],
            references=[folder / "reference.en"],
            languages=Languages("de", "en"),
        )
    with campaign.database(readonly=False) as db:
        import_file(db, folder / "judgments.jsonl")
    return campaign


def begin(folder: Path, plan: Plan) -> None:
    """Copy the texts of the demo into a new folder, or check that the one in the folder has the same plan."""
    file = folder / PLAN
    if not file.exists():
        others = {path.name for path in folder.iterdir()} - {"texts"} if folder.exists() else set()
        if others:  # texts alone are an interrupted start
            message = "expected a new or empty folder for the demo, or one of an earlier demo"
            raise InputError(folder, None, message)
        (folder / "texts").mkdir(parents=True, exist_ok=True)
        _copy(START, folder / "texts" / START)
        for name in (f"{part}{ending}" for part in (TUNE, UNSEEN) for ending in ENDINGS):
            _copy(name, folder / "texts" / name, plan.segments)
        with open_output(file) as stream:
            stream.write(json.dumps(asdict(plan)) + "\n")
        return
    try:
        before = Plan(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        raise InputError(file, None, "expected the plan of a demo; take another folder") from None
    if before != plan:
        differ = [name for name, value in asdict(plan).items() if getattr(before, name) != value]
        options = ", ".join(f"{name} {getattr(before, name)}" for name in differ)
        message = f"a demo was begun here with {options}: give the same options to go on, or another folder"
        raise InputError(folder, None, message)


def _copy(name: str, path: Path, segments: int | None = None) -> None:
    """Copy a bundled file, or its first segments; large files are compressed."""
    data = files("rypt.demo") / "data"
    bundled = data / f"{name}.gz"
    with as_file(bundled if bundled.is_file() else data / name) as source, open_output(path) as stream:
        for number, line in read_lines(source):
            if segments is None or _segment(name, number, line) < segments:
                stream.write(f"{line}\n")


def _segment(name: str, number: int, line: str) -> int:
    """The number of the segment, from 0, that a line is about."""
    if name.endswith(".pool"):
        return int(line.partition(" ")[0])
    return int(json.loads(line)["segment"]) if name.endswith(".jsonl") else number - 1
