"""``rypt rank``: which system is better, how sure that is, and what to ask next."""

import json
from typing import TYPE_CHECKING

import click

from hits.cli.rank.agree import agree
from hits.cli.rank.preferences import preferences
from hits.cli.rank.shared import LEVEL, PLOT, THREADS, counter, data_options, read_options
from hits.cli.rank.study import curve, evaluate, plan_, simulate
from hits.ranking.names import (
    CONFIDENCES,
    MEAN,
    SCORE_CONFIDENCES,
    SCORE_UNITS,
    SHAPES,
    TABLES,
    UNITS,
    ranking_models,
)
from rypt.console import JSON, QUIET, talk

if TYPE_CHECKING:
    from hits.ranking.rank import ComparisonFiles, SystemTable
    from hits.ranking.result import Confidence
    from hits.ranking.scores.data import SegmentScores
    from hits.ranking.side_by_side import SideBySide

DEFAULT = "systems"


class RankGroup(click.Group):
    """A group whose first argument may be a file: without a subcommand, ``systems`` is run."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Put the name of the default command in front where no subcommand is named."""
        if args and args[0] not in self.commands and args[0] not in context.help_option_names:
            args = [DEFAULT, *args]
        return super().parse_args(context, args)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """A subcommand by name, and the default command for a file."""
        return self.commands.get(name, self.commands.get(DEFAULT))


@click.group(cls=RankGroup)
def rank() -> None:
    """Rank systems by people's comparisons or scores: `rypt rank FILE…` is short for `rypt rank systems FILE…`.

    A FILE has comparisons (a table with two systems and a winner, a WMT ranking CSV, Appraise XML, counts, a
    tournament, judgments, JSONL, a campaign's folder or its database) or segment scores (a table with systems and
    scores, Appraise's export of direct assessment or ESA, MQM, pearmut, JSONL); .gz files and - are read, too. Write a
    file with the name of a subcommand as a path: ./next.
    """


