"""A campaign: a folder with ``rypt.toml``, which names the texts, and the judgment database.

    campaign/
        rypt.toml       paths of the texts, and how to score
        judgments.db    segments and judgments

Paths in ``rypt.toml`` are relative to the folder; `rypt.campaign.create` makes one.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rypt.campaign.settings import SETTINGS, CampaignSettings, Files, Scoring, read_settings
from rypt.records import Candidate, Segment
from rypt.strict import SyntaxFormatError, parse_json
from rypt.text import FormatError, InputError, PathLike, Watch, plural, read_lines, unwatched
from rypt.texts.alignment import Lexicon, read_lexicon
from rypt.texts.lists import distinct, list_names, read_reference
from rypt.texts.nbest import read_candidates
from rypt.texts.treebank import parsed, segments_with_trees
from rypt.texts.trees import SourceTree

if TYPE_CHECKING:
    from rypt.database.judgments import JudgmentDatabase


@dataclass(frozen=True, repr=False)
class Campaign:
    """An open campaign; texts are read when they are first needed."""

    folder: Path
    settings: CampaignSettings
    watch: Watch = unwatched

    @classmethod
    def open(cls, folder: PathLike, watch: Watch = unwatched) -> "Campaign":
        return cls(Path(folder), read_settings(Path(folder)), watch)

    def __repr__(self) -> str:
        return f"Campaign({str(self.folder)!r})"

    @property
    def files(self) -> Files:
        return self.settings.files

    @property
    def scoring(self) -> Scoring:
        return self.settings.scoring

    def path(self, name: str) -> Path:
        return Path(os.path.normpath(self.folder / name))

    @cached_property
    def _parsed_segments(self) -> list[tuple[Segment, SourceTree | None]]:
        segments = read_source(self.path(self.files.source), self.settings.languages.source)
        if self.files.trees:
            return segments_with_trees(segments, self.path(self.files.trees))
        return [(segment, parsed(segment)) for segment in segments]

    @cached_property
    def segments(self) -> list[Segment]:
        """The source segments with their trees, checked against each other."""
        return [segment for segment, _ in self._parsed_segments]

    @cached_property
    def trees(self) -> Mapping[str, SourceTree | None]:
        """The tree of each segment, None where there is no parse."""
        return {segment.id: tree for segment, tree in self._parsed_segments}

    @cached_property
    def candidates(self) -> list[Candidate]:
        """The candidates of all lists in order, each text with its alignment once per segment."""
        return distinct(candidates for _, candidates in self.lists)

    @cached_property
    def lists(self) -> list[tuple[str, list[Candidate]]]:
        """Each list's file, as the settings name it, and its candidates."""
        aligned: Sequence[str | None] = self.files.alignments or [None] * len(self.files.nbest)
        if len(aligned) != len(self.files.nbest):
            raise InputError(self.path(SETTINGS), None, "expected as many files in alignments as in nbest")
        return [
            (name, self.read_candidates(self.path(name), self.path(links) if links else None))
            for name, links in zip(self.files.nbest, aligned, strict=True)
        ]

    @cached_property
    def outputs(self) -> dict[str, Path]:
        """The outputs of systems by their names: two or more lists with one candidate for each segment, else none."""
        ids = {segment.id for segment in self.segments}
        whole = (
            len(listed) == len(ids) and {candidate.segment for candidate in listed} == ids
            for _, listed in self.lists
        )
        if len(self.lists) < 2 or not all(whole):
            return {}
        paths = [self.path(name) for name in self.files.nbest]
        return dict(zip(list_names(paths), paths, strict=True))

    def read_candidates(self, path: PathLike, alignments: PathLike | None = None) -> list[Candidate]:
        """Read candidates of this campaign's segments from any list."""
        segments = {segment.id: segment for segment in self.segments}
        return read_candidates(path, segments, alignments=alignments, lexicon=self.lexicon, watch=self.watch)

    @cached_property
    def lexicon(self) -> Lexicon:
        return read_lexicon(self.path(self.files.lexicon)) if self.files.lexicon else {}

    @cached_property
    def references(self) -> list[list[str]]:
        """For each reference file its lines, as many as there are segments."""
        return [read_reference(self.path(name), len(self.segments)) for name in self.files.references]

    def database(self, path: PathLike | None = None, *, readonly: bool = True) -> "JudgmentDatabase":
        """Open the judgment database, or another at ``path``; refuse a source that changed since it was judged.

        One that is opened for writing gets the segments it lacks, as a new one does where the old file was removed.
        """
        from rypt.database.judgments import JudgmentDatabase

        db = JudgmentDatabase(self.path(self.files.database) if path is None else path, readonly=readonly)
        known = {segment.id: segment for segment in db.segments()}
        for segment in self.segments:
            judged = known.get(segment.id, segment)
            if judged.tokens != segment.tokens:
                db.close()
                what = f"segment {segment.id} is {segment.text!r}, but judgments are about {judged.text!r}"
                raise InputError(self.path(self.files.source), None, f"{what} (see 'rypt check')")
        missing = [segment for segment in self.segments if segment.id not in known]
        if missing and not readonly:
            db.add_segments(missing)
        return db

    def summary(self) -> str:
        """Numbers of segments and candidates, and what is missing."""
        segments, candidates = (
            plural(len(self.segments), "segment"),
            plural(len(self.candidates), "candidate"),
        )
        lines = [f"{self.folder}: {segments}, {candidates}"]
        if repeated := sum(len(listed) for _, listed in self.lists) - len(self.candidates):
            lines[0] += f" ({repeated:,} more with a text and links that are there already)"
        if unparsed := [segment for segment, tree in self.trees.items() if tree is None]:
            names = ", ".join(unparsed[:5]) + (", …" if len(unparsed) > 5 else "")
            count = plural(len(unparsed), "segment")
            lines.append(f"{count} without a parse, left out of scores and queries: {names}")
        missing = len(self.segments) - len({candidate.segment for candidate in self.candidates})
        if missing and self.files.nbest:
            lines.append(f"{plural(missing, 'segment')} without a candidate")
        return "\n".join(lines)


def read_source(path: PathLike, language: str | None = None) -> list[Segment]:
    """Segments from plain text, a line each with ids from 0, or from JSONL with ``id`` and ``text``."""
    segments: dict[str, Segment] = {}
    for number, line in read_lines(path):
        try:
            if "\0" in line:
                raise FormatError("expected text, found a NUL character")
            segment = _json_segment(line, language) if line.startswith("{") else None
        except FormatError as error:
            raise InputError(path, number, str(error)) from None
        segment = segment or Segment(str(number - 1), line.strip(" \t"), None, language)
        first = segments.setdefault(segment.id, segment)
        if first is not segment:
            kind = "another text" if first.text != segment.text else "the same text"
            raise InputError(path, number, f"segment {segment.id} is there already with {kind}")
    if not segments:
        raise InputError(path, None, "expected segments, found an empty file")
    return list(segments.values())


def _json_segment(line: str, language: str | None) -> Segment:
    from rypt.database.exchange import segment_from_record

    try:
        record = parse_json(line)
    except SyntaxFormatError as error:
        raise FormatError(f"expected a JSON object with id and text: {error}") from None
    segment = segment_from_record(record)
    return replace(segment, language=segment.language or language)
