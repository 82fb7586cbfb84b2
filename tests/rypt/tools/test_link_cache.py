"""What is kept is found again; what is broken or made in another way counts as absent."""

import gzip
from pathlib import Path

import pytest

from rypt.tools.link_cache import Known, LinkCache

A, B = (("das", "Haus"), ("the", "house")), (("ja",), ("yes",))
FOUND: Known = {A: (((0, 0), (1, 1)), ((1, 1),)), B: ((), ())}


def cache(folder: Path, **made_by: object) -> LinkCache:
    return LinkCache(folder / "links.cache.gz", {"aligner": "eflomal 2", **made_by})


def test_links_are_found_again(tmp_path: Path) -> None:
    assert cache(tmp_path).links_of([A]) == {}
    cache(tmp_path).add({A: FOUND[A]})
    cache(tmp_path).add({B: FOUND[B]})
    assert cache(tmp_path).links_of([A, B, (("das", "haus"), ("the", "house"))]) == FOUND


def test_links_made_in_another_way_are_not_taken(tmp_path: Path) -> None:
    cache(tmp_path).add(FOUND)
    other = cache(tmp_path, priors="0f")
    assert other.links_of([A, B]) == {}
    other.add({B: FOUND[B]})
    assert other.links_of([A, B]) == {B: FOUND[B]}
    assert cache(tmp_path).links_of([A, B]) == {}


@pytest.mark.parametrize(
    "broken", [b"", b"no gzip file", gzip.compress(b"\xff\n", mtime=0), gzip.compress(b"{}\n", mtime=0)]
)
def test_a_broken_file_counts_as_empty(tmp_path: Path, broken: bytes) -> None:
    one = cache(tmp_path)
    Path(one.path).write_bytes(broken)
    assert one.links_of([A]) == {}
    one.add(FOUND)
    assert one.links_of([A, B]) == FOUND


@pytest.mark.parametrize("links", ["0-0 2-1\t", "0-0\t1-2", "zero\t", "0-0\t\x00"])
def test_lines_that_are_no_links_of_the_pair_are_left_out(tmp_path: Path, links: str) -> None:
    one = cache(tmp_path)
    one.add(FOUND)
    lines = gzip.decompress(Path(one.path).read_bytes()).decode().splitlines()
    lines[1] = f"{lines[1].split()[0]}\t{links}"
    Path(one.path).write_bytes(gzip.compress("\n".join(lines).encode()))
    assert one.links_of([A, B]) == {B: FOUND[B]}


def test_half_a_file_counts_as_empty(tmp_path: Path) -> None:
    one = cache(tmp_path)
    one.add(FOUND)
    Path(one.path).write_bytes(Path(one.path).read_bytes()[:-20])
    assert one.links_of([A, B]) == {}
