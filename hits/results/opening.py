"""Opening the results in a campaign's database."""

from collections.abc import Iterator
from contextlib import contextmanager

from hits.results.answers import Results
from rypt.campaign.folder import Campaign
from rypt.text import PathLike


@contextmanager
def open_results(campaign: Campaign | PathLike, *, readonly: bool = True) -> Iterator[Results]:
    """The results of a campaign, given by itself or by its folder; tables of an older rypt are updated first."""
    if not isinstance(campaign, Campaign):
        campaign = Campaign.open(campaign)
    if readonly:
        with campaign.database() as db:
            results = Results(db)
            if results.current or not results.there:
                yield results
                return
        with campaign.database(readonly=False) as db:
            Results(db)
    with campaign.database(readonly=readonly) as db:
        yield Results(db)
