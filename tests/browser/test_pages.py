"""Every page passes axe-core: light, dark, on a phone, and in Arabic."""

import os
from pathlib import Path
from typing import Any

import draw_pages
import pytest

ROOT = Path(__file__).parents[2]
AXE = Path(os.environ.get("AXE_CORE", ROOT / "node_modules" / "axe-core" / "axe.min.js"))


def test_no_page_has_a_violation(chromium: Any, tmp_path: Path) -> None:
    if not AXE.is_file():
        pytest.skip(f"there is no {AXE} (npm install axe-core)")
    script, violations, seen = AXE.read_text(encoding="utf-8"), [], []

    with draw_pages.busy_market(tmp_path, limit=3) as links:
        for name, options in draw_pages.LOOKS.items():
            context = chromium.new_context(**options, bypass_csp=True)
            page = context.new_page()
            page.set_default_timeout(30_000)

            def look(which: str, page: Any, name: str = name) -> None:
                page.evaluate(script)
                violations.extend(
                    (name, which, each["id"], each["nodes"][0]["html"][:200])
                    for each in page.evaluate("axe.run()")["violations"]
                )
                if name == "narrow" and page.evaluate("document.documentElement.scrollWidth") > 390:
                    violations.append((name, which, "scrolls sideways", ""))
                seen.append((name, which))

            draw_pages.tour(page, tmp_path, links, f"Ada {name}", look)
            context.close()
    assert violations == []
    assert len(set(seen)) == 4 * 19
