"""What a batch of comparisons or rankings will not tell about its workers, said before anybody works on it."""

from math import comb

from hits.batches.controls import control_count
from hits.records import Batch, Kind
from hits.results.verdicts import Limits
from rypt.text import plural

SHARES = [n / 20 for n in range(1, 11)]  # of controls, as people write them


def verdict_notes(batch: Batch, limits: Limits | None = None) -> list[str]:
    """Notes on a batch with fewer controls, or comparisons for a person, than verdicts on workers need.

    Nobody answers an item twice, so that a person compares at most what the batch asks. Label batches have no notes:
    their workers come back with each iteration of a loop, and verdicts are about all of their answers.
    """
    limits = limits or Limits()
    kind = batch.settings.kind
    if kind is Kind.LABEL:
        return []
    controls = sum(bool(item.columns["control"]) for item in batch.items)
    asked = [item for item in batch.items if not item.columns["control"]]
    notes = []
    if 0 < controls < limits.controls:
        notes.append(
            f"{plural(controls, 'control')}: {limits.controls} are the least that tell who does not read from who was "
            f"unlucky; {_advice(len(asked), limits.controls)}"
        )
    compared = sum(1 if kind is Kind.COMPARISON else comb(int(item.columns["size"]), 2) for item in asked)
    if compared < limits.answers:
        notes.append(
            f"{plural(compared, 'comparison')} a person {'is' if compared == 1 else 'are'} too few for a full verdict "
            f"on workers; {limits.answers} are needed, without controls"
        )
    return notes


def _advice(asked: int, needed: int) -> str:
    """The smallest share of controls that makes enough of them, else that more has to be asked."""
    for share in SHARES:
        if (count := control_count(asked, share)) >= needed:
            return f"--controls {share:g} makes {count}"
    return "a larger --limit makes more"
