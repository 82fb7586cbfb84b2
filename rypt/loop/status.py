"""The state of a campaign: texts, labels, cost, agreement of workers, and the next step.

    campaign_status(Campaign.open("campaign"), now)   →   CampaignStatus(texts=…, labels=…, next=NextStep(…))

Nothing is changed but the numbers that `rypt.campaign.kept` keeps. Parts that do not exist yet (hits, batches,
weights, a loop) are left out.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from time import time

from hits.batches.reader import BATCH_TOML, read_batch
from hits.market.ledger import EXPIRED, ledgers
from hits.records import Batch, Kind
from hits.results.answers import Results
from hits.results.numbers import CampaignNumbers, asked_comparisons, campaign_numbers, spent
from hits.results.quality import worker_reports
from hits.simulated import is_simulated
from rypt.analysis.agreement import krippendorff_alpha
from rypt.campaign.folder import Campaign
from rypt.campaign.kept import Kept, Numbers, kept_numbers
from rypt.campaign.queries import worthwhile
from rypt.database.judgments import JudgmentDatabase
from rypt.loop.next_step import BatchState, NextStep, Situation, next_step
from rypt.loop.runner import known_budget, open_loop
from rypt.loop.segment_counts import Marks, PhraseWatch, SegmentCounts, count_segments, text_marks
from rypt.records import Query
from rypt.scoring.queries import open_queries
from rypt.text import RyptError
from rypt.texts.lists import distinct
from rypt.texts.phrases import phrase_key

WHO = {"hit": "people", "import": "imported", "simulation": "simulated"}


@dataclass(frozen=True, slots=True)
class TextCounts:
    """What the campaign was made from; ``decoder`` and ``weights`` (the current ones) are None where it has none."""

    segments: int
    parsed: int
    lists: int
    candidates: int
    references: int
    decoder: str | None
    weights: str | None


@dataclass(frozen=True, slots=True)
class Labels:
    """What is labelled; ``sources`` counts judgments by who gave them, ``open`` is what could still be asked.

    ``before`` and ``after`` percolation are shares of the constituents of all candidates, None where there is none.
    """

    judgments: int
    keys: int
    sources: dict[str, int]
    before: float | None
    after: float | None
    open: int


@dataclass(frozen=True, slots=True)
class Compared:
    """What people compared: how many comparisons count, by how many workers, and of which systems.

    ``identical`` is the number of pairs that nobody was asked about, because their texts are the same.
    """

    comparisons: int
    workers: int
    simulated: int
    systems: list[str]
    identical: int


@dataclass(frozen=True, slots=True)
class People:
    """Who judged: ``excluded`` workers do not count, ``bad`` ones do; alpha is that of people alone."""

    workers: int
    simulated: int
    excluded: list[str]
    bad: list[str]
    alpha: float
    judged_twice: int


@dataclass(frozen=True, slots=True)
class Spent:
    """What the campaign's hits cost so far, in dollars; ``simulated`` is the part that simulated workers earned."""

    rewards: Decimal
    fees: Decimal
    bonuses: Decimal
    total: Decimal
    simulated: Decimal


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """The state of a campaign; ``compared`` is None where nobody compared anything.

    ``waiting`` is the number of assignments that were neither approved nor rejected.
    """

    folder: str
    texts: TextCounts
    labels: Labels
    compared: Compared | None
    waiting: int
    people: People
    spent: Spent | None
    batches: list[BatchState]
    next: NextStep
    notes: list[str]


def campaign_status(
    campaign: Campaign, now: int, watch: PhraseWatch = lambda phrases: phrases
) -> CampaignStatus:
    """The state of a campaign; ``now`` is in seconds since 1970."""
    notes: list[str] = []
    going, reason = _loop(campaign)
    asks_some = not going and campaign.settings.decoder.command is not None
    numbers = kept_numbers(campaign, lambda kept: _count(campaign, watch, asks_some, kept), time())
    if asks_some and numbers["to_ask"] is None:  # a loop went on when they were counted
        numbers = _count(campaign, watch, asks_some, None)
    labels = Labels(*(numbers[name] for name in ("judgments", "keys", "sources", "before", "after", "open")))
    people, cost = People(**numbers["people"]), _spent_from(numbers["spent"])
    compared = Compared(**numbers["compared"]) if numbers["compared"] else None
    texts = TextCounts(
        **{name: numbers[name] for name in ("parsed", "lists", "candidates", "references")},
        segments=numbers["in_source"],
        decoder=campaign.settings.decoder.command,
        weights=_current_weights(campaign),
    )
    with JudgmentDatabase(campaign.path(campaign.files.database), readonly=True) as db:
        batches = _batches(campaign, Results(db), now, notes)
    situation = Situation(
        folder=str(campaign.folder),
        market=campaign.settings.market,
        market_folder=campaign.path(campaign.settings.market.folder),
        parsed=texts.parsed,
        candidates=texts.candidates,
        features=numbers["features"],
        decoder=texts.decoder is not None,
        decoded=max(_numbered(campaign.path("lists"), "nbest.gz"), default=0),
        weights=max(_numbered(campaign.path("weights"), "weights"), default=0),
        new=numbers["new"],
        tuned=_is_newer(campaign.path("rypt.weights"), campaign.path(campaign.files.database)),
        judgments=labels.judgments,
        open=numbers["to_ask"] if asks_some else labels.open,
        batches=batches,
        loop=campaign.settings.loop,
        loop_going=going,
        loop_stopped=reason,
        told_apart=numbers["told_apart"],
        coverage=labels.after or 0.0,
        outputs=numbers["outputs"],
        compared=compared.systems if compared else (),
        bad=people.bad,
        waiting=numbers["waiting"],
        picked=_is_newer(campaign.path("picks.txt"), campaign.path(campaign.files.database)),
    )
    step = next_step(situation)
    waiting = numbers["waiting"]
    return CampaignStatus(
        str(campaign.folder), texts, labels, compared, waiting, people, cost, batches, step, notes
    )


