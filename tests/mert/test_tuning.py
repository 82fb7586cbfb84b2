"""Tuning from Python: the same results as the command, written, shown, and refused with one line."""

import json

import numpy as np
import pytest
import toy
from commands import run
from loop_world import make_campaign

import mert
from mert.campaign import decode_campaign
from mert.decoder import ReplayDecoder
from mert.loop import Stopping, TuningProgress
from mert.weights import read_weights
from rypt.campaign.folder import Campaign
from rypt.metrics.bleu import Bleu
from rypt.text import RyptError
from rypt.texts.lists import read_references

QUICK = mert.SearchSettings(restarts=2, aim="list")


@pytest.fixture
def folder(tmp_path):
    """References, weights and a list of the toy decoder."""
    made = toy.write_set(tmp_path / "set")
    toy.decode(1, made / "weights", made / "list")
    return made


def by_command(capsys, *arguments):
    code, out, err = run(capsys, "tune", *arguments, "--json", "-q")
    assert (code, err) == (0, "")
    return json.loads(out)


def without_seconds(summary):
    plain = json.loads(json.dumps(summary))
    del plain["seconds"]
    for iteration in plain.get("iterations", ()):
        del iteration["seconds"]
    return plain


def test_public_names():
    assert set(mert.__all__) == set(dir(mert))
    for name in mert.__all__:
        assert getattr(mert, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'tuna'"):
        _ = mert.tuna


def test_many_weights_have_more_restarts_and_the_signature_says_so(tmp_path):
    rng = np.random.default_rng(1)
    lines = [
        f"{segment} ||| {text} ||| F= {' '.join(f'{value:.3f}' for value in rng.normal(size=20))} ||| 0"
        for segment in range(2)
        for text in ("a b c d", "a b c e", "a b f g")
    ]
    (tmp_path / "list").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "ref").write_text("a b c d\na b c e\n", encoding="utf-8")
    search = mert.SearchSettings(aim="list")
    result = mert.tune([tmp_path / "list"], references=[tmp_path / "ref"], search=search)
    assert "|aim:list|restarts:100|" in result.signature
    assert len(result.ends) == 101


