"""The demo's report in a real browser: nothing is loaded, nothing complains, nothing sticks out."""

from pathlib import Path
from typing import Any

import pytest

from rypt.demo.report import write_report
from rypt.demo.story import Demo
from rypt.demo.texts import Plan


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "demo"
    plan = Plan(labels=25, iterations=1, size=5, compared=6, judges=2, workers=4, segments=10)
    return write_report(folder, Demo(folder, plan, lambda text: None).run())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [340, 390, 1100])
def test_the_report_is_a_page_of_its_own(chromium: Any, report: Path, width: int, scheme: str) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    try:
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(report.as_uri())
        assert said == []
        assert [url for url in asked if not url.startswith("data:")] == [report.as_uri()]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
        assert page.evaluate(CONTRAST) >= 4.5
    finally:
        page.close()


CONTRAST = """() => {
  const light = colour => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const found = getComputedStyle(e).backgroundColor;
      if (!found.startsWith("rgba(0, 0, 0, 0")) return found;
    }
    return "rgb(255, 255, 255)";
  };
  const of = element => {
    const style = getComputedStyle(element);
    const ink = element instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(ink), light(ground(element))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const texts = "p, h1, h2, dt, dd, td, th, summary, figcaption, .sim";
  return Math.min(...[...document.querySelectorAll(texts)].map(of));
}"""
