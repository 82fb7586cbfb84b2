"""Inviting workers to a local market, their names, and what is new there; the server need not be running."""

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hits.market.folder import STORE_NAME, served_access
from hits.server.store import Store
from rypt.text import PathLike


@dataclass(frozen=True, slots=True)
class Invited:
    """A person who was invited, the worker id on the market, and the link to send."""

    name: str
    worker: str
    link: str


def invite(folder: PathLike, names: Iterable[str], *, country: str | None = None) -> list[Invited]:
    """Make an invitation link for each name; the same name is the same worker, who then has one more link.

    ``country`` is where they live (ISO 3166, such as DE), for hits that ask for it.
    """
    access, now = served_access(folder), int(time.time())
    country = country.upper() if country else None
    with Store(Path(folder) / STORE_NAME) as store:
        people = [store.people.invite(name, now, country=country) for name in dict.fromkeys(names)]
    return [
        Invited(person.worker.name, person.worker.id, access.invitation_url(person.token))
        for person in people
    ]


def revoke(folder: PathLike, people: Iterable[str]) -> int:
    """Take back all invitation links of people, given by name or by worker id; the number of links that were valid."""
    served_access(folder)
    with Store(Path(folder) / STORE_NAME) as store:
        workers = [store.people.named(person).id for person in dict.fromkeys(people)]
        return sum(store.people.revoke(worker, int(time.time())) for worker in workers)


def open_hits(folder: PathLike) -> int:
    with Store(Path(folder) / STORE_NAME) as store:
        return store.hits.count_open(int(time.time()))


def uncollected(folder: PathLike, known: Mapping[str, str], batches: Collection[str]) -> int:
    """How many assignments of these batches a local market has that are new, or were reviewed since they were known.

    ``known`` has the status of each assignment that was collected.
    """
    path = Path(folder) / STORE_NAME
    if not path.exists():
        return 0
    with Store(path) as store:
        statuses = store.work.statuses(int(time.time()))
    return sum(known.get(assignment) != status for assignment, status, batch in statuses if batch in batches)


def worker_names(folder: PathLike) -> dict[str, str]:
    path = Path(folder) / STORE_NAME
    if not path.exists():
        return {}
    with Store(path) as store:
        return {worker.id: worker.name for worker in store.people.all()}
