"""The example for COMET, with a package that stands in for it."""

import re
from pathlib import Path

import pytest

from rypt.metrics.metric import Resources, read_metric
from rypt.metrics.references import References
from rypt.records import RawCandidate

EXAMPLES = Path(__file__).parents[2] / "examples" / "metrics"
STAND_IN = """
class Scorer:
    def predict(self, rows, batch_size, gpus):
        self.scores = [len(set(row["mt"].split()) & set(row["ref"].split())) / len(row["src"]) for row in rows]
        return self
def download_model(name):
    return name
def load_from_checkpoint(path):
    assert path == "Unbabel/wmt22-comet-da"
    return Scorer()
"""


def test_comet_gets_source_candidate_and_reference(tmp_path, monkeypatch):
    (tmp_path / "comet.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLES)
    references = References([["the house"]])
    candidates = [RawCandidate("0", text, None, {}, None) for text in ("the house", "a house")]
    metric = read_metric("neural:comet", Resources(references, sources=lambda: {"0": "das Haus"}))
    assert metric.score(metric.stats(candidates)).tolist() == [0.25, 0.125]
    with pytest.raises(ValueError, match=re.escape("COMET needs the source")):
        read_metric("neural:comet", Resources(references)).stats(candidates)
