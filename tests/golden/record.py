"""The golden numbers: what must come out of the same data after any change that is not meant to change results.

    python tests/golden/record.py                     # make all numbers again and write numbers.json
    python tests/golden/record.py small_score ted     # only those whose name begins so
    python tests/golden/record.py --check             # write nothing, list what differs, exit 1 if anything does

`numbers.json` has what was recorded, `test_golden.py` compares it with what comes out now. A name's first word says
what the number is made of:

- `small_…`: a campaign of 40 German-English segments with 20 candidates each, of `data/`: trees, links and simulated
  labels are given, so neither a parser nor an aligner has a part in it. `bare_…` is the same without trees, which
  `rypt init` then makes of punctuation and length; `severe_…` has severities of 1 or 5 on its NO labels.
- `made_…`: comparisons and scores of systems that this script makes up, always the same ones; `people_…`: answers of
  made-up workers to hits about the small campaign.
- `pilot_…`, `ted_…`, `mqm_…`, `lists_…`, `wmt_…`, `esa_…`: the real data beside the checkout (../shared/data). Links
  are those of the data. Texts that have none (two in a thousand of the raw TED file, all of newstest2020) get a
  diagonal: the source word that stands at the same share of its segment.

Everything is made through the command line and the public names of `rypt`, `mert` and `hits`. Floats are rounded to
nine digits. Long texts (queries, picks, exports) are a count and the beginning of their SHA-256, with the first and the
last line. Signatures, times, paths and messages are left out, and so is the model `tree`.
"""

import contextlib
import csv
import fcntl
import gzip
import hashlib
import io
import json
import math
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import hits
import mert
import rypt
from hits.ranking.simulation import SimulatedWorld, simulate
from rypt.analysis.campaign import analyze
from rypt.cli import main
from rypt.ratings.mqm import read_mqm
from rypt.ratings.rating import Repairs
from rypt.ratings.texts import collect_texts

HERE = Path(__file__).resolve().parent
NUMBERS = HERE / "numbers.json"
DATA = HERE / "data"
REAL = HERE.parents[2] / "shared" / "data"
TOLERANCE = 1e-6  # relative; numbers below 1 may differ by as much
# keys of JSON whose values are no results
LEFT_OUT = {
    "batch",
    "batches",
    "bytes",
    "bytes_per_judgment",
    "file",
    "folder",
    "note",
    "notes",
    "path",
    "reasons",
    "seconds",
    "signature",
    "simulated",
    "ties_by",
    "tree",
    "version",
    "warning",
}


@dataclass(frozen=True)
class Golden:
    """How a number is made in a workshop, and the folders of real data that it needs."""

    make: Callable[["Workshop"], Any]
    data: tuple[str, ...]


GOLDENS: dict[str, Golden] = {}


def golden(*data: str) -> Callable[[Callable[["Workshop"], Any]], Callable[["Workshop"], Any]]:
    """Register a function under its name."""

    def register(make: Callable[["Workshop"], Any]) -> Callable[["Workshop"], Any]:
        GOLDENS[make.__name__] = Golden(make, data)
        return make

    return register


@dataclass(frozen=True)
class Workshop:
    """A folder in which campaigns are made once, also if several processes want them."""

    folder: Path

    def made(self, name: str, make: Callable[[Path], None]) -> Path:
        """What ``make`` leaves in a new folder."""
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (self.folder / f"{name}.done").exists():
                shutil.rmtree(self.folder / name, ignore_errors=True)  # of one that failed
                (self.folder / name).mkdir()
                make(self.folder / name)
                (self.folder / f"{name}.done").touch()
        return self.folder / name

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder of one number's own."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            yield Path(folder)


def run(*arguments: Any) -> str:
    """What a command prints."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main([str(argument) for argument in arguments])
    except SystemExit as stop:
        if stop.code:
            raise AssertionError(f"rypt {' '.join(map(str, arguments))}: {err.getvalue()}") from None
    return out.getvalue()


def asked(*arguments: Any) -> Any:
    """The results that a command prints as JSON."""
    return results(json.loads(run(*arguments, "--json")))


def results(value: Any) -> Any:
    """A value without what is no result."""
    if isinstance(value, dict):
        return {str(key): results(item) for key, item in value.items() if key not in LEFT_OUT}
    return [results(item) for item in value] if isinstance(value, list | tuple) else value


def tidy(value: Any) -> Any:
    """A value as JSON has it, floats with nine digits."""
    if isinstance(value, dict):
        return {str(key): tidy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [tidy(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else str(value)
    return value


def digest(lines: list[str]) -> dict[str, Any]:
    """Many lines in a few words."""
    hashed = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    return {"count": len(lines), "first": lines[:1], "last": lines[-1:], "sha256": hashed}


def lines_of(path: Path) -> list[str]:
    return (
        gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    ).splitlines()


def records_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines_of(path)]


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_records(path: Path, records: list[dict[str, Any]]) -> Path:
    return write_lines(path, [json.dumps(record, ensure_ascii=False) for record in records])


def chance(*what: object) -> float:
    """A number from 0 to 1 that looks random and is always the same for the same things."""
    return zlib.crc32(repr(what).encode()) / 2**32


def differences(recorded: Any, found: Any, where: str = "") -> list[str]:
    """The places at which two values differ."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        keys = [*recorded, *(key for key in found if key not in recorded)]
        return [
            line
            for key in keys
            for line in differences(recorded.get(key), found.get(key), f"{where}.{key}".lstrip("."))
        ]
    if isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        pairs = enumerate(zip(recorded, found, strict=True))
        return [line for i, (one, other) in pairs for line in differences(one, other, f"{where}[{i}]")]
    numbers = all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in (recorded, found)
    )
    if numbers and math.isclose(recorded, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE / 1000):
        return []
    return [] if recorded == found else [f"{where}: {recorded!r} was recorded, {found!r} came out"]