def _count(campaign: Campaign, watch: PhraseWatch, asks_some: bool, kept: Kept | None) -> Numbers:
    """All that depends on the texts and the database alone, for JSON; ``kept`` was counted from the same trees."""
    if kept is not None and not asks_some:
        return _count_changed(campaign, watch, kept)
    with campaign.database() as db:
        marks = Marks(db.vote_marks(), text_marks(campaign.candidates))
        segments, places = count_segments(campaign, db, marks, watch)
        numbers = {**_database_numbers(db), **_segment_numbers(segments)}
        case = db.case
    questions: list[Query] = []
    if asks_some and places is not None:
        max_len = campaign.scoring.max_len
        questions = open_queries(places, campaign.candidates, max_len=max_len, case=case)
    return {
        **_text_numbers(campaign),
        "parsed": sum(tree is not None for tree in campaign.trees.values()),
        **numbers,
        "to_ask": _to_ask(campaign, questions) if asks_some else None,
    }


def _text_numbers(campaign: Campaign) -> Numbers:
    """What depends on the lists."""
    return {
        "in_source": len(campaign.segments),
        "lists": len(campaign.files.nbest),
        "candidates": len(campaign.candidates),
        "references": len(campaign.references),
        "features": any(len(c.features) > 1 for c in campaign.candidates[:1]),  # one alone cannot be weighed
        "outputs": list(campaign.outputs),
        "new": _new_in_last_list(campaign) if campaign.settings.decoder.command else 0,
    }


def _count_changed(campaign: Campaign, watch: PhraseWatch, kept: Kept) -> Numbers:
    """The numbers after a change of lists or the database: only segments that changed are looked at."""
    segments = {name: SegmentCounts(*row) for name, row in kept.numbers["segments"].items()}
    numbers = {**kept.numbers, "to_ask": None}
    with JudgmentDatabase(campaign.path(campaign.files.database), readonly=True) as db:
        votes = (
            {name: counts.votes for name, counts in segments.items()}
            if kept.same_database
            else db.vote_marks()
        )
        texts = {name: counts.texts for name, counts in segments.items()}
        if not kept.same_lists:
            texts = text_marks(campaign.candidates)
            numbers |= _text_numbers(campaign)
        marks = Marks(votes, texts)
        changed = [name for name, counts in segments.items() if counts[:2] != marks.of(name)]
        if changed and kept.same_lists:
            segments |= count_segments(campaign, db, marks, watch)[0]
        elif changed:  # all texts have been read
            segments |= count_segments(campaign, db, marks, watch, set(changed))[0]
        if not kept.same_database:
            numbers |= _database_numbers(db)
    return {**numbers, **_segment_numbers(segments)}


def _database_numbers(db: JudgmentDatabase) -> Numbers:
    """What depends on the judgments alone: how many, people, money."""
    results = Results(db)
    hits = campaign_numbers(results)
    cost = _spent(results, hits)
    return {
        "judgments": db.count(),
        "keys": db.count_keys(),
        "sources": {WHO.get(name, name): count for name, count in db.count_by_source().items()},
        "compared": _compared(results),
        "waiting": hits.waiting,
        "people": asdict(_people(db, results)),
        "spent": {name: str(amount) for name, amount in asdict(cost).items()},
    }


def _segment_numbers(segments: Mapping[str, SegmentCounts]) -> Numbers:
    """What depends on judgments and candidates: labels."""
    nodes, direct, percolated_nodes, left, several, apart = (
        sum(getattr(counts, name) for counts in segments.values())
        for name in ("nodes", "direct", "percolated", "open", "several", "apart")
    )
    before = direct / nodes if nodes else None
    after = None if before is None else before + percolated_nodes / nodes
    if any(counts.candidates for counts in segments.values()) and not nodes:
        before = after = 0.0
    return {
        "before": before,
        "after": after,
        "open": left,
        "told_apart": apart / max(1, several),
        "segments": {name: list(counts) for name, counts in segments.items()},
    }


