"""The documentation is true: commands, README, links, set-up, rooms, the names of functions and files."""

import doctest
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rypt.cli import program as cli

ROOT = Path(__file__).resolve().parents[1]
MAPS = [ROOT / "docs" / "developers.md"]  # they name functions and files
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


@pytest.mark.slow
def test_commands_page_is_what_the_commands_say() -> None:
    """In a process of its own: a command remembers how its help was first asked for."""
    code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['commands_page'](), end='')"
    command = [sys.executable, "-P", "-c", code, str(ROOT / ".ci" / "update_commands.py")]
    page = subprocess.run(
        command, check=True, capture_output=True, text=True, encoding="utf-8", timeout=180
    ).stdout
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == page


@pytest.mark.slow
def test_readme_examples_run() -> None:
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted > 8
    assert result.failed == 0


def test_examples_of_other_parsers_and_aligners_run() -> None:
    result = doctest.testfile(str(ROOT / "docs" / "formats.md"), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_readme_has_two_set_up_commands_and_ci_runs_the_second() -> None:
    commands = re.findall(
        r"^python3 -m venv .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(commands) == 2
    assert commands[0].endswith("rypt demo")
    assert commands[1].endswith("pytest")
    assert commands[1] in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_examples_exist(page: Path) -> None:
    """Every ``rypt …`` line in a shell block names real commands and options."""
    for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if not line.startswith("rypt "):
                continue
            words = shlex.split(line, comments=True)[1:]
            command = cli.rypt
            while hasattr(command, "get_command") and words:
                command = command.get_command(None, words.pop(0))
                assert command is not None, line
            known = {option for parameter in command.params for option in parameter.opts}
            for word in words:
                if word.startswith("-") and word != "-":
                    assert word in known, f"{word} in {line}"


def test_blocks_of_commands_are_run_or_say_why_not() -> None:
    """Commands stand in blocks of ``sh``, which another test runs unless their first line says why not."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"^```(bash|shell|console)", text, re.MULTILINE), page.name
        for line in re.findall(r"^# example only.*$", text, re.MULTILINE):
            assert re.fullmatch(r"# example only: .{8,}", line), f"{line} in {page.name}"
            assert f"```sh\n{line}\n" in text, f"{line} in {page.name}"


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """Every link and every anchor of the pages leads somewhere, and the navigation names every page."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert built.returncode == 0, built.stdout + built.stderr
    home = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f": {page.name}\n" in navigation, page.name
    assert "tutorial.html" in home
    assert not re.search(
        r'(src|<link[^>]* href)="https?://(?!rypt)', home
    )  # nothing is loaded from elsewhere


def test_pages_speak_of_the_product_alone() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8").lower()
        for word in ("/work/", "/tmp/", "todo", "claude"):
            assert word not in text, f"{word} in {page.name}"


def test_the_map_names_every_room() -> None:
    page = (ROOT / "docs" / "developers.md").read_text(encoding="utf-8")
    folders = [
        p.parent for package in ("rypt", "mert", "hits") for p in (ROOT / package).glob("*/__init__.py")
    ]
    rooms = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert set(re.findall(r"^\| `([a-z]+\.[a-z_]+)` \|", page, re.MULTILINE)) == rooms


def test_functions_that_the_maps_name_exist() -> None:
    missing = set()
    for page in MAPS:
        for name in re.findall(
            r"`((?:rypt|mert|hits)\.[\w.]+)(?:\([^`]*\))?`", page.read_text(encoding="utf-8")
        ):
            try:
                pkgutil.resolve_name(name)
            except (AttributeError, ImportError):
                missing.add(name)
    assert missing <= {"rypt.toml"}


@pytest.mark.parametrize("page", MAPS, ids=lambda page: page.name)
def test_files_that_the_maps_name_exist(page: Path) -> None:
    names = re.findall(
        r"`((?:rypt|mert|hits|tests|docs|examples)/[\w./-]+)`", page.read_text(encoding="utf-8")
    )
    new = re.compile(r"NAME|cer\.py")  # what a recipe tells to make
    assert [name for name in names if not new.search(name) and not (ROOT / name).exists()] == []
    assert names
