"""A drop-in for Z-MERT: its configuration file, parameters, lists and decoder script, run by this package's loop.

    tune_zmert("ZMERT_config.txt", now=…)    # read_zmert → run_loop → finish

docs/moses.md says which settings are honoured and what differs.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mert.constraints import Constraints
from mert.loop import PLAN, DecoderTuning, LoopPlan, Stopping, TuningProgress, run_loop
from mert.search import SearchSettings
from mert.weights import WeightsFile, read_weights
from mert.zmert.config import Configuration, read_configuration
from mert.zmert.decoder import ORIGINAL, DecoderConfig, ZmertDecoder
from mert.zmert.lists import ListRules, normalize
from rypt.metrics.metric import Metric, Resources, read_metric
from rypt.signature import signature
from rypt.text import InputError, PathLike, RyptError, open_output, read_lines
from rypt.texts.lists import References, read_references, reference_files

BEAMS = ("20", "25")  # tercom's own, and sacrebleu's


@dataclass(frozen=True, slots=True)
class ZmertRun:
    """A configuration as a plan, its decoder, the folder the run is kept in, and the file for the final weights."""

    plan: LoopPlan
    decoder: ZmertDecoder
    folder: Path
    final: Path | None

    def run(self, progress: TuningProgress | None = None) -> DecoderTuning:
        """Tune, and write what Z-MERT leaves behind.

        The run is kept as ``.finished``, so that the next one begins anew.
        """
        result = run_loop(self.plan, self.decoder, self.folder, progress=progress)
        if self.final is not None:
            with open_output(self.final) as stream:
                stream.writelines(f"{name} ||| {value!r}\n" for name, value in result.weights.items())
        self.decoder.finish(result.weights)
        kept = self.folder.with_name(self.folder.name + ".finished")
        if (kept / PLAN).exists():
            shutil.rmtree(kept)
        os.replace(self.folder, kept)
        return result


def read_zmert(
    path: PathLike, search: SearchSettings, *, now: int, folder: PathLike | None = None
) -> ZmertRun:
    """Read a configuration and all the files it names.

    The configuration gives the number of starts, the random seed and, if it says so, the threads of the search. Like
    Z-MERT this looks for the optimum of the lists; the other settings of ``search`` stay. ``now``, in milliseconds, is
    the random seed where the configuration gives none, or ``time``. The run is kept in ``folder``, by default
    ``CONFIG.run`` in the folder of ``-dir``.
    """
    config = read_configuration(path)
    place = config.folder / f"{Path(path).name}.run" if folder is None else Path(folder)
    is_rypt = config.words("-m", ("BLEU",))[0] == "RYPT"
    method = config.whole("-txtNrm", 0 if is_rypt else 1, 0, 4)
    if is_rypt and method:
        raise config.error("-txtNrm", "RYPT needs the words that were aligned; expected 0")
    references = None if is_rypt and "-r" not in config else _read_references(config, method)
    _check_source(config, references)
    search = replace(
        search,
        aim="list",
        restarts=config.whole("-ipi", 20, 1) - 1,
        seed=_read_seed(config, place, now),
        threads=config.whole("-thrCnt", search.threads, 1),
    )
    start = _read_parameters(config, search.seed)
    segments = len(references) if references else None
    rules = ListRules(len(start.entries), config.whole("-N", 100, 1), segments, method, is_rypt)
    decoder = _read_decoder(config, start, rules, references)
    plan = LoopPlan(
        _read_metric(config, references),
        start,
        search,
        start.constraints,
        stopping=_read_stopping(config),
        decoder=decoder.identity,
        previous=config.whole("-prevIt", 20, 0),
    )
    return ZmertRun(plan, decoder, place, config.place("-fin", "") if "-fin" in config else None)


def _read_stopping(config: Configuration) -> Stopping:
    """Z-MERT stops by the movement of the weights and returns the last ones."""
    max_iterations = config.whole("-maxIt", 20, 1)
    still = (config.number("-stopSig", -1.0), config.whole("-stopIt", 3, 1), config.whole("-minIt", 5, 1))
    return Stopping(max_iterations, patience=max_iterations, keep="last", still=still)


def _read_references(config: Configuration, method: int) -> References:
    """References in one file, ``-rps`` lines per segment, or in numbered ones."""
    count = config.whole("-rps", 1, 1)
    path = config.file("-r", "reference.txt") if count == 1 else config.place("-r", "reference.txt")
    files = reference_files(path)
    if len(files) == 1:
        lines = [line for _, line in read_lines(files[0])]
        if not lines or len(lines) % count:
            message = f"expected {count} lines per segment (-rps {count})" if lines else "expected references"
            raise InputError(files[0], len(lines) or None, f"{message}, found {len(lines)} lines")
        documents = [lines[i::count] for i in range(count)]
    elif len(files) < count:
        raise config.error("-rps", f"expected {count} files, found {len(files)} that begin with {path}")
    else:
        files = files[:count]
        documents = read_references(files).documents
    return References([[normalize(line, method) for line in document] for document in documents], files)


def _check_source(config: Configuration, references: References | None) -> None:
    """Z-MERT needs the source for Joshua inside it; here it is only looked at: one line per segment."""
    if "-s" not in config:
        return
    path = config.file("-s", "")
    size = sum(1 for _ in read_lines(path))
    if references is not None and size != len(references):
        raise InputError(path, size, f"expected {len(references)} lines, one per segment, found {size}")


def _read_seed(config: Configuration, folder: Path, now: int) -> int:
    """The random seed; a run whose seed was the time keeps it when it is resumed."""
    (word,) = config.words("-seed", ("time",))
    if word != "time":
        if not re.fullmatch("-?[0-9]{1,19}", word):
            raise config.error("-seed", "expected a whole number or time")
        return int(word) % 2**64
    plan = folder / PLAN
    try:
        return int(json.loads(plan.read_text(encoding="utf-8"))["search"]["seed"])
    except FileNotFoundError:
        return now
    except (ValueError, KeyError, TypeError) as error:
        raise RyptError(f"{plan}: expected the plan of a run: {error}") from None


def _read_parameters(config: Configuration, seed: int) -> WeightsFile:
    """The parameter file; ranges of random starts are cut to the bounds, and a weight with one value only is fixed."""
    path = config.file("-p", "params.txt")
    start = read_weights(path)
    if start.form != "params":
        raise InputError(path, None, "expected name ||| value Opt|Fix min max random-min random-max")
    if start.constraints.normalization is None:
        raise InputError(path, None, "expected a line normalization = …")
    constraints = _within_bounds(start.constraints)
    entries = start.entries
    if config.flag("-rand"):
        rng = np.random.default_rng(seed)
        entries = tuple(
            replace(entry, value=float(rng.uniform(*constraints.ranges[entry.name])))
            if constraints.moves(entry.name)
            else entry
            for entry in entries
        )
    for entry in entries:
        low, high = constraints.bounds.get(entry.name, (-np.inf, np.inf))
        if constraints.moves(entry.name) and not low <= entry.value <= high:
            raise InputError(
                path,
                entry.line,
                f"expected {entry.name} from {low:g} to {high:g}, its bounds, found {entry.value:g}",
            )
    return replace(start, entries=entries, constraints=constraints)


def _within_bounds(constraints: Constraints) -> Constraints:
    single = {name for name, (low, high) in constraints.bounds.items() if low == high}
    bounds = {name: pair for name, pair in constraints.bounds.items() if name not in single}
    ranges = {}
    for name, (low, high) in constraints.ranges.items():
        least, most = bounds.get(name, (-np.inf, np.inf))
        ranges[name] = (
            (min(max(low, least), most), max(min(high, most), least)) if low <= high else (low, high)
        )
    return replace(constraints, fixed=(*constraints.fixed, *sorted(single)), bounds=bounds, ranges=ranges)


def _read_metric(config: Configuration, references: References | None) -> Metric:
    """The metric of ``-m``."""
    name, *options = config.words("-m", ("BLEU", "4", "closest"))
    resources = Resources(references)
    if name == "BLEU":
        _check_bleu(config, options)
        spec = "bleu"
    elif name == "TER" and 4 <= len(options) <= 6:
        spec = _ter(config, options)
    elif name == "TER-BLEU" and 6 <= len(options) <= 8:
        _check_bleu(config, options[-2:])
        spec = f"bleu - {_ter(config, options[:-2])}"
    elif name == "CHRF" and len(options) == 2:
        if options[0] not in ("1", "1.0") or not re.fullmatch("[1-9][0-9]?", options[1]):
            raise config.error(
                "-m", "expected CHRF 1 N: another beta brings a length penalty that is not supported"
            )
        spec = f"chrf(beta=1,char_order={options[1]},eps_smoothing=true)"
    elif name == "RYPT" and len(options) == 1:
        spec, resources = "rypt", Resources(references, config.folder / options[0])
    else:
        known = (
            "BLEU 4 closest, TER case|nocase punc|nopunc 20 50, TER-BLEU (both), CHRF 1 N, or RYPT CAMPAIGN"
        )
        raise config.error("-m", f"not supported; expected {known}")
    return read_metric(spec, resources)


def _check_bleu(config: Configuration, options: list[str]) -> None:
    if options != ["4", "closest"]:
        raise config.error(
            "-m", "expected BLEU of up to 4 words with the closest reference length: 4 closest"
        )


def _ter(config: Configuration, options: list[str]) -> str:
    """TER by sacrebleu; the jar of tercom and its threads, which may follow, are not needed."""
    case, punctuation, beam, distance = options[:4]
    if case not in ("case", "nocase") or punctuation not in ("punc", "nopunc"):
        raise config.error("-m", "expected case or nocase, then punc or nopunc")
    if beam not in BEAMS or distance != "50":
        raise config.error("-m", "another beam or distance of shifts is not supported; expected 20 50")
    return f"ter(case_sensitive={'true' if case == 'case' else 'false'},no_punct={punctuation != 'punc'})"


def _read_decoder(
    config: Configuration, start: WeightsFile, rules: ListRules, references: References | None
) -> ZmertDecoder:
    """The script or the ready lists, and the decoder's configuration."""
    script = config.file("-cmd", "") if "-cmd" in config else None
    template = _read_decoder_config(config, start, needed=script is not None)
    inputs = {
        "cmd": script.read_bytes() if script else b"",
        "dcfg": template.template if template else b"",
        "fake": " ".join(config.words("-fake", ())).encode(),
        "references": json.dumps(references.documents).encode() if references else b"",
    }
    decoder = ZmertDecoder(
        template,
        script,
        config.place("-decOut", "output.nbest"),
        rules,
        _identity(rules, inputs),
        str(config.place("-fake", "")) if "-fake" in config else None,
        config.flag("-passIt"),
        config.whole("-decExit", 0, 0, 255),
        config.whole("-save", 3, 0, 3) == 3,
    )
    if script is None and decoder.fake is None:
        raise InputError(config.path, None, "expected -cmd, the decoder's script, or -fake, lists that exist")
    if script is None and decoder.ready(1) is None:
        raise config.error("-fake", "no such list of iteration 1")
    return decoder


def _read_decoder_config(config: Configuration, start: WeightsFile, *, needed: bool) -> DecoderConfig | None:
    """The decoder's configuration, in which every weight to tune has a line; None where there is no need of one."""
    path = config.place("-dcfg", "dec_cfg.txt")
    if not (needed or "-dcfg" in config or path.is_file()):
        return None
    if not path.with_name(path.name + ORIGINAL).is_file():
        config.file("-dcfg", "dec_cfg.txt")
    names = [entry.name for entry in start.entries]
    template = DecoderConfig(path, names)
    missing = template.missing([name for name in names if start.constraints.moves(name)])
    if needed and missing:
        message = f"expected a line that begins with {missing[0]!r} and a space, for its weight"
        raise InputError(path, None, message)
    return template


def _identity(rules: ListRules, inputs: Mapping[str, bytes]) -> str:
    """What lists and scores depend on besides the plan; a run with other ones is not resumed."""
    hashes = {name: hashlib.sha256(data).hexdigest()[:12] for name, data in inputs.items() if data}
    return signature("zmert", N=rules.size, txtNrm=rules.method, **hashes)
