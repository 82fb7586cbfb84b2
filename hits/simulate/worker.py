"""One simulated worker: comes in by a link, agrees, reads pages, answers, sends.

Every answer follows from (seed, worker, question) alone. When it was given, and in which order, changes nothing.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from http.cookiejar import CookieJar
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, ProxyHandler, Request, build_opener

from hits.records import MAX_RANKED, Choice, Kind
from hits.simulate.page import Form, Page, ShownText, read_page
from hits.simulate.truth import Truth
from rypt.records import SEVERITIES, Label, Span
from rypt.text import RyptError

TIMEOUT = 60
SLIGHTLY, BADLY = SEVERITIES


class AwayError(RyptError):
    """The market does not answer."""


@dataclass(frozen=True, slots=True)
class Character:
    """What a worker is like: ``spam`` is empty, ``yes`` (always the first answer) or ``random``."""

    name: str
    accuracy: float = 0.9
    not_sure: float = 0.03
    spam: str = ""
    seed: int = 1

    def chance(self, *question: str) -> random.Random:
        """The random numbers of one question, the same whenever it is asked."""
        text = "\0".join((str(self.seed), self.name, *question))
        return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))


@dataclass(slots=True)
class Tally:
    """What a worker did: hits, answers, and how many of those whose answer is known were right."""

    hits: int = 0
    answers: int = 0
    labels: dict[str, int] = field(default_factory=dict)
    right: int = 0
    known: int = 0

    def count(self, given: str, truth: str | None) -> None:
        """One answer; a label NOT_SURE is neither right nor wrong, nor is an answer to what nobody knows."""
        self.answers += 1
        if given in Label.__members__:
            self.labels[given] = self.labels.get(given, 0) + 1
        if truth is not None and given != Label.NOT_SURE:
            self.known += 1
            self.right += given == truth

    def add(self, other: "Tally") -> None:
        """Count what another tally has counted, too."""
        self.hits += other.hits
        self.answers += other.answers
        self.right += other.right
        self.known += other.known
        for label, count in other.labels.items():
            self.labels[label] = self.labels.get(label, 0) + count


def answer(page: Page, truth: Truth, who: Character, tally: Tally) -> dict[str, str]:
    """The fields of a hit's form, as this worker fills it in."""
    if page.hit is None or page.source is None or page.kind is None:
        raise RyptError(
            "the market has a hit that is no label, comparison or ranking of rypt's; expire it first"
        )
    choices = page.hit.choices
    segment = truth.segment(page.source.tokens)
    if page.kind is Kind.LABEL:
        span = Span(page.source.marked[0], page.source.marked[-1] + 1) if page.source.marked else Span(0, 0)
        return {
            name: _label(segment, span, shown, truth, who, tally, choices[name])
            for name, shown in page.texts
            if name in choices
        }
    texts = [shown.text for _, shown in page.texts]
    scores = [truth.score(segment, text) for text in texts]
    where = segment or page.source.text
    if page.kind is Kind.COMPARISON:
        return {"choice": _choice(where, texts, scores, who, tally)}
    return {
        name: _rank(where, text, rank, who, tally)
        for (name, _), text, rank in zip(page.texts, texts, _ranks(scores), strict=True)
    }


def _label(
    segment: str | None,
    span: Span,
    shown: ShownText,
    truth: Truth,
    who: Character,
    tally: Tally,
    choices: Sequence[str],
) -> str:
    """The answer to one alternative; a NO is slight or bad where the page asks for that, right as often as a label."""
    known = truth.label(segment, span, shown.phrase) if shown.phrase else Label.NOT_SURE
    chance = who.chance("label", segment or "", str(span), shown.phrase)
    luck, doubt = chance.random(), chance.random()
    if who.spam:
        given = Label.YES if who.spam == "yes" else chance.choice(list(Label))
    elif known is Label.NOT_SURE or doubt < who.not_sure:
        given = Label.NOT_SURE
    else:
        given = known if luck < who.accuracy else Label.NO if known is Label.YES else Label.YES
    tally.count(str(given), None if known is Label.NOT_SURE else str(known))
    if given is Label.NO and given not in choices:
        slight = known is not Label.NO or truth.is_slight(segment, span, shown.phrase)
        lucky = chance.random() < (0.5 if who.spam else who.accuracy)
        return SLIGHTLY if slight == lucky else BADLY
    return str(given)


