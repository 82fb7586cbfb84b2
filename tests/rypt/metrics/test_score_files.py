"""Files of scores: each form, and what is wrong with one."""

import gzip
import re

import pytest

from rypt.metrics.score_files import ScoreFile
from rypt.text import RyptError

LISTS = [("0", "a house"), ("0", "the house"), ("1", "a cat")]


def scores(path, text, **options):
    path.write_text(text, encoding="utf-8")
    return ScoreFile(path, lists=lambda: LISTS, **options)


@pytest.mark.parametrize(
    "text",
    [
        '{"segment": 0, "candidate": "a  house", "score": 0.5}\n'
        '{"segment": "0", "candidate": "the house", "score": 1}\n'
        '{"segment": 1, "candidate": "a cat", "score": -2e-1, "other": [1]}\n',
        '{"id": "0", "rank": 0, "score": 0.5}\n'
        '{"id": "0", "rank": 1, "score": 1}\n{"id": "1", "rank": 0, "score": -0.2}',
        '{"segment": 0, "hypothesis": "a house", "prediction": 0.5}\n'
        '{"segment": 0, "mt": "the house", "prediction": 1}\n'
        '{"segment": 1, "hypothesis": "a cat", "prediction": -0.2}\n',
        "0\ta house\t0.5\n0\tthe house\t1\n1\ta cat\t-0.2\n",
        "score\tsegment\trank\n0.5\t0\t0\n1\t0\t1\n-0.2\t1\t0\n",
        "0.5\n1\n-0.2\n",
        '{"prediction": 0.5}\n{"prediction": 1}\n{"prediction": -0.2}\n',
        "0\ta house\t0.5\n0\ta house\t0.5\n0\tthe house\t1\n1\ta cat\t-0.2\n",
    ],
    ids=["jsonl", "rank", "metricx", "tsv", "tsv-head", "lines", "jsonl-lines", "twice"],
)
def test_all_forms_say_the_same(tmp_path, text):
    file = scores(tmp_path / "scores", text)
    assert [file.score(*key) for key in LISTS] == [0.5, 1.0, -0.2]
    assert file.score("1", "a dog") is None


def test_a_field_of_another_name_and_gzip(tmp_path):
    path = tmp_path / "scores.gz"
    path.write_bytes(gzip.compress(b'{"segment": 0, "candidate": "a", "COMET": 0.25, "score": 7}\n'))
    assert ScoreFile(path, "COMET").score("0", " a ") == 0.25


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "scores: expected scores, found an empty file"),
        ("0\ta house\tNaN\n", "scores:1: expected a finite number, found 'NaN'"),
        ('{"segment": 0, "candidate": "a", "score": NaN}', "scores:1: expected a finite number, found nan"),
        (
            '{"segment": 0, "candidate": "a", "score": null}',
            "expected a field score with the score, found segment",
        ),
        (
            '{"segment": 0, "candidate": "a", "score": true}',
            "expected a finite number as the score, found True",
        ),
        (
            '{"segment": 0, "score": 1}',
            "scores:1: expected the candidate's text or its rank beside the segment",
        ),
        (
            '{"segment": 0, "candidate": 1, "score": 1}',
            "scores:1: expected the text of the candidate, found 1",
        ),
        (
            '{"segment": 0, "rank": 2, "score": 1}',
            "segment 0 has 2 candidates, and ranks count from 0: found 2",
        ),
        ('{"segment": 0, "rank": -1, "score": 1}', "scores:1: expected a rank from 0 on, found -1"),
        ('{"segment"', "scores:1: expected a JSON object with segment, candidate and score: "),
        ("0.5\n1\n", "scores:2: expected 3 scores, one for each candidate of the lists, found 2"),
        ("0.5\n0\ta house\t1\n", "scores:1: expected a segment, as other lines have one"),
        ("0\ta\t1\n0\ta\t2\n", "scores:2: segment 0, 'a': the score is 2 here, line 1 says 1"),
        ("0\ta\n", "scores:1: expected segment, candidate and score between tabs, found 2 cells"),
        ("0\ta\t1\n0\ta\tb\t1\n", "scores:2: expected 3 cells between tabs, found 4"),
        ("a house\n", "scores:1: expected a finite number, found 'a house'"),
    ],
)
def test_what_is_wrong(tmp_path, text, message):
    with pytest.raises(RyptError, match=re.escape(message)):
        scores(tmp_path / "scores", text)


def test_lines_need_the_lists(tmp_path):
    (tmp_path / "scores").write_text("0.5\n")
    with pytest.raises(
        RyptError, match="expected the segment and the text of each candidate beside its score"
    ):
        ScoreFile(tmp_path / "scores")
