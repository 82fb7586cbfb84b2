"""What is wrong in Moses' own programs, and must not be wrong here."""

import re
from pathlib import Path

import numpy as np
import pytest
from moses_world import NAMES, World, best_point
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from mert.cli import moses as moses_cli
from mert.lists import read_lists
from mert.moses.files import (
    FeatureBlock,
    ScoreBlock,
    read_features,
    read_scores,
    write_features,
    write_scores,
)

START = [0.3, 0.2, 0.2, -0.3]


def call(capfd, *arguments):
    moses_cli.main([str(argument) for argument in arguments])
    return capfd.readouterr()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("init.opt").write_text("0.3 0.2 0.2 -0.3\n0 0 0 0\n1 1 1 1\n")
    return tmp_path


def made(folder, **settings):
    world = World(**settings)
    paths = world.write_references(folder)
    world.write_nbest("nbest.gz", START)
    return world, ",".join(map(str, paths))


def test_chrf_scores(capfd, folder):
    """Moses' statistics of CHRF are all 0 and its score is not a number."""
    Path("ref").write_text("the cat sees a dog\nder Fuß\n")
    Path("part").write_text("the cat\nder\n")
    assert call(capfd, "evaluator", "-R", "ref", "-C", "ref", "-s", "CHRF").out == "1.000000\n"
    part = float(call(capfd, "evaluator", "-R", "ref", "-C", "part", "-s", "CHRF", "-c", "beta:2").out)
    theirs = CHRF().corpus_score(["the cat", "der"], [["the cat sees a dog", "der Fuß"]]).score
    assert part == pytest.approx(theirs / 100, abs=1e-6)  # recall counts what the candidate lacks
    Path("nbest").write_text("0 ||| the cat ||| LM0= 1 ||| 0\n")
    call(capfd, "extractor", "-r", "ref", "-n", "nbest", "-s", "CHRF")
    ((block),) = read_scores("statscore.data")
    assert block.name == "CHRF"
    assert block.stats.sum() > 0


def test_old_labels_are_no_features(capfd, folder):
    """Moses reads ``d:`` as the number 0, so 15 features become 19."""
    values = [list(range(7)), [7.5, 8], [9, 10, 11, 12, -13], [-14]]
    Path("ref").write_text("a b\n")
    for name, sign in (("old", ":"), ("new", "=")):
        fields = " ".join(
            f"{label}{sign} {' '.join(map(str, v))}" for label, v in zip("dltw", values, strict=True)
        )
        Path(name).write_text(f"0 ||| a b ||| {fields} ||| -1\n0||| a  ||| {fields} ||| -1\n")
        call(capfd, "extractor", "-r", "ref", "-n", name, "-F", f"{name}.f", "-S", f"{name}.s")
    ((block),) = read_features("old.f")
    assert len(block.names) == 15
    assert block.values[0].tolist() == [v for group in values for v in group]
    assert Path("old.f").read_bytes() == Path("new.f").read_bytes()


@pytest.mark.parametrize("constant", [1.0, 1e6 / 3, -1e-9])
def test_a_constant_feature_never_swallows_the_others(capfd, folder, constant):
    """In Moses a line on which nothing changes has a best step of 3e38, and the other weights vanish."""
    world, _ = made(folder)
    for found in world.candidates:
        for i, (text, values, extra) in enumerate(found):
            found[i] = text, [*values[:3], constant], extra
    world.write_nbest("nbest.gz", START)
    call(capfd, "extractor", "-r", "ref0", "-n", "nbest.gz")
    for seed in range(1, 6):
        log = call(capfd, "mert", "-d", 4, "-n", 5, "-r", seed).err
        weights, score = best_point(log)
        assert score > 0.1
        assert max(map(abs, weights)) <= 1
        assert sum(map(abs, weights[:3])) > 0.05
        assert "never different inside a segment, so left alone: WordPenalty0_0" in log


def test_positive_weights_are_positive_where_it_counts(capfd, folder):
    """Moses looks at the border of the interval, not at the point it chooses."""
    made(folder)
    call(capfd, "extractor", "-r", "ref0", "-n", "nbest.gz")
    free = best_point(call(capfd, "mert", "-d", 4, "-n", 5).err)[0]
    negative = [name for name, weight in zip(NAMES, free, strict=True) if weight < 0]
    assert negative
    for seed in range(1, 8):
        weights, _ = best_point(call(capfd, "mert", "-d", 4, "-n", 5, "-r", seed, "-P", ",".join(NAMES)).err)
        assert min(weights) >= 0
        assert max(weights) > 0
        some = dict(
            zip(
                NAMES,
                best_point(call(capfd, "mert", "-d", 4, "-r", seed, "-P", negative[0]).err)[0],
                strict=True,
            )
        )
        assert some[negative[0]] >= 0


