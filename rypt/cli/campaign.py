"""``rypt init``, ``score``, ``queries``, ``explain``: what one does with a campaign."""

import json
import os
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rypt.console import AMOUNT, CAMPAIGN, FILE, JSON, QUIET, colours_wanted, read_amount, talk, watcher
from rypt.options import CASES, HOLD_OUT, MODELS, PICKS, TIES, UNKNOWN_AS
from rypt.text import RyptError, open_output

if TYPE_CHECKING:
    from rypt.campaign.folder import Campaign
    from rypt.metric.report import ScoreReport
    from rypt.metric.scorer import Scorer
    from rypt.records import Candidate

F = TypeVar("F", bound=Callable[..., Any])
COLOURS = {0: None, 1: "green", 2: "red", 3: "bright_green", 4: "bright_red"}


def scoring_options(command: F) -> F:
    """Options of everything that scores; without them the campaign's own settings hold."""
    for option in reversed(
        [
            click.option("--model", type=click.Choice(MODELS), help="How labels spread."),
            click.option(
                "--unknown",
                type=click.Choice(UNKNOWN_AS),
                help="What a constituent without a label counts as.",
            ),
            click.option("--ties", type=click.Choice(TIES), help="What a tied vote counts as."),
            click.option(
                "--hold-out",
                type=click.Choice(HOLD_OUT),
                default="worker",
                show_default=True,
                help="Whose judgments teach the models table and tree.",
            ),
            click.option(
                "--database",
                type=FILE,
                help="Judgments to use instead of the campaign's, such as aggregated ones (`rypt hits aggregate`).",
            ),
        ]
    ):
        command = option(command)
    return command


def build_scorer(
    campaign: "Campaign", candidates: "list[Candidate]", model: str | None, unknown: str | None, ties: str | None,
    hold_out: str,
) -> "Scorer":  # fmt: skip
    """The scorer of a campaign's database, with its settings where no option says otherwise."""
    from rypt.metric.calibration import scorer_from_database

    model = model or campaign.scoring.model
    if unknown and model != "percolation":
        raise click.UsageError(f"--unknown goes with --model percolation; {model} gives unknowns a probability")
    with campaign.database() as db:
        return scorer_from_database(
            campaign.trees,
            db,
            candidates,
            model=model,
            unknown=unknown or campaign.scoring.unknown,
            ties=ties or campaign.scoring.ties,
            hold_out=hold_out,
        )


def open_campaign(folder: str, database: str | None, *, quiet: bool = True) -> "Campaign":
    """The campaign in a folder, with another judgment database in the place of its own where one is given."""
    from dataclasses import replace

    from rypt.campaign.folder import Campaign

    opened = Campaign.open(folder, watcher(quiet=quiet))
    if database is None:
        return opened
    files = replace(opened.files, database=os.path.abspath(database))
    return replace(opened, settings=replace(opened.settings, files=files))


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--source", required=True, type=FILE, help="Source segments: a line each, or JSONL with id and text.")
@click.option("--trees", type=FILE, help="Their trees: Penn brackets or CoNLL-U; () or an empty line for no parse.")
@click.option("--nbest", multiple=True, type=click.Path(), help="Candidates: n-best lists, JSONL, plain output; or a "
              "folder of such files.")  # fmt: skip
@click.option("--alignments", multiple=True, type=click.Path(), help="Alignments of a list without them: a file for "
              "each --nbest, for a folder one with a file named like each list.")  # fmt: skip
@click.option("--references", multiple=True, type=FILE, help="Reference translations, a line each segment.")
@click.option("--lexicon", type=FILE, help="Training alignments: source ||| target ||| links, or a phrase table.")
@click.option("--case", type=click.Choice(CASES), help="How the database compares phrases [lower].")
@click.option("--languages", metavar="SRC-TGT", help="The language pair, such as de-en or en:zh-Hans.")
@click.option("--decoder", metavar="COMMAND", help="What decodes: a shell command with {weights} and {nbest} in it, "
              "or package.module:function; run from the folder you are in now.")  # fmt: skip
@click.option("--weights", type=FILE, help="The weights to start with.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds the decoder may take.")
@click.option("--market", metavar="FOLDER|URL", help="The folder of your market, or an endpoint [FOLDER/market].")
@click.option("--wage", callback=lambda context, option, value: read_amount(value), metavar="DOLLARS",
              help="What workers earn an hour.")  # fmt: skip
