"""Where an unknown that counts one half does harm, commands say so."""

import pytest

from rypt.records import Candidate, Span, Votes
from rypt.scoring.model import Percolation
from rypt.scoring.report import scoring_advice
from rypt.scoring.scorer import Scorer
from rypt.scoring.severity_model import SeverityModel
from rypt.texts.trees import SourceTree


def world(words, judged):
    """A segment of so many words, each its own constituent, some of them judged."""
    tree = SourceTree.from_brackets(f"(S {' '.join(f'(W w{i})' for i in range(words))})")
    votes = [Votes("1", Span(i, i + 1), f"t{i}", 1, 0) for i in range(judged)]
    candidate = Candidate(
        "1", " ".join(f"t{i}" for i in range(words)), " ".join(f"{i}-{i}" for i in range(words))
    )
    return Scorer({"1": tree}, votes).observe([candidate])


@pytest.mark.parametrize(("words", "judged", "harms"), [(80, 10, True), (80, 60, False), (12, 1, False)])
def test_long_segments_with_few_labels(words, judged, harms):
    assert bool(scoring_advice(Percolation(), world(words, judged))) is harms


def test_other_models_and_other_unknowns_need_none():
    assert scoring_advice(SeverityModel(), world(80, 10)) == ""
    assert scoring_advice(Percolation("ignore"), world(80, 10)) == ""
    assert "80 words on average and 12% of their constituents" in scoring_advice(Percolation(), world(80, 10))
