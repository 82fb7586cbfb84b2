"""The commands that a loop shows say what it does."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from rypt.campaign.folder import Campaign
from rypt.campaign.settings import LoopSettings, MarketSettings
from rypt.loop.commands import HandCommands


def test_a_batch_asks_for_the_severity_where_the_market_says_so(demo_campaign: Path) -> None:
    campaign, market = Campaign.open(demo_campaign), MarketSettings()
    plain, graded = (
        HandCommands(campaign, replace(market, severity=severity)).make(
            Path("b"), Decimal(1), LoopSettings(), 1
        )
        for severity in (False, True)
    )
    assert graded == f"{plain} --severity"
