import html
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest

from hits.batch.controls import add_verified, control_candidates, read_reference_links
from hits.batch.folder import new_settings
from hits.batch.labels import make_label_batch
from hits.batch.options import BatchOptions
from hits.batch.page import fill, item_question
from hits.payment import fees_of, price
from hits.records import Batch, BatchSettings, Kind
from hits.simulate.page import ShownText, read_page
from rypt.campaign.create import create_campaign
from rypt.campaign.folder import Campaign
from rypt.campaign.queries import worthwhile
from rypt.campaign.settings import Languages
from rypt.records import Judgment, Label, Span
from rypt.scoring.frontier import frontier
from rypt.scoring.queries import queries
from rypt.text import RyptError
from rypt.texts.phrases import phrase_key

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
Row = tuple[str, Span, int, dict[str, str]]  # item, span, slot, the slot's columns


def settings(seed: int = 1) -> BatchSettings:
    return new_settings(Kind.LABEL, seed=seed, now=NOW, source_language="de", target_language="en", id="b")


@pytest.fixture(scope="module")
def campaign(demo_campaign: Path) -> Campaign:
    return Campaign.open(demo_campaign)


@pytest.fixture(scope="module")
def unjudged(unjudged_campaign: Path) -> Campaign:
    return Campaign.open(unjudged_campaign)


