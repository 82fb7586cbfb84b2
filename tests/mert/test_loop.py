"""The tuning loop: it climbs, it stops, and a run that was killed anywhere comes to the same result."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import toy
from commands import run

from mert.constraints import Constraints
from mert.decoder import CommandDecoder, FunctionDecoder, ReplayDecoder
from mert.loop import LoopPlan, Stopping, TuningProgress, run_loop
from mert.search import SearchSettings
from mert.weights import read_weights
from rypt.metrics.bleu import Bleu
from rypt.metrics.metric import Resources, read_metric
from rypt.text import RyptError
from rypt.texts.lists import read_references

pytestmark = pytest.mark.slow

TOY = FunctionDecoder(toy.decode)


@pytest.fixture
def folder(tmp_path):
    return toy.write_set(tmp_path / "set")


def plan_for(folder, decoder="", **stopping):
    metric, start = Bleu(read_references([folder / "ref"])), read_weights(folder / "weights")
    return LoopPlan(
        metric, start, SearchSettings(restarts=3, aim="list"), stopping=Stopping(**stopping), decoder=decoder
    )


def tuned(folder, place, decoder=TOY, **stopping):
    return run_loop(plan_for(folder, **stopping), decoder, place)


def result_of(run):
    """What does not depend on the clock."""
    iterations = tuple(dataclasses.replace(each, seconds=0) for each in run.iterations)
    return dataclasses.replace(run, iterations=iterations)


def test_the_loop_climbs_and_stops_when_no_candidate_is_new(folder, tmp_path):
    from sacrebleu.metrics.bleu import BLEU

    shown = []
    progress = TuningProgress(iteration=lambda iteration, most: shown.append((iteration.number, most)))
    found = run_loop(plan_for(folder), TOY, tmp_path / "run", progress=progress)
    assert found.stopped == "no candidate is new"
    assert found.score > found.start_score + 10
    assert shown == [(number, 25) for number in range(1, len(found.iterations) + 1)]
    assert found.score == max(iteration.decoded for iteration in found.iterations)
    for earlier, later in zip(found.iterations, found.iterations[1:], strict=False):
        assert later.used == earlier.weights
        assert later.candidates == earlier.candidates + later.new
        assert earlier.after >= earlier.before
    last = found.iterations[-1]
    assert (last.new, last.before) == (0, last.after)
    assert last.weights == pytest.approx(last.used)  # normalized
    # the score is that of what the decoder chose
    weights = np.array([found.weights[name] for name in toy.NAMES])
    pools = [toy.pool(segment) for segment in range(toy.SEGMENTS)]
    best = [max(rows, key=lambda row: float(np.dot(row[1], weights)))[0] for _, rows in pools]
    theirs = BLEU(tokenize="none", force=True).corpus_score(best, [[reference for reference, _ in pools]])
    assert found.score == pytest.approx(theirs.score, abs=1e-9)
    found.plot(tmp_path / "run.svg")
    assert "<svg" in (tmp_path / "run.svg").read_text()


class Counting(Bleu):
    """BLEU that remembers how many candidates it counted each time."""

    def stats(self, candidates):
        self.counts.append(len(candidates))
        return super().stats(candidates)


@pytest.mark.parametrize("previous", [None, 1])
def test_each_list_is_counted_once_as_if_all_were_counted_together(folder, tmp_path, previous):
    metric = Counting(read_references([folder / "ref"]))
    metric.counts = []
    plan = dataclasses.replace(plan_for(folder, max_iterations=4), metric=metric, previous=previous)
    found = run_loop(plan, TOY, tmp_path / "run")
    assert metric.counts == [toy.SEGMENTS * toy.SIZE] * 4
    for path in (tmp_path / "run").glob("*.json"):
        path.unlink()
    (tmp_path / "run" / "run2.npz").write_bytes(b"not statistics")
    with pytest.raises(RyptError, match="expected the plan"):
        run_loop(plan, TOY, tmp_path / "run")
    metric.counts.clear()
    (tmp_path / "run" / "plan.json").write_text(json.dumps(plan.fixed_settings()))
    assert result_of(run_loop(plan, TOY, tmp_path / "run")) == result_of(found)
    assert metric.counts == [toy.SEGMENTS * toy.SIZE]  # of the list whose statistics were lost


def test_a_metric_with_data_of_its_own_counts_anew_when_a_run_is_resumed(folder, tmp_path):
    """Its data may be others by then: judgments come while a decoder works."""
    metric = Counting(read_references([folder / "ref"]))
    metric.counts = []
    members = ("maximize", "scale", "signature", "stats", "score")
    judged = SimpleNamespace(**{name: getattr(metric, name) for name in members})
    for iterations, counts in ((2, 2), (3, 2 + 3)):
        stopping = Stopping(max_iterations=iterations)
        run_loop(
            dataclasses.replace(plan_for(folder), metric=judged, stopping=stopping), TOY, tmp_path / "run"
        )
        assert len(metric.counts) == counts


def test_a_candidate_of_two_lists_counts_once(folder, tmp_path):
    """Candidates move between segments' places, and come twice in a list: each has its own statistics."""
    references = [toy.pool(segment)[0] for segment in range(2)]
    line = "{} ||| {} ||| LM0= {} TM0= 0 0 WordPenalty0= 0 ||| 0\n"
    lists = [
        line.format(1, "x y", 1) + line.format(0, "a", 1) * 2 + line.format(1, references[1], 0),
        line.format(1, references[1], 0) + line.format(0, references[0], 0) + line.format(0, "a", 1),
    ]
    decoder = FunctionDecoder(lambda iteration, weights, nbest: nbest.write_text(lists[iteration - 1]))
    found = tuned(folder, tmp_path / "run", decoder, max_iterations=2, keep="last")
    assert [(each.candidates, each.new) for each in found.iterations] == [(3, 3), (4, 1)]
    assert found.iterations[1].after == pytest.approx(100)


