"""The examples of neural metrics: with packages that stand in for COMET and MetricX, and with a real small one."""

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from hits.compare.lists import compare_systems
from rypt.metrics.metric import Resources, read_metric
from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.lists import References

EXAMPLES = Path(__file__).parents[2] / "examples" / "metrics"
COMET = """
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
METRICX = """
import json, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with open(options["--input_file"]) as given, open(options["--output_file"], "w") as written:
    for row in map(json.loads, given):
        wrong = set(row["hypothesis"].split()) - set(row["reference"].split())
        written.write(json.dumps({**row, "prediction": 5.0 * len(wrong)}) + "\\n")
"""
REFERENCES = References([["the house"]])
CANDIDATES = [Candidate("0", text, None, {}, None) for text in ("the house", "a house")]


@pytest.fixture(autouse=True)
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delitem(sys.modules, "comet", raising=False)


def test_comet_gets_source_candidate_and_reference(tmp_path: Path) -> None:
    (tmp_path / "comet.py").write_text(COMET)
    metric = read_metric("neural:comet", Resources(REFERENCES, sources=lambda: {"0": "das Haus"}))
    assert metric.score(metric.stats(CANDIDATES)).tolist() == [0.25, 0.125]
    with pytest.raises(ValueError, match=re.escape("COMET needs the source")):
        read_metric("neural:comet", Resources(REFERENCES)).stats(CANDIDATES)


def test_metricx_is_run_as_its_own_program(tmp_path: Path) -> None:
    (tmp_path / "metricx24").mkdir()
    (tmp_path / "metricx24" / "__init__.py").write_text("")
    (tmp_path / "metricx24" / "predict.py").write_text(METRICX)
    resources = Resources(REFERENCES, sources=lambda: {"0": "das Haus"})
    metric = read_metric("neural:metricx(better=lower,scale=25)", resources)
    assert metric.score(metric.stats(CANDIDATES)).tolist() == [0, 5]
    assert not metric.maximize


@pytest.mark.skipif(find_spec("comet") is not None, reason="COMET is installed")
def test_what_is_not_installed_is_named_with_the_command() -> None:
    metric = read_metric("neural:comet", Resources(REFERENCES, sources=lambda: {"0": "das Haus"}))
    with pytest.raises((RyptError, RuntimeError), match="COMET is not installed: pip install unbabel-comet"):
        metric.stats(CANDIDATES)


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("wordllama") is None, reason="wordllama is not installed (pip install wordllama)"
)
def test_a_real_model_prefers_the_paraphrase(tmp_path: Path) -> None:
    for name, lines in {
        "good": ["the dog bit the man", "the house burns"],
        "bad": ["a cat sleeps here", "prices are rising"],
        "ref": ["the dog bites the man", "the house is on fire"],
    }.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    metrics = "neural:embedding,0.5*neural:embedding+0.5*chrf"
    compared = compare_systems(
        [tmp_path / "bad", tmp_path / "good"], references=[tmp_path / "ref"], metrics=metrics
    )
    bad, good = (score.score for score in compared.scores[:2])
    assert good > 0.7 > 0.3 > bad
