"""Decoding for a campaign: its decoder with its current weights; the list is checked and added to the campaign.

    campaign/weights/N.weights   what list N was decoded with; the last ones are the current weights
    campaign/lists/N.nbest.gz    what came of it, in rypt.toml once it is whole and checked

A step that is there is not done again, so a run that was killed anywhere can be repeated.
"""

import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mert.decoder import Decoder, check_whole, keep_list, last_words, read_decoder
from mert.lists.arrays import read_lists
from mert.run import check_features_and_segments, locked
from mert.weights import WeightsFile, read_weights
from rypt.campaign.folder import Campaign
from rypt.campaign.settings import SETTINGS
from rypt.campaign.settings_edit import add_list
from rypt.text import InputError, PathLike, RyptError, open_output

LISTS, WEIGHTS = "lists", "weights"
LOG_NAME = "{iteration}.log"
SHOWN = 5  # segments named in a message


@dataclass(frozen=True, slots=True)
class Decoded:
    """A list of a campaign: how many candidates it has, how many no list before it had, and how many there are now."""

    iteration: int
    list: str
    weights: str
    candidates: int
    new: int
    all_candidates: int
    already: bool


def numbered(folder: Path, suffix: str) -> dict[int, Path]:
    """The files ``1.suffix``, ``2.suffix`` … of a folder by their number, in order."""
    found = {int(path.name.partition(".")[0]): path for path in folder.glob(f"*.{suffix}") if _number(path.name)}
    return dict(sorted(found.items()))


def _number(name: str) -> bool:
    return re.fullmatch("[1-9][0-9]{0,8}", name.partition(".")[0]) is not None


def current_weights(campaign: Campaign) -> tuple[Path | None, list[Path]]:
    """The weights to go on from, None where there are none, and those of earlier iterations."""
    there = list(numbered(campaign.path(WEIGHTS), "weights").values())
    if there:
        return there[-1], there[:-1]
    start = campaign.settings.decoder.weights
    return (campaign.path(start) if start else None), []


def weights_before(campaign: Campaign, path: PathLike) -> list[Path]:
    """The weights of the iterations before the one that these belong to; none where they belong to none."""
    there = numbered(campaign.path(WEIGHTS), "weights")
    own = [number for number, known in there.items() if known.resolve() == Path(path).resolve()]
    return [known for number, known in there.items() if own and number < own[0]]


def check_decoder(campaign: Campaign) -> None:
    """Refuse a decoder that cannot be run, and weights that are not those of the lists' features."""
    settings = campaign.settings.decoder
    if settings.command:
        _decoder(campaign)
        if settings.weights is None:
            raise RyptError("a decoder needs weights to start with (--weights)")
    if settings.weights:
        start = read_weights(campaign.path(settings.weights))
        if campaign.files.nbest:
            _match(start, [campaign.path(name) for name in campaign.files.nbest])


def _match(start: WeightsFile, paths: list[Path]) -> None:
    lists = read_lists(paths)
    start.match(lists.names, lists.sparse.names if lists.sparse else (), open_ended=lists.open_ended)


def _decoder(campaign: Campaign) -> Decoder:
    settings = campaign.settings.decoder
    if not settings.command:
        message = "expected a decoder: its command in [decoder], as 'rypt init --decoder' writes it"
        raise InputError(campaign.path(SETTINGS), None, message)
    folder = campaign.path(settings.folder)
    if not folder.is_dir():
        raise InputError(folder, None, "expected the folder that the decoder runs in")
    return read_decoder(settings.command, settings.timeout, LOG_NAME, folder)


def decode(campaign: Campaign, weights: PathLike | None = None) -> Decoded:
    """Decode with the current weights, or with others, which then are the current ones; run again, nothing changes."""
    decoder = _decoder(campaign)
    lists, kept_weights = campaign.path(LISTS), campaign.path(WEIGHTS)
    for folder in (lists, kept_weights):
        folder.mkdir(exist_ok=True)
    with locked(lists):
        number = _keep_weights(campaign, weights)
        used, name = kept_weights / f"{number}.weights", f"{LISTS}/{number}.nbest.gz"
        already = campaign.path(name).exists()
        if not already:
            _run(campaign, decoder, number, used)
        settings = add_list(campaign.folder, name)
    return _counted(Campaign(campaign.folder, settings, campaign.watch), number, name, already)


def _keep_weights(campaign: Campaign, given: PathLike | None) -> int:
    """The number of the weights to decode with; new ones are copied to their place first."""
    there = numbered(campaign.path(WEIGHTS), "weights")
    last = max(there, default=0)
    if given is None:
        if there:
            return last
        given = current_weights(campaign)[0]
    if given is None:
        raise InputError(campaign.path(SETTINGS), None, "expected weights in [decoder], or --weights, to start with")
    file = read_weights(given)
    if there and _values(read_weights(there[last])) == _values(file):
        return last
    number = max(last, *numbered(campaign.path(LISTS), "nbest.gz"), 0) + 1
    with open_output(campaign.path(WEIGHTS) / f"{number}.weights") as stream:
        stream.write(file.text)
    return number


def _values(file: WeightsFile) -> dict[str, float]:
    return {entry.name: entry.value for entry in file.entries}


def _run(campaign: Campaign, decoder: Decoder, number: int, used: Path) -> None:
    """Decode in a folder of this attempt; the list is kept once it has been read and fits."""
    lists = campaign.path(LISTS)
    for stale in lists.glob("decoding.*"):
        shutil.rmtree(stale, ignore_errors=True)
    attempt = Path(tempfile.mkdtemp(prefix="decoding.", dir=lists)).resolve()
    nbest = attempt / f"{number}.nbest"
    decoder(number, used.resolve(), nbest)
    try:
        check_whole(nbest)
        _match(read_weights(used), [nbest])
        _check_list(campaign, nbest)
    except InputError as error:
        raise RyptError(f"{error}{last_words(used.with_suffix('.log'))}") from None
    keep_list(nbest, lists / f"{number}.nbest.gz")
    shutil.rmtree(attempt, ignore_errors=True)


def _check_list(campaign: Campaign, nbest: Path) -> None:
    """Refuse a list without alignments, which RYPT needs, or without candidates for some segment."""
    found = {candidate.segment for candidate in campaign.read_candidates(nbest)}
    missing = [segment.id for segment in campaign.segments if segment.tokens and segment.id not in found]
    if missing:
        some = ", ".join(missing[:SHOWN]) + (" …" if len(missing) > SHOWN else "")
        raise InputError(nbest, None, f"expected candidates for all segments, {len(missing)} have none: {some}")
    for first in numbered(campaign.path(LISTS), "nbest.gz").values():
        check_features_and_segments(read_lists([nbest]), read_lists([first]), nbest)
        return


def _counted(campaign: Campaign, number: int, name: str, already: bool) -> Decoded:
    """What the list brought to the campaign; a candidate is a text with its alignment."""
    known: set[tuple[str, str, str]] = set()
    candidates = new = 0
    for listed, found in campaign.lists():
        own = {(c.segment, c.text, c.alignment) for c in found}
        if listed == name:
            candidates, new = len(own), len(own - known)
        known |= own
    return Decoded(number, name, f"{WEIGHTS}/{number}.weights", candidates, new, len(known), already)
