"""A local market on a loopback port, the real client before it, and a clock that both go by."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import botocore.auth
import pytest
from botocore.config import Config
from local_market import served_app

from hits.market.folder import MarketAccess
from hits.server.app import make_app
from hits.server.store import Store

START = 1_800_000_000
QUESTION = (
    '<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd">'
    "<HTMLContent><![CDATA[<form><input name='label_1'></form>]]></HTMLContent><FrameHeight>0</FrameHeight>"
    "</HTMLQuestion>"
)
HIT: dict[str, Any] = {
    "Title": "Judge phrases",
    "Description": "Ten phrases each",
    "Keywords": "translation",
    "Reward": "0.05",
    "AssignmentDurationInSeconds": 600,
    "AutoApprovalDelayInSeconds": 7 * 86400,
    "LifetimeInSeconds": 86400,
    "MaxAssignments": 2,
    "Question": QUESTION,
}


@dataclass
class LocalMarket:
    """The parts of a running market; set ``now`` to let time pass for the server and for the client's signatures."""

    folder: Path
    url: str = ""
    now: int = START

    def __post_init__(self) -> None:
        self.app = make_app(self.folder, now=lambda: self.now)
        self.store: Store = self.app.extensions["market"].store
        self.access: MarketAccess = self.app.extensions["market"].access

    def client(self, **changes: Any) -> Any:
        given = {
            "aws_access_key_id": self.access.access_key,
            "aws_secret_access_key": self.access.secret_key,
        } | changes
        given = {"config": Config(retries={"mode": "standard", "max_attempts": 1}, proxies={})} | given
        return boto3.client("mturk", region_name="us-east-1", endpoint_url=self.url, **given)

    @staticmethod
    def request(**changes: Any) -> dict[str, Any]:
        """A legal request of CreateHIT; a change to None leaves a member out."""
        return {name: value for name, value in (HIT | changes).items() if value is not None}

    def worker(self, name: str = "Ada") -> str:
        return self.store.people.invite(name, self.now).worker.id

    def submit(self, worker: str, hit: str, label: str = "YES") -> str:
        assignment = str(self.store.work.accept(worker, hit, self.now)["AssignmentId"])
        self.store.work.submit(assignment, worker, {"label_1": label}, self.now)
        return assignment


@pytest.fixture
def market(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalMarket]:
    local = LocalMarket(tmp_path)
    monkeypatch.setattr(
        botocore.auth,
        "get_current_datetime",
        lambda: datetime.fromtimestamp(local.now, UTC).replace(tzinfo=None),
    )
    with local.store, served_app(local.app) as url:
        local.url = url
        yield local


@pytest.fixture
def client(market: LocalMarket) -> Any:
    """The real client of the market."""
    return market.client()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An open market file."""
    with Store(tmp_path / "market.db") as opened:
        yield opened


@pytest.fixture(scope="session")
def unjudged_campaign(demo_campaign: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's texts, and nobody has judged anything; tests read it and do not change it."""
    from rypt.campaign.create import create_campaign
    from rypt.campaign.settings import Languages

    folder = tmp_path_factory.mktemp("unjudged") / "campaign"
    create_campaign(
        folder,
        source=demo_campaign / "source.de",
        trees=demo_campaign / "trees.de",
        nbest=[demo_campaign / "nbest.en"],
        references=[demo_campaign / "reference.en"],
        languages=Languages("de", "en"),
    )
    return folder
