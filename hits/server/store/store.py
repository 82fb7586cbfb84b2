"""The local market's memory: one SQLite file that the requester endpoint and the worker pages share.

The main path of a worker: `Store.invite` → `Store.worker_by_token` → `Store.available_hits` → `Store.accept` →
`Store.submit`; of a requester: `Store.create_hit` → `Store.assignments` → `Store.approve` or `Store.reject`.
All methods may be called from many threads at once. What a method refuses it raises as `RefusedError` with Mechanical
Turk's code; ``now`` is the time in whole seconds since 1970.

>>> import tempfile
>>> from decimal import Decimal
>>> from hits.server.store.hits import NewHit
>>> from hits.server.store.records import HitProperties
>>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/market.db") as store:
...     labels = HitProperties("Judge phrases", "Ten phrases each", Decimal("0.05"), duration=600)
...     hit = store.create_hit(labels, NewHit("<HTMLQuestion/>", lifetime=3600), now=0)
...     invitation = store.invite("Ada", now=0)
...     worker = store.worker_by_token(invitation.token)
...     assignment = store.accept(worker.id, hit.id, now=10)
...     done = store.submit(assignment.id, worker.id, {"label_1": "YES"}, now=40)
...     print(done.status, store.hit(hit.id, now=40).status, store.earnings(worker.id, now=40).waiting)
submitted Reviewable 0.05
"""

from hits.server.store.hits import Hits
from hits.server.store.people import People
from hits.server.store.qualifications import Qualifications
from hits.server.store.requests import QualificationRequests
from hits.server.store.review import Review
from hits.server.store.work import Work


class Store(People, Hits, Work, Review, Qualifications, QualificationRequests):
    """Open a market file, creating it if it is not there; each base is one family of methods."""
