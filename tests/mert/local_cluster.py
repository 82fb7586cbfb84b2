"""A real Dask cluster of four workers on this machine, in a process of its own.

Dask changes the environment and the import path of the process that starts workers, and gives up a killed worker that
is slow to come back: a process of its own keeps both away from the tests.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

WORKERS = 4
SECONDS = 240  # for all workers to start, on a busy machine


@dataclass(frozen=True)
class Cluster:
    """A running cluster."""

    scheduler_address: str

    def workers(self) -> set[int]:
        """The processes of the workers that are there now."""
        from distributed import Client

        with Client(self.scheduler_address) as client:
            return set(client.run(os.getpid).values())


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """A cluster that ends with the block; a worker with more than 300 MB (to the letter: 95 % of it) is killed."""
    process = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("tcp://127.0.0.1:"), "the cluster did not start"
        yield Cluster(address)
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def kill_worker(mark: str, most: int) -> int:
    """Kill the worker that runs this, until it was run so often."""
    with open(mark, "a+b") as file:
        file.write(b"x")
        file.flush()
        if file.tell() < most:
            os.kill(os.getpid(), signal.SIGKILL)
        return file.tell()


def main() -> None:
    """Run a cluster until standard input is closed."""
    import dask
    from distributed import Client, LocalCluster

    unused = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause")}
    with (
        dask.config.set(unused),
        LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            host="127.0.0.1",
            memory_limit="300MB",
        ) as cluster,
    ):
        with Client(cluster.scheduler_address) as client:
            client.wait_for_workers(WORKERS, timeout=SECONDS)
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
