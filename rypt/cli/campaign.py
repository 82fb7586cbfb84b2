"""``rypt init``, ``rypt score`` and ``rypt explain``: a campaign and its scores."""

import json
from collections.abc import Callable
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from rypt.console import AMOUNT, FILE, JSON, MONEY, QUIET, painter, talk, watcher
from rypt.options import CASES, MODELS, PICKS, TIES, TOKENS, UNKNOWN_AS

if TYPE_CHECKING:
    from rypt.campaign.scoring import ScoringChoices

F = TypeVar("F", bound=Callable[..., Any])
AT_LEAST_1 = click.IntRange(min=1)
TREES = (
    "Trees of the segments: Penn brackets or CoNLL-U; () or an empty line for a segment without a parse "
    "[made from punctuation and length]."
)
LISTS = "Candidates: an n-best list, JSONL or plain output, or a folder of such files."
LINKS = (
    "Word alignments, a file for each --nbest, or for a folder of lists a folder of files with the same "
    "names [made by rypt]."
)
CUT = "Tokenise texts: auto, if they are raw and have no trees and links; make, always; keep, never."
MODEL = (
    "How candidates are scored: percolation as in the paper, a calibrated table, or severity, which picks"
    " best if judgments have severities [percolation]."
)
DECODER = (
    "The decoder: a shell command with {weights} and {nbest} in it, or package.module:function; it runs in the current "
    "folder."
)
PICK = "Score the first candidate of each segment, or the best by RYPT."
SEGMENTS = "Also print a line per segment, with the candidate's number for `rypt explain`."
SCORING = (
    click.option("--model", type=click.Choice(MODELS), help="How labels spread to other constituents."),
    click.option(
        "--unknown", type=click.Choice(UNKNOWN_AS), help="What an unlabelled constituent counts as."
    ),
    click.option("--ties", type=click.Choice(TIES), help="What a tied vote counts as."),
    click.option(
        "--database",
        type=FILE,
        help="Use the judgments in this file instead, such as one written by `rypt hits aggregate`.",
    ),
)


def scoring_options(command: F) -> F:
    """Options of all commands that score, as one value ``choices``; the defaults are the campaign's settings."""

    @wraps(command)
    def with_choices(**values: Any) -> Any:
        from rypt.campaign.scoring import ScoringChoices

        choices = {name: values.pop(name) for name in ("model", "unknown", "ties", "database")}
        return command(choices=ScoringChoices(**choices), **values)

    decorated: Any = with_choices
    for option in reversed(SCORING):
        decorated = option(decorated)
    return cast(F, decorated)


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--source", required=True, type=FILE, help="A segment per line, or JSONL with id and text.")
@click.option("--trees", type=FILE, help=TREES)
@click.option("--nbest", multiple=True, type=click.Path(), help=LISTS)
@click.option("--alignments", multiple=True, type=click.Path(), help=LINKS)
@click.option("--references", multiple=True, type=FILE, help="Reference translations, a line per segment.")
@click.option("--lexicon", type=FILE, help="Alignments: source ||| target ||| links, or a phrase table.")
@click.option("--case", type=click.Choice(CASES), help="Compare phrases in lower case, or keep case [lower].")
@click.option("--languages", metavar="SRC-TGT", help="The language pair, such as de-en or en:zh-Hans.")
@click.option("--tokens", type=click.Choice(TOKENS), default="auto", show_default=True, help=CUT)
@click.option("--model", type=click.Choice(MODELS), help=MODEL)
@click.option("--decoder", metavar="COMMAND", help=DECODER)
@click.option("--weights", type=FILE, help="File of weights to start with.")
@click.option(
    "--market", metavar="FOLDER|URL", help="A local market's folder, or an endpoint [FOLDER/market]."
)
@click.option("--wage", type=MONEY, help="The wage of workers, in dollars an hour.")
@click.option("--assignments", type=click.IntRange(1, 1000), help="Workers who answer each question [1].")
@AMOUNT
@click.option("--labels", type=AT_LEAST_1, help="Maximum number of new questions per iteration [200].")
@QUIET
def init(
    folder: str,
    source: str,
    trees: str | None,
    nbest: tuple[str, ...],
    alignments: tuple[str, ...],
    references: tuple[str, ...],
    lexicon: str | None,
    languages: str | None,
    tokens: str,
    case: str | None,
    model: str | None,
    decoder: str | None,
    weights: str | None,
    market: str | None,
    wage: Decimal | None,
    assignments: int | None,
    budget: Decimal | None,
    labels: int | None,
    quiet: bool,
) -> None:
    """Check texts and create a campaign from them in FOLDER.

    A campaign is a folder with the settings (rypt.toml) and the database of judgments. What your texts lack
    (tokens, trees, word alignments) is made in FOLDER/prepared. With --decoder, --nbest may be left out:
    `rypt loop` decodes the first list.
    """
    from rypt.campaign.create import create_campaign
    from rypt.campaign.settings import DecoderSettings, Languages, LoopSettings, MarketSettings, Scoring

    campaign = create_campaign(
        folder,
        source=source,
        trees=trees,
        nbest=nbest,
        alignments=alignments,
        references=references,
        lexicon=lexicon,
        languages=Languages.parse(languages) if languages else None,
        scoring=Scoring(model=model) if model else None,
        decoder=DecoderSettings.run_from_here(folder, decoder, weights),
        market=MarketSettings.located_at(folder, market, wage, assignments or 1),
        loop=LoopSettings(budget, labels) if labels else LoopSettings(budget),
        case=case,
        tokens=tokens,
        watch=watcher(quiet=quiet),
        tell=lambda message: talk(message, quiet=quiet),
    )
    talk(campaign.summary(), quiet=quiet)
    ask = f"rypt queries {folder} --select value --format csv -o ask.csv"
    if decoder:
        talk(f"next: rypt loop {folder}, or step by step: rypt loop {folder} --once", quiet=quiet)
    elif campaign.outputs:
        from rypt.loop.next_step import COMPARING

        make = f"rypt hits make {folder} -o {folder}/batches/1 {COMPARING}"
        talk(f"next, to have people compare the {len(campaign.outputs)} systems: {make}", quiet=quiet)
        talk(f"      or to have phrases labelled: {ask}", quiet=quiet)
    else:
        talk(f"next: {ask}", quiet=quiet)