@rank.command()
@data_options
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="MODEL[:NAME=VALUE,…]",
    help=f"How systems are ranked: {', '.join((MEAN, *ranking_models()))} [mean for segment scores, "
    "expected-wins for comparisons]. Repeatable: models stand side by side.",
)
@click.option(
    "-O",
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the only model: docs/ranking.md lists them. Repeatable.",
)
@click.option(
    "--confidence",
    type=click.Choice(tuple(dict.fromkeys((*CONFIDENCES, *SCORE_CONFIDENCES)))),
    help="How rank ranges are made [wilcoxon for mean, as in WMT's findings, else bootstrap].",
)
@click.option(
    "--samples",
    type=click.IntRange(2, 1_000_000),
    help="Number of resamples or runs [1000 for ratios of wins and means, 10000 permutations, else 100].",
)
@click.option(
    "--trim", type=click.IntRange(min=0), help="Number of ranks dropped at either end [2.5 %, rounded down]."
)
@click.option(
    "--unit",
    type=click.Choice((*UNITS, *SCORE_UNITS)),
    help="What is resampled [whole rankings (row) where the file has them, else single comparisons; of "
    "scores documents].",
)
@click.option(
    "--range",
    "shape",
    type=click.Choice(SHAPES),
    help="Drop the ranks at both ends, or take the most frequent rank and its neighbours up to 95 "
    "% (densest) [densest where rows or documents are drawn, as in WMT13's table, else ends].",
)
@LEVEL
@THREADS
@click.option("--table", "style", type=click.Choice(TABLES), help="How the table is printed [text].")
@click.option("--latex", is_flag=True, help="Short for --table latex.")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    type=click.Path(dir_okay=False),
    help="Also write a table (.csv, .json, .txt, .md, .tex, .html) or a plot (.svg, .png, .pdf) to this "
    "file. Repeatable.",
)
@PLOT
@JSON
@QUIET
def systems(
    data: "ComparisonFiles",
    models: tuple[str, ...],
    options: tuple[str, ...],
    confidence: str | None,
    samples: int | None,
    trim: int | None,
    unit: str | None,
    shape: str | None,
    level: float,
    threads: int,
    style: str | None,
    latex: bool,
    outputs: tuple[str, ...],
    plot: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Rank the systems in FILES: scores, rank ranges, clusters.

    Systems that no comparisons connect are ranked in separate groups, with a note; so are language pairs.
    """
    from hits.ranking.output import check_output
    from hits.ranking.result import Confidence
    from hits.ranking.side_by_side import rank_side_by_side

    if latex and style not in (None, "latex"):
        raise click.UsageError(f"--latex or --table {style}, not both")
    style = "latex" if latex else style
    if style and as_json:
        raise click.UsageError(f"{'--latex' if latex else '--table'} or --json, not both")
    files = [*outputs, *([plot] if plot else [])]
    for file in files:
        check_output(file)
    how = Confidence(
        confidence, samples, trim, unit, shape, level, threads, counter("resamples", quiet=quiet)
    )
    if len(models) > 1 and options:
        raise click.UsageError("-O is for one model: write options of several as -m MODEL:NAME=VALUE,…")
    if len(models) > 1:
        table: SideBySide | SystemTable = rank_side_by_side(data, models, confidence=how)
    else:
        table = _rank_by_one(data, models[0] if models else None, read_options(options), how)
    for note in table.notes:
        talk(f"note: {note}", quiet=quiet)
    for file in files:
        table.write(file)
        talk(f"{file} written", quiet=quiet)
    if as_json:
        click.echo(json.dumps(table.as_dict(), ensure_ascii=False))
    else:
        click.echo(table.as_table(style or "text"))


def _rank_by_one(
    data: "ComparisonFiles", model: str | None, options: dict[str, str], how: "Confidence"
) -> "SystemTable":
    from hits.ranking.data import Comparisons
    from hits.ranking.evaluate import model_and_options
    from hits.ranking.model import read_model
    from hits.ranking.rank import rank_parts

    name, given = model_and_options(model) if model else (None, {})
    if name not in (None, MEAN):
        read_model(name, given | options)  # a wrong name or option is said before anything is read
    parts = data.parts()
    if name is None and all(isinstance(part.data, Comparisons) for part in parts):
        name = "expected-wins"
    return rank_parts(data, parts, name, options=given | options, confidence=how)


@rank.command()
@data_options
@LEVEL
@click.option("--marks", is_flag=True, help="Use WMT's marks ⋆ 0.10, † 0.05, ‡ 0.01 instead of one star.")
@JSON
def head2head(data: "ComparisonFiles", level: float, marks: bool, as_json: bool) -> None:
    """Show how often the column's system was better than the row's, with stars by the sign test."""
    from hits.cli.rank.matrix import matrix
    from hits.ranking.head2head import as_record, as_rows, head_to_head
    from hits.ranking.table import system_labels

    table = head_to_head(data.read())
    if as_json:
        click.echo(json.dumps(as_record(table, level), ensure_ascii=False))
        return
    click.echo(matrix(system_labels(table.systems), as_rows(table, marks=marks, level=level)))
    click.echo(f"{table.significant(level):.1%} of all pairs differ significantly (sign test, p ≤ {level:g})")


@rank.command("next")
@data_options
@click.option(
    "-n",
    "--count",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of matches, or of ratings.",
)
@click.option(
    "--players", type=click.IntRange(2, 5), default=2, show_default=True, help="Number of systems in a match."
)
@click.option(
    "--segments",
    "segments_file",
    type=click.Path(),
    help="File of segments to ask about, one id per line [those in the files].",
)
@click.option(
    "--system", "more", multiple=True, metavar="NAME", help="A system that was not compared yet. Repeatable."
)
@JSON
def next_(
    data: "ComparisonFiles",
    count: int,
    players: int,
    segments_file: str | None,
    more: tuple[str, ...],
    as_json: bool,
) -> None:
    """Suggest which systems to compare or to rate next, and on which segment.

    Of comparisons TrueSkill takes the system it is least sure of and draws others that are likely to tie with it. Each
    line of output has a segment and the systems, separated by tabs. Of segment scores those are chosen that are likely
    to split a cluster soonest; each line has a document, a segment and the systems to rate on it.
    """
    from hits.ranking.readers.files import only_part
    from hits.ranking.scores.data import SegmentScores
    from hits.ranking.select import next_matches
    from rypt.text import read_lines

    segments = [line for _, line in read_lines(segments_file) if line] if segments_file else None
    part = only_part(data.parts())
    if isinstance(part.data, SegmentScores):
        if players != 2:
            raise click.UsageError("--players is for comparisons; these files have segment scores")
        _tell_ratings(data, part.data, count, segments, more, as_json=as_json)
        return
    comparisons = data.comparisons(part)
    for match in next_matches(comparisons, count, data.rng(), players=players, segments=segments, more=more):
        if as_json:
            record = {"segment": match.segment, "systems": list(match.systems)}
            click.echo(json.dumps(record, ensure_ascii=False))
        else:
            click.echo("\t".join((match.segment, *match.systems)))


def _tell_ratings(
    data: "ComparisonFiles",
    scores: "SegmentScores",
    count: int,
    segments: list[str] | None,
    more: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    from hits.ranking.scores.next import next_ratings

    requests = next_ratings(scores, count, data.rng(), segments=segments, more=more)
    if not requests:
        import numpy as np

        complete = not np.isnan(scores.table()).any() and not segments and not more
        why = (
            "every system is rated on every segment"
            if complete
            else "no further rating is likely to split a cluster"
        )
        talk(f"note: {why}; --segments names further segments, --system further systems", quiet=False)
    for request in requests:
        if as_json:
            record = {
                "document": request.document,
                "segment": request.segment,
                "systems": list(request.systems),
            }
            click.echo(json.dumps(record, ensure_ascii=False))
        else:
            click.echo("\t".join((request.document, request.segment, *request.systems)))


for command in (agree, curve, evaluate, plan_, preferences, simulate):
    rank.add_command(command)
