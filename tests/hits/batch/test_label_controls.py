import numpy as np
import pytest

from hits.batch.alternatives import Alternative, Page, ReferenceParts
from hits.batch.label_controls import LabelControls
from hits.records import ControlKind
from rypt.records import Candidate, Label, Query, Span, Votes

SPAN = Span(0, 1)
NO_YES = "no control expects YES: there was nothing to make it from; `rypt hits controls` lets you verify some in a minute"
TEXTS = {"1": "garden . fence", "2": "platform . seven", "3": "telephone . ringing"}


class Given(ReferenceParts):
    """References without a campaign, by default none, aligned word by word."""

    def __init__(self, texts: dict[str, str] | None = None) -> None:
        self.texts, self.sizes = texts or {}, dict.fromkeys(TEXTS, 3)
        self.links = dict.fromkeys(self.texts, ((0, 0), (1, 1), (2, 2)))


def controls(
    given: dict[tuple[str, Span, str], Votes],
    texts: dict[str, str] = TEXTS,
    references: dict[str, str] | None = None,
    verified: dict[tuple[str, Span, str], Label] | None = None,
) -> LabelControls:
    found = [Query(s, SPAN, text.split()[0], "", "", 1, text, (0,)) for s, text in texts.items()]
    candidates = [Candidate(segment, text, "0-0") for segment, text in texts.items()]
    return LabelControls(found, candidates, given, Given(references), verified or {}, "lower")


def pages(*segments: str) -> list[Page]:
    return [((s, SPAN), [Alternative(TEXTS[s].split()[0], TEXTS[s], (0,))]) for s in segments]


def labels(made: list[Page]) -> list[tuple[str, str]]:
    return sorted((place[0], str(a.expected)) for place, page in made for a in page if a.expected)


def test_repeats_of_other_constituents_get_pages_of_their_own() -> None:
    made = pages("1")
    given = {("2", SPAN, "platform"): Votes("2", SPAN, "platform", 2, 0)}
    assert controls(given).add(made, 2, 10, np.random.default_rng(3)) == []
    assert labels(made) == [("1", "NO"), ("2", "YES")]
    assert made[-1][0] == ("2", SPAN)


def test_full_pages_take_no_controls() -> None:
    made = pages("1", "2")
    notes = controls({}).add(made, 2, 1, np.random.default_rng(3))
    assert labels(made) == []
    assert notes[-1] == "only 0 of 2 controls could be made"


@pytest.mark.parametrize("votes", [Votes("2", SPAN, "platform", 1, 0), Votes("2", SPAN, "platform", 3, 1)])
def test_doubtful_labels_are_not_repeated(votes: Votes) -> None:
    made = pages("1")
    notes = controls({("2", SPAN, "platform"): votes}).add(made, 2, 10, np.random.default_rng(3))
    assert [label for _, label in labels(made)] == ["NO", "NO"]
    assert notes == [NO_YES]


def test_the_missing_kind_is_made_up_for_by_the_other() -> None:
    made = pages("1", "2", "3")
    assert len(controls({}).add(made, 3, 10, np.random.default_rng(3))) == 1
    assert [label for _, label in labels(made)] == ["NO"] * 3


def test_one_segment_alone_has_no_controls() -> None:
    made = pages("1")
    notes = controls({}, {"1": TEXTS["1"]}).add(made, 1, 10, np.random.default_rng(3))
    assert labels(made) == []
    assert notes == [
        "no control expects NO: there was nothing to make it from",
        "only 0 of 1 control could be made",
    ]


def test_a_damaged_candidate_keeps_the_rest_of_its_host() -> None:
    made = pages("1")
    controls({}).add(made, 1, 10, np.random.default_rng(3))
    damaged = made[0][1][1]
    assert damaged.expected is Label.NO
    assert damaged.candidate == f"{damaged.phrase} . fence"
    assert damaged.phrase in {word for segment in "23" for word in TEXTS[segment].split()}


def test_a_phrase_that_candidate_and_reference_share_expects_yes_on_a_page_of_its_own() -> None:
    made = pages("1", "2")
    known = {("1", SPAN, "garden"): Label.YES}
    notes = controls({}, references={"1": "garden was there"}, verified=known).add(
        made, 2, 10, np.random.default_rng(3)
    )
    (identical,) = [(place, page) for place, page in made if page[0].kind == "identical"]
    assert identical == (
        ("1", SPAN),
        [Alternative("garden", "garden was there", (0,), Label.YES, ControlKind.IDENTICAL)],
    )
    assert notes == []


@pytest.mark.parametrize(
    ("reference", "votes"),
    [
        ("it was there", {}),  # no candidate has "it": the link is probably wrong
        ("garden was there", {("1", SPAN, "garden"): Votes("1", SPAN, "garden", 1, 1)}),
        ("garden was there", {("1", SPAN, "garden"): Votes("1", SPAN, "garden", 0, 0, 1)}),
    ],
)
def test_a_doubtful_part_of_the_reference_is_no_control(
    reference: str, votes: dict[tuple[str, Span, str], Votes]
) -> None:
    made = pages("1", "2")
    known = {("1", SPAN, word): Label.YES for word in ("it", "garden")}
    notes = controls(votes, references={"1": reference}, verified=known).add(
        made, 2, 10, np.random.default_rng(3)
    )
    assert [label for _, label in labels(made)] == ["NO", "NO"]
    assert notes == [NO_YES]


def test_an_alignment_alone_makes_no_control() -> None:
    made = pages("1", "2")
    assert controls({}, references={"1": "garden was there"}).add(made, 2, 10, np.random.default_rng(3)) == [
        NO_YES
    ]
    made = pages("1", "2")
    known = {("1", SPAN, "garden"): Label.NO}
    assert controls({}, references={"1": "garden was there"}, verified=known).add(
        made, 2, 10, np.random.default_rng(3)
    ) == [NO_YES]


@pytest.mark.parametrize(
    ("word", "made"), [("Obama", True), ("2009", True), ("in", False), (",", False), ("die", False)]
)
def test_a_name_that_is_the_same_in_all_texts_expects_yes(word: str, made: bool) -> None:
    query = Query("1", SPAN, word.lower(), "", word, 1, f"{word} . fence", (0,))

    def known(reference: str) -> Alternative | None:
        return LabelControls([query], [], {}, Given({"1": reference}), {}, "lower")._known_yes(("1", SPAN))

    assert (known(f"{word} was there") is not None) == made
    assert known("he was there") is None
