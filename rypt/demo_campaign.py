"""The bundled demo: German-English texts written for this project, and simulated judgments."""

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from rypt.campaign import SETTINGS, Campaign, create
from rypt.exchange import import_file
from rypt.text import InputError

TEXTS = ("source.de", "trees.de", "nbest.en", "reference.en", "reference.align", "weights.init", "judgments.jsonl")


def open_demo(folder: Path) -> Campaign:
    """Copy the texts into the folder, make the campaign and import the judgments; what is there is used again."""
    if (folder / SETTINGS).exists():
        campaign = Campaign.open(folder)
    else:
        if folder.exists() and any(folder.iterdir()):
            raise InputError(folder, None, "expected a new or empty folder for the demo")
        folder.mkdir(parents=True, exist_ok=True)
        with as_file(files("rypt") / "demo") as bundled:
            for name in TEXTS:
                shutil.copyfile(bundled / name, folder / name)
        campaign = create(
            folder,
            source=folder / "source.de",
            trees=folder / "trees.de",
            nbest=[folder / "nbest.en"],
            references=[folder / "reference.en"],
            languages=("de", "en"),
        )
    with campaign.database(readonly=False) as db:
        import_file(db, folder / "judgments.jsonl")
    return campaign
