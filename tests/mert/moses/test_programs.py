"""Moses' programs, run as ``mert-moses.pl`` runs them."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from commands import run
from moses_world import BEST_POINT, NAMES, World, best_point, shell, tools
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from mert.lists import read_lists
from mert.moses import programs as moses_cli
from mert.moses.files import FEATURES, SCORES, Block, read_blocks, write_blocks
from mert.moses.scripts import PROGRAMS, write_scripts
from rypt.metrics.campaign_rypt import Rypt

pytestmark = pytest.mark.slow

START = [0.3, 0.2, 0.2, -0.3]


def bleu_of(lists, weights, world):
    texts = [lists.candidates[int(i)].text for i in lists.best(np.array(weights))]
    return (
        BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(texts, world.references).score
        / 100
    )


def call(capfd, *arguments):
    """Exit code, stdout, stderr of one program, run in this process."""
    code = moses_cli.main([str(argument) for argument in arguments])
    captured = capfd.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Fills the working folder with a list, references and a start."""
    monkeypatch.chdir(tmp_path)
    Path("init.opt").write_text("0.3 0.2 0.2 -0.3\n0 0 0 0\n1 1 1 1\n")

    def made(**settings):
        world = World(**settings)
        world.write_references(tmp_path)
        world.write_nbest("nbest.gz", START)
        return world

    return made


@pytest.fixture
def world(make):
    return make()


def extract(capfd, *more):
    code, out, err = call(capfd, "extractor", "-r", "ref0", "-n", "nbest.gz", *more)
    assert (code, out) == (0, ""), err
    return err


DATA = ("-S", "statscore.data", "-F", "features.data")


def mert(capfd, *more):
    code, out, err = call(capfd, "mert", "-d", 4, *more)
    assert (code, out) == (0, ""), err
    return (*best_point(err), err)


def test_two_iterations_of_mert_moses_pl(tmp_path):
    """The files, commands and checks are the script's: extractor.sh, runN.*, init.opt, weights.txt, the log's line."""
    world = World(segments=6, candidates=30)
    (reference,) = world.write_references(tmp_path)
    bin = tools(tmp_path / "bin")
    weights, config = START, "--scconfig case:true"
    for step in (1, 2):
        world.write_nbest(tmp_path / f"run{step}.best100.out.gz", weights, size=6)
        files = f"--scfile run{step}.scores.dat --ffile run{step}.features.dat"
        (tmp_path / "extractor.sh").write_text(
            f"#!/bin/bash\ncd {tmp_path}\n"
            f"{bin}/extractor  {config}  {files} -r {reference} -n run{step}.best100.out.gz\n"
        )
        assert shell(tmp_path, "bash extractor.sh", "extract.out", "extract.err") == 0
        lines = [weights, [0] * 4, [1] * 4]
        (tmp_path / f"run{step}.init.opt").write_text(
            "\n".join(" ".join(map(str, line)) for line in lines) + "\n"
        )
        features, scores = (
            ",".join(f"run{i}.{kind}.dat" for i in range(1, step + 1)) for kind in ("features", "scores")
        )
        command = f"{bin}/mert -d 4   {config} --ffile {features} --scfile {scores} --ifile run{step}.init.opt -n 20"
        assert shell(tmp_path, f"{command} -r {1000 * step}", "mert.out", "mert.log") == 0
        assert (tmp_path / "weights.txt").stat().st_size > 0
        weights, score = best_point((tmp_path / "mert.log").read_text())
        assert len(weights) == 4
        assert [float(word) for word in (tmp_path / "weights.txt").read_text().split()] == weights
        assert sum(map(abs, weights)) == pytest.approx(1)
        os.rename(tmp_path / "weights.txt", tmp_path / f"run{step}.weights.txt")
    merged = read_lists([tmp_path / f"run{step}.best100.out.gz" for step in (1, 2)])
    assert len(merged.features) > len(read_lists([tmp_path / "run1.best100.out.gz"]).features)
    assert score == pytest.approx(bleu_of(merged, weights, world), abs=1e-6)
    assert not list(tmp_path.glob(".*"))


