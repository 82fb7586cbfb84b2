"""A campaign from texts alone: what is made, what is said, and what is left where something is wrong."""

import json

import pytest
from commands import run

from rypt.campaign.folder import Campaign
from rypt.tools import aligners

SOURCE = ["das haus brennt , sagt er .", "die katze schläft jetzt ."]
OUTPUTS = [["the house burns , he says .", "the house is on fire ."], ["the cat sleeps now .", "a cat is sleeping ."]]


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.setattr(aligners, "is_installed", lambda name: name == "diagonal")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dev.de").write_text("\n".join(SOURCE) + "\n", encoding="utf-8")
    records = [{"id": i, "candidate": text} for i, texts in enumerate(OUTPUTS) for text in texts]
    (tmp_path / "list.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return tmp_path


def test_a_list_without_links_is_two_commands_from_questions(texts, capsys):
    code, _, err = run(
        capsys, "init", "campaign", "--source", "dev.de", "--nbest", "list.jsonl", "--languages", "de-en"
    )
    assert code == 0, err
    assert "2 trees made from punctuation and length; --trees takes the trees of any parser" in err
    assert "4 candidates aligned by diagonal; --alignments takes the links of any aligner" in err
    code, out, err = run(capsys, "queries", "campaign", "-q")
    assert code == 0, err
    assert "the house" in out
    campaign = Campaign.open("campaign")
    assert campaign.files.trees == "prepared/source.trees"
    assert campaign.files.alignments == ["prepared/links/list.links"]
    assert all(candidate.alignment for candidate in campaign.candidates)


def test_lists_of_one_name_have_links_of_their_own(texts, capsys):
    (texts / "other").mkdir()
    (texts / "other" / "list.jsonl").write_text((texts / "list.jsonl").read_text().replace("cat", "dog"))
    lists = ["--nbest", "list.jsonl", "--nbest", "other/list.jsonl"]
    assert run(capsys, "init", "campaign", "--source", "dev.de", *lists, "-q")[0] == 0
    assert Campaign.open("campaign").files.alignments == ["prepared/links/1-list.links", "prepared/links/2-list.links"]


def test_what_is_given_is_not_made(texts, capsys):
    (texts / "dev.trees").write_text("(S (X das) (X haus) (X brennt) (X ,) (X sagt) (X er) (X .))\n()\n")
    (texts / "links").write_text("0-0 1-1\n0-0\n0-0\n0-0\n")
    given = ["--trees", "dev.trees", "--alignments", "links"]
    assert run(capsys, "init", "campaign", "--source", "dev.de", "--nbest", "list.jsonl", *given, "-q")[0] == 0
    assert not (texts / "campaign" / "prepared").exists()


@pytest.mark.parametrize("exists", [False, True])
def test_nothing_is_left_where_something_is_wrong(texts, capsys, exists):
    if exists:
        (texts / "campaign").mkdir()
        (texts / "campaign" / "notes").write_text("mine")
    (texts / "ref").write_text("one line\n")
    options = ["--source", "dev.de", "--nbest", "list.jsonl", "--references", "ref", "-q"]
    code, _, err = run(capsys, "init", "campaign", *options)
    assert (code, err) == (1, "rypt: ref:1: expected 2 lines, one per segment, found 1\n")
    left = {path.name for path in (texts / "campaign").rglob("*")} if exists else (texts / "campaign").exists()
    assert left == ({"notes"} if exists else False)
    assert run(capsys, "init", "campaign", "--source", "missing.de", "--nbest", "list.jsonl", "-q")[0] == 1


def test_a_folder_of_prepared_texts_that_is_there_is_left_alone(texts, capsys):
    (texts / "campaign" / "prepared").mkdir(parents=True)
    (texts / "campaign" / "prepared" / "mine").write_text("mine")
    code, _, err = run(capsys, "init", "campaign", "--source", "dev.de", "--nbest", "list.jsonl", "-q")
    assert code == 1
    assert "campaign/prepared: expected a new or empty folder" in err
    assert (texts / "campaign" / "prepared" / "mine").read_text() == "mine"
