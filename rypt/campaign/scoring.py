"""The RYPT score of a campaign, and the explanation of a candidate's score.

>>> ScoringChoices(model="table")
ScoringChoices(model='table', unknown=None, ties=None, database=None)

report = score(campaign, choices=ScoringChoices(unknown="ignore"))
report.score, report.coverage.after          # also: print(report), report.write("score.json")
explanation = explain_candidate(campaign, "12", "best")
explanation.write("why.svg")
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rypt.campaign.folder import Campaign
from rypt.campaign.settings import Scoring
from rypt.options import MODELS, TIES, UNKNOWN_AS, Options, check_option
from rypt.scoring.explain import Explanation, explain
from rypt.scoring.learning import scorer_from_database
from rypt.scoring.report import ScoreReport, score_report
from rypt.scoring.scorer import Scorer, best_picks
from rypt.text import OptionError, PathLike, RyptError, plural, read_lines
from rypt.texts.formats import original_texts
from rypt.texts.lists import list_names


@dataclass(frozen=True, slots=True)
class ScoringChoices:
    """How to score; None means the campaign's setting.

    ``model`` says how labels spread (percolation, table, severity), ``unknown`` what a constituent without a label counts
    as, ``ties`` what a tied vote counts as. ``database`` is a file of judgments to use instead of the campaign's, such
    as aggregated ones.
    """

    model: str | None = None
    unknown: str | None = None
    ties: str | None = None
    database: PathLike | None = None

    def __post_init__(self) -> None:
        choices = {"model": MODELS, "unknown": UNKNOWN_AS, "ties": TIES}
        for name, allowed in choices.items():
            if getattr(self, name) is not None:
                check_option(name, getattr(self, name), allowed)

    @classmethod
    def from_options(cls, options: Mapping[str, str], scoring: Scoring) -> "ScoringChoices":
        """The choices of the metric ``rypt(model=…,unknown=…,ties=…,db=…)`` for a campaign with these settings.

        ``unknown`` is an option of percolation, so giving it alone asks for percolation, whatever the settings say.

        >>> ScoringChoices.from_options({"unknown": "ignore"}, Scoring(model="table")).model
        'percolation'
        """
        read = Options("rypt", options)
        model = read.choice("model", "percolation" if "unknown" in options else scoring.model, MODELS)
        unknown = read.choice("unknown", scoring.unknown, UNKNOWN_AS)
        ties = read.choice("ties", scoring.ties, TIES)
        database = read.text("db", None)
        read.done()
        if "unknown" in options and model != "percolation":
            raise RyptError(
                f"the metric rypt: the option unknown is for model=percolation, the model is {model}"
            )
        return cls(model, unknown if model == "percolation" else None, ties, database=database)


DEFAULT_CHOICES = ScoringChoices()
BEST = "best"
PREPARED_LISTS = "prepared/lists/"  # where `rypt init` writes lists that it cut into tokens


def campaign_scorer(campaign: Campaign, choices: ScoringChoices = DEFAULT_CHOICES) -> Scorer:
    """The scorer of a campaign's judgments."""
    settings = campaign.scoring
    model = choices.model or settings.model
    if choices.unknown and model != "percolation":
        raise OptionError(f"unknown is an option of the model percolation, and the model is {model}")
    unknown, ties = choices.unknown or settings.unknown, choices.ties or settings.ties
    with campaign.database(choices.database) as db:
        candidates = campaign.candidates if model == "table" else ()
        scorer = scorer_from_database(campaign.trees, db, candidates, model=model, unknown=unknown, ties=ties)
    scorer.segmenter = campaign.settings.languages.segmenter
    return scorer


def score(
    campaign: Campaign,
    *,
    candidates: PathLike | None = None,
    alignments: PathLike | None = None,
    pick: str = "first",
    choices: ScoringChoices = DEFAULT_CHOICES,
) -> ScoreReport:
    """The RYPT score of a campaign's candidates, or of a file of ``candidates`` with their ``alignments``.

    ``pick`` says which candidate of each segment is scored: the "first", or the "best" by RYPT.
    """
    if alignments is not None and candidates is None:
        raise OptionError("alignments are those of a file of candidates: expected candidates, too")
    scored = campaign.candidates if candidates is None else campaign.read_candidates(candidates, alignments)
    return score_report(campaign_scorer(campaign, choices), scored, pick=pick)


