"""A set for tests of the drop-in for Z-MERT: references, parameters, and a decoder script with a fixed pool."""

import json
import random
import sys
from pathlib import Path

from mert.search import SearchSettings
from mert.zmert.program import read_zmert

SEGMENTS, POOL, SIZE = 8, 120, 4
TEXT = "the a house red old cat sits on mat green is was big small dog"
WORDS = TEXT.split()
NAMES = ("lm score", "tm", "wp")
PARAMS = """lm score ||| 0.5 Opt -Inf +Inf -1 1
tm ||| 1.0 Opt -Inf +Inf -1 1
wp ||| 0.2 Opt -Inf +Inf -1 1
normalization = LNorm 1 1
"""
TEMPLATE = "# of the decoder\nlm score 7\nthreads 4\ntmx 5\ntm 7\nwp 7\n"
CONFIG = "-dir {folder}\n-r ref\n-txtNrm 0\n-seed 3\n-ipi 3\n-N 4\n"
SCRIPT = """#!{python}
import json, os, sys
folder = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(folder, "calls"), "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
if os.path.exists(os.path.join(folder, "trouble")):
    print("out of memory")
    sys.exit(9)
weights = []
for name in ("lm score", "tm", "wp"):
    (line,) = [line for line in open(os.path.join(folder, "dec_cfg.txt")) if line.startswith(name + " ")]
    weights.append(float(line.split()[-1]))
with open(os.path.join(folder, "output.nbest"), "w") as out:
    for segment, rows in enumerate(json.load(open(os.path.join(folder, "pool.json")))):
        rows.sort(key=lambda row: -sum(w * f for w, f in zip(weights, row[1])))
        for text, features in rows[:4]:
            print(segment, "|||", text, "|||", *features, file=out)
sys.exit(int(os.environ.get("EXIT_CODE", "0")))
"""


def make_pool():
    """References, and for each segment candidates with features that say, with noise, how good they are."""
    rng = random.Random(1)
    references, pool = [], []
    for _ in range(SEGMENTS):
        reference = rng.choices(WORDS, k=9)
        rows = []
        for _ in range(POOL):
            text = [word if rng.random() < 0.75 else rng.choice(WORDS) for word in reference]
            good = sum(a == b for a, b in zip(text, reference, strict=True))
            features = [rng.gauss(0, 1) - good / 3, rng.gauss(0, 1), rng.gauss(0, 1) + good / 6]
            rows.append((" ".join(text), [round(value, 4) for value in features]))
        references.append(" ".join(reference))
        pool.append(rows)
    return references, pool


def write_set(folder):
    """All files but the configuration."""
    folder.mkdir(exist_ok=True)
    references, pool = make_pool()
    (folder / "ref").write_text("".join(line + "\n" for line in references))
    (folder / "pool.json").write_text(json.dumps(pool))
    (folder / "params.txt").write_text(PARAMS)
    (folder / "dec_cfg.txt").write_text(TEMPLATE)
    script = folder / "decoder.py"
    script.write_text(SCRIPT.format(python=sys.executable))
    script.chmod(0o755)
    return folder


def write_config(folder, text="-cmd decoder.py\n", **others):
    """The configuration, with more lines, and other values of those that are there."""
    lines = CONFIG.format(folder=folder).splitlines()
    kept = [line for line in lines if line.split()[0][1:] not in others]
    said = [f"-{name} {value}" for name, value in others.items() if value is not None]
    path = folder / "config.txt"
    path.write_text("\n".join([*kept, *said, text]) + "\n")
    return path


def ask(path, now=5, **options):
    """Read a configuration."""
    return read_zmert(path, SearchSettings(), now=now, **options)


def go(path, now=5):
    """Run a configuration; what it asked for and what came of it."""
    asked = ask(path, now)
    return asked, asked.run()


def best_of(lines, weights):
    """The words a decoder with these weights would choose: of each segment the best line, the first of equals."""
    chosen = {}
    for line in lines:
        segment, words, numbers = (field.strip() for field in line.split("|||"))
        total = sum(w * float(number) for w, number in zip(weights.values(), numbers.split(), strict=True))
        if int(segment) not in chosen or total > chosen[int(segment)][0]:
            chosen[int(segment)] = total, words
    return [chosen[segment][1] for segment in sorted(chosen)]


def bleu_of(texts, folder):
    """sacrebleu's BLEU of texts."""
    from sacrebleu.metrics.bleu import BLEU

    references = Path(folder / "ref").read_text().splitlines()
    return BLEU(tokenize="none", force=True).corpus_score(texts, [references]).score
