"""The result of a comparison in words, for readers who do not know the names in its tables, and tables for a paper.

answer_line(outcome)     one sentence: whose picks are better, by how much, how sure that is
legend(rows, scoring)    a line for each term of the metrics in a table
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from rypt.campaign.settings import Scoring
from rypt.metrics.expression import Term
from rypt.options import MODELS, scoring_words
from rypt.picks.held_out import CONTROLS
from rypt.picks.metrics import PickMetric
from rypt.picks.outcome import BOUNDS, Outcome

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
    "coverage": "control: how much of a candidate has labels, whatever they say",
    "permuted": "control: the labels given to other phrases of the segment, so that they say nothing",
    "random": "a candidate at random",
    "best": "the candidate that the held-out scores put first",
}
Metrics = Mapping[str, PickMetric]  # by name


def table(rows: Sequence[Sequence[object]], names: Sequence[str], latex: bool) -> str:
    from tabulate import tabulate

    style = "latex_booktabs" if latex else "simple"
    align = ["left"] + ["right"] * (len(names) - 1)
    text = str(tabulate(rows, names, tablefmt=style, disable_numparse=True, colalign=align))
    return text.replace("±", r"$\pm$") if latex else text


def comments(lines: Iterable[str], latex: bool) -> str:
    """Lines besides tables: in LaTeX comments, so that all of it can be pasted."""
    return "\n".join(f"% {line}" if latex else line for line in lines)


def gain(net: float, low: float, high: float) -> str:
    """A net gain in points with its interval.

    >>> gain(0.053, 0.031, 0.076)
    '+5.3 points (95 % interval +3.1 to +7.6)'
    """
    return f"{in_points(net)} points (95 % interval {in_points(low)} to {in_points(high)})"


def in_points(share: float) -> str:
    """A difference of shares in percentage points, with its sign.

    >>> in_points(0.0534), in_points(-0.0001)
    ('+5.3', '+0.0')
    """
    return f"{round(100 * share, 1) + 0.0:+.1f}"


def answer_line(outcome: Outcome, metrics: Metrics | None = None, *, who: str = "people") -> str:
    """The outcome in a sentence, for readers who do not know what the ``metrics`` are; ``who`` gave the scores.

    >>> print(answer_line(Outcome("rypt", "bleu", 0.25, 0.6, 0.15, 0.1, 0.02, 0.18, 0.01, 529)))
    The picks of rypt are better than those of BLEU by +10.0 points (95 % interval +2.0 to +18.0): people scored them \
higher in 25.0 % of 529 segments and lower in 15.0 %.
    """

    def in_words(name: str) -> str:
        metric = (metrics or {}).get(name)
        return NAMES.get(name, name) if metric is None else metric_words(metric, f"{who}'s labels")

    low, high = outcome.low, outcome.high
    first, second = in_words(outcome.metric), NAMES.get(outcome.baseline) or in_words(outcome.baseline)
    points = gain(outcome.net, low, high)
    if low <= 0 <= high:
        start = f"No significant difference between the picks of {first} and those of {second}: {points}"
    else:
        better = "better" if low > 0 else "worse"
        start = f"The picks of {first} are {better} than those of {second} by {points}"
    higher, lower = (f"{100 * share:.1f} %" for share in (outcome.wins, outcome.losses))
    return (
        f"{start}: {who} scored them higher in {higher} of {outcome.segments} segments and lower in {lower}."
    )


def metric_words(metric: PickMetric, labels: str = "people's labels") -> str:
    """A metric's name, and in parentheses whether it goes by labels, and what by besides.

    >>> from rypt.picks.metrics import parse_pick_metric
    >>> metric_words(parse_pick_metric("rypt:half+0.2*chrf")), metric_words(parse_pick_metric("chrf"))
    ("rypt:half+0.2*chrf (people's labels and chrF)", 'chrf')
    """
    if not metric.uses("rypt"):
        return metric.name
    parts = [labels, *dict.fromkeys(NAMES.get(t.name, t.name) for t in metric.all_terms if t.name != "rypt")]
    parts += ["the mean of each system"] if metric.system or metric.means else []
    return f"{metric.name} ({' and '.join(filter(None, [', '.join(parts[:-1]), parts[-1]]))})"


def answered_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome that the answer is about: the first metric against BLEU, or against the last one."""
    of_first = [outcome for outcome in outcomes if outcome.metric == outcomes[0].metric]
    return next((outcome for outcome in of_first if outcome.baseline == "bleu"), of_first[-1])


def labels_line(outcomes: Sequence[Outcome], metrics: Metrics) -> str:
    """The gain of people's labels alone, where the first metric is a sum of them and something else.

    Empty if the labels of that sum, scored in the same way, are no metric of their own in the table.
    """
    answered = answered_outcome(outcomes)
    labels = {term.label for term in metrics[answered.metric].all_terms if term.name == "rypt"}
    for o in outcomes:
        if o.metric in labels - {answered.metric} and o.baseline == answered.baseline:
            against = NAMES.get(o.baseline, o.baseline)
            return f"Labels alone ({o.metric}): {_gain_in_words(o)} against {against}."
    return ""


def fair_line(outcomes: Sequence[Outcome], metrics: Metrics) -> str:
    """What is left of the first metric's gain where the other metric knows the mean of each system, too.

    Empty if the first metric has no such term, or no other, without labels, has it with the same weight.
    """
    first = metrics[outcomes[0].metric]
    left = [
        f"{_gain_in_words(o)} against {o.baseline}"
        for o in outcomes
        if o.metric == first.name and first.system == metrics[o.baseline].system != 0
        if not metrics[o.baseline].uses("rypt")
    ]
    return f"Against metrics that know the mean of each system, too: {'; '.join(left)}." if left else ""


def _gain_in_words(o: Outcome) -> str:
    return f"{gain(o.net, o.low, o.high)}{', no difference shown,' if o.low <= 0 <= o.high else ''}"


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
            lines.setdefault(term.label, _term_words(term, scoring))
        if len(metric.terms) > 1:
            lines["A+0.2*B"] = "a sum: the score A, and the score B with a weight of 0.2, each from 0 to 1"
        means = {f"{weight:g}*system({mean.name})": (weight, mean.name) for weight, mean in metric.means}
        means |= {f"{metric.system:g}*system": (metric.system, "the other terms")} if metric.system else {}
        for name, (weight, what) in means.items():
            lines[name] = f"{weight:g} times the mean of {what} over all candidates of the same system"
    for name in others:
        control = name.rpartition(", ")[2]
        if control in CONTROLS:
            lines[f"…, {control}"] = MEANINGS[control]
        elif name in BOUNDS:
            lines[name] = MEANINGS[name]
    width = max(map(len, lines), default=0)
    return [f"{name:<{width}}  {what}" for name, what in lines.items()]


def _term_words(term: Term, scoring: Scoring) -> str:
    if term.name != "rypt":
        return MEANINGS.get(term.name, f"the metric {term.name}")
    name = model_name(term, scoring)
    return scoring_words(*((name, "half") if name in MODELS else ("percolation", name)))


def model_name(term: Term, scoring: Scoring) -> str:
    """The model by which a term ``rypt`` scores; of percolation, what an unknown constituent counts as.

    >>> model_name(Term(1, "rypt"), Scoring()), model_name(Term(1, "rypt", {"model": "table"}), Scoring())
    ('half', 'table')
    """
    model = term.options.get("model") or ("percolation" if "unknown" in term.options else scoring.model)
    return model if model != "percolation" else term.options.get("unknown") or scoring.unknown
