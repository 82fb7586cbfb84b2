"""One clause in two languages: nouns, verbs, and the word orders of German and English for the example corpus."""

from collections.abc import Mapping
from dataclasses import dataclass

Pair = tuple[str, str]
DEFINITE = {
    ("m", "nom"): "der",
    ("m", "acc"): "den",
    ("f", "nom"): "die",
    ("f", "acc"): "die",
    ("n", "nom"): "das",
    ("n", "acc"): "das",
}
EIN_ENDINGS = {
    ("m", "nom"): "",
    ("m", "acc"): "en",
    ("f", "nom"): "e",
    ("f", "acc"): "e",
    ("n", "nom"): "",
    ("n", "acc"): "",
}
MIXED_ENDINGS = {
    ("m", "nom"): "er",
    ("m", "acc"): "en",
    ("f", "nom"): "e",
    ("f", "acc"): "e",
    ("n", "nom"): "es",
    ("n", "acc"): "es",
}
HABEN = {"ich": "habe", "du": "hast", "er": "hat", "wir": "haben"}
SEIN = {"ich": "bin", "du": "bist", "er": "ist", "wir": "sind"}
WERDEN = {"ich": "werde", "du": "wirst", "er": "wird", "wir": "werden"}
STATIVE = {"need", "understand", "forget", "find", "lose", "miss", "see"}  # seldom "is needing"
BASE, THIRD, PAST, PARTICIPLE, ING = range(5)


@dataclass(frozen=True)
class Noun:
    """A German noun with its gender (w: masculine, -n in the accusative) and its English variants."""

    german: str
    gender: str
    english: str

    def article(self, case: str) -> str:
        """The definite article, which is also the relative pronoun."""
        return DEFINITE[self._gender, case]

    @property
    def _gender(self) -> str:
        return "m" if self.gender == "w" else self.gender

    def _form(self, case: str) -> str:
        if self.gender != "w" or case == "nom":
            return self.german
        return self.german + ("n" if self.german[-1] in "er" else "en")

    def phrase(
        self, article: str, case: str, adjective: Pair | None, english: str, possessives: Mapping[str, str]
    ) -> Pair:
        """Article or possessive, adjective with its ending, and noun, in both languages."""
        key = (self._gender, case)
        definite = article == "der"
        german = [DEFINITE[key] if definite else article + EIN_ENDINGS[key]]
        words = [english]
        if adjective is not None:
            ending = ("en" if key == ("m", "acc") else "e") if definite else MIXED_ENDINGS[key]
            german.append(adjective[0] + ending)
            words.insert(0, adjective[1])
        indefinite = "an" if words[0][0] in "aeiou" else "a"
        determiner = "the" if definite else possessives.get(article, indefinite)
        return " ".join([*german, self._form(case)]), " ".join([determiner, *words])


@dataclass(frozen=True)
class Verb:
    """A verb; ``prefix`` is what German splits off, ``_`` in English is where the object may go."""

    prefix: str
    stem: str
    present: Mapping[str, str]
    past: str
    auxiliary: Mapping[str, str]
    english: tuple[tuple[str, ...], ...]
    kinds: tuple[str, ...]

    @classmethod
    def parse(cls, german: str, english: str, kinds: str) -> "Verb":
        """Read the three columns of the table of verbs."""
        infinitive, ich, du, er, past, auxiliary = german.split()
        prefix, _, stem = infinitive.rpartition("~")
        forms = tuple(
            tuple(form.replace("+", " ") for form in variant.split()) for variant in english.split("/")
        )
        present = {"ich": ich, "du": du, "er": er, "wir": stem}
        return cls(
            prefix, stem, present, past, SEIN if auxiliary == "s" else HABEN, forms, tuple(kinds.split())
        )

    def joined(self, form: str) -> str:
        """The form with its prefix, as at the end of a clause."""
        return f"{self.prefix} {form}" if self.prefix == "spazieren" else self.prefix + form

    @property
    def infinitive(self) -> str:
        """The infinitive with its prefix."""
        return self.joined(self.stem)

    @property
    def participle(self) -> str:
        """The past participle with its prefix."""
        return self.joined(self.past)

    @property
    def zu_infinitive(self) -> str:
        """``zu lesen``, but ``anzurufen``."""
        if not self.prefix or self.prefix == "spazieren":
            return f"{self.prefix} zu {self.stem}".strip()
        return f"{self.prefix}zu{self.stem}"


@dataclass(frozen=True)
class Subject:
    """Who: German and English, and which form of the German verb goes with it (ich, du, er, wir)."""

    german: str
    english: str
    person: str

    def be(self) -> str:
        """am, are or is."""
        return "am" if self.english == "i" else "is" if self.person == "er" else "are"


@dataclass
class Clause:
    """Who does what, when and where; each part in German and English."""

    subject: Subject
    verb: Verb
    english_verb: tuple[str, ...]
    tense: str
    object: Pair | None = None
    pronoun: bool = False
    place: Pair | None = None
    time: Pair | None = None
    time_first: bool = True
    particle_last: bool = False
    negated: bool = False
    adverb: str = ""
    modal: tuple[Mapping[str, str], str] | None = None
    will: str = "will"

    @property
    def indefinite(self) -> bool:
        """Whether the object has an indefinite article, which German negates in another way."""
        return self.object is not None and self.object[0].split()[0] in ("ein", "eine", "einen")

    def negate(self) -> None:
        """Add nicht; ``müssen … nicht`` is not ``must not``."""
        self.negated = True
        if self.modal and self.modal[1] == "must":
            self.modal = (self.modal[0], "have to")

    def english_infinitive(self) -> str:
        """``pick the child up at the station``."""
        return " ".join(
            [_with_object(self, self.english_verb[BASE]), *([self.place[1]] if self.place else [])]
        )


