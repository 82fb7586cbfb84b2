"""The complete run: decode, ask people about what is new, tune to their judgments, again (paper, section 8).

    loop = rypt.loop.Loop("campaign", budget="25.00")
    loop.run()                                          # `runner` does the steps, `journal` records each
    loop.report().write("best.weights")

`status` and `next_step` report the state of a campaign, in a loop or by hand.
"""

from typing import TYPE_CHECKING

from rypt.lazy import lazy_names

if TYPE_CHECKING:
    from rypt.loop.runner import Loop as Loop

HOMES = {"Loop": "rypt.loop.runner"}
__all__ = ["Loop"]
__getattr__, __dir__ = lazy_names(__name__, HOMES)
