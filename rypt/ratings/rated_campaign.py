"""``rypt import``: a file of ratings into a campaign, which is made of the file where there is none.

    import_ratings_file(RatingsFile("mqm_ted_ende.tsv.gz", references=("ref",)), "ted")

    FOLDER/made_from.json     the file and the options that the campaign was made of
    FOLDER/texts              source.jsonl, systems, references, documents.jsonl (`rypt.ratings.texts`)
    FOLDER/prepared           trees and links (`rypt.campaign.create`)
    FOLDER/rypt.toml          the campaign, with judgments.db
    FOLDER/scores.jsonl       the raters' scores, for `rypt compare scores` and `rypt rank`

Each step writes its files whole or not at all, so that what was interrupted is finished by the next call.
"""

import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rypt.campaign.create import create_campaign
from rypt.campaign.folder import Campaign
from rypt.campaign.settings import SETTINGS, Languages
from rypt.options import check_option
from rypt.ratings.esa import read_esa
from rypt.ratings.importing import RatingImport, import_ratings
from rypt.ratings.mqm import read_mqm
from rypt.ratings.rating import Policy, Rating, Repairs
from rypt.ratings.texts import REFERENCES, SOURCE, SYSTEMS, collect_texts, human_systems
from rypt.text import InputError, PathLike, RyptError, Watch, open_output, read_lines, unwatched
from rypt.texts.lists import list_name
from rypt.texts.tokenizer import installed_segmenter

FORMS = {"mqm": "lower", "esa": "higher"}  # which scores are better
MADE_FROM, TEXTS, SCORES = "made_from.json", "texts", "scores.jsonl"
Tell = Callable[[str], None]
DEFAULT_POLICY = Policy()


@dataclass(frozen=True, slots=True)
class RatingsFile:
    """A file of ratings, and what a campaign is made of it with.

    ``form`` is ``mqm`` or ``esa``; ``batches`` are for ESA (`rypt.ratings.esa`). ``references`` names human translations
    among the systems, ``reference_files`` files of others (`rypt.ratings.texts.read_references`). ``languages`` is the
    language pair, which is taken of a file with several.
    """

    path: PathLike
    form: str = "mqm"
    references: tuple[str, ...] = ()
    reference_files: tuple[PathLike, ...] = ()
    languages: str | None = None
    batches: PathLike | None = None

    @property
    def is_for_new_campaign(self) -> bool:
        return bool(self.references or self.reference_files)

    def record(self) -> dict[str, Any]:
        """Everything that a campaign made from it depends on, as ``made_from.json`` has it."""
        paths = {"file": self.path, "batches": self.batches}
        paths |= {f"reference {list_name(path)}": path for path in self.reference_files}
        return {
            "form": self.form,
            "files": {name: _digest(path) for name, path in paths.items() if path},
            "references": list(self.references),
            "languages": self.languages,
        }

    def read(self, repairs: Repairs, watch: Watch = unwatched) -> list[Rating]:
        lines = watch(read_lines(self.path), f"read {self.path}", None)
        if self.form == "mqm":
            return read_mqm(self.path, lines, repairs)
        ratings = read_esa(self.path, self.batches, lines, repairs)
        named = sorted({rating.languages for rating in ratings} - {""})
        if not self.languages or not named:
            return ratings
        if self.languages not in named:
            problem = f"expected ratings of {self.languages}, found {', '.join(named)}"
            raise InputError(self.path, None, problem)
        return [rating for rating in ratings if rating.languages == self.languages]


def import_ratings_file(
    file: RatingsFile,
    folder: PathLike,
    policy: Policy = DEFAULT_POLICY,
    *,
    excluded_raters: Collection[str] = (),
    scores: PathLike | None = None,
    strict: bool = False,
    repairs_file: PathLike | None = None,
    watch: Watch = unwatched,
    tell: Tell = lambda message: None,
) -> RatingImport:
    """Import a file into the campaign in a folder; where there is none, make it of the file's texts first.

    ``scores`` is where the raters' scores go, by default scores.jsonl in the folder. ``strict`` refuses the file at its
    first mistake. ``tell`` is called with a message for each step.
    """
    check_option("form", file.form, tuple(FORMS))
    target, repairs = Path(folder), Repairs(file.path, strict)
    is_made = _is_made(target, file)
    ratings = file.read(repairs, watch)
    if not is_made:
        _make_campaign(file, target, ratings, repairs, watch, tell)
    return import_ratings(
        Campaign.open(target, watch),
        file.path,
        ratings,
        policy,
        excluded_raters=excluded_raters,
        scores=scores or target / SCORES,
        better=FORMS[file.form],
        repairs=repairs,
        repairs_file=repairs_file,
    )


def never_picked(folder: PathLike) -> tuple[str, ...]:
    """The human translations in a campaign that was made of ratings: they are judged and never picked."""
    path = Path(folder, MADE_FROM)
    if not path.is_file():
        return ()
    systems = [list_name(each) for each in sorted(Path(folder, TEXTS, SYSTEMS).iterdir())]
    return human_systems(systems, _made_from(path)["references"])


def _make_campaign(
    file: RatingsFile, folder: Path, ratings: list[Rating], repairs: Repairs, watch: Watch, tell: Tell
) -> None:
    _check_references(file, ratings)
    folder.mkdir(parents=True, exist_ok=True)
    with open_output(folder / MADE_FROM) as stream:
        json.dump(file.record(), stream, ensure_ascii=False, indent=1)
    texts_folder = folder / TEXTS
    if not texts_folder.exists():
        texts = collect_texts(
            file.path,
            ratings,
            references=file.references,
            reference_files=file.reference_files,
            repairs=repairs,
            segmenter=installed_segmenter(),
        )
        texts.write(texts_folder)
        tell(texts.summary(texts_folder))
    names = [*file.references, *map(list_name, file.reference_files)]
    create_campaign(
        folder,
        source=texts_folder / SOURCE,
        nbest=[texts_folder / SYSTEMS],
        references=[texts_folder / REFERENCES / f"{name}.txt" for name in names],
        languages=Languages.parse(file.languages) if file.languages else None,
        tokens="keep",
        watch=watch,
        tell=tell,
    )


def _is_made(folder: Path, file: RatingsFile) -> bool:
    """Whether there is a campaign to import into; a folder that was made of something else is refused."""
    path, exists = folder / MADE_FROM, (folder / SETTINGS).exists()
    if path.is_file() and (not exists or file.is_for_new_campaign):
        made = _made_from(path)
        if other := [name for name, value in file.record().items() if made.get(name) != value]:
            problem = f"was made of other ratings ({', '.join(other)}); name another folder"
            raise InputError(folder, None, problem)
    elif exists and file.is_for_new_campaign:
        raise InputError(folder, None, "has a campaign; a reference is for a new one")
    elif not exists and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(folder, None, "expected a campaign, or a new folder to make one in (-C FOLDER)")
    return exists


def _made_from(path: Path) -> dict[str, Any]:
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
        made["references"]
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(path, None, f"expected what the campaign was made of: {error}") from None
    return dict(made)


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
