"""Features and statistics of several iterations, put together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mert.moses.files import FeatureBlock, ScoreBlock, write_features, write_scores
from mert.moses.pairs import merge_pairs, pair_blocks
from rypt.text import FormatError, InputError, RyptError

NAMES = ("LM0_0", "TM0_0")


def pair(segment, values, stats, sparse=None, names=NAMES, metric="BLEU"):
    features = FeatureBlock(
        segment, names, np.array(values, dtype=np.float64).reshape(-1, len(names)), sparse
    )
    return features, ScoreBlock(
        segment, metric, np.array(stats, dtype=np.int64).reshape(len(features.values), -1)
    )


def written(folder, run, pairs, binary=False):
    paths = folder / f"run{run}.features.dat", folder / f"run{run}.scores.dat.gz"
    write_features(paths[0], [features for features, _ in pairs], binary=binary)
    write_scores(paths[1], [scores for _, scores in pairs], binary=binary)
    return paths


def test_iterations_are_merged(tmp_path):
    first = written(tmp_path, 1, [pair("0", [[1, 2], [3, 4]], [[5], [6]]), pair("2", [[1, 2]], [[5]])])
    second = written(
        tmp_path,
        2,
        [pair("0", [[1, 2], [1, 2], [7, 8], [7, 8]], [[5], [9], [1], [1]]), pair("1", [[0.1, 0]], [[3]])],
        binary=True,
    )
    found = pair_blocks(*zip(first, second, strict=True))
    assert found.segments == ["0", "2", "1"]
    assert found.offsets.tolist() == [0, 4, 5, 6]
    assert found.features[:5].tolist() == [[1, 2], [3, 4], [1, 2], [7, 8], [1, 2]]
    assert found.features[5, 0] == np.float32(0.1)
    assert found.stats.tolist() == [[5], [6], [9], [1], [5], [3]]
    assert (found.names, found.metric, found.sparse) == (NAMES, "BLEU", None)
    everything = pair_blocks(*zip(first, second, strict=True), duplicates=True)
    assert everything.offsets.tolist() == [0, 6, 7, 8]


def test_text_and_binary_files_of_the_same_numbers_are_duplicates(tmp_path):
    pairs = [pair("0", [[0.1, -1234.567], [1 / 3, -0.0]], [[5], [6]])]
    text, binary = written(tmp_path, 1, pairs), written(tmp_path, 2, pairs, binary=True)
    assert pair_blocks(*zip(text, binary, strict=True)).offsets.tolist() == [0, 2]


def test_minus_zero_is_zero():
    assert len(merge_pairs([pair("0", [[0.0, 1], [-0.0, 1]], [[1], [1]])]).features) == 1


def test_sparse_features_make_a_difference():
    rows = [{"s_a": 1.0}, {"s_a": 1.0, "s_b": 0.0}, {}, {"s_b": 2.0}]
    found = merge_pairs([pair("0", [[1, 2]] * 4, [[5]] * 4, rows), pair("0", [[1, 2]], [[5]])])
    assert found.sparse == [{"s_a": 1.0}, {}, {"s_b": 2.0}]
    assert found.offsets.tolist() == [0, 3]


def test_sparse_features_become_one():
    found = merge_pairs(
        [
            pair("0", [[1, 2], [3, 4]], [[5], [6]], [{"s_a": 1.0, "s_b": 2.0, "s_c": 9.0}, {}]),
            pair("1", [[5, 6]], [[7]]),
        ]
    )
    assert found.sparse is not None
    merged = found.with_sparse_weights({"s_a": 0.1, "s_b": -1.0, "s_x": 4.0})
    assert merged.names == (*NAMES, "sparse")
    assert merged.sparse is None
    assert merged.features.tolist() == [[1, 2, float(np.float32(-1.9))], [3, 4, 0], [5, 6, 0]]
    with pytest.raises(RyptError, match="expected no feature called LM0_0"):
        found.with_sparse_weights({}, "LM0_0")


def test_what_was_merged_can_be_written(tmp_path):
    pairs = [pair("0", [[1, 2], [3, 4]], [[5], [6]], [{"s_a": 1.5}, {}]), pair("3", [[1, 2]], [[5]])]
    merged = merge_pairs(pairs)
    write_features(tmp_path / "f", merged.feature_blocks())
    write_scores(tmp_path / "s", merged.score_blocks())
    again = pair_blocks([tmp_path / "f"], [tmp_path / "s"])
    assert (again.segments, again.names, again.metric, again.sparse) == (
        ["0", "3"],
        NAMES,
        "BLEU",
        merged.sparse,
    )
    np.testing.assert_array_equal(again.features, merged.features)
    np.testing.assert_array_equal(again.stats, merged.stats)


def removed_by_moses(rows):
    """Moses' way: compare each with all kept before; put the last in the place of one that goes."""
    rows = list(rows)
    k, end = 0, len(rows)
    while k < end:
        if rows[k] in rows[:k]:
            end -= 1
            rows[k], rows[end] = rows[end], rows[k]
        else:
            k += 1
    return rows[:end]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("01"), st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)), min_size=1
    )
)
def test_the_same_candidates_remain_as_with_moses(rows):
    found = merge_pairs(pair(s, [[a, b]], [[c]]) for s, a, b, c in rows)
    for i, segment in enumerate(found.segments):
        span = slice(found.offsets[i], found.offsets[i + 1])
        ours = [
            (segment, *row) for row in np.column_stack([found.features[span], found.stats[span]]).tolist()
        ]
        theirs = removed_by_moses([row for row in rows if row[0] == segment])
        assert sorted(ours) == sorted(theirs)
        assert ours == list(dict.fromkeys(row for row in rows if row[0] == segment))


