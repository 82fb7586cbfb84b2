"""Make the demo's judgments: three SIMULATED workers answer most of the frontier queries, from errors.jsonl.

A phrase is truly acceptable when, in most candidates that contain it, none of its tokens is wrong and no source token
of its constituent is missing. Workers get the truth right with a given accuracy, and now and then are not sure.
"""

import json
import random
from collections import defaultdict
from pathlib import Path

from rypt.campaign.folder import read_source
from rypt.scoring.frontier import frontier
from rypt.scoring.phrase_keys import candidate_links
from rypt.scoring.queries import queries
from rypt.texts.nbest import read_candidates
from rypt.texts.phrases import phrase_key, phrase_of
from rypt.texts.treebank import segments_with_trees

HERE = Path(__file__).resolve().parent
DEMO = HERE.parent.parent / "rypt" / "demo" / "data"
WORKERS = {"simulated-1": 0.95, "simulated-2": 0.92, "simulated-3": 0.85}
NOT_SURE = 0.04
ASKED = 0.9
MAX_LEN = 4
SEED = 4


def main() -> None:
    """Write rypt/demo/data/judgments.jsonl, the same bytes on every run."""
    parsed = segments_with_trees(read_source(DEMO / "source.de"), DEMO / "trees.de")
    trees = {segment.id: tree for segment, tree in parsed}
    candidates = read_candidates(DEMO / "nbest.en", {segment.id: segment for segment, _ in parsed})
    errors = [json.loads(line) for line in (HERE / "errors.jsonl").read_text(encoding="utf-8").splitlines()]
    verdicts: dict[tuple[str, int, int, str], list[bool]] = defaultdict(list)
    for candidate, error in zip(candidates, errors, strict=True):
        tree = trees[candidate.segment]
        if tree is None:
            continue
        wrong, missing = set(error["wrong"]), set(error["missing"])
        links = candidate_links(candidate, tree)
        for i in frontier(tree, MAX_LEN):
            span = tree.constituents[i].span
            phrase = phrase_of(span, links, candidate.tokens)
            if phrase is not None:
                good = not wrong & set(phrase.positions) and not missing & set(range(*span))
                verdicts[(candidate.segment, *span, phrase_key(phrase.text))].append(good)
    rng = random.Random(SEED)
    with open(DEMO / "judgments.jsonl", "w", encoding="utf-8") as file:
        for query in queries(trees, candidates, max_len=MAX_LEN):
            if rng.random() > ASKED:
                continue
            votes = verdicts[(query.segment, *query.span, query.phrase)]
            truth = sum(votes) * 2 > len(votes)
            for worker, accuracy in WORKERS.items():
                label = "YES" if truth == (rng.random() < accuracy) else "NO"
                if rng.random() < NOT_SURE:
                    label = "NOT_SURE"
                key = {"segment": query.segment, "start": query.span.start, "stop": query.span.stop}
                record = {
                    **key,
                    "phrase": query.phrase,
                    "label": label,
                    "worker": worker,
                    "source": "simulation",
                }
                file.write(json.dumps(record, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
