"""Make ``folders.tar.gz``: what users of version 0.1.0 have on their disks, in the middle of their work.

    python tests/version_0_1_0/make_folders.py tests/version_0_1_0/folders.tar.gz

It was run once, with version 0.1.0, and is kept to tell how the archive was made. In it:

    looped/        a campaign whose loop was stopped in iteration 2, with half of the answers on its market
    asked/         a campaign with batches of all three kinds; its market has answers that were not collected yet, a hit
                   that a worker holds, an approved, a rejected and a paid assignment, and a blocked worker
    run/           a tuning run around a decoder that was stopped after its first iteration
    expected.json  what version 0.1.0 made of them
"""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from rypt.cli import main

TESTS = Path(__file__).resolve().parents[1]
sys.path.append(str(TESTS / "rypt"))
import loop_decoder  # noqa: E402
import loop_world  # noqa: E402

from hits.server.store.store import Store  # noqa: E402


def rypt(*arguments: object) -> str:
    """Run a command, and return what it prints."""
    out = io.StringIO()
    with redirect_stdout(out):
        main([str(argument) for argument in arguments])
    return out.getvalue()


@contextmanager
def served(folder: str) -> Iterator[None]:
    """A market in a process of its own."""
    command = [
        sys.executable,
        "-c",
        "from rypt.cli import main; main()",
        "hits",
        "serve",
        folder,
        "--port",
        "0",
    ]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(180)


class HalfDoneError(Exception):
    """The loop is to be stopped here."""


def make_looped(folder: Path) -> None:
    """A worker does all of the first batch and half of the second."""
    loop_world.make_campaign(folder, labels=25)
    settings = (folder / "rypt.toml").read_text().replace(str(TESTS / "rypt"), ".")
    (folder / "rypt.toml").write_text(settings)
    shutil.copy(loop_decoder.__file__, folder / "loop_decoder.py")

    def pause(seconds: float) -> None:
        if not (folder / "batches/2").exists():
            loop_world.work(folder)
        else:
            loop_world.work(folder, most=6)
            raise HalfDoneError

    with served(str(folder / "market")):
        try:
            loop_world.make_loop(folder, pause=pause).run()
        except HalfDoneError:
            return
    raise AssertionError


def make_asked() -> None:
    """Batches of all kinds, published; a market where much has happened."""
    rypt("demo", "asked", "--small", "-q")
    lists: dict[str, list[str]] = {}
    for line in Path("asked/nbest.en").read_text(encoding="utf-8").splitlines():
        segment, text, *_ = line.split(" ||| ")
        lists.setdefault(segment, []).append(text)
    outputs: list[str] = []
    for name, place in (("one", 0), ("two", 3), ("three", -1)):
        texts = [candidates[place] for candidates in lists.values()]
        Path(f"asked/{name}.en").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        outputs += ["--output-of", f"{name}=asked/{name}.en"]
    market = ["--at", "asked/market", "--yes", "-q"]
    rypt("hits", "make", "asked", "-o", "asked/batches/labels", "--labels", 8, "-q")
    rypt(
        "hits",
        "make",
        "asked",
        "-o",
        "asked/batches/pairs",
        "--kind",
        "comparison",
        *outputs[:4],
        "--limit",
        4,
        "-q",
    )
    rypt(
        "hits",
        "make",
        "asked",
        "-o",
        "asked/batches/fives",
        "--kind",
        "ranking",
        *outputs,
        "--limit",
        3,
        "-q",
    )
    with served("asked/market"):
        for kind in ("labels", "pairs", "fives"):
            rypt("hits", "publish", f"asked/batches/{kind}", *market)
        rypt("hits", "invite", "Cleo", "Dora", "--at", "asked/market")
        with Store("asked/market/market.db") as store:
            work_all(store)
            first, second, third = sorted(answer.id for answer in store.assignments(int(time.time())))[:3]
            review(first, second, third)
            cleo = next(worker for worker in store.workers() if worker.name == "Cleo")
        rypt("hits", "collect", "asked/batches/labels", "-C", "asked", "--at", "asked/market", "-q")
        rypt("hits", "block", cleo.id, "--reason", "sends nothing", "--at", "asked/market")


