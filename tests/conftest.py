"""Where the real data is, and settings for all tests."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("rypt", deadline=None, max_examples=50)
settings.load_profile("rypt")

REAL = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, for tests wait for servers and other processes much of the time."""
    return (os.cpu_count() or 1) + 1


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
    from rypt.demo_campaign import open_demo

    folder = tmp_path_factory.mktemp("demo") / "campaign"
    open_demo(folder)
    return folder
