"""The whole tuning loop around the example decoder, as docs/decoder.md says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run

EXAMPLE = Path(__file__).resolve().parents[4] / "rypt" / "demo" / "decoder"
CORPUS = EXAMPLE / "corpus"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decoder") / "model"
    command = [
        sys.executable,
        "-m",
        "rypt.demo.decoder.train",
        "--source",
        CORPUS / "train.de",
        "--target",
        CORPUS / "train.en",
    ]
    subprocess.run([*command, "--output", folder], check=True, capture_output=True, timeout=120)
    return folder


def test_ten_iterations_at_most_make_a_better_decoder(capsys, model, tmp_path):
    decoder = (
        f"{sys.executable} -m rypt.demo.decoder.decode --model {model} --weights {{weights}} --input {CORPUS}/dev.de "
        "--nbest {nbest}"
    )
    code, out, err = run(
        capsys,
        "tune",
        "--decoder",
        decoder,
        "--references",
        CORPUS / "dev.en",
        "--weights",
        EXAMPLE / "weights.init",
        "--folder",
        tmp_path / "run",
        "--max-iterations",
        10,
        "--fix",
        "UnknownWordPenalty0",
        "--json",
        "-o",
        tmp_path / "tuned",
    )
    assert code == 0, err
    result = json.loads(out)
    assert result["start_score"] == pytest.approx(50.9, abs=0.1)
    assert result["score"] > 60
    assert result["weights"]["UnknownWordPenalty0"] == 1.0
    assert (tmp_path / "tuned").read_text().splitlines()[-1] == "UnknownWordPenalty0= 1.0"
