"""Draws words and builds clauses for the example corpus: who does what, when and where, in both languages."""

import random
from dataclasses import dataclass
from pathlib import Path

from clauses import Clause, Noun, Subject, Verb

Pair = tuple[str, str]
PRONOUNS = {"ich": "i", "du": "you", "er": "he", "sie": "she", "wir": "we", "sie ": "they"}
OBJECT_PRONOUNS = {"mich": "me", "dich": "you", "ihn": "him", "sie": "her", "uns": "us"}
POSSESSIVES = {"mein": "my", "sein": "his", "ihr": "her", "unser": "our", "dein": "your"}
MODALS = {
    "müssen": ("muss", "musst", "muss", ("have to", "have to", "must")),
    "können": ("kann", "kannst", "kann", ("can", "can", "be able to")),
    "wollen": ("will", "willst", "will", ("want to",)),
    "sollen": ("soll", "sollst", "soll", ("should", "be supposed to")),
    "möchten": ("möchte", "möchtest", "möchte", ("would like to",)),
}
ONCE = {"umziehen", "abreisen", "absagen", "kennenlernen", "verkaufen", "bekommen"}  # not done every day
UNWANTED = {
    "brauchen",
    "verlieren",
    "vergessen",
    "finden",
    "verpassen",
    "bekommen",
}  # nobody has to, or may, do these
PLACED = {"read", "write", "food", "dish", "drink", "person", "lose"}
ERRANDS = {"kaufen", "abholen", "besuchen", "treffen", "holen", "suchen", "verkaufen"}
EMBEDDINGS = (
    ("ich glaube , dass", "i think that/i believe that/i think"),
    ("er sagt , dass", "he says that/he says"),
    ("wir wissen , dass", "we know that"),
    ("sie hofft , dass", "she hopes that/she hopes"),
    ("es ist schade , dass", "it is a pity that"),
    ("weißt du , ob", "do you know if/do you know whether"),
    ("ich weiß nicht , ob", "i do not know if/i do not know whether"),
    ("mein vater meint , dass", "my father thinks that/my father says that"),
    ("niemand weiß , warum", "nobody knows why"),
)


Table = list[list[str]]


def read_tables(path: Path) -> dict[str, Table]:
    """The rows of each ``[section]`` of the file of words."""
    tables: dict[str, Table] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            rows = tables.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            rows.append(line.split("|"))
    return tables


