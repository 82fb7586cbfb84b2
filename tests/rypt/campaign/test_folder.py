"""Campaign folders."""

import pytest

from rypt.campaign.create import create_campaign
from rypt.campaign.folder import Campaign
from rypt.campaign.settings import Languages
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Judgment, Label, Span
from rypt.text import InputError, RyptError

FILES = {
    "source": "das Haus\nja\n",
    "trees": "(NP (ART das) (NN Haus))\n()\n",
    "nbest": (
        "0 ||| the house ||| LM0= -1 ||| -1 ||| 0-0 1-1\n"
        "0 ||| house ||| LM0= -2 ||| -2 ||| 1-0\n"
        "1 ||| yes ||| ||| -1 ||| 0-0\n"
    ),
    "ref": "the house\nyes\n",
}


@pytest.fixture
def texts(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def make(texts, **changes):
    options = {
        "source": texts / "source",
        "trees": texts / "trees",
        "nbest": [texts / "nbest"],
        "references": [texts / "ref"],
    }
    return create_campaign(texts / "campaign", **(options | changes))


@pytest.mark.slow
def test_made_and_opened_again(texts):
    make(texts, languages=Languages("de", "en"))
    campaign = Campaign.open(texts / "campaign")
    assert [(segment.text, segment.language) for segment in campaign.segments] == [
        ("das Haus", "de"),
        ("ja", "de"),
    ]
    assert campaign.trees["1"] is None
    assert [c.text for c in campaign.candidates] == ["the house", "house", "yes"]
    assert [len(candidates) for _, candidates in campaign.lists] == [3]
    assert campaign.references == [["the house", "yes"]]
    with campaign.database() as db:
        assert [segment.id for segment in db.segments()] == ["0", "1"]
    with pytest.raises(InputError, match="expected a folder without a campaign, found one with"):
        make(texts)


def test_a_removed_database_is_made_anew_with_the_segments(texts):
    make(texts)
    (texts / "campaign" / "judgments.db").unlink()
    with Campaign.open(texts / "campaign").database(readonly=False) as db:
        assert db.add([Judgment("0", Span(0, 1), "the", Label.YES, worker="A")]) == 1


def test_a_source_that_changed_since_it_was_judged_is_refused(texts):
    make(texts)
    (texts / "source").write_text("das Dach\nja\n")
    (texts / "trees").write_text("(NP (ART das) (NN Dach))\n()\n")
    with pytest.raises(InputError, match="segment 0 is 'das Dach', but judgments are about 'das Haus'"):
        Campaign.open(texts / "campaign").database()


def test_init_that_fails_at_its_end_can_be_run_again_and_keeps_judgments(texts, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("rypt.campaign.create.write_settings", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            make(texts)
    assert [path.name for path in (texts / "campaign").iterdir()] == ["judgments.db"]
    with JudgmentDatabase(texts / "campaign" / "judgments.db") as db:
        db.add([Judgment("0", Span(0, 1), "the", Label.YES, "v")])
    with make(texts).database() as db:
        assert db.count() == 1


def test_lists_merge_without_duplicates(texts):
    campaign = make(texts, nbest=[texts / "nbest", texts / "nbest"])
    assert len(campaign.candidates) == 3
    assert "3 candidates (3 more with a text and links that are there already)" in campaign.summary()
    assert campaign.outputs == {}  # n-best lists are not the outputs of systems


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alignments": ["a", "b"]}, "expected as many --alignments as --nbest, 1, found 2"),
        ({"source": "-"}, "expected files that stay"),
        ({"nbest": []}, "expected at least one list of candidates"),
    ],
)
def test_campaigns_that_could_not_be_scored(texts, changes, message):
    with pytest.raises(RyptError, match=message):
        make(texts, **changes)
    assert not (texts / "campaign").exists()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("trees", "(NP (ART das) (NN Haus)\n()\n", "trees:1: segment 0: "),
        ("trees", "()\n()\n", "source: no segment has a parse"),
        ("nbest", "0 ||| the house ||| ||| -1 ||| 0-0 1-7\n", "nbest:1: segment 0: link 1-7 is out of range"),
        ("ref", "the house\n", "ref:1: expected 2 lines"),
        ("source", "", "source: expected segments, found an empty file"),
        (
            "source",
            '{"id": 1, "text": "a"}\n{"id": 1, "text": "b"}\n',
            "source:2: segment 1 is there already",
        ),
        ("source", '{"id": 1}\n', "source:1: expected a field text"),
    ],
)
def test_nothing_is_written_when_a_file_has_a_mistake(texts, name, text, message):
    (texts / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        make(texts)
    assert not (texts / "campaign").exists()
