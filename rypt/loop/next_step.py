"""The next command for a campaign: the first rule of a table that applies."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hits.market.served import command_line, is_served
from rypt.campaign.settings import SETTINGS
from rypt.text import plural

if TYPE_CHECKING:
    from rypt.loop.status import CampaignBatch, CampaignStatus

BEST_FIRST = ("--select", "value")  # half of the labels do the work of all (docs/choose.md)
COMPARING = "--kind comparison --assignments 5 --limit 20 --controls 0.2"  # an afternoon
FLAT = 0.05  # of the segments: `mert.checks` calls a metric flat that distinguishes the candidates of fewer
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


def _is_local(s: "CampaignStatus") -> bool:
    return s.situation.settings.market.endpoint is None


def _loop(s: "CampaignStatus") -> NextStep | None:
    if s.situation.loop_stopped:
        why = f"the loop has stopped, {s.situation.loop_stopped}: what it did, and its best weights"
        return _step(why, "loop", s.folder, "-o", _inside(s, "best.weights"))
    if not s.situation.loop_runs:
        return None
    serve = ["--serve"] if _is_local(s) else []
    return _step("the loop does all the steps, and resumes where it stopped", "loop", s.folder, *serve)


def _begin(s: "CampaignStatus") -> NextStep | None:
    """A decoding where weights are new; another campaign where this one has no candidates or no trees."""
    now = s.situation
    if not s.texts.parsed and not now.outputs:
        why = "no segment has a parse: a new campaign makes trees, or has those of a parser (--trees)"
    elif s.texts.decoder and (not s.texts.candidates or now.weights > now.decoded):
        why = (
            "new weights have not been decoded with" if s.texts.candidates else "there are no candidates yet"
        )
        return _step(why, "loop", s.folder, "--once")
    elif not s.texts.candidates:
        why = "there are no candidates: a new campaign takes a list (or --decoder), or name one in rypt.toml"
    else:
        return None
    return _step(why, "init", f"{s.folder}-2", "--source", "SOURCE", "--nbest", "LIST")


def _serve(s: "CampaignStatus", batch: "CampaignBatch") -> NextStep | None:
    market = Path(s.folder, s.situation.settings.market.folder)
    if not _is_local(s) or is_served(market):
        return None
    why = f"batch {batch.name} needs its market, in another window"
    if not batch.published:
        why += f"; to do without the batch, delete {batch.folder}"
    return _step(why, "hits", "serve", s.folder)


def _publish(s: "CampaignStatus") -> NextStep | None:
    for batch in s.batches:
        if batch.state in ("made", "partly published"):
            why = f"batch {batch.name} is made, {batch.published} of {batch.hits} hits are published"
            return _serve(s, batch) or _step(why, "hits", "publish", batch.folder)
    return None


def _collect(s: "CampaignStatus") -> NextStep | None:
    batch = next((batch for batch in s.batches if batch.state == "published"), None)
    if batch is None:
        return None
    if (serve := _serve(s, batch)) is not None:
        return serve
    why = f"{batch.answered} of {batch.assignments} assignments of batch {batch.name} were collected"
    collect = ["hits", "collect", batch.folder]
    invite = ["hits", "invite", "NAME", "--market", s.folder]
    if not _is_local(s):
        return _step(why, *collect)
    if batch.answered:
        return _step(f"{why}; more people come by the links of: {command_line(invite)}", *collect)
    later = f"when they have answered: {command_line(collect)}"
    return _step(f"{why}: invite people, each by name; {later}", *invite)


def _compare(s: "CampaignStatus") -> NextStep | None:
    """Where the lists are the outputs of systems and nobody labelled anything: comparisons, then the answer."""
    if s.labels.judgments:
        return None
    systems = s.compared.systems if s.compared else []
    if len(systems) > 1:
        why = "people compared the systems"
        if s.waiting:
            why += f"; {plural(s.waiting, 'assignment')} to review (docs/howto-systems.md, Settle up)"
        if s.people.bad:
            look = command_line(["hits", "workers", "-C", s.folder])
            why += f"; the answers of {', '.join(s.people.bad[:3])} look bad and still count, see: {look}"
        if len(systems) == 2:
            return _step(why, "rank", "pairs", s.folder, "--systems", ",".join(systems))
        return _step(why, "rank", "systems", s.folder)
    outputs = len(s.situation.outputs)
    if s.batches or outputs < 2:
        return None
    labels = f"; to have phrases labelled instead: {_spreadsheet(s)}" if s.situation.to_ask else ""
    why = f"{outputs} systems have one candidate for each segment, which people can compare{labels}"
    return _step(why, "hits", "make", s.folder, "-o", _inside(s, "batches", "1"), *COMPARING.split())


def _has_batch(s: "CampaignStatus") -> bool:
    return any(batch.name == str(max(1, s.situation.decoded)) for batch in s.batches)


def _ask(s: "CampaignStatus") -> NextStep | None:
    """Labels, where nothing was judged yet, or a list was decoded since the last batch."""
    now = s.situation
    if not now.to_ask or _has_batch(s) or (s.labels.judgments and not now.decoded):
        return None
    why = f"{now.to_ask:,} phrases of the frontier have no label"
    if not s.texts.decoder:
        return _labels(s, why)
    loop = now.settings.loop
    options = ["--select", loop.select, "--limit", str(loop.labels)]
    return _step(
        why, "hits", "make", s.folder, "-o", _inside(s, "batches", str(max(1, now.decoded))), *options
    )


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
    now = s.situation
    if s.texts.decoder or not s.labels.judgments or not now.to_ask:
        return None
    tunes = now.features and not now.tuned
    if now.distinguished < ENOUGH:
        state = f"labels distinguish the candidates of {now.distinguished:.1%} of the segments"
    elif tunes and (s.labels.after or 0) < ENOUGH:
        state = f"labels reach {s.labels.after or 0:.1%} of the constituents"
    else:
        return None
    goal = "tune" if tunes else "choose by them"
    return _labels(s, f"{state}; {goal} when it is {ENOUGH:.0%}. {now.to_ask:,} phrases have no label")


def _tune(s: "CampaignStatus") -> NextStep | None:
    now = s.situation
    changes_nothing = now.decoded and not now.new and not _has_batch(s)
    if not s.labels.judgments or not now.features or now.tuned or changes_nothing:
        return None
    enough = now.distinguished >= ENOUGH and (s.labels.after or 0) >= ENOUGH
    if not s.texts.decoder and not (enough if now.to_ask else now.distinguished >= FLAT):
        return None
    names = ("weights", f"{now.weights + 1}.weights") if now.decoded else ("rypt.weights",)
    return _step(
        "there are labels to tune to", "tune", s.folder, "--metric", "rypt", "-o", _inside(s, *names)
    )


def _score(s: "CampaignStatus") -> NextStep:
    left, picks = s.situation.to_ask, _inside(s, "picks.txt")
    if not s.labels.judgments and left:  # a batch ended without an answer
        return _labels(s, f"{left:,} phrases of the frontier have no label")
    if s.situation.picked:
        more = f"; {left:,} phrases have no label, to ask about more: {_spreadsheet(s)}" if left else ""
        return _step(f"{picks} has the best candidate of each segment{more}")
    why = "the best candidate of each segment by RYPT"
    return _step(why, "score", s.folder, "--pick", "best", "-o", picks)


RULES: tuple[Callable[["CampaignStatus"], NextStep | None], ...] = (
    *(_loop, _begin, _publish, _collect, _compare, _ask, _ask_more, _tune, _score),
)