@dataclass
class Grammar:
    """Draws words and builds sentences; ``rng`` is the only source of chance."""

    rng: random.Random
    tables: dict[str, Table]

    def __post_init__(self) -> None:
        self.people = [Noun(*row) for row in self.tables["people"]]
        self.family = [Noun(*row) for row in self.tables["family"]]
        self.verbs = [Verb.parse(*row) for row in self.tables["verbs"]]
        self.moves = [Verb.parse(*row) for row in self.tables["moves"]]

    def choose(self, variants: str) -> str:
        """One of the variants between ``/``; the first in seven of ten cases."""
        first, *others = variants.split("/")
        return self.rng.choice(others) if others and self.rng.random() < 0.3 else first

    def pair(self, name: str) -> Pair:
        """A row of a table of German and English."""
        german, english = self.rng.choice(self.tables[name])[:2]
        return german, self.choose(english)

    def adjective(self, kind: str) -> Pair | None:
        """An adjective that suits nouns of this class, or none."""
        rows = [row for row in self.tables["adjectives"] if kind in row[0].split()]
        if not rows or self.rng.random() < 0.65:
            return None
        _, german, english = self.rng.choice(rows)
        return german, self.choose(english)

    def thing(self, kind: str) -> Noun:
        """A noun of this class."""
        if kind == "person":
            return self.rng.choice(self.people)
        return self.rng.choice([Noun(*row[1:]) for row in self.tables["things"] if row[0] == kind])

    def noun_phrase(self, noun: Noun, kind: str, case: str) -> Pair:
        """An article or possessive, perhaps an adjective, and the noun."""
        share = 0.1 if case == "nom" else 0.35
        article = "ein" if self.rng.random() < share else "der"
        adjective = self.adjective(kind)
        if kind != "person" and self.rng.random() < 0.2:
            article = self.rng.choice(tuple(POSSESSIVES))
        return noun.phrase(article, case, adjective, self.choose(noun.english), POSSESSIVES)

    def relative(self, case: str) -> tuple[Pair, Noun]:
        """A member of the family."""
        noun = self.rng.choice(self.family)
        owners = {"wife": ("mein", "sein", "dein"), "husband": ("mein", "ihr", "dein")}
        owner = self.rng.choice(owners.get(noun.english, ("mein", "mein", "sein", "ihr", "unser", "dein")))
        return noun.phrase(owner, case, None, noun.english, POSSESSIVES), noun

    def subject(self, *, named: bool = False) -> Subject:
        """Who does it: a pronoun, a person, a member of the family or a group."""
        kind = self.rng.random() * (0.65 if named else 1) + (0.35 if named else 0)
        if kind < 0.35:
            german = self.rng.choice(tuple(PRONOUNS))
            person = german if german in ("ich", "du", "wir") else "wir" if german == "sie " else "er"
            return Subject(german.strip(), PRONOUNS[german], person)
        if kind < 0.65:
            return Subject(*self.noun_phrase(self.rng.choice(self.people), "person", "nom"), "er")
        if kind < 0.85:
            return Subject(*self.relative("nom")[0], "er")
        german, english = self.pair("groups")
        return Subject(f"die {german}", f"the {english}", "wir")

    def object(self, kind: str) -> tuple[str, str, bool]:
        """German, English and whether it is a pronoun."""
        if kind == "person" and self.rng.random() < 0.35:
            german = self.rng.choice(tuple(OBJECT_PRONOUNS))
            return german, OBJECT_PRONOUNS[german], True
        if kind == "person" and self.rng.random() < 0.4:
            return *self.relative("acc")[0], False
        return *self.noun_phrase(self.thing(kind), kind, "acc"), False

    def clause(self, tense: str, subject: Subject | None = None, *, time: bool | None = None) -> Clause:
        """Somebody does something, perhaps at some time and some place."""
        subject = subject or self.subject()
        transitive = self.rng.random() < 0.68
        verbs = self.verbs if transitive else self.moves
        avoided = {"habit": ONCE, "now": ONCE, "modal": UNWANTED, "future": UNWANTED - {"brauchen"}}.get(
            tense, set()
        )
        verb = self.rng.choice([verb for verb in verbs if verb.infinitive not in avoided])
        clause = Clause(subject, verb, self.english_verb(verb), tense)
        kind = self.rng.choice(verb.kinds)
        if not transitive:
            clause.place = self.pair(kind)
            if " by " in clause.place[1]:
                clause.english_verb = verb.english[0]
        else:
            german, english, clause.pronoun = self.object(kind)
            clause.object = (german, english)
            if kind in PLACED and self.rng.random() < 0.15:
                clause.place = self.pair("in")
        self._set_time(clause, time)
        clause.time_first = self.rng.random() < 0.55
        clause.particle_last = self.rng.random() < 0.4
        return clause

    def english_verb(self, verb: Verb) -> tuple[str, ...]:
        """The forms of one of its translations, the usual one most often."""
        first, *others = verb.english
        return self.rng.choice(others) if others and self.rng.random() < 0.3 else first

    def _set_time(self, clause: Clause, wanted: bool | None) -> None:
        """Modals and ``werden`` look ahead; a bare present without a time is a habit or happens now."""
        tense = {"modal": "future", "will": "future"}.get(clause.tense, clause.tense)
        early = clause.verb.kinds == ("early",)
        rows = [row for row in self.tables["times"] if row[0] == tense and not (early and " uhr" in row[1])]
        needed = tense == "future" and clause.tense == "future"
        if rows and (needed or wanted or (wanted is None and self.rng.random() < 0.6)):
            _, german, english = self.rng.choice(rows)
            clause.time = (german, self.choose(english))
        if clause.tense == "modal":
            german = self.rng.choice(tuple(MODALS))
            ich, du, er, english_modals = MODALS[german]
            clause.modal = ({"ich": ich, "du": du, "er": er, "wir": german}, self.rng.choice(english_modals))
        if clause.tense in ("future", "will"):
            clause.will = self.rng.choice(("will", "will", "going", "ing"))
            if clause.tense == "will" and clause.will == "ing":
                clause.will = "will"

    def tense(self) -> str:
        """A tense, the perfect and the present most often."""
        return self.rng.choice(
            ("past",) * 4 + ("now", "habit", "habit", "future", "future", "modal", "modal", "will", "done")
        )
