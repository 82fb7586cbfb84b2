"""Compiling the search in a second process, while this one reads, counts, and compiles what that needs.

It is done for large lists when nothing is on the disk yet, so only once: numba compiles one function at a time in a
process. The second process searches a list of two candidates and ends; what it compiles is on the disk when it is
needed, because reading and counting take longer to compile. If it fails or is slow, this process compiles by itself.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

LARGE = 2 << 20  # bytes of lists from which on a second process is worth it
PACKED = 5  # a byte of a gzip file stands for about so many
CHILD = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that numba removes the file that it is writing
from mert.cli.ahead import main
main()
"""


@contextmanager
def compiling_ahead(lists: Sequence[str]) -> Iterator[None]:
    """Compile the search meanwhile, if lists (or the folder of a campaign) are large and it is not on the disk."""
    if not (_size(lists) >= LARGE and os.name == "posix" and _cores() > 1 and sys.executable and _missing()):
        yield
        return
    child = subprocess.Popen(
        [sys.executable, "-P", "-c", CHILD],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        child.terminate()
        child.wait()


def _size(lists: Sequence[str]) -> int:
    """How many bytes of text the lists have, roughly; 0 where that cannot be seen."""
    try:
        paths = [path for each in map(Path, lists) for path in (each.iterdir() if each.is_dir() else [each])]
        return sum(path.stat().st_size * (PACKED if path.suffix == ".gz" else 1) for path in paths)
    except OSError:
        return 0


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _missing() -> bool:
    """Whether the search is to be compiled, and can be kept on the disk."""
    from mert.search.lines import envelopes
    from rypt.compiled import is_on_disk

    return is_on_disk(envelopes) is False


def main() -> None:
    """Search a list of two candidates by compiled loops."""
    import numpy as np

    from mert.metrics.bleu import Bleu
    from mert.optimize import problem_of_shares
    from mert.search.share import Rate, Share, column_facts
    from mert.search.shares import WholeList
    from mert.solve import SearchSettings, solve
    from rypt.compiled import compile_always
    from rypt.metrics.references import References

    offsets, features, start = np.array([0, 2]), np.array([[1.0, 2.0], [2.0, 1.0]], order="F"), np.ones(2)
    metric = Bleu(References([["a b c d e"]]))
    stats = np.array([[5, 5, 5, 4, 3, 2, 5, 4, 3, 2], [5, 5, 4, 3, 2, 1, 5, 4, 3, 2]])
    with compile_always():
        share = Share(offsets, features, None, stats, Rate(metric))
        facts = [column_facts(features, offsets)]
        problem = problem_of_shares(("x", "y"), WholeList(share), facts, metric, start)
        solve(problem, start, SearchSettings(restarts=1))
