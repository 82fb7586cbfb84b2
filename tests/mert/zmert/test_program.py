"""Z-MERT's configuration, run from its first line to the files it leaves."""

import gzip
import json
import random

import numpy as np
import pytest
import zmert_set
from commands import run as run_command
from zmert_set import ask, best_of, bleu_of, go, write_config

from mert.loop import TuningProgress, run_loop
from mert.weights import read_weights
from rypt.text import InputError, RyptError


@pytest.fixture
def folder(tmp_path):
    return zmert_set.write_set(tmp_path / "set")


def names_in(folder):
    return {path.name for path in folder.iterdir()}


@pytest.mark.slow
def test_a_run_with_a_decoder(folder):
    asked, run = go(write_config(folder, "-cmd decoder.py\n-fin final.txt"))
    assert run.score > run.start_score + 10
    assert run.stopped in ("no candidate is new", "no weight changed")
    last = run.iterations[-1]
    assert run.weights == last.weights
    lines = [f"{name} ||| {value!r}\n" for name, value in run.weights.items()]
    assert (folder / "final.txt").read_bytes() == "".join(lines).encode()
    assert list(run.weights) == list(zmert_set.NAMES)
    assert (folder / "dec_cfg.txt").read_text() == zmert_set.TEMPLATE
    lm, tm, wp = map(repr, run.weights.values())
    final = f"# of the decoder\nlm score {lm}\nthreads 4\ntmx 5\ntm {tm}\nwp {wp}\n"
    assert (folder / "dec_cfg.txt.ZMERT.final").read_text() == final
    assert (folder / "dec_cfg.txt.ZMERT.it1").read_text().endswith("tm 1.0\nwp 0.2\n")
    saved = {
        f"{stem}.ZMERT.it{n}" for stem in ("dec_cfg.txt", "output.nbest") for n in range(1, last.number + 1)
    }
    assert saved <= names_in(folder)
    assert not {"output.nbest", "dec_cfg.txt.ZMERT.orig", asked.folder.name} & names_in(folder)
    assert (folder / "config.txt.run.finished" / "run1.json").exists()
    first = (folder / "output.nbest.ZMERT.it1").read_text().splitlines()
    texts = zmert_set.best_of(first, {"lm score": 0.5, "tm": 1.0, "wp": 0.2})
    assert run.start_score == pytest.approx(bleu_of(texts, folder), abs=1e-9)


def test_a_finished_run_is_repeated_and_an_old_list_is_no_new_one(folder, monkeypatch):
    """A run with settings of its own: no copies, the number of the iteration, another exit code of success."""
    monkeypatch.setenv("EXIT_CODE", "7")
    path = write_config(folder, "-cmd decoder.py\n-maxIt 2\n-save 0\n-passIt 1\n-decExit 7")
    assert go(path)[1].weights == go(path)[1].weights
    assert (folder / "calls").read_text() == "1\n2\n" * 2
    assert not [name for name in names_in(folder) if ".ZMERT.it" in name]
    monkeypatch.setenv("EXIT_CODE", "0")
    with pytest.raises(RyptError, match=r"iteration 1; it said: exit code 0, expected 7 \(-decExit\)"):
        go(path)
    (folder / "run.sh").write_text(f"{folder / 'decoder.py'} from-shell\n")  # no program
    go(write_config(folder, "-cmd run.sh\n-maxIt 1"))
    assert (folder / "calls").read_text().endswith("from-shell\n")
    (folder / "run.sh").write_text("true\n")
    (folder / "output.nbest").write_text("0 ||| old ||| 1 2 3\n")
    with pytest.raises(InputError, match=r"output\.nbest: the decoder wrote no such list in iteration 1"):
        go(write_config(folder, "-cmd run.sh"))


def saved_lists(folder, count=3):
    """Lists of an earlier run."""
    go(write_config(folder, f"-cmd decoder.py\n-maxIt {count}"))
    (folder / "calls").unlink()
    return [folder / f"output.nbest.ZMERT.it{n}" for n in range(1, count + 1)]


