"""``rypt rank``: a file or a subcommand first, what is printed, what is said of bad input."""

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner

from hits.cli.rank.group import rank
from rypt.cli import program as cli

COUNTS = "a b 60 10 20\na c 55 9 25\nb c 40 11 38\n"


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    path = tmp_path / "counts"
    path.write_text(COUNTS, encoding="utf-8")
    return path


def run(*arguments: object):
    return CliRunner().invoke(rank, [str(argument) for argument in arguments], catch_exceptions=False)


def failed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What the program says on stderr when it fails."""
    with pytest.raises(SystemExit) as stop:
        cli.main(["rank", *(str(argument) for argument in arguments)])
    assert stop.value.code == 1
    return capsys.readouterr().err


def test_a_file_needs_no_subcommand(counts: Path) -> None:
    plain = run(counts)
    assert plain.exit_code == 0
    assert plain.stdout == run("systems", counts).stdout == run("--model", "expected-wins", counts).stdout
    assert plain.stdout.splitlines()[0].split() == ["#", "score", "range", "system"]
    assert "expected-wins|divisor:n-1" in plain.stdout.splitlines()[-1]


def test_json(counts: Path) -> None:
    record = json.loads(run(counts, "--json").stdout)
    assert [system["system"] for system in record["systems"]] == ["a", "c", "b"]
    assert record["systems"][0]["rank"] == record["systems"][0]["low"] == 1
    searched = json.loads(run("--json", "-m", "mfas", "--confidence", "none", counts).stdout)
    assert {"cost", "nodes", "optimal_rankings"} <= set(searched)
    assert searched["seed"] == 1


def test_a_file_with_the_name_of_a_subcommand_needs_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "next").write_text(COUNTS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run("./next").exit_code == 0
    assert run("next").exit_code == 2


@pytest.mark.parametrize(
    "option",
    [
        ["-O", "variant=program", "-O", "order=select", "-O", "games=50"],
        ["--confidence", "sign-test"],
        ["--latex"],
        ["--exclude-system", "c"],
        ["--sample", "100", "--seed", "3"],
        ["--samples", "50", "--trim", "3"],
        ["--unit", "row"],
        ["--range", "densest"],
    ],
)
def test_every_option_changes_the_result(counts: Path, option: list[str]) -> None:
    model = ["-m", "trueskill", "-O", "runs=3", "--samples", "40"]
    assert run(counts, *model, *option).stdout != run(counts, *model).stdout
    assert run(counts, *model, *option).exit_code == 0


def test_the_seed_decides(counts: Path) -> None:
    runs = [
        run(counts, "-m", "trueskill", "--samples", "30", "--json", "--seed", seed).stdout
        for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1]
    assert json.loads(runs[0])["systems"][0]["score"] != json.loads(runs[2])["systems"][0]["score"]


def test_groups_that_never_met(tmp_path: Path) -> None:
    path = tmp_path / "apart"
    path.write_text("a b 6 0 2\nx y 1 0 9\n", encoding="utf-8")
    result = run(path)
    assert "2 + 2 systems without any comparison between the groups" in result.stderr
    assert result.stdout.count("system\n") == 2
    assert "2 + 2" not in run(path, "--quiet").stderr
    assert [s["component"] for s in json.loads(run(path, "--json").stdout)["systems"]] == [1, 1, 2, 2]


def test_all_ties(tmp_path: Path) -> None:
    path = tmp_path / "ties"
    path.write_text("a b 0 5 0\nb c 0 5 0\n", encoding="utf-8")
    result = run(path, "--json")
    assert "all 10 comparisons are ties" in result.stderr
    assert {system["cluster"] for system in json.loads(result.stdout)["systems"]} == {1}
    assert {system["rank"] for system in json.loads(result.stdout)["systems"]} == {1}


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad"
    path.write_text("a b 1 2 3\na a 1 2 3\n", encoding="utf-8")
    assert failed(capsys, path) == f"rypt: {path}:2: the system a is compared with itself\n"
    path.write_text("", encoding="utf-8")
    assert failed(capsys, path) == f"rypt: {path}: expected comparisons or scores, found an empty file\n"
    path.write_text("a b 0 0 0\n", encoding="utf-8")
    assert failed(capsys, path).startswith(
        f"rypt: {path}: expected two systems that were compared, found none"
    )
    path.write_text("a b 1 2 3\n", encoding="utf-8")
    assert "found none" in failed(capsys, path, "--exclude-system", "a")
    assert "has no option 'x', expected one of divisor, unseen" in failed(capsys, path, "-O", "x=1")
    assert "No such file" in failed(capsys, tmp_path / "absent")


def test_head2head(counts: Path) -> None:
    text = run("head2head", counts).stdout
    assert ".67★" in text
    assert "66.7% of all pairs" in text
    record = json.loads(run("head2head", counts, "--json").stdout)
    assert record["significant"] == pytest.approx(2 / 3)


def test_next(tmp_path: Path, counts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "the files name no segments" in failed(capsys, "next", counts)
    segments = tmp_path / "ids"
    segments.write_text("s1\ns2\ns3\n", encoding="utf-8")
    lines = run("next", counts, "--segments", segments, "-n", "4").stdout.splitlines()
    assert len(lines) == 4
    assert all(line.split("\t")[0] in ("s1", "s2", "s3") for line in lines)
    new = json.loads(
        run("next", counts, "--segments", segments, "--system", "new", "--json", "--players", "3").stdout
    )
    assert new["systems"][0] == "new"
    assert len(set(new["systems"])) == 3


def test_simulate_and_plan(counts: Path) -> None:
    found = json.loads(
        run("simulate", "--systems", "5", "--judgments", "500", "--experiments", "3", "--json").stdout
    )
    assert [each["method"] for each in found["simulations"]] == ["pairwise", "bootstrap"]
    assert found["bootstrap"] == "row-densest"
    slides = ("--judgments", "500", "--experiments", "3", "--unit", "comparison", "--range", "ends")
    other = json.loads(run("simulate", "--systems", "5", *slides, "--json").stdout)
    assert found["simulations"][0] == other["simulations"][0]
    assert found["simulations"][1] != other["simulations"][1]
    assert run("simulate", counts, "--range", "ends").exit_code == 2
    like = json.loads(run("simulate", counts, "-m", "bojar", "--experiments", "20", "--json").stdout)
    assert 0 <= like["success"]["bojar"] <= 1
    assert run("simulate", counts, "--systems", "5").exit_code == 2
    errors = run("simulate", "-m", "bojar", "-m", "mfas", "--judgments", "300", "--experiments", "3")
    assert errors.stdout.splitlines()[1].split() == ["judgments", "bojar", "mfas"]
    assert run("simulate", "-m", "bojar", "--unit", "row").exit_code == 2
    priced = json.loads(
        run("plan", "--systems", "4", "--significant", "50%", "--experiments", "20", "--json").stdout
    )
    assert priced["low"] <= priced["judgments"]
    assert float(priced["total"]) > 0
    assert run("plan", "--significant", "170%").exit_code == 2
    free = json.loads(
        run(
            "plan",
            "--systems",
            "4",
            "--significant",
            "0.5",
            "--experiments",
            "20",
            "--market",
            "local",
            "--json",
        ).stdout
    )
    assert float(free["fees"]) == 0
    assert free["judgments"] == priced["judgments"]


def test_evaluate(tmp_path: Path) -> None:
    lines = [f"s{k} {'ab'[k % 2]} c {'>>=<'[k % 4]}\ns{k} a b {'>=<'[k % 3]}" for k in range(120)]
    path = tmp_path / "judgments"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [
        "evaluate",
        path,
        "--split",
        "rows",
        "--least",
        "40",
        "--sizes",
        "20,60",
        "--trials",
        "2",
        "-q",
    ]
    command += ["-m", "uniform", "-m", "bradley-terry:prior=1"]
    record = json.loads(run(*command, "--json").stdout)
    assert len(record["rows"]) == 4
    assert record["rows"][0]["perplexity"] == pytest.approx(3)
    text = run(*command, "--plot", tmp_path / "curves.svg").stdout
    assert "oracle" in text
    drawn = (tmp_path / "curves.svg").read_text(encoding="utf-8")
    assert [f"<!-- {name} -->" in drawn for name in ("uniform", "bradley-terry:prior=1", "oracle")] == [
        True
    ] * 3
    assert run(*command[:2], "--test-judges", "x").exit_code == 2
    assert run(*command[:2], "--sizes", "1.5").exit_code == 2


SCORES = "system,segment,document,score,rater\n" + "".join(
    f"{system},{i},d{i % 5},{quality + (i * 7 + place * 3) % 11},r{i % 2}\n"
    for i in range(40)
    for place, (system, quality) in enumerate((("x", 80), ("y", 79), ("z", 50)))
)


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    path.write_text(SCORES, encoding="utf-8")
    return path


def test_segment_scores_are_ranked_by_mean(scores: Path) -> None:
    lines = run(scores).stdout.splitlines()
    assert lines[0].split() == ["#", "score", "range", "system"]
    assert lines[-3].split()[-1] == "z"
    assert lines[-2].startswith("2 clusters: x and y are significantly better than the other systems")
    assert "mean|scores:score|systems:3|segments:40|n:120" in lines[-1]
    for method in ("permutation", "bootstrap"):
        assert (
            f"{'samples' if method == 'bootstrap' else method}-" in run(scores, "--confidence", method).stdout
        )
    assert "|z:rater|" in run(scores, "-z").stdout
    record = json.loads(run(scores, "-m", "bojar", "--tie", "3", "--json").stdout)
    assert [system["system"] for system in record["systems"]][-1] == "z"


def test_scores_and_comparisons_take_what_is_theirs(scores: Path, counts: Path, capsys) -> None:
    assert "the model mean ranks segment scores, found comparisons" in failed(capsys, counts, "-m", "mean")
    assert "wilcoxon tests segment scores, by the model mean" in failed(
        capsys, counts, "--confidence", "wilcoxon"
    )
    assert "expected segment scores to standardise" in failed(capsys, counts, "-z")
    assert "expected comparisons or scores, found both" in failed(capsys, counts, scores)


def test_several_models_and_files_of_tables(scores: Path, tmp_path: Path) -> None:
    shown = run(scores, "-m", "mean", "-m", "bojar:", "-o", tmp_path / "both.md", "-o", tmp_path / "both.svg")
    assert "% of 3 pairs of systems alike, Kendall's tau" in shown.stdout
    assert (tmp_path / "both.md").read_text(encoding="utf-8").splitlines()[2].startswith("| system")
    assert (tmp_path / "both.svg").exists()
    assert run(scores, "-m", "mean", "-m", "bojar", "-O", "x=1").exit_code == 2
    for style in ("markdown", "latex", "html"):
        assert "x" in run(scores, "--table", style).stdout
    assert run(scores, "--table", "html", "--json").exit_code == 2
    assert run(scores, "--table", "html", "--latex").exit_code == 2


def test_a_wrong_output_is_refused_before_anything_is_read(capsys, tmp_path: Path) -> None:
    assert "expected a .csv, .json" in failed(capsys, tmp_path / "nothing", "-o", "ranks.gif")


def test_counts_say_that_they_have_no_rows(counts: Path) -> None:
    assert "resampled one by one" in run(counts).stderr
    assert "ranges:samples-1000|" in run(counts, "--confidence", "koehn-slides").stdout
    assert "resampled one by one" not in run(counts, "--confidence", "sign-test").stderr


def test_files_of_two_pairs_are_ranked_apart(tmp_path: Path, capsys) -> None:
    files = [tmp_path / "wmt14.Urdu-English", tmp_path / "wmt14.Czech-English"]
    for file in files:
        file.write_text(COUNTS, encoding="utf-8")
    apart = run(*files)
    assert "note: 2 language pairs (Urdu-English, Czech-English) are ranked apart" in apart.stderr
    assert [line for line in apart.stdout.splitlines() if line.endswith("-English")] == [
        "Urdu-English",
        "Czech-English",
    ]
    assert "|n:536|" in run(*files, "--merge").stdout
    assert "|n:268|" in run(*files[:1], "--languages", "ur-en").stdout
    assert "expected one pair of languages" in failed(capsys, "head2head", *files)


def test_agree(scores: Path, counts: Path, tmp_path: Path, capsys) -> None:
    lines = run("agree", scores, scores).stdout.splitlines()
    assert lines[0].split() == ["file", "systems", "pairs", "accuracy", "significant", "tau", "soft"]
    assert lines[2].split()[1:4] == ["3", "3", "1.000"]
    record = json.loads(run("agree", scores, scores, "--lower", scores, "--json").stdout)
    assert record["agreements"][0]["accuracy"] == 1
    assert run("agree", scores).exit_code == 2
    assert run("agree", scores, scores, "--lower", "other").exit_code == 2
    assert "expected two systems or more in both rankings" in failed(capsys, "agree", scores, counts)


def test_next_for_scores(scores: Path) -> None:
    more = run("next", scores, "-n", "4", "--system", "new").stdout.splitlines()
    assert len(more) >= 4
    assert all(line.split("\t")[2:] == ["new"] for line in more)
    record = json.loads(run("next", scores, "--system", "new", "--json").stdout.splitlines()[0])
    assert sorted(record) == ["document", "segment", "systems"]
    assert run("next", scores, "--players", "3").exit_code == 2
    nothing = run("next", scores)
    assert (nothing.stdout, nothing.exit_code) == ("", 0)
    assert "every system is rated on every segment; --segments names further segments" in nothing.stderr


def test_the_curve(counts: Path, tmp_path: Path) -> None:
    shown = run(
        "curve", counts, "--sizes", "20,200", "--trials", "3", "--plot", tmp_path / "c.svg"
    ).stdout.splitlines()
    assert shown[0].split() == ["comparisons", "pairs", "told", "apart", "±", "simulated"]
    assert [line.split()[0] for line in shown[2:4]] == ["20", "200"]
    assert (tmp_path / "c.svg").exists()


def test_a_named_pipe(scores: Path, tmp_path: Path) -> None:
    """As a shell makes one for ``rypt rank <(zcat scores.csv.gz)``: it can be read only once."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=lambda: pipe.write_text(SCORES, encoding="utf-8"), daemon=True)
    writer.start()
    assert run(pipe).stdout == run(scores).stdout
    writer.join(30)


def test_standard_input(scores: Path) -> None:
    program = "from rypt.cli import main; main()"
    piped = subprocess.run(
        [sys.executable, "-c", program, "rank", "-"],
        input=SCORES,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert piped.stdout == run(scores).stdout
