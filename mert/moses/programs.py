"""The programs that ``mert-moses.pl`` runs in the place of Moses'."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from statistics import fmean, pvariance
from typing import TYPE_CHECKING, NoReturn

import click

from rypt.console import talk
from rypt.text import RyptError, open_output

if TYPE_CHECKING:
    from mert.moses.metrics import FileMetric

DEFAULT_SEED = 1
UNSUPPORTED = ("streaming", "no-shuffle", "model-bg", "safe-hope")  # switches of Moses' kbmira
UNSUPPORTED_VALUES = ("streaming-out", "hgdir", "reference", "hg-prune")  # its options with a value


class _Parser(argparse.ArgumentParser):
    """Options as getopt reads them, abbreviated long names included; a mistake is one line."""

    def __init__(self, program: str, description: str) -> None:
        super().__init__(prog=program, description=description)

    def error(self, message: str) -> NoReturn:
        """Raise an error, which `main` prints."""
        raise RyptError(f"{message} ({self.prog} --help lists the options)")


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) >= least):
            raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}, found {text!r}")
        return int(text)

    return read


def _files(text: str | None) -> list[str]:
    return [name for name in (text or "").split(",") if name]


def _add_metric(parser: _Parser) -> None:
    parser.add_argument(
        "-s", "--sctype", default="BLEU", help="metric, or several separated by commas [%(default)s]"
    )
    parser.add_argument("-c", "--scconfig", default="", help="settings of the metric, key:value,key:value")


def _read_metric(sctype: str, scconfig: str) -> "FileMetric":
    from mert.moses.metrics import read_file_metric

    return read_file_metric(sctype, scconfig)


def run_extractor(program: str, arguments: Sequence[str]) -> None:
    """Features and statistics of an n-best list."""
    parser = _Parser(program, "Write the features and the statistics of n-best lists.")
    _add_metric(parser)
    parser.add_argument("-r", "--reference", help="files of references, separated by commas")
    parser.add_argument("-n", "--nbest", help="n-best lists, separated by commas")
    parser.add_argument(
        "-S", "--scfile", default="statscore.data", help="output file for statistics [%(default)s]"
    )
    parser.add_argument(
        "-F", "--ffile", default="features.data", help="output file for features [%(default)s]"
    )
    parser.add_argument("-R", "--prev-scfile", help="earlier files of statistics, separated by commas")
    parser.add_argument("-E", "--prev-ffile", help="earlier files of features, separated by commas")
    parser.add_argument("-b", "--binary", action="store_true", help="write binary files")
    parser.add_argument("-d", "--allow-duplicates", action="store_true", help="keep equal candidates")
    parser.add_argument("-v", "--verbose", type=_whole(0), default=0, help="1 or more: report what was read")
    given = parser.parse_args(arguments)

    from mert.moses.extract import extract

    metric = _read_metric(given.sctype, given.scconfig)
    pairs = extract(
        _files(given.nbest),
        _files(given.reference),
        metric,
        earlier=(_files(given.prev_ffile), _files(given.prev_scfile)),
        duplicates=given.allow_duplicates,
    )
    pairs.write(given.ffile, given.scfile, binary=given.binary)
    talk(f"{metric.name} of {len(pairs.features)} candidates of {len(pairs.segments)} segments")
    if given.verbose:
        talk(f"{len(pairs.names)} features: {' '.join(pairs.names)}")
        if pairs.sparse is not None:
            talk(f"{len(set().union(*pairs.sparse))} sparse features")


def run_mert(program: str, arguments: Sequence[str]) -> None:
    """Weights from files of features and statistics."""
    parser = _Parser(program, "Find weights by line search; they go to weights.txt and to stderr.")
    _add_metric(parser)
    parser.add_argument("-d", "--pdim", type=_whole(1), required=True, help="number of dense features")
    parser.add_argument("-n", "--ntry", type=_whole(0), default=1, help="random starts [%(default)s]")
    parser.add_argument("-t", "--type", default="powell", choices=["powell"], help="kind of search")
    parser.add_argument(
        "-r", "--rseed", type=_whole(0), default=DEFAULT_SEED, help="random seed [%(default)s]"
    )
    parser.add_argument("-o", "--optimize", help="tune only these features, separated by commas")
    parser.add_argument("-P", dest="positive", help="keep these weights at 0 or above, separated by commas")
    parser.add_argument("-S", "--scfile", default="statscore.data", help="files of statistics [%(default)s]")
    parser.add_argument("-F", "--ffile", default="features.data", help="files of features [%(default)s]")
    parser.add_argument("-i", "--ifile", default="init.opt", help="files of starting points [%(default)s]")
    parser.add_argument(
        "-p", "--sparse-weights", help="weights under which sparse features become one dense one"
    )
    parser.add_argument(
        "-T", "--threads", type=_whole(0), default=1, help="number of starts searched at once [%(default)s]"
    )
    parser.add_argument(
        "-v", "--verbose", type=_whole(0), default=0, help="1 or more: report the score of each start"
    )
    given = parser.parse_args(arguments)

    from mert.moses.files import read_pairs
    from mert.moses.mert import search
    from mert.moses.weights import format_best_point, format_weights, read_sparse_weights, read_starts

    pairs = read_pairs(_files(given.ffile), _files(given.scfile))
    if len(pairs.names) != given.pdim:
        message = f"-d {given.pdim}: the files have {len(pairs.names)} features, {' '.join(pairs.names)}"
        raise RyptError(message)
    if given.sparse_weights is not None:
        pairs = pairs.with_sparse_weights(read_sparse_weights(given.sparse_weights))
    starts = read_starts(_files(given.ifile), len(pairs.names))
    talk(f"{len(pairs.features)} candidates of {len(pairs.segments)} segments, seed {given.rseed}")
    tuned = search(
        pairs,
        _read_metric(given.sctype, given.scconfig),
        starts,
        restarts=given.ntry,
        only=None if given.optimize is None else given.optimize.replace(",", " ").split(),
        positive=_files(given.positive),
        seed=given.rseed,
        threads=max(1, given.threads),
    )
    for number, score in enumerate(tuned.ends if given.verbose else ()):
        talk(f"start {number}: {score:.6f}")
    for ends, what in ((tuned.ends, "starts"), (tuned.near, "starts near the best")):
        if ends:
            talk(f"{len(ends)} {what}: mean {fmean(ends):.6f}, variance {pvariance(ends):.3g}")
    with open_output("weights.txt") as stream:
        stream.write(f"{format_weights(tuned.weights)}\n")
    talk(format_best_point(tuned.weights, tuned.score))
    for note in tuned.notes:
        talk(f"note: {note}")


def run_pro(program: str, arguments: Sequence[str]) -> None:
    """mert-moses.pl wants a program of this name, and runs it with --pairwise-ranked only."""
    raise RyptError(
        "--pairwise-ranked is not supported here: use --batch-mira, which learns sparse features too"
    )


def run_kbmira(program: str, arguments: Sequence[str]) -> None:
    """Weights by batch MIRA."""
    parser = _Parser(program, "Find weights by batch MIRA on n-best lists.")
    parser.add_argument(
        "--sctype", help="metric, or several separated by commas [the one that the files name]"
    )
    parser.add_argument("--scconfig", default="", help="settings of the metric, key:value,key:value")
    parser.add_argument(
        "-S", "--scfile", action="append", default=[], help="file of statistics; may be repeated"
    )
    parser.add_argument(
        "-F", "--ffile", action="append", default=[], help="file of features; may be repeated"
    )
    parser.add_argument("-r", "--random-seed", type=_whole(0), default=DEFAULT_SEED, help="[%(default)s]")
    parser.add_argument("-o", "--output-file", default="-", help="output file [standard output]")
    parser.add_argument("--type", default="nbest", help="kind of lists; only nbest is supported")
    parser.add_argument("-C", "--cparam", type=float, default=0.01, help="largest step [%(default)s]")
    parser.add_argument(
        "-D", "--decay", type=float, default=0.999, help="decay of the background [%(default)s]"
    )
    parser.add_argument(
        "-J", "--iters", type=_whole(1), default=60, help="passes over the lists [%(default)s]"
    )
    parser.add_argument("-d", "--dense-init", help="dense weights to start with [all 0]")
    parser.add_argument("-s", "--sparse-init", help="sparse weights to start with [all 0]")
    parser.add_argument("--verbose", action="store_true", help="report what was read")
    for name in (*UNSUPPORTED, *UNSUPPORTED_VALUES):
        parser.add_argument(
            f"--{name}", nargs=0 if name in UNSUPPORTED else 1, action=_Refused, help=argparse.SUPPRESS
        )
    given = parser.parse_args(arguments)
    if given.type != "nbest":
        raise RyptError(f"--type {given.type} is not supported, only nbest (--batch-mira, not --hg-mira)")

    import numpy as np

    from mert.moses.files import read_pairs
    from mert.moses.kbmira import learn
    from mert.moses.weights import format_weights, read_dense_start, read_sparse_weights

    pairs = read_pairs(given.ffile, given.scfile)
    metric = _read_metric(given.sctype or pairs.metric, given.scconfig)
    talk(
        f"{len(pairs.features)} candidates of {len(pairs.segments)} segments, seed {given.random_seed}",
        quiet=not given.verbose,
    )
    weights, before, after = learn(
        pairs,
        metric,
        np.zeros(len(pairs.names))
        if given.dense_init is None
        else read_dense_start(given.dense_init, pairs.names),
        {} if given.sparse_init is None else read_sparse_weights(given.sparse_init),
        c=given.cparam,
        decay=given.decay,
        passes=given.iters,
        seed=given.random_seed,
    )
    with open_output(given.output_file) as stream:
        for name, value in weights.items():
            stream.write(f"{name} {format_weights(np.array([value]))}\n")
    talk(f"Initial {metric.name} = {before:.6f}")
    talk(f"Best {metric.name} = {after:.6f}")


class _Refused(argparse.Action):
    """An option of Moses that is not supported."""

    def __call__(
        self, parser: argparse.ArgumentParser, given: object, values: object, option: str | None = None
    ) -> None:
        raise RyptError(f"{option} is not supported")


class _Metric(argparse.Action):
    """Options that belong to the ``--sctype`` before them; those before the first belong to the first."""

    def __call__(
        self, parser: argparse.ArgumentParser, given: object, values: object, option: str | None = None
    ) -> None:
        metrics: list[dict[str, str]] = vars(given).setdefault("metrics", [{}])
        if self.dest in metrics[-1] and self.dest == "sctype":
            metrics.append({})
        metrics[-1][self.dest] = str(values)


def run_evaluator(program: str, arguments: Sequence[str]) -> None:
    """Scores of translations."""
    parser = _Parser(program, "Score translations, or the first candidates of n-best lists.")
    for short, name, text in (
        ("-s", "sctype", "metric [BLEU]; may be repeated"),
        ("-c", "scconfig", "settings of the metric before it"),
    ):
        parser.add_argument(short, f"--{name}", action=_Metric, default=argparse.SUPPRESS, help=text)
    parser.add_argument("-R", "--reference", help="files of references, separated by commas")
    parser.add_argument("-C", "--candidate", help="files of translations, separated by commas")
    parser.add_argument("-n", "--nbest", help="n-best lists, separated by commas")
    parser.add_argument(
        "-b", "--bootstrap", type=_whole(0), default=0, help="resamples for a 95%% interval [none]"
    )
    parser.add_argument(
        "-r",
        "--rseed",
        type=_whole(0),
        default=DEFAULT_SEED,
        help="random seed of the resamples [%(default)s]",
    )
    given = parser.parse_args(arguments)

    from mert.moses.evaluate import evaluate

    metrics = [
        _read_metric(one.get("sctype", "BLEU"), one.get("scconfig", ""))
        for one in getattr(given, "metrics", [{}])
    ]
    translations, lists = _files(given.candidate), _files(given.nbest)
    several = len(translations) + len(lists) > 1
    for path, name, score in evaluate(
        translations, lists, _files(given.reference), metrics, samples=given.bootstrap, seed=given.rseed
    ):
        click.echo("\t".join([str(path)] * several + [name] * (len(metrics) > 1) + [score]))


RUN = {
    "extractor": run_extractor,
    "mert": run_mert,
    "pro": run_pro,
    "kbmira": run_kbmira,
    "evaluator": run_evaluator,
}


def main(arguments: Sequence[str]) -> int:
    """Run the program that the first argument names: exit code 0 when it worked, else 1 with one line on stderr."""
    program = arguments[0] if arguments else ""
    try:
        if program not in RUN:
            raise RyptError(f"expected one of {', '.join(RUN)}")
        RUN[program](program, arguments[1:])
        return 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except RyptError as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except MemoryError:
        message = "there is not enough memory"
    except KeyboardInterrupt:
        message = "stopped"
    talk(f"{program or 'programs'}: {' '.join(message.splitlines())}")
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
