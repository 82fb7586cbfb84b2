"""The dialects of lists: n-best lists with ``|||``, JSONL and JSON, the output of fairseq.

dialect_of("0 ||| the house ||| lm= -1.5 ||| -1.5")     # BARS
read_candidates(path, segments)                         # rypt.texts.nbest: a list of any dialect

To add a dialect, write a module with a `Dialect` (`fairseq` is the shortest), and name it in `DIALECTS`. Everything
that reads lists then reads it: ``rypt init``, ``score``, ``queries``, ``align``, ``tune``. A line belongs to the first
dialect that knows it, so put a dialect before those that would take its lines for theirs. Plain output, a candidate a
line, is what no dialect knows; `rypt.texts.nbest` reads it.
"""

from rypt.texts.dialects.bars import BARS
from rypt.texts.dialects.dialect import Dialect
from rypt.texts.dialects.fairseq import FAIRSEQ
from rypt.texts.dialects.jsonl import JSONL

__all__ = ["BARS", "DIALECTS", "Dialect", "dialect_of"]

DIALECTS: list[Dialect] = [FAIRSEQ, JSONL, BARS]


def dialect_of(line: str) -> Dialect | None:
    """The first dialect that knows a line, None for plain output and for what comes before a list, such as a log."""
    return next((dialect for dialect in DIALECTS if dialect.is_line(line)), None)
