"""The features, halves and picks of bench/rerank.py, on texts that are made up."""

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench"


@pytest.fixture
def rerank(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("rerank")


@pytest.fixture
def features_of(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("rerank_features")


def made_up(features_of: ModuleType, outputs: list[list[str]], references: list[str]) -> object:
    words = [[text.split() for text in row] for row in outputs]
    links = [[[(i, i) for i in range(min(2, len(text)))] for text in row] for row in words]
    return features_of.Texts(
        [["das", "Haus"]] * len(outputs), words, links, [text.split() for text in references]
    )


def test_what_one_output_has_alone(features_of: ModuleType) -> None:
    texts = made_up(features_of, [["the house", "the house", "das 7 the the the the"]], ["the house"])
    found = features_of.text_features(texts)
    assert found["words"].tolist() == [[1.0, 1.0, 3.0]]
    assert found["numbers"].tolist() == [[0.0, 0.0, 1.0]]
    assert found["unaligned output"].tolist() == [[0.0, 0.0, 1 - 2 / 6]]
    assert found["repeated"].tolist() == [[0.0, 0.0, 1 - 3 / 5]]
    assert found["words alone"].tolist() == [[0.0, 0.0, 2 / 6]]  # das and 7
    assert found["words missing"].tolist() == [[0.0, 0.0, 1 / 6]]  # house
    assert found["characters as others"].argmin() == found["words as others"].argmin() == 2


def test_a_segment_is_not_in_the_models_that_judge_it(features_of: ModuleType) -> None:
    texts = made_up(features_of, [["a b", "c d"], ["a b", "x y"]], ["a b", "x y"])
    outputs = features_of.text_features(texts)["words of outputs"]
    assert outputs[0, 0] > outputs[0, 1]  # a b is in the other segment, c d only here
    first = features_of.reference_features(texts, np.array([True, False]))["words of references"]
    assert first[0, 0] == pytest.approx(first[0, 1])  # its own reference says nothing of it
    assert first[1, 0] > first[1, 1]
    second = features_of.reference_features(texts, np.array([False, True]))["words of references"]
    assert second[0, 0] == pytest.approx(
        second[0, 1]
    )  # a b is in no reference of the second half but in the first's
    assert second[1, 0] == pytest.approx(second[1, 1])


def test_standardised_features_differ_only_inside_segments(features_of: ModuleType) -> None:
    values = features_of.standardised({"a": np.array([[1.0, 3.0], [10.0, 12.0]]), "same": np.ones((2, 2))})
    assert values[:, :, 0].tolist() == [[-1.0, 1.0], [-1.0, 1.0]]
    assert not values[:, :, 1].any()


def test_no_document_is_tuned_and_tested_on(rerank: ModuleType) -> None:
    documents = ["a", "a", "b", "c", "c", "c", "d"]
    first, second = rerank.halves_of(documents)
    assert (first ^ second).all()
    assert not {d for d, here in zip(documents, first, strict=True) if here} & {
        d for d, here in zip(documents, second, strict=True) if here
    }


def test_picks_are_compared_by_what_people_say(rerank: ModuleType) -> None:
    mqm = np.array([[0.0, 5.0], [5.0, 5.0], [1.0, 0.0]])
    mine = rerank.chances(np.array([[2.0, 1.0], [2.0, 1.0], [1.0, 1.0]]))
    theirs = rerank.chances(np.array([[1.0, 2.0]] * 3))
    assert mine.tolist() == [[1, 0], [1, 0], [0.5, 0.5]]
    assert rerank.net(mine, theirs, mqm).tolist() == [1.0, 0.0, -0.5]


@pytest.mark.parametrize("optimiser", ["pro", "mira", "mert", "mert, bounds", "mert, window"])
def test_tuning_finds_the_feature_that_people_follow(rerank: ModuleType, optimiser: str) -> None:
    rng = np.random.default_rng(1)
    mqm = rng.integers(0, 20, size=(40, 4)).astype(float)
    indicators = {f"system {i}": np.tile(np.arange(4) == i, (40, 1)).astype(float) for i in range(4)}
    penalties = np.stack([1000 * mqm, np.ones(mqm.shape)], axis=2).astype(np.int64)
    aim = rerank.Objective(penalties, rerank.minus_mean_penalty, rerank.WORST)
    noise = {"noise": rng.normal(size=mqm.shape), rerank.START: rng.normal(size=mqm.shape)}
    documents = [f"document {i // 5}" for i in range(40)]
    data = rerank.RatedSet(
        "made", list("abcd"), documents, mqm, {"mqm": aim}, {"good": -mqm} | noise, [{}, {}], indicators
    )
    cell = rerank.run(data, "all", optimiser, "mqm", 2)
    assert rerank.mean_mqm(cell.picks, data) < mqm.min(axis=1).mean() + 1.0 < mqm.mean() - 3
