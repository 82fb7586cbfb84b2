"""``rypt rank``: which system is better, how sure that is, and what to ask next."""

import json
from typing import TYPE_CHECKING

import click

from hits.cli.rank.shared import LEVEL, THREADS, counter, reading_options
from hits.cli.rank.study import evaluate, plan_
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
from rypt.console import JSON, QUIET, Group, talk
from rypt.signature import rypt_version, signature

if TYPE_CHECKING:
    from hits.ranking.head2head import HeadToHead
    from hits.ranking.rank import SystemTable
    from hits.ranking.readers.files import ComparisonFiles
    from hits.ranking.side_by_side import SideBySide

DEFAULT = "systems"
TABLE = click.option("--table", "style", type=click.Choice(TABLES), help="How the table is printed [text].")


class RankGroup(Group):
    """A group whose first argument may be a file: without a subcommand, ``systems`` is run."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in context.help_option_names:
            args = [DEFAULT, *args]
        return super().parse_args(context, args)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return self.commands.get(name, self.commands.get(DEFAULT))


@click.group(cls=RankGroup)
def rank() -> None:
    """Rank systems by people's comparisons or scores: `rypt rank FILE…` is short for `rypt rank systems FILE…`.

    A FILE has comparisons (a table with two systems and a winner, a WMT ranking CSV, counts, JSONL, a campaign's folder
    or its database) or segment scores (a table with systems and scores, Appraise's export of direct assessment or ESA,
    MQM, pearmut, WMT25, JSONL); .gz files and - are read, too. If a file has the name of a subcommand, write
    it as a path: ./next.
    """


@rank.command()
@reading_options
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="MODEL[:NAME=VALUE,…]",
    help=f"How systems are ranked: {', '.join((MEAN, *ranking_models()))} [mean for segment scores, "
    "expected-wins for comparisons]; docs/ranking.md lists their options. Repeat it to compare models.",
)
@click.option(
    "--confidence",
    type=click.Choice(tuple(dict.fromkeys((*CONFIDENCES, *SCORE_CONFIDENCES)))),
    help="How rank ranges are computed [wilcoxon for mean, as in WMT's findings, else bootstrap].",
)
@click.option(
    "--samples",
    type=click.IntRange(2, 1_000_000),
    help="Number of resamples or runs [1000 for ratios of wins and means, 10000 permutations, else 100].",
)
@click.option(
    "--unit",
    type=click.Choice((*UNITS, *SCORE_UNITS)),
    help=(
        "What is resampled [whole rankings (row) if the file has them, else single comparisons; for scores, "
        "documents]."
    ),
)
@click.option(
    "--range",
    "shape",
    type=click.Choice(SHAPES),
    help="Drop the ranks at both ends, or take the most frequent rank and its neighbours up to 95 "
    "% (densest) [densest if rows or documents are resampled, as in WMT13's table, else ends].",
)
@LEVEL
@THREADS
@TABLE
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    type=click.Path(dir_okay=False),
    help="Also write a table (.csv, .json, .txt, .md, .tex, .html) or a plot (.svg, .png, .pdf) to this "
    "file. Repeatable.",
)
@JSON
@QUIET
def systems(
    data: "ComparisonFiles",
    models: tuple[str, ...],
    confidence: str | None,
    samples: int | None,
    unit: str | None,
    shape: str | None,
    level: float,
    threads: int,
    style: str | None,
    outputs: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Rank the systems in FILES: scores, rank ranges, clusters.

    Systems that no comparisons connect are ranked in separate groups, with a note; so are language pairs.
    """
    from hits.ranking.confidence import Confidence
    from hits.ranking.output import check_output
    from hits.ranking.rank import rank as rank_files
    from hits.ranking.side_by_side import rank_side_by_side

    _check_style(style, as_json=as_json)
    for file in outputs:
        check_output(file)
    how = Confidence(
        confidence,
        samples,
        unit=unit,
        shape=shape,
        level=level,
        threads=threads,
        after_resample=counter("resamples", quiet=quiet),
    )
    table: SideBySide | SystemTable
    if len(models) > 1:
        table = rank_side_by_side(data, models, confidence=how)
    else:
        table = rank_files(data, models[0] if models else None, confidence=how)
    for note in table.notes:
        talk(f"note: {note}", quiet=quiet)
    for file in outputs:
        table.write(file)
        talk(f"{file} written", quiet=quiet)
    click.echo(
        json.dumps(table.as_dict(), ensure_ascii=False) if as_json else table.as_table(style or "text")
    )


@rank.command()
@reading_options
@click.option(
    "--systems",
    "pair",
    metavar="FIRST,SECOND",
    help="Only these two systems, with tables of votes by segment.",
)
@LEVEL
@TABLE
@JSON
def pairs(data: "ComparisonFiles", pair: str | None, level: float, style: str | None, as_json: bool) -> None:
    """Show how often the column's system was better than the row's, with stars by the sign test.

    With --systems FIRST,SECOND show which of two systems people preferred: judgments for each, and segments by their
    difference of votes (Tables 1 and 2 of the RYPT paper), with sign tests and a bootstrap interval over segments.
    """
    from hits.compare.preferences import preference_line, preference_tables, system_preferences
    from hits.ranking.head2head import as_record, head_to_head

    _check_style(style, as_json=as_json)
    if pair is None:
        table = head_to_head(data.read())
        if as_json:
            click.echo(json.dumps(as_record(table, level), ensure_ascii=False))
        else:
            click.echo(_matrix(table, level, style or "text"))
        return
    first, _, second = pair.partition(",")
    if not first or not second or "," in second:
        raise click.UsageError(f"--systems {pair}: expected two names separated by a comma")
    if style not in (None, "text", "latex"):
        raise click.UsageError(f"--table {style} is for all pairs; tables of two systems are text or latex")
    preferred = system_preferences(data, first, second)
    if as_json:
        click.echo(json.dumps(preferred.as_dict(), ensure_ascii=False))
        return
    is_latex = style == "latex"
    click.echo(f"{preference_line(preferred, latex=is_latex)}\n")
    click.echo(preference_tables([preferred], latex=is_latex, pick=""))


