"""The texts that ratings are about: source segments and systems' outputs, as files that a campaign can be made of.

    FOLDER/source.jsonl            a segment a line, {"id", "text"}
    FOLDER/systems/SYSTEM.jsonl    a system's outputs, {"id", "candidate"}
    FOLDER/references/SYSTEM.txt   a human translation among the systems, a line each segment

Texts are tokenised (`rypt.ratings.tokenizer`); the tokens spell them, so the ratings find their segments and candidates
again.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rypt.ratings.error_spans import Rating
from rypt.ratings.surface import spelling
from rypt.ratings.tokenizer import tokens_of
from rypt.text import InputError, PathLike, RyptError, is_one_line, new_folder

SOURCE, SYSTEMS, REFERENCES = "source.jsonl", "systems", "references"


@dataclass(slots=True)
class RatingTexts:
    """Sources by segment, outputs by system and segment, and what could not be taken.

    ``other_outputs`` counts ratings of a further output of a system for a segment, of which only the first is taken;
    ``without_reference`` segments that a reference lacks; ``renumbered`` says that the file's ids name no segments.
    """

    sources: dict[str, str] = field(default_factory=dict)
    systems: dict[str, dict[str, str]] = field(default_factory=dict)
    references: tuple[str, ...] = ()
    other_outputs: int = 0
    without_reference: int = 0
    renumbered: bool = False


def collect_texts(path: PathLike, ratings: Sequence[Rating], references: Sequence[str] = ()) -> RatingTexts:
    """Gather the texts of ratings; with ``references``, only the segments that those systems translated.

    A segment is what has one id; where an id is missing or has two sources, what has one source, numbered from 0.
    """
    if not ratings:
        raise InputError(path, None, "expected ratings, found none")
    pairs = sorted({rating.languages for rating in ratings})
    if len(pairs) > 1:
        raise InputError(path, None, f"expected one language pair, found {', '.join(pairs)}; --languages names one")
    texts = RatingTexts(references=tuple(dict.fromkeys(references)), renumbered=not _ids_hold(ratings))
    numbers: dict[str, str] = {}
    for rating in ratings:
        _check(path, rating)
        segment = rating.segment
        if texts.renumbered:
            segment = numbers.setdefault(spelling(rating.source), str(len(numbers)))
        texts.sources.setdefault(segment, rating.source)
        first = texts.systems.setdefault(rating.system, {}).setdefault(segment, rating.target)
        texts.other_outputs += first != rating.target and spelling(first) != spelling(rating.target)
    _keep_translated(texts)
    return texts


def _ids_hold(ratings: Iterable[Rating]) -> bool:
    sources: dict[str, str] = {}
    for rating in ratings:
        there = sources.setdefault(rating.segment, rating.source)
        if not rating.segment or (there != rating.source and spelling(there) != spelling(rating.source)):
            return False
    return True


def _check(path: PathLike, rating: Rating) -> None:
    """Refuse what cannot stand in a file, or be its name."""
    name = rating.system
    if not is_one_line(rating.segment):
        raise InputError(path, rating.line, f"expected an id of one line, found {rating.segment!r}")
    if not name or name.startswith((".", "-")) or "/" in name or "\\" in name or not is_one_line(name):
        raise InputError(path, rating.line, f"expected a system that a file can be named after, found {name!r}")
    for what, text in (("source", rating.source), ("target", rating.target)):
        if not is_one_line("".join(text.split())):
            raise InputError(path, rating.line, f"expected text as the {what}, found {text[:40]!r}")


def _keep_translated(texts: RatingTexts) -> None:
    """Leave out the segments that a reference lacks."""
    for name in texts.references:
        if name not in texts.systems:
            raise RyptError(f"no rating is of the system {name!r}; the systems are {', '.join(sorted(texts.systems))}")
    kept = [s for s in texts.sources if all(s in texts.systems[name] for name in texts.references)]
    if not kept:
        raise RyptError(f"no segment has all of the references {', '.join(texts.references)}")
    texts.without_reference = len(texts.sources) - len(kept)
    texts.sources = {segment: texts.sources[segment] for segment in kept}
    systems = {name: {s: own[s] for s in kept if s in own} for name, own in sorted(texts.systems.items())}
    texts.systems = {name: own for name, own in systems.items() if own}


def write_texts(texts: RatingTexts, folder: PathLike) -> None:
    """Write a new folder, which appears whole or not at all."""
    with new_folder(folder) as building:
        _write(building / SOURCE, ({"id": s, "text": _line(text)} for s, text in texts.sources.items()))
        (building / SYSTEMS).mkdir()
        for name, own in texts.systems.items():
            _write(building / SYSTEMS / f"{name}.jsonl", _candidates(own))
        if texts.references:
            (building / REFERENCES).mkdir()
        for name in texts.references:
            with open(building / REFERENCES / f"{name}.txt", "w", encoding="utf-8") as stream:
                stream.writelines(f"{_line(text)}\n" for text in texts.systems[name].values())


def _candidates(own: Mapping[str, str]) -> Iterator[dict[str, str]]:
    for segment, text in own.items():
        yield {"id": segment, "candidate": _line(text)}


def _line(text: str) -> str:
    return " ".join(tokens_of(text))


def _write(path: Path, records: Iterable[Mapping[str, str]]) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