def test_patience_asks_whether_decoding_gets_better(folder, tmp_path):
    def growing(iteration, weights, nbest):
        toy.decode(iteration, weights, nbest)
        with open(nbest, "a") as stream:
            stream.write(f"0 ||| nothing at all {iteration} ||| LM0= -9 TM0= -9 -9 WordPenalty0= 0 ||| -9\n")

    plan = plan_for(folder, patience=2)
    held = dataclasses.replace(plan, constraints=Constraints(fixed=toy.NAMES))
    found = run_loop(held, FunctionDecoder(growing), tmp_path / "run")
    assert found.stopped == "no significant gain in 2 iterations"
    assert [each.p for each in found.iterations] == [1, 1, 1]
    free = run_loop(plan, FunctionDecoder(growing), tmp_path / "free")
    gains = [each.p <= 0.05 for each in free.iterations]
    assert gains[:2] == [False, True]
    assert (free.stopped, gains[-2:]) == (found.stopped, [False, False])


def test_a_finished_run_is_not_done_again_and_a_replay_gives_the_same(folder, tmp_path):
    first = tuned(folder, tmp_path / "run")

    def refuse(iteration, weights, nbest):
        raise AssertionError("decoded again")

    assert tuned(folder, tmp_path / "run", FunctionDecoder(refuse)) == first
    lists = [tmp_path / "run" / f"run{n}.nbest.gz" for n in range(1, len(first.iterations) + 1)]
    assert result_of(tuned(folder, tmp_path / "replay", ReplayDecoder(lists))) == result_of(first)
    short = tuned(folder, tmp_path / "short", ReplayDecoder(lists[:1]), keep="last")
    assert short.stopped == "there are 1 lists to replay"
    assert (short.weights, short.score) == (short.iterations[0].weights, short.iterations[0].after)
    assert "not decoded with yet" in short.note


def killed(folder, place, *, at):
    """A process of its own that is killed as soon as a file of this name appears in the folder."""
    code = (
        "import os, signal, sys; sys.path[:0] = sys.argv[1:3]\n"
        "import toy; from pathlib import Path; import test_loop\n"
        "replace = os.replace\n"
        "def watched(source, target):\n"
        "    replace(source, target)\n"
        "    if os.path.basename(target) == sys.argv[5]: os.kill(os.getpid(), signal.SIGKILL)\n"
        "os.replace = watched\n"
        "test_loop.tuned(Path(sys.argv[3]), Path(sys.argv[4]))\n"
    )
    here = os.path.dirname(__file__)
    paths = [here, os.path.join(here, "..", "rypt"), folder, place, at]
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, paths)], capture_output=True, timeout=300, check=False
    )


