"""A campaign: a folder with ``rypt.toml``, which names the texts, and the judgment database.

    campaign/
        rypt.toml       what is where, and how to score
        judgments.db    segments and judgments

Paths in ``rypt.toml`` are relative to the folder.
"""

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from rypt.alignment import Lexicon
from rypt.database import JudgmentDatabase
from rypt.nbest import read_candidates
from rypt.records import Candidate, Segment
from rypt.text import FormatError, InputError, PathLike, RyptError, Watch, open_output, read_lines, unwatched
from rypt.treebank import attach_trees, parsed
from rypt.trees import SourceTree

SETTINGS = "rypt.toml"


@dataclass(frozen=True, slots=True)
class Files:
    """Where the texts of a campaign are, as written in ``[files]``."""

    source: str
    trees: str | None = None
    nbest: list[str] = field(default_factory=list)
    alignments: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    lexicon: str | None = None
    database: str = "judgments.db"


@dataclass(frozen=True, slots=True)
class Scoring:
    """How constituents are asked about and scored, as written in ``[scoring]``."""

    max_len: int = 4
    model: str = "percolation"
    unknown: str = "half"
    ties: str = "unknown"


@dataclass(frozen=True)
class Campaign:
    """An open campaign; texts are read when they are first needed."""

    folder: Path
    files: Files
    scoring: Scoring = Scoring()
    languages: tuple[str | None, str | None] = (None, None)
    watch: Watch = unwatched

    @classmethod
    def open(cls, folder: PathLike, watch: Watch = unwatched) -> "Campaign":
        """Read ``rypt.toml``; what is not known in it is an error, so that a typing mistake does not pass."""
        path = Path(folder) / SETTINGS
        if not path.is_file():
            raise InputError(folder, None, f"expected a campaign, a folder with {SETTINGS} ('rypt init' makes one)")
        try:
            settings = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(path, None, f"expected TOML: {error}") from None
        known = {"files": Files, "scoring": Scoring}
        for section in settings:
            if section not in {*known, "languages"}:
                raise InputError(path, None, f"unknown section [{section}]")
        languages = settings.get("languages", {})
        return cls(
            Path(folder),
            _section(Files, settings.get("files", {}), path),
            _section(Scoring, settings.get("scoring", {}), path),
            (languages.get("source"), languages.get("target")),
            watch,
        )

    def path(self, name: str) -> Path:
        """A file of the campaign."""
        return Path(os.path.normpath(self.folder / name))

    @cached_property
    def segments(self) -> list[Segment]:
        """The source segments with their trees, checked against each other."""
        segments = read_source(self.path(self.files.source), self.languages[0])
        return attach_trees(segments, self.path(self.files.trees)) if self.files.trees else segments

    @cached_property
    def trees(self) -> Mapping[str, SourceTree | None]:
        """The tree of each segment, None where there is no parse."""
        return {segment.id: parsed(segment) for segment in self.segments}

    @cached_property
    def candidates(self) -> list[Candidate]:
        """The candidates of all lists, each string once a segment, in order."""
        lists: Sequence[str | None] = self.files.alignments or [None] * len(self.files.nbest)
        if len(lists) != len(self.files.nbest):
            raise InputError(self.path(SETTINGS), None, "expected as many files in alignments as in nbest")
        found: dict[tuple[str, str, str], Candidate] = {}
        for name, alignments in zip(self.files.nbest, lists, strict=True):
            for c in self.read_candidates(self.path(name), self.path(alignments) if alignments else None):
                found.setdefault((c.segment, c.text, c.alignment), c)
        return list(found.values())

    def read_candidates(self, path: PathLike, alignments: PathLike | None = None) -> list[Candidate]:
        """Read candidates of this campaign's segments from any list."""
        segments = {segment.id: segment for segment in self.segments}
        return read_candidates(path, segments, alignments=alignments, lexicon=self.lexicon, watch=self.watch)

    @cached_property
    def lexicon(self) -> Lexicon:
        """Training alignments of phrase pairs."""
        return Lexicon.read(self.path(self.files.lexicon)) if self.files.lexicon else Lexicon()

    @cached_property
    def references(self) -> list[list[str]]:
        """For each reference file its lines, as many as there are segments."""
        return [_read_reference(self.path(name), len(self.segments)) for name in self.files.references]

    def database(self, *, readonly: bool = True) -> JudgmentDatabase:
        """The judgment database."""
        return JudgmentDatabase(self.path(self.files.database), readonly=readonly)

    def save(self) -> None:
        """Write ``rypt.toml``."""
        lines = [f"[files]\n{_toml(self.files)}", f"[scoring]\n{_toml(self.scoring)}"]
        languages = dict(zip(("source", "target"), self.languages, strict=True))
        lines.append("[languages]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in languages.items() if v))
        with open_output(self.path(SETTINGS)) as stream:
            stream.write("\n".join(lines))


def create(
    folder: PathLike,
    *,
    source: PathLike,
    trees: PathLike | None,
    nbest: Sequence[PathLike],
    alignments: Sequence[PathLike] = (),
    references: Sequence[PathLike] = (),
    lexicon: PathLike | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    watch: Watch = unwatched,
) -> Campaign:
    """Make a campaign from files, where they are; everything is read and checked before anything is written."""
    target = Path(folder)
    if (target / SETTINGS).exists():
        raise InputError(folder, None, "there is a campaign already")
    if not nbest:
        raise RyptError("expected at least one list of candidates (--nbest)")

    def relative(path: PathLike) -> str:
        return os.path.relpath(path, target)

    files = Files(
        relative(source),
        relative(trees) if trees is not None else None,
        [relative(path) for path in nbest],
        [relative(path) for path in alignments],
        [relative(path) for path in references],
        relative(lexicon) if lexicon is not None else None,
    )
    campaign = Campaign(target, files, languages=languages, watch=watch)
    check(campaign)
    target.mkdir(parents=True, exist_ok=True)
    with campaign.database(readonly=False) as db:
        db.add_segments(campaign.segments)
    campaign.save()
    return campaign


def check(campaign: Campaign) -> None:
    """Read everything a campaign names; the first thing wrong is an error."""
    _ = campaign.trees, campaign.candidates, campaign.references


def read_source(path: PathLike, language: str | None = None) -> list[Segment]:
    """Segments from plain text, a line each with ids from 0, or from JSONL with ``id`` and ``text``."""
    segments: dict[str, Segment] = {}
    for number, line in read_lines(path):
        try:
            segment = _json_segment(line, language) if line.startswith("{") else None
        except FormatError as error:
            raise InputError(path, number, str(error)) from None
        segment = segment or Segment(str(number - 1), line.strip(), None, language)
        there = segments.setdefault(segment.id, segment)
        if there is not segment:
            kind = "another text" if there.text != segment.text else "the same text"
            raise InputError(path, number, f"segment {segment.id} is there already with {kind}")
    if not segments:
        raise InputError(path, None, "expected segments, found an empty file")
    return list(segments.values())


def _json_segment(line: str, language: str | None) -> Segment:
    try:
        record = json.loads(line)
        return Segment(str(record["id"]), str(record["text"]), record.get("tree"), record.get("language") or language)
    except (ValueError, KeyError, TypeError):
        raise FormatError("expected a JSON object with id and text") from None


def _read_reference(path: PathLike, count: int) -> list[str]:
    lines = [line for _, line in read_lines(path)]
    if len(lines) != count:
        raise InputError(path, len(lines), f"expected {count} lines, one a segment, found {len(lines)}")
    return lines


def _section(kind: type[Any], values: Mapping[str, Any], path: Path) -> Any:
    known = {f.name for f in fields(kind)}
    for name in values:
        if name not in known:
            raise InputError(path, None, f"unknown setting {name!r}, expected one of {', '.join(sorted(known))}")
    try:
        return kind(**values)
    except TypeError as error:
        raise InputError(path, None, f"missing setting: {error}") from None


def _toml(section: Any) -> str:
    values = {f.name: getattr(section, f.name) for f in fields(section)}
    return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items() if value)
