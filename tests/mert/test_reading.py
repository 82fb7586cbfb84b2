"""Lists in shares, in files of this machine: the same weights, within the memory that is allowed."""

import gzip

import pytest
from toy import pool

import mert
from mert.constraints import Constraints
from mert.solve import SearchSettings
from rypt.text import InputError, RyptError


def same_tuning(one, other):
    """All numbers but the seconds are the same, to the last digit."""
    assert {**one.summary(), "seconds": 0} == {**other.summary(), "seconds": 0}
    assert one.ends == other.ends


def divided_list(folder, segments=12):
    """A list in two files, with held sparse features, the segments of the second file backwards."""
    rows = [(segment, *row) for segment in range(segments) for row in pool(segment)[1]]
    lines = [
        f"{segment} ||| {text} ||| LM0= {a} TM0= {b} {c} WordPenalty0= {d} s_{i % 7}= {i % 3} ||| 0\n"
        for i, (segment, text, (a, b, c, d)) in enumerate(rows)
    ]
    (folder / "one").write_text("".join(lines[::2]))
    with gzip.open(folder / "two.gz", "wt") as stream:
        stream.write("".join(sorted(lines[1::2], key=lambda line: -int(line.split()[0]))))
    (folder / "ref").write_text("".join(pool(segment)[0] + "\n" for segment in range(segments)))
    return [folder / "one", folder / "two.gz"]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"search": SearchSettings(aim="list", restarts=9, threads=3)},
        {"constraints": Constraints(only=("LM0", "TM0", "s_1"), bounds={"LM0": (0, 1)})},
        {"weights": {"LM0": 1, "TM0_0": 1, "TM0_1": 1, "WordPenalty0": 1, "s_1": 0.3, "s_2": -2}},
        {"metric": "column(TM0_1)"},
        {"metric": "0.5*chrf-0.5*ter"},
    ],
)
def test_a_list_in_shares_gives_the_same_weights(tmp_path, more, monkeypatch):
    """Shares are of 1 MB at least: here every thread has one."""
    monkeypatch.setattr("mert.optimize.SMALL", 100)
    lists = divided_list(tmp_path)
    more = {"references": [tmp_path / "ref"], "search": SearchSettings(restarts=3, threads=4), **more}
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    same_tuning(mert.tune(lists, memory=1 << 30, **more), mert.tune(lists, **more))
    assert list((tmp_path / "scratch").iterdir()) == []


def test_mistakes_in_shares(tmp_path):
    lists = divided_list(tmp_path)
    more = {"references": [tmp_path / "ref"], "memory": 1 << 30}
    with pytest.raises(RyptError, match="the lists have no feature nothing"):
        mert.tune(lists, constraints=Constraints(only=("nothing",)), **more)
    (tmp_path / "three").write_text("99 ||| a ||| LM0= 1 TM0= 1 1 WordPenalty0= 1\n")
    with pytest.raises(InputError, match="three:1: segment 99: expected one of the 12 segments"):
        mert.tune([*lists, tmp_path / "three"], **more)
    (tmp_path / "three").write_text('{"id": "0", "candidate": "a", "features": {"LM0": 1}}\n')
    with pytest.raises(
        RyptError, match=r"three: expected a list with \|\|\|, the only ones that --memory divides"
    ):
        mert.tune([tmp_path / "three"], **more)


MEASURED = (
    "import pathlib, re, sys\nfrom rypt.cli import main\nstatus = pathlib.Path('/proc/self/status')\n"
    "try: main(sys.argv[1:])\nfinally: print(re.search(r'VmHWM:\\s+(\\d+)', status.read_text())[1])"
)
