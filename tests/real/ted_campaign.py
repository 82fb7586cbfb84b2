"""The public MQM annotation of TED talks as a campaign."""

import gzip
import json
from pathlib import Path
from typing import Any

from rypt.campaign.create import create_campaign
from rypt.campaign.folder import Campaign


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def make_campaign(data: Path, folder: Path) -> Campaign:
    """A campaign of the texts, trees and links of the data, with a list for each system and no judgments."""
    folder.mkdir(parents=True)
    sources = read_jsonl(data / "sources.jsonl.gz")
    segments = (json.dumps({"id": str(s["seg_id"]), "text": s["tokens"]}) for s in sources)
    (folder / "source.jsonl").write_text("".join(f"{line}\n" for line in segments), encoding="utf-8")
    (folder / "trees").write_text("".join(f"{s['tree']}\n" for s in sources), encoding="utf-8")
    lists: dict[str, list[str]] = {}
    for c in read_jsonl(data / "candidates.jsonl.gz"):
        record = {"id": str(c["seg_id"]), "candidate": c["tokens"], "alignment": c["align"]}
        lists.setdefault(c["system"], []).append(json.dumps(record) + "\n")
    for system, lines in lists.items():
        (folder / f"{system}.jsonl").write_text("".join(lines), encoding="utf-8")
    nbest = [folder / f"{system}.jsonl" for system in sorted(lists)]
    return create_campaign(folder, source=folder / "source.jsonl", trees=folder / "trees", nbest=nbest)
