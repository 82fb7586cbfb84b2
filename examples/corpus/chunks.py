"""The pieces of the example's German: noun phrases, times, places and states, each with its tree and its English."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from clauses import MIXED_ENDINGS, Noun, Verb
from grammar import MODALS, OBJECT_PRONOUNS, POSSESSIVES, PRONOUNS, Table
from slots import Item, Sequence_, Slot, choice, slot

ARTICLES = {"der": "the", "die": "the", "das": "the", "den": "the"}
MOVABLE = ("often", "sometimes", "usually")  # these may also stand first or last
ENDINGS = {"e", "en", *MIXED_ENDINGS.values()}
PLACES = ("in", "to", "drive", "back", "arrive", "leave", "early", "asleep", "out", "shop", "tv", "abroad")
PREPOSITIONS = {"in", "at", "on", "to", "by", "for", "from", "of", "behind", "with", "into"}


@dataclass(frozen=True)
class Piece:
    """German words ``start`` up to ``stop`` with their tree and the English for them.

    A time may also stand in the ``middle``, before the main verb, or be ``silent``: English need not say it.
    """

    kind: str
    start: int
    stop: int
    tree: str
    english: Sequence_
    classes: frozenset[str] = frozenset()
    person: str = ""
    middle: Sequence_ = ()
    silent: bool = False


@dataclass
class Lexicon:
    """Finds pieces of the grammar's German in a segment."""

    tables: dict[str, Table]
    verbs: list[Verb] = field(init=False)

    def __post_init__(self) -> None:
        self.verbs = [Verb.parse(*row) for name in ("verbs", "moves") for row in self.tables[name]]
        self.glosses = {german: english.split("/") for german, english in self.tables["glosses"]}
        self.also = {german: english.split("/") for german, english in self.tables["also"]}
        self.times: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        for tense, german, english in self.tables["times"]:
            self.times.setdefault(tuple(german.split()), []).append((tense, english))
        self.places: dict[tuple[str, ...], dict[str, str]] = {}
        for name in PLACES:
            for german, english in self.tables[name]:
                self.places.setdefault(tuple(german.split()), {})[name] = english

    def fixed(self, tokens: Sequence[str], start: int, english: str) -> tuple[Item, ...]:
        """A fixed phrase word by word; what no gloss explains belongs to all of it.

        A German word without an English one of its own goes with all that say something: ``zu`` with ``late``.
        """
        block = range(start, start + len(tokens))
        items = []
        for word in english.split():
            glossed = [
                i for i, token in zip(block, tokens, strict=True) if word in self.glosses.get(token, ())
            ]
            if glossed:
                items.append(slot(word, glossed[:1]))
            elif word in ("the", "a", "an"):
                items.append(slot(word, block, soft=True))
            elif word in PREPOSITIONS and tokens[0] not in self.glosses:
                items.append(slot(word, [block[0]]))
            else:
                items.append(slot(word, block))
        left = frozenset(block).difference(*(item.owners for item in items))
        return tuple(item if item.soft else replace(item, owners=item.owners | left) for item in items)

    def variants(self, tokens: Sequence[str], start: int, english: Sequence[str]) -> Sequence_:
        """All variants, with those that the corpus never says."""
        also = self.also.get(" ".join(tokens), [])
        return choice(self.fixed(tokens, start, text) for text in [*english, *also])

    def time(self, words: Sequence[str], at: int) -> Piece | None:
        """The longest time that begins here; ``~`` in the table is a place in the middle, ``-`` silence."""
        found = max(
            (key for key in self.times if tuple(words[at : at + len(key)]) == key), key=len, default=None
        )
        longer = any(
            len(key) > len(found or ()) and tuple(words[at : at + len(key)]) == key for key in self.places
        )
        if found is None or longer:
            return None
        rows = self.times[found]
        english = "/".join(text for _, text in rows).split("/")
        inner = [text[1:] for text in english if text[0] == "~"]
        loose = [text for text in english if text[0] not in "~-"] + [
            text for text in inner if text in MOVABLE
        ]
        marked = " ".join(f"(X {word})" for word in found)
        label = "PP" if found[0] in ("am", "im", "um", "vor") else "ADVP"
        tree = f"({label} {marked})" if len(found) > 1 else f"(ADV {found[0]})"
        middle = choice(self.fixed(found, at, text) for text in inner) if inner else ()
        ends = self.variants(found, at, loose) if loose else ()
        tense = frozenset({rows[0][0]})
        return Piece("time", at, at + len(found), tree, ends, tense, middle=middle, silent="-" in english)

    def place(self, words: Sequence[str], at: int, kinds: Sequence[str] = ()) -> Piece | None:
        """The longest place that begins here, in English as verbs of these kinds want it."""
        found = max(
            (key for key in self.places if tuple(words[at : at + len(key)]) == key), key=len, default=None
        )
        if found is None:
            return None
        tables = self.places[found]
        chosen = [tables[kind] for kind in (*kinds, "in") if kind in tables] or list(tables.values())
        inner = " ".join(f"(X {word})" for word in found)
        tree = f"(PP {inner})" if len(found) > 1 else f"(ADV {found[0]})"
        return Piece("place", at, at + len(found), tree, self.variants(found, at, chosen[0].split("/")))

    def noun_phrase(self, words: Sequence[str], at: int, case: str) -> Piece | None:
        """An article or possessive, perhaps an adjective, and a noun, or a pronoun."""
        first = words[at]
        pronouns = dict.fromkeys(name.strip() for name in PRONOUNS) if case == "nom" else OBJECT_PRONOUNS
        stem = next(
            (
                name
                for name in POSSESSIVES
                if first.startswith(name) and first.removeprefix(name) in ("", "e", "en")
            ),
            None,
        )
        is_article = first in ARTICLES or first in ("ein", "eine", "einen")
        if (is_article or stem) and at + 1 < len(words):
            for end in (at + 4, at + 3, at + 2):
                if (made := self._full(words, at, end, stem, case)) is not None:
                    return made
        return self._pronoun(first, at, case) if first in pronouns else None

    def _pronoun(self, word: str, at: int, case: str) -> Piece:
        if case == "nom":
            english = "/".join(text for german, text in PRONOUNS.items() if german.strip() == word)
            person = {"ich": "ich", "du": "du", "wir": "wir"}.get(word, "sie" if word == "sie" else "er")
        else:
            english, person = {"sie": "her/them"}.get(word, OBJECT_PRONOUNS[word]), ""
        said = (slot(english, [at]),)
        return Piece("pronoun", at, at + 1, f"(NP (PPER {word}))", said, frozenset({"person"}), person)

    def _full(self, words: Sequence[str], at: int, end: int, stem: str | None, case: str) -> Piece | None:
        if end > len(words):
            return None
        nouns = list(self._nouns(words, at, end, stem, case))
        if not nouns:
            return None
        size = 2 if words[end - 2 : end] == ["glas", "wasser"] else 1
        middle = words[at + 1 : end - size]
        if len(middle) > 1:
            return None
        options: list[tuple[Item, ...]] = []
        classes: set[str] = set()
        persons = set()
        for kinds, english, person in nouns:
            adjective = self._adjective(middle[0], kinds) if middle else [""]
            if not adjective:
                continue
            classes |= kinds
            persons.add(person)
            options += self._english(words[at], stem, at, end - size, size, "/".join(adjective), english)
        if not options:
            return None
        tags = ["(PPOSAT " if stem else "(ART ", *(["(ADJA "] * len(middle)), *(["(NN "] * size)]
        inner = " ".join(f"{tag}{word})" for tag, word in zip(tags, words[at:end], strict=True))
        person = "/".join(sorted(persons))
        return Piece("np", at, end, f"(NP {inner})", choice(options), frozenset(classes), person)

    def _nouns(
        self, words: Sequence[str], at: int, end: int, stem: str | None, case: str
    ) -> Iterator[tuple[frozenset[str], str, str]]:
        """Classes, English and person of nouns that end a noun phrase here."""
        first = words[at]
        text = (
            " ".join(words[end - 2 : end]) if words[end - 2 : end] == ["glas", "wasser"] else words[end - 1]
        )
        rows = [("person", *row) for row in self.tables["people"]] + [
            tuple(row) for row in self.tables["things"]
        ]
        if stem:
            rows += [("person", *row) for row in self.tables["family"]]
        grouped: dict[tuple[str, str], tuple[set[str], list[str]]] = {}
        for kind, german, gender, english in rows:
            noun = Noun(german, gender, english)
            if noun._form(case) != text:
                continue
            wanted = (
                noun.article(case)
                if first in ARTICLES
                else noun.phrase(stem or "ein", case, None, "x", {})[0]
            )
            if wanted.split()[0] == first:
                kinds, found = grouped.setdefault((german, gender), (set(), []))
                kinds.add(kind)
                found += english.split("/")
        for kinds, found in grouped.values():
            yield frozenset(kinds), "/".join(dict.fromkeys(found)), "er"
        if first == "die" and case == "nom" and end == at + 2:
            for german, english in self.tables["groups"]:
                if german == text:
                    yield frozenset({"person"}), english, "wir"

    def _adjective(self, word: str, kinds: frozenset[str]) -> list[str]:
        """English for an adjective with its ending, beside nouns of these classes."""
        rows = [
            (row[0].split(), row[2])
            for row in self.tables["adjectives"]
            if word.startswith(row[1]) and word[len(row[1]) :] in ENDINGS
        ]
        suited = [english for classes, english in rows if kinds & set(classes)]
        return list(dict.fromkeys(suited or [english for _, english in rows]))

    @staticmethod
    def _english(
        first: str, stem: str | None, at: int, noun: int, size: int, adjective: str, english: str
    ) -> list[tuple[Item, ...]]:
        """Determiner, adjective and noun; ``a`` or ``an`` by what follows."""
        thing = (
            [slot(english, range(noun, noun + size), noun)]
            if size == 1
            else [slot("glass", [noun]), slot("of", [noun, noun + 1], soft=True), slot("water", [noun + 1])]
        )
        described = [slot(adjective, [at + 1])] if adjective else []
        if first in ARTICLES:
            return [(slot("the", [at], soft=True), *described, *thing)]
        if stem:
            return [(slot({"ihr": "her/their"}.get(stem, POSSESSIVES[stem]), [at]), *described, *thing)]
        follower, *rest = [*described, *thing]
        options = []
        for article, vowel in (("a", False), ("an", True)):
            words = [word for word in follower.words if (word[0] in "aeiou") is vowel]
            if words:
                narrowed = Slot(tuple(words), follower.owners, follower.head)
                options.append((slot(article, [at], soft=True), narrowed, *rest))
        return options

    def state(self, words: Sequence[str], at: int, stop: int) -> Piece | None:
        """What somebody or something may be: ``sehr nett``."""
        text = " ".join(words[at:stop])
        rows = [english for german, english, _ in self.tables["states"] if german == text]
        if not rows:
            return None
        inner = " ".join(f"(X {word})" for word in words[at:stop])
        english = self.variants(words[at:stop], at, "/".join(rows).split("/"))
        return Piece("state", at, stop, f"(AP {inner})" if stop - at > 1 else f"(ADJD {text})", english)


MODAL_FORMS = {
    form: (name, person)
    for name, (ich, du, er, _) in MODALS.items()
    for person, form in (("wir", name), ("ich", ich), ("du", du), ("er", er))
}
