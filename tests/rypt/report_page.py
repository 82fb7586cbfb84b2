"""A report of the demo as a browser sees it, and what holds for every one."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

SECTIONS = [
    "story",
    "labels",
    "weights",
    "loop",
    "money",
    "workers",
    "tree",
    "accepted",
    "preferences",
    "ranking",
]


class Page(HTMLParser):
    """What a browser would see: sections with their words and figures, and all that it would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: dict[str, str] = {}
        self.captions: list[str] = []
        self.loads: list[str] = []
        self.tags: list[str] = []
        self._section = ""
        self._caption = False
        self.feed(text)
        self.sections = {name: " ".join(words.split()) for name, words in self.sections.items()}

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.loads += [found[name] for name in ("src", "href", "srcset", "data", "action") if name in found]
        if tag == "section":
            self._section = found["id"]
            self.sections[self._section] = ""
            assert f'id="{found["aria-labelledby"]}"' in self.rawdata
        if tag == "svg":
            assert found["role"] == "img" and found["aria-label"]  # noqa: PT018
        if tag == "img":
            assert found["alt"]
        if tag == "figcaption":
            self._caption = True
            self.captions.append("")

    def handle_endtag(self, tag):
        self._caption = self._caption and tag != "figcaption"
        self._section = "" if tag == "section" else self._section

    def handle_data(self, data):
        if self._section:
            self.sections[self._section] += data
        if self._caption:
            self.captions[-1] += data


def check_page(text: str) -> Page:
    """What holds for every report."""
    page = Page(text)
    assert list(page.sections) == SECTIONS
    assert all(load.startswith("data:") for load in page.loads)
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text)
    assert not {"script", "iframe"} & set(page.tags)
    for chart in re.findall(r"<svg class=\"chart\".*?</svg>", text, re.DOTALL):
        ElementTree.fromstring(chart)
    return page
