"""Write the example corpus: German sentences with English translations, from a small grammar and a list of idioms.

For what is not trained on also the source trees and, for each constituent, all phrases that are acceptable (`truth`).

    python make_corpus.py [--output corpus] [--seed 7] [--more 1000]

Sentence frames put clauses into main, inverted and verb-final order, questions, relative clauses, passives and so on.
Where English has several words for one German word the usual one is taken most of the time, as translators do.
"""

import argparse
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from clauses import Subject, english_question, english_statement, german_main, german_verb_last
from grammar import EMBEDDINGS, ERRANDS, POSSESSIVES, UNWANTED, Grammar, Pair, read_tables
from truth import reader, write_truth

SIZES = {"train": 1000, "dev": 60, "test": 60, "heldout": 180}


def statement(grammar: Grammar) -> Pair:
    """A plain main clause, negated now and then."""
    clause = grammar.clause(grammar.tense())
    if clause.tense in ("past", "modal", "will") and not clause.indefinite and grammar.rng.random() < 0.2:
        clause.negate()
    return f"{german_main(clause)} .", f"{english_statement(clause)} ."


def inverted(grammar: Grammar) -> Pair:
    """The time stands first in German; English moves it to the end half of the time."""
    clause = grammar.clause(grammar.rng.choice(("past", "past", "future", "modal", "will")), time=True)
    front = grammar.rng.random() < 0.4
    return f"{german_main(clause, front='time')} .", f"{english_statement(clause, front=front)} ."


def embedded(grammar: Grammar) -> Pair:
    """A clause with its verb at the end after dass, ob or warum."""
    german, english = grammar.rng.choice(EMBEDDINGS)
    clause = grammar.clause(grammar.tense())
    end = "?" if german.startswith("weißt") else "."
    text = f"{grammar.choose(english)} {english_statement(clause)} {end}"
    return f"{german} {german_verb_last(clause)} {end}", text


def because(grammar: Grammar) -> Pair:
    """A reason with weil."""
    first = grammar.clause(grammar.rng.choice(("past", "past", "modal")), time=False)
    if not first.indefinite and grammar.rng.random() < 0.4:
        first.negate()
    second = grammar.clause(grammar.rng.choice(("past", "modal", "modal")), time=False)
    link = grammar.choose("because/because/as")
    return (
        f"{german_main(first)} , weil {german_verb_last(second)} .",
        f"{english_statement(first)} {link} {english_statement(second)} .",
    )


def condition(grammar: Grammar) -> Pair:
    """A condition with wenn, whose main clause begins with its verb."""
    first = grammar.clause("habit", time=False)
    second = grammar.clause(grammar.rng.choice(("modal", "will")), time=False)
    while second.subject == first.subject:
        second.subject = grammar.subject()
    link = grammar.choose("if/when")
    return (
        f"wenn {german_verb_last(first)} , {german_main(second, front='clause')} .",
        f"{link} {english_statement(first)} , {english_statement(second)} .",
    )


def question(grammar: Grammar) -> Pair:
    """A yes-no question or one with warum, wann or wo."""
    clause = grammar.clause(grammar.rng.choice(("past", "past", "modal", "future")), time=None)
    german, english = grammar.rng.choice(
        (("", ""), ("", ""), ("warum ", "why "), ("wann ", "when "), ("wo ", "where "))
    )
    if german in ("wann ", "wo "):
        clause.time = None
        clause.place = None if german == "wo " or grammar.rng.random() < 0.7 else clause.place
    return f"{german}{german_main(clause, front='clause')} ?", f"{english}{english_question(clause)} ?"