def test_moses_tools_prints_a_folder_of_executables(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    code, out, _ = run(capsys, "moses-tools")
    folder = Path(out.removesuffix("\n"))
    assert (code, folder.parent) == (0, tmp_path / "rypt")
    (folder / "mert").chmod(0o644)
    assert run(capsys, "moses-tools")[1] == out
    assert sorted(path.name for path in folder.iterdir()) == sorted(PROGRAMS)
    assert all(os.access(path, os.X_OK) for path in folder.iterdir())
    assert run(capsys, "moses-tools", "--folder", tmp_path / "here")[1] == f"{tmp_path / 'here'}\n"
    (tmp_path / "file").write_text("")
    for place, message in (("a b", "without blanks"), ("file/x", "Not a directory")):
        code, _, err = run(capsys, "moses-tools", "--folder", tmp_path / place)
        assert (code, message in err) == (1, True)


def test_a_script_runs_its_python_wherever_that_is_and_whatever_lies_around(tmp_path):
    python = tmp_path / f"a folder 'with' $quotes and a very {'long ' * 20}name" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    folder = write_scripts(tmp_path / "bin", python)
    (tmp_path / "numpy.py").write_text("raise SystemExit('the wrong numpy')")
    (tmp_path / "candidates").write_text("a cat\n")
    done = subprocess.run(
        [folder / "evaluator", "-R", "candidates", "-C", "candidates", "-s", "CHRF"],
        cwd=tmp_path,
        env={"PATH": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "1.000000\n"), done.stderr


def test_extractor_writes_what_moses_reads(capfd, world):
    assert "BLEU of " in extract(capfd, "-v", "1")
    features = list(read_blocks("features.data", FEATURES))
    scores = list(read_blocks("statscore.data", SCORES))
    assert features[0].names == tuple(NAMES)
    assert [block.segment for block in features] == [block.segment for block in scores] == list("01234567")
    text, reference = read_lists(["nbest.gz"]).candidates[0].text.split(), world.references[0][0].split()
    same = sum(min(text.count(word), reference.count(word)) for word in set(text))
    row = scores[0].values[0].tolist()
    assert scores[0].names == ("BLEU",)
    assert row[:2] + row[3::2] + row[8:] == [same, *(len(text) - n for n in range(4)), len(reference)]


def test_earlier_binary_and_duplicate_files(capfd, world):
    extract(capfd)
    text = mert(capfd, "-n", 3)[:2]
    once = Path("features.data").read_bytes()
    earlier = ["--prev-ffile", "features.data", "--prev-scfile", "statscore.data", "--scfile", "s"]
    extract(capfd, *earlier, "--ffile", "f")
    assert Path("f").read_bytes() == once
    extract(capfd, *earlier, "--ffile", "f", "-d")
    counts = [[len(block.values) for block in read_blocks(path, FEATURES)] for path in ("f", "features.data")]
    assert counts[0] == [2 * count for count in counts[1]]
    extract(capfd, "-b", "--ffile", "f.bin", "--scfile", "s.bin")
    assert Path("f.bin").read_bytes().startswith(b"FEATURES_BIN_BEGIN_0 0 ")
    assert mert(capfd, "-n", 3, "--ffile", "f.bin", "--scfile", "s.bin")[:2] == text


def test_sparse_features_become_one(capfd, make):
    world = make(sparse=True)
    extract(capfd, "-v", "1")
    assert "pair_" in Path("features.data").read_text()
    assert call(capfd, "extractor", "-r", "ref0", "-n", "nbest.gz", "-b")[0] == 1
    Path("merge").write_text("pair_0 0.5\npair_1 -1\npair_unknown 3\n")
    Path("init.pro").write_text("0.1 0.1 0.1 0.1 1\n0 0 0 0 0\n1 1 1 1 1\n")
    weights, score, _ = mert(capfd, "--ifile", "init.pro,init.pro", "--sparse-weights", "merge", "-n", 5)
    lists = read_lists(["nbest.gz"])
    held = dict.fromkeys(lists.sparse.names, 0.0) | {"pair_0": 0.5, "pair_1": -1.0}
    sparse = weights[4] * lists.sparse.dot(np.array([held[name] for name in lists.sparse.names]))
    model = lists.features @ weights[:4] + sparse
    chosen = [a + int(np.argmax(model[a:b])) for a, b in pairwise(lists.offsets.tolist())]
    texts = [lists.candidates[i].text for i in chosen]
    theirs = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(texts, world.references)
    assert score == pytest.approx(theirs.score / 100, abs=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        ["--type", "powell", "--ntry", "9", "--scconfig", "case:true,reflen:closest"],
        ["--threads", "2", "-v", "1"],
        ["-P", "LM0_0,TM0_1"],
    ],
    ids=" ".join,
)
def test_every_way_of_searching_finds_weights_and_says_their_true_score(capfd, world, options):
    extract(capfd)
    weights, score, err = mert(capfd, "-n", 4, "-r", 7, *options)
    lists = read_lists(["nbest.gz"])
    assert score == pytest.approx(bleu_of(lists, weights, world), abs=1e-6)
    assert score >= bleu_of(lists, START, world)
    assert mert(capfd, "-n", 4, "-r", 7, *options)[0] == weights
    assert ("start 4: " in err) == ("-v" in options)


def test_only_some_weights_move_and_the_seed_decides(capfd, world):
    extract(capfd)
    Path("second.opt").write_text("9 9 9 9\n")
    weights, _, _ = mert(capfd, "-o", "TM0_0,WordPenalty0_0", "-n", 3, "--ifile", "init.opt,second.opt")
    assert [weights[0], weights[2]] == [0.3, 0.2]
    assert weights[1] != 0.2
    everything = mert(capfd, "-o", ",".join(NAMES), "-n", 3)[0]
    assert sum(map(abs, everything)) == pytest.approx(1)
    assert everything == mert(capfd, "-n", 3)[0] == mert(capfd, "-n", 3, "-r", 1)[0]
    assert everything != mert(capfd, "-n", 3, "-r", 2)[0]


@pytest.mark.parametrize("sctype", ["TER", "CHRF", "BLEU,CHRF"])
def test_other_metrics(capfd, world, sctype):
    config = ["--sctype", sctype, "--scconfig", "case:false" + (",weights:1+3" if "," in sctype else "")]
    extract(capfd, *config)
    weights, score, _ = mert(capfd, *config, "-n", 3)
    lists = read_lists(["nbest.gz"])
    chosen = lists.best(np.array(weights))
    Path("chosen").write_text("".join(f"{lists.candidates[int(i)].text}\n" for i in chosen))
    code, out, _ = call(capfd, "evaluator", "-R", "ref0", "--candidate", "chosen", *config)
    assert (code, float(out)) == (0, pytest.approx(score, abs=1e-6))
    code, _, err = call(capfd, "mert", "-d", 4, "--sctype", "BLEU")
    assert code == 1
    assert "mert: expected 9 statistics of BLEU, as --sctype says, found " in err


def test_rypt_alone_and_mixed_with_bleu(capfd, demo_campaign, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nbest, rypt = demo_campaign / "nbest.en", f"campaign:{demo_campaign}"
    files = ["--reference", demo_campaign / "reference.en", "--nbest", nbest]
    config = ["--sctype", "RYPT", "--scconfig", f"case:true,{rypt}"]
    assert call(capfd, "extractor", *config, *files)[0] == 0
    size = len(next(iter(read_blocks("features.data", FEATURES))).names)
    Path("init.opt").write_text("\n".join(" ".join([value] * size) for value in ("0.1", "0", "1")))
    code, _, err = call(capfd, "mert", "-d", size, *config, "-n", 5)
    assert code == 0, err
    weights, score = best_point(err)
    lists, metric = read_lists([nbest]), Rypt.from_campaign(demo_campaign)
    chosen = [lists.candidates[int(i)] for i in lists.best(np.array(weights))]
    assert score == pytest.approx(metric.score(metric.stats(chosen).sum(axis=0, keepdims=True))[0], abs=1e-6)
    mixed = ["-s", "BLEU,RYPT", "-c", f"weights:0.7+0.3,{rypt}"]
    code, out, err = call(capfd, "evaluator", *files, "-s", "BLEU", "-s", "RYPT", "-c", rypt, *mixed)
    assert code == 0, err
    (_, bleu), (_, human), (name, both) = (line.split("\t") for line in out.splitlines())
    assert score > float(human)
    assert (name, float(both)) == (
        "BLEU,RYPT",
        pytest.approx(0.7 * float(bleu) + 0.3 * float(human), abs=1e-6),
    )


def test_batch_mira(capfd, make):
    make(sparse=True)
    extract(capfd)
    Path("run1.dense").write_text("LM0= 0.01\nTM0= 0.1\nTM0= 0.1\nWordPenalty0= -0.1\n")
    Path("run1.sparse-weights").write_text("pair_1 0.01\npair_9 0.5\n")
    files = ["--ffile", "features.data", "--scfile", "statscore.data"]
    common = ["--sparse-init", "run1.sparse-weights", "-r", 2, *files, "-J", 20]
    code, out, err = call(capfd, "kbmira", "--dense-init", "run1.dense", *common, "-o", "mert.out")
    assert (code, out) == (0, ""), err
    words = dict(line.split() for line in Path("mert.out").read_text().splitlines())
    assert list(words)[:4] == ["F0", "F1", "F2", "F3"]
    assert set(list(words)[4:]) <= {f"pair_{i}" for i in range(10)}
    assert float(words["pair_9"]) == 0.5
    before, after = (float(line.split(" = ")[1]) for line in err.splitlines())
    assert after > before
    Path("init.opt").write_text("0.01 0.1 0.1 -0.1\n0 0 0 0\n1 1 1 1\n")
    assert call(capfd, "kbmira", "-d", "init.opt", *common)[1] == Path("mert.out").read_text()


def test_evaluator(capfd, world):
    lines = world.references[0]
    for name, change in (("out", str), ("upper", str.upper), ("wrong", lambda line: f"{line} the")):
        Path(name).write_text("".join(f"{change(line)}\n" for line in lines))
    plain = ["evaluator", "--reference", "ref0"]
    assert call(capfd, *plain, "-s", "BLEU", "--candidate", "out") == (0, "1.000000\n", "")
    lower = ["--scconfig", "case:false"]  # mert-moses.pl names no metric where it is BLEU
    assert call(capfd, *plain, *lower, "--candidate", "upper")[1] == "1.000000\n"
    _, out, _ = call(capfd, *plain, "-C", "out,wrong", "-s", "BLEU", "-s", "TER")
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[:2] for row in rows] == [["out", "BLEU"], ["out", "TER"], ["wrong", "BLEU"], ["wrong", "TER"]]
    words = sum(len(line.split()) for line in lines)
    assert float(rows[3][2]) == pytest.approx(1 - len(lines) / words, abs=1e-6)
    _, out, _ = call(capfd, *plain, "--nbest", "nbest.gz", "--bootstrap", 50, "--rseed", 3)
    score, interval = out.rstrip().split("\t")
    low, high = map(float, interval.strip("[]").split(","))
    assert low <= float(score) <= high
    assert call(capfd, *plain, "-n", "nbest.gz", "-b", 50, "-r", 3)[1] == out


WRONG = [
    (["extractor"], "expected a list (--nbest)"),
    (["extractor", "--nonsense"], "unrecognized arguments: --nonsense"),
    (["extractor", "-n", "nbest.gz"], "the metric BLEU needs --reference"),
    (["extractor", "-n", "nbest.gz", "-r", "nowhere"], "nowhere: no such file"),
    (
        ["extractor", "-n", "nbest.gz", "-r", "short"],
        "nbest.gz:13: segment 1: expected one of the 1 segments of short",
    ),
    (["extractor", "-n", "broken", "-r", "ref0"], "broken:2: expected"),
    (["extractor", "-n", "named", "-r", "ref0"], "named:1: segment x: expected one of the 8 segments"),
    (["extractor", "-n", "nbest.gz", "-r", "ref0", "--ffile", "no/f"], "no/f: No such file or directory"),
    (["extractor", "-n", "nbest.gz", "-r", "ref0", "--scfile", "no/s"], "no/s: No such file or directory"),
    (
        ["extractor", "-n", "nbest.gz", "-r", "ref0", "-s", "METEOR"],
        "'METEOR' is not supported, expected some of BLEU",
    ),
    (
        ["extractor", "-n", "nbest.gz", "-r", "ref0", "-c", "reflen:longest"],
        "expected reflen as one of closest",
    ),
    (["extractor", "-n", "nbest.gz", "-r", "ref0", "-c", "colour:red"], "has no option 'colour'"),
    (["extractor", "-n", "nbest.gz", "-r", "ref0", "-s", "RYPT"], "needs campaign:FOLDER"),
    (
        ["extractor", "-n", "nbest.gz", "-r", "ref0", "-E", "features.data"],
        "expected a file of statistics for each",
    ),
    (["mert"], "the following arguments are required: -d/--pdim"),
    (["mert", "-d", "x"], "expected a whole number"),
    (["mert", "-d", "5"], "-d 5: the files have 4 features, LM0_0"),
    (["mert", "-d", "4", "-o", "LM0_0,LM7_0"], "-o: LM7_0 is not a feature; expected some of LM0_0"),
    (["mert", "-d", "4", "-P", "lm"], "-P: lm is not a feature"),
    (["mert", "-d", "4", "--ifile", "short.opt"], "short.opt:1: expected 4 weights, found 3"),
    (["mert", "-d", "4", "-t", "simplex"], "invalid choice: 'simplex'"),
    (["mert", "-d", "4", "-c", "regtype:min"], "has no option 'regtype'"),
    (["mert", "-d", "4", "--ffile", "cut"], "cut:"),
    (["pro", *DATA], "use --batch-mira"),
    (["kbmira", *DATA, "--type", "hypergraph"], "--type hypergraph is not supported"),
    (["kbmira", *DATA, "--model-bg"], "--model-bg is not supported"),
    (["kbmira", *DATA, "-d", "short.opt"], "short.opt:1: expected 4 weights"),
    (["evaluator", "-R", "ref0", "-C", "short"], "short: expected 8 lines like ref0, found 1"),
    (["evaluator", "-C", "ref0"], "the metric BLEU needs --reference"),
    (["evaluator", "-R", "ref0"], "expected translations"),
    (["hgdecode"], "expected one of extractor"),
]


@pytest.mark.parametrize(
    ("arguments", "message"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_what_is_wrong_is_one_line_and_leaves_nothing_half_written(capfd, world, arguments, message):
    extract(capfd)
    Path("short").write_text("the cat\n")
    Path("ref1").write_text(Path("ref0").read_text())
    Path("short.opt").write_text("1 2 3\n0 0 0\n1 1 1\n")
    Path("broken").write_text(
        "0 ||| a ||| LM0= 1 TM0= 1 2 WordPenalty0= 3 ||| 0\n0 ||| a ||| LM0= 1 TM0= x\n"
    )
    Path("words").write_text("no list\n")
    Path("named").write_text("x ||| a ||| LM0= 1 ||| 0\n")
    Path("cut").write_bytes(Path("features.data").read_bytes()[:400])
    before = {path: path.read_bytes() for path in Path().iterdir()}
    code, out, err = call(capfd, *arguments)
    assert code == 1
    assert err.splitlines()[-1].startswith(f"{arguments[0]}: ")
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err
    assert not BEST_POINT.search(err)
    assert out == ""
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_help(capfd):
    for program in set(PROGRAMS) - {"pro"}:
        with pytest.raises(SystemExit) as stop:
            call(capfd, program, "--help")
        assert (stop.value.code, capfd.readouterr().out.split()[:2]) == (0, ["usage:", program])


# What is wrong in Moses' own programs, and must not be wrong here


def test_chrf_scores_and_whole_means_of_three_references(capfd, make):
    """Moses' statistics of CHRF are all 0 and its score is no number; it casts steps of means to integers."""
    world = make(references=3, segments=12)
    world.references[1] = [
        f"{line} {'of the ' * (i % 3)}".strip() for i, line in enumerate(world.references[1])
    ]
    world.write_references(Path())
    extract(capfd, "-r", "ref0,ref1,ref2", "-s", "TER", "-c", "case:true")
    weights, score, _ = mert(capfd, "-n", 5, "-s", "TER")
    lists = read_lists(["nbest.gz"])
    texts = [lists.candidates[int(i)].text for i in lists.best(np.array(weights))]
    theirs = TER(case_sensitive=True).corpus_score(texts, world.references).score
    assert score == pytest.approx(1 - theirs / 100, abs=1e-6)
    Path("chosen").write_text("".join(f"{text}\n" for text in texts))
    ours = call(capfd, "evaluator", "-R", "ref0", "-C", "chosen", "-s", "CHRF", "-c", "beta:2")[1]
    assert float(ours) == pytest.approx(
        CHRF().corpus_score(texts, world.references[:1]).score / 100, abs=1e-6
    )


def test_old_labels_are_no_features(capfd, world):
    """Moses reads ``d:`` as the number 0, so 15 features become 19."""
    values = [list(range(7)), [7.5, 8], [9, 10, 11, 12, -13], [-14]]
    Path("ref").write_text("a b\n")
    for name, sign in (("old", ":"), ("new", "=")):
        fields = " ".join(
            f"{label}{sign} {' '.join(map(str, v))}" for label, v in zip("dltw", values, strict=True)
        )
        Path(name).write_text(f"0 ||| a b ||| {fields} ||| -1\n0||| a  ||| {fields} ||| -1\n")
        call(capfd, "extractor", "-r", "ref", "-n", name, "-F", f"{name}.f", "-S", f"{name}.s")
    ((block),) = read_blocks("old.f", FEATURES)
    assert len(block.names) == 15
    assert block.values[0].tolist() == [v for group in values for v in group]
    assert Path("old.f").read_bytes() == Path("new.f").read_bytes()


def test_a_constant_feature_never_swallows_the_others(capfd, world):
    """In Moses a line on which nothing changes has a best step of 3e38, and the other weights vanish."""
    for found in world.candidates:
        for i, (text, values, extra) in enumerate(found):
            found[i] = text, [*values[:3], 1e6 / 3], extra
    world.write_nbest("nbest.gz", START)
    extract(capfd)
    for seed in range(1, 4):
        weights, score, log = mert(capfd, "-n", 5, "-r", seed)
        assert score > 0.1
        assert max(map(abs, weights)) <= 1
        assert sum(map(abs, weights[:3])) > 0.05
        assert "never different inside a segment, so left alone: WordPenalty0_0" in log


def test_positive_weights_are_positive_where_it_counts(capfd, world):
    """Moses looks at the border of the interval, not at the point it chooses."""
    extract(capfd)
    free = mert(capfd, "-n", 5)[0]
    negative = next(i for i, weight in enumerate(free) if weight < 0)
    for seed in range(1, 4):
        assert min(mert(capfd, "-n", 5, "-r", seed, "-P", ",".join(NAMES))[0]) >= 0
        assert mert(capfd, "-r", seed, "-P", NAMES[negative])[0][negative] >= 0


def test_mean_and_variance_are_of_the_starts_that_were_made(capfd, world):
    """Moses divides by the number of random starts, though the given ones were climbed too."""
    Path("second.opt").write_text("1 -1 1 -1\n")
    extract(capfd)
    _, score, log = mert(capfd, "-n", 3, "--ifile", "init.opt,second.opt", "-v", 1)
    ends = [float(end) for end in re.findall(r"^start \d+: (.*)$", log, re.MULTILINE)]
    said = re.search(r"^5 starts: mean (\S+), variance (\S+)$", log, re.MULTILINE)
    assert len(ends) == 5
    assert float(said[1]) == pytest.approx(np.mean(ends), abs=1e-6)
    assert float(said[2]) == pytest.approx(np.var(ends), rel=0.02, abs=1e-9)
    assert score >= max(ends)


@pytest.mark.parametrize("order", ["exact,other", "other,exact"])
def test_ter_keeps_a_reference_without_edits(capfd, world, order):
    for name, line in (("exact", "a b c"), ("other", "x y z"), ("nbest", "0 ||| a b c ||| LM0= 1 ||| 0")):
        Path(name).write_text(f"{line}\n")
    assert call(capfd, "extractor", "-r", order, "-n", "nbest", "-s", "TER")[0] == 0
    ((block),) = read_blocks("statscore.data", SCORES)
    assert block.values.tolist() == [[0, 300, 0]]


def test_fractions_are_refused_rather_than_cut(capfd, world):
    Path("f").write_text("FEATURES_TXT_BEGIN_0 0 1 1 a_0 \n1 \nFEATURES_TXT_END_0\n")
    Path("s").write_text("SCORES_TXT_BEGIN_0 0 1 3 TER\n1.5 3 50 \nSCORES_TXT_END_0\n")
    code, _, err = call(capfd, "mert", "-d", 1, "-F", "f", "-S", "s", "-s", "TER")
    assert (code, err) == (1, "mert: s:2: expected integers as statistics, found 1.5 in candidate 0\n")


def test_scores_below_zero_and_fractions_that_nobody_reads(capfd, world):
    """Moses' best score begins at 0, so where all are below, its weights are all 0; it writes TER's third column only."""
    with open("f", "wb") as stream:
        write_blocks(stream, FEATURES, [Block("0", ("a_0", "b_0"), np.eye(2))])
    Path("s").write_text(
        "SCORES_TXT_BEGIN_0 0 2 3 TER\n900 300 300.5 \n400 300 133.3333 \nSCORES_TXT_END_0\n"
    )
    Path("init.opt").write_text("1 0\n0 0\n1 1\n")
    weights, score = best_point(call(capfd, "mert", "-d", 2, "-F", "f", "-S", "s", "-s", "TER")[2])
    assert score == pytest.approx(-1 / 3, abs=1e-6)
    assert weights[1] > weights[0]
