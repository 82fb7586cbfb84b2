"""Rankings as files: tables and pictures, by the ending of the file's name."""

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

from hits.ranking.table import html_page
from rypt.picture import FORMATS as PICTURES
from rypt.picture import check_picture
from rypt.text import InputError, PathLike, open_output

if TYPE_CHECKING:
    from hits.ranking.rank import SystemTable
    from hits.ranking.side_by_side import SideBySide

STYLES = {".txt": "text", ".md": "markdown", ".tex": "latex", ".html": "html"}  # endings of tables
ENDINGS = (".csv", ".json", *STYLES, *PICTURES)


def check_output(path: PathLike) -> str:
    """The ending of a file's name; one that cannot be written is refused before anything is computed."""
    ending = Path(str(path).removesuffix(".gz")).suffix
    if ending not in ENDINGS:
        raise InputError(path, None, f"expected a {', '.join(ENDINGS)} file")
    if ending in PICTURES:
        check_picture(path)
    return ending


def write_output(path: PathLike, table: "SystemTable | SideBySide") -> None:
    """Write a table or a picture, completely or not at all."""
    ending = check_output(path)
    if ending in PICTURES:
        from hits.ranking.plot import plot_ranking

        plot_ranking(path, table.groups)
        return
    with open_output(path) as stream:
        if ending == ".csv":
            records = table.records()
            names = dict.fromkeys(name for record in records for name in record)
            writer = csv.DictWriter(stream, list(names))
            writer.writeheader()
            writer.writerows(records)
        elif ending == ".json":
            stream.write(json.dumps(table.as_dict(), ensure_ascii=False) + "\n")
        else:
            text = table.as_table(STYLES[ending])
            stream.write((html_page(text) if ending == ".html" else text) + "\n")
