"""Making a campaign: tokens, trees and word alignments that are not given are made, in ``FOLDER/prepared``.

create_campaign("campaign", source="dev.de", nbest=["list.jsonl"], languages=Languages("de", "en"))

FOLDER/prepared/source.jsonl       where texts are raw, their tokens; also lists/ and references/
FOLDER/prepared/source.trees       from punctuation and length (`rypt.texts.fallback_trees`)
FOLDER/prepared/links/LIST.links   by our own aligner (`rypt.texts.align`)

Other packages check the parts they add to a campaign, such as a decoder: each function of the entry-point group
``rypt.checks`` is called with a new campaign.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path

from rypt.campaign.folder import Campaign, read_source
from rypt.campaign.settings import (
    SETTINGS,
    CampaignSettings,
    DecoderSettings,
    Files,
    Languages,
    LoopSettings,
    MarketSettings,
    Scoring,
    write_settings,
)
from rypt.options import TOKENS, check_option
from rypt.records import Candidate, Segment
from rypt.text import (
    InputError,
    PathLike,
    RyptError,
    Watch,
    new_folder,
    open_output,
    plural,
    read_lines,
    unwatched,
)
from rypt.texts.align import align_lists
from rypt.texts.fallback_trees import fallback_tree
from rypt.texts.formats import RAW
from rypt.texts.lists import expand_lists, list_names
from rypt.texts.nbest import has_links, not_in_source, read_list
from rypt.texts.references import read_reference
from rypt.texts.tokenizer import (
    HOW_TO_INSTALL,
    Segmenter,
    choose_segmenter,
    is_raw,
    is_unspaced,
    join_pieces,
    tokenized,
)

PREPARED = "prepared"
CHECKS = "rypt.checks"
BETTER_TOKENS = "--tokens keep takes texts as they are"
BETTER_TREES = "--trees takes the trees of any parser"
BETTER_LINKS = "--alignments takes the links of any aligner"


@dataclass(frozen=True)
class _Texts:
    """The files of a campaign, given or made, and what found words where no space is between them."""

    source: PathLike
    trees: PathLike | None
    lists: Sequence[PathLike]
    alignments: Sequence[PathLike]
    references: Sequence[PathLike]
    words_by: str | None = None

    def at(self, place: Callable[[PathLike], PathLike]) -> "_Texts":
        """The same files elsewhere."""
        return _Texts(
            place(self.source),
            None if self.trees is None else place(self.trees),
            list(map(place, self.lists)),
            list(map(place, self.alignments)),
            list(map(place, self.references)),
            self.words_by,
        )

    def relative_to(self, folder: Path, lexicon: PathLike | None) -> Files:
        """The files as a campaign's settings name them."""
        texts = self.at(lambda path: os.path.relpath(path, folder))
        return Files(
            str(texts.source),
            None if texts.trees is None else str(texts.trees),
            list(map(str, texts.lists)),
            list(map(str, texts.alignments)),
            list(map(str, texts.references)),
            None if lexicon is None else os.path.relpath(lexicon, folder),
        )


def create_campaign(
    folder: PathLike,
    *,
    source: PathLike,
    trees: PathLike | None = None,
    nbest: Sequence[PathLike] = (),
    alignments: Sequence[PathLike] = (),
    references: Sequence[PathLike] = (),
    lexicon: PathLike | None = None,
    languages: Languages | None = None,
    scoring: Scoring | None = None,
    decoder: DecoderSettings | None = None,
    market: MarketSettings | None = None,
    loop: LoopSettings | None = None,
    case: str | None = None,
    tokens: str = "auto",
    watch: Watch = unwatched,
    tell: Callable[[str], None] = lambda message: None,
) -> Campaign:
    """Make a campaign from files, which stay where they are; everything is read and checked before it is written.

    A folder in ``nbest`` stands for all lists in it, one in ``alignments`` for the files named like them. Trees are
    made where neither ``trees`` nor the source has any, and alignments where no candidate has links. ``tokens`` says
    whether texts are cut into tokens first: "make", "keep", or "auto", where they are raw. Texts that have trees or
    links are kept, because these count their tokens. The paths in ``decoder`` and ``market`` are relative to the new
    folder. After an error nothing is left of what was made.
    """
    check_option("tokens", tokens, TOKENS)
    target, made = Path(folder), Path(folder) / PREPARED
    lists, alignments = expand_lists(nbest, alignments)
    texts = _Texts(source, trees, lists, alignments, references)
    if not lists and not (decoder and decoder.command):
        raise RyptError("expected at least one list of candidates (--nbest), or what makes them (--decoder)")
    _check_places(target, texts, lexicon)
    languages = languages or Languages()
    with ExitStack() as on_error:
        if all(
            Path(path).is_file() for path in (source, *lists, *references)
        ):  # `_check` reports one that is missing
            needs_trees = trees is None and not any(segment.tree for segment in read_source(source))
            needs_links = not alignments and lexicon is None and _have_no_links(texts, watch)
            if needs_trees or needs_links:
                if not target.exists():
                    on_error.callback(_remove_if_empty, target)
                with new_folder(made) as building:
                    preparation = _Preparation(building, languages, watch, tell)
                    texts = preparation.run(texts, needs_trees, needs_links, tokens)
                on_error.callback(shutil.rmtree, made, ignore_errors=True)
                texts = texts.at(lambda path: _moved(Path(path), building, made))
        settings = CampaignSettings(
            texts.relative_to(target, lexicon),
            scoring or Scoring(),
            replace(languages, segmenter=texts.words_by or languages.segmenter),
            decoder or DecoderSettings(),
            market or MarketSettings(),
            loop or LoopSettings(),
        )
        campaign = Campaign(target, settings, watch)
        _check(campaign)
        target.mkdir(parents=True, exist_ok=True)
        _open_database(campaign.path(settings.files.database), case, campaign.segments)
        write_settings(settings, target)
        on_error.pop_all()
    return campaign


