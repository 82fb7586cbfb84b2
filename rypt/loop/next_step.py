"""The next command for a campaign: the first rule of a table that applies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hits.market.served import is_served
from rypt.campaign.settings import SETTINGS, LoopSettings, MarketSettings
from rypt.children import command_line
from rypt.loop.commands import market_options
from rypt.text import plural


@dataclass(frozen=True, slots=True)
class BatchState:
    """A batch in the campaign's folder: how much of it is published, how much is answered.

    ``over`` says that no answer can come any more, ``needless`` that all of its phrases have labels from elsewhere.
    """

    folder: str
    name: str
    kind: str
    hits: int
    published: int
    assignments: int
    answered: int
    over: bool = False
    needless: bool = False

    @property
    def state(self) -> str:
        """The state of the batch in a few words."""
        if self.needless:
            return "labelled elsewhere"
        if self.published < self.hits and not self.answered:
            return "made" if not self.published else "partly published"
        if self.answered >= self.assignments:
            return "answered"
        return "over" if self.over else "published"


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command to run and the reason; the command is empty if there is none."""

    command: str
    why: str


@dataclass(frozen=True, slots=True)
class Situation:
    """The state of a campaign that the rules look at.

    ``decoded`` is the number of the last list the campaign decoded, ``weights`` that of the last weights, 0 for none;
    ``new`` is how many candidates of the last list no earlier one has; ``tuned`` says that weights were found since the
    last judgment; ``features`` that candidates have several to tune. ``open`` is how many questions there are to ask,
    ``told_apart`` the share of the segments with several candidates whose labels tell these apart, ``coverage`` the
    share of the constituents that labels reach. ``outputs`` are the
    systems whose outputs the lists are, ``compared`` those that people compared, ``bad`` the workers whose answers look
    bad and still count, ``waiting`` the number of assignments that wait for review. ``picked`` says that the best
    candidates were written since the last judgment.
    """

    folder: str
    market: MarketSettings
    market_folder: Path
    parsed: int
    candidates: int
    features: bool
    decoder: bool
    decoded: int
    weights: int
    new: int
    tuned: bool
    judgments: int
    open: int
    batches: list[BatchState]
    loop: LoopSettings
    loop_going: bool = False
    loop_stopped: str | None = None
    told_apart: float = 1.0
    coverage: float = 1.0
    outputs: Sequence[str] = ()
    compared: Sequence[str] = ()
    bad: Sequence[str] = ()
    waiting: int = 0
    picked: bool = False

    @property
    def iteration(self) -> int:
        """The number that the next batch has."""
        return max(1, self.decoded)

    def batch(self, *states: str) -> BatchState | None:
        """The first batch in one of these states."""
        return next((batch for batch in self.batches if batch.state in states), None)

    @property
    def asks(self) -> bool:
        """Whether there is something new to ask: nothing was judged yet, or a list was decoded since the last batch."""
        return self.open > 0 and not self.asked and (not self.judgments or self.decoded > 0)

    @property
    def asked(self) -> bool:
        """Whether there is a batch of the iteration already."""
        return any(batch.name == str(self.iteration) for batch in self.batches)

    @property
    def converged(self) -> bool:
        """Whether tuning again would change nothing: the last list brought nothing new, and no labels came since."""
        return self.decoded > 0 and not self.new and not self.asked

    def market_options(self) -> list[str]:
        """The options that say which market."""
        return market_options(self.market, self.market_folder)


Row = Callable[[Situation], NextStep | None]
BEST_FIRST = ("--select", "value")  # half of the labels do the work of all (docs/choose.md)
COMPARING = (
    "--kind",
    "comparison",
    "--assignments",
    "5",
    "--limit",
    "20",
    "--controls",
    "0.2",
)  # an afternoon
FLAT = (
    0.05  # of the segments: where the candidates of fewer are told apart, `mert.health` calls a metric flat
)
ENOUGH = 0.5  # of the segments told apart, and of the constituents: fewer labels made weights worse (docs/choose.md)


def _say(why: str, *arguments: str) -> NextStep:
    return NextStep(command_line(arguments) if arguments else "", why)