def test_statistics_are_neither_cut_nor_do_they_drift(capfd, folder):
    """Three references of different lengths have a mean that is no whole number; Moses casts its steps to integers."""
    world, references = made(folder, references=3, segments=12)
    world.references[1] = [
        f"{line} {'of the ' * (i % 3)}".strip() for i, line in enumerate(world.references[1])
    ]
    world.write_references(folder)
    call(capfd, "extractor", "-r", references, "-n", "nbest.gz", "-s", "TER", "-c", "case:true")
    weights, score = best_point(call(capfd, "mert", "-d", 4, "-n", 5, "-s", "TER").err)
    lists = read_lists(["nbest.gz"])
    texts = [lists.candidates[i].text for i in lists.best(np.array(weights))]
    theirs = TER(case_sensitive=True).corpus_score(texts, world.references).score
    assert score == pytest.approx(1 - theirs / 100, abs=1e-6)
    assert len({sum(len(document[i].split()) for document in world.references) % 3 for i in range(12)}) > 1


def test_fractions_are_refused_rather_than_cut(capfd, folder):
    Path("f").write_text("FEATURES_TXT_BEGIN_0 0 1 1 a_0 \n1 \nFEATURES_TXT_END_0\n")
    Path("s").write_text("SCORES_TXT_BEGIN_0 0 1 3 TER\n1.5 3 50 \nSCORES_TXT_END_0\n")
    Path("init.opt").write_text("1\n0\n1\n")
    with pytest.raises(SystemExit):
        call(capfd, "mert", "-d", 1, "-F", "f", "-S", "s", "-s", "TER")
    assert capfd.readouterr().err == "mert: s:2: expected integers as statistics of TER, found 1.5\n"


def test_the_third_statistic_of_moses_ter_may_be_a_fraction(capfd, folder):
    """Moses writes edits · 100 / length there and does not read it again."""
    write_features("f", [FeatureBlock("0", ("a_0",), np.array([[1.0], [2.0]]))])
    Path("s").write_text(
        "SCORES_TXT_BEGIN_0 0 2 3 TER\n200 600 33.3333 \n100 600 16.6667 \nSCORES_TXT_END_0\n"
    )
    Path("init.opt").write_text("1\n0\n1\n")
    assert best_point(call(capfd, "mert", "-d", 1, "-F", "f", "-S", "s", "-s", "TER").err)[
        1
    ] == pytest.approx(5 / 6, abs=1e-6)


def test_mean_and_variance_are_of_the_starts_that_were_made(capfd, folder):
    """Moses divides by the number of random starts, though the given ones were climbed too."""
    made(folder)
    Path("second.opt").write_text("1 -1 1 -1\n")
    call(capfd, "extractor", "-r", "ref0", "-n", "nbest.gz")
    log = call(capfd, "mert", "-d", 4, "-n", 3, "--ifile", "init.opt,second.opt", "-v", 1).err
    ends = [float(score) for score in re.findall(r"^start \d+: (.*)$", log, re.MULTILINE)]
    said = re.search(r"^5 starts: mean (\S+), variance (\S+)$", log, re.MULTILINE)
    assert len(ends) == 5
    assert float(said[1]) == pytest.approx(np.mean(ends), abs=1e-6)
    assert float(said[2]) == pytest.approx(np.var(ends), rel=0.02, abs=1e-9)
    assert best_point(log)[1] >= max(ends)


@pytest.mark.parametrize("order", ["exact,other", "other,exact"])
def test_ter_keeps_a_reference_without_edits(capfd, folder, order):
    Path("exact").write_text("a b c\n")
    Path("other").write_text("x y z\n")
    Path("nbest").write_text("0 ||| a b c ||| LM0= 1 ||| 0\n")
    call(capfd, "extractor", "-r", order, "-n", "nbest", "-s", "TER")
    ((block),) = read_scores("statscore.data")
    assert block.stats.tolist() == [[0, 300, 0]]


def test_scores_below_zero_are_no_reason_for_zero_weights(capfd, folder):
    """Moses' best score begins at 0, so where all are below, its weights are all 0."""
    write_features("f", [FeatureBlock("0", ("a_0", "b_0"), np.array([[1.0, 0.0], [0.0, 1.0]]))])
    write_scores("s", [ScoreBlock("0", "TER", np.array([[9, 3, 300], [4, 3, 133]]))])
    Path("init.opt").write_text("1 0\n0 0\n1 1\n")
    weights, score = best_point(call(capfd, "mert", "-d", 2, "-F", "f", "-S", "s", "-s", "TER").err)
    assert score == pytest.approx(-1 / 3, abs=1e-6)
    assert weights[1] > weights[0]
