"""The facts of a demo that never ran, with names that a page must escape."""

from decimal import Decimal

from rypt.demo.facts import Accepted, Facts, Shown
from rypt.demo.texts import Plan
from rypt.loop.report import Row

PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 90" width="700" height="90"><path d="M0 0H9"/></svg>'


def worker(name: str, **more: object) -> dict[str, object]:
    row = {
        "worker": f"A{name}",
        "name": name,
        "answers": 40,
        "shares": {"YES": 0.4, "NO": 0.6},
        "controls": [9, 10],
        "verdict": "good",
        "reasons": ["nothing against it"],
        "excluded": False,
    }
    return {**row, **more}


def made_facts(*, simulated: bool = True, compared: bool = True) -> Facts:
    rows = [
        Row(1, 900, 900, 110, 100, 800, 0, Decimal("3.30"), (), 0.51, 0.51, 0.55, 0.001, 0.12, 0.5),
        Row(2, 1500, 600, 95, 86, 760, 140, Decimal("2.87"), ("A<b>",), 0.54, 0.53, 0.58, 0.2, 0.31, 0.56),
        Row(3, 1500, 0, final=0.55),
    ]
    systems = [
        {"system": "RYPT-tuned", "score": 0.61, "rank": 1, "low": 1, "high": 2, "cluster": 1},
        {"system": "BLEU-tuned", "score": 0.52, "rank": 2, "low": 1, "high": 2, "cluster": 1},
        {"system": "baseline", "score": 0.37, "rank": 3, "low": 3, "high": 3, "cluster": 2},
    ]
    names = ("baseline", "BLEU-tuned", "RYPT-tuned")
    preferences = {
        "first": "RYPT-tuned",
        "second": "BLEU-tuned",
        "identical": 7,
        "net": 0.1,
        "low": -0.05,
        "high": 0.24,
        "judgments": {"RYPT-tuned": 21, "BLEU-tuned": 15, "neither": 24},
        "p_judgments": 0.4,
        "p_segments": 0.5,
        "aggregates": {"+3": 4, "+1": 3, "+0": 9, "-2": 4},
        "segments": 20,
        "stale": 0,
    }
    return Facts(
        simulated=simulated,
        folder="my <demo>",
        plan=Plan(people=not simulated),
        rows=rows,
        best=2,
        stopped="no candidate is new",
        labels=186,
        spent=Decimal("6.17"),
        served=[("das <alte> Haus", "the old house", "YES", 17)],
        weights={"LM0": (0.5, -0.25)},
        bleu={"start_score": 42.4, "score": 57.2},
        accepted={name: Accepted(0.7 + i / 100, 0.2) for i, name in enumerate(names)},
        ranking={"systems": systems, "clusters": 2, "signature": "expected-wins|n:60"} if compared else None,
        preferences=preferences if compared else None,
        workers=[worker("one"), worker("<b>", verdict="bad", excluded=True)],
        judges=[worker("one")],
        tree=Shown("12", "S 0-3 <YES>\n", PICTURE),
        sizes={"tune": 120, "unseen": 180},
    )
