"""The first run of each command, with nothing compiled yet, beside a second that finds machine code on the disk.

    python bench/cold.py [--demo] [--list FOLDER]

Commands run on the demo's small campaign, as processes of their own, each with a compile cache of its own. FOLDER holds
``nbest.gz``, ``ref.0`` and ``weights.init``, a list large enough to be worth compiling for; --demo times ``rypt demo``.
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

COMMANDS = (
    "score small",
    "explain 3 -C small",
    "status small",
    "queries small",
    "analyze small",
    "compare small --metrics rypt,bleu --show",
    "tune small --metric rypt --weights small/weights.init",
    "tune small --metric bleu --weights small/weights.init",
)
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
    commands = list(COMMANDS)
    for folder in options.list:
        files = [str((folder / name).resolve()) for name in ("nbest.gz", "ref.0", "weights.init")]
        commands.append(f"tune {files[0]} --references {files[1]} --weights {files[2]}")
    if options.demo:
        commands.append("demo {fresh} -q")
    print(f"{'seconds':60} {'cold CPU':>9} {'cold':>6} {'warm CPU':>9} {'warm':>6}")
    with tempfile.TemporaryDirectory() as folder:
        open_demo(Path(folder, "small"))
        for command in commands:
            with tempfile.TemporaryDirectory() as cache:
                runs = [timed(command.format(fresh=f"demo{n}").split(), folder, cache) for n in range(2)]
            (cold_cpu, cold), (warm_cpu, warm) = runs
            print(f"{command[:60]:60} {cold_cpu:9.2f} {cold:6.2f} {warm_cpu:9.2f} {warm:6.2f}", flush=True)


if __name__ == "__main__":
    main()
