"""``rypt import``: human annotation that exists already becomes judgments."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from rypt.console import JSON, QUIET, progress, talk, watcher
from rypt.ratings.error_spans import LABELLINGS, MATCHES, SEVERITIES, Policy, Raters, Rating
from rypt.text import open_output, read_lines

if TYPE_CHECKING:
    from rypt.ratings.importing import RatingImport
    from rypt.ratings.texts import RatingTexts

OF_IMPORT = ("campaign", "label", "severity", "match", "omissions", "raters", "excluded", "scores")
F = TypeVar("F", bound=Callable[..., Any])


@click.group("import")
def import_() -> None:
    """Turn error spans of existing evaluation campaigns into judgments.

    An error that a rater marked in a candidate makes the constituents it is aligned with unacceptable (NO), the others
    are acceptable (YES). Each rater is a worker, each system an origin. Ratings are matched with the campaign's
    segments and candidates by their texts. With only the file at hand, begin with --texts: it makes the texts of a
    campaign and says the commands that lead there.
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
            click.option("--texts", type=click.Path(), help="Import nothing; write the file's segments and outputs to "
                         "this new folder, to make a campaign of."),
            click.option("--reference", "references", multiple=True, metavar="SYSTEM", help="With --texts: a human "
                         "translation among the systems, to be written as reference, too."),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


