"""``rypt warm`` leaves nothing for later commands to compile."""

import os
import subprocess
import sys

from rypt.demo.texts import open_demo

RYPT = [sys.executable, "-c", "from rypt.cli import main; main()"]
TUNE = ("tune", "small", "--metric", "bleu", "--weights", "small/weights.init", "--restarts", "1")


def test_after_warm_nothing_is_compiled(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(*words):
        return subprocess.run(
            [*RYPT, *words], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        ).stderr

    open_demo(tmp_path / "small")
    assert run("warm").splitlines()[-1] == "everything is compiled"
    for command in (("analyze", "small"), TUNE):
        assert "compiling" not in run(*command)