def _loop(s: Situation) -> NextStep | None:
    if s.loop_stopped:
        best = str(Path(s.folder) / "best.weights")
        why = f"the loop has stopped, {s.loop_stopped}: what it did, and its best weights"
        return _say(why, "loop", s.folder, "-o", best)
    serve = ["--serve"] if s.market.endpoint is None else []
    return (
        _say("the loop does all the steps, and goes on where it stopped", "loop", s.folder, *serve)
        if s.loop_going
        else None
    )


def _without_trees(s: Situation) -> NextStep | None:
    return (
        None
        if s.parsed or s.outputs
        else _say(
            "no segment has a parse: this makes trees, which [files] trees in rypt.toml names then",
            "parse",
            "SOURCE",
            "-o",
            str(Path(s.folder) / "source.trees"),
        )
    )


def _to_decode(s: Situation) -> NextStep | None:
    if not s.decoder or (s.candidates and s.weights <= s.decoded):
        return None
    why = "new weights have not been decoded with" if s.candidates else "there are no candidates yet"
    return _say(why, "decode", s.folder)


def _without_candidates(s: Situation) -> NextStep | None:
    return (
        None
        if s.candidates
        else _say(
            "there are no candidates: a new campaign takes a list (or --decoder), or name one in rypt.toml",
            "init",
            f"{s.folder}-2",
            "--source",
            "SOURCE",
            "--nbest",
            "LIST",
        )
    )


def _to_serve(s: Situation, batch: BatchState) -> NextStep | None:
    if s.market.endpoint is not None or is_served(s.market_folder):
        return None
    why = f"batch {batch.name} needs its market, in another window"
    if not batch.published:
        why += f"; to do without the batch, delete {batch.folder}"
    return _say(why, "hits", "serve", str(s.market_folder), "-C", s.folder)


def _to_publish(s: Situation) -> NextStep | None:
    batch = s.batch("made", "partly published")
    if batch is None:
        return None
    if (serve := _to_serve(s, batch)) is not None:
        return serve
    why = f"batch {batch.name} is made, {batch.published} of {batch.hits} hits are published"
    return _say(why, "hits", "publish", batch.folder, *s.market_options())


def _to_collect(s: Situation) -> NextStep | None:
    batch = s.batch("published")
    if batch is None:
        return None
    if (serve := _to_serve(s, batch)) is not None:
        return serve
    why = f"{batch.answered} of {batch.assignments} assignments of batch {batch.name} were collected"
    collect = ["hits", "collect", batch.folder, "-C", s.folder, *s.market_options()]
    if s.market.endpoint is not None:
        return _say(why, *collect)
    invite = ["hits", "invite", "NAME", *s.market_options()]
    if batch.answered:
        return _say(f"{why}; more people come by the links of: {command_line(invite)}", *collect)
    return _say(
        f"{why}: invite people, each by name; when they have answered: {command_line(collect)}", *invite
    )


def _to_rank(s: Situation) -> NextStep | None:
    """The answer of a campaign that people compared systems in and labelled nothing."""
    if s.judgments or len(s.compared) < 2:
        return None
    why = "people compared the systems"
    if s.waiting:
        why += f"; {plural(s.waiting, 'assignment')} to review (docs/howto-compare-systems.md, Settle up)"
    if s.bad:
        look = command_line(["hits", "workers", "-C", s.folder])
        why += f"; the answers of {', '.join(s.bad[:3])} look bad and still count, see: {look}"
    if len(s.compared) == 2:
        return _say(why, "rank", "preferences", s.folder, "--systems", ",".join(s.compared))
    return _say(why, "rank", "systems", s.folder)


def _to_compare(s: Situation) -> NextStep | None:
    """Comparisons, where the lists are the outputs of systems and nobody was asked anything."""
    if s.judgments or s.batches or len(s.outputs) < 2:
        return None
    labels = f"; to have phrases labelled instead: {_spreadsheet(s)}" if s.open else ""
    target = str(Path(s.folder) / "batches" / "1")
    return _say(
        f"{len(s.outputs)} systems have one candidate for each segment, which people can compare{labels}",
        "hits",
        "make",
        s.folder,
        "-o",
        target,
        *COMPARING,
    )


def _to_ask(s: Situation) -> NextStep | None:
    if not s.asks:
        return None
    why = f"{s.open:,} phrases of the frontier have no label"
    if not s.decoder:
        return _ask(s, why)
    target = str(Path(s.folder) / "batches" / str(s.iteration))
    return _say(
        why, "hits", "make", s.folder, "-o", target, "--select", s.loop.select, "--labels", str(s.loop.labels)
    )


