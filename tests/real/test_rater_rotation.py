"""newstest2020 en-de as it is: six raters, three a segment, take turns; their own scores against sentence BLEU.

Other code found a net of +9.1 for picks by the judging rater's own MQM, with BLEU of tokens; here it is of raw texts.
"""

import csv
import gzip
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from rypt.database.judgments import JudgmentDatabase
from rypt.database.votes import read_votes
from rypt.picks.held_out import HeldOutPicks
from rypt.picks.metrics import parse_pick_metric
from rypt.picks.outcome import compare_picks
from rypt.picks.splits import rotate_raters
from rypt.records import Candidate, Judgment, Label, Segment, Span
from rypt.scoring.forest import Forest
from rypt.scoring.observations import JudgedPhrases
from rypt.texts.trees import SourceTree

pytestmark = pytest.mark.real
REFERENCE = "Human-A.0"


def weight(category: str, severity: str) -> float:
    category, severity = category.lower(), severity.lower()
    if category.startswith("non-translation"):
        return 25.0
    if category.startswith("fluency/punctuation") and severity == "minor":
        return 0.1
    return {"major": 5.0, "minor": 1.0}.get(severity, 0.0)


def test_raters_of_a_segment_take_turns(real_data: Callable[[str], Path]) -> None:
    penalties: dict[tuple[str, str, str], float] = defaultdict(float)
    texts: dict[tuple[str, str], str] = {}
    path = real_data("mqm-raw") / "mqm_newstest2020_ende.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            segment = f"{row['doc']}:{row['seg_id']}"
            penalties[row["rater"], row["system"], segment] += weight(row["category"], row["severity"])
            texts.setdefault((row["system"], segment), re.sub("</?v>", "", row["target"]))
    segments = sorted({segment for _, segment in texts})
    systems = sorted({system for system, _ in texts if not system.startswith("Human")})
    raters = {
        rater: np.array([[-penalties.get((rater, s, i), np.nan) for i in segments] for s in systems])
        for rater in sorted({rater for rater, _, _ in penalties})
    }
    assert (len(penalties), len(segments), len(systems), len(raters)) == (42540, 1418, 7, 6)
    pairs = [(texts[s, i], [texts[REFERENCE, i]]) for s in systems for i in segments]
    fixed = {"bleu": np.array([sacrebleu.sentence_bleu(*pair).score for pair in pairs]) / 100}
    table = np.arange(len(pairs)).reshape(len(systems), len(segments))
    with JudgmentDatabase(
        ":memory:"
    ) as db:  # every rater has judged something, which no metric here looks at
        db.add_segments([Segment(segments[0], "x")])
        db.add(Judgment(segments[0], Span(0, 1), "x", Label.YES, rater) for rater in raters)
        votes = read_votes(db)
    forest = Forest({**dict.fromkeys(segments), segments[0]: SourceTree.from_brackets("(X x)")})
    candidates = [Candidate(i, texts[s, i], "") for s in systems for i in segments]
    places = JudgedPhrases(forest, votes.keys).look_up(candidates, "lower")
    data = HeldOutPicks(tuple(systems), table, votes, places, fixed, "rater")
    splits, notes = rotate_raters(raters, data.groups, range(len(systems)), 200, np.random.default_rng(1))
    assert (notes, len(splits)) == (["1418 of 1418 segments take part"], 3)
    (human,) = compare_picks(data, [parse_pick_metric(name) for name in ("human", "bleu")], splits).outcomes
    assert (human.segments, human.net) == (1418, pytest.approx(0.091, abs=0.01))
