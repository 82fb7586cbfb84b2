"""Pictures: formats, files that cannot be drawn to, and the backend that belongs to the user."""

import subprocess
import sys

import pytest

from rypt.picture import check_picture, new_figure, save_picture
from rypt.text import RyptError


@pytest.mark.parametrize(("name", "begins"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG"), ("a.pdf", b"%PDF")])
def test_formats(tmp_path, name, begins):
    save_picture(new_figure(2, 1), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_files_that_cannot_be_drawn_to(tmp_path):
    with pytest.raises(RyptError, match=r"expected a name ending in \.svg, \.png, \.pdf"):
        check_picture(tmp_path / "a.gif")
    with pytest.raises(RyptError, match="its folder does not exist"):
        check_picture(tmp_path / "none" / "a.svg")


def test_a_picture_that_fails_leaves_what_was_there(tmp_path):
    class Broken:
        def savefig(self, stream, **options):
            stream.write(b"half")
            raise ZeroDivisionError

    (tmp_path / "a.svg").write_text("before")
    with pytest.raises(ZeroDivisionError):
        save_picture(Broken(), tmp_path / "a.svg")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.svg", "before")]


def test_the_backend_stays_as_it_was(tmp_path):
    """A notebook's figures go on being shown after one of ours was saved."""
    script = (
        "import matplotlib, sys; matplotlib.use('svg'); from rypt.picture import new_figure, save_picture\n"
        "save_picture(new_figure(2, 1), sys.argv[1])\n"
        "print(matplotlib.get_backend(), 'matplotlib.pyplot' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "a.png")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() == [
        "svg",
        "False",
    ]
