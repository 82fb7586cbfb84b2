"""The public MQM annotation of TED talks as a campaign, made once for all processes of a run."""

import fcntl
import gzip
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from ted_campaign import make_campaign

from rypt.database.exchange import import_file

_SEGMENT = re.compile(r'(?:\{"seg_id": )?(\d+)')  # at the beginning of a line of JSON or TSV
RENAME = {"seg_id": "segment", "j": "first", "k": "last", "candidate_substring": "phrase", "system": "origin"}


@pytest.fixture(scope="session")
def ted_data(real_data: Callable[[str], Path]) -> Path:
    return real_data("mqm-ted-ende")


@pytest.fixture(scope="session")
def ted(ted_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with the judgments of the data; tests read it and do not change it."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with (shared / "ted.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "ted").exists():
            campaign = make_campaign(ted_data, shared / "ted.making")
            with campaign.database(readonly=False) as db:
                import_file(
                    db, ted_data / "judgments.tsv.gz", rename={**RENAME, "any": "label", "rater": "worker"}
                )
            (shared / "ted.making").rename(shared / "ted")
    return shared / "ted"


@pytest.fixture(scope="session")
def small_ted_data(ted_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first segments of the data."""
    folder = tmp_path_factory.mktemp("small")
    for name in ("sources.jsonl.gz", "candidates.jsonl.gz", "judgments.tsv.gz"):
        with (
            gzip.open(ted_data / name, "rt", encoding="utf-8") as whole,
            gzip.open(folder / name, "wt") as part,
        ):
            part.writelines(
                line for line in whole if (id_ := _SEGMENT.match(line)) is None or int(id_[1]) <= 60
            )
    return folder
