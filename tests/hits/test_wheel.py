"""The wheel holds what the market and the demo need: built, installed in a new environment, it serves a page."""

import json
import shutil
import signal
import subprocess
import sys
import venv
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[2]


def test_an_installed_wheel_serves_its_pages(tmp_path):
    source = tmp_path / "source"
    shutil.copytree(
        ROOT, source, ignore=shutil.ignore_patterns(".git", ".venv", "build", "*.egg-info", "__pycache__", "tests")
    )
    built = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(tmp_path),
        str(source),
    ]
    subprocess.run(built, check=True, timeout=120)
    (wheel,) = tmp_path.glob("rypt-*.whl")
    venv.create(tmp_path / "new", with_pip=True)
    python = tmp_path / "new" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", str(wheel)], check=True, timeout=120)
    paths = [entry for entry in sys.path if entry.endswith("site-packages")]
    (next((tmp_path / "new").glob("lib/python*/site-packages")) / "others.pth").write_text("\n".join(paths) + "\n")
    code = "import hits, sys; assert sys.argv[2] in hits.__file__, hits.__file__; from rypt.cli import main; "
    code += "main(['hits', 'serve', sys.argv[1], '--port', '0', '--json'])"
    command = [python, "-c", code, str(tmp_path / "market"), str(tmp_path / "new")]
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
    has_what_the_demo_needs(python, tmp_path)


def has_what_the_demo_needs(python, tmp_path):
    """The decoder of the demo is there as real files, and trains and decodes."""
    code = "from rypt.demo.texts import DECODER, Plan, write_texts; import sys; from pathlib import Path; "
    code += "write_texts(Path(sys.argv[1]), Plan(segments=2)); print(DECODER)"
    command = [python, "-c", code, str(tmp_path / "demo")]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path, timeout=180).stdout
    decoder = Path(said.strip())
    assert decoder.is_relative_to(tmp_path / "new")
    assert (decoder.parent / "report.css").is_file()
    corpus, model, out = decoder / "corpus", tmp_path / "model", tmp_path / "out.nbest"
    train = [
        "rypt.demo.decoder.train",
        "--source",
        corpus / "train.de",
        "--target",
        corpus / "train.en",
        "--output",
        model,
    ]
    texts = ["--input", tmp_path / "demo/texts/unseen.de", "--weights", tmp_path / "demo/texts/start.weights"]
    decode = ["rypt.demo.decoder.decode", "--model", model, *texts, "--nbest", out, "--size", "1"]
    truth = ["--trees", tmp_path / "demo/texts/unseen.trees", "--truth", tmp_path / "demo/texts/unseen.truth.jsonl"]
    for script in (train, decode, ["rypt.demo.decoder.accept", *truth, "--nbest", out]):
        subprocess.run([python, "-m", *script], check=True, capture_output=True, cwd=tmp_path, timeout=120)
