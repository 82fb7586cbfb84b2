"""``rypt hits recruit``: people from Prolific for a batch on your own market."""

import json
from dataclasses import asdict, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hits.cli.shared import BATCH, MARKET, TOKEN_FILE, YES, confirm, open_prolific
from rypt.console import JSON, MONEY
from rypt.text import plural

if TYPE_CHECKING:
    from hits.market.recruit import StudyPlan


@click.command()
@BATCH
@MARKET
@click.option(
    "--hits-each",
    type=click.IntRange(min=1),
    help="Number of hits that a participant does [as set in `rypt hits serve`].",
)
@click.option(
    "--places", type=click.IntRange(min=1), help="Number of participants [enough for the whole batch]."
)
@click.option(
    "--reward", type=MONEY, help="What a participant gets [the mean reward of this number of hits]."
)
@click.option(
    "--filters", type=click.Path(dir_okay=False), help="File with participant filters in Prolific's JSON."
)
@click.option(
    "--device",
    "devices",
    type=click.Choice(["desktop", "tablet", "mobile"]),
    multiple=True,
    help="Device that participants may use; may be repeated [all].",
)
@click.option(
    "--publish", "action", flag_value="PUBLISH", help="Start the study: from then on it costs money."
)
@click.option("--stop", "action", flag_value="STOP", help="Stop the study for good.")
@TOKEN_FILE
@YES
@JSON
def recruit(
    batch: str,
    market: str | None,
    hits_each: int | None,
    places: int | None,
    reward: Decimal | None,
    filters: str | None,
    devices: tuple[str, ...],
    action: str | None,
    token_file: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Recruit people on Prolific for a BATCH that is published on your own market.

    Without --publish or --stop, creates a draft of the study from the batch's title, description and price, and shows
    its cost with the service's fee. Every step can be repeated: no second study is created. Afterwards use `rypt hits
    review`, `workers`, `collect` and `status` with the same token.
    """
    from hits.batch.folder import read_batch
    from hits.market.client import campaign_around, market_address
    from hits.market.folder import served_access
    from hits.market.recruit import plan_study, set_state
    from hits.market.recruit import recruit as make_study

    at = market_address(market or campaign_around(batch) or campaign_around(".") or "market").folder
    if at is None:
        raise click.UsageError("people are recruited for a local market: expected its folder as --market")
    service = open_prolific(token_file)
    if action:
        if action == "PUBLISH" and not yes:
            confirm("Open the study? Participants who finish must be paid.")
        study = set_state(batch, at, service, action)
        click.echo(json.dumps(asdict(study)) if as_json else f"study {study.id} is {study.status}")
        return
    plan = plan_study(read_batch(batch), hits_each or served_access(at).hits_each or 5, places)
    plan = replace(
        plan,
        reward=plan.reward if reward is None else reward,
        filters=_read_filters(filters) if filters else (),
        devices=devices or plan.devices,
    )
    done = make_study(batch, at, service, plan, confirm=lambda plan, cost: yes or confirm(_offer(plan, cost)))
    if as_json:
        click.echo(json.dumps({**asdict(done.study), "cost": str(done.cost), "made": done.made}))
    else:
        what = "made" if done.made else "was there"
        click.echo(
            f"study {done.study.id} {what} ({done.study.status}), {done.cost} with the fee; --publish opens it"
        )


def _offer(plan: "StudyPlan", cost: Decimal) -> str:
    hourly = plan.reward * 60 / plan.minutes
    return (
        f"Make a study of {plural(plan.places, 'place')}, {plural(plan.hits_each, 'hit')} each, {plan.reward} for "
        f"about {plural(plan.minutes, 'minute')} ({hourly:.2f} an hour): {cost} with the fee, in the currency of "
        "your account?"
    )


def _read_filters(path: str) -> list[dict[str, Any]]:
    from rypt.strict import SyntaxFormatError, parse_json
    from rypt.text import InputError

    try:
        value = parse_json(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SyntaxFormatError) as error:
        raise InputError(path, None, f"expected Prolific's filters as JSON: {error}") from None
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise InputError(path, None, "expected a list of filters")
    return value
