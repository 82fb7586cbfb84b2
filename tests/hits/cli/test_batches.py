"""``rypt hits make`` and ``price``: what was told is kept, times are those of the kind, sums are exact."""

import io
import json
import shutil
import tomllib
from dataclasses import replace

import pytest
from commands import run

from hits.batch.folder import read_batch
from hits.records import Assignment
from hits.results.answers import Results
from hits.server.question import safe_page
from rypt.campaign.folder import Campaign


@pytest.fixture
def campaign(demo_campaign, tmp_path):
    shutil.copytree(demo_campaign, tmp_path / "campaign")
    return tmp_path / "campaign"


@pytest.fixture
def outputs(campaign, tmp_path):
    lines = (campaign / "reference.en").read_text().splitlines()
    options = []
    for i, name in enumerate("xyz"):
        (tmp_path / name).write_text("".join(f"{line}{' indeed' * i}\n" for line in lines))
        options += ["--output-of", f"{name}={tmp_path / name}"]
    return options


def made(folder):
    return tomllib.loads((folder / "batch.toml").read_text(encoding="utf-8"))


def again(told, seed):
    """The options that a batch says it was made with."""
    values = {
        "max_len": "--max-len",
        "alternatives": "--alternatives",
        "controls": "--controls",
        "limit": "--limit",
        "labels": "--labels",
        "budget": "--budget",
        "wage": "--wage",
        "select": "--select",
        "reference_alignment": "--reference-alignment",
    }
    options = [part for name, option in values.items() if name in told for part in (option, told[name])]
    options += ["--no-reference"] if not told["reference"] else []
    options += ["--no-punctuation"] if not told.get("punctuation", True) else []
    options += ["--severity"] if told.get("severity") else []
    options += [part for system in told.get("systems", []) for part in ("--output-of", system)]
    return [told["campaign"], *options, "--seed", seed]


def test_a_batch_can_be_made_again_from_what_it_says(capsys, campaign, outputs, tmp_path):
    links = ["--reference-alignment", campaign / "reference.align"]
    label = ["--max-len", 3, "--alternatives", 4, "--controls", 0.2, "--limit", 9, "--no-punctuation", *links]
    for name, options in {
        "label": [*label, "--seed", 5, "--wage", "15.5", "--severity"],
        "comparison": [*outputs, "--limit", 7, "--no-reference", "--seed", 6],
        "ranking": [*outputs, "--controls", 0.3, "--seed", 7],
    }.items():
        first, second = tmp_path / f"{name}1", tmp_path / f"{name}2"
        assert run(capsys, "hits", "make", campaign, "-o", first, "--kind", name, *options, "-q")[0] == 0
        told = made(first)
        options = again(told["made"], told["seed"])
        assert (
            run(capsys, "hits", "make", options[0], "-o", second, "--kind", name, *options[1:], "-q")[0] == 0
        )
        assert (first / "batch.csv").read_bytes() == (second / "batch.csv").read_bytes()
        assert (first / "template.html").read_bytes() == (second / "template.html").read_bytes()
        assert made(second)["made"] == told["made"]
        assert made(second)["reward"] == told["reward"]


def test_the_most_valuable_labels_for_a_sum(capsys, campaign, tmp_path):
    options = ["--select", "value", "--max-len", 2, "--seed", 4, "--json"]
    every = json.loads(run(capsys, "hits", "make", campaign, "-o", tmp_path / "all", *options)[1])
    assert float(every["total"]) > 1
    few = json.loads(
        run(capsys, "hits", "make", campaign, "-o", tmp_path / "few", *options, "--budget", "1.00")[1]
    )
    assert 0.8 < float(few["total"]) <= 1
    limited = [*options, "--labels", 9, "--controls", 0]
    nine = json.loads(run(capsys, "hits", "make", campaign, "-o", tmp_path / "nine", *limited)[1])
    assert nine["answers"] == 9
    told = made(tmp_path / "few")["made"]
    assert (told["select"], told["budget"]) == ("value", "1.00")
    again_options = again(told, 4)
    assert (
        run(capsys, "hits", "make", again_options[0], "-o", tmp_path / "again", *again_options[1:], "-q")[0]
        == 0
    )
    assert (tmp_path / "again" / "batch.csv").read_bytes() == (tmp_path / "few" / "batch.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--select", "value", "--kind", "comparison"],
            "expected select for comparisons as one of all, trueskill",
        ),
        (["--budget", "5", "--kind", "ranking"], "budget is an option of label batches"),
        (["--max-len", "5", "--kind", "comparison"], "max_len is an option of label batches"),
        (["--no-punctuation", "--kind", "ranking"], "punctuation is an option of label batches"),
        (["--budget", "-1"], "expected an amount of money such as 12.00, got '-1'"),
        (["--budget", "NaN"], "expected an amount of money such as 12.00, got 'NaN'"),
    ],
)
def test_options_of_another_kind_are_refused(capsys, campaign, outputs, tmp_path, options, message):
    given = outputs if "--kind" in options else []
    code, out, err = run(capsys, "hits", "make", campaign, "-o", tmp_path / "b", *given, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "b").exists()


