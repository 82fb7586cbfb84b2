"""Four systems' candidates of one segment, each judged everywhere: NO when a phrase holds "bad"."""

from collections.abc import Iterable, Sequence

import numpy as np

from rypt.analysis.curve import HeldOut
from rypt.database.judgments import JudgmentDatabase
from rypt.database.votes import VoteArrays, read_votes
from rypt.records import Candidate, Judgment, Label, Segment
from rypt.scoring.forest import Forest
from rypt.scoring.observations import JudgedPhrases, Places
from rypt.texts.trees import SourceTree

TREES = {"1": SourceTree.from_brackets("(S (NP (A a) (B b)) (C c))")}
LINKS = "0-0 1-1 2-2"
TEXTS = {"s1": "x y z", "s2": "x y z", "s3": "bad y z", "s4": "bad y z"}


def judgments_of(text: str, worker: str, origin: str) -> list[Judgment]:
    spans = [constituent.span for constituent in TREES["1"].constituents]
    phrases = [(span, " ".join(text.split()[slice(*span)])) for span in spans]
    return [
        Judgment("1", span, phrase, Label.NO if "bad" in phrase else Label.YES, worker, origin)
        for span, phrase in phrases
    ]


def looked_up(judgments: Iterable[Judgment], texts: Sequence[str]) -> tuple[VoteArrays, Places]:
    with JudgmentDatabase(":memory:") as db:
        db.add_segments([Segment("1", "a b c")])
        db.add(judgments)
        votes = read_votes(db)
    candidates = [Candidate("1", text, LINKS) for text in texts]
    return votes, JudgedPhrases(Forest(TREES), votes.keys).look_up(candidates, "lower")


def held_out_systems(*more: Judgment, judged_only: str = "") -> HeldOut:
    judgments = [j for system, text in TEXTS.items() for j in judgments_of(text, "w", system)]
    systems = [system for system in TEXTS if system != judged_only]
    votes, places = looked_up([*judgments, *more], [TEXTS[system] for system in systems])
    return HeldOut(votes, places, {system: np.array([i]) for i, system in enumerate(systems)})
