"""``import rypt``: its public names, loaded when they are first used."""

import subprocess
import sys

import rypt

HEAVY = {"numpy", "numba", "sqlite3", "sqlite_utils", "click", "matplotlib", "nltk"}


def test_names() -> None:
    assert set(rypt.__all__) == set(dir(rypt)) == {*rypt.HOMES, "__version__"}
    for name in rypt.__all__:
        assert getattr(rypt, name) is not None
    assert rypt.queries.__module__ == "rypt.campaign.queries"
    assert rypt.score.__module__ == "rypt.campaign.scoring"


def loaded(code: str) -> set[str]:
    """The heavy modules that a program loads."""
    program = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return HEAVY & set(done.stdout.splitlines()[-1].split())


def test_nothing_heavy_is_loaded_before_it_is_needed(demo_campaign) -> None:
    assert loaded("import rypt; rypt.Label, rypt.Span") == set()
    run = "from rypt.cli import main\ntry:\n    main({})\nexcept SystemExit:\n    pass"
    assert loaded(run.format(["--help"])) == {"click"}
    assert "nltk" not in loaded(
        run.format(["export", str(demo_campaign / "judgments.db")])
    )  # it reads no trees
