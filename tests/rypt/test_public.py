"""``import rypt``: its public names, loaded when they are first used."""

import json
import subprocess
import sys

import rypt

NAMES = {
    "Campaign",
    "Candidate",
    "Judgment",
    "JudgmentDatabase",
    "Label",
    "Scorer",
    "ScoringChoices",
    "SourceTree",
    "Span",
    "__version__",
    "frontier",
    "percolate",
    "queries",
    "score",
}


def test_names() -> None:
    assert set(rypt.__all__) == NAMES
    assert set(rypt.__all__) == set(dir(rypt))
    for name in rypt.__all__:
        assert getattr(rypt, name) is not None
    assert rypt.queries.__module__ == "rypt.campaign.queries"
    assert rypt.score.__module__ == "rypt.campaign.scoring"


def test_importing_rypt_loads_nothing_heavy() -> None:
    code = "import json, sys; import rypt; rypt.Label, rypt.Span; print(json.dumps(sorted(sys.modules)))"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=180
    )
    loaded = set(json.loads(out.stdout))
    assert {"rypt", "rypt.records"} <= loaded
    assert loaded.isdisjoint({"numpy", "numba", "sqlite3", "sqlite_utils", "click", "matplotlib"})