@pytest.mark.slow
def test_ready_lists_take_the_place_of_the_decoder(folder):
    lists = saved_lists(folder)
    _, prefixed = go(write_config(folder, "-fake output.nbest.ZMERT.it"))
    assert prefixed.stopped == "there are 3 lists to replay"
    for n, path in enumerate(lists, start=1):
        (folder / f"old{n}.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert go(write_config(folder, "-fake old?.gz"))[1].weights == prefixed.weights
    assert not (folder / "calls").exists()
    lists[1].unlink()
    _, mixed = go(write_config(folder, "-fake output.nbest.ZMERT.it\n-cmd decoder.py\n-save 0\n-maxIt 3"))
    assert len(mixed.iterations) == 3
    assert (folder / "calls").read_text() == "\n"  # only for the list that is not there


@pytest.mark.slow
@pytest.mark.parametrize(("previous", "firsts"), [(0, [1, 2, 3]), (1, [1, 1, 2]), (2, [1, 1, 1])])
def test_previous_lists(folder, previous, firsts):
    lists = [path.read_text().splitlines() for path in saved_lists(folder)]
    _, run = go(write_config(folder, f"-fake output.nbest.ZMERT.it\n-prevIt {previous}"))
    for n, (iteration, first) in enumerate(zip(run.iterations, firsts, strict=True), start=1):
        merged = {line for lines in lists[first - 1 : n] for line in lines}
        before = {line for lines in lists[first - 1 : n - 1] for line in lines}
        assert (iteration.candidates, iteration.new) == (len(merged), len(merged - before))


def write_params(folder, lines, normalization):
    (folder / "params.txt").write_text("\n".join([*lines, f"normalization = {normalization}"]) + "\n")


def test_fixed_and_random_weights_bounds_and_ranges(folder):
    """Ranges are cut to the bounds, and a weight whose bounds are one value is held."""
    lines = ["lm score ||| 0.5 Opt 0.25 0.75 -3 0.5", "tm ||| 1.0 Fix 0 0 0 0", "wp ||| 0.1 Opt 0.1 0.1 0 2"]
    write_params(folder, lines, "none")
    path = write_config(folder, "-cmd decoder.py\n-rand 1")
    plan = ask(path).plan
    assert plan.constraints.ranges == {"lm score": (0.25, 0.5), "wp": (0.0, 2.0)}
    assert set(plan.constraints.fixed) == {"tm", "wp"}
    _, run = go(path)
    first = run.iterations[0].used
    assert 0.25 <= first["lm score"] <= 0.5
    assert first["lm score"] == go(path)[1].iterations[0].used["lm score"] != 0.5
    assert f"lm score {first['lm score']!r}\n" in (folder / "dec_cfg.txt.ZMERT.it1").read_text()
    for iteration in run.iterations:
        lm, tm, _ = iteration.weights.values()
        assert (0.25 <= lm <= 0.75, tm) == (True, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("normalization", "measure", "value"),
    [
        ("absval 2 lm score", lambda w: abs(w[0]), 2.0),
        ("maxabsval 3", lambda w: np.abs(w).max(), 3.0),
        ("minabsval 0.5", lambda w: np.abs(w).min(), 0.5),
        ("LNorm 1 4", lambda w: np.abs(w).sum(), 4.0),
        ("LNorm 2 1", np.linalg.norm, 1.0),
    ],
)
def test_normalization(folder, normalization, measure, value):
    write_params(folder, zmert_set.PARAMS.splitlines()[:3], normalization)
    _, run = go(write_config(folder))
    assert measure(np.array(list(run.weights.values()))) == pytest.approx(value)


def test_weights_that_normalization_takes_out_of_their_bounds_are_tuned_on(folder):
    lines = ["lm score ||| 5 Opt 5 +Inf 5 9", "tm ||| 1 Opt 1 +Inf 1 2", "wp ||| 2 Opt 2 9 2 3"]
    write_params(folder, lines, "LNorm 1 0.5")
    _, run = go(write_config(folder))
    assert len(run.iterations) > 2
    for iteration in run.iterations:
        lm, tm, wp = iteration.weights.values()
        assert lm + tm + wp == pytest.approx(0.5)
        assert max(5 / lm, 1 / tm, 2 / wp) * wp <= 9 + 1e-9  # the same proportions inside the bounds
        assert iteration.after >= iteration.before - 1e-9


@pytest.mark.slow
def test_early_stop(folder):
    _, run = go(write_config(folder, "-cmd decoder.py\n-stopSig 9\n-stopIt 2\n-minIt 3"))
    assert run.stopped == "no weight moved by more than 9 in 2 iterations"
    assert len(run.iterations) == 3
    _, run = go(write_config(folder, "-cmd decoder.py\n-maxIt 2\n-stopSig 9\n-minIt 7"))
    assert run.stopped == "2 iterations are done"


@pytest.mark.slow
def test_an_interrupted_run_goes_on(folder):
    whole, expected = go(write_config(folder, seed="time"), now=11)
    assert len(expected.iterations) > 2
    path = write_config(folder, seed="time")
    asked = ask(path, now=11)

    def interrupted(number, weights, nbest):
        if number == 2:
            (folder / "trouble").touch()
        asked.decoder(number, weights, nbest)

    with pytest.raises(RyptError, match="exit code 9 in iteration 2; it said: out of memory"):
        run_loop(asked.plan, interrupted, asked.folder)
    assert (folder / "dec_cfg.txt.ZMERT.orig").read_text() == zmert_set.TEMPLATE
    assert (folder / "dec_cfg.txt").read_text() != zmert_set.TEMPLATE
    (folder / "trouble").unlink()
    (folder / "calls").unlink()
    again, run = go(path, now=99)
    assert again.plan.search.seed == whole.plan.search.seed == 11
    assert run.weights == expected.weights
    assert len((folder / "calls").read_text()) == len(expected.iterations) - 1
    assert (folder / "dec_cfg.txt").read_text() == zmert_set.TEMPLATE


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ref", "decoder.py", "dec_cfg.txt.ZMERT.orig"])
def test_a_run_with_other_files_is_not_resumed(folder, name):
    path = write_config(folder)
    asked = ask(path)

    def stop(iteration, most):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # after the first iteration
        run_loop(asked.plan, asked.decoder, asked.folder, progress=TuningProgress(iteration=stop))
    changed = folder / name
    changed.write_text(changed.read_text().replace("the", "a") + ("# more\n" if name != "ref" else ""))
    with pytest.raises(RyptError, match=r"another (decoder|references)|remove one of the two"):
        go(path)


def test_references_in_one_file_and_in_many(folder):
    lines = (folder / "ref").read_text().splitlines()
    others = [f"x {line}" for line in lines]
    (folder / "both").write_text("".join(f"{a}\n{b}\n" for a, b in zip(lines, others, strict=True)))
    for first, name in ((0, "many"), (1, "other.")):
        for n, document in enumerate((lines, others, ["junk"] * len(lines)), start=first):
            (folder / f"{name}{n}").write_text("".join(line + "\n" for line in document))
    for name in ("both", "many", "other"):
        asked = ask(write_config(folder, r=name, rps=2))
        assert asked.plan.metric.references.documents == [lines, others]
        assert asked.decoder.rules.segments == len(lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "make"),
    [
        ("TER nocase punc 20 50", lambda m: -m("TER").score),
        (
            "TER case nopunc 20 50 /x/tercom.jar 4",
            lambda m: -m("TER", no_punct=True, case_sensitive=True).score,
        ),
        (
            "TER-BLEU nocase punc 20 50 4 closest",
            lambda m: m("BLEU", tokenize="none", force=True).score - m("TER").score,
        ),
        ("CHRF 1 6", lambda m: m("CHRF", beta=1, eps_smoothing=True).score),
    ],
)
def test_other_metrics(folder, options, make):
    import sacrebleu.metrics

    asked, run = go(write_config(folder, f"-cmd decoder.py\n-maxIt 1\n-m {options}"))
    lines = (folder / "output.nbest.ZMERT.it1").read_text().splitlines()
    texts = zmert_set.best_of(lines, run.weights)
    references = (folder / "ref").read_text().splitlines()

    def score(name, **options):
        return getattr(sacrebleu.metrics, name)(**options).corpus_score(texts, [references])

    sign = 1 if asked.plan.metric.maximize else -1
    assert sign * run.score == pytest.approx(make(score), abs=1e-9)
    assert sign * (run.score - run.start_score) > 0


