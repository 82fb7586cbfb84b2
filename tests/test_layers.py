"""mert → rypt ← hits, and nothing heavy is imported before it is needed."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FORBIDDEN = {"rypt": {"mert", "hits"}, "mert": {"hits"}, "hits": {"mert"}}
TOP_FLOOR = ("rypt.loop", "rypt.demo", "rypt.cli")  # may import everything; nothing imports it
HEAVY = {
    "numba": {"rypt/compiled.py"},
    "sqlite_utils": {"rypt/database/judgments.py", "rypt/database/schema.py"},
    "nltk": {"rypt/texts/trees.py"},
    "sacrebleu": {"rypt/picks/sentence.py", "mert/metrics/bleu.py", "mert/metrics/chrf.py", "mert/metrics/ter.py"},
    "boto3": {"hits/market/client.py"},
    "flask": {
        "hits/server/app.py",
        "hits/server/pages/dashboard.py",
        "hits/server/pages/worker.py",
        "hits/server/pages/tests.py",
        "hits/server/pages/visit.py",
    },
    "matplotlib": {"rypt/picture.py"},
    "distributed": {"mert/cluster.py"},
    "eflomal": {"rypt/tools/aligners.py"},
    "simalign": {"rypt/tools/aligners.py"},
    "stanza": {"rypt/tools/parsers.py"},
    "benepar": {"rypt/tools/parsers.py"},
    "spacy": {"rypt/tools/parsers.py"},
}


@cache
def imports(path: Path) -> set[str]:
    """Top-level names of all modules that a file imports anywhere."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("package", FORBIDDEN)
def test_arrows(package: str) -> None:
    files = list((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        assert not imports(path) & FORBIDDEN[package], path


@pytest.mark.parametrize("module", HEAVY)
def test_each_heavy_package_is_imported_where_it_is_needed_only(module: str) -> None:
    found = {
        str(path.relative_to(ROOT))
        for package in FORBIDDEN
        for path in (ROOT / package).rglob("*.py")
        if module in imports(path)
    }
    assert found == HEAVY[module]


def test_the_command_line_loads_nothing_heavy() -> None:
    code = (
        "import sys, rypt, mert, hits\n"
        "from importlib.metadata import entry_points\n"
        "commands = [entry.load() for entry in entry_points(group='rypt.commands')]\n"
        "assert len(commands) > 5\n"
        f"print(sorted(set(sys.modules) & {set(HEAVY) | {'numpy', 'tqdm', 'tabulate', 'sqlite3'}!r}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=180)
    assert out.stdout.strip() == "[]"


def test_only_the_command_line_prints_and_exits() -> None:
    for package in FORBIDDEN:
        for path in (ROOT / package).rglob("*.py"):
            if "cli" in path.parts or path.name.endswith("cli.py"):
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    assert node.func.id not in {"print", "input"}, f"{path}:{node.lineno}"
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    assert (node.value.id, node.attr) != ("sys", "exit"), f"{path}:{node.lineno}"
                    assert (node.value.id, node.attr) != ("os", "environ"), f"{path}:{node.lineno}"


SHARED_STATE = {  # what belongs to the whole process, and who may change it: programs, and blocks that change it back
    "csv.field_size_limit": set(),
    "sys.setrecursionlimit": set(),
    "os.chdir": set(),
    "os.umask": set(),
    "os.putenv": set(),
    "matplotlib.use": set(),
    "random.seed": set(),
    "np.random.seed": set(),
    "np.seterr": set(),
    "locale.setlocale": set(),
    "socket.setdefaulttimeout": set(),
    "logging.basicConfig": set(),
    "logging.disable": set(),
    "warnings.filterwarnings": set(),
    "warnings.simplefilter": set(),
    "decimal.setcontext": set(),
    "sys.path.insert": set(),
    "sys.path.append": {"rypt/cli/program.py", "mert/decoder.py"},
    "signal.signal": {"rypt/cli/program.py", "hits/server/app.py", "hits/cli/simulate.py"},
    "redirect_stdout": {"rypt/loop/steps.py"},
}


@pytest.mark.parametrize("name", SHARED_STATE)
def test_no_library_code_changes_what_belongs_to_the_whole_process(name: str) -> None:
    found = {
        str(path.relative_to(ROOT))
        for package in FORBIDDEN
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name
    }
    assert found == SHARED_STATE[name]