@pytest.fixture(scope="module")
def verified(unjudged: Campaign, campaign: Campaign, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """As if a person had said YES to every part of a reference that can become a control."""
    copy = Campaign.open(shutil.copytree(unjudged.folder, tmp_path_factory.mktemp("verified") / "c"))
    links = read_reference_links(campaign.path("reference.align"), copy)
    for candidate in control_candidates(copy, links):
        add_verified(copy, candidate.key, Label.YES)
    return copy


@pytest.fixture(scope="module")
def alignment(campaign: Campaign) -> Path:
    return campaign.path("reference.align")


@pytest.fixture(scope="module")
def fresh(verified: Campaign, alignment: Path) -> Batch:
    """A batch of the campaign as if nobody had judged anything."""
    return make_label_batch(verified, settings(), BatchOptions(reference_alignment=alignment))


def rows(batch: Batch) -> list[Row]:
    names = ("phrase", "control", "control_kind", "hidden", "highlight", "text")
    return [
        (
            item.columns["segment"],
            Span(int(item.columns["start"]), int(item.columns["stop"])),
            n,
            {name: item.columns[f"{name}_{n}"] for name in names} | {"source": item.columns["source"]},
        )
        for item in batch.items
        for n in range(1, item.size + 1)
    ]


def without_spaces(text: str) -> str:
    return phrase_key(text).replace(" ", "")


def marked(markup: str) -> str:
    return shown_text(markup).phrase


def unmarked(markup: str) -> str:
    return shown_text(markup).text


def shown_text(markup: str) -> ShownText:
    """The tokens behind what a page shows."""
    source = read_page(f'<div class="hit hit-label"><p class="text source">{markup}</p></div>').source
    assert source is not None
    return source


def test_every_unlabelled_phrase_of_the_frontier_is_asked_once(campaign: Campaign) -> None:
    """Against a plain reading of the candidates and their links."""
    wanted = set()
    with campaign.database() as db:
        judged = {(v.segment, v.span, v.phrase) for v in db.votes()}
    for candidate in campaign.candidates:
        tree = campaign.trees[candidate.segment]
        if tree is None:
            continue
        linked = [tuple(map(int, link.split("-"))) for link in candidate.alignment.split()]
        for index in frontier(tree, 4):
            span = tree.constituents[index].span
            places = sorted({t for s, t in linked if span.start <= s < span.stop})
            pieces = "".join(
                ("" if n == 0 else " " if p == places[n - 1] + 1 else " [GAP] ") + candidate.tokens[p].lower()
                for n, p in enumerate(places)
            )
            gaps = [b - a - 1 for a, b in pairwise(places) if b > a + 1]
            if (
                places
                and len(gaps) <= 1
                and sum(gaps) <= 4
                and len(places) <= 8
                and places[-1] - places[0] < 12
            ):
                wanted.add((candidate.segment, span, pieces))
    asked = [
        (s, span, slot["phrase"])
        for s, span, _, slot in rows(make_label_batch(campaign, settings(), BatchOptions()))
        if not slot["control"]
    ]
    assert Counter(asked) == Counter(wanted - judged)
    assert len(asked) == 91


def test_the_highlighted_words_are_the_phrase_in_a_candidate_that_has_it(
    campaign: Campaign, fresh: Batch
) -> None:
    texts: dict[str, set[str]] = {}
    for candidate in campaign.candidates:
        texts.setdefault(candidate.segment, set()).add(" ".join(candidate.tokens))
    segments = {segment.id: segment for segment in campaign.segments}
    for segment, span, _, slot in rows(fresh):
        assert phrase_key(marked(slot["text"])) == slot["phrase"]
        assert without_spaces(html.unescape(slot["highlight"]).replace("…", "[GAP]")) == without_spaces(
            slot["phrase"]
        )
        if slot["control_kind"] != "identical":
            assert (unmarked(slot["text"]) in texts[segment]) == (slot["control_kind"] != "damaged")
        assert marked(slot["source"]) == " ".join(segments[segment].tokens[span.start : span.stop])
        assert unmarked(slot["source"]) == segments[segment].text


def test_no_two_spans_of_a_segment_overlap_and_no_page_repeats_a_phrase(fresh: Batch) -> None:
    spans: dict[str, set[Span]] = {}
    for item in fresh.items:
        phrases = [item.columns[f"phrase_{n}"] for n in range(1, item.size + 1)]
        assert len(set(phrases)) == len(phrases) <= 10
        spans.setdefault(item.columns["segment"], set()).add(
            Span(int(item.columns["start"]), int(item.columns["stop"]))
        )
    for found in spans.values():
        words = [i for span in found for i in range(*span)]
        assert len(words) == len(set(words))
        assert all(len(span) <= 4 for span in found)
    assert len({item.id for item in fresh.items}) == len(fresh.items)


@pytest.mark.slow
def test_the_seed_decides_everything(verified: Campaign, alignment: Path, fresh: Batch) -> None:
    options = BatchOptions(reference_alignment=alignment)
    assert make_label_batch(verified, settings(), options) == fresh
    other = make_label_batch(verified, settings(2), options)
    asked = [(s, span, slot["phrase"]) for s, span, _, slot in rows(fresh) if not slot["control"]]
    others = [(s, span, slot["phrase"]) for s, span, _, slot in rows(other) if not slot["control"]]
    assert asked != others
    assert sorted(asked) == sorted(others)


def test_a_tenth_are_controls_half_of_them_yes(fresh: Batch) -> None:
    kinds = Counter((slot["control"], slot["control_kind"]) for _, _, _, slot in rows(fresh))
    asked = kinds.pop(("", ""))
    assert kinds == {("YES", "identical"): 47, ("NO", "damaged"): 47}
    assert 94 / (94 + asked) == pytest.approx(0.1, abs=0.001)
    assert not fresh.notes


def test_repeats_are_labels_on_which_all_agreed(campaign: Campaign, alignment: Path) -> None:
    with campaign.database() as db:
        votes = {(v.segment, v.span, v.phrase): v for v in db.votes()}
    batch = make_label_batch(campaign, settings(), BatchOptions(controls=0.5, reference_alignment=alignment))
    repeats = [row for row in rows(batch) if row[3]["control_kind"] == "repeat"]
    assert len(repeats) > 20
    for segment, span, _, slot in repeats:
        found = votes[segment, span, slot["phrase"]]
        assert (found.yes, found.no)[slot["control"] == "NO"] >= 2
        assert (found.yes, found.no)[slot["control"] == "YES"] == found.not_sure == 0
    expected = Counter(slot["control"] for _, _, _, slot in rows(batch))
    assert expected["YES"] == 45
    assert expected["NO"] == 46


@pytest.mark.slow
def test_damaged_phrases_have_a_word_that_no_candidate_of_the_segment_has(
    campaign: Campaign, fresh: Batch
) -> None:
    own: dict[str, set[str]] = {}
    for candidate in campaign.candidates:
        own.setdefault(candidate.segment, set()).update(token.lower() for token in candidate.tokens)
    hosts = 0
    for segment, span, _, slot in rows(fresh):
        if slot["control_kind"] != "damaged":
            continue
        hosts += 1
        asked = [
            s["phrase"] for g, sp, _, s in rows(fresh) if (g, sp) == (segment, span) and not s["control"]
        ]
        words = slot["phrase"].split()
        assert slot["phrase"] not in asked
        assert sum(word not in own[segment] for word in words) >= 1
        assert sum(word not in " ".join(asked).split() for word in words) >= len(words) / 2
    assert hosts


@pytest.mark.slow
def test_the_reference_has_its_part_in_another_colour_or_is_hidden(
    unjudged: Campaign, alignment: Path, fresh: Batch
) -> None:
    shown = [item.columns["reference"] for item in fresh.items]
    assert sum('<mark class="reference">' in text for text in shown) > 0.9 * len(shown)
    assert all("<mark>" in item.columns["source"] for item in fresh.items)
    plain = make_label_batch(unjudged, settings(), BatchOptions())
    assert not [item for item in plain.items if "<mark" in item.columns["reference"]]
    hidden = make_label_batch(
        unjudged, settings(), BatchOptions(reference=False, reference_alignment=alignment)
    )
    pages = [fill(hidden.template, item.columns) for item in hidden.items]
    asked = {item.columns["segment"] for item in hidden.items}
    assert asked
    assert not any("Reference translation" in page for page in pages)
    assert not [name for name in hidden.items[0].columns if "reference" in name]


def questions(batch: Batch) -> set[tuple[str, Span, str]]:
    return {
        (segment, span, columns["phrase"])
        for segment, span, _, columns in rows(batch)
        if not columns["control"]
    }


def test_the_labels_asked_serve_the_most_candidates_and_punctuation_comes_last(unjudged: Campaign) -> None:
    words = [
        q for q in queries(unjudged.trees, unjudged.candidates) if any(map(str.isalnum, q.source_phrase))
    ]
    served = {(q.segment, q.span, q.phrase): q.candidates for q in words}
    few = make_label_batch(unjudged, settings(), BatchOptions(controls=0, limit=30))
    assert sorted(served[key] for key in questions(few)) == sorted(served.values())[-30:]
    every = make_label_batch(unjudged, settings(), BatchOptions(controls=0, limit=len(words)))
    assert questions(every) == set(served)


@pytest.mark.slow
def test_by_value_what_may_change_the_best_is_asked(unjudged: Campaign) -> None:
    found = queries(unjudged.trees, unjudged.candidates)
    ranked = [(q.segment, q.span, q.phrase) for q in worthwhile(unjudged, found)]
    every = make_label_batch(unjudged, settings(), BatchOptions(controls=0, select="value"))
    assert questions(every) == set(ranked)
    assert len(ranked) < len(found)
    few = make_label_batch(unjudged, settings(), BatchOptions(controls=0, select="value", limit=30))
    assert questions(few) == set(ranked[:30])


@pytest.mark.slow
@pytest.mark.parametrize("select", ["all", "value"])
@pytest.mark.parametrize("market", ["local", "mturk"])
def test_a_budget_is_kept_and_used(unjudged: Campaign, select: str, market: str) -> None:
    options = BatchOptions(controls=0.1, select=select, market=market)
    fees = fees_of(market)
    whole = price(make_label_batch(unjudged, settings(), options), fees=fees).total
    for budget in (whole, whole / 3, Decimal("1.00")):
        batch = make_label_batch(unjudged, settings(), replace(options, budget=budget))
        assert price(batch, fees=fees).total <= budget
        assert price(batch, fees=fees).total > budget * Decimal("0.9")
    with pytest.raises(RyptError, match=r"the smallest batch costs \$0.0\d, more than the budget of \$0.00"):
        make_label_batch(unjudged, settings(), replace(options, budget="0.00"))


@pytest.mark.slow
def test_nothing_that_matters_is_left(tmp_path: Path) -> None:
    """One candidate per segment: it is the best, whatever people say of it."""
    (tmp_path / "s").write_text("das haus\n")
    (tmp_path / "t").write_text("(S (A das) (N haus))\n")
    (tmp_path / "n").write_text("0 ||| the house ||| f= 1 ||| 1 ||| 0-0 1-1\n")
    one = create_campaign(tmp_path / "c", source=tmp_path / "s", trees=tmp_path / "t", nbest=[tmp_path / "n"])
    with pytest.raises(RyptError, match=r"no answer would change which candidates are best \(--select all"):
        make_label_batch(one, settings(), BatchOptions(select="value"))
    assert len(questions(make_label_batch(one, settings(), BatchOptions(controls=0)))) == 1


def test_more_phrases_than_fit_make_pages_of_even_sizes(unjudged: Campaign) -> None:
    batch = make_label_batch(unjudged, settings(), BatchOptions(alternatives=4, controls=0))
    sizes: dict[str, list[int]] = {}
    for item in batch.items:
        sizes.setdefault(item.id.rsplit("-", 1)[0], []).append(item.size)
    assert max(len(found) for found in sizes.values()) == 4
    for found in sizes.values():
        assert sum(found) > 4 * (len(found) - 1)
        assert max(found) <= 4


def test_when_everything_has_a_label_there_is_nothing_to_ask(hostile: Callable[[str], Campaign]) -> None:
    campaign = hostile("house")
    batch = make_label_batch(campaign, settings(), BatchOptions(controls=0))
    with campaign.database(readonly=False) as db:
        db.add([Judgment(s, span, phrase, Label.YES, "A1") for s, span, phrase in questions(batch)])
    with pytest.raises(RyptError, match="nothing to ask"):
        make_label_batch(campaign, settings(), BatchOptions())


@pytest.fixture
def hostile(tmp_path: Path) -> Callable[[str], Campaign]:
    """A campaign of two segments; the first has one candidate word of any kind."""

    def make(word: str) -> Campaign:
        (tmp_path / "source").write_text("<i>das</i> Haus\nder Hund\n", encoding="utf-8")
        (tmp_path / "trees").write_text(
            "(S (A <i>das</i>) (N Haus))\n(S (A der) (N Hund))\n", encoding="utf-8"
        )
        lines = [f"0 ||| the {word} ||| ||| 0 ||| 0-0 1-1", "1 ||| a barking dog ||| ||| 0 ||| 0-0 1-1 1-2"]
        (tmp_path / "nbest").write_text("\n".join(lines) + "\n", encoding="utf-8")
        where = {name: tmp_path / name for name in ("source", "trees")}
        return create_campaign(
            tmp_path / "c", **where, nbest=[tmp_path / "nbest"], languages=Languages("de", "ar")
        )

    return make


@pytest.mark.parametrize(
    "word",
    ["<script>alert(1)</script>", "${source}", "]]>", '"onload="x', "=cmd|x", "x" * 9000, "a\u202eb", "\x07"],
)
def test_hostile_words_are_shown_and_nothing_else(hostile: Callable[[str], Campaign], word: str) -> None:
    campaign = hostile(word)
    batch = make_label_batch(campaign, settings(), BatchOptions(controls=0))
    item = next(item for item in batch.items if item.columns["segment"] == "0")
    page = fill(batch.template, item.columns)
    shown = word.replace("\x07", "\ufffd")
    assert f"<mark>the {html.escape(shown)}</mark>" in page
    assert page.count("<script") == 1  # the template's own
    assert page.count("<form") == 1
    assert item.columns["phrase_1"] == f"the {word}".lower()
    assert item_question(batch, item)


def test_a_label_given_meanwhile_is_not_asked_again(hostile: Callable[[str], Campaign]) -> None:
    campaign = hostile("house")
    with campaign.database(readonly=False) as db:
        db.add([Judgment("0", Span(0, 2), "The House", Label.YES, "A1")])
    batch = make_label_batch(campaign, settings(), BatchOptions(controls=0))
    assert [item.columns["segment"] for item in batch.items] == ["1"]
