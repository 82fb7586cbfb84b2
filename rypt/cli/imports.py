"""``rypt import``: judgments, ratings of evaluation campaigns, and results of hits."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import click

from rypt.cli.database import database_file, open_database
from rypt.console import FILE, JSON, QUIET, progress, talk, watcher
from rypt.options import CASES
from rypt.ratings.rating import LEVELS, RANKS
from rypt.text import RyptError, plural, read_lines

FORMATS = ("judgments", "mqm", "esa", "results")
BY_HAND = 10_000  # judgments: more are not from a sheet that somebody filled in and may have corrected
RATINGS = ("mqm", "esa")
FORMATS_OF = {  # which formats an option is for, where it is not for all
    "rename": ("judgments", "results"),
    "defaults": ("judgments",),
    "strict": ("judgments", *RATINGS),
    "replace_trees": ("judgments",),
    "case": ("judgments",),
    "references": RATINGS,
    "reference_files": RATINGS,
    "languages": RATINGS,
    "severity": RATINGS,
    "no_omissions": RATINGS,
    "excluded_raters": RATINGS,
    "scores": RATINGS,
    "repairs_file": RATINGS,
    "batches": ("esa",),
    "batch": ("results",),
    "market": ("results",),
}
FORMAT = "The format of the files [recognised by their first line]."
DATABASE = "Folder of the campaign, or for judgments a database file; created if it does not exist [.]."
STRICT = (
    "Stop at the first mistake in a file (default for judgments), or leave out what cannot be read "
    "(default for ratings)."
)
REFERENCE = "For a new campaign: the human translation among the systems that is the reference."
REFERENCES = (
    "For a new campaign: a file with a reference, one line per segment, or TSV or JSONL of ids and texts."
)
LANGUAGES = "Language pair; selects one if a file has several."
SEVERITY = "The minimum severity of an error that makes a phrase unacceptable [minor]."
OMISSIONS = "Ignore omissions: marks in the source, and errors without a position."
MARKET = "Market on which the work was done, for its fees [local for hits made by rypt, else mturk]."


@click.command("import")
@click.argument("files", nargs=-1, required=True)
@click.option("-C", "--campaign", type=click.Path(path_type=Path), default=".", help=DATABASE)
@click.option("--format", "form", type=click.Choice(FORMATS), help=FORMAT)
@click.option("--strict/--skip-refused", default=None, help=STRICT)
@click.option("--rename", multiple=True, metavar="THEIRS=OURS", help="Read column THEIRS as field OURS.")
@click.option(
    "--set", "defaults", multiple=True, metavar="FIELD=VALUE", help="Fill a missing or blank field."
)
@click.option("--replace-trees", is_flag=True, help="Replace the trees of segments by those in the file.")
@click.option(
    "--case",
    type=click.Choice(CASES),
    help="For a new database: compare phrases in lower case, or keep case [lower].",
)
@click.option("--reference", "references", multiple=True, metavar="SYSTEM", help=REFERENCE)
@click.option("--references", "reference_files", multiple=True, type=FILE, help=REFERENCES)
@click.option("--languages", metavar="SRC-TGT", help=LANGUAGES)
@click.option("--severity", type=click.Choice(LEVELS), help=SEVERITY)
@click.option("--no-omissions", is_flag=True, help=OMISSIONS)
@click.option("--exclude-rater", "excluded_raters", multiple=True, help="Leave a rater out; may be repeated.")
@click.option("--scores", type=FILE, help="Where to write the raters' scores [CAMPAIGN/scores.jsonl].")
@click.option(
    "--repairs", "repairs_file", type=FILE, help="Write what was repaired or left out to this file (JSONL)."
)
@click.option("--batches", type=FILE, help="The JSON of the batches, for Appraise's CSV.")
@click.option("--batch", type=click.Path(file_okay=False), help="The batch that the results belong to.")
@click.option("--market", type=click.Choice(["local", "mturk"]), help=MARKET)
@JSON
@QUIET
def import_(
    files: tuple[str, ...], campaign: Path, form: str | None, as_json: bool, quiet: bool, **options: Any
) -> None:
    """Import FILES into a campaign: judgments, MQM or ESA ratings, or results of hits.

    Judgments are CSV, TSV or JSONL ("-" is stdin), or another campaign or database. They have the fields segment, start
    and stop (or first and last, included), phrase, label and worker, and optionally origin, source, time, weight and
    severity (of a NO). A blank label is an unanswered question.

    MQM ratings are the TSV of google/wmt-mqm-human-evaluation, ESA ratings Appraise's CSV or WMT's JSONL.
    Constituents aligned with a marked error are labelled NO, the others YES. If there is no campaign, one is made
    from the file's texts. MQM scores are weighted sums of errors, ESA scores run from 0 to 100.

    Results are the CSV of a requester's web site, or the JSONL of `rypt export --results`. A label row needs
    Input.segment, Input.start and Input.stop (or first and last), Input.phrase_1 … and Answer.label_1 …; a comparison
    Input.system_a, Input.system_b and Answer.choice; a ranking Input.system_1 … and Answer.rank_1 …. With --batch,
    Input.item is enough.

    Each file is one transaction, and importing it again adds nothing.
    """
    quiet = quiet or as_json
    forms = {form or file_format(file) for file in files}
    if len(forms) > 1:
        raise click.UsageError(f"expected files of one format, found {' and '.join(sorted(forms))}")
    form = forms.pop()
    for name, formats in FORMATS_OF.items():
        if options[name] not in (None, (), False) and form not in formats:
            parameter = next(p for p in import_.params if p.name == name)
            raise click.UsageError(f"{parameter.opts[0]} is for {' and '.join(formats)}, not for {form}")
    if form == "judgments":
        _import_judgments(files, campaign, as_json=as_json, quiet=quiet, **options)
        return
    records = []
    for file in files:
        run = _import_results if form == "results" else _import_ratings
        records.append(run(form, file, campaign, quiet=quiet, as_json=as_json, **options))
    if as_json:
        click.echo(json.dumps(records, ensure_ascii=False))


def file_format(file: str) -> str:
    """The format of a file by its first line; what is no other are judgments."""
    path = Path(file)
    if file == "-" or not path.is_file() or path.suffix == ".db":
        return "judgments"
    try:
        lines = [line for _, line in islice(read_lines(file), 1)]
    except RyptError:  # a database, or what the reader of judgments refuses
        return "judgments"
    first = lines[0].lstrip() if lines else ""
    if first.startswith(("{", "[")):
        if '"esa_spans"' in first or '"tgt_text"' in first:
            return "esa"
        return "results" if '"assignment"' in first else "judgments"
    cells = [cell.strip('"').lower() for cell in re.split("\t" if "\t" in first else ",", first)]
    if "label" in cells or "text" in cells:
        return "judgments"
    if {"hitid", "workerid"} <= set(cells):
        return "results"
    of_mqm = {"system", "rater", "source", "target", "severity"} <= set(cells)
    if of_mqm or (len(cells) > 8 and cells[8] in RANKS):
        return "mqm"
    kinds = {"tgt", "chk", "ref", "bad", "itemtype"}
    return "esa" if kinds & set(cells[3:5]) or "itemtype" in cells else "judgments"


def _import_judgments(
    files: tuple[str, ...],
    database: Path,
    *,
    as_json: bool,
    quiet: bool,
    rename: tuple[str, ...],
    defaults: tuple[str, ...],
    strict: bool | None,
    replace_trees: bool,
    case: str | None,
    **_: Any,
) -> None:
    from rypt.database.exchange import JUDGMENT_FIELDS, import_file, new_database

    known = {*JUDGMENT_FIELDS, "first", "last"}
    for name in _pairs(defaults):
        if name not in known:
            raise click.UsageError(f"--set {name}: expected one of {', '.join(sorted(known))}")
    results: list[dict[str, Any]] = []
    failure: RyptError | None = None
    with open_database(database, case=case) if database.exists() else new_database(database, case) as opened:
        for file in files:
            try:
                imported = import_file(
                    opened,
                    database_file(Path(file)) if Path(file).is_dir() else file,
                    lines=progress(read_lines(file), f"import {file}", quiet=quiet),
                    rename=_pairs(rename),
                    defaults=_pairs(defaults),
                    skip_refused=strict is False,
                    replace_trees=replace_trees,
                )
            except RyptError as error:  # the files before it stay
                if not results:
                    raise
                failure = error
                break
            for number, message in imported.refusals:
                talk(f"{file}:{number}: refused: {message}", quiet=quiet)
            for conflict in imported.conflicts[:20]:
                talk(f"{file}: conflict: {conflict}", quiet=quiet)
            results.append({"file": file, **asdict(imported)})
        by_hand = 0 < sum(result["added"] for result in results) <= BY_HAND
        contradictions = opened.count_contradictions() if by_hand else 0
    for result in results if not as_json else ():
        counts = f"{result['already']} already there, {result['unanswered']} unanswered, {result['refused']} refused"
        excluded = f", {plural(result['others'], 'excluded worker')}" if result["others"] else ""
        others = f"{plural(result['segments'], 'segment')} added{excluded}"
        click.echo(f"{result['file']}: {plural(result['added'], 'judgment')} added, {counts}; {others}")
    if contradictions:
        both = f"in {plural(contradictions, 'place')} one worker said both YES and NO; both count"
        talk(f"note: {both}, against each other: rypt check {database} names them", quiet=quiet)
    if failure:
        raise failure
    if as_json:
        click.echo(json.dumps(results, ensure_ascii=False))
    elif database.is_dir():
        talk(f"next: rypt status {database}", quiet=quiet)


def _pairs(items: tuple[str, ...]) -> dict[str, str]:
    pairs = dict(item.partition("=")[::2] for item in items)
    for name, value in pairs.items():
        if not name or not value:
            raise click.UsageError(f"expected NAME=VALUE, found {name}={value}")
    return pairs


def _import_ratings(
    form: str,
    file: str,
    folder: Path,
    *,
    references: tuple[str, ...],
    reference_files: tuple[str, ...],
    languages: str | None,
    severity: str | None,
    no_omissions: bool,
    excluded_raters: tuple[str, ...],
    scores: str | None,
    strict: bool | None,
    repairs_file: str | None,
    batches: str | None,
    as_json: bool,
    quiet: bool,
    **_: Any,
) -> Mapping[str, Any]:
    from rypt.ratings.rated_campaign import RatingsFile, import_ratings_file
    from rypt.ratings.rating import Policy

    result = import_ratings_file(
        RatingsFile(file, form, references, reference_files, languages, batches),
        folder,
        Policy(severity or "minor", not no_omissions),
        strict=bool(strict),
        excluded_raters=excluded_raters,
        scores=scores,
        repairs_file=repairs_file,
        watch=watcher(quiet=quiet),
        tell=lambda text: talk(text, quiet=quiet),
    )
    if not as_json:
        click.echo(result, err="-" in (scores, repairs_file))
        written = scores or f"{folder}/scores.jsonl"
        talk(f"{plural(result.scores or 0, 'score')} written to {written}", quiet=quiet)
        talk(f"next: rypt status {folder}", quiet=quiet)
    return result.as_dict()


def _import_results(
    _: str,
    file: str,
    campaign: Path,
    *,
    rename: tuple[str, ...],
    batch: str | None,
    market: str | None,
    as_json: bool,
    **__: Any,
) -> Mapping[str, Any]:
    from hits.batch.folder import read_batch
    from hits.cli.shared import added_line
    from hits.results import csv_file
    from hits.results.answers import open_results
    from hits.results.jsonl_file import import_answers

    is_jsonl = any(line.startswith("{") for _, line in islice(read_lines(file), 1))
    if is_jsonl and (rename or batch or market):
        raise click.UsageError("--rename, --batch and --market are for a results CSV")
    of_batch, names = read_batch(batch) if batch else None, _pairs(rename)
    with open_results(campaign, readonly=False) as results:
        if is_jsonl:
            added = import_answers(results, file)
        else:
            added = csv_file.import_results(results, file, rename=names, batch=of_batch, market=market or "")
    if not as_json:
        click.echo(added_line(added))
    return asdict(added)
