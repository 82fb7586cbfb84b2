"""A campaign from one file of ratings: texts, trees, links, judgments and scores, each step made once.

    rated = make_rated_campaign(RatingsFile("mqm_ted_ende.tsv", references=("ref",)), "ted")
    rated.campaign, rated.scores, rated.judged_only        # what rypt compare scores needs

    FOLDER/made_from.json     the file and the options it was made from
    FOLDER/texts              source.jsonl, systems, references, documents.jsonl (`rypt.ratings.texts`)
    FOLDER/prepared           trees and links (`rypt.campaign.create`)
    FOLDER/rypt.toml          the campaign, with judgments.db
    FOLDER/scores.jsonl       the raters' scores, written last

Each step writes its files whole or not at all, so a folder whose making was interrupted is finished by the next call.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rypt.campaign.create import create_campaign
from rypt.campaign.folder import Campaign
from rypt.campaign.settings import SETTINGS, Languages
from rypt.options import check_option
from rypt.ratings.esa import of_languages, read_esa
from rypt.ratings.importing import import_ratings
from rypt.ratings.mqm import read_mqm
from rypt.ratings.rating import Rating, Repairs
from rypt.ratings.texts import REFERENCES, SOURCE, SYSTEMS, collect_texts, human_systems
from rypt.text import InputError, PathLike, RyptError, Watch, open_output, read_lines, unwatched
from rypt.texts.lists import list_name
from rypt.texts.tokenizer import choose_segmenter

FORMS = {"mqm": "lower", "esa": "higher"}  # which scores are better
MADE_FROM, TEXTS, SCORES = "made_from.json", "texts", "scores.jsonl"
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RatingsFile:
    """A file of ratings, and how it becomes a campaign.

    ``form`` is ``mqm`` or ``esa``; ``batches`` and the language ``pair`` are for ESA (`rypt.ratings.esa`).
    ``references`` names human translations among the systems, ``reference_files`` files of others
    (`rypt.ratings.texts.read_references`). ``language`` is that of the source, for pages.
    """

    path: PathLike
    form: str = "mqm"
    references: tuple[str, ...] = ()
    reference_files: tuple[PathLike, ...] = ()
    language: str | None = None
    batches: PathLike | None = None
    pair: str | None = None

    @property
    def reference_names(self) -> list[str]:
        return [*self.references, *map(list_name, self.reference_files)]

    def record(self) -> dict[str, Any]:
        """Everything that a campaign made from it depends on, as ``made_from.json`` has it."""
        paths = {"file": self.path, "batches": self.batches}
        paths |= {f"reference {list_name(path)}": path for path in self.reference_files}
        return {
            "form": self.form,
            "files": {name: _digest(path) for name, path in paths.items() if path},
            "references": list(self.references),
            "language": self.language,
            "pair": self.pair,
        }

    def read(self, repairs: Repairs, watch: Watch = unwatched) -> list[Rating]:
        lines = watch(read_lines(self.path), f"read {self.path}", None)
        if self.form == "mqm":
            return read_mqm(self.path, lines, repairs)
        ratings = read_esa(self.path, self.batches, lines, repairs)
        return ratings if self.pair is None else of_languages(self.path, ratings, self.pair)


@dataclass(frozen=True, slots=True)
class RatedCampaign:
    """A campaign with judgments, the file of the raters' scores, and the human translations, never to be picked."""

    campaign: Campaign
    scores: Path
    judged_only: tuple[str, ...]


def folder_of(path: PathLike) -> Path:
    """Where the campaign of a file of ratings is made by default: here, called like the file.

    >>> str(folder_of("data/mqm_ted_ende.tsv.gz"))
    'mqm_ted_ende-campaign'
    """
    name = Path(path).name.removesuffix(".gz")
    return Path(f"{Path(name).stem or name}-campaign")


def make_rated_campaign(
    file: RatingsFile, folder: PathLike, *, watch: Watch = unwatched, tell: Tell = lambda message: None
) -> RatedCampaign:
    """Make a campaign of a file of ratings, or finish one that was begun; one that is complete is opened.

    A folder made from another file or with other options is refused. ``tell`` is called with a message for each step.
    """
    check_option("form", file.form, tuple(FORMS))
    target = Path(folder)
    texts_folder, scores = target / TEXTS, target / SCORES
    is_new = _check_folder(target, file)
    if is_new or not scores.exists():
        tell(f"reading {file.path}")
        repairs = Repairs(file.path)
        ratings = file.read(repairs, watch)
        _check_references(file, ratings)
        if is_new:
            target.mkdir(parents=True, exist_ok=True)
            with open_output(target / MADE_FROM) as stream:
                json.dump(file.record(), stream, ensure_ascii=False, indent=1)
        if repairs.items:
            tell("\n".join(["mended or left out (rypt import --repairs lists them):", *repairs.summary()]))
        if not texts_folder.exists():
            texts = collect_texts(
                file.path,
                ratings,
                references=file.references,
                reference_files=file.reference_files,
                repairs=Repairs(file.path),
                segmenter=choose_segmenter(),
            )
            texts.write(texts_folder)
            tell(texts.summary(texts_folder))
        if not (target / SETTINGS).exists():
            create_campaign(
                target,
                source=texts_folder / SOURCE,
                nbest=[texts_folder / SYSTEMS],
                references=[texts_folder / REFERENCES / f"{name}.txt" for name in file.reference_names],
                languages=Languages(file.language) if file.language else None,
                tokens="keep",
                watch=watch,
                tell=tell,
            )
        tell("importing judgments")
        campaign = Campaign.open(target, watch)
        tell(str(import_ratings(campaign, file.path, ratings, scores=scores, better=FORMS[file.form])))
    systems = [list_name(path) for path in sorted((texts_folder / SYSTEMS).iterdir())]
    judged_only = human_systems(systems, file.references)
    return RatedCampaign(Campaign.open(target, watch), scores, judged_only)


def _check_folder(folder: Path, file: RatingsFile) -> bool:
    """Return True for a new folder, False for one that was made from the same file with the same options."""
    path = folder / MADE_FROM
    if path.is_file():
        try:
            made = json.loads(path.read_text(encoding="utf-8"))
            other = [name for name, value in file.record().items() if made.get(name) != value]
        except (ValueError, AttributeError) as error:
            raise InputError(path, None, f"expected what the folder was made from: {error}") from None
        if other:
            problem = f"was made from other ratings ({', '.join(other)}); name another folder"
            raise InputError(folder, None, problem)
        return False
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        problem = "expected a new folder, or one made from these ratings; found another"
        raise InputError(folder, None, problem)
    return True


def _check_references(file: RatingsFile, ratings: list[Rating]) -> None:
    """BLEU needs a reference: one must be named, and rated."""
    systems = sorted({rating.system for rating in ratings})
    wrong = [name for name in file.references if name not in systems]
    if wrong or not (file.references or file.reference_files):
        unknown = f"; no rating is of {wrong[0]!r}" if wrong else ""
        raise RyptError(
            f"{file.path}: expected the name of the reference among the systems (--reference), "
            f"such as {' or '.join(human_systems(systems) or systems)}, or a file of it (--references){unknown}"
        )


def _digest(path: PathLike) -> str:
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(path, None, error.strerror or str(error)) from None
