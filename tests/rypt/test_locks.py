"""A lock keeps others out for as long as its file is open, and ends with its process."""

import signal
import subprocess
import sys
from pathlib import Path

from rypt.locked_files import lock

HOLD = """
import sys, time
from rypt.locked_files import lock
file = open(sys.argv[1], "w")
print(lock(file), flush=True)
time.sleep(600)
"""


def test_one_at_a_time_and_a_killed_process_holds_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, open(path, "w") as file:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        assert not lock(file)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=180)
        assert lock(file.fileno())
        with open(path, "w") as second:
            assert not lock(second)
