"""The tuning loop: it climbs, it stops, and a run that was killed comes to the same result."""

import dataclasses
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import toy
from commands import run

from mert.decoder import CommandDecoder, FunctionDecoder, ReplayDecoder
from mert.run import LoopPlan, Stopping, TuningProgress
from mert.run import run_loop as tune
from mert.search import SearchSettings
from mert.weights import read_weights
from rypt.metrics.bleu import Bleu
from rypt.metrics.metric import Resources, read_metric
from rypt.text import RyptError
from rypt.texts.references import read_references


@pytest.fixture
def folder(tmp_path):
    return toy.write_set(tmp_path / "set")


def plan_for(folder, decoder="", **stopping):
    metric, start = Bleu(read_references([folder / "ref"])), read_weights(folder / "weights")
    return LoopPlan(
        metric, start, SearchSettings(restarts=3, aim="list"), stopping=Stopping(**stopping), decoder=decoder
    )


def test_the_loop_climbs_and_stops_when_no_candidate_is_new(folder, tmp_path):
    shown = []
    progress = TuningProgress(iteration=lambda iteration, most: shown.append((iteration.number, most)))
    run = tune(plan_for(folder), FunctionDecoder(toy.decode), tmp_path / "run", progress=progress)
    assert run.stopped == "no candidate is new"
    assert run.score > run.start_score + 10
    assert [iteration.number for iteration in run.iterations] == [number for number, _ in shown]
    assert shown == [(number, 25) for number in range(1, len(shown) + 1)]
    assert run.iterations[-1].new == 0
    assert run.score == max(iteration.decoded for iteration in run.iterations)
    for earlier, later in zip(run.iterations, run.iterations[1:], strict=False):
        assert later.used == earlier.weights
        assert later.candidates == earlier.candidates + later.new
        assert earlier.after >= earlier.before
    kept = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"run1.weights", "run1.nbest.gz", "run1.json", "plan.json"} <= kept


def test_the_score_is_that_of_what_the_decoder_chose(folder, tmp_path):
    from sacrebleu.metrics.bleu import BLEU

    run = tune(plan_for(folder), FunctionDecoder(toy.decode), tmp_path / "run")
    weights = np.array([run.weights[name] for name in toy.NAMES])
    best = [
        max(toy.pool(s)[1], key=lambda row: float(np.dot(row[1], weights)))[0] for s in range(toy.SEGMENTS)
    ]
    references = [toy.pool(s)[0] for s in range(toy.SEGMENTS)]
    theirs = BLEU(tokenize="none", force=True).corpus_score(best, [references]).score
    assert run.score == pytest.approx(theirs, abs=1e-9)


def test_max_iterations_and_the_last_weights(folder, tmp_path):
    run = tune(plan_for(folder, max_iterations=1, keep="last"), FunctionDecoder(toy.decode), tmp_path / "run")
    assert run.stopped == "1 iterations are done"
    assert "not decoded with yet" in run.note
    assert run.weights == run.iterations[0].weights
    assert run.score == run.iterations[0].after


def test_patience(folder, tmp_path):
    """Lists that bring new candidates for ever, but no gain."""

    def growing(iteration, weights, nbest):
        toy.decode(iteration, folder / "weights", nbest)
        with open(nbest, "a") as stream:
            stream.write(f"0 ||| nothing at all {iteration} ||| LM0= -9 TM0= -9 -9 WordPenalty0= 0 ||| -9\n")

    run = tune(plan_for(folder, patience=2), FunctionDecoder(growing), tmp_path / "run")
    assert run.stopped == "no significant gain in 2 iterations"
    assert len(run.iterations) == 3


def test_a_replay_gives_the_same_run(folder, tmp_path):
    first = tune(plan_for(folder), FunctionDecoder(toy.decode), tmp_path / "run")
    lists = [tmp_path / "run" / f"run{n}.nbest.gz" for n in range(1, len(first.iterations) + 1)]
    again = tune(plan_for(folder), ReplayDecoder(lists), tmp_path / "replay")
    assert (again.weights, again.score) == (first.weights, first.score)
    short = tune(plan_for(folder), ReplayDecoder(lists[:1]), tmp_path / "short")
    assert short.stopped == "there are 1 lists to replay"


@pytest.mark.parametrize("lost", ["run2.json", "run2.nbest.gz", "run1.json"])
def test_what_is_missing_is_done_again_with_the_same_result(folder, tmp_path, lost):
    whole = tune(plan_for(folder), FunctionDecoder(toy.decode), tmp_path / "run")
    number = int(lost[3])
    for path in (tmp_path / "run").iterdir():
        later = path.name.startswith("run") and int(path.name[3 : path.name.index(".")]) > number
        if later or path.name in (lost, f"run{number}.json"):
            path.unlink()
    again = tune(plan_for(folder), FunctionDecoder(toy.decode), tmp_path / "run")
    assert (again.weights, again.score, again.stopped) == (whole.weights, whole.score, whole.stopped)


