"""Write docs/commands.md: each command, what it does in a line, and its synopsis, grouped as in ``rypt --help``."""

from pathlib import Path

import click

from rypt.cli.program import rypt

TARGET = Path(__file__).parents[1] / "docs" / "commands.md"
HEADER = """# Commands

Every command has `--help`, which describes its options. Results go to stdout, messages and progress to stderr. Exit
codes: 0 success, 1 failure (one line on stderr says why), 2 wrong usage. `-` stands for standard input or output; `.gz`
files are compressed. `eval "$(_RYPT_COMPLETE=bash_source rypt)"` completes commands in bash; zsh and fish have their own.
"""


def rows(command: click.Command, context: click.Context, name: str) -> list[str]:
    """A row for a command, or for each subcommand of a group."""
    here = click.Context(command, info_name=name.split()[-1], parent=context)
    if isinstance(command, click.Group):
        children = {child: command.get_command(here, child) for child in command.list_commands(here)}
        return [
            row for child, each in children.items() if each for row in rows(each, here, f"{name} {child}")
        ]
    words = " ".join(command.collect_usage_pieces(here)).replace("|", "\\|")
    return [f"| `{name} {words}` | {command.get_short_help_str(200)} |"]


def commands_page() -> str:
    """The whole page."""
    root = click.Context(rypt, info_name="rypt")
    commands = {name: rypt.get_command(root, name) for name in rypt.list_commands(root)}
    lines = [row for name, each in commands.items() if each for row in rows(each, root, f"rypt {name}")]
    return "\n".join([HEADER, "| Command | What it does |", "|---|---|", *lines, ""])


if __name__ == "__main__":
    TARGET.write_text(commands_page(), encoding="utf-8")
