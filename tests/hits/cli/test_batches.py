"""``rypt hits make`` and ``controls``: what was told is recorded, and options of another kind are refused."""

import io
import json
import shutil
import tomllib

import pytest
from commands import run

from hits.server.question import safe_page

pytestmark = pytest.mark.slow


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
        "alternatives": "--alternatives",
        "controls": "--controls",
        "limit": "--limit",
        "budget": "--budget",
        "wage": "--wage",
        "select": "--select",
        "reference_alignment": "--reference-alignment",
    }
    options = [part for name, option in values.items() if name in told for part in (option, told[name])]
    options += ["--no-reference"] if not told["reference"] else []
    options += ["--severity"] if told.get("severity") else []
    options += [part for system in told.get("systems", []) for part in ("--output-of", system)]
    return [told["campaign"], *options, "--seed", seed]


def test_a_batch_can_be_made_again_from_what_it_says(capsys, campaign, outputs, tmp_path):
    links = ["--reference-alignment", campaign / "reference.align"]
    label = ["--alternatives", 4, "--controls", 0.2, "--limit", 30, *links]
    for name, options in {
        "label": [
            *label,
            "--seed",
            5,
            "--wage",
            "15.5",
            "--severity",
            "--select",
            "value",
            "--budget",
            "2.00",
        ],
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--select", "value", "--kind", "comparison"],
            "expected select for comparisons as one of all, trueskill",
        ),
        (["--budget", "5", "--kind", "ranking"], "budget is an option of label batches"),
        (
            ["--reference-alignment", "/no/such/file", "--kind", "comparison"],
            "reference_alignment is an option of",
        ),
        (["--metrics", "rypt,bleu"], "--metrics is for --kind picks"),
        (["--kind", "picks"], "--output-of is for"),
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


def test_what_the_campaign_says_holds_where_no_option_does(capsys, campaign, tmp_path):
    text = (campaign / "rypt.toml").read_text()
    (campaign / "rypt.toml").write_text(
        f'{text}\n[market]\nwage = "30.00"\nassignments = 2\nseverity = true\n'
    )
    assert run(capsys, "hits", "make", campaign, "-o", tmp_path / "own", "--limit", "3", "-q")[0] == 0
    found = made(tmp_path / "own")
    assert (found["made"]["wage"], found["assignments"]) == ("30.00", 2)
    assert found["made"]["severity"]
    assert "NO_BADLY" in (tmp_path / "own" / "template.html").read_text()
    options = ["--wage", "6", "--assignments", "1", "--no-severity"]
    assert (
        run(capsys, "hits", "make", campaign, "-o", tmp_path / "told", "--limit", "3", *options, "-q")[0] == 0
    )
    found = made(tmp_path / "told")
    assert (found["made"]["wage"], found["assignments"]) == ("6", 1)
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


def test_what_a_small_batch_of_comparisons_will_not_tell(capsys, campaign, outputs, tmp_path):
    same = [*outputs, "--output-of", f"copy={tmp_path / 'x'}"]
    options = ["--kind", "comparison", *same, "--limit", 12, "--controls", 0.2]
    code, out, err = run(capsys, "hits", "make", campaign, "-o", tmp_path / "b", *options)
    assert code == 0
    notes = err.splitlines()
    assert "have the same text" in notes[0]
    assert notes[1].startswith("note: 3 controls cannot")
    assert notes[2].startswith("note: 12 comparisons per worker")
    assert "no fees" in out
    assert "at $12.00 an hour\n" in out