def work_all(store: Store) -> None:
    """Two workers do every hit but one, which one of them holds."""
    now = int(time.time())
    for name in ("Ada", "Bob"):
        worker = store.invite(name, now).worker
        store.consent(worker.id, now)
        hits = store.available_hits(worker.id, now, limit=1000)
        for hit in hits[:-1]:
            held = store.accept(worker.id, hit.id, now)
            store.submit(held.id, worker.id, answers(hit.question), now + 60)
        if name == "Bob":
            store.accept(worker.id, hits[-1].id, now)


def answers(question: str) -> dict[str, str]:
    """YES to all, the first of two, ranks from the first slot to the last; whatever fields the page has."""
    fields = dict.fromkeys(re.findall(r'name="(label_\d+)"', question), "YES")
    fields |= dict.fromkeys(re.findall(r'name="(choice)"', question), "A")
    return fields | {f"rank_{n}": n for n in re.findall(r'name="rank_(\d+)"', question)}


def review(first: str, second: str, third: str) -> None:
    """Approve, reject, and pay a bonus for, three assignments."""
    with Store("asked/market/market.db") as store:
        now = int(time.time())
        store.approve(first, "thank you", now)
        store.reject(second, "too fast", now)
        worker = next(a.worker for a in store.assignments(now) if a.id == third)
    rypt("hits", "bonus", worker, third, "0.25", "--reason", "a hard one", "--at", "asked/market", "--yes")


def make_run() -> list[object]:
    """A tuning run of one iteration; returns the arguments that go on with it."""
    Path("run").mkdir()
    shutil.copy(loop_decoder.__file__, "run/loop_decoder.py")
    Path("run/start.weights").write_text(loop_decoder.START)
    best = [max(loop_decoder.pool(s), key=lambda row: row[1][0])[0] for s in range(loop_decoder.SEGMENTS)]
    Path("run/reference").write_text("".join(f"{text}\n" for text in best))
    arguments: list[object] = [
        "tune",
        "--decoder",
        "loop_decoder:decode",
        "--metric",
        "bleu",
        "--references",
        "reference",
    ]
    arguments += ["--weights", "start.weights", "--folder", "work", "--restarts", 3, "--json", "-q"]
    os.chdir("run")
    rypt(*arguments, "--max-iterations", 1)
    os.chdir("..")
    return arguments


def expected(arguments: list[object]) -> dict[str, object]:
    """What version 0.1.0 makes of copies of the folders."""
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("looped", "asked", "run"):
            shutil.copytree(name, Path(scratch, name))
        here = os.getcwd()
        os.chdir(scratch)
        found: dict[str, object] = {"status": json.loads(rypt("status", "asked", "--json"))}
        with served("asked/market"):
            for kind in ("labels", "pairs", "fives"):
                market = ["--at", "asked/market", "--json", "-q"]
                found[kind] = json.loads(
                    rypt("hits", "collect", f"asked/batches/{kind}", "-C", "asked", *market)
                )
        found["ranking"] = json.loads(rypt("rank", "systems", "asked", "-m", "expected-wins", "--json", "-q"))
        found["score"] = json.loads(rypt("score", "asked", "--json"))["score"]
        found["judgments"] = rypt("db", "export", "asked/judgments.db").count('"label"')
        os.chdir("run")
        run = json.loads(rypt(*arguments, "--max-iterations", 3))
        found["tune"] = {
            "arguments": [str(a) for a in arguments],
            "score": run["score"],
            "weights": run["weights"],
        }
        os.chdir(here)
    return found


def make(target: Path) -> None:
    """Make all folders in a scratch one, and pack them."""
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        make_looped(Path("looped"))
        make_asked()
        arguments = make_run()
        Path("expected.json").write_text(json.dumps(expected(arguments), indent=1) + "\n")
        with tarfile.open(target, "w:gz") as archive:
            for name in ("looped", "asked", "run", "expected.json"):
                archive.add(name, filter=_anonymous)
        os.chdir("/")


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if "__pycache__" in member.name or member.name.endswith(("-shm", ".log")):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    make(Path(sys.argv[1]).resolve())
