"""Results as tables of notebooks: HTML without a package, data frames with pandas."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

from rypt.text import RyptError


def html_table(rows: Sequence[Mapping[str, Any]], caption: str = "") -> str:
    """Rows as an HTML table, numbers to the right.

    >>> html_table([{"feature": "lm", "tuned": 0.5}])
    '<table><thead><tr><th>feature<th>tuned</thead><tbody><tr><td>lm<td style="text-align:right">0.5</tbody></table>'
    """
    head = "".join(f"<th>{html.escape(name)}" for name in (rows[0] if rows else ()))
    body = "".join("<tr>" + "".join(map(_cell, row.values())) for row in rows)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return "<td>"
    if isinstance(value, float):
        return f'<td style="text-align:right">{value:.4g}'
    return f"<td>{html.escape(str(value))}"


def data_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as a pandas DataFrame; an error that says how to get pandas where it is not installed."""
    try:
        import pandas  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise RyptError("to_pandas() needs pandas: pip install pandas") from None
    return pandas.DataFrame(list(rows))