@pytest.mark.slow
def test_lists_as_the_command_tunes_them(capsys, folder, tmp_path):
    limits = mert.Constraints(fixed=("WordPenalty0",), bounds={"LM0": (-1, 2)}, ranges={"TM0": (0, 1)})
    result = mert.tune(
        [folder / "list"],
        metric="0.5*bleu+0.5*chrf",
        references=[folder / "ref"],
        weights=folder / "weights",
        search=mert.SearchSettings(restarts=2, seed=5, replicates=2),
        constraints=limits,
    )
    theirs = by_command(
        capsys,
        folder / "list",
        "--metric",
        "0.5*bleu+0.5*chrf",
        "--references",
        folder / "ref",
        "--weights",
        folder / "weights",
        "--restarts",
        2,
        "--seed",
        5,
        "--replicates",
        2,
        "--fix",
        "WordPenalty0",
        "--bound",
        "LM0=-1..2",
        "--range",
        "TM0=0..1",
        "-o",
        tmp_path / "theirs",
    )
    assert without_seconds(result.summary()) == without_seconds(theirs)
    assert result.weights["WordPenalty0"] == 0.1
    assert "|fix:WordPenalty0|bound:LM0=-1..2|range:TM0_0=0..1,TM0_1=0..1|norm:none|" in result.signature
    result.write(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    assert read_weights(tmp_path / "ours").values == result.weights


def test_metrics_references_and_weights_may_be_objects(folder):
    files = {"references": [folder / "ref"], "weights": folder / "weights", "search": QUICK}
    plain = mert.tune([folder / "list"], **files)
    references, start = read_references([folder / "ref"]), read_weights(folder / "weights")
    for given in (
        {"references": references, "weights": start},
        {"metric": Bleu(references), "weights": start.values},
    ):
        assert mert.tune([folder / "list"], search=QUICK, **given).weights == plain.weights


def test_a_result_shows_what_matters(folder):
    result = mert.tune(
        [folder / "list"], references=[folder / "ref"], weights=folder / "weights", search=QUICK
    )
    assert result.score > result.start_score
    shown = repr(result)
    assert shown.startswith(
        f"TuningResult({result.start_score:.4f} → {result.score:.4f}, p = {result.gain.p:.3f}, LM0 "
    )
    assert result.signature in shown
    assert "\n" not in shown


def test_progress(folder):
    notes, starts = [], []

    def climb(results, total):
        for tuned in results:
            starts.append(total)
            yield tuned

    (folder / "ref").write_text((folder / "ref").read_text() + "one more\n")
    mert.tune(
        [folder / "list"],
        references=[folder / "ref"],
        search=QUICK,
        allow_missing=True,
        progress=TuningProgress(climb=climb, note=notes.append),
    )
    assert starts == [3, 3, 3]
    assert notes == [
        f"1 of 13 segments of {folder / 'ref'} have no candidates",
        "no weights are given: starting from 1 for each of the 4 features",
    ]
    with pytest.raises(RyptError, match="have no candidates; --allow-missing tunes on the others"):
        mert.tune([folder / "list"], references=[folder / "ref"], search=QUICK)


@pytest.mark.slow
def test_a_campaign_as_the_command_tunes_it(capsys, tmp_path):
    campaign = make_campaign(tmp_path / "campaign")
    with pytest.raises(RyptError, match="expected at least one n-best list"):
        mert.tune(campaign=campaign)
    decoded = decode_campaign(campaign)
    assert (decoded.iteration, decoded.candidates, decoded.already) == (1, 30, False)
    assert str(decoded) == "30 candidates, 30 new, 30 in all"
    (tmp_path / "other").write_text("LM0= 0.5\nTM0= 0.1\nWordPenalty0= 0.2\n")
    assert decode_campaign(Campaign.open(campaign), tmp_path / "other").iteration == 2
    theirs = by_command(capsys, campaign, "--aim", "list", "--restarts", 2)
    for given in (campaign, Campaign.open(campaign)):
        result = mert.tune(campaign=given, search=QUICK)
        assert without_seconds(result.summary()) == without_seconds(theirs)
        assert result.start.path == campaign / "weights" / "2.weights"
    first = mert.tune(campaign=campaign, weights=campaign / "weights" / "1.weights", search=QUICK)
    assert first.start.path == campaign / "weights" / "1.weights"
    assert first.weights != result.weights
    assert (
        len(first.ends) == len(result.ends) - 1
    )  # the weights of iteration 1 are a start of iteration 2 too


@pytest.mark.slow
def test_lists_with_the_judgments_of_a_campaign(demo_campaign):
    weights = demo_campaign / "weights.init"
    alone = mert.tune(
        [demo_campaign / "nbest.en"], metric="rypt", campaign=demo_campaign, weights=weights, search=QUICK
    )
    assert alone.signature.startswith("RYPT|")
    assert alone.weights == mert.tune(campaign=demo_campaign, weights=weights, search=QUICK).weights


@pytest.mark.slow
def test_a_decoder_as_the_command_tunes_it(capsys, folder, tmp_path, monkeypatch):
    files = {"references": [folder / "ref"], "weights": folder / "weights", "search": QUICK}
    result = mert.tune_decoder(toy.decode, folder=tmp_path / "run", **files)
    common = [
        "--references",
        folder / "ref",
        "--weights",
        folder / "weights",
        "--aim",
        "list",
        "--restarts",
        2,
    ]
    theirs = by_command(
        capsys, "--decoder", "toy:decode", *common, "--folder", tmp_path / "theirs", "-o", tmp_path / "tuned"
    )
    assert without_seconds(result.summary()) == without_seconds(theirs)
    result.write(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "tuned").read_bytes()
    result.plot(tmp_path / "run.svg")
    assert "<svg" in (tmp_path / "run.svg").read_text()
    assert repr(result).startswith(f"DecoderTuning({result.start_score:.4f} → {result.score:.4f}, ")
    assert "stopped: no candidate is new" in repr(result)

    def unused(iteration, weights, nbest):
        raise AssertionError("decoded again")

    monkeypatch.setattr(toy, "decode", unused)  # the same run by its name: it is finished
    assert mert.tune_decoder("toy:decode", folder=tmp_path / "run", **files) == result


def test_a_replay_returns_the_last_weights(folder, tmp_path):
    files = {"references": [folder / "ref"], "weights": folder / "weights", "search": QUICK}
    replay = ReplayDecoder([folder / "list"])
    result = mert.tune_decoder(replay, folder=tmp_path / "run", stopping=Stopping(patience=2), **files)
    assert result.stopped == "there are 1 lists to replay"
    assert result.weights == result.iterations[-1].weights
    with pytest.raises(RyptError, match="holds a run with another decoder"):
        mert.tune_decoder(toy.decode, folder=tmp_path / "run", **files)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: mert.SearchSettings(restarts=-1), "restarts must be at least 0, got -1"),
        (lambda: mert.SearchSettings(threads=0), "threads must be at least 1, got 0"),
        (lambda: mert.SearchSettings("best"), "algorithm must be one of mert, pro, mira, got 'best'"),
        (lambda: Stopping(patience=0), "patience must be at least 1, got 0"),
        (lambda: Stopping(keep="first"), "keep must be one of best, last, got 'first'"),
        (mert.tune, "expected n-best lists or a campaign to tune on"),
        (lambda: mert.tune(["nowhere"], metric="bleu"), "the metric bleu needs"),
        (lambda: mert.tune(["nowhere"], metric="best"), "unknown metric 'best'"),
    ],
)
def test_mistakes_are_named(wrong, message):
    with pytest.raises(RyptError, match=message):
        wrong()


def test_a_limit_on_a_weight_that_does_not_exist(folder):
    with pytest.raises(
        RyptError, match="LM7 is not a feature; expected one of LM0, TM0_0, TM0_1, WordPenalty0"
    ):
        mert.tune(
            [folder / "list"], references=[folder / "ref"], constraints=mert.Constraints(fixed=("LM7",))
        )


def test_a_perfect_result_of_what_is_better_when_lower(tmp_path):
    """The sum -ter has 0 as its best score, so it is no reason to refuse the list."""
    (tmp_path / "list").write_text("0 ||| a red house ||| F= 0 1\n0 ||| a house ||| F= 1 0\n")
    (tmp_path / "ref").write_text("a red house\n")
    result = mert.tune([tmp_path / "list"], metric="-1*ter", references=[tmp_path / "ref"], search=QUICK)
    assert (result.score, result.start_score <= 0) == (0.0, True)
    (tmp_path / "ref").write_text("x y z\n")
    with pytest.raises(RyptError, match="no candidate is worth anything"):
        mert.tune([tmp_path / "list"], metric="bleu", references=[tmp_path / "ref"], search=QUICK)