@pytest.mark.parametrize("step", ["plan.json", "run2.weights", "run2.nbest.gz", "run2.npz", "run1.json"])
def test_a_run_that_is_killed_after_any_step_comes_to_the_same_result(folder, tmp_path, step):
    done = killed(folder, tmp_path / "run", at=step)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (tmp_path / "run" / step).exists()
    assert result_of(tuned(folder, tmp_path / "run")) == result_of(tuned(folder, tmp_path / "whole"))


@pytest.mark.parametrize("lost", ["run2.json", "run2.nbest.gz", "run2.npz", "run1.json"])
def test_what_is_missing_is_done_again_with_the_same_result(folder, tmp_path, lost):
    whole = tuned(folder, tmp_path / "run")
    number = int(lost[3])
    for path in (tmp_path / "run").iterdir():
        later = path.name.startswith("run") and int(path.name[3 : path.name.index(".")]) > number
        if later or path.name in (lost, f"run{number}.json"):
            path.unlink()
    assert result_of(tuned(folder, tmp_path / "run")) == result_of(whole)


def test_a_folder_belongs_to_one_plan_and_to_one_run_at_a_time(folder, tmp_path):
    def second(iteration, weights, nbest):
        with pytest.raises(RyptError, match="another run is at work"):
            tuned(folder, tmp_path / "run")
        toy.decode(iteration, weights, nbest)

    tuned(folder, tmp_path / "run", FunctionDecoder(second), max_iterations=1)
    (folder / "weights").write_text("LM0= 0.5\nTM0= 1.0 0.1\nWordPenalty0= 0.1\n")
    with pytest.raises(RyptError, match="holds a run with another start: give another --folder"):
        tuned(folder, tmp_path / "run")


def test_a_plan_under_which_nothing_was_decoded_is_replaced(folder, tmp_path):
    def fail(iteration, weights, nbest):
        raise ValueError("no model")

    with pytest.raises(RyptError, match="no model"):
        run_loop(plan_for(folder, decoder="a"), FunctionDecoder(fail), tmp_path / "run")
    assert run_loop(plan_for(folder, decoder="b", max_iterations=1), TOY, tmp_path / "run")
    (tmp_path / "run" / "plan.json").write_text("[]")
    with pytest.raises(RyptError, match=r"plan\.json: expected the plan"):
        run_loop(plan_for(folder, decoder="b"), TOY, tmp_path / "run")


def test_other_references_are_another_run_also_in_a_sum(folder, tmp_path):
    def mixed():
        metric = read_metric("0.5*bleu+0.5*chrf", Resources(references=read_references([folder / "ref"])))
        return dataclasses.replace(plan_for(folder, max_iterations=1), metric=metric)

    run_loop(mixed(), TOY, tmp_path / "run")
    (folder / "ref").write_text("other words\n" * toy.SEGMENTS)
    with pytest.raises(RyptError, match="holds a run with another references"):
        run_loop(mixed(), TOY, tmp_path / "run")


def command(folder, place, *, trouble=None, more=()):
    toy_command = f"{sys.executable} {toy.__file__} {{weights}} {{nbest}} {{iteration}}"
    if trouble:
        toy_command += f" '{json.dumps(trouble)}'"
    files = ["--references", folder / "ref", "--weights", folder / "weights", "--folder", place]
    return ["tune", "--decoder", toy_command, *files, "--restarts", 3, *more]


