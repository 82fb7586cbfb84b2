"""Commands beside this process: they end with the block, and with the parent however it ends."""

import json
import os
import select
import signal
import subprocess
import sys
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from rypt.children import child
from rypt.text import RyptError

PARENT = """
import sys, time
from pathlib import Path
from rypt.children import child
with child(["hits", "serve", sys.argv[1], "--port", "0", "--json"], Path(sys.argv[2])) as served:
    print(served.process.pid, served.line(), flush=True)
    sys.stdin.read()
"""


def test_a_child_ends_with_its_block(tmp_path):
    serve = ["hits", "serve", str(tmp_path / "market"), "--port", "0", "--json"]
    with child(serve, tmp_path / "log") as served:
        url = json.loads(served.line())["url"]
        served.check()
        with urlopen(url, timeout=180) as page:
            assert page.status == 200
    assert served.process.returncode == 0
    with pytest.raises(URLError):
        urlopen(url, timeout=180)


@pytest.mark.skipif(
    not hasattr(os, "pidfd_open"), reason="waits for a process that is not its own, as Linux can"
)
def test_a_child_ends_when_its_parent_is_killed(tmp_path):
    """No handler runs in the parent: the pipe that the system closes is all there is."""
    command = [sys.executable, "-c", PARENT, str(tmp_path / "market"), str(tmp_path / "log")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        pid, told = parent.stdout.readline().split(maxsplit=1)
        served = os.pidfd_open(int(pid))
        parent.send_signal(signal.SIGKILL)
        parent.wait(180)
    assert select.select([served], [], [], 180)[0] == [served]
    os.close(served)
    with pytest.raises(URLError):
        urlopen(json.loads(told)["url"], timeout=180)


def test_what_a_child_prints_comes_back(tmp_path):
    with child(["rank", "models", "--help"], tmp_path / "log") as running:
        assert running.result().startswith("Usage: rypt rank systems")
    with pytest.raises(RyptError, match="ended with exit code 0"):
        running.check()


def test_a_child_that_fails_says_why(tmp_path):
    with (
        child(["score", str(tmp_path / "nowhere")], tmp_path / "log") as running,
        pytest.raises(
            RyptError, match=r"rypt score .*nowhere: ended with exit code 1: rypt: .*expected a campaign"
        ),
    ):
        running.result()
    with (
        child(["score", "--nosuch"], tmp_path / "log") as running,
        pytest.raises(RyptError, match="exit code 2"),
    ):
        running.line()
