"""RYPT from a judgment database alone: it holds segments and trees besides the judgments."""

from rypt.database.judgments import JudgmentDatabase
from rypt.database.votes import read_votes
from rypt.metrics.campaign_rypt import Rypt
from rypt.options import TIES, Options
from rypt.records import Candidate
from rypt.scoring.models import Percolation
from rypt.scoring.scorer import Scorer
from rypt.text import FormatError, PathLike, RyptError
from rypt.texts.alignment import Lexicon
from rypt.texts.nbest import aligned_candidate
from rypt.texts.treebank import parsed

UNKNOWN_AS = ("half", "no", "ignore")  # without anything to be learned from a campaign's candidates


def rypt_of_database(path: PathLike, options: Options) -> Rypt:
    """RYPT by percolation; segments are found by the ids that the database has for them."""
    options.choice("model", "percolation", ("percolation",))
    unknown = options.choice("unknown", "half", UNKNOWN_AS)
    ties = options.choice("ties", "unknown", TIES)
    options.done()
    lexicon = Lexicon()
    with JudgmentDatabase(path, readonly=True) as db:
        segments = {segment.id: segment for segment in db.segments()}
        trees = {name: parsed(segment) for name, segment in segments.items()}
        scorer = Scorer(trees, read_votes(db), case=db.case, model=Percolation(unknown, ties))
    if not any(trees.values()):
        raise RyptError(f"{path}: expected segments with trees, found none")

    def align(raw: Candidate) -> Candidate:
        if raw.segment not in segments:
            raise RyptError(f"segment {raw.segment!r} of the list is not in {path}")
        try:
            return aligned_candidate(raw, segments[raw.segment], lexicon)
        except FormatError as error:
            raise RyptError(f"a candidate of segment {raw.segment}: {error}") from None

    return Rypt(scorer, align)