def _spent_from(amounts: dict[str, str]) -> Spent:
    return Spent(**{name: Decimal(amount) for name, amount in amounts.items()})


def _current_weights(campaign: Campaign) -> str | None:
    numbers = _numbered(campaign.path("weights"), "weights")
    return f"weights/{max(numbers)}.weights" if numbers else campaign.settings.decoder.weights


def _numbered(folder: Path, suffix: str) -> list[int]:
    names = [path.name.removesuffix(f".{suffix}") for path in folder.glob(f"*.{suffix}")]
    return [int(name) for name in names if name.isascii() and name.isdigit()]


def _new_in_last_list(campaign: Campaign) -> int:
    """The number of candidates of the last list that no earlier list has."""
    lists = [candidates for _, candidates in campaign.lists()]
    return len(distinct(lists)) - len(distinct(lists[:-1]))


def _is_newer(path: Path, other: Path) -> bool:
    """Whether a file exists and is newer than another."""
    return path.exists() and other.exists() and path.stat().st_mtime >= other.stat().st_mtime


def _to_ask(campaign: Campaign, questions: list[Query]) -> int:
    """How many questions a batch of the loop would ask, given its ``select``."""
    if campaign.settings.loop.select != "value" or not questions:
        return len(questions)
    return len(worthwhile(campaign, questions, votes=campaign.settings.market.assignments))


def _spent(results: Results, numbers: CampaignNumbers) -> Spent:
    """What hits cost."""
    played = spent(w for w in results.tables.work() if w.status != "Rejected" and is_simulated(w.worker))
    return Spent(numbers.rewards, numbers.fees, numbers.bonuses, numbers.cost, played.total)


def _compared(results: Results) -> Numbers | None:
    compared = asked_comparisons(results)
    if not compared:
        return None
    systems = {system for c in compared for system in (c.system_a, c.system_b)}
    workers = {c.worker for c in compared}
    played, identical = sum(map(is_simulated, workers)), results.tables.count_identical()
    return asdict(Compared(len(compared), len(workers), played, sorted(systems), identical))


def _people(db: JudgmentDatabase, results: Results) -> People:
    workers, simulated, twice = db.count_workers(), db.count_workers("simulation"), db.count_repeated_keys()
    bad = [r.worker for r in worker_reports(results) if r.verdict == "bad" and not r.excluded]
    alpha = krippendorff_alpha(db.counted_answers(simulated=False))
    return People(workers, simulated, sorted(db.excluded()), bad, alpha, twice)


def _batches(campaign: Campaign, results: Results, now: int, notes: list[str]) -> list[BatchState]:
    """The batches in the campaign's folder; one that cannot be read is noted."""
    answered = results.tables.count_assignments()  # rejected ones, too: their places stay taken
    batches = []
    for folder in sorted(campaign.path("batches").glob("*"), key=lambda path: (len(path.name), path.name)):
        if folder.name.startswith(".") or not (folder / BATCH_TOML).is_file():
            continue
        try:
            batches.append(_batch(folder, results, answered, now))
        except RyptError as error:
            notes.append(str(error))
    return batches


def _batch(folder: Path, results: Results, answered: dict[str, int], now: int) -> BatchState:
    batch = read_batch(folder)
    settings = batch.settings
    written = ledgers(folder)
    published = {item for ledger in written for item in ledger.read()}
    ends = (
        max((ledger.path.stat().st_mtime for ledger in written), default=0)
        + settings.lifetime
        + settings.duration
    )
    if (expired := folder / EXPIRED).exists():
        ends = min(ends, expired.stat().st_mtime + settings.duration)
    return BatchState(
        folder=str(folder),
        name=folder.name,
        kind=str(settings.kind),
        hits=len(batch.items),
        published=len(published),
        assignments=len(batch.items) * settings.assignments,
        answered=answered.get(settings.id, 0),
        over=bool(written) and ends < now,
        needless=not answered.get(settings.id) and _is_labelled(batch, results.db),
    )


def _is_labelled(batch: Batch, db: JudgmentDatabase) -> bool:
    """Whether all phrases that a batch asks about have labels."""
    asked = {
        (
            item.columns["segment"],
            int(item.columns["start"]),
            int(item.columns["stop"]),
            phrase_key(item.columns[f"phrase_{n}"], db.case),
        )
        for item in (batch.items if batch.settings.kind is Kind.LABEL else ())
        for n in range(1, item.size + 1)
        if not item.columns.get(f"control_{n}")
    }
    segments = {segment for segment, *_ in asked}
    return bool(asked) and asked <= {
        (v.segment, *v.span, v.phrase) for name in segments for v in db.votes(name)
    }


def _loop(campaign: Campaign) -> tuple[bool, str | None]:
    """Whether a loop was started and is not finished, and why it stopped."""
    budget = known_budget(campaign)
    if not campaign.settings.decoder.command or budget is None:
        return False, None
    reason = open_loop(campaign, budget=budget).stopped()
    return reason is None, reason