def test_rypt(demo_campaign, tmp_path, capsys):
    start = read_weights(demo_campaign / "weights.init")
    params = [f"{name} ||| {value} Opt -Inf +Inf -1 1" for name, value in start.values.items()]
    write_params(tmp_path, params, "LNorm 1 1")
    (tmp_path / "list1").write_bytes((demo_campaign / "nbest.en").read_bytes())
    config = tmp_path / "config.txt"
    common = f"-dir {tmp_path}\n-m RYPT {demo_campaign}\n-fake list\n"
    config.write_text(f"{common}-ipi 2\n-seed 1\n-N 1000\n-fin fin\n")
    code, out, err = run_command(capsys, "tune", "--zmert", config, "--json", "-q")
    assert code == 0, err
    facts = json.loads(out)
    assert facts["score"] > facts["start_score"]
    assert facts["signature"].startswith("RYPT")
    assert len((tmp_path / "fin").read_text().splitlines()) == len(params)
    config.write_text(f"{common}-txtNrm 1\n")
    err = run_command(capsys, "tune", "--zmert", config)[2]
    assert "config.txt:4: -txtNrm 1: RYPT needs the words that were aligned" in err


@pytest.mark.slow
def test_the_command_line(folder, capsys):
    path = write_config(folder, "-cmd decoder.py\n-maxIt 2")
    code, out, err = run_command(
        capsys, "tune", "--zmert", path, "-o", folder / "tuned.txt", "--folder", folder / "kept"
    )
    assert code == 0, err
    assert "stopped: 2 iterations are done" in out
    assert (folder / "kept.finished" / "run2.json").exists()
    assert (folder / "tuned.txt").read_text().endswith("normalization = LNorm 1 1\n")
    assert "nowhere: No such file" in run_command(capsys, "tune", "--zmert", folder / "nowhere")[2]
    for option in (["--restarts", "3"], ["--metric", "ter"], ["--fix", "tm"], ["--aim", "unseen"]):
        code, out, err = run_command(capsys, "tune", "--zmert", path, *option)
        assert (code, out) == (2, "")
        assert f"{option[0]} cannot be combined with --zmert" in err