# The small campaign


def small(shop: Workshop, kind: str = "small") -> Path:
    """The folder of a campaign: small, bare or severe."""

    def make(folder: Path) -> None:
        files = [
            "--source",
            DATA / "source.de",
            "--nbest",
            DATA / "nbest.en.gz",
            "--references",
            DATA / "reference.en",
        ]
        trees = [] if kind == "bare" else ["--trees", DATA / "trees.de"]
        model = ["--model", "severity"] if kind == "severe" else []
        run("init", folder / "campaign", *files, *trees, *model, "--languages", "de-en", "-q")
        judgments = records_of(DATA / "judgments.jsonl.gz")
        if kind == "severe":
            for judgment in judgments:
                if judgment["label"] == "NO":
                    judgment["severity"] = 5 if chance(judgment["segment"], judgment["phrase"]) < 0.4 else 1
        run("import", "-C", folder / "campaign", write_records(folder / "judgments.jsonl", judgments), "-q")

    return shop.made(kind, make) / "campaign"


def queries_of(*arguments: Any) -> dict[str, Any]:
    """The queries that a command prints, in their order."""
    found = [json.loads(line) for line in run("queries", *arguments, "-q").splitlines()]
    keys = [f"{q['segment']} {q['start']}-{q['stop']} {q['phrase']} ×{q['candidates']}" for q in found]
    return digest(keys) | {"places": sum(query["candidates"] for query in found)}


def picks_of(campaign: Path, *options: Any) -> dict[str, Any]:
    """The score of the best candidates, and which they are."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "picks"
        found = asked("score", campaign, "--pick", "best", *options, "-o", output, "-q")
        return {"picks": digest(lines_of(output)), "score": found["score"]}


@golden()
def small_campaign(shop: Workshop) -> Any:
    found = {}
    for kind in ("small", "bare"):
        campaign = rypt.Campaign.open(small(shop, kind))
        trees = [tree for tree in campaign.trees.values() if tree is not None]
        spans = [" ".join(str(c.span) for c in tree.constituents) for tree in trees]
        fronts = [" ".join(str(tree.constituents[i].span) for i in rypt.frontier(tree, 4)) for tree in trees]
        found[kind] = {
            "candidates": len(campaign.candidates),
            "parsed": len(trees),
            "segments": len(campaign.segments),
        }
        found[kind] |= {"constituents": digest(spans), "frontier": digest(fronts)}
    return found


def stats(campaign: Path) -> Any:
    """What a campaign's database holds."""
    return {name: value for name, value in asked("check", campaign).items() if name != "problems"}


@golden()
def small_database(shop: Workshop) -> Any:
    """Counts; and what is exported comes back, from JSONL and from CSV."""
    campaign = small(shop)
    found = {"stats": stats(campaign), "damaged": asked("check", campaign)["problems"]}
    with shop.scratch() as folder:
        run("export", campaign, "-o", folder / "all.jsonl")
        run("export", campaign, "-o", folder / "all.csv")
        found["again"] = asked("import", "-C", campaign, folder / "all.jsonl", "-q")
        for name in ("all.jsonl", "all.csv"):
            copy = folder / f"{name}.db"
            first = (
                [folder / "all.jsonl"] if name.endswith("jsonl") else [folder / "segments.csv", folder / name]
            )
            run("export", campaign, "-o", folder / "segments.csv", "--segments")
            found[f"from {name}"] = asked("import", "-C", copy, *first, "-q")
            run("export", copy, "-o", folder / "copy.jsonl")
            found[f"from {name} the same"] = sorted(lines_of(folder / "copy.jsonl")) == sorted(
                lines_of(folder / "all.jsonl")
            )
        rows = [
            [r.get(name) for name in ("segment", "start", "stop", "phrase", "label", "worker")]
            for r in records_of(folder / "all.jsonl")
            if "label" in r
        ]
    return found | {"judgments": digest(sorted(json.dumps(row, ensure_ascii=False) for row in rows))}


@golden()
def small_score(shop: Workshop) -> Any:
    """By every model, every way to count what has no label, and every way to count ties."""
    ways = {
        "half": [],
        "ignore": ["--unknown", "ignore"],
        "no": ["--unknown", "no"],
        "table": ["--model", "table"],
        "ties yes": ["--ties", "yes"],
        "ties no": ["--ties", "no"],
    }
    found = {name: asked("score", small(shop), *way, "-q") for name, way in ways.items()}
    found |= {f"{name}, best": picks_of(small(shop), *way) for name, way in ways.items()}
    for kind in ("bare", "severe"):
        found |= {kind: asked("score", small(shop, kind), "-q"), f"{kind}, best": picks_of(small(shop, kind))}
    return found


@golden()
def small_scorer(shop: Workshop) -> Any:
    """The statistics of all candidates, by `rypt.Scorer`."""
    campaign = rypt.Campaign.open(small(shop))
    with campaign.database() as db:
        scorer = rypt.Scorer(campaign.trees, db.votes())
    stats = scorer.stats(campaign.candidates)
    rows = [" ".join(map(str, row)) for row in stats.tolist()]
    return {
        "rows": digest(rows),
        "score": scorer.score(stats.sum(axis=0)[None])[0],
        "sums": stats.sum(axis=0).tolist(),
    }