def test_a_decoder_that_takes_the_tuner_with_it(folder, tmp_path):
    code = [sys.executable, "-c", "from rypt.cli import main; main()"]
    options = {"trouble": {"2": "kill"}, "more": ["--json", "-q"]}
    arguments = [*code, *map(str, command(folder, tmp_path / "killed", **options))]
    done = [subprocess.run(arguments, capture_output=True, timeout=300, check=False) for _ in range(2)]
    assert done[0].returncode == -signal.SIGKILL
    whole = toy.write_set(tmp_path / "whole")
    (whole / "killed").touch()
    arguments = [*code, *map(str, command(folder, whole, **options))]
    resumed, other = (
        json.loads(each.stdout)
        for each in (done[1], subprocess.run(arguments, capture_output=True, timeout=300, check=False))
    )
    assert (resumed["weights"], resumed["score"]) == (other["weights"], other["score"])
    assert len(other["iterations"]) > 2


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("crash", "exit code 3 in iteration 2; it said: loading the model | segmentation fault"),
        ("half", "run2.nbest:120: the list breaks off in the middle of a line"),
        ("empty", "run2.nbest: the decoder wrote no candidates"),
        ("nothing", "run2.nbest: the decoder wrote no candidates"),
        ("garbage", "run2.nbest:121: expected a finite number, found 'many'"),
    ],
)
def test_trouble_with_the_decoder_is_one_line(capsys, folder, tmp_path, trouble, message):
    output, place = tmp_path / "tuned", tmp_path / "run"
    code, out, err = run(capsys, *command(folder, place, trouble={"2": trouble}, more=["-q", "-o", output]))
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
    assert not output.exists()
    assert (place / "run1.json").exists()


def test_a_decoder_that_was_mended_goes_on(folder, tmp_path):
    """A list that cannot be read, or does not fit, is not kept."""

    def wrong(change):
        def decode(iteration, weights, nbest):
            toy.decode(iteration, weights, nbest)
            if iteration == 2:
                nbest.write_bytes(change(nbest.read_bytes()))

        return FunctionDecoder(decode)

    for change, message in (
        (lambda whole: whole.replace(b"LM0= ", b"LM0= nan ", 1), "expected a finite number, found 'nan'"),
        (lambda whole: whole.replace(b"LM0=", b"LM1="), "a weight of LM0, which is not a feature"),
        (lambda whole: whole + b"99" + whole[1 : whole.index(b"\n") + 1], "segment 99: expected one of"),
        (lambda whole: whole[: whole.index(b"\n11 ") + 1], "1 are missing: 11"),
        (lambda whole: b"\xff" + whole, r"run2\.nbest:1: expected UTF-8"),
    ):
        with pytest.raises(RyptError, match=message):
            tuned(folder, tmp_path / "run", wrong(change))
    with pytest.raises(RyptError, match="the decoder wrote no candidates; it said: the model is missing"):
        tuned(folder, tmp_path / "run", CommandDecoder("echo the model is missing; : {weights} > {nbest}"))
    assert not list((tmp_path / "run").glob("run2.nbest*"))
    assert result_of(tuned(folder, tmp_path / "run")) == result_of(tuned(folder, tmp_path / "other"))


def test_the_command_line_tells_plots_and_writes(capsys, folder, tmp_path):
    more = ["-o", tmp_path / "tuned", "--plot", tmp_path / "run.svg", "--threads", "2"]
    code, out, err = run(capsys, *command(folder, tmp_path / "run", more=more))
    assert code == 0, err
    assert "iteration 1: decoded" in err
    assert out.startswith("iteration    decoded")
    assert "stopped: no candidate is new" in out
    assert (tmp_path / "tuned").read_text().startswith("LM0= ")
    assert "<svg" in (tmp_path / "run.svg").read_text()


def test_other_lists_are_another_replay(capsys, folder, tmp_path):
    toy.decode(1, folder / "weights", tmp_path / "a")
    (tmp_path / "b").write_text((tmp_path / "a").read_text().replace("LM0= ", "LM0= 1"))
    files = ["--references", folder / "ref", "--weights", folder / "weights", "--folder", tmp_path / "r"]
    code, out, _ = run(capsys, "tune", "--replay", tmp_path / "a", *files, "--restarts", 1, "--json")
    result = json.loads(out)
    assert code == 0
    assert result["score"] == result["iterations"][0]["after"] > result["start_score"]
    code, _, err = run(capsys, "tune", "--replay", tmp_path / "b", *files, "--restarts", 1)
    assert (code, "holds a run with another decoder" in err) == (1, True)


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

    found = tuned(folder, tmp_path / "run", FunctionDecoder(decode), max_iterations=2, keep="last")
    assert found.stopped == "2 iterations are done"
    assert found.iterations[0].decoded == pytest.approx(100)
    assert set(found.iterations[0].used) == {"lm"}
    assert set(found.iterations[1].weights) == {"lm", "late"}
