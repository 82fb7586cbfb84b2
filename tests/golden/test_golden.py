"""What came out when the golden numbers were recorded still comes out (`record.py` says what they are)."""

import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPEC = importlib.util.spec_from_file_location("golden_record", HERE / "record.py")
record = importlib.util.module_from_spec(SPEC)
sys.modules["golden_record"] = record  # dataclasses look their module up
SPEC.loader.exec_module(record)
RECORDED = json.loads((HERE / "numbers.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> "record.Workshop":
    """One folder for all processes of a run, in which each campaign is made once."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "golden"
    folder.mkdir(exist_ok=True)
    return record.Workshop(folder)


def check(name: str, shop: "record.Workshop") -> None:
    found = record.tidy(record.GOLDENS[name].make(shop))
    differences = record.differences(RECORDED[name], found, name)
    assert not differences, "\n".join(differences)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, golden in record.GOLDENS.items() if not golden.data])
def test_number(name: str, shop: "record.Workshop") -> None:
    check(name, shop)


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.no_cover
@pytest.mark.parametrize("name", [name for name, golden in record.GOLDENS.items() if golden.data])
def test_number_of_real_data(name: str, shop: "record.Workshop", real_data: Callable[[str], Path]) -> None:
    for folder in record.GOLDENS[name].data:
        real_data(folder)
    check(name, shop)


def test_all_that_is_recorded_is_still_made() -> None:
    assert sorted(RECORDED) == sorted(record.GOLDENS)