@golden()
def small_queries(shop: Workshop) -> Any:
    """Without labels, with them, of longer constituents, and by value where NO has a severity."""
    with shop.scratch() as folder:
        files = [
            "--source",
            DATA / "source.de",
            "--trees",
            DATA / "trees.de",
            "--nbest",
            DATA / "nbest.en.gz",
        ]
        run("init", folder / "new", *files, "-q")
        found = {"frontier": queries_of(folder / "new"), "all": queries_of(folder / "new", "--select", "all")}
        public = rypt.queries(rypt.Campaign.open(folder / "new"), budget="5.00")
        found["public"] = {
            "cost": str(public.cost),
            "count": len(public),
            "places": sum(query.candidates for query in public),
        }
        run("queries", folder / "new", "--format", "csv", "-o", folder / "ask.csv", "-q")
        found["csv"] = digest(lines_of(folder / "ask.csv"))
    found["labelled"] = queries_of(small(shop))
    found["longer"] = queries_of(small(shop), "--max-len", 6, "--limit", 100)
    found["bare"] = queries_of(small(shop, "bare"))
    found["severe, value"] = queries_of(small(shop, "severe"), "--select", "value")
    found["severe, budget"] = queries_of(small(shop, "severe"), "--select", "value", "--budget", "0.50")
    return found


MARKS = ("YES", "NO", "yes ↓", "no ↑", "?", "–")  # before the constituents that `rypt explain` draws


@golden()
def small_explain(shop: Workshop) -> Any:
    """The numbers of the first line, and how often each mark stands before a constituent."""
    found = {}
    for segment, candidate in ((3, "0"), (3, "best"), (7, "4"), (12, "best")):
        first, *rest = run("explain", segment, candidate, "-C", small(shop), "-q").splitlines()
        marks = Counter(mark for line in rest if (mark := line[:6].strip()) in MARKS)
        found[f"{segment} {candidate}"] = {"head": re.findall(r"\d+(?:\.\d+)?", first), "marks": dict(marks)}
    return found


@golden()
def small_analyze(shop: Workshop) -> Any:
    found = {}
    for kind, options in {
        "small": {"splits": 3, "longest": 5},
        "bare": {"models": False, "ties": "no"},
    }.items():
        found[kind] = results(analyze(rypt.Campaign.open(small(shop, kind)), **options).as_dict())
        for one in found[kind]["redundancy"]["lists"]:
            del one["name"]
    return found


@golden()
def small_status(shop: Workshop) -> Any:
    found = asked("status", small(shop), "-q")
    return {name: found[name] for name in ("labels", "people", "spent", "texts")}


@golden()
def small_compare(shop: Workshop) -> Any:
    """BLEU, chrF and TER of two lists of picks, and the same as a command for one list."""
    with shop.scratch() as folder:
        for kind in ("small", "severe"):
            run("score", small(shop, kind), "--pick", "best", "-o", folder / f"{kind}.txt", "-q")
        lists, references = (
            [folder / "small.txt", folder / "severe.txt"],
            ["--references", DATA / "reference.en"],
        )
        both = systems_compared(*lists, *references)
        both["different"] = [[pair["segment"], pair["scores"]] for pair in both["different"]]
        return {
            "both": nameless(both, folder),
            "one": nameless(systems_compared(lists[0], *references), folder),
        }


def systems_compared(*arguments: Any) -> Any:
    found = asked("compare", "systems", *arguments, "-q")
    del found["signatures"]
    return found


def nameless(value: Any, folder: Path) -> Any:
    """A value whose texts do not name the folder."""
    return json.loads(json.dumps(value).replace(f"{folder}/", ""))


def tuned(*arguments: Any) -> dict[str, Any]:
    """Scores and weights of a search."""
    found = json.loads(run("tune", *arguments, "--seed", 1, "--threads", 1, "--json"))
    return {name: found[name] for name in ("score", "start_score", "weights")} | {
        "gain": [found["gain"][name] for name in ("gain", "low", "high", "p")]
    }


TUNINGS = {
    "bleu_list": ["small", "--metric", "bleu", "--aim", "list"],
    "bleu_unseen": ["small", "--metric", "bleu", "--aim", "unseen"],
    "bleu_pro": ["small", "--metric", "bleu", "--algorithm", "pro"],
    "bleu_mira": ["small", "--metric", "bleu", "--algorithm", "mira"],
    "rypt_list": ["small", "--metric", "rypt", "--aim", "list"],
    "rypt_unseen": ["small", "--metric", "rypt"],
    "rypt_table": ["small", "--metric", "rypt:table", "--restarts", 5],
    "chrf": ["small", "--metric", "chrf"],
    "ter": ["small", "--metric", "ter", "--restarts", 5],
    "sum": ["small", "--metric", "0.7*bleu+0.3*rypt"],
    "severity": ["severe", "--metric", "rypt:severity"],
    "severity_chrf": ["severe", "--metric", "rypt:severity+0.2*chrf"],
}


def small_tuning(name: str) -> Callable[[Workshop], Any]:
    kind, *options = TUNINGS[name]
    return lambda shop: tuned(small(shop, kind), "--weights", DATA / "weights.init", *options)


GOLDENS |= {f"small_tune_{name}": Golden(small_tuning(name), ()) for name in TUNINGS}


# Rankings of made-up systems

