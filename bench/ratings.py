"""From an MQM file to judgments: reading, matching, judging; beside a plain implementation of the same rules.

    python bench/ratings.py mqm_newstest2020_ende.tsv.gz [--segments 200]

Trees are those of the fallback parser, links are diagonal: what is measured does not depend on them. The plain
implementation judges each rating alone, with sets of tokens. Both must give the same judgments. CPU seconds.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rypt.campaign.folder import Campaign, create
from rypt.ratings.error_spans import Policy, Raters
from rypt.ratings.importing import Matched, RatingImport, judged_segments, match_ratings
from rypt.ratings.mqm import read_mqm
from rypt.ratings.surface import token_places
from rypt.ratings.texts import collect_texts
from rypt.records import Judgment, Label
from rypt.scoring.queries import candidate_links
from rypt.texts.phrases import phrase_of
from rypt.tools.fallback_trees import fallback_tree


def make_campaign(folder: Path) -> Campaign:
    """A campaign of the texts in a folder."""
    sources = {
        r["id"]: r["text"].split(" ")
        for r in map(json.loads, (folder / "source.jsonl").open(encoding="utf-8"))
    }
    trees = "".join(f"{fallback_tree(tokens)}\n" for tokens in sources.values())
    (folder / "source.trees").write_text(trees, encoding="utf-8")
    lists = sorted((folder / "systems").iterdir())
    for path in lists:
        with path.open(encoding="utf-8") as records, (folder / f"{path.stem}.links").open("w") as links:
            for record in map(json.loads, records):
                size, words = len(sources[record["id"]]), len(record["candidate"].split(" "))
                links.write(" ".join(f"{i}-{i * words // size}" for i in range(size)) + "\n")
    alignments = [folder / f"{path.stem}.links" for path in lists]
    return create(
        folder / "campaign",
        source=folder / "source.jsonl",
        trees=folder / "source.trees",
        nbest=lists,
        alignments=alignments,
    )


def plain(campaign: Campaign, matched: list[Matched]) -> Iterator[Judgment]:
    """Each rating and each constituent for itself."""
    policy = Policy()
    for rating, segment, candidate in matched:
        tree = campaign.trees[segment.id]
        assert tree is not None
        if rating.other_text:
            continue
        linked = candidate_links(candidate, tree)
        spans = []
        for error in filter(policy.counts, rating.errors):
            own = {"target": (rating.target, candidate.tokens), "source": (rating.source, segment.tokens)}
            places = token_places(*own[error.side]) if error.side in own else ()
            touched = {i for i, (a, b) in enumerate(places or ()) if a < error.stop and error.start < b}
            spans.append((error, touched))
        for constituent in tree.constituents:
            span = constituent.span
            phrase = phrase_of(span, linked, candidate.tokens)
            if phrase is None:
                continue
            inside = {"target": set(phrase.positions), "source": set(range(*span))}
            penalties = {}
            for i, (error, touched) in enumerate(spans):
                whole = error.side == "nowhere" and constituent.parent < 0
                if whole or (error.side != "nowhere" and inside[error.side] & touched):
                    penalties[error.error or -i - 1] = error.weight
            label, severity = (
                (Label.NO, round(sum(penalties.values()), 6)) if penalties else (Label.YES, None)
            )
            yield Judgment(
                segment.id,
                span,
                phrase.text,
                label,
                rating.rater,
                rating.system,
                "import",
                rating.time,
                1.0,
                severity,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", help="an MQM file, plain or .gz")
    parser.add_argument(
        "--segments", type=int, default=200, help="for the plain implementation (default: 200)"
    )
    options = parser.parse_args()
    clock = time.process_time
    begin = clock()
    ratings = read_mqm(options.file)
    print(f"read: {len(ratings)} ratings, {clock() - begin:.1f} s")
    with tempfile.TemporaryDirectory() as folder:
        collect_texts(options.file, ratings).write(Path(folder) / "texts")
        campaign = make_campaign(Path(folder) / "texts")
        begin = clock()
        result = RatingImport(options.file)
        matched = match_ratings(campaign, ratings, Raters(), result)
        print(f"match: {len(matched)} ratings, {clock() - begin:.1f} s")
        begin = clock()
        count = sum(
            sum(map(len, groups)) for _, groups in judged_segments(campaign, matched, Policy(), result, set())
        )
        print(f"judge: {count} judgments, {clock() - begin:.1f} s")
        names = {segment.id for segment in campaign.segments[: options.segments]}
        some = [match for match in matched if match.segment.id in names]
        begin = clock()
        judged = judged_segments(campaign, some, Policy(), result, set())
        ours = [judgment for _, groups in judged for group in groups for judgment in group]
        seconds = clock() - begin
        begin = clock()
        theirs = list(plain(campaign, some))
        plain_seconds = clock() - begin
    assert set(ours) == set(theirs), "the judgments differ"
    print(
        f"{len(names)} segments, {len(ours)} judgments, the same: ours {seconds:.1f} s, plain {plain_seconds:.1f} s"
    )
    print(f"ratio {plain_seconds / seconds:.1f}")


if __name__ == "__main__":
    main()
