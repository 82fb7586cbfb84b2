"""A market served by a process of its own, and a real browser; both end with the test."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

import pytest

from hits.batch.markup import extract, highlight, language_columns
from hits.batch.page import batch_template, fill, question_xml, read_interface
from hits.batch.systems import candidate_html
from hits.market.folder import MarketAccess
from hits.records import Kind
from hits.server.store import Store
from hits.server.store.records import Record

CHROMIUM = Path("/usr/bin/chromium")
SERVE = """
import json, sys
from dataclasses import asdict
from hits.server.app import serve
serve(sys.argv[1], "127.0.0.1", 0, lambda access: print(json.dumps(asdict(access)), flush=True))
"""

Marked = tuple[str, range]  # a text and which of its tokens are highlighted


@dataclass
class Market:
    """A served folder, and its file opened beside the server."""

    folder: Path
    info: Mapping[str, str]
    store: Store

    def publish(self, page: str, annotation: str, title: str = "Judge short pieces of translations") -> str:
        request = {
            "Title": title,
            "Description": "A page of judgments.",
            "Reward": "0.05",
            "AssignmentDurationInSeconds": 1800,
            "LifetimeInSeconds": 86400,
            "RequesterAnnotation": annotation,
            "Question": question_xml(page),
        }
        return str(self.store.hits.create(request, int(time()))["HITId"])

    def invite(self, name: str) -> str:
        invitation = self.store.people.invite(name, int(time()))
        self.store.people.consent(invitation.worker.id, int(time()))
        return f"{self.info['url']}w/{invitation.token}"

    @staticmethod
    def label_page(
        interface: str,
        languages: tuple[str, str],
        source: Marked,
        alternatives: list[Marked],
        reference: Marked | None = None,
    ) -> str:
        """The page of a label hit as a batch would have it, with one slot that is not used."""
        slots = len(alternatives) + 1
        texts = read_interface(interface, Kind.LABEL, *languages)
        template = batch_template(Kind.LABEL, texts, slots=slots, reference=reference is not None)
        columns = language_columns(*languages)
        columns["source"] = highlight(source[0].split(), source[1])
        if reference:
            columns["reference"] = highlight(reference[0].split(), reference[1], "reference")
            columns["hidden_reference"] = ""
        for n in range(1, slots + 1):
            text, part = alternatives[n - 1] if n < slots else ("", range(0))
            columns[f"hidden_{n}"] = "" if n < slots else "hidden disabled"
            columns[f"highlight_{n}"] = extract(text.split(), part)
            columns[f"text_{n}"] = highlight(text.split(), part)
        return fill(template, columns)

    @staticmethod
    def comparison_page(interface: str, languages: tuple[str, str], source: str, a: str, b: str) -> str:
        """The page of a comparison hit."""
        texts = read_interface(interface, Kind.COMPARISON, *languages)
        template = batch_template(Kind.COMPARISON, texts, slots=1, reference=False)
        columns = language_columns(*languages)
        columns |= {
            "source": candidate_html(source, "–"),
            "text_a": candidate_html(a, "–"),
            "text_b": candidate_html(b, "–"),
        }
        return fill(template, columns)

    def answers(self, hit: str) -> list[Record]:
        return self.store.work.all(int(time()), hit=hit)


@pytest.fixture
def market(tmp_path: Path) -> Iterator[Market]:
    folder = tmp_path / "market"
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, str(folder)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            access = MarketAccess(**json.loads(process.stdout.readline()))
            info = {"url": access.url, "dashboard_url": access.dashboard_url}
            with Store(folder / "market.db") as store:
                yield Market(folder, info, store)
        finally:
            process.terminate()
            assert process.wait(180) == 0


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()