SYSTEMS = {"ada": 1.0, "bob": 0.7, "cyd": 0.6, "dan": 0.2, "eve": -0.1}
MODELS = {
    "expected-wins": "",
    "bojar": "",
    "wins-ties": "",
    "trueskill": "",
    "trueskill:order=select,games=200,runs=3": "",
    "hopkins-may": ":iterations=60,burn_in=20",
    "irt-gaussian": ":iterations=60,burn_in=20",
    "irt-categorical": ":iterations=60,burn_in=20",
    "bradley-terry": "",
    "thurstone": "",
    "mfas": "",
    "winning-percentage": "",
    "testimonial": "",
}


def made(shop: Workshop) -> Path:
    """A folder with comparisons.csv, and people's and a metric's scores."""

    def make(folder: Path) -> None:
        rows = ["segment,system_a,system_b,winner,annotator"]
        people = ["system,segment,document,score,rater"]
        metric = ["system,segment,document,score"]
        for segment in range(40):
            for one, quality in SYSTEMS.items():
                score = 60 + 10 * quality + 25 * chance("score", segment, one)
                people.append(f"{one},{segment},{segment // 8},{score:.0f},r{segment % 3}")
                metric.append(
                    f"{one},{segment},{segment // 8},{quality + 3 * chance('metric', segment, one):.4f}"
                )
                for other in SYSTEMS:
                    if one < other and chance("asked", segment, one, other) < 0.8:
                        margin = quality - SYSTEMS[other] + 4 * chance("wins", segment, one, other) - 2
                        winner = "tie" if abs(margin) < 0.4 else "A" if margin > 0 else "B"
                        rows.append(f"{segment},{one},{other},{winner},r{segment % 3}")
        write_lines(folder / "comparisons.csv", rows)
        write_lines(folder / "people.csv", people)
        write_lines(folder / "metric.csv", metric)

    return shop.made("made", make)


def ranked(*arguments: Any) -> Any:
    """A ranking: each system with its score, rank, range and cluster, in their order; and further facts."""
    found = asked("rank", *arguments, "-q")
    order = [system.pop("system") for system in found["systems"]]
    for system in found["systems"]:  # whose interval follows from what is recorded
        system.pop("score_low", None), system.pop("score_high", None)
    found["systems"] = [
        [name, *system.values()] for name, system in zip(order, found["systems"], strict=True)
    ]
    return {name: value for name, value in found.items() if name not in ("nodes", "seed")}


@golden()
def made_rankings(shop: Workshop) -> Any:
    path = made(shop) / "comparisons.csv"
    return {
        name: ranked(path, "-m", f"{name}{options}", "--samples", 20, "--threads", 1)
        for name, options in MODELS.items()
    }


@golden()
def made_scores(shop: Workshop) -> Any:
    """Segment scores by mean, with all tests, standardised, as comparisons, and agreement with a metric."""
    people, metric = made(shop) / "people.csv", made(shop) / "metric.csv"
    ways = ("wilcoxon", "wilcoxon-neighbours", "rank-sum", "bootstrap")
    found = {way: ranked(people, "--confidence", way, "--samples", 200) for way in ways}
    found["z"] = ranked(people, "-z")
    found["compared"] = ranked(people, "-m", "expected-wins", "--tie", 5)
    agree = nameless(asked("rank", "agree", people, metric, "--permutations", 200, "-q"), made(shop))
    return found | {"agree": agree}


@golden()
def made_tables(shop: Workshop) -> Any:
    path = made(shop) / "comparisons.csv"
    few = [
        "-m",
        "expected-wins",
        "-m",
        "bradley-terry",
        "--sizes",
        "50,100",
        "--trials",
        2,
        "--split",
        "rows",
    ]
    return {
        "head2head": asked("rank", "pairs", path),
        "preferences": asked("rank", "pairs", path, "--systems", "ada,bob"),
        "plan": asked("rank", "plan", "--systems", 6, "--experiments", 20),
        "simulate": {
            "bootstrap": "row-densest",
            "seed": 1,
            "simulations": [
                asdict(simulate(SimulatedWorld(5), 500, experiments=5, method=method, seed=1))
                for method in ("pairwise", "bootstrap")
            ],
        },
        "next": [json.loads(line) for line in run("rank", "next", path, "-n", 5, "--json").splitlines()],
        "evaluate": asked("rank", "evaluate", path, *few, "--least", 60, "-q"),
        "public": [[s.system, s.score, s.low, s.high] for s in hits.rank(path).systems],
    }


# Hits


SHOWN = re.compile(r"segment|start|stop|phrase_\d+|system_[ab]|candidate_[ab]")  # columns of batch.csv
TIMES = {"AcceptTime": "Mon Jan 05 09:00:00 UTC 2026", "SubmitTime": "Mon Jan 05 09:00:40 UTC 2026"}


