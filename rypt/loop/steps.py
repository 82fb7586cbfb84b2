"""Running rypt's commands from inside rypt, each as a person could type it."""

import io
import json
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

import click

from rypt.children import command_line
from rypt.text import RyptError


def run_step(arguments: Sequence[str]) -> str:
    """Run one command in this process and return what it prints; what it cannot do is a `RyptError`."""
    from rypt.cli.program import rypt

    said = io.StringIO()
    try:
        with redirect_stdout(said):
            code = rypt.main(list(arguments), prog_name="rypt", standalone_mode=False)
    except click.ClickException as error:
        raise RyptError(f"{command_line(arguments)}: {error.format_message()}") from None
    except click.Abort:
        raise KeyboardInterrupt from None
    if code:
        raise RyptError(f"{command_line(arguments)}: ended with exit code {code}")
    return said.getvalue()


def read_result(arguments: Sequence[str], said: str) -> Any:
    """What a step with ``--json`` said."""
    try:
        return json.loads(said)
    except ValueError:
        raise RyptError(f"{command_line(arguments)}: expected JSON, found {said[:60]!r}") from None
