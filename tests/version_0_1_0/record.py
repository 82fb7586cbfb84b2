"""What every command with ``--json`` says of a small campaign, and of one with a loop, in one file to compare.

    python tests/version_0_1_0/record.py FILE            run the commands and write what they print
    python tests/version_0_1_0/record.py --check FILE    run them and compare with such a file, byte for byte

``commands.jsonl`` beside this file was written by version 0.1.0, but for what has changed since: the search of `tune`
by MERT, ranges of `rank` (rows are drawn), the batch of `compare --batch`, which leaves ties out,
the signature of `compare --scores`, which names every model of RYPT in use, what `score`, `explain` and `compare
--show` say of the names in their texts, of the candidate explained, and of what decides the best ones, and what
`simulate` and `hits workers` count of comparisons and rankings: these show each system first in half of a pair's items,
and their controls have the right answer on either side equally often.
Ids, times, ports, folders and versions are left out. Numbers are as printed, so a file is the same byte for byte only
on the kind of machine that it was written on; `test_commands.py` therefore allows floating-point numbers a difference
in the seventh digit.
"""

import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from rypt.cli import main

TESTS = Path(__file__).resolve().parents[1]
SERVE = [
    sys.executable,
    "-c",
    "from rypt.cli import main; main()",
    "hits",
    "serve",
    "market",
    "--port",
    "0",
    "--json",
]

ID = re.compile(
    r"\bA(?:SIMULATED)?[0-9A-Z]{8,}\b|\b(?=\d*[A-Z])[0-9A-Z]{26,34}\b|(?<![.\d])\b(?=\d*[a-f])[0-9a-f]{12,64}\b"
    r'|(?<="batch": ")[0-9a-f]{12}\b'  # of digits alone, once in 280
    r"|(?<=local-)[0-9a-f]{8}|(?<=token=)[\w-]+|(?<=URL/)[\w/-]+"
)

BEFORE_THE_MARKET = """
demo small --small -q
db stats small/judgments.db --json
db check small/judgments.db --json
db export small/judgments.db judgments.jsonl
db import other.db judgments.jsonl --json
db merge other.db small/judgments.db --json
db stats other.db --json
score small --segments --json
score small --model table --json
score small --model tree --json
score small --unknown ignore --candidates small/nbest.en --json
queries small -o queries.jsonl -q
queries small --max-len 1 --select all --format csv -q
explain 3 -C small
status small --json
analyze small --max-len 3 --json
compare small --metrics bleu,chrf --show --limit 3
compare small --metrics rypt:table+0.2*chrf,bleu --batch picks --limit 5 -q
tune small --metric rypt --restarts 3 --json
tune small --metric bleu --restarts 3 --json
tune small --metric chrf --restarts 2 --json
tune small --metric ter --restarts 1 --json
tune small --metric 0.5*bleu+0.5*rypt --restarts 2 --algorithm mert --json
tune small --metric bleu --algorithm pro --json
tune small --metric bleu --algorithm mira --json
"""

ON_THE_MARKET = """
hits invite Ada Bob --at market --json
hits make small -o labels --labels 12 --assignments 2 --json -q
hits make small -o pairs --kind comparison --output-of one=one.en --output-of two=two.en --limit 6 --json -q
hits make small -o fives --kind ranking --output-of one=one.en --output-of two=two.en \\
  --output-of three=three.en --limit 4 --json -q
hits price labels --json
hits price pairs --market mturk --json
hits publish labels --at market --yes --json -q
hits publish pairs --at market --yes --json -q
hits publish fives --at market --yes --json -q
hits publish labels --at market --yes --json -q
hits publish picks --at market --yes --json -q
simulate --at market --truth truth.jsonl --workers 3 --spam 0 --accuracy 1 --not-sure 0 --json -q
hits collect labels -C small --at market --json -q
hits collect pairs -C small --at market --json -q
hits collect fives -C small --at market --json -q
hits collect picks -C small --at market --json -q
compare small --metrics rypt:table+0.2*chrf,bleu --json -q
hits collect labels -C small --at market --json -q
hits status -C small --batch labels --at market --json -q
hits workers -C small --at market --json -q
hits export -C small -o results.csv --batch labels
hits import -C copy results.csv --json
status small --json
"""

