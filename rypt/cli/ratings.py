"""``rypt import``: human annotation that exists already becomes judgments."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import wraps
from shlex import quote
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from rypt.console import FILE, JSON, QUIET, progress, talk, watcher
from rypt.options import SEGMENTERS
from rypt.ratings.error_spans import LABELLINGS, LEVELS, MATCHES, Policy, Raters, Rating
from rypt.ratings.repairs import Repairs
from rypt.text import open_output, plural, read_lines

OF_IMPORT = ("campaign", "label", "severity", "match", "omissions", "raters", "excluded", "scores")
OF_TEXTS = ("references", "reference_files", "people", "machines", "segmenter")
F = TypeVar("F", bound=Callable[..., Any])


@click.group("import")
def import_() -> None:
    """Turn error spans of existing evaluation campaigns into judgments.

    An error that a rater marked in a candidate makes the constituents it is aligned with unacceptable (NO), the others
    are acceptable (YES). Each rater is a worker, each system an origin. Ratings are matched with the campaign's
    segments and candidates by their texts. With only the file at hand, begin with --texts: it makes the texts of a
    campaign and prints the commands that lead there. Slips in the file are mended and counted; what cannot be placed
    is left out and counted, too.
    """


@dataclass(frozen=True, slots=True)
class Order:
    """What the options of both imports ask for: an import into a campaign, or the texts in a new folder."""

    campaign: str
    policy: Policy
    raters: Raters
    scores: str | None
    texts: str | None
    references: tuple[str, ...]
    reference_files: tuple[str, ...]
    people: tuple[str, ...]
    machines: tuple[str, ...]
    segmenter: str
    strict: bool
    repairs_file: str | None


def import_options(command: F) -> F:
    """Options of both imports, as one value ``order``."""

    @wraps(command)
    def with_order(
        *arguments: Any,
        campaign: str,
        label: str,
        severity: str,
        match: str,
        omissions: bool,
        raters: tuple[str, ...],
        excluded: tuple[str, ...],
        scores: str | None,
        texts: str | None,
        references: tuple[str, ...],
        reference_files: tuple[str, ...],
        people: tuple[str, ...],
        machines: tuple[str, ...],
        segmenter: str,
        strict: bool,
        repairs_file: str | None,
        **others: Any,
    ) -> Any:
        policy, whose = (
            Policy(label, severity, match, omissions),
            Raters(frozenset(raters), frozenset(excluded)),
        )
        order = Order(
            campaign,
            policy,
            whose,
            scores,
            texts,
            references,
            reference_files,
            people,
            machines,
            segmenter,
            strict,
            repairs_file,
        )
        return command(*arguments, order=order, **others)

    options = [
        click.option(
            "-C",
            "--campaign",
            type=click.Path(file_okay=False),
            default=".",
            show_default=True,
            help="The campaign's folder.",
        ),
        click.option(
            "--label",
            type=click.Choice(LABELLINGS),
            default="any",
            show_default=True,
            help="NO when an error touches the phrase, when a major one does, or when a third of it is "
            "marked.",
        ),
        click.option(
            "--severity",
            type=click.Choice(LEVELS),
            default="minor",
            show_default=True,
            help="The minimum severity that counts.",
        ),
        click.option(
            "--match",
            type=click.Choice(MATCHES),
            default="overlap",
            show_default=True,
            help="Whether an error must touch the phrase or lie wholly inside it.",
        ),
        click.option(
            "--omissions/--no-omissions",
            default=True,
            show_default=True,
            help="Count what is missing: marks in the source, and errors without a position.",
        ),
        click.option(
            "--rater", "raters", multiple=True, help="Take this rater's ratings only; may be repeated."
        ),
        click.option(
            "--exclude-rater", "excluded", multiple=True, help="Leave a rater out; may be repeated."
        ),
        click.option("--scores", type=click.Path(dir_okay=False), help="Write the raters' scores as JSONL."),
        click.option(
            "--texts",
            type=click.Path(),
            help="Import nothing; write the file's segments and outputs to "
            "this new folder, to make a campaign of.",
        ),
        click.option(
            "--reference",
            "references",
            multiple=True,
            metavar="SYSTEM",
            help="With --texts: a human translation among the systems, to be written as reference, too.",
        ),
        click.option(
            "--references",
            "reference_files",
            multiple=True,
            metavar="FILE",
            type=FILE,
            help="With --texts: "
            "a file with a reference, one line per segment in the order of the ids, or TSV or JSONL of ids "
            "and texts.",
        ),
        click.option(
            "--human",
            "people",
            multiple=True,
            metavar="SYSTEM",
            help="With --texts: a human translation that is not named like one.",
        ),
        click.option(
            "--system",
            "machines",
            multiple=True,
            metavar="SYSTEM",
            help="With --texts: a system that is named like a human translation (ref, refA, Human-A).",
        ),
        click.option(
            "--strict", is_flag=True, help="Refuse the file at its first slip, instead of mending it."
        ),
        click.option(
            "--repairs",
            "repairs_file",
            type=FILE,
            help="List what was mended or left out as JSONL: line, kind, problem, what was done.",
        ),
        click.option(
            "--segmenter",
            type=click.Choice(SEGMENTERS),
            default="auto",
            show_default=True,
            help="With --texts: what finds words of Chinese, Japanese, Thai, Lao, Khmer and Burmese.",
        ),
    ]
    decorated: Any = with_order
    for option in reversed(options):
        decorated = option(decorated)
    return cast(F, decorated)


@import_.command()
@click.argument("file", type=click.Path())
@import_options
@JSON
@QUIET
@click.pass_context
def mqm(context: click.Context, file: str, order: Order, as_json: bool, quiet: bool) -> None:
    """Import MQM ratings from a TSV FILE as google/wmt-mqm-human-evaluation has them.

    A line for each error, marked with <v>…</v>. Scores are weighted sums of errors, 0 is best: Major 5, Minor 1, Minor
    Fluency/Punctuation 0.1, Non-translation 25, Critical 10.
    """
    from rypt.ratings.mqm import read_mqm

    _refuse_idle_options(context)
    repairs = Repairs(file, order.strict)
    ratings = read_mqm(file, progress(read_lines(file), f"read {file}", quiet=quiet or as_json), repairs)
    _carry_out(order, f"mqm {quote(file)}", ratings, repairs, "lower", as_json=as_json, quiet=quiet)


@import_.command()
@click.argument("file", type=click.Path())
@click.option(
    "--batches", type=click.Path(dir_okay=False), help="The JSON of the batches, for Appraise's CSV."
)
@click.option(
    "--languages",
    metavar="SRC-TGT",
    help="Take the ratings of this language pair only, as the file names it, such as en-cs or eng-ces.",
)
@import_options
@JSON
@QUIET
@click.pass_context
def esa(
    context: click.Context,
    file: str,
    batches: str | None,
    languages: str | None,
    order: Order,
    as_json: bool,
    quiet: bool,
) -> None:
    """Import ESA ratings: exports of Appraise (CSV with --batches, JSONL) and pearmut, and WMT's JSONL.

    Scores run from 0 to 100, the best.
    """
    from rypt.ratings.esa import of_languages, read_esa

    _refuse_idle_options(context)
    repairs = Repairs(file, order.strict)
    ratings = read_esa(
        file, batches, progress(read_lines(file), f"read {file}", quiet=quiet or as_json), repairs
    )
    ratings = ratings if languages is None else of_languages(file, ratings, languages)
    options = (("--batches", batches), ("--languages", languages))
    command = " ".join(
        (f"esa {quote(file)}", *(f"{name} {quote(value)}" for name, value in options if value))
    )
    _carry_out(order, command, ratings, repairs, "higher", as_json=as_json, quiet=quiet)


def _refuse_idle_options(context: click.Context) -> None:
    """Refuse options of the import where only texts are written, and the other way round."""
    only_texts = context.params["texts"] is not None
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if given and only_texts and parameter.name in OF_IMPORT:
            raise click.UsageError(f"{parameter.opts[-1]} is for an import; --texts imports nothing")
        if given and not only_texts and parameter.name in OF_TEXTS:
            raise click.UsageError(f"{parameter.opts[-1]} goes with --texts")


def _carry_out(
    order: Order,
    command: str,
    ratings: list[Rating],
    repairs: Repairs,
    better: str,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the texts of the ratings, or import them."""
    if order.texts is not None:
        _write_texts(order, order.texts, command, ratings, repairs, as_json=as_json, quiet=quiet)
        return
    from rypt.campaign.folder import Campaign
    from rypt.ratings.importing import import_ratings_file

    campaign = Campaign.open(order.campaign, watcher(quiet=quiet or as_json))
    result = import_ratings_file(
        campaign,
        repairs.path,
        ratings,
        order.policy,
        order.raters,
        scores=order.scores,
        better=better,
        repairs=repairs,
        repairs_file=order.repairs_file,
    )
    text = json.dumps(result.as_dict(), ensure_ascii=False)
    if not as_json:
        text = "\n".join((str(result), *repairs.summary()))
    click.echo(text, err="-" in (order.scores, order.repairs_file))
    if order.scores is not None and not as_json:
        talk(f"{plural(result.scores or 0, 'score')} written to {order.scores}", quiet=quiet)


def _write_texts(
    order: Order,
    folder: str,
    command: str,
    ratings: list[Rating],
    repairs: Repairs,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the texts of ratings, and print the commands to run next."""
    from rypt.ratings.texts import Translators, collect_texts
    from rypt.texts.segmenters import choose_segmenter

    translators = Translators(order.references, order.reference_files, order.people, order.machines)
    texts = collect_texts(repairs.path, ratings, translators, repairs, choose_segmenter(order.segmenter))
    with nullcontext() if order.repairs_file is None else open_output(order.repairs_file) as stream:
        texts.write(folder)
        if stream is not None:
            repairs.write(stream)
    to_stderr = order.repairs_file == "-"
    if as_json:
        facts = {"file": str(repairs.path), "folder": folder, **texts.as_dict()}
        facts |= {"repairs": repairs.counts} if repairs.items else {}
        click.echo(json.dumps(facts, ensure_ascii=False), err=to_stderr)
        return
    click.echo("\n".join((texts.summary(folder), *repairs.summary())), err=to_stderr)
    talk("next: " + "\n      ".join(texts.next_commands(folder, command)), quiet=quiet)