def _check_places(target: Path, texts: _Texts, lexicon: PathLike | None) -> None:
    """Refuse a folder with a campaign, and files that cannot be read again."""
    if (target / SETTINGS).exists():
        message = f"expected a folder without a campaign, found one with {SETTINGS}"
        raise InputError(target, None, f"{message}; `rypt status {target}` says what is next")
    if len(texts.alignments) not in (0, len(texts.lists)):
        count = f"{len(texts.lists)}, found {len(texts.alignments)}"
        raise RyptError(f"expected as many --alignments as --nbest, {count}")
    others = [texts.source, texts.trees, lexicon]
    if "-" in map(str, [*others, *texts.lists, *texts.alignments, *texts.references]):
        raise RyptError("expected files that stay: a campaign reads them again, and standard input cannot be")


def _moved(path: Path, old: Path, new: Path) -> Path:
    return new / path.relative_to(old) if path.is_relative_to(old) else path


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _have_no_links(texts: _Texts, watch: Watch) -> bool:
    """Whether no candidate has links; then a mistake in lists or references is an error before anything is made."""
    names = [segment.id for segment in read_source(texts.source)]
    known = set(names)
    for path in texts.references:
        read_reference(path, len(names))
    for path in texts.lists:
        number = None
        for number, raw in read_list(path, names, watch):
            if raw.segment not in known:
                raise InputError(path, number, not_in_source(raw.segment, len(names)))
            if has_links(raw):
                return False  # what follows is checked when the campaign is made
        if number is None:
            raise InputError(path, None, "expected candidates, found none")
    return bool(texts.lists)


def _open_database(path: Path, case: str | None, segments: Sequence[Segment]) -> None:
    """Make a judgment database, or open the one that is there, and add the segments that it lacks."""
    from rypt.database.exchange import new_database
    from rypt.database.judgments import JudgmentDatabase

    with JudgmentDatabase(path, case=case) if path.exists() else new_database(path, case) as db:
        db.add_segments(segments)


def _check(campaign: Campaign) -> None:
    """Read all files that a campaign names; the first mistake is an error."""
    _ = campaign.references
    if campaign.files.nbest and not campaign.candidates:
        raise InputError(campaign.path(campaign.files.nbest[0]), None, "expected candidates, found none")
    if not any(campaign.trees.values()):
        raise InputError(
            campaign.path(campaign.files.source), None, "no segment has a parse (--trees gives them)"
        )
    if campaign.settings.decoder.command or campaign.settings.decoder.weights:
        for entry in entry_points(group=CHECKS):
            entry.load()(campaign)


