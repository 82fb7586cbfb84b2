"""Cookies and form tokens that only the holder of the key can make."""

import time

import pytest

from hits.server.security import COOKIE_LIFE, Seals, same

SEALS = Seals("the key of the market")


@pytest.mark.parametrize("text", ["A1", "requester-00ff", "a.b.c", "Änne", "x" * 3000])
def test_what_was_sealed_comes_back(text: str) -> None:
    sealed = SEALS.seal(text)
    assert SEALS.unseal(sealed) == text
    assert Seals("another key").unseal(sealed) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda sealed: sealed[:-1],
        lambda sealed: f"{sealed[:-3]}{'A' if sealed[-3] != 'A' else 'B'}{sealed[-2:]}",
        lambda sealed: f"B{sealed[1:]}",
        lambda sealed: sealed.partition(".")[0],
        lambda sealed: f".{sealed.partition('.')[2]}",
        lambda sealed: sealed + "\ud800",
        lambda sealed: sealed.replace(".", ".\0"),
        lambda sealed: sealed.replace(".", "\u00e9."),
        lambda sealed: "",
        lambda sealed: "A1." + "0" * 64,
        lambda sealed: "A1." + SEALS.form_token("A1"),
    ],
)
def test_nothing_else_is_believed(change) -> None:
    assert SEALS.unseal(change(SEALS.seal("A1"))) is None


def test_forms_of_others_are_refused() -> None:
    assert SEALS.form_is_ours("A1", SEALS.form_token("A1"))
    for token in ("", "0" * 64, "\ud800", "é", SEALS.seal("A1")):
        assert not SEALS.form_is_ours("A1", token)
    for token in (SEALS.form_token("A2"), Seals("another key").form_token("A1"), SEALS.form_token("A1 next")):
        assert not SEALS.form_is_ours("A1", token)


def test_a_cookie_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed, now = SEALS.seal("A1"), time.time()
    monkeypatch.setattr(time, "time", lambda: now + COOKIE_LIFE + 2)
    assert SEALS.unseal(sealed) is None


def test_secrets_are_compared_whatever_they_hold() -> None:
    assert same("é\ud800", "é\ud800")
    assert not same("a", "é\ud800")
