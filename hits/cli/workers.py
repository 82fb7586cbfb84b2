"""``rypt hits workers``: who works well, and what to do about it."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hits.cli.shared import CAMPAIGN, YES, market_options, open_campaign, open_results, plain
from rypt.console import JSON, QUIET, talk
from rypt.text import RyptError

if TYPE_CHECKING:
    from hits.market.client import BotoMarket, MarketAddress
    from hits.results.answers import Results
    from rypt.database.judgments import JudgmentDatabase


@click.command()
@CAMPAIGN
@click.option("--exclude", multiple=True, metavar="WORKER", help="Let a worker's judgments not count; they stay.")
@click.option("--include", "included", multiple=True, metavar="WORKER", help="Let them count again.")
@click.option("--reason", default="excluded by the requester", show_default=True)
@click.option("--block", "blocked", multiple=True, metavar="WORKER", help="Exclude and keep from further hits.")
@click.option("--bonus", metavar="SHARE", help="Pay good workers this share of their rewards: 20%.")
@market_options
@YES
@JSON
@QUIET
def workers(
    campaign: str, exclude: tuple[str, ...], included: tuple[str, ...], reason: str, blocked: tuple[str, ...],
    bonus: str | None, market: "MarketAddress", yes: bool, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Say how each worker does, with a verdict and its reason; and act on it.

    Names are those of the market in --at, where it is here.
    """
    from hits.results.quality import worker_reports

    now = int(time.time())
    rate = _read_share(bonus) if bonus else None
    if exclude or included or blocked:
        with open_campaign(campaign).database(readonly=False) as db:
            _refuse_unknown(db, (*exclude, *blocked), included)
            for worker in (*exclude, *blocked):
                db.exclude(worker, reason, now)
            for worker in included:
                db.include(worker)
    if blocked:
        client = market.open()
        for worker in blocked:
            client.block(worker, reason)
    with open_results(campaign) as results:
        found = worker_reports(results)
        earned = _earned(results, found) if rate else {}
    if rate is not None:
        client = market.open()
        payments = _payments(client, earned, rate)
        total = sum((amount for _, _, amount in payments), Decimal(0))
        if payments and not yes:
            click.confirm(f"Pay {len(payments)} bonuses, ${total:.2f} in all?", abort=True, err=True)
        for worker, assignment, amount in payments:
            client.bonus(worker, assignment, amount, f"{bonus} more for careful work")
        talk(f"{len(payments)} bonuses paid, ${total:.2f}", quiet=quiet)
    _tell_workers(found, {} if market.folder is None else _names(market.folder), as_json=as_json)


def _refuse_unknown(db: "JudgmentDatabase", excluded: Iterable[str], included: Iterable[str]) -> None:
    """Whoever never answered anything is a typing mistake, and so is one to be taken back who was not excluded."""
    from hits.results.answers import known_workers

    known = known_workers(db)
    for worker in excluded:
        if worker not in known:
            raise RyptError(f"worker {worker!r} gave no answer in {db.path}")
    for worker in included:
        if worker not in db.excluded():
            raise RyptError(f"worker {worker!r} is not excluded in {db.path}")


def _names(folder: Path) -> dict[str, str]:
    """What the workers of a local market are called."""
    from hits.server.invitations import worker_names

    return worker_names(folder)


def _read_share(text: str) -> Decimal:
    try:
        rate = Decimal(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        if not 0 < rate <= 10:
            raise InvalidOperation
    except InvalidOperation:
        raise click.UsageError(f"--bonus {text}: expected a share such as 20%") from None
    return rate


def _earned(results: "Results", found: Iterable[Any]) -> dict[str, list[tuple[str, Decimal]]]:
    """The assignments of each good worker and their rewards; few answers make nobody good."""
    good = {
        report.worker for report in found if report.verdict == "good" and not report.excluded and not report.reasons
    }
    earned: dict[str, list[tuple[str, Decimal]]] = {}
    for assignment in results.assignments():
        answer = assignment.answer
        if answer.worker in good and assignment.status != "Rejected":
            earned.setdefault(answer.worker, []).append((answer.assignment, _reward(assignment.facts)))
    return earned


def _payments(
    client: "BotoMarket", earned: dict[str, list[tuple[str, Decimal]]], rate: Decimal
) -> list[tuple[str, str, Decimal]]:
    """For each worker one payment, with the last assignment: the share of all rewards, less what was paid before."""
    from hits.records import CENT

    payments = []
    for worker, work in earned.items():
        due = sum((reward for _, reward in work), Decimal(0)) * rate
        due -= sum((client.paid(worker, assignment) for assignment, _ in work), Decimal(0))
        if due.quantize(CENT) > 0:
            payments.append((worker, work[-1][0], due.quantize(CENT)))
    return payments


def _reward(facts: Any) -> Decimal:
    try:
        return Decimal(str(facts.get("Reward", "0")).lstrip("$") or "0")
    except InvalidOperation:
        return Decimal(0)


def _tell_workers(found: Sequence[Any], names: Mapping[str, str], *, as_json: bool) -> None:
    from tabulate import tabulate

    if as_json:
        rows = [
            {
                "worker": r.worker, "name": names.get(r.worker), "answers": r.answers,
                "assignments": r.assignments, "seconds": plain(r.seconds),
                "shares": {name: plain(share) for name, share in r.shares.items()},
                "controls": [r.controls.hits, r.controls.of], "agreement": [r.agreement.hits, r.agreement.of],
                "repeats": [r.repeats.hits, r.repeats.of], "longest_run": r.longest_run, "excluded": r.excluded,
                "verdict": str(r.verdict), "reasons": list(r.reasons),
            }
            for r in found
        ]  # fmt: skip
        click.echo(json.dumps(rows))
        return
    head = ("worker", "n", "s each", "answers in %", "controls", "agree", "self", "verdict", "why")
    lines = [
        (
            " ".join(filter(None, (r.worker, names.get(r.worker)))), r.answers,
            "-" if r.seconds != r.seconds else f"{r.seconds:.1f}", _shares(r.shares), r.controls,
            r.agreement, r.repeats, "excluded" if r.excluded else str(r.verdict), "; ".join(r.reasons),
        )
        for r in found
    ]  # fmt: skip
    click.echo(tabulate([tuple(map(str, line)) for line in lines], head, disable_numparse=True))


def _shares(shares: Any) -> str:
    names = {"YES": "YES", "NO": "NO", "NOT_SURE": "?", "A": "A", "B": "B", "EQUAL": "="}
    return " ".join(f"{said} {100 * shares[name]:.0f}" for name, said in names.items() if name in shares)
