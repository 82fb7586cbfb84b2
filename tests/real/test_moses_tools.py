"""Moses' own sample, tuned by the programs that take the place of Moses'."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mert.lists import read_lists
from mert.moses.files import FEATURES, read_blocks
from mert.moses.scripts import write_scripts
from rypt.texts.lists import read_references

pytestmark = pytest.mark.real
MOSES = 0.09833  # what Moses' own mert reaches from 21 starts


def test_extractor_and_mert_reach_at_least_the_bleu_of_moses(
    real_data: Callable[[str], Path], tmp_path: Path
) -> None:
    from sacrebleu.metrics.bleu import BLEU

    data, programs = real_data("mert") / "moses-sample", write_scripts(tmp_path / "bin", sys.executable)

    def run(command: str) -> str:
        done = subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    for name, binary in (("nbest", ""), ("nbest.orig", "-b")):
        files = f"--scfile {name}.scores.dat --ffile {name}.features.dat"
        run(f"{programs}/extractor --scconfig case:true {binary} {files} -r {data}/ref.0 -n {data}/{name}.gz")
    log = run(
        f"{programs}/mert -d 15 --scconfig case:true --ffile nbest.features.dat --scfile nbest.scores.dat "
        f"--ifile {data}/init.opt -n 20 -r 1000 --threads {os.cpu_count()}"
    )
    found = re.search(r"Best point:\s*([\s\d\.\-e]+?)\s*=> ([\-\d\.]+)", log)
    assert found
    score = float(found[2])
    assert score >= MOSES
    lists, references = read_lists([data / "nbest.gz"]), read_references([data / "ref.0"])
    weights = [float(word) for word in found[1].split()]
    texts = [lists.candidates[i].text for i in lists.best(weights)]
    theirs = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(texts, references.documents)
    assert score == pytest.approx(theirs.score / 100, abs=1e-5)
    new, old = (
        list(read_blocks(tmp_path / f"{name}.features.dat", FEATURES)) for name in ("nbest", "nbest.orig")
    )
    assert len(new) == len(old) == 100
    for ours, theirs_ in zip(new, old, strict=True):
        assert (ours.segment, ours.names) == (theirs_.segment, theirs_.names)
        assert len(ours.names) == 15
        assert (ours.values == theirs_.values).all()
