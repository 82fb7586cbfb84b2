"""What several files say of the project is the same in all of them: version, licence, Pythons, checks."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_citation_is_of_this_version() -> None:
    fields = dict(re.findall(r"^([a-z-]+): (.+)$", read("CITATION.cff"), re.MULTILINE))
    project = PROJECT["project"]
    assert fields["cff-version"] == "1.2.0"
    assert (fields["version"], fields["license"]) == (project["version"], project["license"])
    assert fields["repository-code"] == project["urls"]["Homepage"]


def test_all_pythons_that_are_promised_are_tested() -> None:
    (matrix,) = re.findall(r"python: \[(.*)\]", read(".github/workflows/tests.yml"))
    tested = re.findall(r'"(3\.\d+)"', matrix)
    promised = [name.rpartition(" :: ")[2] for name in PROJECT["project"]["classifiers"]]
    assert [name for name in promised if re.fullmatch(r"3\.\d+", name)] == tested
    assert PROJECT["project"]["requires-python"] == f">={tested[0]}"


def test_the_workflow_and_the_hooks_run_what_ci_runs() -> None:
    assert re.findall(r"- run: (\S+)", read(".github/workflows/tests.yml")) == [".ci/run"]
    hooks = re.findall(r"entry: (.+)", read(".pre-commit-config.yaml"))
    checks = re.findall(r"^\.venv/bin/((?:ruff|mypy).*)$", read(".ci/run"), re.MULTILINE)
    assert [check.removesuffix(" .").replace(" --check", "") for check in checks] == hooks


def test_ci_measures_coverage_with_the_readmes_command() -> None:
    (command,) = re.findall(r"^python3 -m venv .*pytest$", read("README.md"), re.MULTILINE)
    assert f"{command} --cov" in read(".ci/run")
    assert PROJECT["tool"]["coverage"]["report"]["fail_under"] > 0