IMPORTS = """
import mqm ratings.tsv --texts rated --json -q
init scored --source small/source.de --trees small/trees.de --nbest one.nbest --nbest two.nbest \\
  --nbest three.nbest --references small/reference.en --languages de-en -q
import mqm ratings.tsv -C scored --scores scores.jsonl --json -q
compare scored --metrics rypt,bleu,rypt:tree+0.2*chrf \\
  --scores scores.jsonl --judging 1 --splits 5 --with-controls --json -q
analyze scored --json -q
"""

RANKINGS = """
rank systems wins.csv --json -q
rank systems wins.csv -m expected-wins --confidence bootstrap --json -q
rank systems wins.csv -m bradley-terry --json -q
rank head2head wins.csv --json
rank heatmap wins.csv --games 200 --json
rank next wins.csv --json
rank plan --systems 4 --experiments 20 --json
rank simulate --systems 5 --judgments 500 --experiments 10 --json -q
rank simulate wins.csv -m expected-wins -m bojar --experiments 20 --json -q
rank evaluate wins.csv -m expected-wins -m bradley-terry --sizes 50,100 --trials 2 --least 60 --split rows --json -q
rank preferences small --systems one,two --json
"""

LOOP = """
decode looped --json -q
hits make looped -o looped/batches/9 --labels 6 --json -q
loop looped --dry-run --json -q
status looped --json
"""


