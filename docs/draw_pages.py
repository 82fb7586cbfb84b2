"""Pictures of the market's pages: docs/dashboard.png, docs/worker-label.png, docs/worker-rtl.png.

    python docs/draw_pages.py            # the pictures of the documentation
    python docs/draw_pages.py FOLDER     # every page, light, dark, 390 pixels wide, and in Arabic

It serves a market from a temporary folder with a batch of the demo's data, lets simulated workers and one person work,
and needs playwright and chromium. tests/browser/test_pages.py goes through the same pages with axe-core.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = "/usr/bin/chromium"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"locale": "en-GB", "viewport": {"width": 1100, "height": 900}},
    "dark": {"locale": "en-GB", "viewport": {"width": 1100, "height": 900}, "color_scheme": "dark"},
    "narrow": {"locale": "en-GB", "viewport": {"width": 390, "height": 844}},
    "arabic": {"locale": "ar", "viewport": {"width": 1100, "height": 900}},
}
Look = Callable[[str, Any], None]  # is called with the name of each page and the browser's tab


def rypt(*arguments: object) -> str:
    """Run a command and return what it prints."""
    command = [sys.executable, "-c", "from rypt.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


@contextmanager
def busy_market(folder: Path) -> Iterator[dict[str, str]]:
    """A served market with a batch on which two simulated workers worked, and two more batches to publish."""
    from rypt.demo.campaign import open_demo

    campaign, market = folder / "campaign", folder / "market"
    open_demo(campaign)
    rypt("hits", "make", campaign, "-o", folder / "batch1", "--limit", 24, "--training", 3, "--assignments", 7, "-q")
    rypt("hits", "make", campaign, "-o", folder / "batch2", "--limit", 12, "--seed", 2, "-q")
    arguments = ["hits", "serve", market, "--port", 0, "--json", "-C", campaign]
    command = [sys.executable, "-c", "from rypt.cli import main; main()", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            links = json.loads(process.stdout.readline())
            rypt("hits", "publish", folder / "batch1", "--at", market, "--yes", "-q")
            truth = campaign / "judgments.db"
            rypt("simulate", "--at", market, "--truth", truth, "--workers", 2, "--spam", 0.5, "-q")
            yield links
        finally:
            process.terminate()
            process.wait(60)


def tour(page: Any, folder: Path, links: dict[str, str], name: str, look: Look) -> None:
    """Go through all pages as a worker of this name, then as the requester."""
    market = folder / "market"
    page.goto(links["url"])
    look("landing", page)
    link = json.loads(rypt("hits", "invite", name, "--at", market, "--json"))[0]["link"]
    page.goto(link)
    look("consent", page)
    page.locator("form input[type=checkbox]").first.check()
    page.locator("main form button").first.click()
    page.wait_for_url("**/work*")
    look("home", page)
    page.locator(".groups form button, .card form button").first.click()
    page.wait_for_load_state()
    while "/work/a/" not in page.url:
        look("training", page)
        for group in page.locator("fieldset:has(input)").all():
            group.locator("input[type=radio]").first.check()
        with page.expect_navigation():
            page.locator("p.send button").click()
    page.wait_for_selector("form.judge")
    look("hit", page)
    for group in page.locator("fieldset:not([hidden])").all():
        group.locator("input[type=radio]").first.check()
    with page.expect_navigation():
        page.locator("form.judge button[type=submit], form.judge button").last.click()
    look("sent", page)
    page.goto(links["url"] + "nothing-here")
    look("error", page)
    page.goto(rypt("hits", "dashboard", "--at", market).strip(), wait_until="commit")
    page.wait_for_selector("table")
    look("dashboard", page)
    shown = page.url
    page.goto(shown + "/review")
    look("review", page)
    page.locator("td a.small").first.click()
    page.wait_for_load_state()
    look("shown", page)


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def draw(target: Path) -> None:
    """All pages in all looks, as LOOK-PAGE.png."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, busy_market(Path(place)) as links, browser() as chromium:
        for name, options in LOOKS.items():
            page = chromium.new_context(**options).new_page()
            page.set_default_timeout(10_000)

            def look(which: str, page: Any, name: str = name) -> None:
                page.screenshot(path=target / f"{name}-{which}.png", full_page=True)

            tour(page, Path(place), links, f"Ada {name}", look)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        draw(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as pictures:
            draw(Path(pictures))
            docs = Path(__file__).parent
            wanted = {"light-dashboard": "dashboard", "light-hit": "worker-label", "arabic-hit": "worker-rtl"}
            for made, kept in wanted.items():
                (docs / f"{kept}.png").write_bytes((Path(pictures) / f"{made}.png").read_bytes())