def purpose(grammar: Grammar) -> Pair:
    """um … zu with an infinitive."""
    subject = grammar.subject()
    first = grammar.clause(grammar.rng.choice(("past", "modal", "will")), subject)
    first.verb = grammar.rng.choice([verb for verb in grammar.moves if verb.kinds[0] == "to"])
    first.english_verb = first.verb.english[0]
    first.object, first.pronoun, first.place = None, False, grammar.pair("to")
    second = grammar.clause("habit", subject, time=False)
    while second.object is None or second.verb.infinitive not in ERRANDS:
        second = grammar.clause("past", subject, time=False)
    goal = f", um {second.object[0]} {second.verb.zu_infinitive}"
    to = grammar.choose("to/in order to")
    return (
        f"{german_main(first)} {goal} .",
        f"{english_statement(first)} {to} {second.english_infinitive()} .",
    )


def relative_clause(grammar: Grammar) -> Pair:
    """A person described by what he or she does."""
    noun = grammar.rng.choice(grammar.people)
    german, english = noun.phrase(
        "der", "nom", grammar.adjective("person"), grammar.choose(noun.english), POSSESSIVES
    )
    clause = grammar.clause(
        grammar.rng.choice(("past", "past", "habit")), Subject(noun.article("nom"), "who", "er")
    )
    if grammar.rng.random() < 0.5:
        (kin_german, kin_english), kin = grammar.relative("nom")
        while kin.gender != noun.gender:
            (kin_german, kin_english), kin = grammar.relative("nom")
            if noun.gender == "n":
                break
        tail = (f"ist {kin_german}", f"is {kin_english}")
    else:
        rows = [row for row in grammar.tables["states"] if row[2] == "person"]
        state_german, state_english, _ = grammar.rng.choice(rows)
        tail = (f"ist {state_german}", f"is {grammar.choose(state_english)}")
    return (
        f"{german} , {german_verb_last(clause)} , {tail[0]} .",
        f"{english} {english_statement(clause)} {tail[1]} .",
    )


def passive(grammar: Grammar) -> Pair:
    """Something was done, with the participle at the end."""
    chosen = [
        verb
        for verb in grammar.verbs
        if verb.kinds[0] in ("fix", "clean", "open", "plan", "carry", "pay", "vehicle")
    ]
    verb = grammar.rng.choice(chosen)
    kind = grammar.rng.choice(verb.kinds)
    noun = grammar.thing(kind)
    german, english = noun.phrase(
        "der", "nom", grammar.adjective(kind), grammar.choose(noun.english), POSSESSIVES
    )
    past = grammar.rng.random() < 0.6
    rows = [row for row in grammar.tables["times"] if row[0] == ("past" if past else "future")]
    _, time, english_time = grammar.rng.choice(rows)
    participle = grammar.english_verb(verb)[3].replace(" _", "")
    end = grammar.choose(english_time)
    if past:
        return f"{german} wurde {time} {verb.participle} .", f"{english} was {participle} {end} ."
    return f"{german} muss {time} {verb.participle} werden .", f"{english} has to be {participle} {end} ."


def state(grammar: Grammar) -> Pair:
    """Somebody or something is, was or seems so."""
    state_german, state_english, kinds = grammar.rng.choice(grammar.tables["states"])
    kind = grammar.rng.choice(kinds.split())
    verb, english_verb = grammar.rng.choice((("ist", "is"), ("ist", "is"), ("war", "was")))
    noun = grammar.thing(kind)
    german, english = noun.phrase(
        "der", "nom", grammar.adjective(kind), grammar.choose(noun.english), POSSESSIVES
    )
    text = grammar.choose(state_english)
    if grammar.rng.random() < 0.35:
        lead, english_lead = grammar.rng.choice(EMBEDDINGS[:3])
        return (
            f"{lead} {german} {state_german} {verb} .",
            f"{grammar.choose(english_lead)} {english} {english_verb} {text} .",
        )
    return f"{german} {verb} {state_german} .", f"{english} {english_verb} {text} ."


