"""``rypt import``: human annotation that exists already becomes judgments."""

import json
from contextlib import nullcontext
from shlex import quote

import click

from rypt.console import FILE, JSON, QUIET, talk, watcher
from rypt.options import SEGMENTERS
from rypt.ratings.rating import LEVELS, Policy, Repairs
from rypt.text import open_output, plural

SEVERITY = "The minimum severity of an error that makes a phrase unacceptable [minor]."
OMISSIONS = "Count what is missing: marks in the source, and errors without a position [they count]."
REFERENCE = "With --texts: a human translation among the systems, to be written as reference, too."
REFERENCES = (
    "With --texts: a file with a reference, one line per segment in the order of the ids, or TSV or JSONL of ids and "
    "texts."
)
SEGMENTER = "With --texts: what finds words of Chinese, Japanese, Thai, Lao, Khmer and Burmese [auto: ICU, where installed]."


@click.command("import")
@click.argument("form", type=click.Choice(["mqm", "esa"]))
@click.argument("file", type=click.Path())
@click.option("--batches", type=FILE, help="ESA: the JSON of the batches, for Appraise's CSV.")
@click.option("--languages", metavar="SRC-TGT", help="ESA: only this language pair, as the file names it.")
@click.option("-C", "--campaign", type=click.Path(file_okay=False), default=".", help="Its folder [.].")
@click.option("--severity", type=click.Choice(LEVELS), default="minor", help=SEVERITY)
@click.option("--omissions/--no-omissions", default=True, help=OMISSIONS)
@click.option("--rater", "raters", multiple=True, help="Take this rater's ratings only; may be repeated.")
@click.option("--exclude-rater", "excluded", multiple=True, help="Leave a rater out; may be repeated.")
@click.option("--scores", type=FILE, help="Write the raters' scores as JSONL.")
@click.option("--strict", is_flag=True, help="Refuse the file at its first mistake, instead of mending it.")
@click.option("--repairs", "repairs_file", type=FILE, help="List what was mended or left out as JSONL.")
@click.option("--texts", type=click.Path(), help="Only write segments and outputs to this new folder.")
@click.option("--reference", "references", multiple=True, metavar="SYSTEM", help=REFERENCE)
@click.option("--references", "reference_files", multiple=True, type=FILE, help=REFERENCES)
@click.option("--segmenter", type=click.Choice(SEGMENTERS), default="auto", help=SEGMENTER)
@JSON
@QUIET
def import_(
    form: str,
    file: str,
    batches: str | None,
    languages: str | None,
    campaign: str,
    severity: str,
    omissions: bool,
    raters: tuple[str, ...],
    excluded: tuple[str, ...],
    scores: str | None,
    strict: bool,
    repairs_file: str | None,
    texts: str | None,
    references: tuple[str, ...],
    reference_files: tuple[str, ...],
    segmenter: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Turn error spans of an existing evaluation campaign into judgments.

    FORM is mqm, a TSV file as google/wmt-mqm-human-evaluation has them, with a line for each error, or esa, Appraise's
    CSV (with --batches) or WMT's JSONL. Scores of MQM are weighted sums of errors, 0 is best: Major 5, Minor 1, Minor
    Fluency/Punctuation 0.1, Non-translation 25, Critical 10. Scores of ESA run from 0 to 100, the best.

    An error that a rater marked in a candidate makes the constituents it is aligned with unacceptable (NO), the others
    are acceptable (YES). Each rater is a worker, each system an origin. Ratings are matched with the campaign's
    segments and candidates by their texts. With only the file, begin with --texts: it makes the texts of a campaign and
    prints the commands that lead there. Mistakes in the file are mended and counted; what has no place is left out and
    counted, too.
    """
    if form == "mqm" and (batches or languages):
        raise click.UsageError(f"{'--batches' if batches else '--languages'} is for esa")
    if texts is not None and (scores is not None or raters or excluded):
        raise click.UsageError(
            "--scores, --rater, --exclude-rater are for an import; --texts imports nothing"
        )
    if texts is None and (references or reference_files):
        raise click.UsageError("--reference and --references go with --texts")
    from rypt.ratings.rated_campaign import FORMS, RatingsFile

    repairs = Repairs(file, strict)
    ratings = RatingsFile(file, form, batches=batches, pair=languages).read(
        repairs, watcher(quiet=quiet or as_json)
    )
    if texts is not None:
        from rypt.ratings.texts import collect_texts
        from rypt.texts.tokenizer import choose_segmenter

        collected = collect_texts(
            file,
            ratings,
            references=references,
            reference_files=reference_files,
            repairs=repairs,
            segmenter=choose_segmenter(segmenter),
        )
        with nullcontext() if repairs_file is None else open_output(repairs_file) as stream:
            collected.write(texts)
            if stream is not None:
                repairs.write(stream)
        facts = {"file": file, "folder": texts, **collected.as_dict()}
        facts |= {"repairs": repairs.counts} if repairs.items else {}
        _print(facts, collected.summary(texts), repairs, as_json=as_json, err=repairs_file == "-")
        options = (("--batches", batches), ("--languages", languages))
        words = [form, quote(file), *(f"{name} {quote(value)}" for name, value in options if value)]
        if not as_json:
            talk("next: " + "\n      ".join(collected.next_commands(texts, " ".join(words))), quiet=quiet)
        return
    from rypt.campaign.folder import Campaign
    from rypt.ratings.importing import import_ratings

    result = import_ratings(
        Campaign.open(campaign, watcher(quiet=quiet or as_json)),
        file,
        ratings,
        Policy(severity, omissions),
        only_raters=raters,
        excluded_raters=excluded,
        scores=scores,
        better=FORMS[form],
        repairs=repairs,
        repairs_file=repairs_file,
    )
    _print(result.as_dict(), str(result), repairs, as_json=as_json, err="-" in (scores, repairs_file))
    if scores is not None and not as_json:
        talk(f"{plural(result.scores or 0, 'score')} written to {scores}", quiet=quiet)


def _print(facts: dict[str, object], text: str, repairs: Repairs, *, as_json: bool, err: bool) -> None:
    text = json.dumps(facts, ensure_ascii=False) if as_json else "\n".join((text, *repairs.summary()))
    click.echo(text, err=err)
