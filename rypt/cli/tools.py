"""``rypt parse`` and ``rypt align``: the trees and alignments that a campaign needs."""

import click

from rypt.console import QUIET, talk, watcher
from rypt.options import ALIGNERS, HEURISTICS, TREE_TOOLS, UNALIGNED
from rypt.text import plural

INPUT = click.Path()


@click.command()
@click.argument("source", type=INPUT)
@click.option("--tool", type=click.Choice(TREE_TOOLS), help="The parser [the first one installed].")
@click.option("--language", help="The language of the source, such as de.")
@click.option("--model", help="The package of stanza [the default of the language].")
@click.option(
    "--dependencies", is_flag=True, help="Take stanza's dependencies, where it has no constituents."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True),
    default="-",
    help="A file instead of stdout.",
)
@QUIET
def parse(
    source: str,
    tool: str | None,
    language: str | None,
    model: str | None,
    dependencies: bool,
    output: str,
    quiet: bool,
) -> None:
    """Parse the segments of SOURCE and write Penn brackets, one tree per line, for `rypt init --trees`.

    SOURCE has tokens separated by spaces, one segment per line, or JSONL with id and text; tokens stay as they are. The
    tool "fallback" needs no parser: it makes trees from punctuation and length, for languages without one.
    """
    from rypt.tools.parsers import parse_source

    parsed = parse_source(
        source,
        output,
        tool=tool,
        language=language,
        model=model,
        dependencies=dependencies,
        watch=watcher(quiet=quiet),
    )
    talk(f"{plural(parsed.segments, 'tree')} by {parsed.tool}", quiet=quiet)


@click.command()
@click.option(
    "--source", required=True, type=INPUT, help="Source segments: one per line, or JSONL with id and text."
)
@click.option(
    "--nbest",
    required=True,
    multiple=True,
    type=INPUT,
    help="Candidates: any list that init reads, or a folder of lists.",
)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    type=click.Path(allow_dash=True),
    help="Where to write: one file for each list [stdout], for a folder of lists a folder.",
)
@click.option("--tool", type=click.Choice(ALIGNERS), help="The aligner [the first one installed].")
@click.option(
    "--heuristic",
    type=click.Choice(HEURISTICS),
    default=HEURISTICS[0],
    show_default=True,
    help="How both directions are combined.",
)
@click.option(
    "--unaligned",
    type=click.Choice(UNALIGNED),
    default=UNALIGNED[0],
    show_default=True,
    help="Candidate words without a link: attach them to the next word, or leave them.",
)
@click.option(
    "--train",
    nargs=2,
    type=INPUT,
    metavar="SOURCE TARGET",
    help="Further tokenised text, line by line, to learn from.",
)
@click.option("--priors", type=INPUT, help="Priors made by --save-priors or eflomal-makepriors.")
@click.option(
    "--save-priors",
    type=click.Path(dir_okay=False),
    help="Write the learned parameters, as priors of a later run.",
)
@click.option(
    "--cache",
    type=click.Path(dir_okay=False),
    help="Where links are kept for the next run [OUTPUT.cache.gz].",
)
@click.option("--no-cache", is_flag=True, help="Align all pairs, and keep no links for the next run.")
@QUIET
def align(
    source: str,
    nbest: tuple[str, ...],
    outputs: tuple[str, ...],
    tool: str | None,
    heuristic: str,
    unaligned: str,
    train: tuple[str, str] | None,
    priors: str | None,
    save_priors: str | None,
    cache: str | None,
    no_cache: bool,
    quiet: bool,
) -> None:
    """Align candidates with their segments, word by word, and write links for `rypt init --alignments`.

    Each line of a list gets a line of links "source-candidate"; the links of a folder of lists are written to
    OUTPUT/LIST.links. All lists are aligned together, because the aligner learns from all of them; good links need a
    few thousand pairs, or --train. In a rerun, pairs that were aligned before keep their links.
    """
    from rypt.tools.aligners import align_lists

    if cache is not None and no_cache:
        raise click.UsageError("--cache and --no-cache exclude each other")
    aligned = align_lists(
        source,
        nbest,
        outputs or ("-",),
        aligner=tool,
        heuristic=heuristic,
        unaligned=unaligned,
        training=train,
        priors=priors,
        save_priors=save_priors,
        cache=cache or not no_cache,
        watch=watcher(quiet=quiet),
        tell=lambda message: talk(message, quiet=quiet),
    )
    if aligned.without_links:
        talk(f"{plural(aligned.without_links, 'candidate')} without links", quiet=quiet)