class Recorder:
    """Runs commands in the current folder and remembers what they printed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: list[dict[str, object]] = []

    def run(self, lines: str) -> None:
        """Run commands, one a line."""
        for line in lines.strip().replace("\\\n", " ").splitlines():
            out, err, code = io.StringIO(), io.StringIO(), 0
            with redirect_stdout(out), redirect_stderr(err):
                try:
                    main(shlex.split(line))
                except SystemExit as stop:
                    code = int(stop.code or 0)
            record = {
                "command": " ".join(line.split()),
                "code": code,
                "out": plain(out.getvalue(), self.folder),
            }
            self.records.append(
                record if code == 0 else {**record, "err": plain(err.getvalue(), self.folder)}
            )


def plain(text: str, folder: Path) -> str:
    """Text without what differs from run to run or with the tables of a file: the folder, ports, ids, times, sizes."""
    text = text.replace(str(folder), "FOLDER")
    text = re.sub(r"http://127\.0\.0\.1:\d+", "URL", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?", "TIME", text)
    text = re.sub(
        r'("(?:longest_run|[a-z_]*seconds|[a-z_]*hours|[a-z_]+_per_hour|time|wage)": )"?-?[\d.e+-]+"?',
        r"\1TIME",
        text,
    )
    text = re.sub(r'"seconds": \{[^}]*\}', '"seconds": TIME', text)
    text = re.sub(r'"(bytes|bytes_per_judgment)": [\d.]+', r'"\1": SIZE', text)
    text = re.sub(r"(\bv|version):\d[\d.]*\d", r"\1:VERSION", text)
    ids: dict[str, str] = {}
    return ID.sub(lambda match: ids.setdefault(match[0], f"ID{len(ids) + 1}"), text)


def write_texts(folder: Path) -> None:
    """Three systems' outputs (the first, fourth and last candidates), what is true of them, and WMT's comparisons."""
    lists: dict[str, list[str]] = {}
    lines: dict[str, list[str]] = {}
    for line in (folder / "small/nbest.en").read_text(encoding="utf-8").splitlines():
        segment, text, *_ = line.split(" ||| ")
        lists.setdefault(segment, []).append(text)
        lines.setdefault(segment, []).append(line)
    count = len(lists)
    for name, place in (("one", 0), ("two", 3), ("three", -1)):
        texts = [lists[str(n)][place] for n in range(count)]
        (folder / f"{name}.en").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        best = "".join(f"{lines[str(n)][place]}\n" for n in range(count))
        (folder / f"{name}.nbest").write_text(best, encoding="utf-8")
    sources = (folder / "small/source.de").read_text(encoding="utf-8").splitlines()
    truth: list[dict[str, object]] = [
        {
            "segment": str(n),
            "source": source,
            "candidates": {text: len(text) % 7 / 7 for text in lists.get(str(n), [])},
        }
        for n, source in enumerate(sources)
    ]
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        query = json.loads(line)
        place = {name: query[name] for name in ("segment", "start", "stop")}
        truth.append({**place, "phrases": [query["phrase"]] if len(query["phrase"]) % 3 else []})
    (folder / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in truth), encoding="utf-8")
    ratings = ["system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity"]
    for n, source in enumerate(sources):
        for system, place in (("one", 0), ("two", 3), ("three", -1)):
            for rater in ("rater1", "rater2"):
                words = lists[str(n)][place].split(" ")
                marked = (n + place + len(rater)) % len(words)
                words[marked] = f"<v>{words[marked]}</v>"
                severity = ("Major", "Minor", "Minor")[(n + place) % 3]
                texts = f"{source}\t{' '.join(words)}\tAccuracy/Mistranslation\t{severity}"
                ratings.append(f"{system}\tdoc\t1\t{n}\t{rater}\t{texts}")
    (folder / "ratings.tsv").write_text("\n".join(ratings) + "\n", encoding="utf-8")
    header = "srclang,trglang,srcIndex,documentId,segmentId,judgeId," + ",".join(
        f"system{k}Number,system{k}Id" for k in (1, 2, 3, 4)
    )
    rows = [f"{header},{','.join(f'system{k}rank' for k in (1, 2, 3, 4))}"]
    for n in range(60):
        systems = ",".join(f"{k},sys-{'abcd'[k - 1]}" for k in (1, 2, 3, 4))
        ranks = ",".join(str(1 + (n * k + k * k) % (2 + k)) for k in (1, 2, 3, 4))
        rows.append(f"de,en,{n},doc{n // 10},{n},judge{n % 5},{systems},{ranks}")
    (folder / "wins.csv").write_text("\n".join(rows) + "\n")


@contextmanager
def served() -> Iterator[None]:
    """The folder ``market`` served by a process of its own."""
    with subprocess.Popen(SERVE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            json.loads(process.stdout.readline())
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(180)


def record(folder: Path) -> str:
    """Run all commands in a new folder; a line of JSON for each."""
    sys.path[:0] = [str(TESTS / "rypt"), str(TESTS / "hits")]
    import loop_world

    recorder = Recorder(folder)
    recorder.run(BEFORE_THE_MARKET)
    write_texts(folder)
    shutil.copytree("small", "copy")
    with served():
        recorder.run(ON_THE_MARKET)
    recorder.run(IMPORTS)
    recorder.run(RANKINGS)
    loop_world.make_campaign(folder / "looped", labels=25)
    recorder.run(LOOP)
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in recorder.records)


def run() -> int:
    """Write or compare."""
    *check, path = sys.argv[1:]
    target = Path(path).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        text = record(Path(scratch).resolve())
        os.chdir("/")
    if not check:
        target.write_text(text, encoding="utf-8")
        return 0
    before = target.read_text(encoding="utf-8").splitlines()
    other = [(old, new) for old, new in zip(before, text.splitlines(), strict=True) if old != new]
    for old, new in other:
        print(f"- {old}\n+ {new}")
    print(f"{len(before) - len(other)} of {len(before)} commands print the same, byte for byte")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(run())
