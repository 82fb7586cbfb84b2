"""Z-MERT's normalisation and lists, against the rules written out character by character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mert.zmert.lists import ListRules, normalize
from rypt.text import InputError

SYMBOLS = set('!"#$%&()*+/:;<=>?@[\\]^_`{|}~')


def by_character(text, method):
    """The rules of -txtNrm, one character at a time."""
    if method == 0:
        return text
    for entity, character in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'")):
        text = text.replace(entity, character)
    text = " " + one_space("".join(f" {c} " if c in SYMBOLS else c for c in text)).strip(" ") + " "
    out = ""
    for i, c in enumerate(text):
        around = [text[i - 1], text[i + 1]] if c in ".,-" else []
        split = (c in ".,") and not all("0" <= other <= "9" for other in around)
        split = split or (c == "-" and "0" <= around[0] <= "9")
        out += f" {c} " if split else c
    text = " " + one_space(out).strip(" ") + " "
    for apart, joined in (
        (" i 'm ", " i'm "),
        (" we 're ", " we're "),
        (" 's ", "'s "),
        (" 've ", "'ve "),
        (" 'll ", "'ll "),
        (" 'd ", "'d "),
        (" n't ", "n't "),
    ):
        text = joined.join(text.split(apart))
    if method in (2, 4):
        gone = set()
        text = f" {text} "
        for i, c in enumerate(text):
            if (
                c == "-"
                and text[i - 1] == text[i + 1] == " "
                and text[i - 2].isalpha()
                and text[i + 2].isalpha()
            ):
                gone |= {i - 1, i + 1}
        text = "".join(c for i, c in enumerate(text) if i not in gone)
    if method in (3, 4):
        text = "".join(c for c in text if ord(c) < 128)
    return one_space(text).strip(" ")


def one_space(text):
    out = ""
    for c in text:
        c = " " if c in " \t\n\x0b\f\r" else c
        out += "" if c == " " and out.endswith(" ") else c
    return out


SIGNS = "a b Ä 1 2 . , - ' n't &amp; &quot; lt; | \\ $ ( _ ½ 中"
PIECES = [*SIGNS.split(), " ", " ", "\t", "i 'm", "we 're", " 's "]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.integers(0, 4))
def test_normalize_follows_the_rules(text, method):
    assert normalize(text, method) == by_character(text, method)


@pytest.mark.parametrize(
    ("text", "method", "expected"),
    [
        ("Hello, world.", 0, "Hello, world."),
        ("Hello, world.", 1, "Hello , world ."),
        ("3.14 and 1,000, or .5", 1, "3.14 and 1,000 , or . 5"),
        ("1990-1995 well-known", 1, "1990 - 1995 well-known"),
        ("he 'll say i 'm in &quot;x&quot;", 1, "he'll say i'm in \" x \""),
        ("state - of - the - art 3 - 4", 2, "state-of-the-art 3 - 4"),
        ("state - of", 1, "state - of"),
        ("naïve café", 3, "nave caf"),
        ("naïve - art", 4, "nave-art"),
    ],
)
def test_examples(text, method, expected):
    assert normalize(text, method) == expected


def read(tmp_path, text, **rules):
    path = tmp_path / "out.nbest"
    path.write_text(text, encoding="utf-8")
    return ListRules(**{"features": 2, "size": 2, "segments": 2, **rules}).read(path)


def test_a_list_is_read_with_what_follows_the_numbers(tmp_path):
    text = "0 ||| a b. ||| 1 -2.5 junk=7 ||| 9 ||| x\n\n0 ||| c ||| 1 2\n1 |||  ||| 3e-1 4\n"
    assert read(tmp_path, text) == "0 ||| a b. ||| 1 -2.5\n0 ||| c ||| 1 2\n1 |||  ||| 3e-1 4\n"
    assert read(tmp_path, text, method=1).startswith("0 ||| a b . ||| 1 -2.5\n")
    assert read(tmp_path, text, extras=True).startswith("0 ||| a b. ||| 1 -2.5 ||| 9 ||| x\n")


def test_named_features_are_kept(tmp_path):
    text = "0 ||| a ||| lm=-1 tm=2\n1 ||| a ||| tm=2 lm=-1\n"
    assert read(tmp_path, text) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 ||| a\n", "out.nbest:1: expected i ||| words ||| numbers, found 2 fields"),
        ("0 ||| a ||| 1 2\nx ||| a ||| 1 2\n", "out.nbest:2: expected one of the segments 0 to 1, found 'x'"),
        ("2 ||| a ||| 1 2\n", "out.nbest:1: expected one of the segments 0 to 1, found '2'"),
        ("0 ||| a ||| 1\n", "out.nbest:1: expected 2 numbers, one per parameter, found 1"),
        ("0 ||| a ||| 1 nan\n", "out.nbest:1: expected finite numbers, found '1 nan'"),
        ("0 ||| a ||| 1 1_0\n", "out.nbest:1: expected finite numbers"),
        ("0 ||| a ||| 1 x\n", "out.nbest:1: expected finite numbers"),
        ("0 ||| a ||| 1 2\n" * 3, "out.nbest:3: expected at most 2 candidates of a segment (-N), found more"),
        ("0 ||| a ||| 1 2\n", "out.nbest: expected candidates of all 2 segments, found none of segment 1"),
        ("0 ||| a ||| 1 2\n1 ||| a ||| 1 2", "expected a list whose last line ends"),
        ("", "expected a list whose last line ends"),
    ],
)
def test_lists_that_are_refused(tmp_path, text, message):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
