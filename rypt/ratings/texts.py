"""The texts that ratings are about: source segments and systems' outputs, as files that a campaign can be made of.

    FOLDER/source.jsonl            one segment per line, {"id", "text"}
    FOLDER/systems/SYSTEM.jsonl    a system's outputs, {"id", "candidate"}
    FOLDER/references/NAME.txt     a human translation, among the systems or from a file, one line per segment
    FOLDER/documents.jsonl         the document of each segment, {"id", "document"}, where ratings name it

Texts are tokenised (`rypt.texts.tokenizer`) without changing a letter, so that ratings can be matched with their
segments and candidates by text.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

from rypt.ratings.error_spans import Rating
from rypt.ratings.references import human_systems, read_references
from rypt.ratings.repairs import Repairs
from rypt.ratings.surface import spelling
from rypt.text import InputError, PathLike, RyptError, is_one_line, new_folder, plural
from rypt.texts.lists import list_name
from rypt.texts.segmenters import HOW_TO_INSTALL, Segmenter, is_unspaced
from rypt.texts.segmenters import is_installed as is_segmenter_installed
from rypt.texts.tokenizer import tokens_of

SOURCE, SYSTEMS, REFERENCES, DOCUMENTS = "source.jsonl", "systems", "references", "documents.jsonl"


@dataclass(frozen=True, slots=True)
class Translators:
    """Who is a person: systems that are references, and files of references; other people and machines by name."""

    references: tuple[str, ...] = ()
    files: tuple[PathLike, ...] = ()
    people: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()


@dataclass(slots=True)
class RatingTexts:
    """Sources by segment, outputs by system and segment, and what could not be taken.

    ``references`` are human translations by name and segment; ``human`` are the systems that are people, who are judged
    and never picked. ``other_outputs`` counts ratings of a further output of a system for a segment, of which only the
    first is taken; ``without_reference`` segments that a reference lacks; ``renumbered`` says that the file's ids name
    no segments. ``segmenter`` finds words where no space is between them.
    """

    sources: dict[str, str] = field(default_factory=dict)
    systems: dict[str, dict[str, str]] = field(default_factory=dict)
    references: dict[str, dict[str, str]] = field(default_factory=dict)
    human: tuple[str, ...] = ()
    documents: dict[str, str] = field(default_factory=dict)
    other_outputs: int = 0
    without_reference: int = 0
    renumbered: bool = False
    segmenter: Segmenter | None = None

    @property
    def unspaced(self) -> bool:
        """Whether a text has letters of a script without spaces between words."""
        characters: set[str] = set().union(
            *self.sources.values(), *(t for texts in self.systems.values() for t in texts.values())
        )
        return any(map(is_unspaced, characters))

    @property
    def words_by(self) -> str | None:
        """The segmenter that found words, with its version; None where none did."""
        return self.segmenter.signature if self.segmenter and self.unspaced else None

    def as_dict(self) -> dict[str, Any]:
        """For JSON; people, documents and the segmenter where there are any."""
        record: dict[str, Any] = {
            "segments": len(self.sources),
            "systems": {name: len(outputs) for name, outputs in self.systems.items()},
            "references": list(self.references),
            "other_outputs": self.other_outputs,
            "without_reference": self.without_reference,
            "renumbered": self.renumbered,
        }
        if self.human:
            record["human"] = self.human
        if (documents := len(set(self.documents.values()))) > 1:
            record["documents"] = documents
        if self.words_by:
            record["segmenter"] = self.words_by
        return record

    def summary(self, folder: PathLike) -> str:
        """What was written to a folder, and what was left out, in a few lines."""
        outputs = sum(map(len, self.systems.values()))
        lines = [
            f"{folder}: {plural(len(self.sources), 'segment')}, {plural(outputs, 'output')} of "
            f"{plural(len(self.systems), 'system')}"
        ]
        if self.renumbered:
            lines.append(
                "  segments are numbered from 0: in the file, ids are missing or are of several sources"
            )
        if self.without_reference:
            lines.append(
                f"  {plural(self.without_reference, 'segment')} left out: without {' or '.join(self.references)}"
            )
        if self.other_outputs:
            lines.append(
                f"  {plural(self.other_outputs, 'rating')} of a second output of a system for a segment, left out"
            )
        if self.words_by:
            lines.append(f"  words of scripts without spaces are found by {self.words_by}")
        elif self.unspaced and not is_segmenter_installed():
            lines.append(
                f"  words of scripts without spaces are not found: install a segmenter ({HOW_TO_INSTALL})"
            )
        if self.human:
            lines.append(f"  human translations, to be judged and never picked: {', '.join(self.human)}")
        if self.human and not self.references:
            lines.append(
                f"  no reference for BLEU: --reference {self.human[0]} takes one of them, --references a file"
            )
        return "\n".join(lines)

    def write(self, folder: PathLike) -> None:
        """Write a new folder, which appears whole or not at all."""
        with new_folder(folder) as building:
            _write(
                building / SOURCE, ({"id": s, "text": self._line(text)} for s, text in self.sources.items())
            )
            (building / SYSTEMS).mkdir()
            for name, outputs in self.systems.items():
                _write(building / SYSTEMS / f"{name}.jsonl", self._candidates(outputs))
            if self.documents:
                _write(
                    building / DOCUMENTS, ({"id": s, "document": name} for s, name in self.documents.items())
                )
            if self.references:
                (building / REFERENCES).mkdir()
            for name, reference in self.references.items():
                with open(building / REFERENCES / f"{name}.txt", "w", encoding="utf-8") as stream:
                    stream.writelines(f"{self._line(reference[segment])}\n" for segment in self.sources)

    def _candidates(self, outputs: Mapping[str, str]) -> Iterator[dict[str, str]]:
        for segment, text in outputs.items():
            yield {"id": segment, "candidate": self._line(text)}

    def _line(self, text: str) -> str:
        return " ".join(tokens_of(text, self.segmenter))

    def next_commands(self, folder: PathLike, import_command: str) -> list[str]:
        """The commands that lead from the texts in a folder to a campaign with judgments.

        ``import_command`` is what follows ``rypt import``: the form of the ratings, their file and its options.
        """

        def inside(*names: str) -> str:
            return quote("/".join((str(folder).rstrip("/") or "/", *names)))

        source, systems, scores = inside(SOURCE), inside(SYSTEMS), inside("scores.jsonl")
        references = "".join(f" --references {inside(REFERENCES, f'{name}.txt')}" for name in self.references)
        judged_only = "".join(f" --judged-only {quote(name)}" for name in self.human)
        texts = f"--source {source} --nbest {systems}{references} --tokens keep"
        segmenter = f" --segmenter {quote(self.words_by)}" if self.words_by else ""
        commands = [
            f"rypt init {inside()} {texts}{segmenter}",
            f"rypt import {import_command} -C {inside()} --scores {scores}",
        ]
        if self.references:
            commands.append(f"rypt compare {inside()} --scores {scores}{judged_only}")
        return commands


def collect_texts(
    path: PathLike,
    ratings: Sequence[Rating],
    translators: Translators | None = None,
    repairs: Repairs | None = None,
    segmenter: Segmenter | None = None,
) -> RatingTexts:
    """Gather the texts of ratings; with references, only the segments that these translate.

    A segment is what has one id; where an id is missing or has two sources, what has one source, numbered from 0.
    ``repairs`` takes ratings that no file can hold; without it, the first is refused. ``segmenter`` finds words
    where no space is between them.
    """
    translators, repairs = translators or Translators(), repairs or Repairs(path, strict=True)
    if not ratings:
        raise InputError(path, None, "expected ratings, found none")
    pairs = sorted({rating.languages for rating in ratings})
    if len(pairs) > 1:
        raise InputError(
            path, None, f"expected one language pair, found {', '.join(pairs)}; --languages names one"
        )
    texts = RatingTexts(renumbered=not _ids_hold(ratings), segmenter=segmenter)
    numbers: dict[str, str] = {}
    for rating in ratings:
        if problem := _problem(rating):
            repairs.add(rating.line, "rating-refused", problem)
            continue
        segment = rating.segment
        if texts.renumbered:
            segment = numbers.setdefault(spelling(rating.source), str(len(numbers)))
        texts.sources.setdefault(segment, rating.source)
        if rating.document:
            texts.documents.setdefault(segment, rating.document)
        first = texts.systems.setdefault(rating.system, {}).setdefault(segment, rating.target)
        texts.other_outputs += first != rating.target and spelling(first) != spelling(rating.target)
    repairs.require(len(texts.sources))
    _name_people(texts, translators)
    _keep_translated(texts)
    return texts


def _ids_hold(ratings: Iterable[Rating]) -> bool:
    sources: dict[str, str] = {}
    for rating in ratings:
        first = sources.setdefault(rating.segment, rating.source)
        if not rating.segment or (first != rating.source and spelling(first) != spelling(rating.source)):
            return False
    return True


def _problem(rating: Rating) -> str | None:
    """Why a rating cannot stand in a file, or give it its name."""
    name = rating.system
    if not is_one_line(rating.segment):
        return f"expected an id of one line, found {rating.segment!r}"
    if not name or name.startswith((".", "-")) or "/" in name or "\\" in name or not is_one_line(name):
        return f"expected a system that a file can be named after, found {name!r}"
    for what, text in (("source", rating.source), ("target", rating.target)):
        if not is_one_line("".join(text.split())):
            return f"expected text as the {what}, found {text[:40]!r}"
    return None


def _name_people(texts: RatingTexts, translators: Translators) -> None:
    """Say which systems are people, and take the references from them and from files."""
    for name in (*translators.references, *translators.people, *translators.machines):
        if name not in texts.systems:
            raise RyptError(
                f"no rating is of the system {name!r}; the systems are {', '.join(sorted(texts.systems))}"
            )
    people = (*translators.references, *translators.people)
    texts.human = human_systems(sorted(texts.systems), people, translators.machines)
    for name in translators.references:
        texts.references[name] = texts.systems[name]
    for path in translators.files:
        name = list_name(path)
        if name in texts.references:
            raise InputError(path, None, f"expected one reference named {name}, found two")
        texts.references[name] = read_references(path, list(texts.sources))


def _keep_translated(texts: RatingTexts) -> None:
    """Leave out the segments that a reference lacks."""
    kept = [s for s in texts.sources if all(s in reference for reference in texts.references.values())]
    if not kept:
        raise RyptError(f"no segment has all of the references {', '.join(texts.references)}")
    texts.without_reference = len(texts.sources) - len(kept)
    texts.sources = {segment: texts.sources[segment] for segment in kept}
    texts.documents = {segment: texts.documents[segment] for segment in kept if segment in texts.documents}
    systems = {
        name: {s: outputs[s] for s in kept if s in outputs} for name, outputs in sorted(texts.systems.items())
    }
    texts.systems = {name: outputs for name, outputs in systems.items() if outputs}
    texts.human = tuple(name for name in texts.human if name in texts.systems)


def _write(path: Path, records: Iterable[Mapping[str, str]]) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
