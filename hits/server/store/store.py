"""The local market's store: one SQLite file that the requester endpoint and the worker pages share.

Each part of a `Store` is one family of questions and steps:

    store.people          invite → by_token, block, notify
    store.hits            create, all, set_expiration, delete
    store.open_hits       groups, closed, accept_next: what one worker may take
    store.work            accept, submit, give_back, earnings
    store.review          approve, reject, pay_bonus
    store.qualifications  types, and workers' values of them
    store.requests        workers ask for qualifications and take tests; the requester decides
    store.signatures      which signed requests were seen
    store.policies        review policies of hits, and what they found and did
    store.figures         the whole market at one moment, for the dashboard

All methods may be called from many threads at once. What a method refuses it raises as `RefusedError` with Mechanical
Turk's code; ``now`` is the time in whole seconds since 1970.

>>> import tempfile
>>> from decimal import Decimal
>>> from hits.server.store.hits import NewHit
>>> from hits.server.store.records import HitProperties
>>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/market.db") as store:
...     labels = HitProperties("Judge phrases", "Ten phrases each", Decimal("0.05"), duration=600)
...     hit = store.hits.create(labels, NewHit("<HTMLQuestion/>", lifetime=3600), now=0)
...     invitation = store.people.invite("Ada", now=0)
...     worker = store.people.by_token(invitation.token)
...     assignment = store.work.accept(worker.id, hit.id, now=10)
...     done = store.work.submit(assignment.id, worker.id, {"label_1": "YES"}, now=40)
...     waiting = store.work.earnings(worker.id, now=40).waiting
...     print(done.status, store.hits.find(hit.id, now=40).status, waiting)
submitted Reviewable 0.05
"""

from types import TracebackType
from typing import Self

from hits.server.store.base import MarketFile
from hits.server.store.figures import FigureStore
from hits.server.store.hits import HitStore
from hits.server.store.open_hits import OpenHitStore
from hits.server.store.people import PeopleStore
from hits.server.store.policies import PolicyStore
from hits.server.store.qualifications import QualificationStore
from hits.server.store.requests import RequestStore
from hits.server.store.review import ReviewStore
from hits.server.store.signatures import SignatureStore
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
        self.review = ReviewStore(self.file)
        self.qualifications = QualificationStore(self.file)
        self.requests = RequestStore(self.file)
        self.signatures = SignatureStore(self.file)
        self.figures = FigureStore(self.file)
        self.policies = PolicyStore(self.file)

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()
