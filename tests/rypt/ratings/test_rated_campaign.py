"""A campaign of one file of ratings, made step by step; an interrupted one is finished."""

import json
from dataclasses import replace

import pytest
from rated_file import align_in_order, ratings_file

from rypt.campaign.folder import Campaign
from rypt.ratings import rated_campaign
from rypt.ratings.rated_campaign import RatingsFile, import_ratings_file, never_picked
from rypt.ratings.rating import Repairs
from rypt.text import InputError, RyptError


@pytest.fixture
def aligned(monkeypatch):
    return align_in_order(monkeypatch)


def judgments(folder):
    with Campaign.open(folder).database() as db:
        return list(db.judgments())


def test_one_file_is_enough(tmp_path, aligned):
    file, folder = RatingsFile(ratings_file(tmp_path / "r.tsv"), references=("ref",)), tmp_path / "c"
    result = import_ratings_file(file, folder)
    assert never_picked(folder) == ("Human-A", "ref")
    assert result.scores == len((folder / "scores.jsonl").read_text().splitlines()) == 16
    campaign = Campaign.open(folder)
    assert len(campaign.segments) == 2
    assert campaign.references == [["Das Haus ist rot .", "Wir gehen heim ."]]
    assert {j.label for j in judgments(folder)} == {"YES", "NO"}
    assert {j.origin for j in judgments(folder)} == {"A", "B", "Human-A", "ref"}
    again = import_ratings_file(file, folder)
    assert (again.added, again.already) == (0, result.added)
    assert len(aligned) == 1


@pytest.mark.slow
@pytest.mark.parametrize("step", ["collect_texts", "create_campaign", "import_ratings"])
def test_what_was_interrupted_goes_on(tmp_path, aligned, monkeypatch, step):
    file, folder = RatingsFile(ratings_file(tmp_path / "r.tsv"), references=("ref",)), tmp_path / "c"

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(rated_campaign, step, stop)
        with pytest.raises(KeyboardInterrupt):
            import_ratings_file(file, folder)
    before = {path: path.stat().st_mtime_ns for path in (folder / "texts").rglob("*") if path.is_file()}
    import_ratings_file(file, folder)
    assert len((folder / "scores.jsonl").read_text().splitlines()) == 16
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    import_ratings_file(file, tmp_path / "whole")
    assert judgments(folder) == judgments(tmp_path / "whole")


def test_one_language_pair_of_several_is_taken(tmp_path):
    rated = {"esa_spans": [], "esa_score": 90, "tgt": "abc", "src": "a", "system": "A"}
    records = [
        json.dumps({**rated, "langs": pair, "line_id": i}) for i, pair in enumerate(("en-cs", "en-de"))
    ]
    (tmp_path / "esa.jsonl").write_text("\n".join(records))
    file = RatingsFile(tmp_path / "esa.jsonl", "esa", languages="en-de")
    assert [rating.segment for rating in file.read(Repairs(file.path))] == ["1"]
    with pytest.raises(InputError, match=r"esa\.jsonl: expected ratings of de-en, found en-cs, en-de"):
        replace(file, languages="de-en").read(Repairs(file.path))


def test_a_folder_of_something_else(tmp_path, aligned):
    file, folder = RatingsFile(ratings_file(tmp_path / "r.tsv"), references=("ref",)), tmp_path / "c"
    import_ratings_file(file, folder)
    with pytest.raises(InputError, match=r"c: was made of other ratings \(references\); name another folder"):
        import_ratings_file(RatingsFile(file.path, references=("Human-A",)), folder)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="expected a campaign, or a new folder"):
        import_ratings_file(file, tmp_path / "full")
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["thesis.tex"]
    (folder / "made_from.json").write_text("[")
    with pytest.raises(InputError, match=r"made_from.json: expected what the campaign was made of"):
        import_ratings_file(file, folder)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("r.tsv", {}, r"expected the name of the reference .*, such as Human-A or ref"),
        ("nothing.tsv", {"references": ("ref",)}, "No such file"),
        ("r.tsv", {"form": "csv"}, "expected form as one of mqm, esa"),
        ("r.tsv", {"references": ("reff",)}, r"such as Human-A or ref, .*; no rating is of 'reff'"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(tmp_path, aligned, name, options, message):
    ratings_file(tmp_path / "r.tsv")
    with pytest.raises(RyptError, match=message):
        import_ratings_file(RatingsFile(tmp_path / name, **options), tmp_path / "c")
    assert not (tmp_path / "c").exists()
