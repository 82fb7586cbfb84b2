"""Minimum error rate training: weights that make the best candidates win, by any metric whose statistics add up.

    result = mert.tune(["run7.nbest.gz"], metric="bleu", references=["dev.en"], weights="moses.ini")
    result.write("tuned.ini")                        # the weights, in the form of moses.ini
    mert.tune(campaign="campaign")                   # a campaign's lists, to its judgments
    mert.tune_decoder("moses -f {config} -n-best-list {nbest} 100 < dev.fr", weights="moses.ini", references=["dev.en"])

Three candidates with two features; under the weights 1 and 1 the second one wins:

    >>> import tempfile, pathlib, mert
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> nbest = folder / "nbest"
    >>> _ = nbest.write_text("0 ||| the red house ||| LM0= -2 TM0= -1\\n"
    ...                      "0 ||| red the house ||| LM0= -3 TM0= 1\\n"
    ...                      "0 ||| a house red ||| LM0= -4 TM0= 0\\n")
    >>> _ = (folder / "ref").write_text("the red house\\n")
    >>> result = mert.tune([nbest], metric="chrf", references=[folder / "ref"])
    >>> round(result.start_score), round(result.score)
    (46, 100)
    >>> result.write(folder / "tuned")
    >>> mert.tune([nbest], metric="chrf", references=[folder / "ref"], weights=folder / "tuned").start_score
    100.0

The main modules: `mert.tuning` has the public functions, `mert.lists` reads n-best lists, `mert.problem` holds what
is tuned, `mert.search` climbs by the exact line searches of `mert.linesearch` (Och 2003), `mert.unseen` estimates
weights for other segments. `mert.loop` is the loop around a decoder, `mert.campaign` the decoding of a campaign;
`mert.moses` and `mert.zmert` take the place of Moses' programs and of Z-MERT.
"""

from typing import TYPE_CHECKING

from rypt.lazy import lazy_names

if TYPE_CHECKING:
    from mert.constraints import Constraints as Constraints
    from mert.loop import DecoderTuning as DecoderTuning
    from mert.loop import Stopping as Stopping
    from mert.loop import TuningProgress as TuningProgress
    from mert.search import SearchSettings as SearchSettings
    from mert.tuning import TuningResult as TuningResult
    from mert.tuning import tune as tune
    from mert.tuning import tune_decoder as tune_decoder

    __version__: str

HOMES = {
    "Constraints": "mert.constraints",
    "DecoderTuning": "mert.loop",
    "SearchSettings": "mert.search",
    "Stopping": "mert.loop",
    "TuningProgress": "mert.loop",
    "TuningResult": "mert.tuning",
    "tune": "mert.tuning",
    "tune_decoder": "mert.tuning",
}  # public name → the module it lives in
__all__ = sorted([*HOMES, "__version__"])
__getattr__, __dir__ = lazy_names(__name__, HOMES)
