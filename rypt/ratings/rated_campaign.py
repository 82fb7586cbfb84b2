"""A campaign from one file of ratings: texts, trees, links, judgments and scores, each step made once.

    rated = make_rated_campaign(RatingsFile("mqm_ted_ende.tsv", references=("ref",)), "ted")
    rated.campaign, rated.scores, rated.judged_only        # what rypt compare --scores needs

    FOLDER/made_from.json     the file and the options it was made from
    FOLDER/texts              source.jsonl, systems, references (`rypt.ratings.texts`), source.trees, links
    FOLDER/rypt.toml          the campaign, with judgments.db
    FOLDER/scores.jsonl       the raters' scores, written last

Each step writes its files whole or not at all, so a folder whose making was interrupted is finished by the next call.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

from rypt.campaign.folder import Campaign, create
from rypt.campaign.settings import SETTINGS, Languages
from rypt.options import check_option
from rypt.ratings.error_spans import Policy, Raters, Rating
from rypt.ratings.esa import of_languages, read_esa
from rypt.ratings.importing import import_ratings_file
from rypt.ratings.mqm import read_mqm
from rypt.ratings.references import human_systems
from rypt.ratings.repairs import Repairs
from rypt.ratings.texts import REFERENCES, SOURCE, SYSTEMS, Translators, collect_texts
from rypt.text import InputError, PathLike, RyptError, Watch, open_output, plural, read_lines, unwatched
from rypt.texts.lists import expand_outputs, list_name
from rypt.texts.segmenters import choose_segmenter
from rypt.tools.aligners import align_lists, choose_aligner
from rypt.tools.parsers import FALLBACK, parse_source

FORMS = {"mqm": "lower", "esa": "higher"}  # which scores are better
MADE_FROM, TEXTS, TREES, LINKS, SCORES = "made_from.json", "texts", "source.trees", "links", "scores.jsonl"
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RatingsFile:
    """A file of ratings, and how it becomes a campaign.

    ``form`` is ``mqm`` or ``esa``; ``batches`` and the language ``pair`` are for ESA (`rypt.ratings.esa`).
    ``references`` names human translations among the systems, ``reference_files`` files of others
    (`rypt.ratings.references`). Without ``language`` trees come from punctuation and length, with it from a parser.
    """

    path: PathLike
    form: str = "mqm"
    references: tuple[str, ...] = ()
    reference_files: tuple[PathLike, ...] = ()
    language: str | None = None
    batches: PathLike | None = None
    pair: str | None = None
    policy: Policy = field(default_factory=Policy)
    raters: Raters = field(default_factory=Raters)

    def record(self) -> dict[str, Any]:
        """What a folder made from it must have been made from, for JSON."""
        files = {
            name: _digest(path) for name, path in (("file", self.path), ("batches", self.batches)) if path
        }
        files |= {f"reference {list_name(path)}": _digest(path) for path in self.reference_files}
        raters = {name: sorted(names) for name, names in asdict(self.raters).items()}
        return {
            "form": self.form,
            "files": files,
            "references": list(self.references),
            "language": self.language,
            "pair": self.pair,
            "policy": asdict(self.policy),
            "raters": raters,
        }

    def read(self, repairs: Repairs, watch: Watch = unwatched) -> list[Rating]:
        """All ratings; ``repairs`` takes what had to be mended."""
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
    """Where the campaign of a file of ratings is made if nobody says: here, called like the file.

    >>> str(folder_of("data/mqm_ted_ende.tsv.gz"))
    'mqm_ted_ende-campaign'
    """
    name = Path(path).name.removesuffix(".gz")
    return Path(f"{Path(name).stem or name}-campaign")


def make_rated_campaign(
    ratings: RatingsFile, folder: PathLike, *, watch: Watch = unwatched, tell: Tell = lambda message: None
) -> RatedCampaign:
    """Make a campaign of a file of ratings, or finish one that was begun; one that is complete is opened.

    A folder made from another file or with other options is refused. ``tell`` is called with a message for each step.
    """
    check_option("form", ratings.form, tuple(FORMS))
    return _Making(ratings, Path(folder), watch, tell).make()


@dataclass
class _Making:
    """The steps in their order; each looks whether its files are there."""

    ratings: RatingsFile
    folder: Path
    watch: Watch
    tell: Tell

    @cached_property
    def read(self) -> list[Rating]:
        self.tell(f"reading {self.ratings.path}")
        repairs = Repairs(self.ratings.path)
        ratings = self.ratings.read(repairs, self.watch)
        if repairs.items:
            self.tell("\n".join(["mended or left out:", *repairs.summary(), *self._repairs_command()]))
        return ratings

    def _repairs_command(self) -> list[str]:
        """The command that lists every repair, where it makes the same judgments, and so adds none."""
        ratings = self.ratings
        if (ratings.policy, ratings.raters) != (Policy(), Raters()):
            return []
        options = {"--batches": ratings.batches, "--languages": ratings.pair, "-C": self.folder}
        words = [quote(str(word)) for name, value in options.items() if value for word in (name, value)]
        command = " ".join(
            ["rypt import", ratings.form, quote(str(ratings.path)), *words, "--repairs repairs.jsonl"]
        )
        return [f"  one by one, when the campaign is made: {command}"]

    @property
    def texts(self) -> Path:
        return self.folder / TEXTS

    def make(self) -> RatedCampaign:
        self._check_folder()
        self._make_texts()
        self._make_trees()
        self._make_links()
        campaign = self._make_campaign()
        self._make_judgments(campaign)
        names = [list_name(path) for path in sorted((self.texts / SYSTEMS).iterdir())]
        return RatedCampaign(
            campaign, self.folder / SCORES, human_systems(names, self.ratings.references, ())
        )

    def _check_folder(self) -> None:
        """Take a new folder, or one that was made from the same file with the same options."""
        record = self.ratings.record()
        path = self.folder / MADE_FROM
        if path.is_file():
            other = _difference(_read_record(path), record)
            if other:
                raise InputError(
                    self.folder, None, f"was made from other ratings ({other}); name another folder"
                )
            return
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise InputError(
                self.folder, None, "expected a new folder, or one made from these ratings; found another"
            )
        choose_aligner()
        self._check_references()
        self.folder.mkdir(parents=True, exist_ok=True)
        with open_output(path) as stream:
            json.dump(record, stream, ensure_ascii=False, indent=1)

    def _check_references(self) -> None:
        """BLEU needs a reference: one must be named, and rated."""
        systems = sorted({rating.system for rating in self.read})
        human = human_systems(systems, (), ()) or systems
        wrong = [name for name in self.ratings.references if name not in systems]
        if wrong or not (self.ratings.references or self.ratings.reference_files):
            unknown = f"; no rating is of {wrong[0]!r}" if wrong else ""
            raise RyptError(
                f"{self.ratings.path}: expected the name of the reference among the systems (--reference), "
                f"such as {' or '.join(human)}, or a file of it (--references){unknown}"
            )

    def _make_texts(self) -> None:
        if not self.texts.exists():
            translators = Translators(self.ratings.references, self.ratings.reference_files)
            repairs = Repairs(self.ratings.path)
            texts = collect_texts(self.ratings.path, self.read, translators, repairs, choose_segmenter())
            texts.write(self.texts)
            self.tell(texts.summary(self.texts))

    def _make_trees(self) -> None:
        if not (self.texts / TREES).exists():
            tool, language = (None, self.ratings.language) if self.ratings.language else (FALLBACK, None)
            parsed = parse_source(
                self.texts / SOURCE, self.texts / TREES, tool=tool, language=language, watch=self.watch
            )
            self.tell(f"{plural(parsed.segments, 'tree')} by {parsed.tool}")

    def _make_links(self) -> None:
        lists, links = [self.texts / SYSTEMS], [self.texts / LINKS]
        if not all(Path(output).exists() for _, output in expand_outputs(lists, links)):
            align_lists(self.texts / SOURCE, lists, links, cache=True, watch=self.watch, tell=self.tell)

    def _make_campaign(self) -> Campaign:
        if (self.folder / SETTINGS).exists():
            return Campaign.open(self.folder, self.watch)
        names = [*self.ratings.references, *map(list_name, self.ratings.reference_files)]
        references = [self.texts / REFERENCES / f"{name}.txt" for name in names]
        return create(
            self.folder,
            source=self.texts / SOURCE,
            trees=self.texts / TREES,
            nbest=[self.texts / SYSTEMS],
            alignments=[self.texts / LINKS],
            references=references,
            languages=Languages(self.ratings.language) if self.ratings.language else None,
            watch=self.watch,
        )

    def _make_judgments(self, campaign: Campaign) -> None:
        scores = self.folder / SCORES
        if not scores.exists():
            self.tell("importing judgments")
            result = import_ratings_file(
                campaign,
                self.ratings.path,
                self.read,
                self.ratings.policy,
                self.ratings.raters,
                scores=scores,
                better=FORMS[self.ratings.form],
            )
            self.tell(str(result))


def _digest(path: PathLike) -> str:
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(path, None, error.strerror or str(error)) from None


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(path, None, f"expected what the folder was made from: {error}") from None
    if not isinstance(record, dict):
        raise InputError(path, None, "expected a JSON object")
    return record


def _difference(made: dict[str, Any], wanted: dict[str, Any]) -> str:
    """The options in which two records differ."""
    return ", ".join(name for name in sorted({*made, *wanted}) if made.get(name) != wanted.get(name))
