"""Where the real data is, and settings for all tests."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("rypt", deadline=None)
settings.load_profile("rypt")

REAL = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def real_data(request: pytest.FixtureRequest) -> Path:
    """The folder of real data named by the test's ``real`` mark; the test is skipped where it is absent."""
    folder = REAL / request.node.get_closest_marker("real").args[0]
    if not folder.is_dir():
        pytest.skip(f"the real data {folder.name} is not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def demo_campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign made from the bundled data; tests read it and do not change it."""
    from rypt.demo_campaign import open_demo

    folder = tmp_path_factory.mktemp("demo") / "campaign"
    open_demo(folder)
    return folder
