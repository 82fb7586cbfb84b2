"""Publishing through the real client and endpoint: no hit twice and none forgotten, whenever a process is killed."""

import subprocess
import sys

import pytest
from local_market import local_market, made_batch

from hits.batch.folder import read_batch
from hits.market.client import Market, MarketError, connect
from hits.market.ledger import Ledger, ledger_of
from hits.market.publish import expire, publish, published
from rypt.text import InputError, RyptError


@pytest.fixture
def batch(tmp_path):
    return made_batch(tmp_path / "batch")


def counts(done):
    return done.made, done.already


@pytest.mark.slow
def test_publishing_twice_makes_each_hit_once_on_each_market(tmp_path, batch):
    (tmp_path / "other").mkdir()
    size = len(batch.items)
    with local_market(tmp_path) as (market, _), local_market(tmp_path / "other") as (other, _):
        assert counts(publish(batch, market)) == (size, 0)
        assert counts(publish(batch, market)) == (0, size)
        found = {item: hit["HITId"] for item, hit in market.hits(batch.settings.id).items()}
        assert found == ledger_of(tmp_path / "batch", market.key).read()
        assert set(found) == {item.id for item in batch.items}
        assert counts(publish(batch, other)) == (size, 0)


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 5])
def test_a_hit_made_but_not_written_down_is_found_again(tmp_path, batch, after, monkeypatch):
    create, left = Market.create, [after]

    def dying(market, batch, item):
        hit = create(market, batch, item)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return hit

    with local_market(tmp_path) as (market, _):
        monkeypatch.setattr(Market, "create", dying)
        with pytest.raises(KeyboardInterrupt):
            publish(batch, market)
        assert len(ledger_of(tmp_path / "batch", market.key).read()) == after - 1
        assert counts(publish(batch, market)) == (len(batch.items) - after, after)
        assert len(market.hits(batch.settings.id)) == len(batch.items)


@pytest.mark.parametrize("kept", [0, 4])
def test_lines_of_the_ledger_that_were_lost_are_found_on_the_market(tmp_path, batch, kept):
    with local_market(tmp_path) as (market, _):
        publish(batch, market)
        path = ledger_of(tmp_path / "batch", market.key).path
        whole = published(batch, tmp_path / "batch", market)
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:kept]))
        assert published(batch, tmp_path / "batch", market) == whole
        assert counts(publish(batch, market)) == (0, len(batch.items))


@pytest.mark.slow
def test_killed_while_publishing(tmp_path):
    """A real process is killed with SIGKILL in the middle; another goes on."""
    batch = made_batch(tmp_path / "batch", size=60)
    with local_market(tmp_path) as (market, _):
        keys = market.client._request_signer._credentials
        code = f"""
import os, signal
from hits.market.client import connect
from hits.market.publish import publish
def watch(items):
    for i, item in enumerate(items):
        if i == 20: os.kill(os.getpid(), signal.SIGKILL)
        yield item
market = connect({market.client.meta.endpoint_url!r}, {keys.access_key!r}, {keys.secret_key!r}, "local")
publish({str(tmp_path / "batch")!r}, market, watch=watch)
"""
        killed = subprocess.run([sys.executable, "-c", code], timeout=180, check=False)
        assert killed.returncode == -9
        assert counts(publish(batch, market)) == (len(batch.items) - 20, 20)
        assert len(market.hits(batch.settings.id)) == len(batch.items)


def test_two_processes_do_not_publish_one_batch_at_once(tmp_path):
    path = tmp_path / "published.local.jsonl"
    with (
        Ledger(path).opened(),
        pytest.raises(RyptError, match="another process is publishing"),
        Ledger(path).opened(),
    ):
        pass


def test_a_ledger_whose_last_line_broke_off(tmp_path):
    path = tmp_path / "ledger"
    path.write_text('{"item": "a", "hit": "H1"}\n{"item": "b", "hi')
    assert Ledger(path).read() == {"a": "H1"}
    with Ledger(path).opened() as ledger:
        ledger.add("c", "H3")
    assert path.read_text() == '{"item": "a", "hit": "H1"}\n{"item": "c", "hit": "H3", "digest": ""}\n'
    path.write_text("nonsense\n")
    with pytest.raises(InputError, match="ledger:1: expected"):
        Ledger(path).read()


def test_a_batch_that_was_edited_after_publishing_is_refused(tmp_path, batch):
    with local_market(tmp_path) as (market, _):
        publish(batch, market)
        text = (tmp_path / "batch" / "batch.csv").read_text()
        (tmp_path / "batch" / "batch.csv").write_text(text.replace("sentence 3 by x", "somebody's"))
        edited = read_batch(tmp_path / "batch")
        for act in (publish, expire):
            with pytest.raises(InputError, match="was changed after it was published"):
                act(edited, market)


@pytest.mark.slow
def test_a_hit_published_again_within_a_day_of_its_end(tmp_path, batch):
    with local_market(tmp_path) as (market, _):
        publish(batch, market)
        assert expire(batch, market).hits == len(batch.items)
        for hit in market.hits(batch.settings.id).values():
            market.client.delete_hit(HITId=hit["HITId"])
        ledger_of(tmp_path / "batch", market.key).path.unlink()
        with pytest.raises(MarketError, match="was published and removed within a day"):
            publish(batch, market)


@pytest.mark.slow
def test_a_market_that_refuses_or_is_not_there(tmp_path):
    with local_market(tmp_path) as (market, _):
        with pytest.raises(MarketError, match="the market local refuses") as caught:
            market.expire("3NOTTHERE")
        assert caught.value.code == "AWS.MechanicalTurk.HITDoesNotExist"
        stranger = connect(market.client.meta.endpoint_url, "AKIAWRONG", "wrong", "local")
        with pytest.raises(MarketError, match="the market local refuses"):
            stranger.hits("b")
    gone = connect("http://127.0.0.1:1/", "AKIA", "x", "local")
    with pytest.raises(MarketError, match="the market local does not answer"):
        gone.hits("b")
