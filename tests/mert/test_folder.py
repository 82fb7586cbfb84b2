"""The folder of a tuning run: names of files, lists that are kept, and what is not kept."""

from pathlib import Path

import pytest

from mert.folder import TuningFolder, keep_list
from rypt.text import RyptError

LINE = "0 ||| a ||| x= 1 ||| 0\n"


class Writer:
    """A decoder that writes a text."""

    identity = "writer"

    def __init__(self, text):
        self.text = text

    def __call__(self, iteration, weights, nbest):
        assert weights.is_absolute()
        assert nbest.is_absolute()
        Path(nbest).write_text(self.text)


def test_files_of_iterations(tmp_path):
    folder = TuningFolder.of_run(tmp_path / "run")
    folder.make()
    for name in (
        "run1.weights",
        "run10.weights",
        "run2.weights",
        "run0.weights",
        "runx.weights",
        "3.weights",
    ):
        (folder.weights / name).touch()
    assert list(folder.weights_files()) == [1, 2, 10]
    assert folder.list_files() == {}
    assert folder.log_file(2) == tmp_path / "run" / "run2.log"
    assert folder.record_file(2) == tmp_path / "run" / "run2.json"


def test_a_list_is_kept_when_it_was_checked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = TuningFolder(Path("lists"), Path("weights"))
    folder.make()
    (folder.lists / "decoding.old").mkdir()

    def refuse(nbest):
        raise AssertionError("checked")

    with pytest.raises(AssertionError, match="checked"):
        folder.decode(1, Writer(LINE), refuse)
    assert folder.list_files() == {}
    folder.log_file(1).write_text("loading\n")
    with pytest.raises(RyptError, match="the decoder wrote no candidates; it said: loading"):
        folder.decode(1, Writer(""), lambda nbest: None)
    checked = []
    folder.decode(1, Writer(LINE), lambda nbest: checked.append(nbest.read_text()))
    assert checked == [LINE]
    assert list(folder.list_files()) == [1]
    assert [path.name for path in folder.lists.iterdir()] == ["1.nbest.gz"]


def test_one_run_at_a_time(tmp_path):
    folder = TuningFolder.of_run(tmp_path)
    with folder.locked(), pytest.raises(RyptError, match="another run is at work in"), folder.locked():
        pass


def test_a_kept_list_is_the_same_bytes_each_time(tmp_path):
    for name in ("a.gz", "b.gz"):
        (tmp_path / "n").write_text("0 ||| a\n")
        keep_list(tmp_path / "n", tmp_path / name)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert not (tmp_path / "n").exists()