def german_main(clause: Clause, front: str = "subject") -> str:
    """The finite verb second, after the subject or the time, or first after another clause or question word."""
    finite, end = _german_verbs(clause)
    head = {"subject": [], "time": [clause.time[0]] if clause.time else [], "clause": []}[front]
    head = [clause.subject.german, finite] if front == "subject" else [*head, finite, clause.subject.german]
    middle = _german_middle(clause, with_time=front != "time")
    prefix = [clause.verb.prefix] if clause.verb.prefix and not end else []
    return " ".join([*head, *middle, *end, *prefix])


def german_verb_last(clause: Clause) -> str:
    """All verbs at the end, the finite one last."""
    finite, end = _german_verbs(clause)
    last = [*end, finite] if end else [clause.verb.joined(finite)]
    return " ".join([clause.subject.german, *_german_middle(clause, with_time=True), *last])


def _german_verbs(clause: Clause) -> tuple[str, list[str]]:
    """The finite verb and what stands at the end of a main clause (without a split prefix)."""
    person = clause.subject.person
    if clause.tense in ("past", "done"):
        return clause.verb.auxiliary[person], [clause.verb.participle]
    if clause.tense == "modal" and clause.modal:
        return clause.modal[0][person], [clause.verb.infinitive]
    if clause.tense == "will":
        return WERDEN[person], [clause.verb.infinitive]
    return clause.verb.present[person], []


def _german_middle(clause: Clause, *, with_time: bool) -> list[str]:
    time = [clause.time[0]] if clause.time and with_time else []
    thing = [clause.object[0]] if clause.object else []
    adverb = [clause.adverb] if clause.adverb else []
    done = ["schon"] if clause.tense == "done" else []
    if clause.pronoun:
        field = [*thing, *time, *adverb, *done]
    elif clause.indefinite or clause.time_first or clause.adverb:
        field = [*time, *adverb, *(done + thing if clause.indefinite else thing + done)]
    else:
        field = [*thing, *time, *done]
    return [*field, *(["nicht"] if clause.negated else []), *([clause.place[0]] if clause.place else [])]


def english_statement(clause: Clause, *, front: bool = False) -> str:
    """Subject, verb, object, place, time; the time may come first."""
    auxiliary, main = _english_verbs(clause)
    if clause.negated and auxiliary is None:
        auxiliary, main = _with_do(clause)
    verbs = [word for word in (auxiliary, "not" if clause.negated else None) if word]
    words = [clause.subject.english, *verbs, *_adverb(clause), _with_object(clause, main)]
    time = _time(clause)
    tail = [*([clause.place[1]] if clause.place else []), *([] if front else time)]
    return " ".join([*(time if front else []), *words, *tail])


def english_question(clause: Clause) -> str:
    """The auxiliary, or a form of do, before the subject."""
    auxiliary, main = _english_verbs(clause)
    if auxiliary is None:
        auxiliary, main = _with_do(clause)
    place = [clause.place[1]] if clause.place else []
    return " ".join(
        [
            auxiliary,
            clause.subject.english,
            *_adverb(clause),
            _with_object(clause, main),
            *place,
            *_time(clause),
        ]
    )


def _time(clause: Clause) -> list[str]:
    return [clause.time[1]] if clause.time and clause.time[1][0] not in "~-" else []


def _adverb(clause: Clause) -> list[str]:
    return [clause.time[1][1:]] if clause.time and clause.time[1][0] == "~" else []


def _with_object(clause: Clause, form: str) -> str:
    """Put the object behind the verb, or into it: ``pick him up``."""
    thing = clause.object[1] if clause.object else ""
    before, gap, after = form.partition(" _ ")
    parts = (
        [before, thing, after] if gap and (clause.pronoun or clause.particle_last) else [before, after, thing]
    )
    return " ".join(part for part in parts if part)


def _english_verbs(clause: Clause) -> tuple[str | None, str]:
    """The auxiliary, if there is one, and the rest of the verb."""
    forms, subject = clause.english_verb, clause.subject
    third = subject.person == "er"
    if clause.tense == "now" and forms[BASE] not in STATIVE:
        return subject.be(), forms[ING]
    if clause.tense in ("future", "will"):
        if clause.will == "will" or forms[BASE] in STATIVE:
            return "will", forms[BASE]
        return subject.be(), f"going to {forms[BASE]}" if clause.will == "going" else forms[ING]
    if clause.tense == "done":
        return "has" if third else "have", f"already {forms[PARTICIPLE]}"
    if clause.modal:
        return _english_modal(clause.modal[1], forms[BASE], subject)
    return None, forms[PAST] if clause.tense == "past" else forms[THIRD if third else BASE]


def _english_modal(modal: str, base: str, subject: Subject) -> tuple[str | None, str]:
    first, _, rest = modal.partition(" ")
    if not rest:
        return modal, base
    if first in ("be", "would"):
        return subject.be() if first == "be" else first, f"{rest} {base}"
    if subject.person == "er":
        modal = {"have to": "has to", "really like to": "really likes to"}.get(
            modal, modal.replace(first, f"{first}s", 1)
        )
    return None, f"{modal} {base}"


def _with_do(clause: Clause) -> tuple[str, str]:
    if clause.tense == "past":
        return "did", clause.english_verb[BASE]
    form = f"{clause.modal[1]} {clause.english_verb[BASE]}" if clause.modal else clause.english_verb[BASE]
    return "does" if clause.subject.person == "er" else "do", form
