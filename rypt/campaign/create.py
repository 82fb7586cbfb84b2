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
        building = prepared
        if needs_trees or needs_links:
            if not target.exists():
                on_error.callback(_remove_if_empty, target)
            with new_folder(prepared) as building:
                preparation = _Preparation(building, texts, segments, languages, watch, tell)
                if needs_links and tokens != "keep":
                    preparation.make_tokens(of_source=needs_trees, always=tokens == "make")
                if needs_trees:
                    preparation.make_trees()
                if needs_links:
                    preparation.make_links()
            on_error.callback(shutil.rmtree, prepared, ignore_errors=True)
            texts = preparation.texts
            languages = replace(languages, segmenter=preparation.words_by or languages.segmenter)

        def relative(path: str) -> str:
            return os.path.relpath(path.replace(str(building), str(prepared), 1), folder)

        files = Files(
            relative(texts.source),
            None if texts.trees is None else relative(texts.trees),
            [relative(path) for path in texts.nbest],
            [relative(path) for path in texts.alignments],
            [relative(path) for path in texts.references],
            None if texts.lexicon is None else relative(texts.lexicon),
        )
        settings = CampaignSettings(
            files,
            scoring or Scoring(),
            languages,
            decoder or DecoderSettings(),
            market or MarketSettings(),
            loop or LoopSettings(),
        )
        campaign = Campaign(target, settings, watch)
        _check(campaign)
        target.mkdir(parents=True, exist_ok=True)
        _open_database(campaign.path(files.database), case, campaign.segments)
        write_settings(settings, target)
        on_error.pop_all()
    return campaign


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
    """Makes what is missing of the texts, in a folder."""

    def __init__(
        self,
        folder: Path,
        texts: Files,
        segments: Sequence[Segment],
        languages: Languages,
        watch: Watch,
        tell: Callable[[str], None],
    ) -> None:
        self.folder, self.texts, self.segments, self.watch, self.tell = folder, texts, segments, watch, tell
        self.segmenter = None if languages.segmenter else installed_segmenter()
        self.unspaced = False  # whether some text had no spaces between words

    @property
    def words_by(self) -> str | None:
        """The segmenter that found words, with its version; None where none did."""
        return self.segmenter.signature if self.segmenter and self.unspaced else None

    def make_tokens(self, *, of_source: bool, always: bool) -> None:
        """Copies of raw texts, or ``always``, as tokens: of candidates and references, and of the source."""
        names, lists = [segment.id for segment in self.segments], self.texts.nbest
        listed = (candidate.text for path in lists for _, candidate in read_list(path, names))
        raw_source = of_source and (always or is_raw(segment.text for segment in self.segments))
        raw_lists = always or is_raw(listed)
        if raw_source:
            records = ({"id": segment.id, "text": self._tokens(segment.text)} for segment in self.segments)
            source = self._write("source.jsonl", map(_json, records))
            self.texts, self.segments = replace(self.texts, source=source), read_source(source)
        if raw_lists:
            copies = []
            for name, path in zip(list_names(lists), lists, strict=True):
                candidates = (candidate for _, candidate in read_list(path, names, self.watch))
                copies.append(self._write(f"lists/{name}.jsonl", map(self._record, candidates)))
            references = [
                self._write(f"references/{i}.txt", (self._tokens(line) for _, line in read_lines(path)))
                for i, path in enumerate(self.texts.references)
            ]
            self.texts = replace(self.texts, nbest=copies, references=references)
        if raw_source or raw_lists:
            which = "the source" if raw_source else "candidates and references"
            which = "all texts" if raw_source and raw_lists else which
            how = segmentation_note(self.segmenter) if self.unspaced else "punctuation cut off"
            self.tell(f"{which} cut into tokens ({how}); --tokens keep takes texts as they are")

    def make_trees(self) -> None:
        trees = (str(fallback_tree(segment.tokens)) for segment in self.watch(self.segments, "make trees"))
        self.texts = replace(self.texts, trees=self._write("source.trees", trees))
        count = plural(len(self.segments), "tree")
        self.tell(f"{count} made from punctuation and length; --trees takes the trees of any parser")

    def make_links(self) -> None:
        (self.folder / "links").mkdir()
        paths = [str(self.folder / "links" / f"{name}.links") for name in list_names(self.texts.nbest)]
        segments = {segment.id: segment for segment in self.segments}
        count = align_lists(segments, self.texts.nbest, paths, self.watch)
        self.texts = replace(self.texts, alignments=paths)
        self.tell(f"{plural(count, 'candidate')} aligned; --alignments takes the links of any aligner")

    def _record(self, candidate: Candidate) -> str:
        """A candidate with all that its line holds, and its text as it was."""
        record: dict[str, object] = {"id": candidate.segment, "candidate": self._tokens(candidate.text)}
        record[RAW] = join_pieces(candidate.text.split())
        if candidate.features:
            record["features"] = dict(candidate.features)
        if candidate.score is not None:
            record["score"] = candidate.score
        return _json(record | dict(candidate.columns))

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
