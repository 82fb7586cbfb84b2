"""What hits ask of workers, in the worker's language."""

from hits.batch.page import language_name
from hits.market.qualification_types import language_of
from hits.qualifications import LOCALE, PERCENT_APPROVED
from hits.server.pages.texts import PageTexts
from hits.server.store.open_hits import NamedRequirement
from hits.server.store.requirements import SYSTEM_TYPES

ORDERS = {
    "LessThan": "<",
    "LessThanOrEqualTo": "≤",
    "GreaterThan": ">",
    "GreaterThanOrEqualTo": "≥",
    "NotEqualTo": "≠",
}


def kind_words(name: str, description: str, texts: PageTexts) -> tuple[str, str]:
    """Name and description of a qualification; that of reading a language is translated."""
    language = language_of(name)
    if language is None:
        return name, description
    return texts["reads"].format(language=language_name(language, texts.language)), texts["reads_about"]


def described(need: NamedRequirement, texts: PageTexts) -> str:
    """One requirement in words."""
    rule = need.rule
    places = ", ".join("-".join(filter(None, (place.country, place.subdivision))) for place in rule.locales)
    if rule.qualification == LOCALE and rule.comparator in ("In", "EqualTo"):
        return texts["needs_country"].format(places=places)
    if rule.qualification == PERCENT_APPROVED and rule.comparator == "GreaterThanOrEqualTo":
        return texts["needs_rate"].format(n=rule.integers[0])
    name = need.name if rule.qualification in SYSTEM_TYPES else kind_words(need.name, "", texts)[0]
    if rule.comparator == "Exists":
        return name
    values = places or ", ".join(map(str, rule.integers))
    return " ".join(filter(None, (name, ORDERS.get(rule.comparator, "") if values else "", values)))
