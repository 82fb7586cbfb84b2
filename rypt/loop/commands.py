"""The commands equivalent to the loop's steps, shown while it runs and by ``rypt status``."""

from decimal import Decimal
from pathlib import Path

from rypt.campaign.folder import Campaign
from rypt.campaign.settings import LoopSettings, MarketSettings
from rypt.children import command_line


def market_options(market: MarketSettings, folder: Path) -> list[str]:
    """The options that say which market; ``folder`` is where a local one is."""
    if market.endpoint is None:
        return ["--at", str(folder)]
    return [
        "--market",
        "mturk",
        "--endpoint",
        market.endpoint,
        *(["--production"] if market.production else []),
    ]


class HandCommands:
    """The commands of one campaign."""

    def __init__(self, campaign: Campaign, market: MarketSettings | None = None) -> None:
        self.campaign = campaign
        self.folder = str(campaign.folder)
        self.market = market or campaign.settings.market
        self.at = market_options(self.market, campaign.path(self.market.folder))

    def decode(self) -> str:
        """Decode with the current weights."""
        return command_line(["decode", self.folder])

    def make(self, batch: Path, money: Decimal, loop: LoopSettings, seed: int) -> str:
        """Make a batch of labels."""
        options = ["--select", loop.select, "--budget", str(money), "--labels", str(loop.labels)]
        options += [
            "--max-len",
            str(self.campaign.scoring.max_len),
            "--assignments",
            str(self.market.assignments),
        ]
        options += ["--market", "local" if self.market.endpoint is None else "mturk", "--seed", str(seed)]
        if self.market.wage is not None:
            options += ["--wage", str(self.market.wage)]
        if self.market.severity:
            options.append("--severity")
        return command_line(["hits", "make", self.folder, "-o", str(batch), *options])

    def publish(self, batch: Path) -> str:
        """Put a batch on the market."""
        return command_line(["hits", "publish", str(batch), *self.at])

    def collect(self, batch: Path) -> str:
        """Bring the answers to a batch."""
        return command_line(["hits", "collect", str(batch), "-C", self.folder, *self.at])

    def workers(self, *options: str) -> str:
        """Report on workers."""
        return command_line(["hits", "workers", "-C", self.folder, *self.at, *options])

    def serve(self) -> str:
        """Serve the campaign's own market."""
        return command_line(["hits", "serve", str(self.campaign.path(self.market.folder))])

    def invite(self) -> str:
        """Invite a worker."""
        return command_line(["hits", "invite", "NAME", *self.at])

    def score(self, candidates: Path) -> str:
        """Score what was decoded."""
        return command_line(["score", self.folder, "--candidates", str(candidates)])

    def tune(self, weights: Path, output: Path | None, seed: int, threads: int) -> str:
        """Tune to all labels so far."""
        options = [
            "--metric",
            "rypt",
            "--weights",
            str(weights),
            "--seed",
            str(seed),
            "--threads",
            str(threads),
        ]
        return command_line(["tune", self.folder, *options, *(["-o", str(output)] if output else [])])
