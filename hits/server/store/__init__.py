"""The data of the local market, and all of its SQL: one SQLite file that requesters' calls and worker pages share.

Each part of a `Store` is one family of questions and steps:

    store.people          invite → by_token, block, notify
    store.hits            create_type, create, all, set_expiration, delete
    store.open_hits       groups, accept_next: what one worker may take
    store.work            accept, submit, give_back; approve, reject, pay_bonus
    store.qualifications  types, workers' values of them, tests

All methods may be called from many threads at once. What a method refuses it raises as `RefusedError` with the
protocol's code; ``now`` is the time in whole seconds since 1970. Records are rows under the protocol's names.

>>> import tempfile
>>> request = {"Title": "Judge phrases", "Description": "Ten phrases each", "Reward": "0.05", "Question": "…",
...            "AssignmentDurationInSeconds": 600, "LifetimeInSeconds": 3600}
>>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/market.db") as store:
...     hit = store.hits.create(request, now=0)
...     worker = store.people.by_token(store.people.invite("Ada", now=0).token)
...     assignment = store.work.accept(worker.id, hit["HITId"], now=10)
...     done = store.work.submit(assignment["AssignmentId"], worker.id, {"label_1": "YES"}, now=40)
...     waiting = store.work.earnings(worker.id, now=40).waiting
...     print(done["AssignmentStatus"], store.hits.find(hit["HITId"], now=40)["HITStatus"], waiting)
Submitted Reviewable 0.05
"""

from types import TracebackType
from typing import Self

from hits.server.store.base import MarketFile
from hits.server.store.hits import HitStore
from hits.server.store.open_hits import OpenHitStore
from hits.server.store.people import PeopleStore
from hits.server.store.qualifications import QualificationStore
from hits.server.store.work import WorkStore
from rypt.text import PathLike


class Store:
    """An open market file, which is made if it does not exist."""

    def __init__(self, path: PathLike) -> None:
        self.file = MarketFile(path)
        self.people = PeopleStore(self.file)
        self.hits = HitStore(self.file)
        self.open_hits = OpenHitStore(self.file)
        self.work = WorkStore(self.file)
        self.qualifications = QualificationStore(self.file)

    def close(self) -> None:
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()
