"""A small campaign of several systems: each candidate has good and bad words, and two raters who see the bad ones."""

import json

import numpy as np

from rypt.campaign.create import create_campaign
from rypt.records import Judgment, Label

TREE = "(S (NP (A a{n}) (B b)) (VP (C c) (D d)))"
LINKS = "0-0 1-1 2-2 3-3"
RATERS = ("r1", "r2")


def texts_of(systems: int, segments: int, seed: int) -> list[list[str]]:
    """For each system its candidates: the same good words for all, and bad ones that a few systems share."""
    rng = np.random.default_rng(seed)
    bad = rng.random((systems, segments, 4)) < rng.uniform(0.05, 0.5, (systems, 1, 1))
    which = rng.integers(0, 2, bad.shape)
    return [
        [
            " ".join(f"bad{which[s, i, j]}" if bad[s, i, j] else f"good{j}" for j in range(4))
            for i in range(segments)
        ]
        for s in range(systems)
    ]


def make(folder, *, systems=5, segments=12, seed=1, references=True, judged=True, raters=RATERS, share=None):
    """The campaign, with ``scores.jsonl`` in its folder: how many bad words each rater counts, lower is better.

    With ``share`` so many of the raters, in turn, are in each segment, and each overlooks a bad word of their own.
    """
    folder.mkdir(parents=True)
    (folder / "source").write_text("".join(f"a{n} b c d\n" for n in range(segments)))
    (folder / "trees").write_text("".join(TREE.format(n=n) + "\n" for n in range(segments)))
    (folder / "reference").write_text("good0 good1 good2 good3\n" * segments)
    texts = texts_of(systems, segments, seed)
    lists = []
    for s, own in enumerate(texts):
        lists.append(folder / f"sys{s}.jsonl")
        records = [{"id": str(i), "candidate": text, "alignment": LINKS} for i, text in enumerate(own)]
        lists[-1].write_text("".join(json.dumps(record) + "\n" for record in records))
    campaign = create_campaign(
        folder,
        source=folder / "source",
        trees=folder / "trees",
        nbest=lists,
        references=[folder / "reference"] if references else [],
    )
    scores = [
        {"segment": str(i), "system": f"sys{s}", "rater": rater, "score": text.count(seen), "better": "lower"}
        for s, own in enumerate(texts)
        for i, text in enumerate(own)
        for rater, seen in raters_of(i, raters, share)
    ]
    (folder / "scores.jsonl").write_text("".join(json.dumps(score) + "\n" for score in scores))
    if judged:
        with campaign.database(readonly=False) as db:
            db.add(judgments(campaign, texts, raters, share))
    return campaign


def raters_of(segment: int, raters: tuple[str, ...], share: int | None) -> list[tuple[str, str]]:
    """The raters of a segment, each with what a bad word begins with for them."""
    if share is None:
        return [(rater, "bad") for rater in raters]
    own = sorted((segment + i) % len(raters) for i in range(share))
    return [(raters[i], ("bad", "bad0", "bad1")[i % 3]) for i in own]


def judgments(campaign, texts, raters=RATERS, share=None):
    """Every phrase of every candidate by its raters: NO when it has a bad word; the origin is the system."""
    found = []
    for s, own in enumerate(texts):
        for i, text in enumerate(own):
            for constituent in campaign.trees[str(i)].constituents:
                phrase = " ".join(text.split(" ")[slice(*constituent.span)])
                for rater, seen in raters_of(i, raters, share):
                    label = Label.NO if seen in phrase else Label.YES
                    found.append(
                        Judgment(str(i), constituent.span, phrase, label, rater, f"sys{s}", "import")
                    )
    return found
