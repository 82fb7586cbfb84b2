"""All acceptable English for one German clause: its tenses, the order of its parts, its verbs' variants.

German tenses leave room: a present with a time to come is *will*, *going to* or *-ing*; a perfect without a time is
past or perfect; a present without any time is simple or *-ing*. What German says is kept: number, modality, negation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chunks import Piece
from clauses import BASE, ING, PARTICIPLE, PAST, STATIVE, THIRD, Verb
from grammar import MODALS
from slots import Item, Sequence_, slot

BE = {"ich": "am", "er": "is"}


@dataclass
class German:
    """What a German clause says; numbers are positions of its verbs."""

    subject: Piece
    verbs: list[Verb]
    finite: int
    rest: tuple[int, ...]  # infinitive, participle or prefix
    tense: str  # present, perfect, will, or the name of a modal
    object: Piece | None = None
    place: Piece | None = None
    time: Piece | None = None
    fond: tuple[int, ...] = ()
    done: int | None = None
    negated: int | None = None
    conditional: bool = False
    person: str = "er"
    note_fond: str = ""

    @property
    def lexical(self) -> tuple[int, ...]:
        """The words that are the verb itself."""
        return self.rest if self.tense != "present" else (self.finite, *self.rest)

    @property
    def third(self) -> bool:
        """Whether English verbs take their -s."""
        return self.person == "er"


@dataclass(frozen=True)
class Group:
    """A verb group: what a question puts first, what stands before the main verb, and the main verb's form."""

    first: tuple[Item, ...]
    before: tuple[Item, ...]
    form: int
    late: tuple[Item, ...] = ()


def groups(g: German, *, question: bool) -> Iterator[Group]:
    """All verb groups that are right for what the German says."""
    if g.tense in MODALS:
        yield from _modals(g, question=question)
        return
    if g.fond:
        yield from _fond(g, question=question)
        return
    if g.tense == "perfect":
        yield from _past(g, question=question)
        return
    when = next(iter(g.time.classes)) if g.time else "future" if g.tense == "will" else ""
    still = g.verbs[0].english[0][BASE] in STATIVE
    if g.tense == "will" or when == "future" or (question and not g.time):
        yield Group((_aux(g, "will"),), _not(g), BASE)
        yield Group((_aux(g, _be(g)),), (*_not(g), _aux(g, "going"), _to(g)), BASE)
    if g.tense == "will":
        return
    if when != "habit" and not g.conditional and not (still and when != "future"):
        yield Group((_aux(g, _be(g)),), _not(g), ING)
    if when in ("habit", "") or (still and when == "now"):
        yield from _simple(g, THIRD if g.third else BASE, "does" if g.third else "do", question=question)


def _be(g: German) -> str:
    return BE.get(g.person, "are")


def _aux(g: German, word: str) -> Item:
    return slot(word, [g.finite], soft=True)


def _to(g: German, *more: int) -> Item:
    return slot("to", [g.finite, *g.lexical, *more], soft=True)


def _not(g: German) -> tuple[Item, ...]:
    return () if g.negated is None else (slot("not", [g.negated]),)


def _already(g: German) -> tuple[Item, ...]:
    return () if g.done is None else (slot("already", [g.done]),)


def _simple(g: German, form: int, do: str, *, question: bool) -> Iterator[Group]:
    if question or g.negated is not None:
        yield Group((_aux(g, do),), _not(g), BASE)
    else:
        yield Group((), _already(g), form)


def _past(g: German, *, question: bool) -> Iterator[Group]:
    yield from _simple(g, PAST, "did", question=question)
    if g.time is None:
        have = _aux(g, "has" if g.third else "have")
        yield Group((have,), (*_not(g), *_already(g)), PARTICIPLE)
        if g.done is not None:
            yield Group((have,), _not(g), PARTICIPLE, _already(g))