def people(shop: Workshop) -> Path:
    """A folder with a campaign and two batches about it: labels that people gave, and comparisons."""

    def make(folder: Path) -> None:
        files = [
            "--source",
            DATA / "source.de",
            "--trees",
            DATA / "trees.de",
            "--nbest",
            DATA / "nbest.en.gz",
        ]
        run("init", folder / "campaign", *files, "--references", DATA / "reference.en", "-q")
        label, compared = [], []
        lists = [f"{c['segment']} {c['start']} {c['stop']}" for c in records_of(DATA / "judgments.jsonl.gz")]
        truth: dict[str, dict[str, str]] = {key: {} for key in dict.fromkeys(lists)}
        for key, judgment in zip(lists, records_of(DATA / "judgments.jsonl.gz"), strict=True):
            truth[key].setdefault(judgment["phrase"], judgment["label"])
        for i, (key, labels) in enumerate([(k, v) for k, v in truth.items() if len(v) > 1][:30]):
            segment, start, stop = key.split()
            for worker in ("w1", "w2", "w3"):
                row = {
                    "HITId": f"h{i}",
                    "AssignmentId": f"h{i}-{worker}",
                    "WorkerId": worker,
                    "Reward": "$0.05",
                }
                row |= {"AssignmentStatus": "Submitted", "WorkTimeInSeconds": str(20 + i)} | TIMES
                row |= {"Input.segment": segment, "Input.start": start, "Input.stop": stop}
                for slot, (phrase, right) in enumerate(list(labels.items())[:2], 1):
                    wrong = chance("wrong", key, phrase, worker) < {"w1": 0.05, "w2": 0.2, "w3": 0.0}[worker]
                    given = "YES" if worker == "w3" else {"YES": "NO"}.get(right, "YES") if wrong else right
                    row |= {f"Input.phrase_{slot}": phrase, f"Answer.label_{slot}": given}
                label.append(row)
        for segment in range(30):
            for worker in ("w1", "w2"):
                x = chance("prefers", segment, worker)
                choice = "A" if x < 0.5 else "B" if x < 0.8 else "EQUAL"
                row = {"HITId": f"c{segment}", "AssignmentId": f"c{segment}-{worker}", "WorkerId": worker}
                row |= {"AssignmentStatus": "Submitted", "WorkTimeInSeconds": "31", "Reward": "$0.10"} | TIMES
                row |= {"Input.segment": str(segment), "Input.system_a": "new", "Input.system_b": "old"}
                compared.append(row | {"Answer.choice": choice})
        for name, rows in (("labels", label), ("comparisons", compared)):
            cells = [list(rows[0])] + [list(row.values()) for row in rows]
            quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in cells]
            run(
                "import",
                write_lines(folder / f"{name}.csv", quoted),
                "-C",
                folder / "campaign",
                "--market",
                "local",
            )

    return shop.made("people", make) / "campaign"


@golden()
def people_results(shop: Workshop) -> Any:
    """Progress, workers, agreement, and labels combined by both methods."""
    campaign = people(shop)
    found = {
        "status": asked("hits", "status", "-C", campaign, "-q"),
        "score": asked("score", campaign, "-q")["score"],
    }
    found["workers"] = asked("hits", "workers", "-C", campaign, "-q")
    for method in ("majority", "dawid-skene"):
        lines = run("hits", "aggregate", campaign, "--method", method, "--format", "jsonl").splitlines()
        labels = [json.loads(line) for line in lines]
        found[method] = {"count": len(labels), "labels": dict(Counter(label["label"] for label in labels))}
        found[method] |= {"first": labels[0], "last": labels[-1]}
    return found


@golden()
def people_preferences(shop: Workshop) -> Any:
    campaign = people(shop)
    table = asked("rank", "pairs", campaign, "--systems", "new,old")
    return {"preferences": table, "systems": ranked(campaign)}


@golden()
def people_batches(shop: Workshop) -> Any:
    """A batch of labels and one of comparisons: sizes and prices."""
    found = {}
    with shop.scratch() as folder:
        for name in ("first", "best"):
            run("score", small(shop), "--pick", name, "-o", folder / f"{name}.txt", "-q")
        outputs = [f"--output-of={name}={folder / f'{name}.txt'}" for name in ("first", "best")]
        kinds = {
            "label": ["--limit", 40],
            "value": ["--select", "value", "--budget", "1.00"],
            "comparison": ["--kind", "comparison", *outputs, "--limit", 12],
        }
        for kind, options in kinds.items():
            campaign = small(shop, "severe" if kind == "value" else "small")
            batch = asked("hits", "make", campaign, "-o", folder / kind, *options, "-q")
            found[kind] = nameless(batch, folder)
            with (folder / kind / "batch.csv").open(encoding="utf-8-sig", newline="") as stream:
                rows = list(csv.DictReader(stream))
            shown = [[cell for name, cell in row.items() if SHOWN.fullmatch(name) and cell] for row in rows]
            found[f"{kind}, questions"] = digest([" ".join(cells) for cells in shown])
            for market in ("local", "mturk"):
                cost = hits.price(folder / kind, market=market)
                facts = {name: str(getattr(cost, name)) for name in ("rewards", "fees", "total")}
                facts |= {name: getattr(cost, name) for name in ("hits", "assignments", "answers")}
                facts |= {"hours": round(float(cost.hours), 2), "wage": f"{cost.wage:.2f}", "market": market}
                found[f"{kind}, {market}"] = facts | {"kind": batch["kind"]}
    return found


# n-best lists of real decoders

LISTS = ("moses-sample", "fren", "uren", "bnen")


def list_tuning(name: str, aim: str) -> Callable[[Workshop], Any]:
    def make(shop: Workshop) -> Any:
        folder, search = REAL / "mert" / name, mert.SearchSettings(aim=aim, seed=1)
        found = mert.tune(
            [folder / "nbest.gz"],
            metric="bleu",
            references=[folder / "ref"],
            weights=folder / "weights.init",
            search=search,
        )
        return {"start": found.start_score, "score": found.score, "weights": found.weights}

    return make


for _name in LISTS:
    for _aim in ("list", "unseen"):
        GOLDENS[f"lists_{_name}_{_aim}"] = Golden(list_tuning(_name, _aim), ("mert",))


