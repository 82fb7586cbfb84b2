"""Simulated workers on a real market: they come in over HTTP, read the pages, answer from known truth, and send.

    simulate("market", "dev.truth.jsonl", Crew(workers=5, accuracy=0.9))   →   Simulation

One worker acts at a time, always the one who has done the fewest hits.
"""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from urllib.parse import quote

from hits.market.served import is_served
from hits.server.invitations import invite
from hits.simulate.truth import Truth, read_truth
from hits.simulate.worker import AwayError, Character, Tally, Visitor, answer
from hits.simulated import SIMULATED_NAME
from rypt.campaign.folder import Campaign
from rypt.text import PathLike, RyptError

SPAM_KINDS = ("yes", "random")
POLL_FIRST, POLL_LONGEST = 0.2, 2.0  # seconds between looks for new hits
TRIES = 5  # looks at a market that does not answer, before it counts as closed


@dataclass(frozen=True, slots=True)
class Crew:
    """The simulated workers: their number, accuracy, and the share of spammers.

    ``not_sure`` is how often an honest worker says NOT SURE of what is clear. ``seconds`` is the time of an answer, and
    ``pace`` how much of it is really waited for. ``prefix`` stands in the workers' names: other workers, other answers.
    """

    workers: int = 5
    accuracy: float = 0.9
    spam: float = 0.2
    spam_kind: str = "yes"
    not_sure: float = 0.03
    seconds: float = 8.4
    pace: float = 0.0
    seed: int = 1
    prefix: str = ""

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("accuracy", self.accuracy, 0, 1),
            ("spam", self.spam, 0, 1),
            ("not_sure", self.not_sure, 0, 1),
            ("workers", self.workers, 1, inf),
            ("seconds", self.seconds, 0, inf),
            ("pace", self.pace, 0, inf),
        ):
            if not least <= value <= most:
                raise RyptError(f"{name} must be between {least} and {most}, got {value}")
        if self.spam_kind not in SPAM_KINDS:
            raise RyptError(f"the kind of spam must be {' or '.join(SPAM_KINDS)}, got {self.spam_kind!r}")

    def characters(self) -> list[Character]:
        """The workers; the last ones are the spammers."""
        spammers = round(self.spam * self.workers)
        return [
            Character(
                f"{SIMULATED_NAME}{self.prefix}{number + 1}",
                self.accuracy,
                self.not_sure,
                self.spam_kind if number >= self.workers - spammers else "",
                self.seed,
            )
            for number in range(self.workers)
        ]


@dataclass(slots=True, eq=False)
class Person:
    """A simulated worker at work; ``free`` is when the answers to the present page would be ready."""

    who: Character
    id: str
    visitor: Visitor
    tally: Tally = field(default_factory=Tally)
    free: float | None = None


@dataclass(frozen=True, slots=True)
class Simulation:
    """The result of a simulation; ``hours`` is the time that people would need, ``elapsed`` that of the busiest one."""

    people: tuple[Person, ...]
    hours: float
    elapsed: float
    closed: bool

    @property
    def total(self) -> Tally:
        total = Tally()
        for person in self.people:
            total.add(person.tally)
        return total


