"""The texts that ratings are about: source segments and systems' outputs, as files that a campaign can be made of.

    FOLDER/source.jsonl            one segment per line, {"id", "text"}
    FOLDER/systems/SYSTEM.jsonl    a system's outputs, {"id", "candidate"}
    FOLDER/references/NAME.txt     a human translation, among the systems or from a file, one line per segment
    FOLDER/documents.jsonl         the document of each segment, {"id", "document"}, where ratings name it

Texts are tokenised (`rypt.texts.tokenizer`) without changing a letter, so that marks find their tokens.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rypt.ratings.labels import spelling
from rypt.ratings.rating import Rating, Repairs, is_human
from rypt.text import InputError, PathLike, RyptError, is_one_line, new_folder, plural, read_lines
from rypt.texts.lists import list_name
from rypt.texts.tokenizer import Segmenter, is_unspaced, segmentation_note, tokens_of

SOURCE, SYSTEMS, REFERENCES, DOCUMENTS = "source.jsonl", "systems", "references", "documents.jsonl"
_TEXTS = ("text", "reference", "candidate", "translation")  # names of the text in a record of a reference


@dataclass(slots=True)
class RatingTexts:
    """Sources by segment, outputs by system and segment, and what could not be taken.

    ``references`` are human translations by name and segment; ``human`` are the systems that are people, who are judged
    and never picked. ``other_outputs`` counts ratings of a second output of a system for a segment, which are left out;
    ``without_reference`` segments that a reference lacks. Segments are ``renumbered`` where ids in the file are missing
    or are of several sources. ``segmenter`` finds words where no space is between them.
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
        outputs = (text for texts in self.systems.values() for text in texts.values())
        return any(map(is_unspaced, set().union(*self.sources.values(), *outputs)))

    def summary(self, folder: PathLike) -> str:
        outputs = plural(sum(map(len, self.systems.values())), "output")
        segments, systems = plural(len(self.sources), "segment"), plural(len(self.systems), "system")
        lines = [f"{folder}: {segments}, {outputs} of {systems}"]
        if self.renumbered:
            lines.append(
                "segments are numbered from 0: in the file, ids are missing or are of several sources"
            )
        if self.without_reference:
            missing = plural(self.without_reference, "segment")
            lines.append(f"{missing} left out: without {' or '.join(self.references)}")
        if self.other_outputs:
            others = plural(self.other_outputs, "rating")
            lines.append(f"{others} of a second output of a system for a segment, left out")
        if self.unspaced:
            lines.append(segmentation_note(self.segmenter))
        if self.human:
            lines.append(f"human translations, to be judged and never picked: {', '.join(self.human)}")
            if not self.references:
                lines.append("no reference for BLEU: --reference takes one of them, --references a file")
        return "\n  ".join(lines)

    def write(self, folder: PathLike) -> None:
        """Write a new folder, which appears whole or not at all."""

        def line(text: str) -> str:
            return " ".join(tokens_of(text, self.segmenter))

        with new_folder(folder) as building:
            _write(building / SOURCE, ({"id": s, "text": line(text)} for s, text in self.sources.items()))
            for name, outputs in self.systems.items():
                candidates = ({"id": s, "candidate": line(text)} for s, text in outputs.items())
                _write(building / SYSTEMS / f"{name}.jsonl", candidates)
            if self.documents:
                documents = ({"id": s, "document": name} for s, name in self.documents.items())
                _write(building / DOCUMENTS, documents)
            for name, reference in self.references.items():
                lines = "".join(f"{line(reference[segment])}\n" for segment in self.sources)
                (building / REFERENCES).mkdir(exist_ok=True)
                (building / REFERENCES / f"{name}.txt").write_text(lines, encoding="utf-8")


