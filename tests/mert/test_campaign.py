"""``rypt loop --once`` and ``rypt tune`` of a campaign, and a decoder given to ``rypt init``."""

import gzip
import json
import os
import sys

import loop_decoder
import pytest
from commands import run
from loop_world import HERE, make_campaign

from mert.campaign import campaign_folder, start_weights
from mert.weights import read_weights
from rypt.campaign.folder import Campaign

OTHER = "LM0= 0.5\nTM0= 0.1\nWordPenalty0= 0.2\n"


def decoded(capsys, campaign, *options):
    code, out, err = run(capsys, "loop", campaign, "--once", "--json", "-q", *options)
    assert (code, err) == (0, "")
    return json.loads(out)


def test_lists_are_added_to_the_campaign(capsys, tmp_path):
    campaign = make_campaign(tmp_path / "campaign")
    first = decoded(capsys, campaign)
    expected = {
        "iteration": 1,
        "list": "lists/1.nbest.gz",
        "weights": "weights/1.weights",
        "candidates": 30,
        "new": 30,
        "all_candidates": 30,
        "already": False,
    }
    assert first == expected
    assert (campaign / "weights" / "1.weights").read_text() == loop_decoder.START
    (tmp_path / "other").write_text(OTHER)
    second = decoded(capsys, campaign, "--weights", tmp_path / "other")
    assert (second["iteration"], second["already"]) == (2, False)
    assert Campaign.open(campaign).files.nbest == ["lists/1.nbest.gz", "lists/2.nbest.gz"]
    texts = [{c.text for c in candidates} for _, candidates in Campaign.open(campaign).lists]
    assert second["new"] == len(texts[1] - texts[0]) > 0
    assert second["all_candidates"] == len(texts[0] | texts[1]) == len(Campaign.open(campaign).candidates)
    # what was used for decoding before is not decoded with again
    before = {path: path.read_bytes() for path in campaign.rglob("*") if path.is_file()}
    for options in ([], ["--weights", tmp_path / "other"]):
        assert decoded(capsys, campaign, *options) == {**second, "already": True}
    assert {path: path.read_bytes() for path in campaign.rglob("*") if path.is_file()} == before
    _, out, err = run(capsys, "loop", campaign, "--once")
    assert (
        out
        == f"{campaign}/lists/2.nbest.gz: 30 candidates, {second['new']} new, {second['all_candidates']} in all\n"
    )
    assert err == "weights/2.weights was used for decoding before\n"


@pytest.mark.slow
def test_a_command_runs_in_the_folder_it_was_given_in(capsys, tmp_path, monkeypatch):
    script = "import sys, loop_decoder as d; d.decode(1, *sys.argv[1:3])"
    (tmp_path / "here").mkdir()
    program = f"import sys; sys.path.insert(0, {str(HERE)!r}); {script}; print('hi')"
    (tmp_path / "here" / "decode.py").write_text(program)
    texts = make_campaign(tmp_path / "texts")
    monkeypatch.chdir(tmp_path / "here")
    command = f"{sys.executable} decode.py {{weights}} {{nbest}}"
    files = ["--source", texts / "source", "--trees", texts / "trees", "--weights", texts / "start.weights"]
    code, _, err = run(capsys, "init", "../campaign", *files, "--decoder", command)
    assert (code, err.splitlines()[-1]) == (
        0,
        "next: rypt loop ../campaign, or step by step: rypt loop ../campaign --once",
    )
    settings = Campaign.open(tmp_path / "campaign").settings.decoder
    assert (settings.folder, settings.weights) == ("../here", "../texts/start.weights")
    monkeypatch.chdir(tmp_path)
    assert decoded(capsys, "campaign")["candidates"] == 30
    assert (tmp_path / "campaign" / "weights" / "1.log").read_text() == "hi\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--decoder", "moses {weights}", "--weights", "W"], "expected {nbest} in the decoder's command"),
        (
            ["--decoder", "moses {nbest}", "--weights", "W"],
            "expected {weights} or {config} in the decoder's command",
        ),
        (["--decoder", "moses {weights} {nbest}"], "a decoder needs weights to start with (--weights)"),
        (["--decoder", "moses {weights} {nbest}", "--weights", "nowhere"], "nowhere: No such file"),
        (["--decoder", "no.such:module", "--weights", "W"], "--decoder no.such:module: No module named 'no'"),
        (["--weights", "W", "--nbest", "L"], "bad.weights:2: a weight of LM1, which is not a feature"),
        ([], "expected at least one list of candidates (--nbest), or what makes them (--decoder)"),
    ],
)
def test_a_decoder_that_cannot_work_makes_no_campaign(capsys, tmp_path, monkeypatch, options, message):
    texts = make_campaign(tmp_path / "texts")
    monkeypatch.chdir(tmp_path)
    loop_decoder.decode(1, texts / "start.weights", "L")
    (tmp_path / "W").write_text(OTHER)
    (tmp_path / "bad.weights").write_text(OTHER.replace("TM0", "LM1"))
    options = ["bad.weights" if option == "W" and "--nbest" in options else option for option in options]
    code, out, err = run(
        capsys, "init", "campaign", "--source", "texts/source", "--trees", "texts/trees", "-q", *options
    )
    assert (code, out) == (1, "")
    assert message in err
    assert not (tmp_path / "campaign").exists()


