"""Lists larger than the memory of a worker: a cluster of Dask workers on this machine.

    python bench/scale.py FOLDER [--workers 4] [--limit 1200MB] [--kill 100] [--aim list]

A FOLDER holds ``nbest``, ``ref.0`` … and ``weights.init``. Tunes on workers with a limit on their memory, one of which is
killed after some seconds, and prints the weights and the most memory of each process.
"""

import argparse
import os
import re
import signal
import threading
import time
from collections import defaultdict
from pathlib import Path

import mert


def tune(folder: Path, aim: str, **more):
    began, used = time.perf_counter(), time.process_time()
    result = mert.tune(
        [folder / "nbest"],
        references=[folder / "ref"],
        weights=folder / "weights.init",
        search=mert.SearchSettings(aim=aim, threads=os.cpu_count() or 1),
        **more,
    )
    print(f"BLEU {result.start_score:.4f} → {result.score:.6f}, {result.searches} searches")
    print("weights", " ".join(value.hex() for value in result.weights.values()))
    print("seconds", {name: round(value, 1) for name, value in result.seconds.items()})
    print(f"wall {time.perf_counter() - began:.0f} s, CPU of this process {time.process_time() - used:.0f} s")


def memory_of(process: int | str, name: str) -> int:
    """Megabytes that a process has (VmRSS) or had at most (VmHWM); 0 if it is gone."""
    try:
        return int(re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{process}/status").read_text())[1]) // 1024
    except OSError:
        return 0


def run_cluster(folder: Path, aim: str, workers: int, limit: str, kill: float) -> None:
    from distributed import LocalCluster

    from mert.cluster import open_cluster

    peaks: dict[int, int] = defaultdict(int)
    done = threading.Event()
    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        host="127.0.0.1",
        memory_limit=limit,
    ) as local:
        victim = next(iter(local.workers.values())).pid

        def watch() -> None:
            while not done.wait(0.5):
                for worker in list(local.workers.values()):
                    peaks[worker.pid] = max(peaks[worker.pid], memory_of(worker.pid, "VmHWM"))

        threading.Thread(target=watch, daemon=True).start()
        if kill:
            timer = threading.Timer(kill, lambda: os.kill(victim, signal.SIGKILL))
            timer.daemon = True
            timer.start()
        with open_cluster(local.scheduler_address) as cluster:
            tune(folder, aim, cluster=cluster)
            print(f"worker {victim if kill else 'none'} was killed")
        done.set()
        print("most memory of the workers, MB:", dict(peaks), "of this process:", memory_of("self", "VmHWM"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--aim", default="unseen")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--limit", default="1200MB")
    parser.add_argument("--kill", type=float, default=0.0, help="seconds after which a worker is killed")
    given = parser.parse_args()
    run_cluster(given.folder, given.aim, given.workers, given.limit, given.kill)


if __name__ == "__main__":
    main()
