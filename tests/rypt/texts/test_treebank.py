"""Files of trees."""

import pytest

from rypt.records import Segment
from rypt.text import InputError
from rypt.texts.treebank import attach_trees, parsed

SEGMENTS = [Segment("a", "das Haus"), Segment("b", "ja"), Segment("c", "der Hund bellt")]


def attach(tmp_path, text, name="trees"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return attach_trees(SEGMENTS, path)


@pytest.mark.parametrize("missing", ["()", "", "( ( ) )"])
def test_one_a_line_with_a_failed_parse(tmp_path, missing):
    text = f"(NP (ART das) (NN Haus))\n{missing}\n(S (NP (ART der) (NN Hund)) (V bellt))\n"
    segments = attach(tmp_path, text)
    assert [segment.tree is None for segment in segments] == [False, True, False]
    assert parsed(segments[1]) is None
    assert len(parsed(segments[2]).constituents) == 5


def test_blocks(tmp_path):
    text = "(NP\n  (ART das)\n  (NN Haus))\n\n()\n(S\n  (NP (ART der)\n    (NN Hund))\n  (V bellt))\n"
    segments = attach(tmp_path, text)
    assert [segment.tree is None for segment in segments] == [False, True, False]
    assert len(parsed(segments[2]).constituents) == 5


def test_blocks_after_a_tree_on_one_line(tmp_path):
    """As nltk prints them: a short tree stays on its line."""
    text = "(NP (ART das)\t(NN Haus))\n()\n(S\n  (NP (ART der) (NN Hund))\n  (V bellt))\n"
    assert len(parsed(attach(tmp_path, text)[2]).constituents) == 5


def test_conllu_with_a_bracket_in_a_token(tmp_path):
    path = tmp_path / "trees"
    path.write_text(
        "\n".join(f"{n}\t{form}\t_\t_\t_\t_\t{n - 1}\tdep" for n, form in enumerate(["ja", ":)"], 1))
        + "\n\n\n\n"
    )
    (segment,) = attach_trees([Segment("a", "ja :)")], path)
    assert parsed(segment).tokens == ("ja", ":)")


def test_conllu(tmp_path):
    rows = [["das 2", "Haus 0"], ["ja 0"], ["der 2", "Hund 3", "bellt 0"]]
    text = ""
    for words in rows:
        for n, word in enumerate(words, 1):
            form, head = word.split()
            text += f"{n}\t{form}\t_\t_\t_\t_\t{head}\tdep\t_\t_\n"
        text += "\n"
    segments = attach(tmp_path, "# a comment\n" + text, "trees.conllu")
    assert parsed(segments[2]).tokens == ("der", "Hund", "bellt")
    assert len(parsed(segments[2]).constituents) == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(NP (ART das) (NN Haus))\n(X ja)\n(S (NP (ART der) (NN Hund)) (V bellt)\n",
            ":3: segment c: unbalanced",
        ),
        (
            "(NP (ART das) (NN Haus)\n(X ja)\n(S der Hund bellt)\n",
            ":1: segment a: unbalanced brackets: 1 of 3 not closed",
        ),
        (
            "(NP (ART das) (NN Haus))\n(X nein)\n()\n",
            ":2: segment b: token 0 is 'ja' in the source and 'nein'",
        ),
        ("(NP (ART das) (NN Haus))\n(X ja)\n", ":2: expected 3 trees, one per segment, found 2"),
        ("(NP\n  (ART das)\n  (NN Haus)\n(X ja)\n()\n", ":1: unbalanced brackets: 1 not closed"),
        ("", ":1: expected 3 trees"),
    ],
)
def test_bad_files_name_line_and_segment(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        attach(tmp_path, text)
