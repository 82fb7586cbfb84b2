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
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib.metadata import entry_points
from itertools import chain
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
from rypt.texts.alignment import has_phrase_pairs
from rypt.texts.fallback_trees import fallback_tree
from rypt.texts.formats import RAW
from rypt.texts.lists import expand_lists, list_names, read_reference
from rypt.texts.nbest import read_list, read_list_of
from rypt.texts.tokenizer import (
    Segmenter,
    installed_segmenter,
    is_raw,
    is_unspaced,
    join_pieces,
    segmentation_note,
    tokenized,
)

PREPARED = "prepared"
CHECKS = "rypt.checks"


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
    target, prepared = Path(folder), Path(folder) / PREPARED
    lists, links = expand_lists(nbest, alignments)
    texts = Files(
        str(source),
        None if trees is None else str(trees),
        [str(path) for path in lists],
        [str(path) for path in links],
        [str(path) for path in references],
        None if lexicon is None else str(lexicon),
    )
    if not lists and not (decoder and decoder.command):
        raise RyptError("expected at least one list of candidates (--nbest), or what makes them (--decoder)")
    _check_places(target, texts)
    languages = languages or Languages()
    segments = read_source(source)
    needs_trees = trees is None and not any(segment.tree for segment in segments)
    needs_links = not links and lexicon is None and _have_no_links(texts, segments, watch)
    with ExitStack() as on_error:
        if needs_trees or needs_links:
            if not target.exists():
                on_error.callback(_remove_if_empty, target)
            with new_folder(prepared) as building:
                preparation = _Preparation(building, languages, watch, tell)
                texts = preparation.run(texts, segments, needs_trees, needs_links, tokens)
            on_error.callback(shutil.rmtree, prepared, ignore_errors=True)
            texts = _with_paths(texts, lambda path: path.replace(str(building), str(prepared), 1))
            languages = replace(languages, segmenter=preparation.words_by or languages.segmenter)
        settings = CampaignSettings(
            _with_paths(texts, lambda path: os.path.relpath(path, folder)),
            scoring or Scoring(),
            languages,
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


def _with_paths(files: Files, place: Callable[[str], str]) -> Files:
    return Files(
        place(files.source),
        None if files.trees is None else place(files.trees),
        [place(path) for path in files.nbest],
        [place(path) for path in files.alignments],
        [place(path) for path in files.references],
        None if files.lexicon is None else place(files.lexicon),
    )


def _check_places(target: Path, texts: Files) -> None:
    """Refuse a folder with a campaign, and files that cannot be read again."""
    if (target / SETTINGS).exists():
        message = f"expected a folder without a campaign, found one with {SETTINGS}"
        raise InputError(target, None, f"{message}; `rypt status {target}` says what is next")
    if len(texts.alignments) not in (0, len(texts.nbest)):
        count = f"{len(texts.nbest)}, found {len(texts.alignments)}"
        raise RyptError(f"expected as many --alignments as --nbest, {count}")
    if "-" in [texts.source, texts.trees, texts.lexicon, *texts.nbest, *texts.alignments, *texts.references]:
        raise RyptError("expected files that stay: a campaign reads them again, and standard input cannot be")


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _have_no_links(texts: Files, segments: Sequence[Segment], watch: Watch) -> bool:
    """Whether no candidate has links; then a mistake in lists or references is an error before anything is made."""
    names = [segment.id for segment in segments]
    for path in texts.references:
        read_reference(path, len(names))
    for path in texts.nbest:
        listed = read_list_of(path, names, watch)
        if (first := next(listed, None)) is None:
            raise InputError(path, None, "expected candidates, found none")
        candidates = (candidate for _, candidate in chain([first], listed))
        if any(candidate.alignment or has_phrase_pairs(candidate.text) for candidate in candidates):
            return False  # the rest is checked when the campaign is made
    return bool(texts.nbest)


def _open_database(path: Path, case: str | None, segments: Sequence[Segment]) -> None:
    """Make a judgment database, or open the one that exists, and add the segments that it lacks."""
    from rypt.database.exchange import new_database
    from rypt.database.judgments import JudgmentDatabase

    with JudgmentDatabase(path, case=case) if path.exists() else new_database(path, case) as db:
        db.add_segments(segments)


def _check(campaign: Campaign) -> None:
    """Read all files that a campaign names; the first mistake is an error."""
    files, decoder = campaign.files, campaign.settings.decoder
    _ = campaign.references
    if files.nbest and not campaign.candidates:
        raise InputError(campaign.path(files.nbest[0]), None, "expected candidates, found none")
    if not any(campaign.trees.values()):
        raise InputError(campaign.path(files.source), None, "no segment has a parse (--trees gives them)")
    if decoder.command or decoder.weights:
        for entry in entry_points(group=CHECKS):
            entry.load()(campaign)


class _Preparation:
    """Makes what is missing, in a folder."""

    def __init__(self, folder: Path, languages: Languages, watch: Watch, tell: Callable[[str], None]) -> None:
        self.folder, self.watch, self.tell = folder, watch, tell
        self.segmenter: Segmenter | None = None if languages.segmenter else installed_segmenter()
        self.unspaced = False  # whether some text had no spaces between words

    def run(
        self, texts: Files, segments: Sequence[Segment], needs_trees: bool, needs_links: bool, tokens: str
    ) -> Files:
        if needs_links and tokens != "keep":
            texts = self.make_tokens(texts, segments, needs_trees, tokens)
            segments = read_source(texts.source)
        if needs_trees:
            texts = replace(texts, trees=self.make_trees(segments))
        if needs_links:
            texts = replace(texts, alignments=self.make_links(segments, texts.nbest))
        return texts

    def make_tokens(self, texts: Files, segments: Sequence[Segment], needs_trees: bool, tokens: str) -> Files:
        """Copies of raw texts as tokens: of the source where it has no trees, and of candidates and references."""
        names = [segment.id for segment in segments]
        listed = (candidate.text for path in texts.nbest for _, candidate in read_list(path, names))
        raw_source = needs_trees and (tokens == "make" or is_raw(segment.text for segment in segments))
        raw_lists = tokens == "make" or is_raw(listed)
        if raw_source:
            records = ({"id": segment.id, "text": self._tokens(segment.text)} for segment in segments)
            texts = replace(texts, source=self._write("source.jsonl", map(_json, records)))
        if raw_lists:
            lists = [
                self._write(
                    f"lists/{name}.jsonl",
                    (_json(self._record(candidate)) for _, candidate in read_list(path, names, self.watch)),
                )
                for name, path in zip(list_names(texts.nbest), texts.nbest, strict=True)
            ]
            references = [
                self._write(f"references/{i}.txt", (self._tokens(line) for _, line in read_lines(path)))
                for i, path in enumerate(texts.references)
            ]
            texts = replace(texts, nbest=lists, references=references)
        if raw_source or raw_lists:
            which = "the source" if raw_source else "candidates and references"
            which = "all texts" if raw_source and raw_lists else which
            how = segmentation_note(self.segmenter) if self.unspaced else "punctuation cut off"
            self.tell(f"{which} cut into tokens ({how}); --tokens keep takes texts as they are")
        return texts

    def make_trees(self, segments: Sequence[Segment]) -> str:
        watched = self.watch(segments, "make trees")
        path = self._write("source.trees", (str(fallback_tree(segment.tokens)) for segment in watched))
        made = f"{plural(len(segments), 'tree')} made from punctuation and length"
        self.tell(f"{made}; --trees takes the trees of any parser")
        return path

    def make_links(self, segments: Sequence[Segment], lists: Sequence[str]) -> list[str]:
        (self.folder / "links").mkdir()
        outputs = [self.folder / "links" / f"{name}.links" for name in list_names(lists)]
        count = align_lists({segment.id: segment for segment in segments}, lists, outputs, self.watch)
        self.tell(f"{plural(count, 'candidate')} aligned; --alignments takes the links of any aligner")
        return [str(path) for path in outputs]

    @property
    def words_by(self) -> str | None:
        """The segmenter that found words, with its version; None where none did."""
        return self.segmenter.signature if self.segmenter and self.unspaced else None

    def _record(self, candidate: Candidate) -> dict[str, object]:
        """A candidate with all that its line holds, and its text as it was."""
        record: dict[str, object] = {"id": candidate.segment, "candidate": self._tokens(candidate.text)}
        record[RAW] = join_pieces(candidate.text.split())
        if candidate.features:
            record["features"] = dict(candidate.features)
        if candidate.score is not None:
            record["score"] = candidate.score
        return record | dict(candidate.columns)

    def _tokens(self, text: str) -> str:
        self.unspaced = self.unspaced or any(map(is_unspaced, text))
        return tokenized(text, self.segmenter)

    def _write(self, name: str, lines: Iterable[str]) -> str:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        with open_output(path) as stream:
            stream.writelines(f"{line}\n" for line in lines)
        return str(path)


def _json(record: object) -> str:
    return json.dumps(record, ensure_ascii=False)