@dataclass(frozen=True)
class _Preparation:
    """Makes what is missing, in a folder."""

    folder: Path
    languages: Languages
    watch: Watch
    tell: Callable[[str], None]

    def run(self, texts: _Texts, needs_trees: bool, needs_links: bool, tokens: str) -> _Texts:
        if needs_links and tokens != "keep":
            texts = self.make_tokens(texts, needs_trees, tokens)
        if needs_trees:
            texts = replace(texts, trees=self.make_trees(texts.source))
        if needs_links:
            texts = replace(texts, alignments=self.make_links(texts.source, texts.lists))
        return texts

    def make_tokens(self, texts: _Texts, needs_trees: bool, tokens: str) -> _Texts:
        """Copies of raw texts as tokens: of the source where it has no trees, and of candidates and references."""
        segments = read_source(texts.source)
        names = [segment.id for segment in segments]
        raw_source = needs_trees and (tokens == "make" or is_raw(segment.text for segment in segments))
        raw_lists = tokens == "make" or is_raw(raw.text for raw in _sample(texts.lists, names))
        if not raw_source and not raw_lists:
            return texts
        raw = _RawTexts(self.folder, choose_segmenter("auto") if self.languages.segmenter is None else None)
        if raw_source:
            texts = replace(texts, source=raw.source(segments))
        if raw_lists:
            copies = raw.lists(
                dict(zip(list_names(texts.lists), texts.lists, strict=True)), names, self.watch
            )
            texts = replace(texts, lists=copies, references=raw.references(texts.references))
        which = (
            "all texts"
            if raw_source and raw_lists
            else "the source"
            if raw_source
            else "candidates and references"
        )
        self.tell(f"{which} cut into tokens ({raw.how()}); {BETTER_TOKENS}")
        return replace(texts, words_by=raw.words_by)

    def make_trees(self, source: PathLike) -> Path:
        segments = read_source(source)
        path = self.folder / "source.trees"
        with open_output(path) as stream:
            for segment in self.watch(segments, "make trees"):
                stream.write(f"{fallback_tree(segment.tokens)}\n")
        self.tell(f"{plural(len(segments), 'tree')} made from punctuation and length; {BETTER_TREES}")
        return path

    def make_links(self, source: PathLike, lists: Sequence[PathLike]) -> list[Path]:
        (self.folder / "links").mkdir()
        outputs = [self.folder / "links" / f"{name}.links" for name in list_names(lists)]
        segments = {segment.id: segment for segment in read_source(source)}
        count = align_lists(segments, lists, outputs, self.watch)
        self.tell(f"{plural(count, 'candidate')} aligned; {BETTER_LINKS}")
        return outputs


def _sample(lists: Iterable[PathLike], names: Sequence[str]) -> Iterable[Candidate]:
    return (raw for path in lists for _, raw in read_list(path, names))


@dataclass
class _RawTexts:
    """Writes tokenised copies of texts to a folder, and remembers whether some had no spaces between words."""

    folder: Path
    segmenter: Segmenter | None = None
    unspaced: bool = False

    def source(self, segments: Iterable[Segment]) -> Path:
        """Copy segments, which keep their ids."""
        path = self.folder / "source.jsonl"
        with open_output(path) as stream:
            for segment in segments:
                stream.write(_line({"id": segment.id, "text": self._tokens(segment.text)}))
        return path

    def lists(self, paths: Mapping[str, PathLike], names: Sequence[str], watch: Watch) -> list[Path]:
        """Copy lists under their names, with all that their lines hold, and the texts as they were."""
        copies = [self.folder / "lists" / f"{name}.jsonl" for name in paths]
        (self.folder / "lists").mkdir()
        for path, copy in zip(paths.values(), copies, strict=True):
            with open_output(copy) as stream:
                for _, raw in read_list(path, names, watch):
                    stream.write(_line(self._record(raw)))
        return copies

    def references(self, paths: Sequence[PathLike]) -> list[Path]:
        """Copy references, a line each segment."""
        if paths:
            (self.folder / "references").mkdir()
        copies = [self.folder / "references" / f"{number}.txt" for number, _ in enumerate(paths)]
        for path, copy in zip(paths, copies, strict=True):
            with open_output(copy) as stream:
                stream.writelines(f"{self._tokens(line)}\n" for _, line in read_lines(path))
        return copies

    def _record(self, raw: Candidate) -> dict[str, object]:
        record: dict[str, object] = {"id": raw.segment, "candidate": self._tokens(raw.text)}
        record[RAW] = join_pieces(raw.text.split())
        if raw.features:
            record["features"] = dict(raw.features)
        if raw.score is not None:
            record["score"] = raw.score
        return record | dict(raw.columns)

    def _tokens(self, text: str) -> str:
        self.unspaced = self.unspaced or any(map(is_unspaced, text))
        return tokenized(text, self.segmenter)

    @property
    def words_by(self) -> str | None:
        """The segmenter that found words, with its version; None where none did."""
        return self.segmenter.signature if self.segmenter and self.unspaced else None

    def how(self) -> str:
        """How the words were found."""
        if self.words_by:
            return f"words found by {self.words_by}"
        if self.unspaced:
            return f"each character without spaces is a token: {HOW_TO_INSTALL} finds words"
        return "punctuation cut off"


def _line(record: Mapping[str, object]) -> str:
    return f"{json.dumps(record, ensure_ascii=False)}\n"
