"""Reads one German clause: its finite verb first, second or last, its other verbs, and what stands between."""

from collections.abc import Sequence

from chunks import MODAL_FORMS, Lexicon, Piece
from clauses import HABEN, SEIN, WERDEN, Verb
from slots import slot
from transfer import German

AUXILIARIES = {*HABEN.values(), *SEIN.values()}
FUTURE = set(WERDEN.values())


def clause_tree(parts: Sequence[str]) -> str:
    """Trees side by side."""
    return " ".join(part for part in parts if part)


class ClauseReader:
    """Reads clauses with the grammar's tables; each gives the trees of its parts and what it says."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.finite: dict[tuple[str, str], list[tuple[Verb, str]]] = {}
        for verb in lexicon.verbs:
            for person, form in verb.present.items():
                self.finite.setdefault((verb.prefix, form), []).append((verb, person))
        self.prefixes = {verb.prefix for verb in lexicon.verbs if verb.prefix}

    def second(self, words: Sequence[str], start: int, stop: int) -> tuple[str, German] | None:
        """A main clause with the finite verb second, after the subject or the time."""
        time = self.lexicon.time(words, start)
        if time is not None:
            found = self.first(words, time.stop, stop, time)
            return found and (f"{time.tree} {found[0]}", found[1])
        subject = self.lexicon.noun_phrase(words, start, "nom")
        if subject is None or subject.stop >= stop:
            return None
        return self._after(words, subject.stop, subject.stop + 1, stop, subject, None, (subject.tree, None))

    def first(
        self, words: Sequence[str], start: int, stop: int, time: Piece | None = None
    ) -> tuple[str, German] | None:
        """A clause that begins with its finite verb."""
        subject = self.lexicon.noun_phrase(words, start + 1, "nom") if start + 1 < stop else None
        if subject is None:
            return None
        return self._after(words, start, subject.stop, stop, subject, time, (None, subject.tree))

    def _after(
        self,
        words: Sequence[str],
        finite: int,
        start: int,
        stop: int,
        subject: Piece,
        time: Piece | None,
        trees: tuple[str | None, str | None],
    ) -> tuple[str, German] | None:
        found = self._fill(words, start, stop, subject, finite, self._tense(words[finite]), time)
        if found is None:
            return None
        tag = {"perfect": "VAFIN", "will": "VAFIN", "present": "VVFIN"}.get(found[1].tense, "VMFIN")
        parts = [trees[0] or "", f"({tag} {words[finite]})", trees[1] or "", found[0]]
        return clause_tree(parts), found[1]

    def _tense(self, form: str) -> str:
        if form in AUXILIARIES:
            return "perfect"
        if form in FUTURE:
            return "will"
        return MODAL_FORMS[form][0] if form in MODAL_FORMS else "present"

    def last(
        self, words: Sequence[str], start: int, stop: int, subject: Piece | None = None
    ) -> tuple[str, German] | None:
        """A clause with all its verbs at the end."""
        subject = subject or self.lexicon.noun_phrase(words, start, "nom")
        if subject is None:
            return None
        tense = self._tense(words[stop - 1])
        if tense == "present":
            found = self._fill(words, subject.stop, stop, subject, stop - 1, "present", joined=True)
            return found and (clause_tree([subject.tree, found[0]]), found[1])
        found = self._fill(words, subject.stop, stop - 1, subject, stop - 1, tense)
        tag = "VAFIN" if tense in ("perfect", "will") else "VMFIN"
        return found and (clause_tree([subject.tree, found[0], f"({tag} {words[stop - 1]})"]), found[1])

    def _fill(
        self,
        words: Sequence[str],
        start: int,
        stop: int,
        subject: Piece,
        finite: int,
        tense: str,
        time: Piece | None = None,
        *,
        joined: bool = False,
    ) -> tuple[str, German] | None:
        """The middle of a clause and the verbs at its end."""
        verbs, rest, person = self._verbs(words, start, stop, finite, tense, joined)
        if not verbs:
            return None
        end = min([*rest, finite] if joined else [*rest, stop])
        if not rest or (not joined and min(rest) < start):
            end = finite if joined else stop
        g = German(subject, verbs, finite, tuple(rest), tense, time=time)
        g.person = self._person(subject, words[finite], person, tense)
        if subject.kind == "pronoun" and words[subject.start] == "sie":
            g.subject = Piece(
                "pronoun",
                subject.start,
                subject.stop,
                subject.tree,
                (slot("they" if g.person == "wir" else "she", [subject.start]),),
            )
        trees = self._middle(words, start, end, g)
        if trees is None:
            return None
        g.verbs = (
            self._suited(verbs, g.object)
            if g.object
            else [v for v in verbs if self._intransitive(v)] or verbs
        )
        tail = self._tail(words, rest, finite, tense, joined)
        if tense == "present" and not joined:
            return clause_tree([*trees, *tail]), g
        inner = clause_tree([*trees, *tail])
        return (f"(VP {inner})" if trees else inner), g

    @staticmethod
    def _tail(words: Sequence[str], rest: Sequence[int], finite: int, tense: str, joined: bool) -> list[str]:
        tag = "PTKVZ" if tense == "present" else "VVPP" if tense == "perfect" else "VVINF"
        return [f"({tag} {words[i]})" for i in rest] + ([f"(VVFIN {words[finite]})"] if joined else [])

    @staticmethod
    def _person(subject: Piece, form: str, person: str, tense: str) -> str:
        if subject.person in ("ich", "du", "wir"):
            return subject.person
        plural = (
            form in ("haben", "sind", "werden") or (tense in MODAL_FORMS and form == tense) or person == "wir"
        )
        return "wir" if plural and subject.person in ("sie", "er/wir", "wir") else "er"

    def _intransitive(self, verb: Verb) -> bool:
        return verb.kinds[0] in self.lexicon.tables and verb.kinds[0] not in ("people", "things")

    def _suited(self, verbs: Sequence[Verb], thing: Piece) -> list[Verb]:
        """The verbs that go with an object of its classes, or all."""
        return [verb for verb in verbs if thing.classes & set(verb.kinds)] or list(verbs)

    def _verbs(
        self, words: Sequence[str], start: int, stop: int, finite: int, tense: str, joined: bool
    ) -> tuple[list[Verb], list[int], str]:
        """The verbs a clause may have, where their other parts stand, and the person of the finite form."""
        if tense == "present" and joined:
            pairs = [
                pair
                for (prefix, form), found in self.finite.items()
                for pair in found
                if pair[0].joined(form).split()[-1] == words[finite]
                and (prefix != "spazieren" or words[finite - 1] == prefix)
            ]
            walks = [pair for pair in pairs if pair[0].prefix == "spazieren"]
            rest = [finite - 1] if walks else []
            pairs = walks or pairs
        elif tense == "present":
            prefix = words[stop - 1] if stop - 1 > finite and words[stop - 1] in self.prefixes else ""
            pairs = self.finite.get((prefix, words[finite]), [])
            rest = [stop - 1] if prefix and pairs else []
            pairs = pairs or self.finite.get(("", words[finite]), [])
        else:
            form = "participle" if tense == "perfect" else "infinitive"
            long = " ".join(words[stop - 2 : stop])
            chosen = [v for v in self.lexicon.verbs if getattr(v, form) == long]
            rest = [stop - 2, stop - 1] if chosen else [stop - 1]
            chosen = chosen or [v for v in self.lexicon.verbs if getattr(v, form) == words[stop - 1]]
            return chosen, rest, ""
        persons = {person for _, person in pairs}
        chosen = [v for i, (v, _) in enumerate(pairs) if v not in [other for other, _ in pairs[:i]]]
        return chosen, rest, "wir" if persons == {"wir"} else ""

    def _middle(self, words: Sequence[str], start: int, end: int, g: German) -> list[str] | None:
        """The trees of what stands between, which is noted in ``g``; None for words the grammar does not have."""
        trees, at = [], start
        kinds = [kind for verb in g.verbs for kind in verb.kinds]
        while at < end:
            word = words[at]
            if word in ("schon", "nicht", "gern", "lieber") or words[at : at + 2] == ["sehr", "gern"]:
                size = 2 if word == "sehr" else 1
                if word == "schon":
                    g.done = at
                elif word == "nicht":
                    g.negated = at
                else:
                    g.fond, g.note_fond = tuple(range(at, at + size)), words[at + size - 1]
                inner = " ".join(
                    f"({'PTKNEG' if w == 'nicht' else 'ADV'} {w})" for w in words[at : at + size]
                )
                trees.append(f"(ADVP {inner})" if size > 1 else inner)
                at += size
                continue
            piece = self.lexicon.time(words, at) or self.lexicon.place(words, at, kinds)
            piece = piece or self.lexicon.noun_phrase(words, at, "acc")
            if piece is None or piece.stop > end:
                return None
            if piece.kind == "time":
                g.time = piece
            elif piece.kind == "place":
                g.place = piece
            else:
                g.object = piece
            trees.append(piece.tree)
            at = piece.stop
        return trees