def _choice(where: str, texts: list[str], scores: list[float | None], who: Character, tally: Tally) -> str:
    a, b = scores
    better = Choice.EQUAL if a is None or b is None or a == b else Choice.A if a > b else Choice.B
    ordered = sorted(texts)  # the sides are drawn by the batch: the same question has the same chance
    chance = who.chance("comparison", where, *ordered)
    if who.spam:
        given = Choice.A if who.spam == "yes" else chance.choice(list(Choice))
    else:
        given = better
        if chance.random() >= who.accuracy:
            sides = [Choice.A, Choice.B] if ordered == texts else [Choice.B, Choice.A]
            given = chance.choice([choice for choice in (*sides, Choice.EQUAL) if choice is not better])
    tally.count(str(given), None if a is None or b is None else str(better))
    return str(given)


def _ranks(scores: list[float | None]) -> list[int | None]:
    """Ranks from 1, the same for equal scores; None where nothing is known."""
    ordered = sorted({score for score in scores if score is not None}, reverse=True)
    return [None if score is None else 1 + ordered.index(score) for score in scores]


def _rank(where: str, text: str, rank: int | None, who: Character, tally: Tally) -> str:
    chance = who.chance("ranking", where, text)
    luck, other = chance.random(), chance.randint(1, MAX_RANKED - 1)
    if who.spam:
        given = 1 if who.spam == "yes" else chance.randint(1, MAX_RANKED)
    elif rank is None:
        given = MAX_RANKED // 2 + 1
    else:
        given = rank if luck < who.accuracy else other + (other >= rank)
    tally.count(str(given), None if rank is None else str(rank))
    return str(given)


class Visitor:
    """A worker's browser: cookies, links and forms; a page is read again before anything is done with it."""

    def __init__(self, link: str) -> None:
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()), ProxyHandler({}))
        self._place = link
        self.page = self._ask(link)
        if (form := self.page.form("/work/consent")) is not None:
            self.page = self._ask(form.action, {**form.hidden, "agree": "yes"})
        self._home = self._place
        if not self.page.inside:
            raise RyptError(f"the market lets nobody in by {link}")

    def _ask(self, address: str, fields: Mapping[str, str] | None = None) -> Page:
        """Ask for a page; a refusal is a page, too."""
        data = urlencode(fields).encode() if fields is not None else None
        request = Request(urljoin(self._place, address), data, {"Accept-Language": "en"})
        try:
            with self._opener.open(request, timeout=TIMEOUT) as response:
                self._place = response.url
                return read_page(response.read().decode("utf-8", "replace"))
        except HTTPError as error:
            with error:
                if error.code >= 500:
                    raise AwayError(f"the market failed: {error.code}") from None
                return read_page(error.read().decode("utf-8", "replace"))
        except (OSError, HTTPException) as error:
            raise AwayError(f"the market does not answer: {error}") from None

    def look(self) -> None:
        """Go back to the list of hits, and on with one that was accepted before."""
        self.page = self._ask(self._home)
        if self.page.links:
            self.page = self._ask(self.page.links[0])

    def sees_hit(self) -> bool:
        """Whether there is a hit to go on with or to accept; nothing is accepted."""
        if self.page.hit is None and not self.page.links and self.page.form("/work/next") is None:
            self.look()
        return self.page.hit is not None or bool(self.page.links) or self.page.form("/work/next") is not None

    def accept(self) -> bool:
        """Have a hit on the page: the one that is there, or the next; False when there is none."""
        if self.page.hit is None and self.page.links:
            self.page = self._ask(self.page.links[0])
        if self.page.hit is None and (form := self.page.form("/work/next")) is not None:
            self.page = self._ask(form.action, form.hidden)
        if self.page.hit is None and (form := self._training()) is not None:  # then the paid work may begin
            first = {name: values[0] for name, values in form.choices.items()}
            self.page = self._ask(form.action, {**form.hidden, **first})
            return self.accept()
        return self.page.hit is not None

    def _training(self) -> Form | None:
        """The form of the exercises before the first hit of a batch, if they are on the page."""
        return next((form for form in self.page.forms if "/work/training/" in form.action), None)

    def send(self, fields: Mapping[str, str]) -> bool:
        """Send a hit's answers; the market shows the next hit at once. False when it does not take them any more."""
        form = self.page.hit
        assert form is not None
        self.page = self._ask(form.action, {**form.hidden, **fields})
        if self.page.inside:
            return True
        self.look()
        if self.page.hit is not None and self.page.hit.hidden["assignmentId"] == form.hidden["assignmentId"]:
            raise RyptError("the market refused the answers to a hit and shows it again")
        return False
