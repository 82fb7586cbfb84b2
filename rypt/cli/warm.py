"""``rypt warm``: compile everything now, so that no later command has to.

Commands are run on the demo's texts without the uncompiled form of loops.
"""

import io
import os
import tempfile
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import click

from rypt.console import QUIET, talk, watcher
from rypt.text import RyptError, Watch, unwatched

COMMANDS = """
score small
score small --model table
score small --model severity
explain 3 -C small
queries small
queries small --select value
status small
analyze small
compare small --metrics rypt,bleu --show
tune small --metric rypt --weights small/weights.init --restarts 2
tune small --metric bleu --weights small/weights.init --restarts 2
tune small --metric ter --weights small/weights.init --restarts 1 --aim list
tune small --metric bleu --weights small/weights.init --algorithm pro
tune small --metric bleu --weights small/weights.init --algorithm mira
rank systems wins.csv
rank systems wins.csv -m trueskill
rank systems wins.csv -m bradley-terry
rank systems wins.csv -m hopkins-may
rank simulate --systems 5 --judgments 300 --experiments 3
"""


@click.command()
@QUIET
def warm(quiet: bool) -> None:
    """Compile everything that other commands need, and keep it on the disk.

    Without it a command on large input compiles what it needs when it first runs, which takes a few seconds. Run it
    after installation, as the user who will run rypt or with NUMBA_CACHE_DIR set to a folder that all users can read.
    """
    failed = compile_all(watcher(quiet=quiet))
    if failed:
        raise RyptError(f"not everything could be compiled: {failed[0]}")
    talk("everything is compiled", quiet=quiet)


def compile_all(watch: Watch = unwatched) -> list[str]:
    """Run the commands in a folder that is removed afterwards; returns those that could not be run."""
    from rypt.cli.program import rypt
    from rypt.compiled import compile_always
    from rypt.demo.texts import open_demo

    lines = COMMANDS.strip().splitlines()
    failed = []
    with tempfile.TemporaryDirectory() as folder, chdir(folder), compile_always():
        open_demo(Path("small"))
        write_rankings(Path("wins.csv"))
        for line in watch(lines, "compiling", len(lines)):
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                try:
                    rypt.main([*_words(line)], prog_name="rypt", standalone_mode=False)
                except Exception as error:
                    failed.append(f"{line}: {error}")
    return failed


def _words(line: str) -> Sequence[str]:
    return [word.replace("/", os.sep) for word in line.split()]


def write_rankings(path: Path) -> None:
    """Rankings of four systems by five judges."""
    names = ",".join(f"system{k}Number,system{k}Id" for k in (1, 2, 3, 4))
    ranks = ",".join(f"system{k}rank" for k in (1, 2, 3, 4))
    rows = [f"srclang,trglang,srcIndex,documentId,segmentId,judgeId,{names},{ranks}"]
    for n in range(60):
        systems = ",".join(f"{k},sys-{'abcd'[k - 1]}" for k in (1, 2, 3, 4))
        given = ",".join(str(1 + (n * k + k * k) % (2 + k)) for k in (1, 2, 3, 4))
        rows.append(f"de,en,{n},doc{n // 10},{n},judge{n % 5},{systems},{given}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