@golden("mert")
def lists_metrics(shop: Workshop) -> Any:
    """Of moses-sample: all metrics (TER, too) of the first candidates, chrF of the weights' picks, and PRO and MIRA."""
    folder = REAL / "mert" / "moses-sample"
    found = {
        "first": nameless(systems_compared(folder / "nbest.gz", "--references", folder / "ref.0"), folder)
    }
    for name in ("chrf", "chrf++"):
        search = mert.SearchSettings(aim="list", restarts=0)
        tuning = mert.tune(
            [folder / "nbest.gz"],
            metric=name,
            references=[folder / "ref"],
            weights=folder / "weights.init",
            search=search,
        )
        found[name] = [tuning.start_score, tuning.score]
    for name in ("pro", "mira"):
        options = ["--references", folder / "ref", "--weights", folder / "weights.init", "--algorithm", name]
        found[name] = tuned(folder / "nbest.gz", *options)
    return found


# Rankings of WMT's systems


def counted() -> list[Path]:
    return sorted(path for path in (REAL / "ranking").glob("wmt1*") if path.is_file())


@golden("ranking")
def wmt_expected_wins(shop: Workshop) -> Any:
    """Scores, ranges and clusters of all files."""
    few = ["-m", "expected-wins", "--exclude-system", "_ref", "--samples", 100]
    return {path.name: ranked(path, *few) for path in counted() if "wmt10" in path.name} | {
        path.name: ranked(path, "-m", "expected-wins", "--samples", 100)
        for path in counted()
        if "wmt10" not in path.name
    }


@golden("ranking")
def wmt_mfas(shop: Workshop) -> Any:
    """Costs of the exact search, and the order that it found."""
    found = {}
    for path in counted():
        without = ["--exclude-system", "_ref"] if "wmt10" in path.name else []
        searched = ranked(path, "-m", "mfas", "--confidence", "none", *without)
        found[path.name] = {name: searched[name] for name in ("cost", "optimal_rankings")}
        found[path.name]["order"] = [system[0] for system in searched["systems"]]
    return found


WMT = "wmt13.French-English.train.csv.gz"
SLOW = "iterations=100,burn_in=50"
WMT_MODELS = {
    "bojar": "",
    "wins-ties": "",
    "trueskill": "runs=3",
    "bradley-terry": "",
    "thurstone": "",
    "hopkins-may": SLOW,
    "irt-gaussian": SLOW,
    "irt-categorical": f"chains=1,{SLOW}",
    "winning-percentage": "",
    "testimonial": "",
}


def wmt_model(name: str) -> Callable[[Workshop], Any]:
    def make(shop: Workshop) -> Any:
        few = ["-m", f"{name}:{WMT_MODELS[name]}", "--samples", 10, "--threads", 1]
        return {file: ranked(REAL / "ranking" / file, *few) for file in (WMT, "wmt12.Czech-English")}

    return make


GOLDENS |= {f"wmt_{name.replace('-', '_')}": Golden(wmt_model(name), ("ranking",)) for name in WMT_MODELS}


@golden("ranking")
def wmt_tables(shop: Workshop) -> Any:
    """WMT13 with rows drawn as in the official table; two systems; what two models predict."""
    path, models = REAL / "ranking" / WMT, ["-m", "expected-wins", "-m", "trueskill:order=select,runs=1"]
    names = [system.system for system in hits.rank(path).systems]
    first, second = names[:2]
    return {
        "official": ranked(path),
        "researchers": ranked(path, "--judges", "researcher_*"),
        "head2head": asked("rank", "pairs", REAL / "ranking" / "wmt12.Czech-English"),
        "preferences": asked("rank", "pairs", path, "--systems", f"{first},{second}"),
        "evaluate": asked("rank", "evaluate", path, *models, "--sizes", "400,1600", "--trials", 2, "-q"),
    }


@golden("wmt24-esa")
def esa_scores(shop: Workshop) -> Any:
    """WMT24's ratings: means, ranges and clusters of the language pairs."""
    path = REAL / "wmt24-esa" / "esa_generalMT2024_wave2.csv.gz"
    return {pair: ranked(path, "--languages", pair) for pair in ("en-hi", "en-cs", "en-ja", "en-zh")}


# The authors' pilot


def pilot(shop: Workshop) -> Path:
    def make(folder: Path) -> None:
        data = REAL / "hmert2009"
        sources = records_of(data / "sources.jsonl.gz")
        candidates = [c for c in records_of(data / "candidates.jsonl.gz") if c["set"] == "25sen"]
        write_lines(folder / "source", [s["source"] for s in sources])
        write_lines(folder / "trees", [s["tree"] or "()" for s in sources])
        lines = [f"{c['i']} ||| {c['tokens']} ||| F= 0 ||| {c['score']} ||| {c['align']}" for c in candidates]
        write_lines(folder / "nbest", lines)
        files = [part for name in ("source", "trees", "nbest") for part in (f"--{name}", folder / name)]
        run("init", folder / "campaign", *files, "-q")
        renames = ("i=segment", "j=first", "k=last", "candidate_substring=phrase", "hit=origin")
        options = [part for item in renames for part in ("--rename", item)]
        run("import", "-C", folder / "campaign", data / "judgments.tsv.gz", *options, "-q")
        run("init", folder / "new", *files, "-q")

    return shop.made("pilot", make)


@golden("hmert2009")
def pilot_queries(shop: Workshop) -> Any:
    """The 2,171 keys of the authors' 2,198 lines, and the frontier's."""
    keys = queries_of(pilot(shop) / "new", "--select", "all", "--max-len", 6)
    return {"keys": keys, "frontier": queries_of(pilot(shop) / "new")}


