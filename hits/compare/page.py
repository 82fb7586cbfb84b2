"""A page of the segments where two metrics pick different texts: both picks side by side, rejected words marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from hits.batches.markup import escape, highlight, text_direction
from hits.compare.picks import Disagreement, rejected_words
from rypt.metric.scorer import Scorer
from rypt.picks.choose import Pick
from rypt.text import PathLike, RyptError, open_output


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What the page says besides the picks: the two metrics, how many picks agree, languages, notes, signatures."""

    first: str
    second: str
    same: int
    different: int
    source_language: str = ""
    target_language: str = ""
    notes: Sequence[str] = ()
    signatures: Sequence[str] = ()


def check_page(path: PathLike) -> None:
    """Refuse a file that cannot be written to, before anything is computed."""
    if not str(path).endswith((".html", ".htm")):
        raise RyptError(f"{path}: expected a name ending in .html")
    if not Path(path).resolve().parent.is_dir():
        raise RyptError(f"{path}: there is no folder to write it to")


def write_picks_page(path: PathLike, facts: PageFacts, found: Sequence[Disagreement], scorer: Scorer) -> None:
    """Write the page; it needs nothing else."""
    style = (files("hits.compare") / "picks.css").read_text(encoding="utf-8")
    with open_output(path) as stream:
        stream.write(picks_page(facts, found, scorer, style))


def picks_page(facts: PageFacts, found: Sequence[Disagreement], scorer: Scorer, style: str = "") -> str:
    """The whole page."""
    title = f"{escape(facts.first)} against {escape(facts.second)}"
    few = "" if len(found) == facts.different else f"; the first {len(found)} are shown"
    notes = "".join(f'<p class="notice">{escape(note)}</p>\n' for note in facts.notes)
    cards = "\n".join(_card(d, facts, scorer) for d in found)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}: where the picks differ</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}: where the picks differ</h1>
<p>{facts.different} segments with different picks, {facts.same} with the same{few}.
<mark>Marked</mark> words are of the smallest phrases that people rejected.</p>
{notes}</header>
<main>
{cards}
</main>
<footer><p>{"<br>".join(map(escape, facts.signatures))}</p></footer>
</body>
</html>
"""


def _card(d: Disagreement, facts: PageFacts, scorer: Scorer) -> str:
    target = _written_in(facts.target_language)
    reference = f"<dt>reference</dt><dd{target}>{escape(d.reference)}</dd>" if d.reference else ""
    picks = "\n".join(
        f'<section><h3>{escape(name)}</h3><p class="pick"{target}>{_text(pick, scorer)}</p>'
        f'<p class="score">{_score(pick)}</p></section>'
        for name, pick in ((facts.first, d.first), (facts.second, d.second))
    )
    return f"""<article>
<h2>segment {escape(d.segment)}</h2>
<dl><dt>source</dt><dd{_written_in(facts.source_language)}>{escape(d.source)}</dd>{reference}</dl>
<div class="picks">
{picks}
</div>
</article>"""


def _written_in(language: str) -> str:
    said = f' lang="{escape(language)}"' if language else ""
    return f'{said} dir="{text_direction(language)}"'


def _text(pick: Pick, scorer: Scorer) -> str:
    tokens = pick.candidate.tokens
    return highlight(tokens, rejected_words(pick.candidate, scorer)) if tokens else "<i>nothing</i>"


def _score(pick: Pick) -> str:
    return f"{pick.score:.3f}" + (f", shared by {pick.tied} candidates" if pick.tied > 1 else "")
