"""Collecting judgments from people: batches of hits, a local market, results, quality control, rankings.

    batch = hits.make_batch("campaign", options=hits.BatchOptions(budget="25.00"))
    hits.price(batch)
    hits.publish(batch, "campaign/market")                  # a folder that `rypt hits serve` serves, or a URL
    hits.collect(batch, "campaign/market", "campaign")      # answers become judgments
    hits.worker_reports("campaign")                         # each worker's quality
    hits.rank("wmt13.csv.gz", model="trueskill")            # which system is better, and how sure that is

Subpackages: `hits.batch` (what people are asked and see), `hits.market` (the client), `hits.server` (the market),
`hits.results`, `hits.compare`, `hits.ranking`, `hits.simulate`, `hits.cli`.
"""

from typing import TYPE_CHECKING

from rypt.lazy import lazy_names

if TYPE_CHECKING:
    from hits.batch.make import make_batch as make_batch
    from hits.batch.make import price as price
    from hits.batch.options import BatchOptions as BatchOptions
    from hits.market.collect import collect as collect
    from hits.market.publish import publish as publish
    from hits.ranking.rank import rank as rank
    from hits.results.quality import worker_reports as worker_reports

    __version__: str

HOMES = {
    "BatchOptions": "hits.batch.options",
    "collect": "hits.market.collect",
    "make_batch": "hits.batch.make",
    "price": "hits.batch.make",
    "publish": "hits.market.publish",
    "rank": "hits.ranking.rank",
    "worker_reports": "hits.results.quality",
}  # public name → the module it lives in
__all__ = sorted([*HOMES, "__version__"])
__getattr__, __dir__ = lazy_names(__name__, HOMES)
