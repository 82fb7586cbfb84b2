"""Rankings as files: tables and pictures, by the ending of the file's name."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from hits.ranking.result import RankedGroup
from hits.ranking.table import html_page
from rypt.picture import FORMATS as PICTURES
from rypt.picture import check_picture
from rypt.text import InputError, PathLike, open_output

STYLES = {".txt": "text", ".md": "markdown", ".tex": "latex", ".html": "html"}  # endings of tables
ENDINGS = (".csv", ".json", *STYLES, *PICTURES)


class Written(Protocol):
    """What can be written: a table of one model, or of several side by side."""

    @property
    def groups(self) -> tuple[RankedGroup, ...]:
        """What a picture shows."""
        ...

    def as_table(self, style: str = "text") -> str:
        """A table: text, markdown, latex or html."""
        ...

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        ...

    def records(self) -> Sequence[dict[str, Any]]:
        """For CSV."""
        ...


def check_output(path: PathLike) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    ending = _ending(path)
    if ending not in ENDINGS:
        raise InputError(path, None, f"expected a {', '.join(ENDINGS)} file")
    if ending in PICTURES:
        check_picture(path)


def _ending(path: PathLike) -> str:
    return Path(str(path).removesuffix(".gz")).suffix


def write_output(path: PathLike, table: Written) -> None:
    """Write a table or a picture, completely or not at all."""
    check_output(path)
    ending = _ending(path)
    if ending in PICTURES:
        from hits.ranking.plot import plot_ranks

        plot_ranks(path, table.groups)
        return
    with open_output(path) as stream:
        if ending == ".csv":
            records = table.records()
            writer = csv.DictWriter(
                stream, list(dict.fromkeys(name for record in records for name in record))
            )
            writer.writeheader()
            writer.writerows(records)
        elif ending == ".json":
            stream.write(json.dumps(table.as_dict(), ensure_ascii=False) + "\n")
        else:
            text = table.as_table(STYLES[ending])
            stream.write((html_page([text]) if ending == ".html" else text) + "\n")
