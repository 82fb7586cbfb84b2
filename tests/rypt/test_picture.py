"""Pictures: formats, files that cannot be drawn to, and the backend that belongs to the user."""

import subprocess
import sys

import pytest

from rypt.picture import check_picture, new_figure, save_picture
from rypt.text import RyptError


@pytest.mark.slow
def test_formats(tmp_path):
    for name, begins in (("a.svg", b"<?xml"), ("a.png", b"\x89PNG"), ("a.pdf", b"%PDF")):
        save_picture(new_figure(2, 1), tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begins)
    for path, message in ((tmp_path / "a.gif", "ending in"), (tmp_path / "none" / "a.svg", "does not exist")):
        with pytest.raises(RyptError, match=message):
            check_picture(path)


@pytest.mark.slow
def test_the_backend_stays_as_it_was(tmp_path):
    """A notebook still shows its figures after one of ours was saved."""
    script = (
        "import matplotlib, sys; matplotlib.use('svg'); from rypt.picture import new_figure, save_picture\n"
        "save_picture(new_figure(2, 1), sys.argv[1])\n"
        "print(matplotlib.get_backend(), 'matplotlib.pyplot' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "a.png")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "svg False\n"
