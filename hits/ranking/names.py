"""The names of models and methods, without loading any of them."""

from importlib.metadata import entry_points

MODELS = {
    "expected-wins": "wins:make_win_ratio",
    "bojar": "wins:make_win_ratio",
    "wins-ties": "wins:make_win_ratio",
    "trueskill": "trueskill:make_trueskill",
    "hopkins-may": "hopkins_may:make_hopkins_may",
    "irt-gaussian": "irt:make_irt_gaussian",
    "irt-categorical": "irt:make_irt_categorical",
    "bradley-terry": "bradley_terry:make_bradley_terry",
    "thurstone": "bradley_terry:make_bradley_terry",
    "mfas": "search:make_search",
    "winning-percentage": "search:make_search",
    "testimonial": "search:make_search",
    "uniform": "baselines:make_baseline",
    "adjusted-uniform": "baselines:make_baseline",
    "independent-pairs": "baselines:make_baseline",
    "students-asymmetric": "baselines:make_baseline",
    "students-arithmetic": "baselines:make_baseline",
    "students-geometric": "baselines:make_baseline",
}  # name → file of `hits.ranking.models` and its factory, which takes `Options`
BASELINES = tuple(name for name, factory in MODELS.items() if factory.startswith("baselines:"))
RANKING_MODELS = tuple(name for name in MODELS if name not in BASELINES)
MEAN = "mean"  # ranks segment scores, not comparisons
GROUP = "rypt.ranking_models"  # entry points of other packages: a name and a factory that takes `Options`
TABLES = ("text", "markdown", "latex", "html")
# how ranges are computed from comparisons, and from segment scores
CONFIDENCES = ("bootstrap", "sign-test", "none")
SCORE_CONFIDENCES = ("wilcoxon", "wilcoxon-neighbours", "rank-sum", "bootstrap", "none")
UNITS = ("comparison", "row")  # what a bootstrap draws of comparisons
SCORE_UNITS = ("segment", "document")  # and of segment scores
AVERAGES = ("segment", "domain")  # what a mean is over: segments, or means of domains
SHAPES = ("ends", "densest")  # of a range: ranks without both ends, or the most frequent ones


def ranking_models() -> tuple[str, ...]:
    """The names of all models that rank, those of other packages last."""
    return (*RANKING_MODELS, *sorted(entry.name for entry in entry_points(group=GROUP)))