def write_picks(campaign: Campaign, report: ScoreReport, path: PathLike, *, from_lists: bool = True) -> str:
    """Write the picked candidates, a line for each segment of the campaign, and say in what form they are.

    Where the campaign's lists keep the texts as they were before they were cut into tokens, those are written;
    candidates that are not ``from_lists`` are written as they were read.
    """
    originals = _original_texts(campaign, report) if from_lists else {}
    report.write_texts(path, [segment.id for segment in campaign.segments], originals)
    if originals:
        form = "as they were read, before they were cut into tokens"
    elif from_lists and any(PREPARED_LISTS in name for name in campaign.files.nbest):
        form = "as tokens; rypt init makes a campaign whose picks are written as they were read"
    else:
        form = "as they stand in the lists, so as tokens where these hold tokens"
    if report.pick == "best" and report.decisions.arbitrary:
        form += "; no candidate has a label, so these picks are arbitrary"
    elif report.pick == "best":
        picks = plural(len(report.segments), "pick")
        form += f"; labels decided {report.decisions.by_labels} of {picks}"
    return f"{path}: {len(report.segments)} candidates written, {form}"


def _original_texts(campaign: Campaign, report: ScoreReport) -> dict[str, str]:
    """The texts of the picked candidates before they were cut into tokens, by segment, where the lists keep them."""
    picked = {(row.segment, row.candidate) for row in report.segments}
    texts: dict[str, str] = {}
    for name in campaign.files.nbest:
        if PREPARED_LISTS in name:
            for segment, candidate, original in original_texts(read_lines(campaign.path(name))):
                if (segment, candidate) in picked:
                    texts.setdefault(segment, original)
    return texts


def explain_candidate(
    campaign: Campaign, segment: str, candidate: int | str = 0, *, choices: ScoringChoices = DEFAULT_CHOICES
) -> Explanation:
    """Why a candidate of a segment has its score.

    ``candidate`` is a number, "best" (the one that `score` with pick="best" takes), or the name of a list, whose first
    candidate of the segment it is. Numbers count from 0 the distinct candidates of the segment in the order of the
    lists.
    """
    if segment not in campaign.trees:
        first, last = campaign.segments[0].id, campaign.segments[-1].id
        raise RyptError(f"segment {segment!r} is not in the campaign, whose segments are {first} to {last}")
    names = list_names(campaign.files.nbest)
    lists = {
        name: (file, [(each.text, each.alignment) for each in listed if each.segment == segment])
        for name, (file, listed) in zip(names, campaign.lists, strict=True)
    }
    candidates = [each for each in campaign.candidates if each.segment == segment]
    if not candidates:
        raise RyptError(f"segment {segment} has no candidate in the campaign's lists")
    texts = [(each.text, each.alignment) for each in candidates]
    scorer = campaign_scorer(campaign, choices)
    if candidate == BEST:
        number = best_picks(scorer.score(scorer.stats(candidates)), candidates)[segment].index
    else:
        number = _number(segment, candidate, lists, texts)
    explanation = explain(scorer, candidates[number], max_len=campaign.scoring.max_len)
    holders = [name for name, (_, listed) in lists.items() if texts[number] in listed]
    which = f" ({', '.join(holders)})" if len(lists) > 1 else ""
    return replace(explanation, name=f"candidate {number}{which}")


Texts = Sequence[tuple[str, str | None]]  # candidates of a segment with their links


def _number(segment: str, candidate: int | str, lists: Mapping[str, tuple[str, Texts]], texts: Texts) -> int:
    """The number of a candidate among the distinct ones of its segment, from its number or the name of a list.

    ``lists`` has by name each list's file and its candidates. Digits are a number: a list of such a name is called by
    its file's name.
    """
    if re.fullmatch(r"-?\d+", str(candidate)):
        if 0 <= int(candidate) < len(texts):
            return int(candidate)
        total = sum(len(listed) for _, listed in lists.values())
        repeated = f" ({total} in the lists, some of them repeated)" if total > len(texts) else ""
        count = f"{plural(len(texts), 'candidate')}, numbered from 0 to {len(texts) - 1}{repeated}"
        raise RyptError(f"segment {segment} has {count}; there is no candidate {candidate}")
    for name, (file, listed) in lists.items():
        if candidate in (name, Path(file).name):
            if not listed:
                raise RyptError(f"the list {Path(file).name} has no candidate of segment {segment}")
            return texts.index(listed[0])
    names = ", ".join(lists)
    raise RyptError(
        f"expected a candidate's number, {BEST} or the name of a list, found {candidate!r}; lists: {names}"
    )
