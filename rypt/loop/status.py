"""The state of a campaign: texts, labels, cost, agreement of workers, and the next step.

    campaign_status(Campaign.open("campaign"), now)   →   CampaignStatus(texts=…, labels=…, …).next

Nothing is changed. Parts that do not exist yet (hits, batches, weights, a loop) are left out.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from hits.batch.folder import BATCH_TOML, read_batch
from hits.market.ledger import EXPIRED, ledgers
from hits.records import Comparison, Kind
from hits.results.answers import Results
from hits.results.numbers import campaign_numbers, spent
from hits.results.quality import worker_reports
from hits.simulated import is_simulated
from mert.campaign import campaign_folder
from rypt.analysis.agreement import krippendorff_alpha
from rypt.campaign.folder import Campaign
from rypt.campaign.queries import by_value
from rypt.campaign.settings import CampaignSettings
from rypt.database.votes import Key, read_votes
from rypt.loop.next_step import NextStep, next_step
from rypt.loop.runner import Loop
from rypt.scoring.models import Percolation
from rypt.scoring.observations import Observations
from rypt.scoring.queries import open_queries
from rypt.scoring.scorer import Scorer, coverage
from rypt.text import RyptError
from rypt.texts.phrases import phrase_key

SOURCES = {"hit": "people", "import": "imported", "simulation": "simulated"}


@dataclass(frozen=True, slots=True)
class Texts:
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
    """The comparisons that count, and who made them."""

    comparisons: int
    workers: int
    simulated: int
    systems: list[str]


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
class CampaignBatch:
    """How much of a batch is published and answered.

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
        if self.needless:
            return "labelled elsewhere"
        if self.published < self.hits and not self.answered:
            return "made" if not self.published else "partly published"
        if self.answered >= self.assignments:
            return "answered"
        return "over" if self.over else "published"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What else decides the next step.

    ``to_ask`` is how many questions there are to ask: of a decoder's campaign only those that its loop would ask.
    ``distinguished`` is the share of the segments with several candidates whose labels distinguish some of these.
    ``outputs`` are the systems whose outputs the lists are, ``features`` says that candidates have several to tune.
    ``decoded`` is the number of the last list that was decoded, ``weights`` that of the last weights, 0 for none;
    ``new`` is how many candidates of the last list no earlier one has. ``tuned`` and ``picked`` say that weights and
    best candidates were written since the last judgment.
    """

    settings: CampaignSettings
    to_ask: int = 0
    distinguished: float = 0.0
    outputs: tuple[str, ...] = ()
    features: bool = False
    decoded: int = 0
    weights: int = 0
    new: int = 0
    tuned: bool = False
    picked: bool = False
    loop_runs: bool = False
    loop_stopped: str | None = None


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """The state of a campaign; ``waiting`` is the number of assignments that were neither approved nor rejected.

    ``spent`` are the rewards, fees, bonuses and their total in dollars, and the part that simulated workers earned.
    """

    folder: str
    texts: Texts
    labels: Labels
    compared: Compared | None
    waiting: int
    people: People
    spent: dict[str, Decimal]
    batches: list[CampaignBatch]
    notes: list[str]
    situation: Situation = field(repr=False)

    @property
    def next(self) -> NextStep:
        return next_step(self)

    def as_dict(self) -> dict[str, Any]:
        """The status as plain values; what only campaigns with hits have is left out where there is none."""
        record = asdict(self)
        del record["situation"]
        for batch, row in zip(self.batches, record["batches"], strict=True):
            row["state"] = batch.state
            if not batch.needless:
                del row["needless"]
        for name in ("compared", "waiting"):
            if not record[name]:
                del record[name]
        if np.isnan(self.people.alpha):
            record["people"]["alpha"] = None
        return {**record, "next": asdict(self.next)}


def campaign_status(campaign: Campaign, now: int) -> CampaignStatus:
    """The state of a campaign; ``now`` is in seconds since 1970."""
    settings, folder = campaign.settings, campaign_folder(campaign)
    loop = Loop(campaign)
    has_loop = bool(settings.decoder.command) and loop.settings.budget is not None
    stopped = loop.stopped() if has_loop else None
    runs = has_loop and stopped is None
    weights = max(folder.files("weights"), default=0)
    with campaign.database() as db:
        results, votes = Results(db), read_votes(db)
        numbers, reports = campaign_numbers(results), worker_reports(results)
        scorer = Scorer(campaign.trees, votes, model=Percolation(ties=settings.scoring.ties), case=db.case)
        places = scorer.judged.look_up(campaign.candidates, db.case)
        observations = places.observe(scorer.counts)
        covered = coverage(observations, settings.scoring.ties) if campaign.candidates else None
        unjudged = open_queries(places, campaign.candidates, max_len=settings.scoring.max_len, case=db.case)
        answered = results.count_assignments()  # with rejected ones: their places stay taken
        batches, notes = [], []
        files = campaign.path("batches").glob(f"[!.]*/{BATCH_TOML}")
        for path in sorted((file.parent for file in files), key=lambda path: (len(path.name), path.name)):
            try:
                batches.append(_batch(path, votes.keys, db.case, answered, now))
            except RyptError as error:
                notes.append(str(error))
        labels = Labels(
            judgments=db.count(),
            keys=len(votes.keys),
            sources={SOURCES.get(name, name): count for name, count in db.count_by_source().items()},
            before=covered.before if covered else None,
            after=covered.after if covered else None,
            open=len(unjudged),
        )
        twice = int((np.bincount(votes.key) > 1).sum())
        people = People(
            workers=db.count_workers(),
            simulated=db.count_workers("simulation"),
            excluded=sorted(db.excluded()),
            bad=[report.worker for report in reports if report.verdict == "bad" and not report.excluded],
            alpha=krippendorff_alpha(db.counted_answers(simulated=False)) if twice else nan,
            judged_twice=twice,
        )
        comparisons = results.comparisons(asked=True)
        compared = _compared(comparisons) if comparisons else None
        simulated = spent(w for w in results.work() if w.status != "Rejected" and is_simulated(w.worker))
    to_ask = len(unjudged)
    if settings.decoder.command and not runs and settings.loop.select == "value" and unjudged:
        to_ask = len(by_value(unjudged, places, scorer.counts, settings.market.assignments))
    return CampaignStatus(
        folder=str(campaign.folder),
        texts=Texts(
            segments=len(campaign.segments),
            parsed=sum(tree is not None for tree in campaign.trees.values()),
            lists=len(campaign.files.nbest),
            candidates=len(campaign.candidates),
            references=len(campaign.references),
            decoder=settings.decoder.command,
            weights=f"weights/{weights}.weights" if weights else settings.decoder.weights,
        ),
        labels=labels,
        compared=compared,
        waiting=numbers.waiting,
        people=people,
        spent={
            "rewards": numbers.rewards,
            "fees": numbers.fees,
            "bonuses": numbers.bonuses,
            "total": numbers.cost,
            "simulated": simulated.total,
        },
        batches=batches,
        notes=notes,
        situation=Situation(
            settings=settings,
            to_ask=to_ask,
            distinguished=_distinguished(observations, scorer),
            outputs=tuple(campaign.outputs),
            features=any(len(candidate.features) > 1 for candidate in campaign.candidates[:1]),
            decoded=max(folder.files("nbest.gz"), default=0),
            weights=weights,
            new=_new_in_last_list(campaign) if settings.decoder.command else 0,
            tuned=_has_all_judgments(campaign, "rypt.weights"),
            picked=_has_all_judgments(campaign, "picks.txt"),
            loop_runs=runs,
            loop_stopped=stopped,
        ),
    )


def _new_in_last_list(campaign: Campaign) -> int:
    """The number of candidates of the last list that no earlier list has."""
    lists = [{(c.segment, c.text, c.alignment) for c in candidates} for _, candidates in campaign.lists]
    return len(lists[-1].difference(*lists[:-1])) if lists else 0


def _has_all_judgments(campaign: Campaign, name: str) -> bool:
    """Whether a result was written since the last judgment.

    While another process has the database open, new judgments are in its write-ahead log. An empty log comes and goes
    with every reader.
    """
    result, database = campaign.path(name), campaign.path(campaign.files.database)
    log = database.with_name(f"{database.name}-wal")
    files = [path for path in (database, log) if path.exists() and path.stat().st_size]
    return result.exists() and result.stat().st_mtime >= max(path.stat().st_mtime for path in files)


def _distinguished(observations: Observations, scorer: Scorer) -> float:
    """The share of the segments with several candidates whose labels distinguish some of these."""
    yes_and_no = scorer.model.stats(observations)[:, :2]
    kinds = np.unique(np.column_stack([observations.segments, yes_and_no]), axis=0)[:, 0]
    several = np.bincount(observations.segments, minlength=1) > 1
    return float((np.bincount(kinds, minlength=len(several)) > 1).sum() / max(1, several.sum()))


def _compared(comparisons: Sequence[Comparison]) -> Compared:
    workers = {c.worker for c in comparisons}
    systems = sorted({system for c in comparisons for system in (c.system_a, c.system_b)})
    return Compared(len(comparisons), len(workers), sum(map(is_simulated, workers)), systems)


def _batch(
    folder: Path, judged: Collection[Key], case: str, answered: dict[str, int], now: int
) -> CampaignBatch:
    batch, written = read_batch(folder), ledgers(folder)
    settings = batch.settings
    last = max((ledger.path.stat().st_mtime for ledger in written), default=0)
    ends = last + settings.lifetime + settings.duration
    if (expired := folder / EXPIRED).exists():
        ends = min(ends, expired.stat().st_mtime + settings.duration)
    asked: set[Key] = set()  # all questions but the controls
    for item in batch.items if settings.kind is Kind.LABEL else ():
        columns = item.columns
        span = columns["segment"], int(columns["start"]), int(columns["stop"])
        for number in range(1, item.size + 1):
            if not columns.get(f"control_{number}"):
                asked.add((*span, phrase_key(columns[f"phrase_{number}"], case)))
    return CampaignBatch(
        folder=str(folder),
        name=folder.name,
        kind=str(settings.kind),
        hits=len(batch.items),
        published=len({item for ledger in written for item in ledger.read()}),
        assignments=len(batch.items) * settings.assignments,
        answered=answered.get(settings.id, 0),
        over=bool(written) and ends < now,
        needless=not answered.get(settings.id) and bool(asked) and asked.issubset(judged),
    )
