"""A page of the segments where two metrics pick different texts: both picks side by side, rejected words marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from hits.batch.markup import highlight, html_templates, text_direction
from hits.compare.picks import Disagreement, rejected_words
from rypt.scoring.scorer import Pick, Scorer
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
        raise RyptError(f"{path}: its folder does not exist")


def write_picks_page(path: PathLike, facts: PageFacts, picks: Sequence[Disagreement], scorer: Scorer) -> None:
    """Write the page; it needs nothing else."""
    with open_output(path) as stream:
        stream.write(picks_page(facts, picks, scorer))


def picks_page(facts: PageFacts, picks: Sequence[Disagreement], scorer: Scorer) -> str:
    """The whole page, from ``templates/picks.html``."""
    from markupsafe import Markup

    def marked(pick: Pick) -> Markup:
        return Markup(highlight(pick.candidate.tokens, rejected_words(pick.candidate, scorer)))

    style = (files("hits.compare") / "templates" / "picks.css").read_text(encoding="utf-8")
    return (
        html_templates("hits.compare")
        .get_template("picks.html")
        .render(
            facts=facts, disagreements=picks, marked=marked, direction=text_direction, style=Markup(style)
        )
    )