def simulate(
    market: PathLike,
    truth: Truth | PathLike,
    crew: Crew | None = None,
    *,
    campaign: Campaign | PathLike | None = None,
    watch: bool = False,
    stop: threading.Event | None = None,
    waiting: Callable[[], None] = lambda: None,
    done: Callable[[Tally], None] = lambda tally: None,
) -> Simulation:
    """Let simulated workers do all there is to do on a market: a served folder, or a shared link (``…/join/…``).

    ``campaign`` has the sources, if the truth has not. With ``watch`` they wait for a folder to be served and then for
    more hits, until ``stop`` is set or the market is closed. ``waiting`` is called before such a wait for the market,
    ``done`` after every hit.
    """
    crew, stop = crew or Crew(), stop or threading.Event()
    if not isinstance(truth, Truth):
        truth = read_truth(truth, None if campaign is None else _sources(campaign))
    if watch and not is_link(market) and not is_served(Path(market)):
        waiting()
        while not is_served(Path(market)):
            if stop.wait(POLL_LONGEST):
                return Simulation((), 0.0, 0.0, False)
    people = _come_in(market, crew)
    closed, idle = False, POLL_FIRST
    while not (stop.is_set() or closed):
        try:
            worked = _work(people, truth, crew, stop, done)
        except AwayError:
            if not watch:
                raise
            worked, closed = False, not _comes_back(people, stop)
        if not (worked or watch):
            break
        idle = POLL_FIRST if worked else min(2 * idle, POLL_LONGEST)
        if not (worked or closed or stop.wait(idle)):
            closed = not _comes_back(people, stop)
    counts = [person.tally.answers for person in people]
    hours = sum(counts) * crew.seconds / 3600
    return Simulation(tuple(people), hours, max(counts) * crew.seconds / 3600, closed)


def _sources(campaign: Campaign | PathLike) -> dict[str, str]:
    opened = campaign if isinstance(campaign, Campaign) else Campaign.open(campaign)
    return {segment.id: segment.text for segment in opened.segments}


def _work(
    people: list[Person], truth: Truth, crew: Crew, stop: threading.Event, done: Callable[[Tally], None]
) -> bool:
    """Do hits until nobody sees one; return True if any was done."""
    worked = False
    refused: list[Person] = []
    while not stop.is_set():
        seeing = [person for person in people if person not in refused and person.visitor.sees_hit()]
        if not seeing:
            break
        person = min(seeing, key=lambda person: person.visitor.page.done)
        if not person.visitor.accept():
            refused.append(person)
            continue
        refused.clear()
        tally = Tally(hits=1)
        fields = answer(person.visitor.page, truth, person.who, tally)
        if not _wait(person, crew.pace * crew.seconds * max(tally.answers, 1), stop):
            break
        if person.visitor.send(fields):
            worked = True
            person.tally.add(tally)
            done(tally)
        person.free = time.monotonic()
    return worked


def _wait(person: Person, needed: float, stop: threading.Event) -> bool:
    """Take as long as the answers need, from when the page came; return False when stopped."""
    if not needed:
        return True
    ready = (time.monotonic() if person.free is None else person.free) + needed
    return not stop.wait(max(0.0, ready - time.monotonic()))


def _comes_back(people: list[Person], stop: threading.Event) -> bool:
    """Open each worker's list of hits; return False if the market does not answer."""
    for attempt in range(TRIES):
        try:
            for person in people:
                person.visitor.look()
            return True
        except AwayError:
            if stop.wait(POLL_FIRST * 2**attempt):
                return True
    return False


def is_link(market: PathLike) -> bool:
    """Whether a market is given by its shared link, rather than by its folder."""
    return re.match(r"https?://", str(market)) is not None


def _come_in(market: PathLike, crew: Crew) -> list[Person]:
    """Everybody opens a link: an invitation of the folder's market, or the shared one."""
    if is_link(market):
        return [Person(who, "", Visitor(_shared(str(market), who.name))) for who in crew.characters()]
    crowd = crew.characters()
    people = []
    for who, person in zip(crowd, invite(market, [who.name for who in crowd]), strict=True):
        try:
            visitor = Visitor(person.link)
        except AwayError as error:
            raise AwayError(f"{error}; is `rypt hits serve {market}` running?") from None
        people.append(Person(who, person.worker, visitor))
    return people


def _shared(link: str, name: str) -> str:
    """The shared link with a worker's name where the recruiting service puts its id."""
    base, mark, parameter = link.partition("?")
    if "/join/" not in base:
        raise RyptError(f"expected a folder or a shared link as `rypt hits serve` prints it, got {link}")
    return f"{base}?{parameter.partition('=')[0] if mark else 'PROLIFIC_PID'}={quote(name)}"
