"""``rypt rank``: a file or a subcommand first, what is printed, what bad input and wrong usage get."""

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from hits.cli.rank.group import rank
from rypt.cli import program as cli

COUNTS = "a b 60 10 20\na c 55 9 25\nb c 40 11 38\n"
SCORES = "system,segment,document,score,rater\n" + "".join(
    f"{system},{i},d{i % 5},{quality + (i * 7 + place * 3) % 11},r{i % 2}\n"
    for i in range(40)
    for place, (system, quality) in enumerate((("x", 80), ("y", 79), ("z", 50)))
)


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    path = tmp_path / "counts"
    path.write_text(COUNTS, encoding="utf-8")
    return path


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    path.write_text(SCORES, encoding="utf-8")
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(rank, [str(argument) for argument in arguments], catch_exceptions=False)


def as_json(*arguments: object) -> Any:
    return json.loads(run(*arguments, "--json").stdout)


def failed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What the program says on stderr when it fails."""
    with pytest.raises(SystemExit) as stop:
        cli.main(["rank", *(str(argument) for argument in arguments)])
    assert stop.value.code == 1
    return capsys.readouterr().err


def test_six_commands_and_no_more_than_ninety_options() -> None:
    names = {name: command for name, command in rank.commands.items() if isinstance(command, click.Command)}
    assert set(names) == {"systems", "pairs", "next", "plan", "agree", "evaluate"}
    options = [p for command in names.values() for p in command.params if isinstance(p, click.Option)]
    assert len(options) <= 90


def test_a_file_needs_no_subcommand_and_with_the_name_of_one_a_path(
    counts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run(counts)
    assert plain.exit_code == 0
    assert plain.stdout == run("systems", counts).stdout == run("--model", "expected-wins", counts).stdout
    assert "expected-wins|divisor:n-1" in plain.stdout.splitlines()[-1]
    assert "resampled one by one" in plain.stderr
    (tmp_path / "next").write_text(COUNTS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert (run("./next").exit_code, run("next").exit_code) == (0, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "option",
    [
        ["--confidence", "sign-test"],
        ["--table", "latex"],
        ["--exclude-system", "c"],
        ["--seed", "3"],
        ["--samples", "50"],
        ["--unit", "row"],
        ["--range", "densest"],
    ],
)
def test_every_option_changes_the_result(counts: Path, option: list[str]) -> None:
    model = ["-m", "trueskill:runs=3,order=select,games=50", "--samples", "40"]
    assert run(counts, *model, *option).stdout != run(counts, *model).stdout
    assert run(counts, *model, *option).exit_code == 0


def test_groups_that_never_met_and_ties(tmp_path: Path) -> None:
    path = tmp_path / "apart"
    path.write_text("a b 6 0 2\nx y 1 0 9\n", encoding="utf-8")
    assert "2 + 2 systems without any comparison between the groups" in run(path).stderr
    assert "2 + 2" not in run(path, "--quiet").stderr
    assert [system["component"] for system in as_json(path)["systems"]] == [1, 1, 2, 2]
    path.write_text("a b 0 5 0\nb c 0 5 0\n", encoding="utf-8")
    assert "all 10 comparisons are ties" in run(path).stderr
    assert {(system["cluster"], system["rank"]) for system in as_json(path)["systems"]} == {(1, 1)}


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad"
    path.write_text("a b 1 2 3\na a 1 2 3\n", encoding="utf-8")
    assert failed(capsys, path) == f"rypt: {path}:2: the system a is compared with itself\n"
    path.write_text("a b 1 2 3\n", encoding="utf-8")
    assert "found none" in failed(capsys, path, "--exclude-system", "a")
    assert "has no option 'x'" in failed(capsys, path, "-m", "expected-wins:x=1")
    assert "expected a .csv, .json" in failed(capsys, tmp_path / "nothing", "-o", "ranks.gif")


def test_segment_scores_are_ranked_by_mean(scores: Path, counts: Path, capsys: Any) -> None:
    lines = run(scores).stdout.splitlines()
    assert lines[-4].split()[-1] == "z"
    assert lines[-3] == "x and y are significantly better than 1 of 2 other systems."
    assert "mean|scores:score|systems:3|segments:40|n:120" in lines[-1]
    assert "|z:rater|" in run(scores, "-z").stdout
    assert as_json(scores, "-m", "bojar", "--tie", "3")["systems"][-1]["system"] == "z"
    for option in (["-m", "mean"], ["--confidence", "wilcoxon"]):
        assert "segment scores" in failed(capsys, counts, *option)


@pytest.mark.slow
def test_several_models_and_files_of_tables(scores: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"both.{ending}" for ending in ("md", "svg", "csv")]
    options = [part for file in files for part in ("-o", file)]
    assert run(scores, "-m", "mean", "-m", "bojar:", *options).exit_code == 0
    assert all(file.stat().st_size for file in files)
    for style in ("markdown", "latex", "html"):
        assert "x" in run(scores, "--table", style).stdout
    assert run(scores, "--table", "html", "--json").exit_code == 2


def test_files_of_two_language_pairs(tmp_path: Path, capsys: Any) -> None:
    files = [tmp_path / "wmt14.Urdu-English", tmp_path / "wmt14.Czech-English"]
    for file in files:
        file.write_text(COUNTS, encoding="utf-8")
    both = run(*files)
    assert "note: 2 language pairs (Urdu-English, Czech-English)" in both.stderr
    titles = [line for line in both.stdout.splitlines() if line.endswith("-English")]
    assert titles == ["Urdu-English", "Czech-English"]
    assert "|n:536|" in run(*files, "--languages", "all").stdout
    assert "|n:268|" in run(*files[:1], "--languages", "ur-en").stdout
    assert "expected one pair of languages" in failed(capsys, "pairs", *files)


def test_pairs(counts: Path) -> None:
    assert ".67★" in run("pairs", counts).stdout
    assert as_json("pairs", counts)["significant"] == pytest.approx(2 / 3)
    assert r"\begin{tabular}" in run("pairs", counts, "--table", "latex").stdout
    assert run("pairs", counts, "--systems", "a,b").stdout.startswith("People prefer a to b: ")
    assert as_json("pairs", counts, "--systems", "a,b")["judgments"] == {"a": 60, "b": 20, "neither": 10}
    for wrong in (["--systems", "a"], ["--systems", "a,b", "--table", "html"], ["--table", "html", "--json"]):
        assert run("pairs", counts, *wrong).exit_code == 2


def test_next(tmp_path: Path, counts: Path, scores: Path, capsys: Any) -> None:
    assert "the files name no segments" in failed(capsys, "next", counts)
    segments = tmp_path / "ids"
    segments.write_text("s1\ns2\ns3\n", encoding="utf-8")
    lines = run("next", counts, "--segments", segments, "-n", "4").stdout.splitlines()
    assert len(lines) == 4
    assert all(line.split("\t")[0] in ("s1", "s2", "s3") for line in lines)
    match = as_json("next", counts, "--segments", segments, "--system", "new", "--players", "3")
    assert match["systems"][0] == "new"
    assert len(set(match["systems"])) == 3
    assert len(run("next", scores, "-n", "3").stdout.splitlines()) == 3  # of the comparisons that scores make


@pytest.mark.slow
def test_plan() -> None:
    few = ("plan", "--systems", "4", "--significant", "50%", "--experiments", "20")
    plan, paid = as_json(*few), as_json(*few, "--market", "mturk")
    assert plan["low"] <= plan["judgments"] == paid["judgments"]
    assert float(plan["fees"]) == 0 < float(paid["fees"])
    assert f"{plan['judgments']:,} judgments (" in run(*few).stdout
    for wrong in ("170%", "most"):
        assert run("plan", "--significant", wrong).exit_code == 2


@pytest.mark.slow
def test_evaluate(tmp_path: Path) -> None:
    rows = [f"s{k},{'ab'[k % 2]},c,{('A', 'A', 'tie', 'B')[k % 4]}" for k in range(120)]
    rows += [f"s{k},a,b,{('A', 'tie', 'B')[k % 3]}" for k in range(120)]
    path, curves = tmp_path / "judgments.csv", tmp_path / "curves.svg"
    path.write_text("\n".join(["segment,a,b,winner", *rows, ""]), encoding="utf-8")
    command = ["evaluate", path, "-q", "-m", "uniform", "-m", "bradley-terry:prior=1", "--trials", "2"]
    command += ["--split", "rows", "--least", "40", "--sizes", "20,60"]
    record = as_json(*command)
    assert len(record["rows"]) == 4
    assert record["rows"][0]["perplexity"] == pytest.approx(3)
    assert "oracle" in run(*command, "--plot", curves).stdout
    drawn = curves.read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->" in drawn for name in ("uniform", "bradley-terry:prior=1", "oracle"))
    for wrong in (["--test-judges", "x"], ["--sizes", "1.5"]):
        assert run("evaluate", path, *wrong).exit_code == 2


def test_agree(scores: Path, counts: Path, capsys: Any) -> None:
    lines = run("agree", scores, scores).stdout.splitlines()
    assert lines[2].split()[1:4] == ["3", "3", "1.000"]
    assert as_json("agree", scores, scores, "--lower", scores)["agreements"][0]["accuracy"] == 1
    assert run("agree", scores).exit_code == 2
    assert run("agree", scores, scores, "--lower", "other").exit_code == 2
    assert "expected two systems or more in both rankings" in failed(capsys, "agree", scores, counts)