def _check_style(style: str | None, *, as_json: bool) -> None:
    if style and as_json:
        raise click.UsageError(f"--table {style} or --json, not both")


def _matrix(table: "HeadToHead", level: float, style: str) -> str:
    """A line and a column for each system; columns are numbered, since names would not fit above them."""
    from tabulate import tabulate

    from hits.ranking.head2head import as_rows
    from hits.ranking.table import TABULATE

    rows = as_rows(table, level)
    n = len(table.systems)
    lines = [[k if k <= n else "", *row] for k, row in enumerate(rows, start=1)]
    head = ["", "", *range(1, n + 1)]
    text = str(tabulate(lines, head, TABULATE[style].removesuffix("_raw"), disable_numparse=True))
    return (
        f"{text}\n{table.significant(level):.1%} of all pairs differ significantly (sign test, p ≤ {level:g})"
    )


@rank.command("next")
@reading_options
@click.option(
    "-n", "--count", type=click.IntRange(min=1), default=1, show_default=True, help="Number of comparisons."
)
@click.option(
    "--players", type=click.IntRange(2, 5), default=2, show_default=True, help="Systems in a comparison."
)
@click.option(
    "--segments",
    "segments_file",
    type=click.Path(),
    help="File of segments to ask about, one id per line [those in the files].",
)
@click.option(
    "--system", "more", multiple=True, metavar="NAME", help="A system not compared yet. Repeatable."
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
    """Suggest which systems to compare next, and on which segment.

    TrueSkill takes the system it is least sure of and draws others that are likely to tie with it. Each line of output
    has a segment and the systems, separated by tabs.
    """
    from hits.ranking.select import next_matches
    from rypt.text import read_lines

    segments = [line for _, line in read_lines(segments_file) if line] if segments_file else None
    for match in next_matches(data.read(), count, data.rng(), players=players, segments=segments, more=more):
        record = {"segment": match.segment, "systems": list(match.systems)}
        line = "\t".join((match.segment, *match.systems))
        click.echo(json.dumps(record, ensure_ascii=False) if as_json else line)


@rank.command()
@reading_options
@click.option(
    "--lower",
    multiple=True,
    type=click.Path(),
    metavar="FILE",
    help="A file whose scores are better when they are lower. Repeatable.",
)
@click.option(
    "--permutations",
    type=click.IntRange(min=2),
    default=1000,
    show_default=True,
    help="Number of permutations, or of resamples of comparisons, for soft pairwise accuracy.",
)
@JSON
@QUIET
def agree(
    data: "ComparisonFiles", lower: tuple[str, ...], permutations: int, as_json: bool, quiet: bool
) -> None:
    """Compare rankings with that of the first of FILES: pairwise accuracy, Kendall's tau, soft pairwise accuracy.

    The first file has people's scores or comparisons, each other file those of a metric or of another campaign, for the
    same systems. Scores are ranked by mean, comparisons by Expected Wins. Language pairs are compared one by one, and
    together in a last line.
    """
    from dataclasses import asdict

    from tabulate import tabulate

    from hits.ranking.scores.agree import agree as compare

    if len(data.paths) < 2:
        raise click.UsageError("expected two files or more: a ranking, and others to compare with it")
    for file in lower:
        if file not in data.paths:
            files = ", ".join(map(str, data.paths))
            raise click.UsageError(f"--lower {file}: expected one of the files {files}")
    agreements, notes = compare(data, permutations=permutations, lower=lower)
    for note in notes:
        talk(f"note: {note}", quiet=quiet)
    signed = signature("agree", permutations=permutations, seed=data.seed, rypt=rypt_version())
    if as_json:
        first, records = str(data.paths[0]), [asdict(agreement) for agreement in agreements]
        record = {"signature": signed, "first": first, "agreements": records}
        click.echo(json.dumps(record, ensure_ascii=False))
        return
    rows = [
        {
            "file": a.name,
            "languages": a.languages,
            "systems": a.systems,
            "pairs": a.pairs,
            "accuracy": f"{a.accuracy:.3f}",
            "significant": "" if a.significant is None else f"{a.significant:.3f} of {a.significant_pairs}",
            "tau": f"{a.tau:.3f}",
            "soft": f"{a.soft:.3f}",
        }
        for a in agreements
    ]
    click.echo(tabulate(rows, "keys", disable_numparse=True))
    click.echo(
        "accuracy: pairs of systems in the same order; significant: of those that differ significantly in the first "
        "file; tau: Kendall's tau-b; soft: soft pairwise accuracy"
    )
    click.echo(signed)


for command in (evaluate, plan_):
    rank.add_command(command)
