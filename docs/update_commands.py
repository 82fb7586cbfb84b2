"""Write docs/commands.md from the commands' own help."""

from pathlib import Path

import click

from rypt.cli.program import rypt

TARGET = Path(__file__).with_name("commands.md")
HEADER = """# Commands

Results go to stdout, messages and progress to stderr. Exit codes: 0 success, 1 failure (with one line on stderr that
says why), 2 wrong usage. `-` stands for standard input or output; files that end in `.gz` are compressed.
"""


def sections(command: click.Command, context: click.Context, name: str) -> list[str]:
    """The help of a command and of all its subcommands."""
    own = click.Context(
        command, info_name=context.info_name and name.split()[-1], parent=context, max_content_width=100
    )
    own.terminal_width = 100
    parts = [f"## {name}\n\n```text\n{command.get_help(own)}\n```\n"]
    if isinstance(command, click.Group):
        for child in command.list_commands(own):
            found = command.get_command(own, child)
            if found is not None:
                parts += sections(found, own, f"{name} {child}")
    return parts


def commands_page() -> str:
    """The whole page."""
    root = click.Context(rypt, info_name="rypt", **rypt.context_settings)
    root.terminal_width = 100
    parts = [HEADER]
    for name in rypt.list_commands(root):
        found = rypt.get_command(root, name)
        if found is not None:
            parts += sections(found, root, f"rypt {name}")
    return "\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(commands_page(), encoding="utf-8")