@golden("hmert2009")
def pilot_labels(shop: Workshop) -> Any:
    """Counts, the score, and the workers with and without the two who say YES to everything."""
    campaign = pilot(shop) / "campaign"
    found = {"stats": stats(campaign), "score": asked("score", campaign, "-q")}
    found["best"] = picks_of(campaign)
    found["workers"] = asked("hits", "workers", "-C", campaign, "-q")
    found["agreement"] = asked("hits", "status", "-C", campaign, "-q")["agreement"]
    bad = sorted(report["worker"] for report in found["workers"] if report["verdict"] == "bad")
    with shop.scratch() as folder:
        run("export", campaign, "-o", folder / "all.jsonl")
        run(
            "init",
            folder / "careful",
            *("--source", pilot(shop) / "source", "--trees", pilot(shop) / "trees"),
            "--nbest",
            pilot(shop) / "nbest",
            "-q",
        )
        run("import", "-C", folder / "careful", folder / "all.jsonl", "-q")
        run(
            "hits",
            "workers",
            "-C",
            folder / "careful",
            *(part for worker in bad for part in ("--exclude", worker)),
        )
        found["bad"] = bad
        found["agreement without them"] = asked("hits", "status", "-C", folder / "careful", "-q")["agreement"]
        found["score without them"] = asked("score", folder / "careful", "-q")["score"]
    return found


# TED talks, whose MQM others turned into judgments


def ted(shop: Workshop) -> Path:
    """A folder with a campaign of a list for each system, and scores.jsonl with people's scores."""

    def make(folder: Path) -> None:
        data = REAL / "mqm-ted-ende"
        sources, systems, scores = records_of(data / "sources.jsonl.gz"), {}, []
        write_records(
            folder / "source.jsonl", [{"id": str(s["seg_id"]), "text": s["tokens"]} for s in sources]
        )
        write_lines(folder / "trees", [s["tree"] for s in sources])
        for c in records_of(data / "candidates.jsonl.gz"):
            record = {"id": str(c["seg_id"]), "candidate": c["tokens"], "alignment": c["align"]}
            systems.setdefault(c["system"], []).append(record)
            for rating in c["ratings"]:
                who = {"segment": str(c["seg_id"]), "system": c["system"], "rater": rating["rater"]}
                scores.append(who | {"score": rating["score"], "better": "lower"})
        references = {record["id"]: record["candidate"] for record in systems["ref"]}
        write_lines(folder / "reference", [references[str(s["seg_id"])] for s in sources])
        write_records(folder / "scores.jsonl", scores)
        (folder / "systems").mkdir()
        for name, records in systems.items():
            write_records(folder / "systems" / f"{name}.jsonl", records)
        files = [
            "--source",
            folder / "source.jsonl",
            "--trees",
            folder / "trees",
            "--nbest",
            folder / "systems",
        ]
        run(
            "init",
            folder / "campaign",
            *files,
            "--references",
            folder / "reference",
            "--languages",
            "en-de",
            "-q",
        )
        renames = (
            "seg_id=segment",
            "j=first",
            "k=last",
            "candidate_substring=phrase",
            "system=origin",
            "rater=worker",
        )
        options = [part for item in (*renames, "any=label") for part in ("--rename", item)]
        run("import", "-C", folder / "campaign", data / "judgments.tsv.gz", *options, "-q")

    return shop.made("ted", make)


def outcomes(*arguments: Any) -> dict[str, Any]:
    """What picks are worth: nets with their intervals, and the mean score of each metric's picks."""
    found = asked("compare", "scores", *arguments, "-q")
    return {name: found[name] for name in ("outcomes", "quality")}


@golden("mqm-ted-ende")
def ted_picks(shop: Workshop) -> Any:
    """RYPT's picks against BLEU's, with the judgments of 7 systems for the 6 others, and controls."""
    options = ["--scores", ted(shop) / "scores.jsonl", "--judging", 7, "--judged-only", "ref", "--max-len", 4]
    options += ["--metrics", "rypt,bleu", "--splits", 40, "--with-controls"]
    return outcomes(ted(shop) / "campaign", *options)


@golden("mqm-ted-ende")
def ted_figure3(shop: Workshop) -> Any:
    """Reuse of labels, and percolation for every maxLen: coverage and how often it is right."""
    options = {"hold_out": "system", "judged_only": ["ref"], "ties": "no", "splits": 5, "models": False}
    found = results(analyze(rypt.Campaign.open(ted(shop) / "campaign"), **options).as_dict())
    for one in found["redundancy"]["lists"]:
        one["name"] = Path(one["name"]).stem
    return found


@golden("mqm-ted-ende")
def ted_labels(shop: Workshop) -> Any:
    """Counts, and scores of three systems by percolation and by the table."""
    campaign = ted(shop) / "campaign"
    found = {"stats": stats(campaign)}
    for system in ("Facebook-AI", "UEdin", "ref"):
        candidates = ["--candidates", ted(shop) / "systems" / f"{system}.jsonl"]
        found[system] = asked("score", campaign, *candidates, "--ties", "no", "-q")
    return found


# MQM files as they are