@click.command()
@click.argument("campaign", type=click.Path(), default=".")
@click.option("--candidates", "file", type=click.Path(), help="Score these instead of the campaign's lists.")
@click.option("--alignments", type=click.Path(), help="Word alignments of these candidates, line by line.")
@click.option("--pick", type=click.Choice(PICKS), default="first", show_default=True, help=PICK)
@click.option("--segments", "with_segments", is_flag=True, help=SEGMENTS)
@click.option("-o", "--output", type=click.Path(), help="Write the scored candidates, a line per segment.")
@click.option("-b", "--score-only", is_flag=True, help="Print only the score.")
@scoring_options
@JSON
@QUIET
def score(
    campaign: str,
    file: str | None,
    alignments: str | None,
    pick: str,
    with_segments: bool,
    output: str | None,
    score_only: bool,
    choices: "ScoringChoices",
    as_json: bool,
    quiet: bool,
) -> None:
    """Print the RYPT score of a corpus, with its signature and its coverage before and after percolation."""
    from rypt.campaign.folder import Campaign
    from rypt.campaign.scoring import score as score_campaign
    from rypt.campaign.scoring import write_picks

    if Path(campaign).is_file():
        list_scores = (
            f"rypt compare systems {campaign} --references FILE prints the BLEU, chrF and TER of a list"
        )
        raise click.UsageError(f"expected a campaign's folder, found the file {campaign}; {list_scores}")
    opened = Campaign.open(campaign, watcher(quiet=quiet))
    report = score_campaign(opened, candidates=file, alignments=alignments, pick=pick, choices=choices)
    if output is not None:
        talk(write_picks(opened, report, output, from_lists=file is None), quiet=quiet)
    if report.without_labels:
        hint = f"rypt queries {campaign} lists what to ask"
        talk(f"note: no phrase of these candidates has a label; {hint}", quiet=quiet)
    if as_json:
        click.echo(json.dumps(report.as_dict(with_segments=with_segments), ensure_ascii=False))
    elif score_only:
        click.echo(f"{report.score:.4f}")
    else:
        click.echo(f"{report.segment_table()}\n\n{report}" if with_segments else str(report))


@click.command()
@click.argument("segment")
@click.argument("candidate", default="0")
@click.option(
    "-C", "--campaign", type=click.Path(file_okay=False), default=".", help="Folder of the campaign [.]."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write a picture: an .svg file.")
@scoring_options
@QUIET
def explain(
    segment: str, candidate: str, campaign: str, output: str | None, choices: "ScoringChoices", quiet: bool
) -> None:
    """Draw the tree of SEGMENT with the labels and phrases of CANDIDATE.

    CANDIDATE is `best`, the pick of `rypt score --pick best`; the name of a list or system (its file without the
    ending), for its first candidate of the segment; or a number, as `rypt score --segments` prints it. Numbers count
    the candidates of the segment from 0 in the order of the lists; a text that is in two lists with the same links
    counts once. The default is 0.
    """
    from rypt.campaign.folder import Campaign
    from rypt.campaign.scoring import explain_candidate
    from rypt.scoring.explain import as_text, legend

    opened = Campaign.open(campaign)
    explanation = explain_candidate(opened, segment, candidate, choices=choices)
    if output is not None:
        explanation.write(output)
        talk(f"{output}: the picture was written", quiet=quiet)
    click.echo(f"{as_text(explanation, painter())}\n\n{legend(explanation)}")
