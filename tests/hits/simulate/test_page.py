"""What a simulated worker reads off a page is what the batch put there."""

from datetime import UTC, datetime

import pytest

from hits.batch.folder import new_settings
from hits.batch.labels import make_label_batch
from hits.batch.options import BatchOptions
from hits.batch.page import fill, without_market_parts
from hits.records import Kind
from hits.server.question import safe_page
from hits.simulate.page import read_page
from rypt.campaign.folder import Campaign
from rypt.texts.phrases import phrase_key


@pytest.mark.slow
def test_segment_span_and_phrases_of_every_page(unjudged_campaign):
    campaign = Campaign.open(unjudged_campaign)
    settings = new_settings(Kind.LABEL, seed=1, now=datetime(2026, 1, 1, tzinfo=UTC), id="b")
    batch = make_label_batch(campaign, settings, BatchOptions(limit=600))
    sources = {segment.id: segment.tokens for segment in campaign.segments}
    gaps = 0
    for item in batch.items:
        made = safe_page(without_market_parts(fill(batch.template, item.columns)))
        body = made.with_form("/work/a/1", {"csrf": "x", "assignmentId": "1"})
        page = read_page(f'<div class="hit {made.classes}">{body}</div>')
        c = item.columns
        assert page.kind is Kind.LABEL
        assert page.source.tokens == sources[c["segment"]]
        assert page.source.marked == list(range(int(c["start"]), int(c["stop"])))
        assert page.hit.hidden == {"csrf": "x", "assignmentId": "1"}
        assert page.hit.choices == {f"label_{n}": ["YES", "NO", "NOT_SURE"] for n in range(1, item.size + 1)}
        phrases = {name: phrase_key(shown.phrase) for name, shown in page.texts}
        assert phrases == {f"label_{n}": c[f"phrase_{n}"] for n in range(1, item.size + 1)}
        gaps += sum("[GAP]" in phrase for phrase in phrases.values())
    assert gaps > 0


def test_escaped_text_is_read_as_it_looks():
    page = read_page('<p class="text source">a <mark>&lt;b&gt; c</mark> &amp; d</p>')
    assert page.source is not None
    assert (page.source.tokens, page.source.marked) == (["a", "<b>", "c", "&", "d"], [1, 2])


def test_a_refusal_is_no_page_for_workers():
    assert not read_page("<main><h1>Something went wrong</h1></main>").inside
    page = read_page('<dl class="numbers"><div><dt>Done</dt><dd>12<span> / 30</span></dd></div></dl>')
    assert (page.inside, page.done) == (True, 12)
