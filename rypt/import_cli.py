"""``rypt import``: human annotation that exists already becomes judgments."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rypt.cli import JSON, QUIET, progress, talk, watcher
from rypt.error_spans import LABELLINGS, MATCHES, SEVERITIES, Policy, Raters, Rating
from rypt.text import open_output, read_lines

if TYPE_CHECKING:
    from rypt.rating_import import RatingImport

F = TypeVar("F", bound=Callable[..., Any])


@click.group("import")
def import_() -> None:
    """Turn error spans of existing evaluation campaigns into judgments.

    An error that a rater marked in a candidate makes the constituents it is aligned with unacceptable (NO), the others
    are acceptable (YES). Each rater is a worker, each system an origin. Ratings are matched with the campaign's
    segments and candidates by their texts.
    """


def policy_options(command: F) -> F:
    """Options of both imports."""
    for option in reversed(
        [
            click.option("-C", "--campaign", type=click.Path(file_okay=False), default=".", show_default=True,
                         help="The campaign."),
            click.option("--label", type=click.Choice(LABELLINGS), default="any", show_default=True,
                         help="NO when an error touches the phrase, when a major one does, or when a third of it is "
                         "marked."),
            click.option("--severity", type=click.Choice(SEVERITIES), default="minor", show_default=True,
                         help="The least severity that counts."),
            click.option("--match", type=click.Choice(MATCHES), default="overlap", show_default=True,
                         help="Whether an error must touch the phrase or lie wholly inside it."),
            click.option("--omissions/--no-omissions", default=True, show_default=True,
                         help="Count what is missing: marks in the source, and errors without a place."),
            click.option("--rater", "raters", multiple=True, help="Take this rater's ratings only; may be repeated."),
            click.option("--exclude-rater", "excluded", multiple=True, help="Leave a rater out; may be repeated."),
            click.option("--scores", type=click.Path(dir_okay=False), help="Write the raters' scores as JSONL."),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


@import_.command()
@click.argument("file", type=click.Path())
@policy_options
@JSON
@QUIET
def mqm(
    file: str, campaign: str, label: str, severity: str, match: str, omissions: bool, raters: tuple[str, ...],
    excluded: tuple[str, ...], scores: str | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Import MQM ratings from a TSV FILE as google/wmt-mqm-human-evaluation has them.

    A line for each error, marked with <v>…</v>. Scores are weighted sums of errors, 0 is best: Major 5, Minor 1, Minor
    Fluency/Punctuation 0.1, Non-translation 25, Critical 10.
    """
    from rypt.mqm import read_mqm

    ratings = read_mqm(file, progress(read_lines(file), f"read {file}", quiet=quiet or as_json))
    policy, whose = _policy(label, severity, match, omissions), Raters(frozenset(raters), frozenset(excluded))
    _import(campaign, file, ratings, policy, whose, scores, "lower", as_json, quiet)


@import_.command()
@click.argument("file", type=click.Path())
@click.option("--batches", type=click.Path(dir_okay=False), help="The JSON of the batches, for Appraise's CSV.")
@policy_options
@JSON
@QUIET
def esa(
    file: str, batches: str | None, campaign: str, label: str, severity: str, match: str, omissions: bool,
    raters: tuple[str, ...], excluded: tuple[str, ...], scores: str | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Import ESA ratings: exports of Appraise (CSV with --batches, JSONL) and pearmut, and WMT's JSONL.

    Scores run from 0 to 100, the best.
    """
    from rypt.esa import read_esa

    ratings = read_esa(file, batches, progress(read_lines(file), f"read {file}", quiet=quiet or as_json))
    policy, whose = _policy(label, severity, match, omissions), Raters(frozenset(raters), frozenset(excluded))
    _import(campaign, file, ratings, policy, whose, scores, "higher", as_json, quiet)


def _policy(label: str, severity: str, match: str, omissions: bool) -> Policy:
    if label == "dens" and match == "containment":
        raise click.UsageError("--label dens counts marked tokens and goes with --match overlap")
    return Policy(label, severity, match, omissions)


def _import(
    campaign: str, file: str, ratings: list[Rating], policy: Policy, raters: Raters, scores: str | None, better: str,
    as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Import ratings, write their scores, and say what became of them."""
    from rypt.campaign import Campaign
    from rypt.rating_import import import_ratings, write_scores

    opened = Campaign.open(campaign, watcher(quiet=quiet or as_json))
    result, matched = import_ratings(opened, file, ratings, policy, raters)
    facts = result.as_dict()
    if scores is not None:
        with open_output(scores) as stream:
            facts["scores"] = write_scores(matched, stream, better=better)
    if as_json:
        click.echo(json.dumps({"file": file, **facts}, ensure_ascii=False))
        return
    click.echo(_said(file, result))
    if scores is not None:
        talk(f"{facts['scores']} scores written to {scores}", quiet=quiet)


def _said(file: str, result: "RatingImport") -> str:
    lines = [
        f"{file}: {result.added} judgments added, {result.already} already there, from {result.matched} of "
        f"{result.ratings} ratings ({result.raters} raters, {result.systems} systems)"
    ]
    lines += [f"  {count} ratings not used: {reason}" for reason, count in result.unmatched.items()]
    lines += [f"  {count} errors of severity {name!r}, which is not known, not counted"
              for name, count in result.unknown_severities.items()]  # fmt: skip
    if result.left_open:
        lines.append(f"  {result.left_open} constituents left open: an error is partly inside them")
    return "\n".join(lines)
