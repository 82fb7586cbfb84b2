"""Choices by name, and ways to hold out judgments that are refused."""

import pytest

from rypt.options import TIES, check_held_out, check_option
from rypt.text import RyptError


@pytest.mark.parametrize("way", ["judgment", "label", "key", "candidate"])
def test_single_judgments_are_not_held_out(way):
    with pytest.raises(RyptError, match=f"holding out a single {way} is biased .* hold out a system or worker"):
        check_held_out(way, ("system", "worker"))


def test_other_words_are_refused():
    with pytest.raises(RyptError, match="expected to hold out a system or rater, found 'talk'"):
        check_held_out("talk", ("system", "rater"))
    with pytest.raises(RyptError, match="expected ties as one of unknown, no, yes, found ''"):
        check_option("ties", "", TIES)


def test_what_is_allowed_passes():
    check_held_out("rater", ("system", "rater"))
    check_option("ties", "no", TIES)
