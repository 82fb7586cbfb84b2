"""``rypt hits workers``: the quality of each worker, and actions on workers."""

import json
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hits.cli.shared import CAMPAIGN, YES, confirm, market_options, open_campaign, open_results
from rypt.console import JSON, QUIET, talk
from rypt.text import plural

if TYPE_CHECKING:
    from hits.market.client import MarketAddress
    from hits.results.answers import Results
    from hits.results.verdicts import WorkerReport
    from hits.results.workers import Pay


@click.command()
@CAMPAIGN
@click.option(
    "--exclude",
    multiple=True,
    metavar="WORKER",
    help="Exclude a worker, given by id or name: the judgments stay in the database but do not count.",
)
@click.option(
    "--include",
    "included",
    multiple=True,
    metavar="WORKER",
    help="Let the judgments of an excluded worker count again.",
)
@click.option("--reason", default="excluded by the requester", show_default=True)
@click.option(
    "--block",
    "blocked",
    multiple=True,
    metavar="WORKER",
    help="Exclude a worker, and give this worker no more hits.",
)
@click.option(
    "--bonus", metavar="SHARE", help="Pay good workers a bonus of this share of their rewards, such as 20%."
)
@market_options
@YES
@JSON
@QUIET
def workers(
    campaign: str,
    exclude: tuple[str, ...],
    included: tuple[str, ...],
    reason: str,
    blocked: tuple[str, ...],
    bonus: str | None,
    market: "MarketAddress",
    yes: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Report on each worker, with a verdict and its reasons, and act on it.

    Reports are about the answers that `rypt hits collect` and `import` added. "pay" is what is owed for them in
    dollars, bonuses included: all that is not rejected, also of excluded workers. Workers' names are shown if the local
    market in --market is on this machine, and a note says what is newer there.
    """
    from hits.results.quality import worker_reports
    from hits.results.workers import bonus_payments, exclude_workers, pay_of_workers

    now = int(time.time())
    rate = _read_share(bonus) if bonus else None
    names = {} if market.folder is None else _names(market.folder)
    exclude, included, blocked = (_ids(given, names) for given in (exclude, included, blocked))
    if exclude or included or blocked:
        with open_campaign(campaign).database(readonly=False) as db:
            exclude_workers(db, (*exclude, *blocked), reason, now, include=included)
    if blocked or rate is not None:
        client = market.open()
    for worker in blocked:
        client.block(worker, reason)
    with open_results(campaign) as results:
        reports = worker_reports(results)
        pay = pay_of_workers(results)
        behind = 0 if market.folder is None else _behind(market.folder, results)
        payments = bonus_payments(results, reports, rate, client.paid) if rate is not None else []
    if rate is not None:
        total = sum((payment.amount for payment in payments), Decimal(0))
        if payments and not yes:
            confirm(f"Pay {plural(len(payments), 'bonus', 'bonuses')}, ${total:.2f} in all?")
        for payment in payments:
            client.bonus(payment.worker, payment.assignment, payment.amount, f"{bonus} more for careful work")
        talk(f"{plural(len(payments), 'bonus', 'bonuses')} paid, ${total:.2f}", quiet=quiet)
    if not reports:
        talk("nobody's answers are in the campaign yet; `rypt hits collect` brings them", quiet=quiet)
    elif behind:
        talk(
            f"note: on the market, {plural(behind, 'assignment')} came or changed since the last `rypt hits collect`; "
            "collect again to see this here",
            quiet=quiet,
        )
    for note in _still_rejected(included, pay, names):
        talk(f"note: {note}", quiet=quiet)
    _print_reports(reports, names, pay, as_json=as_json)


def _still_rejected(included: Sequence[str], pay: "Mapping[str, Pay]", names: Mapping[str, str]) -> list[str]:
    """What a rejection keeps out of the results, of workers who were excluded until now."""
    stays = "that stays out of the results unless `rypt hits review` approves it after all"
    return [
        f"{names.get(worker, worker)} is not excluded any more, but {pay[worker].words}: {stays}"
        for worker in included
        if worker in pay and pay[worker].rejected
    ]


def _names(folder: Path) -> dict[str, str]:
    """What the workers of a local market are called."""
    from hits.server.invitations import worker_names

    return worker_names(folder)


def _behind(folder: Path, results: "Results") -> int:
    """How many assignments of the campaign's batches are newer on the market."""
    from hits.server.invitations import uncollected

    return uncollected(folder, results.statuses(), results.count_assignments())


def _ids(people: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """The ids of workers given by id or by the name that the table prints."""
    ids = []
    for person in people:
        same = [worker for worker, name in names.items() if name == person and person not in names]
        if len(same) > 1:
            raise click.UsageError(f"{len(same)} workers are called {person}; say the id: {', '.join(same)}")
        ids.append(same[0] if same else person)
    return tuple(ids)


def _read_share(text: str) -> Decimal:
    try:
        rate = Decimal(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        if not 0 < rate <= 10:
            raise InvalidOperation
    except InvalidOperation:
        raise click.UsageError(f"--bonus {text}: expected a share such as 20%") from None
    return rate


def _print_reports(
    reports: "Sequence[WorkerReport]", names: Mapping[str, str], pay: "Mapping[str, Pay]", *, as_json: bool
) -> None:
    from tabulate import tabulate

    from hits.results.workers import Pay

    if as_json:
        rows = []
        for r in reports:
            owed = pay.get(r.worker, Pay())
            more = {"rejected": owed.rejected, "pay": f"{owed.amount:.2f}"}
            rows.append({"worker": r.worker, "name": names.get(r.worker), **r.as_dict(), **more})
        click.echo(json.dumps(rows))
        return
    if not reports:
        return
    head = ("worker", "n", "s each", "answers in %", "controls", "agree", "self", "pay", "verdict", "why")
    lines = []
    for r in reports:
        owed = pay.get(r.worker, Pay())
        lines.append(
            (
                " ".join(filter(None, (r.worker, names.get(r.worker)))),
                r.answers,
                "-" if r.seconds != r.seconds else f"{r.seconds:.1f}",
                _shares(r.shares),
                r.controls,
                r.agreement,
                r.repeats,
                f"{owed.amount:.2f}",
                _verdict(r, owed),
                "; ".join(filter(None, (owed.words, *r.reasons))),
            )
        )
    click.echo(tabulate([tuple(map(str, line)) for line in lines], head, disable_numparse=True))


def _verdict(report: "WorkerReport", pay: "Pay") -> str:
    """The verdict, or why nothing of this worker is in the results."""
    if report.excluded:
        return "excluded"
    return "rejected" if 0 < pay.rejected == pay.assignments else str(report.verdict)


def _shares(shares: Mapping[str, float]) -> str:
    from hits.kinds import answer_words

    return " ".join(
        f"{words.short} {100 * shares[answer]:.0f}"
        for answer, words in answer_words().items()
        if answer in shares
    )