REFUSED = [
    ("-opi 1", ": -opi 1: not supported"),
    ("-damianos 1 0.5 1", ": -damianos 1 0.5 1: not supported"),
    ("-docInfo docs", ": -docInfo docs: not supported"),
    ("-docSet top 8d", ": -docSet top 8d: not supported"),
    ("-m BLEU 4 shortest", "4 closest"),
    ("-m BLEU_SBP 4 closest", "not supported; expected BLEU 4 closest"),
    ("-m TER nocase punc 40 50", "another beam or distance"),
    ("-m CHRF 3 6", "length penalty"),
    ("-maxIt 0", "expected a whole number from 1 up"),
    ("-prevIt -1", "expected a whole number from 0 up"),
    ("-save 2", "-save 2: expected 3, "),
    ("-compress 1", "-compress 1: not supported"),
    ("-v 5", "expected a whole number from 0 to 4"),
    ("-stopSig x", "expected a number"),
    ("-nope 3", "unknown setting -nope: expected one of -dir, "),
    ("maxIt 3", "unknown setting maxIt: expected -setting value"),
    ("-maxIt", "-maxIt: expected one value, found none"),
    ("-maxIt 3 4", "-maxIt: expected one value, found 2: 3 4"),
    ("-N 9", "-N is given twice, first in line 6"),
    ("-p nowhere", "-p nowhere: no such file"),
    ("-s nowhere", "-s nowhere: no such file"),
]


@pytest.mark.parametrize(("line", "message"), REFUSED, ids=[line for line, _ in REFUSED])
def test_settings_that_are_refused(folder, line, message):
    with pytest.raises(InputError) as caught:
        ask(write_config(folder, f"-cmd decoder.py   # a comment\n{line}"))
    assert str(caught.value).startswith(f"{folder / 'config.txt'}:8: ")
    assert message in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", ["-v 2", "-decV 0", "-docSet all", "-damianos 0 1 1", "-opi 0", "-s ref", "# -nope"]
)
def test_settings_that_change_nothing(folder, line):
    said = ask(write_config(folder, f"-cmd decoder.py\n{line}")).plan.fixed_settings()
    assert said == ask(write_config(folder)).plan.fixed_settings()


