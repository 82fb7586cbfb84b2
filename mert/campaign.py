"""Decoding for a campaign: its decoder runs with its current weights, and the list is checked and added to it.

    campaign/weights/N.weights   what list N was decoded with; the last ones are the current weights
    campaign/lists/N.nbest.gz    the list; it is in rypt.toml once it is whole and checked

Finished steps are not repeated, so a run that was killed can be run again.
"""

from dataclasses import dataclass
from pathlib import Path

from mert.decoder import Decoder, read_decoder
from mert.lists import NBest, read_lists
from mert.loop import TuningFolder, check_like_first
from mert.weights import WeightsFile, read_weights
from rypt.campaign.folder import Campaign
from rypt.campaign.settings import SETTINGS, add_list
from rypt.text import InputError, PathLike, RyptError, open_output

LISTS, WEIGHTS = "lists", "weights"  # the folders of iterations
SHOWN = 5  # segments named in a message


@dataclass(frozen=True, slots=True)
class Decoded:
    """A list of a campaign: its number of candidates, those that no list before it had, and those of all lists.

    ``list`` and ``weights`` are paths inside the campaign; ``already`` says that nothing had to be decoded.
    """

    iteration: int
    list: str
    weights: str
    candidates: int
    new: int
    all_candidates: int
    already: bool

    def __str__(self) -> str:
        return f"{self.candidates} candidates, {self.new} new, {self.all_candidates} in all"


def campaign_folder(campaign: Campaign) -> TuningFolder:
    """Where a campaign keeps its iterations."""
    return TuningFolder(campaign.path(LISTS), campaign.path(WEIGHTS))


def start_weights(campaign: Campaign, given: PathLike | None = None) -> tuple[PathLike | None, list[Path]]:
    """The weights to start from, and those of the iterations before them.

    Without ``given`` they are the current ones, or those of the settings; None where there are none.
    """
    files = list(campaign_folder(campaign).files("weights").values())
    if given is not None:
        places = [i for i, file in enumerate(files) if file.resolve() == Path(given).resolve()]
        return given, files[: places[0]] if places else []
    if files:
        return files[-1], files[:-1]
    start = campaign.settings.decoder.weights
    return (campaign.path(start) if start else None), []


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


def _match(start: WeightsFile, paths: list[Path]) -> NBest:
    lists = read_lists(paths)
    start.match(lists.names, lists.sparse.names if lists.sparse else (), open_ended=lists.open_ended)
    return lists


def _decoder(campaign: Campaign) -> Decoder:
    settings = campaign.settings.decoder
    if not settings.command:
        message = "expected a decoder: its command in [decoder], as 'rypt init --decoder' writes it"
        raise InputError(campaign.path(SETTINGS), None, message)
    folder = campaign.path(settings.folder)
    if not folder.is_dir():
        raise InputError(folder, None, "expected the folder that the decoder runs in")
    return read_decoder(settings.command, settings.timeout, folder)


def decode_campaign(campaign: Campaign | PathLike, weights: PathLike | None = None) -> Decoded:
    """Decode with a campaign's current weights, or with other weights, which become the current ones.

    Weights that were used for decoding before are not used again: calling this twice changes nothing.
    """
    campaign = campaign if isinstance(campaign, Campaign) else Campaign.open(campaign)
    decoder = _decoder(campaign)
    folder = campaign_folder(campaign)
    with folder.locked():
        number = _keep_weights(campaign, folder, weights)
        already = folder.file(number, "nbest.gz").exists()
        if not already:
            start = read_weights(folder.file(number, "weights"))
            folder.decode(number, decoder, lambda nbest: _check_list(campaign, folder, start, nbest))
        name = f"{LISTS}/{folder.file(number, 'nbest.gz').name}"
        settings = add_list(campaign.folder, name)
    return _counted(Campaign(campaign.folder, settings, campaign.watch), number, name, already)


def _keep_weights(campaign: Campaign, folder: TuningFolder, given: PathLike | None) -> int:
    """The number of the weights to decode with; new ones are copied to their place first."""
    files = folder.files("weights")
    last = max(files, default=0)
    if given is None:
        if files:
            return last
        given = start_weights(campaign)[0]
    if given is None:
        message = "expected weights in [decoder], or --weights, to start with"
        raise InputError(campaign.path(SETTINGS), None, message)
    start = read_weights(given)
    if files and read_weights(files[last]).values == start.values:
        return last
    number = max(last, *folder.files("nbest.gz"), 0) + 1
    with open_output(folder.file(number, "weights")) as stream:
        stream.write(start.text)
    return number


def _check_list(campaign: Campaign, folder: TuningFolder, start: WeightsFile, nbest: Path) -> None:
    """Refuse a list with other features than the weights, without alignments, or without some segment's candidates."""
    lists = _match(start, [nbest])
    segments = {candidate.segment for candidate in campaign.read_candidates(nbest)}
    missing = [segment.id for segment in campaign.segments if segment.tokens and segment.id not in segments]
    if missing:
        some = ", ".join(missing[:SHOWN]) + (" …" if len(missing) > SHOWN else "")
        raise InputError(
            nbest, None, f"expected candidates for all segments, {len(missing)} have none: {some}"
        )
    for path in [*folder.files("nbest.gz").values()][:1]:
        first = read_lists([path])
        check_like_first(nbest, lists, () if first.open_ended else first.names, first.segments)


def _counted(campaign: Campaign, number: int, name: str, already: bool) -> Decoded:
    """What the list brought to the campaign; a candidate is a text with its alignment."""
    known: set[tuple[str, str, str | None]] = set()
    size = new = 0
    for listed, candidates in campaign.lists:
        keys = {(c.segment, c.text, c.alignment) for c in candidates}
        if listed == name:
            size, new = len(keys), len(keys - known)
        known |= keys
    return Decoded(number, name, f"{WEIGHTS}/{number}.weights", size, new, len(known), already)