@click.option("--assignments", type=click.IntRange(1, 1000), help="How many workers answer each question [1].")
@AMOUNT
@click.option("--labels", type=click.IntRange(min=1), help="The most answers an iteration of the loop asks for [200].")
@QUIET
def init(
    folder: str, source: str, trees: str | None, nbest: tuple[str, ...], alignments: tuple[str, ...],
    references: tuple[str, ...], lexicon: str | None, languages: str | None, case: str | None, decoder: str | None,
    weights: str | None, timeout: float | None, market: str | None, wage: Decimal | None, assignments: int | None,
    budget: Decimal | None, labels: int | None, quiet: bool,
) -> None:  # fmt: skip
    """Check texts and make a campaign of them in FOLDER.

    A campaign is a folder with rypt.toml, which names the texts where they are, and the database of judgments. With a
    decoder no list is needed: `rypt decode` makes the first, and `rypt loop` does all that follows.
    """
    from rypt.campaign.folder import create
    from rypt.campaign.settings import DecoderSettings, Languages, LoopSettings, MarketSettings
    from rypt.texts.lists import expand_lists

    pair = (languages or "-").split(":" if ":" in (languages or "") else "-")
    if len(pair) != 2:
        raise click.UsageError(f"expected a language pair like de-en or en:zh-Hans, found {languages!r}")
    if timeout is not None and decoder is None:
        raise click.UsageError("--timeout is for a --decoder")

    def relative(path: str) -> str:
        return os.path.relpath(path, folder)

    far = market is not None and "://" in market
    there = MarketSettings(
        folder=relative(market) if market and not far else "market", endpoint=market if far else None, wage=wage,
        assignments=assignments or 1,
    )  # fmt: skip
    runs = DecoderSettings(
        decoder, relative(weights) if weights else None, relative(".") if decoder else ".", timeout
    )  # fmt: skip
    lists, links = expand_lists(nbest, alignments)
    campaign = create(
        folder, source=source, trees=trees, nbest=lists, alignments=links, references=references,
        lexicon=lexicon, languages=Languages(pair[0] or None, pair[1] or None), decoder=runs, market=there,
        loop=LoopSettings(budget, labels) if labels else LoopSettings(budget), watch=watcher(quiet=quiet), case=case,
    )  # fmt: skip
    talk(summary(campaign), quiet=quiet)
    if decoder:
        talk(f"next: rypt loop {folder}, or step by step: rypt decode {folder}", quiet=quiet)


def summary(campaign: "Campaign") -> str:
    """What a campaign holds, in a few lines."""
    unparsed = [segment for segment, tree in campaign.trees.items() if tree is None]
    lines = [f"{campaign.folder}: {len(campaign.segments)} segments, {len(campaign.candidates)} candidates"]
    if unparsed:
        shown = ", ".join(unparsed[:5]) + (", …" if len(unparsed) > 5 else "")
        lines.append(f"{len(unparsed)} segments without a parse are left out of scores and queries: {shown}")
    missing = len(campaign.segments) - len({c.segment for c in campaign.candidates})
    if missing and campaign.files.nbest:
        lines.append(f"{missing} segments have no candidate")
    return "\n".join(lines)


