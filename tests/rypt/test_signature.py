"""Signatures have one form."""

from rypt.signature import rypt_version, signature, signature_name


def test_facts_follow_the_name_in_their_order() -> None:
    assert (
        signature("koehn", systems=4, variance=10.0, level=0.05) == "koehn|systems:4|variance:10|level:0.05"
    )


def test_a_signature_grows() -> None:
    first = signature("RYPT", case="lower")
    assert signature(first, "unknown:half", "", n=3, ranges=None) == "RYPT|case:lower|unknown:half|n:3"
    assert signature_name(first) == "RYPT"


def test_the_version_is_that_of_the_package() -> None:
    assert signature("x", version=rypt_version()).removeprefix("x|version:")[0].isdecimal()