@import_.command()
@click.argument("file", type=click.Path())
@policy_options
@JSON
@QUIET
@click.pass_context
def mqm(
    context: click.Context, file: str, campaign: str, label: str, severity: str, match: str, omissions: bool,
    raters: tuple[str, ...], excluded: tuple[str, ...], scores: str | None, texts: str | None,
    references: tuple[str, ...], as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Import MQM ratings from a TSV FILE as google/wmt-mqm-human-evaluation has them.

    A line for each error, marked with <v>…</v>. Scores are weighted sums of errors, 0 is best: Major 5, Minor 1, Minor
    Fluency/Punctuation 0.1, Non-translation 25, Critical 10.
    """
    from rypt.ratings.mqm import read_mqm

    _refuse_idle_options(context)
    ratings = read_mqm(file, progress(read_lines(file), f"read {file}", quiet=quiet or as_json))
    if texts is not None:
        _write_texts(texts, f"mqm {quote(file)}", file, ratings, references, as_json, quiet)
        return
    policy, whose = _policy(label, severity, match, omissions), Raters(frozenset(raters), frozenset(excluded))
    _import(campaign, file, ratings, policy, whose, scores, "lower", as_json, quiet)


@import_.command()
@click.argument("file", type=click.Path())
@click.option("--batches", type=click.Path(dir_okay=False), help="The JSON of the batches, for Appraise's CSV.")
@click.option("--languages", metavar="SRC-TGT", help="Take the ratings of this language pair only, as the file names "
              "it, such as en-cs or eng-ces.")  # fmt: skip
@policy_options
@JSON
@QUIET
@click.pass_context
def esa(
    context: click.Context, file: str, batches: str | None, languages: str | None, campaign: str, label: str,
    severity: str, match: str, omissions: bool, raters: tuple[str, ...], excluded: tuple[str, ...],
    scores: str | None, texts: str | None, references: tuple[str, ...], as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Import ESA ratings: exports of Appraise (CSV with --batches, JSONL) and pearmut, and WMT's JSONL.

    Scores run from 0 to 100, the best.
    """
    from rypt.ratings.esa import of_languages, read_esa

    _refuse_idle_options(context)
    ratings = read_esa(file, batches, progress(read_lines(file), f"read {file}", quiet=quiet or as_json))
    ratings = ratings if languages is None else of_languages(file, ratings, languages)
    if texts is not None:
        options = (("--batches", batches), ("--languages", languages))
        command = " ".join((f"esa {quote(file)}", *(f"{name} {quote(value)}" for name, value in options if value)))
        _write_texts(texts, command, file, ratings, references, as_json, quiet)
        return
    policy, whose = _policy(label, severity, match, omissions), Raters(frozenset(raters), frozenset(excluded))
    _import(campaign, file, ratings, policy, whose, scores, "higher", as_json, quiet)


def _refuse_idle_options(context: click.Context) -> None:
    """Refuse options of the import where only texts are written, and the other way round."""
    of_texts = context.params["texts"] is not None
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if given and of_texts and parameter.name in OF_IMPORT:
            raise click.UsageError(f"{parameter.opts[-1]} is for an import; --texts imports nothing")
        if given and not of_texts and parameter.name == "references":
            raise click.UsageError("--reference goes with --texts")


def _write_texts(
    folder: str, command: str, file: str, ratings: list[Rating], references: tuple[str, ...], as_json: bool, quiet: bool
) -> None:
    """Write the texts of ratings, and say what to do with them."""
    from rypt.ratings.texts import collect_texts, write_texts

    texts = collect_texts(file, ratings, references)
    write_texts(texts, folder)
    if as_json:
        facts = {
            "file": file, "folder": folder, "segments": len(texts.sources),
            "systems": {name: len(own) for name, own in texts.systems.items()}, "references": texts.references,
            "other_outputs": texts.other_outputs, "without_reference": texts.without_reference,
            "renumbered": texts.renumbered,
        }  # fmt: skip
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    click.echo(_texts_said(folder, texts))
    talk(_next_commands(folder, command, texts), quiet=quiet)


def _texts_said(folder: str, texts: "RatingTexts") -> str:
    outputs = sum(map(len, texts.systems.values()))
    lines = [f"{folder}: {len(texts.sources)} segments, {outputs} outputs of {len(texts.systems)} systems"]
    if texts.renumbered:
        lines.append("  segments are numbered from 0: in the file, ids are missing or are of several sources")
    if texts.without_reference:
        lines.append(f"  {texts.without_reference} segments left out: without {' or '.join(texts.references)}")
    if texts.other_outputs:
        lines.append(f"  {texts.other_outputs} ratings are of a second output of a system for a segment, left out")
    human = [name for name in texts.systems if name.lower().startswith(("ref", "human"))]
    if human and not texts.references:
        lines.append(f"  {', '.join(human)}: a human translation? --reference {human[0]} makes it a reference")
    return "\n".join(lines)


def _next_commands(folder: str, command: str, texts: "RatingTexts") -> str:
    """What leads from the texts to a campaign with judgments."""
    from rypt.ratings.texts import REFERENCES, SOURCE, SYSTEMS
    from rypt.tools.parsers import PARSERS, is_installed

    def inside(*names: str) -> str:
        return quote("/".join((folder.rstrip("/") or "/", *names)))

    parser = "--language LANGUAGE" if any(map(is_installed, PARSERS)) else "--tool fallback"
    source, systems = inside(SOURCE), inside(SYSTEMS)
    trees, links, scores = inside("source.trees"), inside("links"), inside("scores.jsonl")
    references = "".join(f" --references {inside(REFERENCES, f'{name}.txt')}" for name in texts.references)
    judged_only = "".join(f" --judged-only {quote(name)}" for name in texts.references)
    commands = [
        f"rypt parse {source} {parser} -o {trees}",
        f"rypt align --source {source} --nbest {systems} -o {links}",
        f"rypt init {inside()} --source {source} --trees {trees} --nbest {systems} --alignments {links}{references}",
        f"rypt import {command} -C {inside()} --scores {scores}",
    ]
    if texts.references:
        commands.append(f"rypt compare {inside()} --scores {scores}{judged_only}")
    return "next: " + "\n      ".join(commands)


def _policy(label: str, severity: str, match: str, omissions: bool) -> Policy:
    if label == "dens" and match == "containment":
        raise click.UsageError("--label dens counts marked tokens and goes with --match overlap")
    return Policy(label, severity, match, omissions)


def _import(
    campaign: str, file: str, ratings: list[Rating], policy: Policy, raters: Raters, scores: str | None, better: str,
    as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Import ratings, write their scores, and say what became of them.

    The file of scores is opened first: where it cannot be written, nothing is imported.
    """
    from rypt.campaign.folder import Campaign
    from rypt.ratings.importing import import_ratings, write_scores

    opened = Campaign.open(campaign, watcher(quiet=quiet or as_json))
    with nullcontext() if scores is None else open_output(scores) as stream:
        result, matched = import_ratings(opened, file, ratings, policy, raters)
        facts = result.as_dict()
        if stream is not None:
            facts["scores"] = write_scores(matched, stream, better=better)
    if as_json:
        click.echo(json.dumps({"file": file, **facts}, ensure_ascii=False), err=scores == "-")
        return
    click.echo(_said(file, result), err=scores == "-")
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
