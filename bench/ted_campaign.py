"""Make a campaign of the public MQM judgments of TED talks, for `rypt compare`, `rypt analyze` and others.

    python bench/ted_campaign.py FOLDER CAMPAIGN [--label any]

FOLDER is mqm-ted-ende. CAMPAIGN gets a list for each system, the reference, judgments whose origin is the system,
``scores.jsonl`` with the MQM scores, and ``half-a.txt`` and ``half-b.txt``: the segments of two halves of the talks,
to choose on one and report on the other.
"""

import argparse
import gzip
import json
from collections import Counter
from pathlib import Path

from rypt.campaign.folder import Campaign, create
from rypt.campaign.settings import Languages
from rypt.database.exchange import import_file

RENAME = {"seg_id": "segment", "j": "first", "k": "last", "candidate_substring": "phrase", "system": "origin"}


def read_jsonl(path: Path) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_jsonl(path: Path, records: list[dict]) -> Path:
    path.write_text(
        "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8"
    )
    return path


def halves(talks: list[str]) -> list[set[str]]:
    """The talks in two parts of nearly the same number of segments; the first talk is in the first part."""
    sizes = Counter(talks)
    names = list(sizes)
    ways = [
        {names[0], *(n for i, n in enumerate(names[1:]) if mask >> i & 1)}
        for mask in range(2 ** (len(names) - 1))
    ]
    first = min(ways, key=lambda way: abs(2 * sum(sizes[name] for name in way) - len(talks)))
    return [first, set(names) - first]


def make(folder: Path, target: Path, label: str = "any") -> Campaign:
    target.mkdir(parents=True)
    sources = read_jsonl(folder / "sources.jsonl.gz")
    write_jsonl(target / "source.jsonl", [{"id": str(s["seg_id"]), "text": s["tokens"]} for s in sources])
    (target / "source.trees").write_text("".join(s["tree"] + "\n" for s in sources), encoding="utf-8")
    systems: dict[str, list[dict]] = {}
    scores = []
    references = {}
    for c in read_jsonl(folder / "candidates.jsonl.gz"):
        segment = str(c["seg_id"])
        record = {"id": segment, "candidate": c["tokens"], "alignment": c["align"]}
        systems.setdefault(c["system"], []).append(record)
        if c["system"] == "ref":
            references[segment] = c["tokens"]
        for rating in c["ratings"]:
            who = {"segment": segment, "system": c["system"], "rater": rating["rater"]}
            scores.append({**who, "score": rating["score"], "better": "lower"})
    (target / "reference.de").write_text(
        "".join(references[str(s["seg_id"])] + "\n" for s in sources), encoding="utf-8"
    )
    write_jsonl(target / "scores.jsonl", scores)
    (target / "systems").mkdir()
    lists = [write_jsonl(target / "systems" / f"{name}.jsonl", systems[name]) for name in sorted(systems)]
    for name, talks in zip("ab", halves([s["doc"] for s in sources]), strict=True):
        ids = [str(s["seg_id"]) for s in sources if s["doc"] in talks]
        (target / f"half-{name}.txt").write_text("\n".join(ids) + "\n", encoding="utf-8")
    campaign = create(
        target,
        source=target / "source.jsonl",
        trees=target / "source.trees",
        nbest=lists,
        references=[target / "reference.de"],
        languages=Languages("en", "de"),
    )
    with campaign.database(readonly=False) as db:
        import_file(db, folder / "judgments.tsv.gz", rename={**RENAME, label: "label", "rater": "worker"})
    return campaign


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("campaign", type=Path)
    parser.add_argument("--label", default="any", choices=["any", "major", "dens"])
    options = parser.parse_args()
    make(options.folder, options.campaign, options.label)


if __name__ == "__main__":
    main()
