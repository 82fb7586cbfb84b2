"""A campaign from one file of ratings, made step by step; an interrupted one is finished."""

import pytest
from rated_file import align_in_order, ratings_file

from rypt.ratings import rated_campaign
from rypt.ratings.rated_campaign import RatingsFile, make_rated_campaign
from rypt.text import InputError, RyptError


@pytest.fixture
def aligned(monkeypatch):
    return align_in_order(monkeypatch)


def test_one_file_is_enough(tmp_path, aligned):
    told = []
    path = ratings_file(tmp_path / "r.tsv")
    made = make_rated_campaign(RatingsFile(path, references=("ref",)), tmp_path / "c", tell=told.append)
    assert made.judged_only == ("Human-A", "ref")
    assert len(made.scores.read_text().splitlines()) == 16
    assert len(made.campaign.segments) == 2
    assert made.campaign.references == [["Das Haus ist rot .", "Wir gehen heim ."]]
    with made.campaign.database() as db:
        assert {j.label for j in db.judgments()} == {"YES", "NO"}
        assert {j.origin for j in db.judgments()} == {"A", "B", "Human-A", "ref"}
    assert told[0] == f"reading {path}"
    again = make_rated_campaign(RatingsFile(path, references=("ref",)), tmp_path / "c", tell=told.clear)
    assert (again.scores, again.judged_only) == (made.scores, made.judged_only)
    assert told  # nothing was done, so nothing was said
    assert len(aligned) == 1


@pytest.mark.parametrize("step", ["collect_texts", "create_campaign", "import_ratings"])
def test_what_was_interrupted_goes_on(tmp_path, aligned, monkeypatch, step):
    ratings = RatingsFile(ratings_file(tmp_path / "r.tsv"), references=("ref",))

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(rated_campaign, step, stop)
        with pytest.raises(KeyboardInterrupt):
            make_rated_campaign(ratings, tmp_path / "c")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "c").rglob("*") if path.is_file()}
    made = make_rated_campaign(ratings, tmp_path / "c")
    assert len(made.scores.read_text().splitlines()) == 16
    for path, time in before.items():
        assert path.name.startswith("judgments.db") or path.stat().st_mtime_ns == time, path
    whole = make_rated_campaign(ratings, tmp_path / "whole")
    with made.campaign.database() as one, whole.campaign.database() as two:
        assert list(one.judgments()) == list(two.judgments())


def test_a_folder_of_something_else(tmp_path, aligned):
    path = ratings_file(tmp_path / "r.tsv")
    make_rated_campaign(RatingsFile(path, references=("ref",)), tmp_path / "c")
    with pytest.raises(
        InputError, match=r"c: was made from other ratings \(references\); name another folder"
    ):
        make_rated_campaign(RatingsFile(path, references=("Human-A",)), tmp_path / "c")
    ratings_file(path, raters=("r1", "r2", "r3"))
    with pytest.raises(InputError, match=r"was made from other ratings \(files\)"):
        make_rated_campaign(RatingsFile(path, references=("ref",)), tmp_path / "c")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("years of work")
    with pytest.raises(
        InputError, match="expected a new folder, or one made from these ratings; found another"
    ):
        make_rated_campaign(RatingsFile(path, references=("ref",)), tmp_path / "full")
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["thesis.tex"]
    (tmp_path / "c" / "made_from.json").write_text("[")
    with pytest.raises(InputError, match=r"made_from.json: expected what the folder was made from"):
        make_rated_campaign(RatingsFile(path, references=("ref",)), tmp_path / "c")


def test_what_is_wrong_is_said_before_anything_is_written(tmp_path, aligned):
    path = ratings_file(tmp_path / "r.tsv")
    with pytest.raises(RyptError, match=r"expected the name of the reference .*, such as Human-A or ref"):
        make_rated_campaign(RatingsFile(path), tmp_path / "c")
    with pytest.raises(InputError, match="No such file"):
        make_rated_campaign(RatingsFile(tmp_path / "nothing.tsv", references=("ref",)), tmp_path / "c")
    with pytest.raises(RyptError, match="expected form as one of mqm, esa"):
        make_rated_campaign(RatingsFile(path, "csv"), tmp_path / "c")
    with pytest.raises(RyptError, match=r"such as Human-A or ref, .*; no rating is of 'reff'"):
        make_rated_campaign(RatingsFile(path, references=("reff",)), tmp_path / "c")
    assert not (tmp_path / "c").exists()
