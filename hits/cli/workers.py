"""``rypt hits workers``: the quality of each worker, what each is owed, and actions on workers."""

import csv
import json
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hits.cli.shared import CAMPAIGN, YES, confirm, market_options, open_campaign, open_results
from rypt.console import JSON, QUIET, talk
from rypt.text import open_output, plural

if TYPE_CHECKING:
    from hits.market.client import MarketAddress
    from hits.results.answers import Results
    from hits.results.verdicts import WorkerReport
    from hits.results.workers import Pay

F = TypeVar("F", bound=Callable[..., Any])


def named(*names: str, text: str) -> Callable[[F], F]:
    """An option that names workers."""
    return click.option(*names, multiple=True, metavar="WORKER", help=text)


@click.command()
@CAMPAIGN
@named("--exclude", text="Exclude a worker, by id or name: the judgments stay but do not count.")
@named("--include", "included", text="Let the judgments of an excluded worker count again.")
@named("--block", "blocked", text="Exclude a worker, and offer this worker no more hits.")
@named("--unblock", "unblocked", text="Offer hits to a blocked worker again.")
@click.option(
    "--bonus",
    metavar="SHARE|WORKER=AMOUNT",
    help="Pay good workers a bonus of this share of their rewards, such as 20%; or pay one worker, such as Ada=0.50.",
)
@click.option(
    "--reason",
    default="",
    help="Reason of an exclusion or block, or of a bonus, which the worker sees "
    "[excluded by the requester; careful work].",
)
@click.option(
    "--csv",
    "sheet",
    type=click.Path(dir_okay=False),
    help="Write what each worker is owed: name, pages, hours, pay.",
)
@market_options
@YES
@JSON
@QUIET
def workers(
    campaign: str,
    exclude: tuple[str, ...],
    included: tuple[str, ...],
    blocked: tuple[str, ...],
    unblocked: tuple[str, ...],
    bonus: str | None,
    reason: str,
    sheet: str | None,
    market: "MarketAddress",
    yes: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Report on each worker, with a verdict and its reasons; exclude, block or pay workers.

    Reports cover the answers that `rypt hits collect` and `import` added. "pay" is what you owe for them in dollars,
    with bonuses, for all work that was not rejected, also that of excluded workers. If the market is on this machine,
    workers' names are shown, and a note counts work not yet collected. A bonus with the same reason is paid once.
    """
    from hits.results.quality import worker_reports
    from hits.results.workers import exclude_workers, pay_of_workers

    names = {} if market.folder is None else _names(market.folder)
    exclude, included, blocked, unblocked = (
        _ids(people, names) for people in (exclude, included, blocked, unblocked)
    )
    if exclude or included or blocked:
        why = reason or "excluded by the requester"
        with open_campaign(campaign).database(readonly=False) as db:
            exclude_workers(db, (*exclude, *blocked), why, int(time.time()), include=included)
    if blocked or unblocked:
        client = market.open()
        for worker in blocked:
            client.block(worker, reason or "excluded by the requester")
        for worker in unblocked:
            client.unblock(worker)
    with open_results(campaign) as results:
        reports = worker_reports(results)
        pay = pay_of_workers(results)
        behind = 0 if market.folder is None else _behind(market.folder, results)
        if bonus:
            _pay_bonuses(results, reports, bonus, reason, names, market, yes=yes, quiet=quiet)
    if not reports:
        talk("no answers in the campaign yet; `rypt hits collect` brings them", quiet=quiet)
    elif behind:
        talk(
            f"note: on the market, {plural(behind, 'assignment')} came or changed since the last `rypt hits collect`; "
            "collect again to see this here",
            quiet=quiet,
        )
    for note in _still_rejected(included, pay, names):
        talk(f"note: {note}", quiet=quiet)
    if sheet:
        with open_output(sheet) as stream:
            rows = [
                (
                    names.get(worker, worker),
                    owed.assignments,
                    f"{owed.seconds / 3600:.2f}",
                    f"{owed.amount:.2f}",
                )
                for worker, owed in pay.items()
            ]
            csv.writer(stream, lineterminator="\n").writerows([("name", "pages", "hours", "pay"), *rows])
    if sheet != "-":
        _print_reports(reports, names, pay, as_json=as_json)


def _pay_bonuses(
    results: "Results",
    reports: "Sequence[WorkerReport]",
    bonus: str,
    reason: str,
    names: Mapping[str, str],
    market: "MarketAddress",
    *,
    yes: bool,
    quiet: bool,
) -> None:
    """Pay a share of their rewards to good workers, or an amount to one for the latest assignment; ask first."""
    from hits.market.client import whole_cents
    from hits.records import Bonus
    from hits.results.workers import bonus_payments

    worker, equals, amount = bonus.rpartition("=")
    if equals:
        (worker,) = _ids([worker], names)
        latest = [a.id for a in results.assignments() if a.worker == worker]
        if not latest:
            raise click.UsageError(f"--bonus {bonus}: expected a worker with collected work")
        try:
            payments = [Bonus(latest[-1], worker, whole_cents(Decimal(amount)))]
        except InvalidOperation:
            raise click.UsageError(f"--bonus {bonus}: expected an amount of dollars such as 0.50") from None
        client = market.open()
    else:
        rate = _read_share(bonus)
        client = market.open()
        payments = bonus_payments(results, reports, rate, client.paid)
    total = sum((payment.amount for payment in payments), Decimal(0))
    if payments and not yes:
        confirm(f"Pay {plural(len(payments), 'bonus', 'bonuses')}, ${total:.2f} in all?")
    why = reason or ("careful work" if equals else f"{bonus} more for careful work")
    paid = [p.amount for p in payments if client.bonus(p.worker, p.assignment, p.amount, why)]
    talk(f"{plural(len(paid), 'bonus', 'bonuses')} paid, ${sum(paid, Decimal(0)):.2f}", quiet=quiet)


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
            raise click.UsageError(f"{len(same)} workers are called {person}; use the id: {', '.join(same)}")
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