def _ask(s: Situation, why: str) -> NextStep:
    """Ask for labels in a spreadsheet, or in the browser where that was done before; the other way is named, too."""
    numbers = [int(batch.name) for batch in s.batches if batch.name.isdecimal()]
    target = str(Path(s.folder) / "batches" / str(max(numbers, default=0) + 1))
    browser = ["hits", "make", s.folder, "-o", target, *BEST_FIRST]
    sheet = ["queries", s.folder, *BEST_FIRST, "--format", "csv", "-o", "ask.csv"]
    if any(batch.answered for batch in s.batches):
        return _say(f"{why}; in a spreadsheet instead of the browser: {command_line(sheet)}", *browser)
    return _say(f"{why}; in the browser instead of a spreadsheet: {command_line(browser)}", *sheet)


def _spreadsheet(s: Situation) -> str:
    return _ask(replace(s, batches=[]), "").command


def _to_ask_more(s: Situation) -> NextStep | None:
    """More labels, where those that there are tell too few candidates apart; a decoder's loop asks by itself."""
    if s.decoder or not s.judgments or not s.open:
        return None
    goal = "tune" if s.features and not s.tuned else "choose by them"
    if s.told_apart < ENOUGH:
        state = f"labels tell the candidates of {s.told_apart:.1%} of the segments apart"
    elif s.features and not s.tuned and s.coverage < ENOUGH:
        state = f"labels reach {s.coverage:.1%} of the constituents"
    else:
        return None
    return _ask(s, f"{state}; {goal} when it is {ENOUGH:.0%}. {s.open:,} phrases have no label")


def _to_tune(s: Situation) -> NextStep | None:
    enough = s.decoder or (
        s.told_apart >= ENOUGH and s.coverage >= ENOUGH if s.open else s.told_apart >= FLAT
    )
    if not s.judgments or not s.features or s.tuned or s.converged or not enough:
        return None
    number, folder = s.weights + 1, Path(s.folder)
    target = folder / "weights" / f"{number}.weights" if s.decoded else folder / "rypt.weights"
    return _say("there are labels to tune to", "tune", s.folder, "--metric", "rypt", "-o", str(target))


def _to_score(s: Situation) -> NextStep | None:
    if not s.judgments and s.open:  # a batch ended without an answer
        return _ask(s, f"{s.open:,} phrases of the frontier have no label")
    picks = str(Path(s.folder) / "picks.txt")
    if s.picked:
        more = f"; {s.open:,} phrases have no label, to ask about more: {_spreadsheet(s)}" if s.open else ""
        return _say(f"{picks} has the best candidate of each segment{more}")
    return _say(
        "the best candidate of each segment by RYPT", "score", s.folder, "--pick", "best", "-o", picks
    )


TABLE: tuple[Row, ...] = (
    _loop,
    _without_trees,
    _to_decode,
    _without_candidates,
    _to_publish,
    _to_collect,
    _to_rank,
    _to_compare,
    _to_ask,
    _to_ask_more,
    _to_tune,
    _to_score,
)


def first_step(folder: str) -> NextStep:
    """The step for a folder without a campaign: to a campaign inside it, or to a new one.

    >>> first_step("campaign").command
    'rypt init campaign --source SOURCE --nbest LIST --languages SRC-TGT'
    """
    inside = sorted(str(path.parent) for path in Path(folder).glob(f"*/{SETTINGS}"))
    if inside:
        others = f" (also {', '.join(inside[1:4])})" if inside[1:] else ""
        return _say(
            f"{folder} is no campaign, and holds {inside[0]}, which is one{others}", "status", inside[0]
        )
    folder = "campaign" if folder == "." else folder
    why = "there is no campaign yet: SOURCE has a segment per line, LIST their candidates; `rypt demo` shows an example"
    return _say(why, "init", folder, "--source", "SOURCE", "--nbest", "LIST", "--languages", "SRC-TGT")


def next_step(situation: Situation) -> NextStep:
    """The next step.

    >>> next_step(Situation("c", MarketSettings(), Path("c/market"), 9, 0, False, True, 0, 0, 0, False, 0, 0, [],
    ...                     LoopSettings()))
    NextStep(command='rypt decode c', why='there are no candidates yet')
    """
    return next(step for row in TABLE if (step := row(situation)) is not None)
