"""Matplotlib figures, made without pyplot (its backend is process-wide), and written completely or not at all."""

from pathlib import Path
from typing import Any

from rypt.text import PathLike, RyptError, open_binary_output

FORMATS = (".svg", ".png", ".pdf")


def check_picture(path: PathLike) -> None:
    """Refuse a file that cannot be drawn to, before anything is computed."""
    if not str(path).endswith(FORMATS):
        raise RyptError(f"{path}: expected a name ending in {', '.join(FORMATS)}")
    if not Path(path).resolve().parent.is_dir():
        raise RyptError(f"{path}: its folder does not exist")


def new_figure(width: float, height: float, *, fitted: bool = True) -> Any:
    """An empty figure of so many inches; panels are fitted so that they do not overlap, unless told otherwise."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained" if fitted else None)


def save_picture(figure: Any, path: PathLike) -> None:
    """Write a figure in the format that the file's name ends in."""
    check_picture(path)
    with open_binary_output(path) as stream:
        figure.savefig(stream, format=Path(path).suffix[1:], dpi=120)