def test_a_finished_run_is_not_done_again(folder, tmp_path):
    run = tune(plan_for(folder), FunctionDecoder(toy.decode), tmp_path / "run")

    def refuse(iteration, weights, nbest):
        raise AssertionError("decoded again")

    assert tune(plan_for(folder), FunctionDecoder(refuse), tmp_path / "run") == run


def test_a_folder_belongs_to_one_plan(folder, tmp_path):
    tune(plan_for(folder, max_iterations=1), FunctionDecoder(toy.decode), tmp_path / "run")
    (folder / "weights").write_text("LM0= 0.5\nTM0= 1.0 0.1\nWordPenalty0= 0.1\n")
    with pytest.raises(RyptError, match="holds a run with another start: give another --folder"):
        tune(plan_for(folder), FunctionDecoder(toy.decode), tmp_path / "run")


def test_two_runs_keep_out_of_each_other_s_way(folder, tmp_path):
    def second(iteration, weights, nbest):
        with pytest.raises(RyptError, match="another run is at work"):
            tune(plan_for(folder), FunctionDecoder(toy.decode), tmp_path / "run")
        toy.decode(iteration, weights, nbest)

    tune(plan_for(folder, max_iterations=1), FunctionDecoder(second), tmp_path / "run")


def command(folder, place, *, trouble=None, timeout=None, more=()):
    toy_command = f"{sys.executable} {toy.__file__} {{weights}} {{nbest}} {{iteration}}"
    if trouble:
        toy_command += f" '{json.dumps(trouble)}'"
    limit = ["--timeout", str(timeout)] if timeout else []
    code = "from rypt.cli import main; main()"
    return [
        sys.executable,
        "-c",
        code,
        "tune",
        "--decoder",
        toy_command,
        "--references",
        str(folder / "ref"),
        "--weights",
        str(folder / "weights"),
        "--folder",
        str(place),
        "--restarts",
        "3",
        *limit,
        *more,
    ]


def run_command(arguments, **options):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False, **options)


def test_a_run_that_is_killed_goes_on_to_the_same_result(folder, tmp_path):
    arguments = command(folder, tmp_path / "killed", trouble={"2": "kill"}, more=["--json", "-q"])
    assert run_command(arguments).returncode == -signal.SIGKILL
    assert (tmp_path / "killed" / "run1.json").exists()
    assert not (tmp_path / "killed" / "run2.json").exists()
    resumed = json.loads(run_command(arguments).stdout)
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "killed").touch()
    whole = json.loads(run_command([a.replace("/killed", "/whole") for a in arguments]).stdout)
    assert (resumed["weights"], resumed["score"]) == (whole["weights"], whole["score"])
    assert len(whole["iterations"]) > 2


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        (
            "crash",
            "the decoder failed with exit code 3 in iteration 2; it said: loading the model | segmentation fault",
        ),
        ("hang", "the decoder did not finish in 3 seconds in iteration 2; it said nothing"),
        (
            "half",
            "run2.nbest:120: the list breaks off in the middle of a line: the decoder did not finish it",
        ),
        ("empty", "run2.nbest: the decoder wrote no candidates"),
        ("nothing", "run2.nbest: the decoder wrote no candidates"),
        ("garbage", "run2.nbest:121: expected a finite number, found 'many'"),
    ],
)
def test_trouble_with_the_decoder_is_told(capsys, folder, tmp_path, trouble, message):
    output, place = tmp_path / "tuned", tmp_path / "run"
    arguments = command(folder, place, trouble={"2": trouble}, timeout=3, more=["-q", "-o", str(output)])
    code, out, err = run(capsys, *arguments[3:])
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
    assert not output.exists()
    assert (place / "run1.json").exists()


def test_the_command_line_tells_plots_and_writes(capsys, folder, tmp_path):
    more = ["-o", tmp_path / "tuned", "--plot", tmp_path / "run.svg", "--threads", "2"]
    code, out, err = run(capsys, *command(folder, tmp_path / "run", more=more)[3:])
    assert code == 0, err
    assert "iteration 1: decoded" in err
    assert "s left" in err
    assert out.startswith("iteration    decoded")
    assert "stopped: no candidate is new" in out
    assert (tmp_path / "tuned").read_text().startswith("LM0= ")
    assert "<svg" in (tmp_path / "run.svg").read_text()


def test_a_list_that_cannot_be_kept_is_told(folder, tmp_path):
    def cut(iteration, weights, nbest):
        Path(nbest).write_bytes(b"0 ||| a\xff ||| LM0= 1\n")

    with pytest.raises(RyptError, match=r"run1\.nbest:1: expected UTF-8, found byte 0xff"):
        tune(plan_for(folder), FunctionDecoder(cut), tmp_path / "run")


