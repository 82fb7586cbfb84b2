"""Files made of lines."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: str, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return path

    return write
