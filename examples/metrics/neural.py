"""Neural metrics as metrics of rypt, each by its own package, which is loaded only when the metric is called.

    rypt tune list.jsonl --source dev.de --references dev.en --metric neural:comet
    rypt compare picks campaign --metrics 'rypt,neural:comet(model=Unbabel/wmt22-cometkiwi-da)'
    rypt tune list.jsonl --source dev.de --references dev.en --metric 'neural:metricx(better=lower,scale=25)'
    rypt compare systems systemA.txt systemB.txt --references dev.en --metrics neural:embedding --page compare.html

Copy this file to the folder that you work in, or add its folder to PYTHONPATH. A function is called with a list of
{"segment", "source", "candidate", "references"} and returns one score for each; other options are its arguments. Scores
that you have in a file already need no function: `scores(comet.jsonl)`.
"""

import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def comet(
    items: list[dict[str, Any]], model: str = "Unbabel/wmt22-comet-da", batch: str = "16"
) -> list[float]:
    """Score candidates by a COMET model; one without a reference takes source and candidate alone."""
    _check("COMET", "comet", "pip install unbabel-comet", items)
    from comet import download_model, load_from_checkpoint

    rows = []
    for item in items:
        row = {"src": item["source"], "mt": item["candidate"]}
        if item["references"]:
            row["ref"] = item["references"][0]
        rows.append(row)
    scorer = load_from_checkpoint(download_model(model))
    return [float(score) for score in scorer.predict(rows, batch_size=int(batch), gpus=0).scores]


def metricx(
    items: list[dict[str, Any]],
    model: str = "google/metricx-24-hybrid-large-v2p6",
    tokenizer: str = "google/mt5-xl",
) -> list[float]:
    """Score candidates by MetricX, from 0 to 25, lower is better; without references it looks at the source alone."""
    _check("MetricX", "metricx24", "pip install git+https://github.com/google-research/metricx", items)
    with tempfile.TemporaryDirectory() as folder:
        given, written = Path(folder) / "input.jsonl", Path(folder) / "output.jsonl"
        with given.open("w", encoding="utf-8") as stream:
            for item in items:
                reference = item["references"][0] if item["references"] else ""
                row = {"source": item["source"], "hypothesis": item["candidate"], "reference": reference}
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        options = ["--tokenizer", tokenizer, "--model_name_or_path", model, "--max_input_length", "1536"]
        options += ["--batch_size", "1", "--input_file", str(given), "--output_file", str(written)]
        options += [] if items[0]["references"] else ["--qe"]
        subprocess.run([sys.executable, "-m", "metricx24.predict", *options], check=True, stdout=sys.stderr)
        with written.open(encoding="utf-8") as stream:
            return [float(json.loads(line)["prediction"]) for line in stream]


def embedding(items: list[dict[str, Any]]) -> list[float]:
    """Cosine of the embeddings of candidate and reference, by a model of 16 MB that comes with its package.

    It is no match for COMET; it is here because it needs no download and no GPU.
    """
    _check("embedding", "wordllama", "pip install wordllama", ())
    import wordllama

    place = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=place, disable_download=True)
    return [max(model.similarity(item["candidate"], text) for text in item["references"]) for item in items]


def _check(name: str, package: str, command: str, items: Any) -> None:
    """Refuse to go on without the package, or without the source where there are candidates."""
    if find_spec(package) is None:
        raise RuntimeError(f"{name} is not installed: {command}")
    if any(item["source"] is None for item in items):
        raise ValueError(f"{name} needs the source: give --source or a campaign")