def test_held_sparse_features_and_features_that_come_late(folder, tmp_path):
    """A sparse weight decides what was decoded; a glued feature that only a later list has starts from its weight."""
    (folder / "weights").write_text("lm 1.0\nWT_a~b 5.0\nlate 0.25\n")
    lists = [
        "0 ||| x y ||| lm=2 ||| 0\n0 ||| {0} ||| lm=1 WT_a~b= 1 ||| 0\n1 ||| {1} ||| lm=3 ||| 0\n",
        "0 ||| x y ||| lm=2 late=1 ||| 0\n0 ||| y ||| lm=1 late=2 ||| 0\n1 ||| z ||| lm=1 ||| 0\n",
    ]
    references = [toy.pool(segment)[0] for segment in range(2)]

    def decode(iteration, weights, nbest):
        nbest.write_text(lists[iteration - 1].format(*references))

    run = tune(plan_for(folder, max_iterations=2, keep="last"), FunctionDecoder(decode), tmp_path / "run")
    assert run.iterations[0].decoded == pytest.approx(100)
    assert set(run.iterations[0].used) == {"lm"}
    assert set(run.iterations[1].weights) == {"lm", "late"}


def test_a_decoder_that_was_mended_goes_on(folder, tmp_path):
    """A list that cannot be read, or does not fit, is not kept."""

    def wrong(text):
        def decode(iteration, weights, nbest):
            toy.decode(iteration, weights, nbest)
            if iteration == 2:
                nbest.write_text(text(nbest.read_text()))

        return decode

    for text, message in (
        (lambda whole: whole.replace("LM0= ", "LM0= nan ", 1), "expected a finite number, found 'nan'"),
        (lambda whole: whole.replace("LM0=", "LM1="), "a weight of LM0, which is not a feature"),
        (
            lambda whole: whole + whole.splitlines()[0].replace("0 |||", "99 |||", 1) + "\n",
            "segment 99: expected one of",
        ),
        (
            lambda whole: "".join(line + "\n" for line in whole.splitlines() if line[:2] != "3 "),
            "1 are missing: 3",
        ),
    ):
        with pytest.raises(RyptError, match=message):
            tune(plan_for(folder), FunctionDecoder(wrong(text)), tmp_path / "run")
    mended = tune(plan_for(folder), FunctionDecoder(toy.decode), tmp_path / "run")
    assert mended == dataclasses.replace(
        tune(plan_for(folder), FunctionDecoder(toy.decode), tmp_path / "other"), iterations=mended.iterations
    )


def test_a_plan_under_which_nothing_was_decoded_is_replaced(folder, tmp_path):
    def fail(iteration, weights, nbest):
        raise ValueError("no model")

    with pytest.raises(RyptError, match="no model"):
        tune(plan_for(folder, decoder="a"), FunctionDecoder(fail), tmp_path / "run")
    assert tune(
        plan_for(folder, decoder="b", max_iterations=1), FunctionDecoder(toy.decode), tmp_path / "run"
    )
    (tmp_path / "run" / "plan.json").write_text("[]")
    with pytest.raises(RyptError, match=r"plan\.json: expected the plan"):
        tune(plan_for(folder, decoder="b"), FunctionDecoder(toy.decode), tmp_path / "run")


def test_other_lists_are_another_replay(capsys, folder, tmp_path):
    toy.decode(1, folder / "weights", tmp_path / "a")
    (tmp_path / "b").write_text((tmp_path / "a").read_text().replace("LM0= ", "LM0= 1"))
    common = [
        "--references",
        folder / "ref",
        "--weights",
        folder / "weights",
        "--restarts",
        1,
        "--folder",
        tmp_path / "r",
    ]
    code, out, _ = run(capsys, "tune", "--replay", tmp_path / "a", *common, "--json")
    result = json.loads(out)
    assert code == 0
    assert result["score"] == result["iterations"][0]["after"] > result["start_score"]
    code, _, err = run(capsys, "tune", "--replay", tmp_path / "b", *common)
    assert code == 1
    assert "holds a run with another decoder" in err


def test_an_empty_list_comes_with_the_decoder_s_last_words(folder, tmp_path):
    decoder = CommandDecoder("echo the model is missing >&2; : {weights}; : > {nbest}")
    with pytest.raises(RyptError, match="the decoder wrote no candidates; it said: the model is missing"):
        tune(plan_for(folder), decoder, tmp_path / "run")


def test_a_sum_of_metrics_knows_its_references(folder, tmp_path):
    def mixed():
        metric = read_metric("0.5*bleu+0.5*chrf", Resources(references=read_references([folder / "ref"])))
        return dataclasses.replace(plan_for(folder, max_iterations=1), metric=metric)

    tune(mixed(), FunctionDecoder(toy.decode), tmp_path / "run")
    (folder / "ref").write_text("other words\n" * toy.SEGMENTS)
    with pytest.raises(RyptError, match="holds a run with another references"):
        tune(mixed(), FunctionDecoder(toy.decode), tmp_path / "run")