@pytest.mark.parametrize(
    ("others", "text", "message"),
    [
        ({}, "", "config.txt: expected -cmd, the decoder's script, or -fake"),
        ({}, "-cmd nowhere", "-cmd nowhere: no such file"),
        ({}, "-fake nothing", "-fake nothing: no such list of iteration 1"),
        ({"dir": "/nowhere/at/all"}, "-cmd decoder.py", "-dir /nowhere/at/all: no such folder"),
        ({"r": "nowhere"}, "-cmd decoder.py", "-r nowhere: no such file"),
        ({"r": "nowhere", "rps": 2}, "-cmd decoder.py", "nowhere: no such file, nor numbered ones"),
        ({"rps": 3}, "-cmd decoder.py", "ref:8: expected 3 lines per segment (-rps 3), found 8 lines"),
        ({"r": "two", "rps": 3}, "-cmd decoder.py", "-rps 3: expected 3 files, found 2"),
        ({"seed": "soon"}, "-cmd decoder.py", "-seed soon: expected a whole number or time"),
        ({}, "-cmd decoder.py\n-s params.txt", "params.txt:4: expected 8 lines, one per segment, found 4"),
    ],
)
def test_hostile_configurations(folder, others, text, message):
    for n in range(2):
        (folder / f"two{n}").write_bytes((folder / "ref").read_bytes())
    with pytest.raises(InputError) as caught:
        ask(write_config(folder, text, **others))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("normalization = LNorm 1 1\n", "", "params.txt: expected a line normalization"),
        ("0.5 Opt -Inf", "0.5 Opt 2", "params.txt:1: expected lm score from 2 to inf, its bounds, found 0.5"),
        ("0.5 Opt -Inf", "0.5 Maybe -Inf", "params.txt:1: expected name ||| value Opt|Fix"),
        ("tm ||| 1.0", "tm ||| one", "params.txt:2: expected a finite number, found 'one'"),
        ("tm |||", "tn |||", "dec_cfg.txt: expected a line that begins with 'tn' and a space"),
    ],
)
def test_hostile_parameters(folder, old, new, message):
    (folder / "params.txt").write_text(zmert_set.PARAMS.replace(old, new))
    with pytest.raises(InputError) as caught:
        ask(write_config(folder))
    assert message in str(caught.value)


def test_defaults(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "ref").rename("reference.txt")
    (folder / "empty.txt").write_text("-cmd decoder.py\n")
    asked = ask("empty.txt", now=77)
    plan, decoder = asked.plan, asked.decoder
    assert (plan.search.restarts, plan.search.seed, plan.search.threads) == (19, 77, 1)
    assert (plan.stopping.max_iterations, plan.previous, plan.stopping.still) == (20, 20, (-1, 3, 5))
    assert (decoder.rules.size, decoder.rules.method, decoder.output.name) == (100, 1, "output.nbest")
    assert asked.decoder.config.path.name == "dec_cfg.txt"
    assert asked.final is None
    assert plan.search.aim == "list"
    assert plan.metric.signature.startswith("BLEU|nrefs:1|")
    (folder / "reference.txt").write_text("Hello, world.\n")
    assert ask("empty.txt", now=77).plan.metric.references["0"] == ["Hello , world ."]
    threads = ask(write_config(folder, "-cmd decoder.py\n-thrCnt 3", r="reference.txt", ipi=1)).plan.search
    assert (threads.threads, threads.restarts) == (3, 0)


def derivations(seed):
    """Lists in which every text has several derivations, of which the later ones have other features."""
    rng = random.Random(seed)
    _, pool = zmert_set.make_pool()
    lines = []
    for segment, rows in enumerate(pool):
        for text, features in rows[:6]:
            for _ in range(4):
                shifted = [round(value + rng.gauss(0, 2), 4) for value in features]
                lines.append(f"{segment} ||| {text} ||| {' '.join(map(str, shifted))}")
    return lines


def first_of_each_text(lines):
    found = {}
    for line in lines:
        found.setdefault(tuple(line.split("|||")[:2]), line)
    return list(found.values())


def test_all_derivations_of_a_text_are_kept_and_the_score_is_what_the_decoder_gets(folder):
    told_otherwise = 0
    for seed in range(4):
        lines = derivations(seed)
        (folder / "list1").write_text("".join(line + "\n" for line in lines))
        _, run = go(write_config(folder, "-fake list", N=24))
        assert run.iterations[0].candidates == len(set(lines)) > 3 * len(first_of_each_text(lines))
        assert run.score == pytest.approx(bleu_of(best_of(lines, run.weights), folder), abs=1e-9)
        by_text = bleu_of(best_of(first_of_each_text(lines), run.weights), folder)
        told_otherwise += abs(by_text - run.score) > 0.5
    assert told_otherwise  # what Z-MERT would have reported for these weights


def test_statistics_in_memory_tell_the_score_of_the_merged_lists(folder):
    _, run = go(write_config(folder))
    assert len(run.iterations) > 2
    merged = []
    for iteration in run.iterations:
        merged += (folder / f"output.nbest.ZMERT.it{iteration.number}").read_text().splitlines()
        for weights, told in ((iteration.used, iteration.before), (iteration.weights, iteration.after)):
            assert told == pytest.approx(bleu_of(best_of(merged, weights), folder), abs=1e-9)
