"""What a comparison says, and what the names in its table stand for, in words for readers who know neither.

answer_line(outcome)     one sentence: whose picks are better, by how much, how sure that is
legend(rows, scoring)    a line for each term of the metrics in a table
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from hits.compare.tables import gain
from rypt.campaign.settings import Scoring
from rypt.metrics.expression import Term, parse_spec
from rypt.options import MODELS, scoring_words
from rypt.picks.held_out import CONTROLS
from rypt.picks.metrics import PickMetric, parse_pick_metric
from rypt.picks.outcome import BOUNDS, Outcome
from rypt.text import RyptError

NAMES = {"bleu": "BLEU", "chrf": "chrF", "chrf++": "chrF++", "ter": "TER"}
POINTS = (
    "better, equal, worse: % of the segments in which the first metric's pick has a higher, the same, a lower human "
    "score; net: better - worse, in points (percentage points of the segments), with its 95 % interval"
)
MEANINGS = {
    "bleu": "BLEU: overlap with the reference in words and word sequences",
    "chrf": "chrF: overlap with the reference in sequences of characters",
    "chrf++": "chrF++: overlap with the reference in sequences of characters, words and word pairs",
    "ter": "TER: edits that turn the candidate into the reference, per word of the reference",
    "model": "the decoder's own score",
    "human": "ceiling: the judging raters' own scores of whole candidates, at random among those they scored alike",
    "scores": "scores from a file",
    "column": "scores from a field of the lists",
    "command": "scores by another program",
}
CONTROL_MEANINGS = {
    "coverage": "control: how much of a candidate has labels, whatever they say",
    "permuted": "control: the labels given to other phrases of the segment, so that they say nothing",
}
BOUND_MEANINGS = {
    "random": "a candidate at random",
    "best": "the candidate that the held-out scores put first",
}


def answer_line(outcome: Outcome, meaning: Callable[[str], str] = str, who: str = "people") -> str:
    """The outcome in a sentence; ``meaning`` writes the name of a metric so that readers know what it is.

    ``who`` gave the scores.

    >>> print(answer_line(Outcome("rypt", "bleu", 0.25, 0.6, 0.15, 0.1, 0.02, 0.18, 0.01, 529)))
    The picks of rypt are better than those of BLEU by +10.0 points (95 % interval +2.0 to +18.0): people scored them \
higher in 25.0 % of 529 segments and lower in 15.0 %.
    """
    low, high = outcome.low, outcome.high
    first, second = meaning(outcome.metric), NAMES.get(outcome.baseline) or meaning(outcome.baseline)
    points = gain(outcome.net, low, high)
    if low <= 0 <= high:
        start = f"It is not shown whether the picks of {first} or those of {second} are better: {points}"
    else:
        start = (
            f"The picks of {first} are {'better' if low > 0 else 'worse'} than those of {second} by {points}"
        )
    shares = f"{outcome.wins:.1%} of {outcome.segments} segments and lower in {outcome.losses:.1%}".replace(
        "%", " %"
    )
    return f"{start}: {who} scored them higher in {shares}."


def answered_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome that the answer is about: the first metric against BLEU, or against the last one."""
    of_first = [outcome for outcome in outcomes if outcome.metric == outcomes[0].metric]
    return next((outcome for outcome in of_first if outcome.baseline == "bleu"), of_first[-1])


def further_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """What stands below the answer: the gain of labels alone, and what is left against metrics that know systems."""
    return list(filter(None, [labels_line(outcomes), fair_line(outcomes)]))


def labels_line(outcomes: Sequence[Outcome]) -> str:
    """The gain of people's labels alone, where the first metric is a sum of them and something else.

    Empty if the labels of that sum, scored in the same way, are no metric of their own in the table.

    >>> rows = [Outcome(name, "bleu", 0.2, 0.7, 0.1, 0.1, -0.02, 0.2, 0.1, 529) for name in ("rypt+0.2*chrf", "rypt")]
    >>> print(labels_line(rows))
    Labels alone (rypt): +10.0 points (95 % interval -2.0 to +20.0), no difference shown, against BLEU.
    """
    answered = answered_outcome(outcomes)
    metric = _known_metric(answered.metric)
    names = {term.label for term in metric.all_terms if term.name == "rypt"} if metric else set()
    for o in outcomes:
        if o.metric in names and o.metric != answered.metric and o.baseline == answered.baseline:
            against = NAMES.get(o.baseline, o.baseline)
            return f"Labels alone ({o.metric}): {_gain_in_words(o)} against {against}."
    return ""


def _gain_in_words(o: Outcome) -> str:
    return f"{gain(o.net, o.low, o.high)}{', no difference shown,' if o.low <= 0 <= o.high else ''}"