def fondness(grammar: Grammar) -> Pair:
    """gern and lieber: English likes to do it."""
    clause = grammar.clause("habit", time=False)
    adverb, likes = grammar.rng.choice(
        (("gern", "like"), ("gern", "like"), ("sehr gern", "really like"), ("lieber", "prefer"))
    )
    clause.adverb = adverb
    clause.modal = (clause.verb.present, f"{likes} to")
    clause.tense = "fond"
    return f"{german_main(clause)} .", f"{english_statement(clause)} ."


def there_is(grammar: Grammar) -> Pair:
    """es gibt with the place first."""
    place, kinds = grammar.rng.choice(grammar.tables["there"])
    english_place = grammar.choose(dict(row[:2] for row in grammar.tables["in"])[place])
    kind = grammar.rng.choice(kinds.split())
    noun = grammar.thing(kind)
    german, english = noun.phrase(
        "ein", "acc", grammar.adjective(kind), grammar.choose(noun.english), POSSESSIVES
    )
    return f"{place} gibt es {german} .", f"there is {english} {english_place} ."


def request(grammar: Grammar) -> Pair:
    """A polite request with an infinitive at the end."""
    clause = grammar.clause("habit", time=False)
    while clause.object is None or clause.verb.infinitive in UNWANTED:
        clause = grammar.clause("habit", time=False)
    place = [clause.place[0]] if clause.place else []
    german = " ".join(["kannst du bitte", clause.object[0], *place, clause.verb.infinitive])
    please = grammar.choose("can you please {} ?/can you {} , please ?/could you {} , please ?")
    return f"{german} ?", please.format(clause.english_infinitive())


FRAMES: dict[Callable[[Grammar], Pair], int] = {
    statement: 26,
    inverted: 14,
    embedded: 14,
    because: 6,
    condition: 5,
    question: 10,
    purpose: 5,
    relative_clause: 5,
    passive: 5,
    state: 6,
    fondness: 5,
    there_is: 3,
    request: 3,
}


def sentences(grammar: Grammar, idioms: list[Pair]) -> Iterator[Pair]:
    """The idioms in random order among sentences of the grammar, without end and without repetition."""
    waiting = grammar.rng.sample(idioms, len(idioms))
    frames, shares = list(FRAMES), list(FRAMES.values())
    seen: set[str] = set()
    while True:
        if waiting and grammar.rng.random() < 0.12:
            german, english = waiting.pop()
        else:
            german, english = grammar.rng.choices(frames, shares)[0](grammar)
        if german not in seen and english not in seen and 3 <= len(german.split()) <= 17:
            seen |= {german, english}
            yield german, english


def main() -> None:
    """Write all parts in both languages, with trees and truth of those that are not trained on."""
    parser = argparse.ArgumentParser(description="Write the example corpus.")
    here = Path(__file__).resolve().parent
    parser.add_argument("--output", type=Path, default=Path("corpus"), help="folder to write to (corpus)")
    parser.add_argument("--seed", type=int, default=7, help="seed of the random choices (7)")
    parser.add_argument(
        "--more", type=int, default=0, help="further segments to test on, written as more.* (0)"
    )
    options = parser.parse_args()
    lines = (here / "idioms.txt").read_text(encoding="utf-8").splitlines()
    idioms = [(german, english) for german, english in (line.split(" ||| ") for line in lines)]
    stream = sentences(Grammar(random.Random(options.seed), read_tables(here / "words.txt")), idioms)
    options.output.mkdir(parents=True, exist_ok=True)
    for name, size in (SIZES | {"more": options.more} if options.more > 0 else SIZES).items():
        pairs = [next(stream) for _ in range(size)]
        for language, column in (("de", 0), ("en", 1)):
            text = "".join(f"{pair[column]}\n" for pair in pairs)
            (options.output / f"{name}.{language}").write_text(text, encoding="utf-8")
        if name != "train":
            trees, truth = options.output / f"{name}.trees", options.output / f"{name}.truth.jsonl"
            write_truth([german for german, _ in pairs], reader(here), trees, truth)


if __name__ == "__main__":
    main()