def test_a_budget_too_small_makes_no_batch(capsys, campaign, tmp_path):
    code, out, err = run(capsys, "hits", "make", campaign, "-o", tmp_path / "b", "--budget", "0.01")
    assert (code, out) == (1, "")
    assert "the smallest batch costs $" in err
    assert not (tmp_path / "b").exists()


def test_the_local_market_is_the_default_and_sums_add_up(capsys, campaign, tmp_path):
    code, out, _ = run(capsys, "hits", "make", campaign, "-o", tmp_path / "b", "--limit", 11, "-q")
    assert code == 0
    assert "local market: rewards $" in out
    assert "no fees" in out
    for market in ("local", "mturk"):
        facts = json.loads(run(capsys, "hits", "price", tmp_path / "b", "--market", market, "--json")[1])
        cents = {name: round(100 * float(facts[name])) for name in ("rewards", "fees", "total")}
        assert cents["rewards"] + cents["fees"] == cents["total"]
        assert (cents["fees"] > 0) == (market == "mturk")
        assert (
            f"fees ${facts['fees']} = ${facts['total']};"
            in run(capsys, "hits", "price", tmp_path / "b", "--market", market)[1]
            or market == "local"
        )
    plain = json.loads(run(capsys, "hits", "price", tmp_path / "b", "--json")[1])
    assert (plain["market"], plain["fees"]) == ("local", "0.00")


def test_times_seen_are_of_the_kind_that_is_asked(capsys, campaign, outputs, tmp_path):
    """Labels at 21 seconds each, which says nothing of rankings."""
    with Campaign.open(campaign).database(readonly=False) as db:
        item = {"item": "i", "segment": "0", "start": "0", "stop": "1", "phrase_1": "a", "phrase_2": "b"}
        for n in range(15):
            answer = Assignment(
                batch="b",
                item="i",
                hit=f"H{n}",
                id=f"X{n}",
                worker="A1",
                fields={"label_1": "YES", "label_2": "NO"},
                accepted=0,
                submitted=42,
            )
            Results(db).add([replace(answer, columns=item)])
    label, ranking = tmp_path / "label", tmp_path / "ranking"
    first = json.loads(run(capsys, "hits", "make", campaign, "-o", label, "--limit", 5, "--json")[1])
    assert made(label)["reward"]["each"] == "0.07"  # $12 an hour, 21 seconds
    assert first["hours"] == round(first["answers"] * 21 / 3600, 2)
    assert json.loads(run(capsys, "hits", "price", label, "--json")[1]) == first
    priced = json.loads(run(capsys, "hits", "price", label, "-C", campaign, "--json")[1])
    assert priced == first
    options = ["--kind", "ranking", *outputs, "--json"]
    other = json.loads(run(capsys, "hits", "make", campaign, "-o", ranking, *options)[1])
    assert made(ranking)["reward"]["each"] == "0.05"  # 15 seconds, the first guess
    assert "seconds" not in made(ranking)["made"]
    assert json.loads(run(capsys, "hits", "price", ranking, "-C", campaign, "--json")[1]) == other