def fair_line(outcomes: Sequence[Outcome]) -> str:
    """What is left of the first metric's gain where the other metric knows the mean of each system, too.

    Empty if the first metric has no such term, or no other has it with the same weight.

    >>> print(fair_line([Outcome("rypt+2*system", "bleu+2*system", 0.2, 0.7, 0.1, 0.1, -0.02, 0.2, 0.1, 529)]))
    Against metrics that know the mean of each system, too: +10.0 points (95 % interval -2.0 to +20.0), no difference \
shown, against bleu+2*system.
    """
    first = outcomes[0].metric
    metric = _known_metric(first)
    weight = metric.system if metric else 0.0
    names = [f"{name}+{weight:g}*system" for name in ("bleu", "chrf")] if weight else []
    left = [
        f"{_gain_in_words(o)} against {o.baseline}"
        for o in outcomes
        if o.metric == first and o.baseline in names
    ]
    return f"Against metrics that know the mean of each system, too: {'; '.join(left)}." if left else ""


def name_in_words(name: str) -> str:
    """The name of a metric or a control as `in_words` writes it.

    >>> name_in_words("rypt:half+0.2*chrf"), name_in_words("rypt, coverage"), name_in_words("chrf")
    ("rypt:half+0.2*chrf (people's labels and chrF)", 'rypt, coverage', 'chrf')
    """
    metric = _known_metric(name)
    return name if metric is None else in_words(metric)


def _known_metric(name: str) -> PickMetric | None:
    """The metric of this name; None for a control, or for a metric that another installation has."""
    try:
        return parse_pick_metric(name)
    except RyptError:
        return None


def in_words(metric: PickMetric) -> str:
    """A metric's name, and in parentheses whether it goes by people's labels, and what by besides."""
    if not metric.uses("rypt"):
        return metric.name
    others = dict.fromkeys(
        NAMES.get(term.name, term.name) for term in metric.all_terms if term.name != "rypt"
    )
    parts = [
        "people's labels",
        *others,
        *(["the mean of each system"] if metric.system or metric.means else []),
    ]
    return f"{metric.name} ({' and '.join(filter(None, [', '.join(parts[:-1]), parts[-1]]))})"


def legend(metrics: Iterable[PickMetric], scoring: Scoring, others: Collection[str] = ()) -> list[str]:
    """A line for each term of the metrics, for their weights, and for ``others``: controls, random and best.

    >>> from rypt.picks.metrics import parse_pick_metrics
    >>> print(*legend(parse_pick_metrics("rypt:half+2*system,bleu"), Scoring(), ["best"]), sep="\\n")
    rypt:half  people's labels as the paper scores them: YES and NO, spread through the source tree, a constituent \
without a label counting one half
    2*system   2 times the mean of the other terms over all candidates of the same system
    bleu       BLEU: overlap with the reference in words and word sequences
    best       the candidate that the held-out scores put first
    """
    lines: dict[str, str] = {}
    for metric in metrics:
        for term in metric.all_terms:
            lines.setdefault(term.label, term_words(term, scoring))
        if len(metric.terms) > 1:
            lines.setdefault(
                "A+0.2*B", "a sum: the score A, and the score B with a weight of 0.2, each from 0 to 1"
            )
        if metric.system:
            what = (
                f"{metric.system:g} times the mean of the other terms over all candidates of the same system"
            )
            lines.setdefault(f"{metric.system:g}*system", what)
        for weight, mean in metric.means:
            what = f"{weight:g} times the mean of {mean.name} over all candidates of the same system"
            lines.setdefault(f"{weight:g}*system({mean.name})", what)
    for name in others:
        control = name.rpartition(", ")[2]
        if control in CONTROLS:
            lines[f"…, {control}"] = CONTROL_MEANINGS[control]
        elif name in BOUNDS:
            lines[name] = BOUND_MEANINGS[name]
    width = max(map(len, lines), default=0)
    return [f"{name:<{width}}  {what}" for name, what in lines.items()]


def spec_legend(specs: Iterable[str], scoring: Scoring | None = None) -> list[str]:
    """A line for each term of metrics that are written as for tuning.

    >>> spec_legend(["bleu"])
    ['bleu  BLEU: overlap with the reference in words and word sequences']
    """
    terms = {term.label: term for spec in specs for term in parse_spec(spec)}
    width = max(map(len, terms), default=0)
    return [f"{label:<{width}}  {term_words(term, scoring or Scoring())}" for label, term in terms.items()]


def term_words(term: Term, scoring: Scoring) -> str:
    """What one term of a metric is."""
    if term.name != "rypt":
        return MEANINGS.get(term.name, f"the metric {term.name}")
    name = model_name(term, scoring)
    return scoring_words(*((name, "half") if name in MODELS else ("percolation", name)))


def model_name(term: Term, scoring: Scoring) -> str:
    """The model by which a term ``rypt`` scores; of percolation, what an unknown constituent counts as.

    >>> model_name(Term(1, "rypt"), Scoring()), model_name(Term(1, "rypt", {"model": "tree"}), Scoring())
    ('half', 'tree')
    """
    model = term.options.get("model") or ("percolation" if "unknown" in term.options else scoring.model)
    return model if model != "percolation" else term.options.get("unknown") or scoring.unknown
