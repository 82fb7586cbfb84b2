"""A campaign from texts alone: what is made, what is said, and what is left where something is wrong."""

import json

import pytest
from commands import run

from rypt.campaign.folder import Campaign

SOURCE = ["das haus brennt , sagt er .", "die katze schläft jetzt ."]
OUTPUTS = [
    ["the house burns , he says .", "the house is on fire ."],
    ["the cat sleeps now .", "a cat is sleeping ."],
]


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dev.de").write_text("\n".join(SOURCE) + "\n", encoding="utf-8")
    records = [{"id": i, "candidate": text} for i, texts in enumerate(OUTPUTS) for text in texts]
    (tmp_path / "list.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return tmp_path


def test_a_list_without_links_is_two_commands_from_questions(texts, capsys):
    (texts / "other").mkdir()
    (texts / "other" / "list.jsonl").write_text((texts / "list.jsonl").read_text().replace("cat", "dog"))
    lists = ["--nbest", "list.jsonl", "--nbest", "other/list.jsonl"]
    code, _, err = run(capsys, "init", "campaign", "--source", "dev.de", *lists)
    assert code == 0, err
    assert "2 trees made from punctuation and length" in err
    assert "8 candidates aligned" in err
    code, out, err = run(capsys, "queries", "campaign", "-q")
    assert code == 0, err
    assert "the house" in out
    campaign = Campaign.open("campaign")
    assert campaign.files.trees == "prepared/source.trees"
    assert campaign.files.alignments == ["prepared/links/1-list.links", "prepared/links/2-list.links"]
    assert all(candidate.alignment for candidate in campaign.candidates)


@pytest.mark.parametrize("exists", [False, True])
def test_nothing_is_left_where_something_is_wrong(texts, capsys, exists):
    if exists:
        (texts / "campaign").mkdir()
        (texts / "campaign" / "notes").write_text("mine")
    (texts / "ref").write_text("one line\n")
    options = ["--source", "dev.de", "--nbest", "list.jsonl", "--references", "ref", "-q"]
    code, _, err = run(capsys, "init", "campaign", *options)
    assert (code, err) == (1, "rypt: ref:1: expected 2 lines, one per segment, found 1\n")
    left = (
        {path.name for path in (texts / "campaign").rglob("*")} if exists else (texts / "campaign").exists()
    )
    assert left == ({"notes"} if exists else False)
    assert run(capsys, "init", "campaign", "--source", "missing.de", "--nbest", "list.jsonl", "-q")[0] == 1


def test_a_folder_of_prepared_texts_that_is_there_is_left_alone(texts, capsys):
    (texts / "campaign" / "prepared").mkdir(parents=True)
    (texts / "campaign" / "prepared" / "mine").write_text("mine")
    code, _, err = run(capsys, "init", "campaign", "--source", "dev.de", "--nbest", "list.jsonl", "-q")
    assert code == 1
    assert "campaign/prepared: expected a new or empty folder" in err
    assert (texts / "campaign" / "prepared" / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 ||| yes\n2 ||| no\n", "list:2: segment '2' is not in the source, whose 2 segments count from 0; does"),
        ("yes\n" * 6, "list:3: expected 2 lines, one per segment, found more"),
        ("", "list: expected candidates, found none"),
    ],
)  # fmt: skip
def test_mistakes_are_found_before_anything_is_made(texts, capsys, text, message):
    (texts / "list").write_text(text)
    code, _, err = run(capsys, "init", "campaign", "--source", "dev.de", "--nbest", "list")
    assert (code, err.startswith(f"rypt: {message}")) == (1, True)


def test_raw_texts_are_cut_into_tokens(texts, capsys):
    (texts / "raw.de").write_text("Das Haus brennt, sagt er.\nDie Katze schläft jetzt.\n", encoding="utf-8")
    lines = [
        {"candidates": ["The house burns, he says.", "It burns."]},
        {"candidates": ["The cat sleeps.", "A cat."]},
    ]
    (texts / "raw.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (texts / "raw.en").write_text("The house is on fire, he says.\nThe cat sleeps.\n")
    names = ["--source", "raw.de", "--nbest", "raw.jsonl", "--references", "raw.en"]
    code, _, err = run(capsys, "init", "campaign", *names)
    assert code == 0, err
    assert err.startswith(
        "all texts cut into tokens (punctuation cut off); --tokens keep takes texts as they are\n"
    )
    campaign = Campaign.open("campaign")
    assert campaign.segments[0].text == "Das Haus brennt , sagt er ."
    assert [candidate.text for candidate in campaign.candidates][:2] == [
        "The house burns , he says .",
        "It burns .",
    ]
    assert campaign.references == [["The house is on fire , he says .", "The cat sleeps ."]]
    code, _, err = run(capsys, "init", "kept", *names, "--tokens", "keep")
    assert code == 0, err
    assert Campaign.open("kept").files.nbest == ["../raw.jsonl"]


def test_texts_with_trees_and_links_are_kept(texts, capsys):
    (texts / "raw.de").write_text("das Haus.\n")
    (texts / "trees").write_text("(S (X das) (X Haus.))\n")
    (texts / "list").write_text("0 ||| the house. ||| lm= 1 ||| 1 ||| 0-0 1-1\n")
    given = ["--source", "raw.de", "--nbest", "list"]
    assert run(capsys, "init", "campaign", *given, "--trees", "trees", "-q")[0] == 0
    assert run(capsys, "init", "other", *given, "-q")[0] == 0
    for name in ("campaign", "other"):
        assert [segment.text for segment in Campaign.open(name).segments] == ["das Haus."]


def test_the_outputs_of_systems_are_for_comparing(texts, capsys):
    """They are shown as the systems wrote them, though the campaign has copies cut into tokens."""
    for number, name in enumerate("AB"):
        lines = [outputs[number].replace(" .", ".").replace(" ,", ",") for outputs in OUTPUTS]
        (texts / f"{name}.txt").write_text("\n".join(lines) + "\n")
    given = ["--source", "dev.de", "--nbest", "A.txt", "--nbest", "B.txt"]
    code, _, err = run(capsys, "init", "two", *given)
    assert code == 0, err
    compare = (
        "rypt hits make two -o two/batches/1 --kind comparison --assignments 5 --limit 20 --controls 0.2"
    )
    assert f"next, to have people compare the 2 systems: {compare}\n" in err
    assert list(Campaign.open("two").outputs) == ["A", "B"]
    code, _, err = run(capsys, *compare.split()[1:-2], "--controls", 0)
    assert code == 0, err
    made = (texts / "two" / "batches" / "1" / "batch.csv").read_text()
    assert "the house burns, he says." in made
    assert {"A", "B"} <= set(made.split(","))
    code, _, err = run(capsys, "init", "two", *given)
    assert code == 1
    assert "`rypt status two` says what is next" in err