def _modals(g: German, *, question: bool) -> Iterator[Group]:
    names = [
        name for name in dict.fromkeys(MODALS[g.tense][3]) if not (g.negated is not None and name == "must")
    ]
    for name in names:
        first, *rest = name.split()
        to = (_to(g),) if rest else ()
        if not rest:
            yield Group((slot(first, [g.finite]),), _not(g), BASE)
        elif first == "be":
            yield Group((_aux(g, _be(g)),), (*_not(g), slot(rest[0], [g.finite]), *to), BASE)
        elif first == "would":
            yield Group((_aux(g, first),), (*_not(g), slot("like", [g.finite]), *to), BASE)
        elif question or g.negated is not None:
            yield Group(
                (_aux(g, "does" if g.third else "do"),), (*_not(g), slot(first, [g.finite]), *to), BASE
            )
        else:
            inflected = {"have": "has"}.get(first, f"{first}s") if g.third else first
            yield Group((), (slot(inflected, [g.finite]), *to), BASE)


def _fond(g: German, *, question: bool) -> Iterator[Group]:
    *very, gern = g.fond
    word = "like" if g.note_fond == "gern" else "prefer"
    really = [slot("really", very)] if very else []
    to = slot("to", [gern, *g.lexical], soft=True)
    yield Group((), (*really, slot(word + "s" * g.third, [gern]), to), BASE)
    yield Group((), (*really, slot(word + "s" * g.third, [gern])), ING)


def main_verb(g: German, form: int) -> list[tuple[tuple[Item, ...], tuple[Item, ...]]]:
    """The main verb before and after a place for the object: ``pick``, ``up``."""
    owners = (*g.lexical, g.finite) if g.tense == "perfect" else g.lexical
    head = g.lexical[-1] if g.tense != "present" else g.finite
    found: dict[str, list[str]] = {}
    for verb in g.verbs:
        for variant in verb.english:
            before, _, after = variant[form].partition(" _ ")
            found.setdefault(after, []).append(before)
    return [
        ((slot("/".join(words), owners, head),), (slot(after, owners),) if after else ())
        for after, words in found.items()
    ]


def predicates(g: German, form: int) -> list[Sequence_]:
    """Main verb with its object: ``pick him up``, ``pick up the key``, ``pick the key up``."""
    made: list[Sequence_] = []
    thing = g.object.english if g.object else ()
    for before, after in main_verb(g, form):
        if after and thing:
            made.append((*before, *thing, *after))
        if not (after and g.object and g.object.kind == "pronoun"):
            made.append((*before, *after, *thing))
    return list(dict.fromkeys(made))


def statements(g: German, *, front: bool = True) -> list[Sequence_]:
    """All acceptable main clauses; the time goes first, last, or before the place."""
    mid, ends, silent = (g.time.middle, g.time.english, g.time.silent) if g.time else ((), (), False)
    made: list[Sequence_] = []
    for group in groups(g, question=False):
        for predicate in predicates(g, group.form):
            head = (*g.subject.english, *group.first, *group.before)
            place = (*(g.place.english if g.place else ()), *group.late)
            if g.time is None or silent:
                made.append((*head, *predicate, *place))
            if mid:
                made.append((*head, *mid, *predicate, *place))
            if ends:
                made.append((*head, *predicate, *place, *ends))
                made += [(*head, *predicate, *ends, *place)] if place else []
                made += [
                    (*ends, *head, *predicate, *place),
                    (*ends, _comma(g), *head, *predicate, *place),
                ] * front
    return list(dict.fromkeys(made))


def _comma(g: German) -> Item:
    assert g.time is not None
    return slot(",", range(g.time.start, g.time.stop), soft=True)


def questions(g: German, lead: Sequence[Item] = ()) -> list[Sequence_]:
    """All acceptable questions."""
    mid, ends = (g.time.middle, g.time.english) if g.time else ((), ())
    made: list[Sequence_] = []
    for group in groups(g, question=True):
        for predicate in predicates(g, group.form):
            head = (*lead, *group.first, *g.subject.english, *group.before, *mid)
            place = (*(g.place.english if g.place else ()), *group.late)
            made.append((*head, *predicate, *place, *ends))
            made += [(*head, *predicate, *ends, *place)] if place and ends else []
    return list(dict.fromkeys(made))


def infinitives(g: German) -> list[Sequence_]:
    """``pick the child up at the station``."""
    place = g.place.english if g.place else ()
    return [(*predicate, *place) for predicate in predicates(g, BASE)]
