"""Where the real data is, and settings for all tests."""

import gc
import locale
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import mert

settings.register_profile("rypt", deadline=None, max_examples=30)
settings.load_profile("rypt")

COMPILED = Path(mert.__file__).parent / "__pycache__"
REAL = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, for tests wait for servers and other processes much of the time."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on real data and in a browser are slow, and other tests run the same lines."""
    for item in items:
        if item.nodeid.startswith(("tests/real/", "tests/browser/")):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.no_cover)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile before the workers start what else each of them, and each command they run, would compile for itself."""
    one_of_many = hasattr(session.config, "workerinput")
    if one_of_many or not session.config.getoption("numprocesses") or any(COMPILED.glob("*.nbi")):
        return
    session.config.get_terminal_writer().line("compiling, which is done once …")
    with tempfile.TemporaryDirectory() as scratch:
        _run_at_once(scratch, "demo small --small -q", "rank plan --systems 4 --experiments 10")
        _run_at_once(scratch, "tune small --metric rypt -q", "tune small --metric bleu -q")


def _run_at_once(folder: str, *commands: str) -> None:
    program = [sys.executable, "-c", "from rypt.cli import main; main()"]
    running = [
        subprocess.Popen([*program, *command.split()], cwd=folder, stdout=subprocess.DEVNULL)
        for command in commands
    ]
    assert {process.wait() for process in running} == {0}


@pytest.fixture(scope="session", autouse=True)
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let commands that tests run import the installed package: Python looks into the current folder first."""
    before = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("elsewhere"))
    yield
    os.chdir(before)


@pytest.fixture(autouse=True)
def process_unchanged() -> Iterator[None]:
    """Fail a test that leaves the process other than it was: the tests after it would run in another world."""
    before = _process_state()
    yield
    assert _process_state() == before


def _process_state() -> dict[str, object]:
    mask = os.umask(0o022)
    os.umask(mask)
    return {
        "folder": os.getcwd(),
        "environment": {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"},
        "sys.path": list(sys.path),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "recursion": sys.getrecursionlimit(),
        "umask": mask,
        "signals": [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)],
        "locale": locale.setlocale(locale.LC_ALL),
        "floating point": np.geterr(),
        "garbage": gc.get_threshold(),
    }


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Find a folder of real data by name; a test that needs it is skipped where it is absent."""

    def find(name: str) -> Path:
        folder = REAL / name
        if not folder.is_dir():
            pytest.skip(f"the real data {name} is not beside this checkout (../shared/data)")
        return folder

    return find


@pytest.fixture(scope="session")
def demo_campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign made from the bundled data; tests read it and do not change it."""
    from rypt.demo.texts import open_demo

    folder = tmp_path_factory.mktemp("demo") / "campaign"
    open_demo(folder)
    return folder
