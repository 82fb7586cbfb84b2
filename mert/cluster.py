"""Restarts on a Dask cluster, as an ordinary executor."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import partial
from typing import Any

from mert.optimize import TuningProblem
from rypt.text import RyptError


class DaskExecutor(Executor):
    """Runs calls on a cluster; a problem is sent to each worker once, not with every call."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._sent: dict[int, tuple[TuningProblem, Any]] = {}

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> "Future[Any]":
        """Run one call."""
        shared = [self._share(arg) if isinstance(arg, TuningProblem) else arg for arg in args]
        future: Future[Any] = self.client.submit(partial(function, **named), *shared, pure=False)
        return future

    def _share(self, problem: TuningProblem) -> Any:
        if id(problem) not in self._sent:
            self._sent = {id(problem): (problem, self.client.scatter(problem, broadcast=True))}
        return self._sent[id(problem)][1]


@contextmanager
def dask_executor(address: str, timeout: float = 10.0) -> Iterator[DaskExecutor]:
    """An executor on the cluster whose scheduler is at this address (``tcp://…``)."""
    try:
        from distributed import Client
    except ImportError:
        raise RyptError("--dask needs Dask: pip install 'rypt[cluster]'") from None
    try:
        client: Any = Client(address, timeout=timeout)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise RyptError(f"--dask {address}: no scheduler answers ({error})") from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise RyptError(f"--dask {address}: the cluster has no workers")
        yield DaskExecutor(client)
