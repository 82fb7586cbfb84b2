"""Publishing and collecting from Python: a folder is enough, and values come back."""

import json
import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from commands import run
from local_market import work
from loop_world import served

from hits.batch.folder import read_batch
from hits.market.client import MarketAddress, open_market
from hits.market.collect import collect
from hits.market.folder import kept_batches
from hits.market.publish import expire, publish
from hits.market.review import review
from hits.market.status import collection_status
from hits.server.store import Store
from rypt.campaign.folder import Campaign
from rypt.text import RyptError


@pytest.fixture
def folders(
    tmp_path: Path, demo_campaign: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[Path, Path, Path]:
    """A campaign, a batch of it, and a folder for a market."""
    shutil.copytree(demo_campaign, tmp_path / "campaign")
    made = run(
        capsys, "hits", "make", tmp_path / "campaign", "-o", tmp_path / "batch", "--limit", 2, "--json", "-q"
    )
    assert made[0] == 0
    return tmp_path / "campaign", tmp_path / "batch", tmp_path / "market"


def test_from_a_batch_to_judgments(folders: tuple[Path, Path, Path], tmp_path: Path) -> None:
    campaign, batch, market = folders
    size = len(read_batch(batch).items)
    with served(market) as links:
        with pytest.raises(RyptError, match="not confirmed; nothing was sent"):
            publish(batch, market, confirm=lambda price, client: False)
        assert collection_status(campaign, batch, market).batch.published == {}
        asked = []
        done = publish(
            batch, str(market), confirm=lambda price, client: asked.append((price.hits, client.name)) or True
        )
        assert (done.made, done.already, done.hits, asked) == (size, 0, size, [(size, "local")])
        assert done.cost > 0
        again = publish(read_batch(batch), MarketAddress(folder=market), confirm=lambda price, client: False)
        assert (again.made, again.already, again.cost) == (0, size, Decimal("0.00"))
        assert [path.name for path in kept_batches(market)] == [read_batch(batch).settings.id]

        with Store(market / "market.db") as store:
            work(store, "Ada", lambda hit: {"label_1": "NO"})
        state = collection_status(campaign, batch, market)
        assert (state.batch.market.submitted, state.numbers.assignments, state.batch.hits) == (size, 0, size)
        collected = collect(batch, open_market(market), Campaign.open(campaign))
        assert (collected.assignments, collected.left_out, collected.submitted) == (size, (), size)
        assert collect(batch, market, campaign).already == size
        assert collection_status(campaign, batch).numbers.assignments == size

        results = tmp_path / "results.csv"
        ids = [
            done.id
            for hit in open_market(market).states(read_batch(batch).settings.id)
            for done in open_market(market).work(hit.hit)
        ]
        rows = [f"{ids[0]},x,", f"{ids[1]},,careless"]
        results.write_text("\n".join(["AssignmentId,Approve,Reject", *rows]) + "\n")
        reviewed = review(results, market)
        assert (reviewed.approved, reviewed.rejected, reviewed.already) == (1, 1, 0)
        results.write_text(f"AssignmentId,Approve,Reject\n{ids[0]},,too late\n")
        assert review(results, market).too_late == (ids[0],)
        assert expire(batch, market).hits == size
        deleted = expire(batch, market, delete=True)  # work that waits for a review keeps its hit
        assert (deleted.hits, len(deleted.failed)) == (2, size - 2)
        assert links["url"] == json.loads((market / "market.json").read_text())["url"]
    note = collection_status(campaign, batch, market).batch.note
    assert f"in {market} (served by `rypt hits serve {market}`) does not answer" in note


def test_mistakes(folders: tuple[Path, Path, Path]) -> None:
    _, batch, market = folders
    with pytest.raises(RyptError, match="there is no market here; start it first"):
        publish(batch, market)
    with pytest.raises(RyptError, match="is no sandbox: say --production"):
        publish(batch, "https://example.org/")
    with pytest.raises(RyptError, match="either the folder of a local market or the URL"):
        MarketAddress()
    with pytest.raises(RyptError, match="has no folder"):
        publish(replace(read_batch(batch), folder=None), market)
