"""The complete run: decode, ask people about what is new, tune to their judgments, again (paper, section 8).

    report = rypt.loop.run("campaign", budget="25.00")   # `runner` does the steps, `journal` records each
    report.write("best.weights")

`status` and `next_step` report the state of a campaign, in a loop or by hand.
"""

from typing import TYPE_CHECKING

from rypt.lazy import lazy_names

if TYPE_CHECKING:
    from rypt.loop.runner import run as run

HOMES = {"run": "rypt.loop.runner"}
__all__ = ["run"]
__getattr__, __dir__ = lazy_names(__name__, HOMES)
