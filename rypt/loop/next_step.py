"""The next command for a campaign: the first rule of a table that applies."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hits.market.served import command_line, is_served
from rypt.campaign.settings import SETTINGS
from rypt.text import plural

if TYPE_CHECKING:
    from rypt.loop.status import BatchStatus, CampaignStatus

BEST_FIRST = ("--select", "value")  # half of the labels do the work of all (docs/choose.md)
COMPARING = "--kind comparison --assignments 5 --limit 20 --controls 0.2"  # an afternoon
FLAT = 0.05  # of the segments: `mert.health` calls a metric flat that distinguishes the candidates of fewer
ENOUGH = 0.5  # of segments distinguished, and of constituents: with fewer, weights got worse (docs/choose.md)


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command to run and the reason; the command is empty if there is none."""

    command: str
    why: str


def first_step(folder: str) -> NextStep:
    """The step for a folder without a campaign: to a campaign inside it, or to a new one."""
    inside = sorted(str(path.parent) for path in Path(folder).glob(f"*/{SETTINGS}"))
    if inside:
        others = f" (also {', '.join(inside[1:4])})" if inside[1:] else ""
        why = f"{folder} is no campaign, and holds {inside[0]}, which is one{others}"
        return _step(why, "status", inside[0])
    folder = "campaign" if folder == "." else folder
    why = "there is no campaign yet: SOURCE has a segment per line, LIST their candidates; `rypt demo` shows an example"
    return _step(why, "init", folder, "--source", "SOURCE", "--nbest", "LIST", "--languages", "SRC-TGT")


def next_step(status: "CampaignStatus") -> NextStep:
    return next(step for rule in RULES if (step := rule(status)) is not None)


def _step(why: str, *arguments: str) -> NextStep:
    return NextStep(command_line(arguments) if arguments else "", why)


def _inside(s: "CampaignStatus", *names: str) -> str:
    return str(Path(s.folder, *names))


def _loop(s: "CampaignStatus") -> NextStep | None:
    if s.progress.loop_stopped:
        why = f"the loop has stopped, {s.progress.loop_stopped}: what it did, and its best weights"
        return _step(why, "loop", s.folder, "-o", _inside(s, "best.weights"))
    if not s.progress.loop_runs:
        return None
    serve = ["--serve"] if s.market.endpoint is None else []
    return _step("the loop does all the steps, and goes on where it stopped", "loop", s.folder, *serve)


def _parse(s: "CampaignStatus") -> NextStep | None:
    if s.texts.parsed or s.progress.outputs:
        return None
    why = "no segment has a parse: a new campaign makes trees, or has those of a parser (--trees)"
    return _step(why, "init", f"{s.folder}-2", "--source", "SOURCE", "--nbest", "LIST")


def _decode(s: "CampaignStatus") -> NextStep | None:
    if not s.texts.decoder or (s.texts.candidates and s.progress.weights <= s.progress.decoded):
        return None
    why = "new weights have not been decoded with" if s.texts.candidates else "there are no candidates yet"
    return _step(why, "decode", s.folder)


def _init(s: "CampaignStatus") -> NextStep | None:
    if s.texts.candidates:
        return None
    why = "there are no candidates: a new campaign takes a list (or --decoder), or name one in rypt.toml"
    return _step(why, "init", f"{s.folder}-2", "--source", "SOURCE", "--nbest", "LIST")


def _serve(s: "CampaignStatus", batch: "BatchStatus") -> NextStep | None:
    if s.market.endpoint is not None or is_served(s.market_folder):
        return None
    why = f"batch {batch.name} needs its market, in another window"
    if not batch.published:
        why += f"; to do without the batch, delete {batch.folder}"
    return _step(why, "hits", "serve", str(s.market_folder), "-C", s.folder)


def _publish(s: "CampaignStatus") -> NextStep | None:
    for batch in s.batches:
        if batch.state in ("made", "partly published"):
            why = f"batch {batch.name} is made, {batch.published} of {batch.hits} hits are published"
            publish = _step(why, "hits", "publish", batch.folder, *s.market.options(s.folder))
            return _serve(s, batch) or publish
    return None


def _collect(s: "CampaignStatus") -> NextStep | None:
    batch = next((batch for batch in s.batches if batch.state == "published"), None)
    if batch is None:
        return None
    if (serve := _serve(s, batch)) is not None:
        return serve
    market = s.market.options(s.folder)
    why = f"{batch.answered} of {batch.assignments} assignments of batch {batch.name} were collected"
    collect = ["hits", "collect", batch.folder, "-C", s.folder, *market]
    if s.market.endpoint is not None:
        return _step(why, *collect)
    invite = ["hits", "invite", "NAME", *market]
    if batch.answered:
        return _step(f"{why}; more people come by the links of: {command_line(invite)}", *collect)
    return _step(
        f"{why}: invite people, each by name; when they have answered: {command_line(collect)}", *invite
    )


