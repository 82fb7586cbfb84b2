"""The picture of the demo's report, docs/report.png: some of its sections side by side.

    rypt demo && python docs/draw_report.py rypt-demo/report.html

It needs playwright and chromium.
"""

import sys
from pathlib import Path

CHROMIUM = "/usr/bin/chromium"
STYLE = """
body, header, main { max-width: none !important; margin: 0 !important; }
body { padding: 1rem; }
main { display: grid; grid-template-columns: minmax(0, 4fr) minmax(0, 5fr); gap: 1rem; align-items: start; }
main section { margin: 0; }
#story { grid-column: 1 / 3; }
details, footer, #loop, #workers, #weights, #money, #ranking { display: none; }
"""


def main(report: str) -> None:
    """Write the picture of a report."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(Path(report).resolve().as_uri())
        page.add_style_tag(content=STYLE)
        page.screenshot(path=str(Path(__file__).with_name("report.png")), full_page=True)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