def failing(tmp_path, change):
    """A campaign whose decoder spoils its list, as a command."""
    program = tmp_path / "spoil.py"
    program.write_text(
        f"import sys; sys.path.insert(0, {str(HERE)!r})\nimport loop_decoder\nfrom pathlib import Path\n"
        f"weights, nbest = sys.argv[1:]\nloop_decoder.decode(1, weights, nbest)\n"
        f"text = Path(nbest).read_text()\nprint('last words')\nPath(nbest).write_text({change})\n"
    )
    command = f"{sys.executable} {program} {{weights}} {{nbest}}"
    return make_campaign(tmp_path / "campaign", command=command)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("text[:-5]", "1.nbest:30: the list breaks off in the middle of a line"),
        ("''", "1.nbest: the decoder wrote no candidates"),
        ("''.join(text.splitlines(True)[:12])", "expected candidates for all segments, 3 have none: 3, 4, 5"),
        (
            "text.replace(' ||| 0-0 1-1 2-2 3-3 4-4 5-5', '')",
            "1.nbest:1: expected an alignment: a field after",
        ),
        ("text.replace('0-0', '9-9')", "1.nbest:1: "),
        ("text.replace('TM0', 'TM1')", "a weight of TM0, which is not a feature"),
        ("text.replace('5 |||', '6 |||')", "segment '6' is not in the source"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(capsys, tmp_path, change, message):
    campaign = failing(tmp_path, change)
    settings = (campaign / "rypt.toml").read_bytes()
    code, out, err = run(capsys, "loop", campaign, "--once")
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
    assert "it said: last words (all of it in " in err
    assert list((campaign / "lists").glob("*.gz")) == []
    assert (campaign / "rypt.toml").read_bytes() == settings


def test_a_later_list_with_other_features_is_refused(capsys, tmp_path):
    campaign = make_campaign(tmp_path / "campaign")
    decoded(capsys, campaign)
    with gzip.open(campaign / "lists" / "1.nbest.gz", "rt") as stream:
        text = stream.read().replace(" WordPenalty0=", " Other0= 1 WordPenalty0=")
    with gzip.open(campaign / "lists" / "1.nbest.gz", "wt") as stream:
        stream.write(text)
    (tmp_path / "other").write_text(OTHER)
    code, _, err = run(capsys, "loop", campaign, "--once", "--weights", tmp_path / "other")
    assert code == 1
    assert "2.nbest:1: expected the features of the first list, LM0, TM0, Other0, WordPenalty0" in err
    assert Campaign.open(campaign).files.nbest == ["lists/1.nbest.gz"]


def test_two_at_once_and_a_campaign_without_a_decoder_are_refused(capsys, tmp_path, demo_campaign):
    campaign = make_campaign(tmp_path / "campaign")
    with campaign_folder(Campaign.open(campaign)).locked():
        code, _, err = run(capsys, "loop", campaign, "--once")
    assert (code, "another run is at work in" in err) == (1, True)
    code, _, err = run(capsys, "loop", demo_campaign, "--once")
    assert (code, "rypt.toml: expected a decoder: its command in [decoder]" in err) == (1, True)
    assert not (demo_campaign / "lists").exists()


def test_weights_go_by_their_number(tmp_path):
    campaign = Campaign.open(make_campaign(tmp_path / "campaign"))
    assert start_weights(campaign) == (campaign.folder / "start.weights", [])
    (campaign.folder / "weights").mkdir()
    for name in ("1.weights", "2.weights", "10.weights", "0.weights", "x.weights", "11.log"):
        (campaign.folder / "weights" / name).write_text(OTHER)
    assert list(campaign_folder(campaign).files("weights")) == [1, 2, 10]
    last, earlier = start_weights(campaign)
    assert (last.name, [path.name for path in earlier]) == ("10.weights", ["1.weights", "2.weights"])
    second = os.path.relpath(campaign.folder / "weights" / "2.weights")
    before = start_weights(campaign, second)[1]
    assert [path.name for path in before] == ["1.weights"]
    assert start_weights(campaign, tmp_path / "other") == (tmp_path / "other", [])


def tuned(capsys, *arguments):
    code, out, err = run(capsys, "tune", *arguments, "--restarts", "1", "--json", "-q")
    assert (code, err) == (0, "")
    found = json.loads(out)
    del found["seconds"]
    return found


@pytest.mark.slow
def test_tuning_a_campaign_is_tuning_its_lists(capsys, demo_campaign):
    campaign, weights = demo_campaign, ["--weights", demo_campaign / "weights.init"]
    lists = [campaign / "nbest.en", *weights]
    assert tuned(capsys, campaign, *weights) == tuned(
        capsys, *lists, "--metric", "rypt", "--campaign", campaign
    )
    own = tuned(capsys, campaign, *weights, "--metric", "bleu")
    assert own == tuned(capsys, *lists, "--references", campaign / "reference.en")
    code, _, err = run(capsys, "tune", campaign, "--campaign", campaign)
    assert (code, "here LISTS is a campaign itself" in err) == (2, True)


@pytest.mark.slow
def test_tuning_a_campaign_goes_on_from_its_last_weights(capsys, tmp_path):
    campaign = make_campaign(tmp_path / "campaign")
    code, _, err = run(capsys, "tune", campaign)
    assert (code, f"`rypt loop {campaign} --once` makes one" in err) == (1, True)
    decoded(capsys, campaign)
    (tmp_path / "other").write_text(OTHER)
    decoded(capsys, campaign, "--weights", tmp_path / "other")
    plain = tuned(capsys, campaign, "-o", tmp_path / "tuned")
    assert plain["weights"] == read_weights(tmp_path / "tuned").values
    assert tuned(capsys, campaign, "--weights", campaign / "weights" / "2.weights") == plain
    first = tuned(capsys, campaign, "--weights", campaign / "weights" / "1.weights")
    assert first["searches"] < plain["searches"]  # the weights of iteration 1 are a start of iteration 2


def test_alignments_in_files_of_their_own_serve_tuning(capsys, tmp_path):
    texts = make_campaign(tmp_path / "texts")
    loop_decoder.decode(1, texts / "start.weights", tmp_path / "list")
    lines = (tmp_path / "list").read_text().splitlines()
    (tmp_path / "bare").write_text("".join(line.rpartition(" ||| ")[0] + "\n" for line in lines))
    (tmp_path / "links").write_text("".join(line.rpartition(" ||| ")[2] + "\n" for line in lines))
    files = ["--source", texts / "source", "--trees", texts / "trees", "--weights", texts / "start.weights"]
    scores = []
    for name, more in (("list", []), ("bare", ["--alignments", tmp_path / "links"])):
        made = run(capsys, "init", tmp_path / f"of {name}", *files, "--nbest", tmp_path / name, *more)
        assert made[0] == 0, made[2]
        scores.append(tuned(capsys, tmp_path / f"of {name}")["score"])
    assert scores[0] == scores[1]
