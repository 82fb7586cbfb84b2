"""Trees as PNG and PDF, and results in notebooks."""

import builtins

import pytest

import rypt
from rypt.campaign.scoring import explain_candidate
from rypt.text import RyptError


@pytest.mark.parametrize(("name", "begin"), [("tree.png", b"\x89PNG"), ("tree.pdf", b"%PDF")])
def test_the_ending_says_the_format(tmp_path, demo_campaign, name, begin):
    explanation = explain_candidate(rypt.Campaign.open(demo_campaign), "3", 0)
    explanation.write(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begin)
    assert explanation._repr_html_().startswith("<svg")


def test_a_score_in_a_notebook(demo_campaign, monkeypatch):
    report = rypt.score(rypt.Campaign.open(demo_campaign))
    assert report._repr_html_().count("<tr>") == 1 + len(report.segments)
    importing = builtins.__import__

    def without_pandas(name, *rest):
        if name == "pandas":
            raise ImportError(name)
        return importing(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(RyptError, match=r"to_pandas\(\) needs pandas: pip install pandas"):
        report.to_pandas()
