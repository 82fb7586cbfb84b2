"""COMET as a metric of rypt, with its own package (pip install unbabel-comet), and MetricX by a file of its scores.

    rypt tune list.jsonl --source dev.de --references dev.en --metric 'neural:comet'
    rypt compare campaign --metrics 'rypt,neural:comet(model=Unbabel/wmt22-cometkiwi-da)' --show

The functions are called with a list of {"segment", "source", "candidate", "references"} and return one score for each.
MetricX writes its scores to a file, which is read as it is (lower is better, from 0 to 25):

    python -m metricx24.predict … --output_file metricx.jsonl
    rypt tune list.jsonl --metric '-1*scores(metricx.jsonl,better=lower,scale=25)'
"""

from typing import Any


def comet(items: list[dict[str, Any]], model: str = "Unbabel/wmt22-comet-da", batch: str = "16") -> list[float]:
    """Score candidates by a COMET model; one without a reference takes source and candidate alone."""
    from comet import download_model, load_from_checkpoint

    rows = []
    for item in items:
        if item["source"] is None:
            raise ValueError("COMET needs the source: give --source or a campaign")
        row = {"src": item["source"], "mt": item["candidate"]}
        if item["references"]:
            row["ref"] = item["references"][0]
        rows.append(row)
    scorer = load_from_checkpoint(download_model(model))
    return [float(score) for score in scorer.predict(rows, batch_size=int(batch), gpus=0).scores]