@click.command()
@CAMPAIGN
@click.option("--candidates", "file", type=click.Path(), help="Score these candidates instead of the campaign's lists.")
@click.option("--alignments", type=click.Path(), help="Alignments of these candidates, line by line.")
@click.option(
    "--pick", type=click.Choice(PICKS), default="first", show_default=True,
    help="Score the first candidate of each segment, or the best by RYPT.",
)  # fmt: skip
@click.option("--segments", "with_segments", is_flag=True, help="A line each segment.")
@click.option("-b", "--score-only", is_flag=True, help="Print the number alone.")
@scoring_options
@JSON
@QUIET
def score(
    campaign: str, file: str | None, alignments: str | None, pick: str, with_segments: bool, score_only: bool,
    model: str | None, unknown: str | None, ties: str | None, hold_out: str, database: str | None, as_json: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Print the RYPT score of a corpus, with its signature and its coverage before and after percolation."""
    from rypt.metric.report import score_report

    opened = open_campaign(campaign, database, quiet=quiet)
    if alignments and not file:
        raise click.UsageError("--alignments goes with --candidates")
    candidates = opened.read_candidates(file, alignments) if file else opened.candidates
    scorer = build_scorer(opened, opened.candidates, model, unknown, ties, hold_out)
    report = score_report(scorer, candidates, pick=pick)
    if as_json:
        click.echo(json.dumps(report.as_dict(with_segments=with_segments), ensure_ascii=False))
    elif score_only:
        click.echo(f"{report.score:.4f}")
    else:
        click.echo(format_report(report, with_segments=with_segments))


def format_report(report: "ScoreReport", *, with_segments: bool = False) -> str:
    """A score for people."""
    from tabulate import tabulate

    covered = report.coverage
    lines = []
    if with_segments:
        rows = [
            (s.segment, f"{s.score:.4f}", f"{s.before:.0%}", f"{s.after:.0%}", s.candidate) for s in report.segments
        ]
        names = ("segment", "RYPT", "labelled", "percolated", "candidate")
        lines += [tabulate(rows, names, tablefmt="plain", disable_numparse=True), ""]
    which = "first candidates" if report.pick == "first" else "candidates best by RYPT"
    lines.append(f"RYPT = {report.score:.4f}   {which} of {len(report.segments)} segments")
    lines.append(
        f"coverage {covered.before:.1%} labelled, {covered.after:.1%} after percolation, "
        f"of {covered.nodes} constituents "
        f"({covered.unaligned / max(1, covered.nodes):.1%} unaligned, {covered.conflicts} NO below YES)"
    )
    lines.append(
        f"all {report.candidates} candidates {report.all_candidates:.4f}, best of each segment {report.best:.4f} "
        f"({report.tied:.1f} tied at the top)"
    )
    if report.without_candidate:
        lines.append(f"{report.without_candidate} segments have no candidate and are left out")
    if report.without_parse:
        lines.append(f"{report.without_parse} segments without a parse left out")
    if report.unused_keys:
        lines.append(f"{report.unused_keys} judged keys are of no constituent and were not used (see 'rypt db check')")
    lines.append(report.signature)
    return "\n".join(lines)


@click.command()
@click.argument("segment")
@click.argument("candidate", type=click.IntRange(min=0), default=0)
@click.option(
    "-C", "--campaign", type=click.Path(file_okay=False), default=".", show_default=True, help="The campaign."
)
@click.option("--max-len", type=click.IntRange(min=1), help="The frontier to mark [4].")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write a picture: a .svg or an .html file.")
@scoring_options
def explain(
    segment: str, candidate: int, campaign: str, max_len: int | None, output: str | None, model: str | None,
    unknown: str | None, ties: str | None, hold_out: str, database: str | None,
) -> None:  # fmt: skip
    """Draw the tree of SEGMENT with the labels and phrases of a CANDIDATE (a number from 0, in the list's order)."""
    if output is not None and not output.endswith((".svg", ".html")):
        raise click.UsageError(f"expected an output .svg or .html, found {output}")
    opened = open_campaign(campaign, database)
    scorer = build_scorer(opened, opened.candidates, model, unknown, ties, hold_out)
    click.echo(explained(opened, scorer, segment, candidate, max_len, output))


def explained(
    campaign: "Campaign", scorer: "Scorer", segment: str, number: int, max_len: int | None = None,
    output: str | None = None,
) -> str:  # fmt: skip
    """The outline of one candidate's tree; the picture is written where ``output`` says."""
    from rypt.metric.drawing import as_html, as_svg
    from rypt.metric.explain import as_text
    from rypt.metric.explain import explain as find_explanation

    if segment not in campaign.trees:
        raise RyptError(f"segment {segment!r} is not in the campaign")
    own = [c for c in campaign.candidates if c.segment == segment]
    if number >= len(own):
        raise RyptError(f"segment {segment} has {len(own)} candidates, from 0; there is no candidate {number}")
    with campaign.database() as db:
        votes = db.votes(segment)
    explanation = find_explanation(scorer, own[number], votes, max_len=max_len or campaign.scoring.max_len)
    if output is not None:
        with open_output(output) as stream:
            stream.write(as_html(explanation) if output.endswith(".html") else as_svg(explanation))
    if not colours_wanted():
        return as_text(explanation)
    return as_text(explanation, lambda text, state: click.style(text, fg=COLOURS[state]))