def rated(shop: Workshop, name: str, reference: str) -> Path:
    """A folder with a campaign of a file of ratings, people's scores, and what was imported."""

    def make(folder: Path) -> None:
        path = REAL / "mqm-raw" / f"{name}.tsv.gz"
        links = {}
        if name == "mqm_ted_ende":
            for c in records_of(REAL / "mqm-ted-ende" / "candidates.jsonl.gz"):
                links[str(c["seg_id"]), c["tokens"]] = c["align"]
        repairs = Repairs(path)
        ratings = read_mqm(path, repairs=repairs)
        texts = collect_texts(path, ratings, references=[reference], repairs=repairs)
        texts.write(folder / "texts")
        lengths = {s["id"]: len(s["text"].split()) for s in records_of(folder / "texts" / "source.jsonl")}
        (folder / "lists").mkdir()
        known = 0
        for file in (folder / "texts" / "systems").iterdir():
            records = records_of(file)
            for record in records:
                ready = links.get((record["id"], record["candidate"]))
                known += ready is not None
                record["alignment"] = ready or diagonal(
                    lengths[record["id"]], len(record["candidate"].split())
                )
            write_records(folder / "lists" / file.name, records)
        files = ["--source", folder / "texts" / "source.jsonl", "--nbest", folder / "lists"]
        references = ["--references", folder / "texts" / "references" / f"{reference}.txt"]
        run(
            "init",
            folder / "campaign",
            *files,
            *references,
            "--languages",
            "en-de",
            "--model",
            "severity",
            "-q",
        )
        (added,) = asked("import", path, "-C", folder / "campaign", "--scores", folder / "scores.jsonl", "-q")
        facts = {
            "segments": len(texts.sources),
            "systems": {system: len(outputs) for system, outputs in texts.systems.items()},
            "references": list(texts.references),
            "human": list(texts.human),
            "documents": len(set(texts.documents.values())),
            "other_outputs": texts.other_outputs,
            "without_reference": texts.without_reference,
            "renumbered": texts.renumbered,
            "repairs": repairs.counts,
        }
        facts = {"texts": facts, "added": added, "links of the data": known}
        (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")

    return shop.made(name, make)


def diagonal(source: int, target: int) -> str:
    """A link for each word of the longer side.

    >>> diagonal(2, 4)
    '0-0 0-1 1-2 1-3'
    """
    longer = max(source, target)
    return " ".join(f"{i * source // longer}-{i * target // longer}" for i in range(longer))


def import_facts(folder: Path) -> Any:
    return json.loads((folder / "facts.json").read_text()) | {"stats": stats(folder / "campaign")}


@golden("mqm-raw", "mqm-ted-ende")
def mqm_ted(shop: Workshop) -> Any:
    """What the file has, and people's picks against other metrics' by its scores, judgments held out by system."""
    folder = rated(shop, "mqm_ted_ende", "ref")
    options = ["--scores", folder / "scores.jsonl", "--judged-only", "ref", "--splits", 20, "--metrics"]
    metrics = (
        "rypt:severity+0.2*chrf+2*system,rypt:severity+0.2*chrf,rypt:severity,rypt:half,rypt:table,bleu,chrf"
    )
    return import_facts(folder) | {"picks": outcomes(folder / "campaign", *options, metrics)}


NEWSTEST, HUMANS = "mqm_newstest2020_ende", ("Human-A.0", "Human-B.0", "Human-P.0")


@golden("mqm-raw")
def mqm_newstest2020(shop: Workshop) -> Any:
    """What the file has, once it is imported."""
    return import_facts(rated(shop, NEWSTEST, HUMANS[0]))


@golden("mqm-raw")
def mqm_raters(shop: Workshop) -> Any:
    """Picks on half of newstest2020's documents: one rater of a segment judges, the others decide."""
    folder = rated(shop, NEWSTEST, HUMANS[0])
    options = ["--scores", folder / "scores.jsonl", "--documents", folder / "texts" / "documents.jsonl"]
    options += ["--hold-out", "rater", "--half", "first", "--metrics", "rypt:severity,bleu"]
    options += [part for human in HUMANS for part in ("--judged-only", human)]
    return outcomes(folder / "campaign", *options)


@golden("mqm-raw")
def mqm_systems(shop: Workshop) -> Any:
    """The means that the publishers print, with ranges and clusters."""
    names = ("mqm_ted_ende", "mqm_newstest2020_ende", "mqm_newstest2021_enru", "mqm_newstest2020_zhen")
    return {name: ranked(REAL / "mqm-raw" / f"{name}.tsv.gz") for name in names}


def as_text(numbers: dict[str, Any]) -> str:
    """JSON with a list of plain values on one line."""
    text = json.dumps(numbers, indent=1, sort_keys=True, ensure_ascii=False)
    short = re.sub(r"\[\n([^\[\]{}]*?)\n *\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"
    return short if json.loads(short) == numbers else text + "\n"


def main_program() -> int:
    """Record or compare."""
    words = [word for word in sys.argv[1:] if word != "--check"]
    chosen = [name for name in GOLDENS if not words or name.startswith(tuple(words))]
    numbers = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {}
    numbers = {name: value for name, value in numbers.items() if name in GOLDENS}
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        shop = Workshop(Path(folder))
        for name in chosen:
            if absent := [data for data in GOLDENS[name].data if not (REAL / data).is_dir()]:
                print(f"{name}: left out, {REAL / absent[0]} is not there", file=sys.stderr)
                continue
            before = sum(os.times()[:4])
            try:
                found = tidy(GOLDENS[name].make(shop))
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
                wrong += 1
                continue
            print(f"{sum(os.times()[:4]) - before:6.1f} s  {name}", file=sys.stderr)
            if "--check" in sys.argv:
                lines = differences(numbers.get(name), found, name)
                print("".join(f"{line}\n" for line in lines), end="")
                wrong += bool(lines)
            numbers[name] = found
    if "--check" not in sys.argv:
        NUMBERS.write_text(as_text(numbers), encoding="utf-8")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main_program())