def _write(path: Path, records: Iterable[Mapping[str, str]]) -> None:
    path.parent.mkdir(exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def collect_texts(
    path: PathLike,
    ratings: Sequence[Rating],
    *,
    references: Sequence[str] = (),
    reference_files: Sequence[PathLike] = (),
    repairs: Repairs | None = None,
    segmenter: Segmenter | None = None,
) -> RatingTexts:
    """Gather the texts of ratings; with references, only the segments that these translate.

    ``references`` are human translations among the systems, ``reference_files`` files of others. A segment is what has
    one id; where an id is missing or has two sources, what has one source, numbered from 0. ``repairs`` takes ratings
    that no file can hold; without it, the first is refused.
    """
    repairs = repairs or Repairs(path, strict=True)
    if not ratings:
        raise InputError(path, None, "expected ratings, found none")
    pairs = sorted({rating.languages for rating in ratings})
    if len(pairs) > 1:
        problem = f"expected one language pair, found {', '.join(pairs)}; --languages names one"
        raise InputError(path, None, problem)
    kept = []
    for rating in ratings:
        if reason := _refusal(rating):
            repairs.add(rating.line, "rating-refused", reason)
        else:
            kept.append(rating)
    names = segment_names(kept)
    texts = RatingTexts(renumbered=names != [rating.segment for rating in kept], segmenter=segmenter)
    for rating, segment in zip(kept, names, strict=True):
        texts.sources.setdefault(segment, rating.source)
        if rating.document:
            texts.documents.setdefault(segment, rating.document)
        first = texts.systems.setdefault(rating.system, {}).setdefault(segment, rating.target)
        texts.other_outputs += first != rating.target and spelling(first) != spelling(rating.target)
    repairs.require(len(texts.sources))
    for name in references:
        if name not in texts.systems:
            systems = ", ".join(sorted(texts.systems))
            raise RyptError(f"no rating is of the system {name!r}; the systems are {systems}")
    texts.references = {name: texts.systems[name] for name in references}
    for file in reference_files:
        if list_name(file) in texts.references:
            raise InputError(file, None, f"expected one reference named {list_name(file)}, found two")
        texts.references[list_name(file)] = read_references(file, list(texts.sources))
    translated = [s for s in texts.sources if all(s in reference for reference in texts.references.values())]
    if not translated:
        raise RyptError(f"no segment has all of the references {', '.join(texts.references)}")

    def left(by_segment: Mapping[str, str]) -> dict[str, str]:
        return {segment: by_segment[segment] for segment in translated if segment in by_segment}

    texts.without_reference = len(texts.sources) - len(translated)
    texts.sources, texts.documents = left(texts.sources), left(texts.documents)
    lists = {name: left(outputs) for name, outputs in sorted(texts.systems.items())}
    texts.systems = {name: outputs for name, outputs in lists.items() if outputs}
    texts.human = human_systems(texts.systems, references)
    return texts


def segment_names(ratings: Sequence[Rating]) -> list[str]:
    """The segment of each rating: its id; where one is missing or has two sources, the source, numbered from 0."""
    sources: dict[str, str] = {}
    for rating in ratings:
        first = sources.setdefault(rating.segment, rating.source)
        if not rating.segment or (first != rating.source and spelling(first) != spelling(rating.source)):
            numbers: dict[str, str] = {}
            return [numbers.setdefault(spelling(each.source), str(len(numbers))) for each in ratings]
    return [rating.segment for rating in ratings]


def _refusal(rating: Rating) -> str | None:
    """Why a rating cannot be in a file, or give it its name."""
    name = rating.system
    if not is_one_line(rating.segment):
        return f"expected an id of one line, found {rating.segment!r}"
    if not name or name.startswith((".", "-")) or "/" in name or "\\" in name or not is_one_line(name):
        return f"expected a system that a file can be named after, found {name!r}"
    for what, text in (("source", rating.source), ("target", rating.target)):
        if not is_one_line("".join(text.split())):
            return f"expected text as the {what}, found {text[:40]!r}"
    return None


def human_systems(systems: Iterable[str], references: Sequence[str] = ()) -> tuple[str, ...]:
    """The human translations among systems: references, and what is named like one."""
    return tuple(name for name in sorted(systems) if name in references or is_human(name))


def read_references(path: PathLike, segments: Sequence[str]) -> dict[str, str]:
    """The references of a file by segment: text with a line for each segment, TSV of id and text, or JSONL.

    Lines without ids are in the order of the ids, counted from the first segment that was rated; a file with a line for
    every segment of the test set, of which some were rated, is read by line numbers, if the ids are numbers.
    """
    lines = list(read_lines(path))
    rows = [(number, line) for number, line in lines if line.strip()]
    if not rows:
        raise InputError(path, None, "expected references, found an empty file")
    known = set(segments)
    columns = [line.split("\t") for _, line in rows]
    if rows[0][1].lstrip().startswith("{"):
        pairs = dict(_reference_record(path, number, line) for number, line in rows)
    elif all(len(row) == 2 for row in columns) and any(row[0] in known for row in columns):
        pairs = dict(columns)
    else:
        pairs = _references_by_order(path, [line for _, line in lines], segments)
    references = {segment: text for segment, text in pairs.items() if segment in known and text.strip()}
    if not references:
        problem = f"expected references of the rated segments, such as {segments[0]}, found none"
        raise InputError(path, None, problem)
    return references


def _reference_record(path: PathLike, number: int, line: str) -> tuple[str, str]:
    try:
        record = json.loads(line)
        text = next(record[name] for name in _TEXTS if name in record)
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is no text")
        return str(record["id"]), text
    except (ValueError, TypeError, KeyError, StopIteration, RecursionError):
        raise InputError(path, number, "expected a JSON object with id and text") from None


def _references_by_order(path: PathLike, lines: Sequence[str], segments: Sequence[str]) -> dict[str, str]:
    are_numbers = all(segment.isascii() and segment.isdigit() for segment in segments)
    if len(lines) == len(segments):
        ordered = sorted(segments, key=int) if are_numbers else segments
        return dict(zip(ordered, lines, strict=True))
    first = 0 if "0" in segments else 1
    if are_numbers and len(lines) > max(map(int, segments)) - first:
        return {segment: lines[int(segment) - first] for segment in segments}
    numbered = " or one for each number" if are_numbers else ""
    problem = (
        f"expected {len(segments)} lines, one for each segment in the order of the ids{numbered}, or TSV or JSONL with "
        f"ids such as {segments[0]}, found {len(lines)} lines"
    )
    raise InputError(path, None, problem)
