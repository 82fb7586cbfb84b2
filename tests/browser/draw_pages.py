"""Pictures of the market's pages: docs/dashboard.png and docs/worker-label.png.

    python tests/browser/draw_pages.py            # the pictures of the documentation
    python tests/browser/draw_pages.py FOLDER     # every page, light, dark, 390 pixels wide, and in Arabic

It serves a market from a temporary folder with a batch of the demo's data, lets simulated workers and one person work,
and needs playwright and chromium. test_pages.py goes through the same pages with axe-core.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hits.market.folder import read_access

CHROMIUM = "/usr/bin/chromium"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"locale": "en-GB", "viewport": {"width": 1100, "height": 900}},
    "dark": {"locale": "en-GB", "viewport": {"width": 1100, "height": 900}, "color_scheme": "dark"},
    "narrow": {"locale": "en-GB", "viewport": {"width": 390, "height": 844}},
    "arabic": {"locale": "ar", "viewport": {"width": 1100, "height": 900}},
}
TEST = """
[qualifications.test]
name = "Read closely"
description = "One short question."
minutes = 10
pass_mark = 100

[[qualifications.test.questions]]
text = "Does 'the red house' say what 'das rote Haus' says?"
choices = ["Yes", "No"]
answer = "Yes"
"""
Look = Callable[[str, Any], None]  # is called with the name of each page and the browser's tab


def rypt(*arguments: object, typed: str = "", place: Path | None = None) -> str:
    """Run a command in a folder, with these lines on its input, and return what it prints."""
    command = [sys.executable, "-c", "from rypt.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, input=typed, cwd=place, timeout=300
    )
    return done.stdout


def make_batches(folder: Path, limit: int) -> None:
    """A campaign without labels and four batches: labels with training, comparisons after a test, rankings, labels."""
    from rypt.demo.texts import open_demo

    demo, campaign = folder / "demo", folder / "campaign"
    open_demo(demo)
    options = ["--source", demo / "source.de", "--trees", demo / "trees.de", "--nbest", demo / "nbest.en"]
    rypt("init", campaign, *options, "--references", demo / "reference.en", "--languages", "de-en", "-q")
    rypt(
        "hits",
        "controls",
        campaign,
        "--reference-alignment",
        demo / "reference.align",
        "-q",
        typed="y\n" * 20,
    )
    candidates: dict[str, list[str]] = {}
    for line in (demo / "nbest.en").read_text(encoding="utf-8").splitlines():
        segment, text, *_ = line.split(" ||| ")
        candidates.setdefault(segment, []).append(text)
    systems: list[object] = []
    for n, name in enumerate("ABCDE"):
        (folder / name).write_text(
            "".join(f"{texts[3 * n]}\n" for texts in candidates.values()), encoding="utf-8"
        )
        systems += ["--output-of", f"{name}={folder / name}"]
    labels = ["--limit", limit, "--training", 3, "--assignments", 9, "--controls", 0.2]
    rypt("hits", "make", campaign, "-o", folder / "labels", *labels, "-q")
    rypt("hits", "make", campaign, "-o", folder / "more-labels", "--limit", 12, "--seed", 2, "-q")
    pairs = ["--kind", "comparison", *systems[:4], "--assignments", 5]
    rypt("hits", "make", campaign, "-o", folder / "pairs", *pairs, "--limit", 4, "-q")
    ranked = ["--kind", "ranking", *systems, "--assignments", 5, "--limit", 4]
    rypt("hits", "make", campaign, "-o", folder / "ranked", *ranked, "-q")
    for name, title in (("pairs", "Compare two translations"), ("ranked", "Rank five translations")):
        settings = folder / name / "batch.toml"
        text = settings.read_text(encoding="utf-8")
        settings.write_text(re.sub(r"(?m)^title = .*", f'title = "{title}"', text), encoding="utf-8")
    with open(folder / "pairs" / "batch.toml", "a", encoding="utf-8") as settings:
        settings.write(TEST)


def write_truth(folder: Path) -> Path:
    """The phrases to which the demo's workers said YES, and the verified ones; all others are wrong."""
    phrases: dict[tuple[str, int, int], list[str]] = {}
    for path in (folder / "demo" / "judgments.jsonl", folder / "campaign" / "controls.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            known = phrases.setdefault((str(record["segment"]), record["start"], record["stop"]), [])
            known += [record["phrase"]] if record["label"] == "YES" else []
    lines = [
        json.dumps({"segment": segment, "start": start, "stop": stop, "phrases": known})
        for (segment, start, stop), known in phrases.items()
    ]
    (folder / "truth.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "truth.jsonl"


@contextmanager
def busy_market(folder: Path, limit: int = 20) -> Iterator[dict[str, str]]:
    """A served market with a batch on which simulated workers worked, two for the tour, and one to publish."""
    make_batches(folder, limit)
    market = folder / "market"
    arguments = ["hits", "serve", market, "--port", 0, "--json", "--hits-each", 1]
    command = [sys.executable, "-c", "from rypt.cli import main; main()", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            links = json.loads(process.stdout.readline())
            rypt("hits", "publish", "labels", "--market", "market", "--yes", "-q", place=folder)
            known = ["--truth", write_truth(folder), "-C", folder / "campaign"]
            rypt("simulate", "--market", market, *known, "--workers", 4, "--spam", 0.25, "-q")
            for name in ("pairs", "ranked"):
                rypt("hits", "publish", name, "--market", "market", "--yes", "-q", place=folder)
            yield links
        finally:
            process.terminate()
            process.wait(60)


def answer_first(page: Any) -> None:
    """Choose the first answer to each question of a page, and send it."""
    for group in page.locator("fieldset:not([hidden]):has(input[type=radio])").all():
        group.locator("input[type=radio]").first.check()
    with page.expect_navigation():
        page.locator("#content form button").last.click()


def begin(page: Any, title: str) -> None:
    """Press the button of a card."""
    with page.expect_navigation():
        page.locator(".card", has_text=title).locator("button, a.button").first.click()


def agree(page: Any) -> None:
    """Agree to take part."""
    page.locator("form input[type=checkbox]").first.check()
    with page.expect_navigation():
        page.locator("main form button").first.click()


def tour(page: Any, folder: Path, links: dict[str, str], name: str, look: Look) -> None:
    """Go through all pages as a worker of this name, as one of a recruiting service, and as the requester."""
    page.goto(links["url"])
    look("landing", page)
    page.goto(json.loads(rypt("hits", "invite", name, "--market", folder / "market", "--json"))[0]["link"])
    look("consent", page)
    agree(page)
    look("home", page)
    tour_of_work(page, look)
    page.goto(links["url"] + "nothing-here")
    look("error", page)
    page.context.clear_cookies()
    key = json.loads((folder / "market" / "market.json").read_text())["join_key"]
    page.goto(f"{links['url']}join/{key}?PROLIFIC_PID=p{name.replace(' ', '')}")
    agree(page)
    begin(page, "Rank five")
    answer_first(page)
    look("finished", page)
    tour_of_dashboard(page, folder, look)


def tour_of_work(page: Any, look: Look) -> None:
    """Training, hits of all kinds, and a test."""
    titles = page.locator(".card h3").all_inner_texts()  # in the worker's language
    batches = [each for each in titles if each.split()[0] not in ("Rank", "Read", "Compare")]
    begin(page, batches[0])
    look("training", page)
    answer_first(page)
    look("trained", page)
    with page.expect_navigation():
        page.locator("p.send button").click()
    look("hit", page)
    answer_first(page)
    look("sent", page)
    page.goto(page.url.partition("/work")[0] + "/work")
    look("held", page)
    with page.expect_navigation():
        page.locator("main form button").first.click()
    begin(page, "Read closely")
    look("test", page)
    with page.expect_navigation():
        page.locator("main form button").first.click()
    look("question", page)
    answer_first(page)
    look("passed", page)
    for title, kind in (("Compare two", "comparison"), ("Rank five", "ranking")):
        page.goto(page.url.partition("/work")[0] + "/work")
        begin(page, title)
        look(kind, page)
        with page.expect_navigation():
            page.locator(".under form button").first.click()


def tour_of_dashboard(page: Any, folder: Path, look: Look) -> None:
    """The requester's pages."""
    page.goto(read_access(folder / "market").dashboard_url, wait_until="commit")
    page.wait_for_selector("table")
    look("dashboard", page)
    shown = page.url
    page.locator("textarea").fill("Grace\nHeidi")
    with page.expect_navigation():
        page.locator("form:has(textarea) button").click()
    look("invited", page)
    page.goto(shown + "/review")
    look("review", page)
    with page.expect_navigation():
        page.locator("td a.small").first.click()
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
            docs = Path(__file__).parents[2] / "docs"
            wanted = {"light-dashboard": "dashboard", "light-hit": "worker-label"}
            for made, kept in wanted.items():
                (docs / f"{kept}.png").write_bytes((Path(pictures) / f"{made}.png").read_bytes())
