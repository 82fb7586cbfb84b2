"""The first run of each command, with nothing compiled yet, beside a second that finds machine code on the disk.

    python bench/cold.py [--demo] [--list FOLDER]

Commands run on the demo's small campaign, as processes of their own, each with a compile cache of its own. FOLDER holds
``nbest.gz``, ``ref.0`` and ``weights.init``, a list large enough to be worth compiling for; --demo times ``rypt demo``.
"Before" are wall seconds of the same commands on two cores of the same kind at commit 500ccff, the last one that
compiled everything a command touches; single runs, on a quiet machine but for compare and rank, which ran on a busy
one.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rypt.demo.texts import open_demo

BEFORE: dict[str, tuple[float, float] | None] = {  # cold and warm seconds at commit 500ccff
    "score small": (5.6, 0.5),
    "explain 3 -C small": (5.6, 0.5),
    "status small": (5.8, 0.7),
    "queries small": (1.2, 0.5),
    "analyze small": (7.5, 1.8),
    "compare small --metrics rypt,bleu --show": (15.3, 2.6),
    "tune small --metric rypt --weights small/weights.init": (11.6, 0.7),
    "tune small --metric bleu --weights small/weights.init": (7.8, 0.6),
}
RYPT = [sys.executable, "-c", "from rypt.cli import main; main()"]


def timed(command: list[str], folder: str, cache: str) -> tuple[float, float]:
    """CPU and wall seconds of a process and its children."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    subprocess.run([*RYPT, *command], cwd=folder, env=environment, check=True, capture_output=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    """Time all commands and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--demo", action="store_true", help="time rypt demo, too (minutes)")
    parser.add_argument("--list", type=Path, action="append", default=[], metavar="FOLDER")
    options = parser.parse_args()
    commands = dict(BEFORE)
    for folder in options.list:
        files = [str((folder / name).resolve()) for name in ("nbest.gz", "ref.0", "weights.init")]
        commands[f"tune {files[0]} --references {files[1]} --weights {files[2]}"] = None
    if options.demo:
        commands["demo {fresh} -q"] = None
    print(
        f"{'seconds':60} {'cold CPU':>9} {'cold':>6} {'warm CPU':>9} {'warm':>6} {'before: cold':>13} {'warm':>6}"
    )
    with tempfile.TemporaryDirectory() as folder:
        open_demo(Path(folder, "small"))
        for command, before in commands.items():
            with tempfile.TemporaryDirectory() as cache:
                runs = [timed(command.format(fresh=f"demo{n}").split(), folder, cache) for n in range(2)]
            known = f"{before[0]:13.1f} {before[1]:6.1f}" if before else ""
            (cold_cpu, cold), (warm_cpu, warm) = runs
            print(
                f"{command[:60]:60} {cold_cpu:9.2f} {cold:6.2f} {warm_cpu:9.2f} {warm:6.2f} {known}",
                flush=True,
            )


if __name__ == "__main__":
    main()
