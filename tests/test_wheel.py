"""The wheel is complete: built once and installed in a new environment, all of it imports, serves pages and runs."""

import json
import shutil
import signal
import subprocess
import sys
import venv
from pathlib import Path
from urllib.request import urlopen

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("rypt", "mert", "hits")
IMPORT_ALL = """
import importlib, json, pkgutil, sys
names = []
for package in ("rypt", "mert", "hits"):
    top = importlib.import_module(package)
    assert sys.argv[1] in top.__file__, top.__file__
    names += [package, *(module.name for module in pkgutil.walk_packages(top.__path__, package + "."))]
for name in names:
    importlib.import_module(name)
print(json.dumps(names))
"""


def test_an_installed_wheel_imports_serves_and_runs(tmp_path: Path) -> None:
    python = new_environment(tmp_path, build_wheel(tmp_path))
    imports_every_module(python, tmp_path)
    serves_its_pages(python, tmp_path)
    has_what_the_demo_needs(python, tmp_path)


def build_wheel(tmp_path: Path) -> Path:
    """The wheel of a copy of the checkout, so that nothing is left in it."""
    source = tmp_path / "source"
    left_out = (".*", "build", "*.egg-info", "__pycache__", "tests")
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*left_out))
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        tmp_path,
        source,
    ]
    subprocess.run(build, check=True, timeout=120)
    (wheel,) = tmp_path.glob("rypt-*.whl")
    return wheel


def new_environment(tmp_path: Path, wheel: Path) -> Path:
    """The Python of a new environment with the wheel; what it depends on comes from this one."""
    venv.create(tmp_path / "new", with_pip=True)
    python = tmp_path / "new" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", wheel], check=True, timeout=120)
    paths = [entry for entry in sys.path if entry.endswith("site-packages")]
    (next((tmp_path / "new").glob("lib/python*/site-packages")) / "others.pth").write_text(
        "\n".join(paths) + "\n"
    )
    return python


def imports_every_module(python: Path, tmp_path: Path) -> None:
    """The wheel has the modules of the checkout, no more and no fewer, and each can be imported."""
    command = [python, "-c", IMPORT_ALL, tmp_path / "new"]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=tmp_path, timeout=180)
    files = [path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    modules = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files]
    assert sorted(json.loads(run.stdout)) == sorted(modules)


def serves_its_pages(python: Path, tmp_path: Path) -> None:
    """The market's templates and style are in the wheel."""
    code = (
        "import sys; from rypt.cli import main; main(['hits', 'serve', sys.argv[1], '--port', '0', '--json'])"
    )
    command = [python, "-c", code, tmp_path / "market"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        try:
            url = json.loads(process.stdout.readline())["url"]
            with urlopen(url, timeout=180) as page:
                assert b"<main" in page.read()
            with urlopen(url + "hit.css", timeout=180) as style:
                assert style.status == 200
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=180)
    assert process.returncode == 0


def has_what_the_demo_needs(python: Path, tmp_path: Path) -> None:
    """The demo's texts and lists are there, and its decoder ranks them."""
    code = "from rypt.demo.texts import Plan, begin; import sys; from pathlib import Path; "
    code += "begin(Path(sys.argv[1]), Plan(segments=2))"
    run = {"check": True, "capture_output": True, "cwd": tmp_path, "timeout": 180}
    subprocess.run([python, "-c", code, tmp_path / "demo"], **run)
    texts, out = tmp_path / "demo/texts", tmp_path / "out.nbest"
    weights = ["--weights", texts / "start.weights", "--nbest", out, "--size", "1"]
    subprocess.run([python, "-m", "rypt.demo.decoder", texts / "unseen.pool", *weights], **run)
    assert len(out.read_text(encoding="utf-8").splitlines()) == 2