def _rank(s: "CampaignStatus") -> NextStep | None:
    """The answer, where people compared systems and labelled nothing."""
    systems = s.compared.systems if s.compared else []
    if s.labels.judgments or len(systems) < 2:
        return None
    why = "people compared the systems"
    if s.waiting:
        why += f"; {plural(s.waiting, 'assignment')} to review (docs/howto-systems.md, Settle up)"
    if s.people.bad:
        look = command_line(["hits", "workers", "-C", s.folder])
        why += f"; the answers of {', '.join(s.people.bad[:3])} look bad and still count, see: {look}"
    if len(systems) == 2:
        return _step(why, "rank", "preferences", s.folder, "--systems", ",".join(systems))
    return _step(why, "rank", "systems", s.folder)


def _compare(s: "CampaignStatus") -> NextStep | None:
    """Comparisons, where the lists are the outputs of systems and nobody was asked anything."""
    systems = len(s.progress.outputs)
    if s.labels.judgments or s.batches or systems < 2:
        return None
    labels = f"; to have phrases labelled instead: {_spreadsheet(s)}" if s.progress.to_ask else ""
    why = f"{systems} systems have one candidate for each segment, which people can compare{labels}"
    return _step(why, "hits", "make", s.folder, "-o", _inside(s, "batches", "1"), *COMPARING.split())


def _ask(s: "CampaignStatus") -> NextStep | None:
    """Labels, where nothing was judged yet, or a list was decoded since the last batch."""
    if not s.progress.to_ask or _has_batch(s) or (s.labels.judgments and not s.progress.decoded):
        return None
    why = f"{s.progress.to_ask:,} phrases of the frontier have no label"
    if not s.texts.decoder:
        return _labels(s, why)
    batch, loop = _inside(s, "batches", str(max(1, s.progress.decoded))), s.loop
    options = ["--select", loop.select, "--labels", str(loop.labels)]
    return _step(why, "hits", "make", s.folder, "-o", batch, *options)


def _has_batch(s: "CampaignStatus") -> bool:
    return any(batch.name == str(max(1, s.progress.decoded)) for batch in s.batches)


def _labels(s: "CampaignStatus", why: str) -> NextStep:
    """Ask for labels in a spreadsheet, or in the browser if that was done before; the other way is named, too."""
    numbers = [int(batch.name) for batch in s.batches if batch.name.isdecimal()]
    batch = _inside(s, "batches", str(max(numbers, default=0) + 1))
    browser = command_line(["hits", "make", s.folder, "-o", batch, *BEST_FIRST])
    if any(batch.answered for batch in s.batches):
        return NextStep(browser, f"{why}; in a spreadsheet instead of the browser: {_spreadsheet(s)}")
    return NextStep(_spreadsheet(s), f"{why}; in the browser instead of a spreadsheet: {browser}")


def _spreadsheet(s: "CampaignStatus") -> str:
    return command_line(["queries", s.folder, *BEST_FIRST, "--format", "csv", "-o", "ask.csv"])


def _ask_more(s: "CampaignStatus") -> NextStep | None:
    """More labels, where those there are distinguish too few candidates; the loop of a decoder asks by itself."""
    if s.texts.decoder or not s.labels.judgments or not s.progress.to_ask:
        return None
    tunes = s.progress.features and not s.progress.tuned
    if s.progress.distinguished < ENOUGH:
        state = f"labels distinguish the candidates of {s.progress.distinguished:.1%} of the segments"
    elif tunes and (s.labels.after or 0) < ENOUGH:
        state = f"labels reach {s.labels.after or 0:.1%} of the constituents"
    else:
        return None
    goal = "tune" if tunes else "choose by them"
    return _labels(s, f"{state}; {goal} when it is {ENOUGH:.0%}. {s.progress.to_ask:,} phrases have no label")


def _tune(s: "CampaignStatus") -> NextStep | None:
    progress = s.progress
    changes_nothing = progress.decoded and not progress.new and not _has_batch(s)
    if not s.labels.judgments or not progress.features or progress.tuned or changes_nothing:
        return None
    enough = progress.distinguished >= ENOUGH and (s.labels.after or 0) >= ENOUGH
    if not s.texts.decoder and not (enough if progress.to_ask else progress.distinguished >= FLAT):
        return None
    number = f"{progress.weights + 1}.weights"
    output = _inside(s, "weights", number) if progress.decoded else _inside(s, "rypt.weights")
    return _step("there are labels to tune to", "tune", s.folder, "--metric", "rypt", "-o", output)


def _score(s: "CampaignStatus") -> NextStep:
    left, picks = s.progress.to_ask, _inside(s, "picks.txt")
    if not s.labels.judgments and left:  # a batch ended without an answer
        return _labels(s, f"{left:,} phrases of the frontier have no label")
    if s.progress.picked:
        more = f"; {left:,} phrases have no label, to ask about more: {_spreadsheet(s)}" if left else ""
        return _step(f"{picks} has the best candidate of each segment{more}")
    why = "the best candidate of each segment by RYPT"
    return _step(why, "score", s.folder, "--pick", "best", "-o", picks)


RULES: tuple[Callable[["CampaignStatus"], NextStep | None], ...] = (
    *(_loop, _parse, _decode, _init, _publish, _collect),
    *(_rank, _compare, _ask, _ask_more, _tune, _score),
)
