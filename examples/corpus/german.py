"""Reads a segment of the example's German: its tree, and all English that is acceptable for it.

The grammar that wrote the corpus has few frames, so a reader with the same tables finds the one analysis. What it makes
of a segment depends on the segment alone, not on what was drawn when the corpus was made.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from chunks import Piece
from clause_reader import ClauseReader, clause_tree
from clauses import PARTICIPLE
from slots import Item, Sequence_, choice, slot
from transfer import German, infinitives, questions, statements

LEADS = {  # word=owners, head first; a word in ( ) is soft; sequences between ;
    "ich glaube , dass": "i=0 think/believe=1 (that)=3,2;i=0 think/believe=1",
    "er sagt , dass": "he=0 says=1 (that)=3,2;he=0 says=1",
    "wir wissen , dass": "we=0 know=1 (that)=3,2;we=0 know=1",
    "sie hofft , dass": "she=0 hopes=1 (that)=3,2;she=0 hopes=1",
    "es ist schade , dass": "it=0 (is)=1 (a)=2 pity/shame=2 (that)=4,3",
    "weißt du , ob": "(do)=0 you=1 know=0 if/whether=3,2",
    "ich weiß nicht , ob": "i=0 (do)=1 not=2 know=1 if/whether=4,3",
    "mein vater meint , dass": "my=0 father=1 thinks/says/believes=2 (that)=4,3;my=0 father=1 thinks/says/believes=2",
    "niemand weiß , warum": "nobody=0 knows=1 why=3,2",
}


class UnknownFrameError(ValueError):
    """A segment that the grammar did not write."""


@dataclass(frozen=True)
class Analysis:
    """The tree of a segment and all acceptable translations."""

    tree: str
    english: tuple[Sequence_, ...]


def lead_items(spec: str) -> list[tuple[Item, ...]]:
    """The sequences of a lead."""
    made = []
    for option in spec.split(";"):
        items = []
        for part in option.split():
            word, _, owners = part.partition("=")
            numbers = [int(number) for number in owners.split(",")]
            soft = word.startswith("(")
            items.append(slot(word.strip("()"), numbers, None if soft else numbers[0], soft=soft))
        made.append(tuple(items))
    return made


class Reader(ClauseReader):
    """Reads segments with the grammar's tables."""

    def read(self, text: str) -> Analysis:
        """The analysis of a segment; `UnknownFrameError` when no frame fits."""
        words = text.split()
        for frame in (
            self._request,
            self._embedded,
            self._condition,
            self._because,
            self._purpose,
            self._relative,
            self._there_is,
            self._passive,
            self._state,
            self._question,
            self._main,
        ):
            made = frame(words)
            if made is not None:
                tree, english = made
                end = len(words) - 1
                full = f"(ROOT {tree} ($. {words[end]}))"
                return Analysis(full, tuple((*items, slot(words[end], [end])) for items in english))
        raise UnknownFrameError(text)

    # frames: each gives the tree and the English without the final mark, or None

    def _main(self, words: Sequence[str]) -> tuple[str, list[Sequence_]] | None:
        found = self.second(words, 0, len(words) - 1)
        return found and (f"(S {found[0]})", statements(found[1]))

    def _question(self, words: Sequence[str]) -> tuple[str, list[Sequence_]] | None:
        if words[-1] != "?":
            return None
        lead = {"warum": "why", "wann": "when", "wo": "where"}.get(words[0])
        found = self.first(words, 1 if lead else 0, len(words) - 1)
        if found is None:
            return None
        asked: list[Item] = [slot(lead, [0])] if lead else []
        return f"(S {f'(PWAV {words[0]}) ' if lead else ''}{found[0]})", questions(found[1], asked)

    def _embedded(self, words: Sequence[str]) -> tuple[str, list[Sequence_]] | None:
        lead = next((german for german in LEADS if words[: len(german.split())] == german.split()), None)
        if lead is None:
            return None
        size = len(lead.split())
        head = [f"(X {word})" for word in words[: size - 2]]
        if words[0] == "mein":
            head[:2] = [f"(NP {head[0]} {head[1]})"]
        stop = len(words) - 1
        tree, english = "", []
        if words[stop - 1] in ("ist", "war") and (made := self._state_last(words, size, stop)):
            tree, english = made
        elif (found := self.last(words, size, stop)) is not None:
            tree, english = found[0], statements(found[1])
        if not tree:
            return None
        sub = f"(SBAR (KOUS {words[size - 1]}) (S {tree}))"
        full = [(*first, *items) for items in english for first in lead_items(LEADS[lead])]
        return f"(S {clause_tree(head)} ($, ,) {sub})", full

    def _state_last(self, words: Sequence[str], start: int, stop: int) -> tuple[str, list[Sequence_]] | None:
        noun = self.lexicon.noun_phrase(words, start, "nom")
        state = noun and self.lexicon.state(words, noun.stop, stop - 1)
        if noun is None or state is None:
            return None
        be = slot({"ist": "is", "war": "was"}[words[stop - 1]], [stop - 1], soft=True)
        return f"{noun.tree} {state.tree} (VAFIN {words[stop - 1]})", [(*noun.english, be, *state.english)]

    def _because(self, words: Sequence[str]) -> tuple[str, list[Sequence_]] | None:
        if "weil" not in words:
            return None
        at = words.index("weil")
        first, second = self.second(words, 0, at - 1), self.last(words, at + 1, len(words) - 1)
        if first is None or second is None:
            return None
        tree = f"(S {first[0]} ($, ,) (SBAR (KOUS weil) (S {second[0]})))"
        link = slot("because/as/since", [at - 1, at], at)
        comma = slot(",", [at - 1], soft=True)
        links = ((link,), (comma, link))
        return tree, [
            (*a, *by, *b) for a in statements(first[1]) for b in statements(second[1]) for by in links
        ]

    def _condition(self, words: Sequence[str]) -> tuple[str, list[Sequence_]] | None:
        if words[0] != "wenn":
            return None
        comma = words.index(",")
        first, second = self.last(words, 1, comma), self.first(words, comma + 1, len(words) - 1)
        if first is None or second is None:
            return None
        first[1].conditional = True
        tree = f"(S (SBAR (KOUS wenn) (S {first[0]})) ($, ,) {second[0]})"
        link, mark = slot("if/when", [0]), slot(",", [comma], soft=True)
        before, after = statements(first[1]), statements(second[1])
        full: list[Sequence_] = [(link, *a, mark, *b) for a in before for b in after]
        full += [(link, *a, *b) for a in before for b in after]
        return tree, [*full, *((*b, link, *a) for a in before for b in after)]

    def _purpose(self, words: Sequence[str]) -> tuple[str, list[Sequence_]] | None:
        ends = [i for i in range(1, len(words)) if words[i - 1 : i + 1] == [",", "um"]]
        if not ends:
            return None
        at, stop = ends[0], len(words) - 1
        first = self.second(words, 0, at - 1)
        thing = self.lexicon.noun_phrase(words, at + 1, "acc")
        if first is None or thing is None:
            return None
        rest = " ".join(words[thing.stop : stop])
        verbs = self._suited([verb for verb in self.lexicon.verbs if verb.zu_infinitive == rest], thing)
        if not verbs:
            return None
        marks = tuple(range(thing.stop, stop))
        g = German(first[1].subject, verbs, marks[-1], marks, "goal", thing)
        to = slot("to", [at - 1, at, *marks], soft=True)
        order = (slot("in", [at], soft=True), slot("order", [at], soft=True), to)
        inner = " ".join(
            f"({'PTKZU' if word == 'zu' else 'VVIZU'} {word})" for word in words[thing.stop : stop]
        )
        tree = f"(S {first[0]} ($, ,) (VP (KOUI um) (VP {thing.tree} {inner})))"
        goals = [(*lead, *items) for items in infinitives(g) for lead in ((to,), order)]
        return tree, [(*main, *goal) for main in statements(first[1]) for goal in goals]

    def _relative(self, words: Sequence[str]) -> tuple[str, list[Sequence_]] | None:
        noun = self.lexicon.noun_phrase(words, 0, "nom")
        if noun is None or noun.stop >= len(words) or words[noun.stop] != ",":
            return None
        comma = words.index(",", noun.stop + 1)
        who = Piece(
            "np",
            noun.stop + 1,
            noun.stop + 2,
            f"(PRELS {words[noun.stop + 1]})",
            (slot("who/that", [noun.stop, noun.stop + 1], noun.stop + 1),),
            person="er",
        )
        inner = self.last(words, noun.stop + 1, comma, who)
        tail = self.lexicon.state(words, comma + 2, len(words) - 1)
        tail = tail or self.lexicon.noun_phrase(words, comma + 2, "nom")
        if inner is None or tail is None:
            return None
        be = slot("is", [comma + 1], soft=True)
        tree = f"(S (NP {noun.tree} ($, ,) (SBAR {inner[0]})) ($, ,) (VAFIN {words[comma + 1]}) {tail.tree})"
        made = statements(inner[1], front=False)
        marks = (slot(",", [noun.stop], soft=True), slot(",", [comma], soft=True))
        full: list[Sequence_] = [(*noun.english, *items, be, *tail.english) for items in made]
        return tree, [
            *full,
            *((*noun.english, marks[0], *items, marks[1], be, *tail.english) for items in made),
        ]

    def _there_is(self, words: Sequence[str]) -> tuple[str, list[Sequence_]] | None:
        if "gibt" not in words:
            return None
        at = words.index("gibt")
        place, noun = self.lexicon.place(words, 0), self.lexicon.noun_phrase(words, at + 2, "acc")
        if place is None or noun is None:
            return None
        there = (slot("there", [at, at + 1], at), slot("is", [at, at + 1], soft=True))
        tree = f"(S {place.tree} (VVFIN gibt) (PPER es) {noun.tree})"
        return tree, [(*there, *noun.english, *place.english), (*place.english, *there, *noun.english)]

    def _passive(self, words: Sequence[str]) -> tuple[str, list[Sequence_]] | None:
        noun = self.lexicon.noun_phrase(words, 0, "nom")
        stop = len(words) - 1
        past = noun is not None and words[noun.stop] == "wurde"
        if noun is None or not (past or words[stop - 1] == "werden"):
            return None
        time = self.lexicon.time(words, noun.stop + 1)
        at = stop - 1 if past else stop - 2
        verbs = self._suited([verb for verb in self.lexicon.verbs if verb.participle == words[at]], noun)
        if time is None or time.stop != at or not verbs:
            return None
        finite = noun.stop
        forms = "/".join(
            dict.fromkeys(form[PARTICIPLE].replace(" _", "") for verb in verbs for form in verb.english)
        )
        done = slot(forms, [at, finite], at)
        if past:
            group: Sequence_ = (slot("was", [finite], soft=True),)
            tree = f"(S {noun.tree} (VAFIN wurde) (VP {time.tree} (VVPP {words[at]})))"
        else:
            have = choice(
                [(slot("has", [finite]), slot("to", [finite, at], soft=True)), (slot("must", [finite]),)]
            )
            group = (*have, slot("be", [finite, stop - 1], soft=True))
            tree = f"(S {noun.tree} (VMFIN {words[finite]}) (VP (VP {time.tree} (VVPP {words[at]})) (VAINF werden)))"
        core = (*noun.english, *group, done)
        return tree, [(*core, *time.english), (*time.english, *core)]

    def _state(self, words: Sequence[str]) -> tuple[str, list[Sequence_]] | None:
        noun = self.lexicon.noun_phrase(words, 0, "nom")
        if noun is None or words[noun.stop] not in ("ist", "war"):
            return None
        state = self.lexicon.state(words, noun.stop + 1, len(words) - 1)
        be = slot({"ist": "is", "war": "was"}[words[noun.stop]], [noun.stop], soft=True)
        return state and (
            f"(S {noun.tree} (VAFIN {words[noun.stop]}) {state.tree})",
            [(*noun.english, be, *state.english)],
        )

    def _request(self, words: Sequence[str]) -> tuple[str, list[Sequence_]] | None:
        if words[:3] != ["kannst", "du", "bitte"]:
            return None
        stop = len(words) - 1
        you = Piece("pronoun", 1, 2, "(NP (PPER du))", (slot("you", [1]),), person="du")
        found = self._fill(words, 3, stop, you, 0, "können")
        if found is None:
            return None
        tree = f"(S (VMFIN kannst) {you.tree} (ADV bitte) {found[0]})"
        can, please, comma = slot("can/could", [0]), slot("please", [2]), slot(",", [2], soft=True)
        made: list[Sequence_] = []
        for items in infinitives(found[1]):
            made += [(can, *you.english, please, *items), (can, *you.english, *items, comma, please)]
            made += [(can, *you.english, *items, please), (please, can, *you.english, *items)]
        return tree, made
