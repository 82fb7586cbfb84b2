"""The bundled demo: German-English texts written for this project, and simulated judgments."""

from importlib.resources import files
from pathlib import Path

from rypt.campaign.folder import Campaign, create
from rypt.campaign.settings import SETTINGS, Languages
from rypt.database.exchange import import_file
from rypt.text import InputError, open_output

DATABASE = "judgments.db"
TEXTS = (
    "source.de",
    "trees.de",
    "nbest.en",
    "reference.en",
    "reference.align",
    "weights.init",
    "judgments.jsonl",
)


def open_demo(folder: Path) -> Campaign:
    """Copy the texts into the folder, make the campaign and import the judgments; existing parts are kept."""
    if (folder / SETTINGS).exists():
        if not all((folder / name).exists() for name in TEXTS):
            raise InputError(folder, None, "is a campaign, but not the demo's")
        campaign = Campaign.open(folder)
    else:
        ours = {*TEXTS, DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"}  # what an interrupted demo leaves
        if folder.exists() and not {path.name for path in folder.iterdir()} <= ours:
            raise InputError(folder, None, "expected a new or empty folder for the demo")
        folder.mkdir(parents=True, exist_ok=True)
        for name in TEXTS:
            with open_output(folder / name) as stream:
                stream.write((files("rypt.demo") / "data" / name).read_text(encoding="utf-8"))
        campaign = create(
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