@pytest.mark.parametrize(
    ("features", "scores", "message"),
    [
        (
            [("0", 2), ("1", 1)],
            [("0", 2)],
            r"run1\.scores\.dat\.gz: expected as many segments as in .*, found 1",
        ),
        (
            [("0", 2)],
            [("0", 2), ("1", 1)],
            r"run1\.features\.dat: expected as many segments as in .*, found 1",
        ),
        (
            [("0", 2), ("1", 1)],
            [("0", 2), ("2", 1)],
            r"scores.*: block 2: expected 1 cand.* segment 1 .* 1 of segment 2",
        ),
        (
            [("0", 2)],
            [("0", 3)],
            r"scores.*: block 1: expected 2 candidates of segment 0 like .*, found 3 of segment 0",
        ),
    ],
)
def test_files_that_do_not_belong_together(tmp_path, features, scores, message):
    paths = tmp_path / "run1.features.dat", tmp_path / "run1.scores.dat.gz"
    write_features(paths[0], [FeatureBlock(s, NAMES, np.ones((n, 2))) for s, n in features])
    write_scores(paths[1], [ScoreBlock(s, "BLEU", np.ones((n, 9), np.int64)) for s, n in scores])
    with pytest.raises(InputError, match=message):
        pair_blocks([paths[0]], [paths[1]])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            pair("0", [[1, 2]], [[5]], names=("LM0_0", "WP0_0")),
            "block 1: expected the features LM0_0 TM0_0, found LM0_0 W",
        ),
        (
            pair("0", [[1, 2]], [[5]], metric="TER"),
            "block 1: expected 1 statistics of BLEU, found 1 statistics of TER",
        ),
        (pair("0", [[1, 2]], [[5, 6]]), "block 1: expected 1 statistics of BLEU, found 2 statistics of BLEU"),
    ],
)
def test_iterations_that_do_not_belong_together(tmp_path, other, message):
    first, second = written(tmp_path, 1, [pair("0", [[1, 2]], [[5]])]), written(tmp_path, 2, [other])
    with pytest.raises(InputError, match=r"run2\.features\.dat: " + message):
        pair_blocks(*zip(first, second, strict=True))
    with pytest.raises(FormatError, match=message.removeprefix("block 1: ")):
        merge_pairs([pair("0", [[1, 2]], [[5]]), other])


def test_files_are_given_in_pairs_and_hold_something(tmp_path):
    features, scores = written(tmp_path, 1, [])
    with pytest.raises(RyptError, match=r"expected candidates in .*run1\.features\.dat, found none"):
        pair_blocks([features], [scores])
    with pytest.raises(RyptError, match="found 1 for 2"):
        pair_blocks([features, features], [scores])
