"""Trees as PNG and PDF, and results in notebooks."""

import builtins
import xml.etree.ElementTree as ElementTree
from itertools import combinations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

import rypt
from rypt.campaign.scoring import explain_candidate
from rypt.records import Candidate
from rypt.scoring import tree_figure
from rypt.scoring.drawing import WORD, as_svg, text_width
from rypt.scoring.explain import explain
from rypt.scoring.scorer import Scorer
from rypt.text import RyptError
from rypt.texts.trees import SourceTree


@pytest.mark.parametrize(("name", "begin"), [("tree.png", b"\x89PNG"), ("tree.pdf", b"%PDF")])
def test_the_ending_says_the_format(tmp_path, demo_campaign, name, begin):
    explanation = explain_candidate(rypt.Campaign.open(demo_campaign), "3", 0)
    explanation.write(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begin)
    assert explanation._repr_html_().startswith("<svg")


def test_a_score_in_a_notebook(demo_campaign, monkeypatch):
    report = rypt.score(rypt.Campaign.open(demo_campaign))
    assert report._repr_html_().count("<tr>") == 1 + len(report.segments)
    importing = builtins.__import__

    def without_pandas(name, *rest):
        if name == "pandas":
            raise ImportError(name)
        return importing(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(RyptError, match=r"to_pandas\(\) needs pandas: pip install pandas"):
        report.to_pandas()


LONG = [
    (
        "(S (X Entscheidung) (X ,) (X or) (C (X ca) (X n't)) (VERYLONGNAME-SBJ (X i) (X l)) (X .))",
        "Министр международных отношений , ШЩЖЮМ жюшщм высокотехнологичные",
    ),
    ("(ROOT (X Donaudampfschifffahrtsgesellschaft) (X WWW) (X i) (X l))", "MMM www “quoted” 100% — mm & co"),
]


def overlaps(boxes):
    """Pairs of rectangles (left, top, right, bottom) that share a place."""
    return [
        (a, b)
        for a, b in combinations(boxes, 2)
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]


@pytest.mark.parametrize(("brackets", "text"), LONG)
def test_nothing_overlaps_or_is_cut_off_in_the_figure(tmp_path, monkeypatch, brackets, text):
    figures = []
    monkeypatch.setattr(tree_figure, "save_picture", lambda figure, path: figures.append(figure))
    links = " ".join(f"{i}-{i}" for i in range(4))
    explanation = explain(
        Scorer({"1": SourceTree.from_brackets(brackets)}, []), Candidate("1", text, links), []
    )
    tree_figure.write_figure(tmp_path / "tree.png", explanation)
    figure = figures[0]
    renderer = FigureCanvasAgg(figure).get_renderer()
    axes = figure.axes[0]
    texts = [shown.get_window_extent(renderer).extents for shown in axes.texts]
    patches = [patch.get_window_extent(renderer).extents for patch in axes.patches]
    assert len(texts) == 1 + 6 + len(explanation.nodes) + len(explanation.tree.tokens) + len(text.split())
    assert overlaps(texts) == []
    assert overlaps(patches) == []
    for left, bottom, right, top in [*texts, *patches]:
        assert 0 <= left < right <= figure.bbox.width
        assert 0 <= bottom < top <= figure.bbox.height


@pytest.mark.parametrize(("brackets", "text"), LONG)
def test_boxes_and_words_of_the_svg_have_room(brackets, text):
    explanation = explain(
        Scorer({"1": SourceTree.from_brackets(brackets)}, []), Candidate("1", text, "0-0"), []
    )
    root = ElementTree.fromstring(as_svg(explanation))
    boxes = [
        (
            float(r.get("x")),
            float(r.get("y")),
            float(r.get("x")) + float(r.get("width")),
            float(r.get("y")) + 24,
        )
        for r in root.iterfind(".//{http://www.w3.org/2000/svg}g/{http://www.w3.org/2000/svg}rect")
    ]
    assert len(boxes) == len(explanation.nodes)
    assert overlaps(boxes) == []
    for size, word in ((WORD, word) for word in [*text.split(), *explanation.tree.tokens]):
        font = FontProperties(size=size)
        width, _, _ = TextToPath().get_text_width_height_descent(word, font, False)
        assert width <= text_width(word, size) + 1 <= 1.3 * width + 8
