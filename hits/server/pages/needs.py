"""What hits ask of workers, in the worker's words; and the hits that are closed to a worker for good reasons."""

import sqlite3
from dataclasses import dataclass

from hits.batches.layout import language_name
from hits.market.qualification_types import language_of
from hits.qualifications import LOCALE, PERCENT_APPROVED
from hits.server.pages.open_hits import open_types
from hits.server.pages.texts import Texts
from hits.server.store.hits import read_properties
from hits.server.store.people import find_worker
from hits.server.store.records import Requirement, Worker
from hits.server.store.requirements import SYSTEM_TYPES, unmet
from hits.server.store.store import Store

ORDERS = {"LessThan": "<", "LessThanOrEqualTo": "≤", "GreaterThan": ">", "GreaterThanOrEqualTo": "≥", "NotEqualTo": "≠"}


@dataclass(frozen=True, slots=True)
class Closed:
    """Hits that a worker cannot accept, and what is missing that the worker cannot get here."""

    annotation: str | None
    title: str
    description: str
    missing: list[str]


def closed_groups(store: Store, worker: str, now: int, texts: Texts) -> list[Closed]:
    """Types with free hits that the worker lacks something for that no test gives: a country, an approval rate."""
    with store.reading(now) as db:
        person = find_worker(db, worker)
        found = []
        for row in open_types(db, worker, now):
            rules = _beyond_reach(db, person, read_properties(row).requirements)
            if rules:
                missing = [described(db, rule, texts) for rule in rules]
                found.append(Closed(row["annotation"], row["title"], row["description"], missing))
        return found


def _beyond_reach(db: sqlite3.Connection, worker: Worker, rules: tuple[Requirement, ...]) -> list[Requirement]:
    return [rule for rule in unmet(db, worker, rules) if rule.qualification in SYSTEM_TYPES]


def needs_of(store: Store, hit_type: str, texts: Texts, now: int) -> list[str]:
    """All that a hit type asks, in words."""
    with store.reading(now) as db:
        row = db.execute("SELECT * FROM hit_types WHERE id = ?", [hit_type]).fetchone()
        return [described(db, rule, texts) for rule in read_properties(row).requirements] if row else []


def kind_words(name: str, description: str, texts: Texts) -> tuple[str, str]:
    """Name and description of a qualification; that of reading a language is told in the worker's."""
    language = language_of(name)
    if language is None:
        return name, description
    return texts["reads"].format(language=language_name(language, texts.language)), texts["reads_about"]


def described(db: sqlite3.Connection, rule: Requirement, texts: Texts) -> str:
    """One requirement in words."""
    places = ", ".join("-".join(filter(None, (place.country, place.subdivision))) for place in rule.locales)
    if rule.qualification == LOCALE and rule.comparator in ("In", "EqualTo"):
        return texts["needs_country"].format(places=places)
    if rule.qualification == PERCENT_APPROVED and rule.comparator == "GreaterThanOrEqualTo":
        return texts["needs_rate"].format(n=rule.integers[0])
    row = db.execute("SELECT name FROM qualification_types WHERE id = ?", [rule.qualification]).fetchone()
    system = SYSTEM_TYPES.get(rule.qualification)
    name = system.name if system else kind_words(row["name"], "", texts)[0] if row else rule.qualification
    if rule.comparator == "Exists":
        return str(name)
    values = places or ", ".join(map(str, rule.integers))
    return " ".join(filter(None, (name, ORDERS.get(rule.comparator, "") if values else "", values)))