def test_what_the_campaign_says_holds_where_no_option_does(capsys, campaign, tmp_path):
    text = (campaign / "rypt.toml").read_text().replace("max_len = 4", "max_len = 2")
    (campaign / "rypt.toml").write_text(
        f'{text}\n[market]\nwage = "30.00"\nassignments = 2\nseverity = true\n'
    )
    assert run(capsys, "hits", "make", campaign, "-o", tmp_path / "own", "--limit", "3", "-q")[0] == 0
    found = made(tmp_path / "own")
    assert (found["made"]["max_len"], found["made"]["wage"], found["assignments"]) == (2, "30.00", 2)
    assert found["made"]["severity"]
    assert "NO_BADLY" in (tmp_path / "own" / "template.html").read_text()
    options = ["--max-len", "3", "--wage", "6", "--assignments", "1", "--no-severity"]
    assert (
        run(capsys, "hits", "make", campaign, "-o", tmp_path / "told", "--limit", "3", *options, "-q")[0] == 0
    )
    found = made(tmp_path / "told")
    assert (found["made"]["max_len"], found["made"]["wage"], found["assignments"]) == (3, "6", 1)
    assert not found["made"]["severity"]
    assert "NO_BADLY" not in (tmp_path / "told" / "template.html").read_text()


def test_controls_are_verified_with_one_key_each(capsys, campaign, tmp_path, monkeypatch):
    links = ["--reference-alignment", campaign / "reference.align"]
    monkeypatch.setattr("sys.stdin", io.StringIO("y\nmaybe\nn\ns\ny\nq\n"))
    code, out, err = run(capsys, "hits", "controls", campaign, *links)
    assert (code, out) == (0, "2 controls verified, 1 refused\n")
    assert err.count("good translation?") == 6
    kept = [json.loads(line) for line in (campaign / "controls.jsonl").read_text().splitlines()]
    assert [record["label"] for record in kept] == ["YES", "NO", "YES"]
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    again = run(capsys, "hits", "controls", campaign, *links)[2]
    assert err.splitlines()[1] not in again.splitlines()[:2]  # nobody is asked twice
    (campaign / "controls.jsonl").write_text('{"segment": "1"}\n')
    code, _, err = run(capsys, "hits", "controls", campaign, *links)
    assert (code, "controls.jsonl:1: expected a control" in err) == (1, True)
    (campaign / "controls.jsonl").unlink()


def test_labels_may_be_left_blank(capsys, campaign, tmp_path):
    for blank, name in ((False, "full"), (True, "blank")):
        options = ["--allow-blank"] if blank else []
        assert (
            run(capsys, "hits", "make", campaign, "-o", tmp_path / name, "--limit", 2, "-q", *options)[0] == 0
        )
        template = (tmp_path / name / "template.html").read_text()
        assert ('name="label_1" value="YES" data-key="1">' in template) == blank
        page = safe_page(template)
        assert page.fields["label_1"].required != blank
        if blank:
            assert page.answers([("comment", [""])]) == {"comment": ""}
        assert (
            tomllib.loads((tmp_path / name / "batch.toml").read_text())["made"].get("blank", False) == blank
        )


def test_controls_to_practise_on(capsys, campaign, tmp_path):
    made = run(capsys, "hits", "make", campaign, "-o", tmp_path / "b", "--limit", 6, "--training", 4, "-q")
    assert made[0] == 0, made[2]
    batch = read_batch(tmp_path / "b")
    assert [item.columns["control_1"] for item in batch.training] == ["YES", "NO", "YES", "NO"]
    shown = {(item.columns["segment"], item.columns["phrase_1"]) for item in batch.training}
    controls = {
        (item.columns["segment"], item.columns[f"phrase_{n}"])
        for item in batch.items
        for n in range(1, item.size + 1)
        if item.columns[f"control_{n}"]
    }
    assert len(shown) == 4
    assert not shown & controls
    assert len(batch.items) < 12  # they are not published


def test_what_a_small_batch_of_comparisons_will_not_tell(capsys, campaign, outputs, tmp_path):
    same = [*outputs, "--output-of", f"copy={tmp_path / 'x'}"]
    options = ["--kind", "comparison", *same, "--limit", 12, "--controls", 0.2]
    code, out, err = run(capsys, "hits", "make", campaign, "-o", tmp_path / "b", *options)
    assert code == 0
    notes = err.splitlines()
    assert "have the same text: nobody is asked about them" in notes[0]
    assert notes[1].startswith("note: 3 controls cannot tell careless workers from unlucky ones")
    assert notes[1].endswith("--controls 0.3 makes 5")
    assert notes[2].startswith("note: 12 comparisons a person are too few")
    assert "of work, all people together, at $12.00 an hour\n" in out
