"""The command ``rypt`` and its subcommands: parse, call, print."""

from rypt.cli.program import main

__all__ = ["main"]
