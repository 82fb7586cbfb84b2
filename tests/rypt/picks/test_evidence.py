"""A campaign's lists as systems, and the file of human scores."""

import json
import shutil

import numpy as np
import pytest
from systems_world import make

from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.picks.evidence import place_scores, read_evidence, read_score_lines
from rypt.picks.metrics import parse_pick_metric
from rypt.text import InputError, RyptError

METRICS = [parse_pick_metric(name) for name in ("rypt", "bleu")]
GOOD = {"segment": "0", "system": "sys0", "rater": "r1", "score": 2, "better": "lower"}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make(tmp_path_factory.mktemp("world") / "campaign").folder


@pytest.fixture
def folder(world, tmp_path):
    return shutil.copytree(world, tmp_path / "campaign")


def read(folder, **options):
    return read_evidence(Campaign.open(folder), folder / "scores.jsonl", METRICS, **options)


def read_scores(path, systems, segments, better=None):
    return place_scores(path, read_score_lines(path, better), systems, segments)


def write(path, *records):
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
    return path


# scores


def test_higher_is_better_and_missing_is_nan(tmp_path):
    records = [
        GOOD,
        {**GOOD, "segment": 1, "better": "higher"},
        {**GOOD, "rater": "r2", "score": 4},
        {**GOOD, "system": "other"},
        {**GOOD, "segment": "99"},
    ]
    scores = read_scores(write(tmp_path / "s", *records), ["sys0", "sys1"], ["0", "1"])
    nan = np.nan
    np.testing.assert_array_equal(scores.raters["r1"], [[-2, 2], [nan, nan]])
    np.testing.assert_array_equal(scores.raters["r2"], [[-4, nan], [nan, nan]])
    np.testing.assert_array_equal(scores.mean, [[-3, 2], [nan, nan]])
    assert scores.elsewhere == 2


def test_a_whole_file_may_say_what_is_better(tmp_path):
    record = {name: GOOD[name] for name in ("segment", "system", "score")}
    path = write(tmp_path / "s", record)
    assert read_scores(path, ["sys0"], ["0"], "lower").mean[0, 0] == -2
    assert list(read_scores(path, ["sys0"], ["0"], "higher").raters) == [""]
    with pytest.raises(InputError, match="expected better as higher or lower"):
        read_scores(path, ["sys0"], ["0"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "expected an object"),
        ("[1]", "expected an object"),
        ("3", "expected an object"),
        ("null", "expected an object"),
        ('{"segment": "0", "system": "sys0"}', "expected an object"),
        ({**GOOD, "score": None}, "expected an object"),
        ({**GOOD, "score": "two"}, "expected an object"),
        ({**GOOD, "score": 10**400}, "expected an object"),
        ('{"segment": "0", "system": "sys0", "score": NaN, "better": "lower"}', "expected a finite number"),
        ('{"segment": "0", "system": "sys0", "score": 1e999, "better": "lower"}', "expected a finite number"),
        ({**GOOD, "better": "bigger"}, "expected better as higher or lower"),
        (GOOD, "a second score of sys0, segment 0, by rater 'r1'"),
    ],
)
def test_lines_that_cannot_be_taken(tmp_path, line, message):
    with pytest.raises(InputError, match=f"s:2: .*{message}"):
        read_scores(write(tmp_path / "s", GOOD, line), ["sys0"], ["0"])


@pytest.mark.parametrize("records", [[], [{**GOOD, "system": "other"}]])
def test_scores_of_nothing_here(tmp_path, records):
    with pytest.raises(InputError, match=r"no score is of a system \(sys0\) and a segment of this campaign"):
        read_scores(write(tmp_path / "s", *records), ["sys0"], ["0"])


# campaigns


def test_lists_are_systems(folder):
    evidence = read(folder)
    assert evidence.data.systems == ("sys0", "sys1", "sys2", "sys3", "sys4")
    assert evidence.data.candidates.tolist() == np.arange(60).reshape(5, 12).tolist()
    assert evidence.segments == [str(i) for i in range(12)]
    assert set(evidence.data.votes.groups) == set(evidence.data.systems)
    assert len(evidence.data.fixed["bleu"]) == 60
    assert [signature.split("|")[0] for signature in evidence.signatures] == ["bleu"]


def test_raters_are_workers(folder):
    evidence = read(folder, way="rater")
    assert set(evidence.data.votes.groups) == {"r1", "r2"}
    splits = evidence.splits("rater", 4, 1, judged_only=["sys4"])
    assert splits.notes == ("12 of 12 segments take part",)
    assert len(splits) == 2
    for split in splits:
        assert split.scored == (0, 1, 2, 3)
        assert {len(names) for names in split.judges.names} == {1}
    assert {frozenset(split.judges.names[5] for split in splits)} == {
        frozenset(map(frozenset, (["r1"], ["r2"])))
    }


def test_only_the_frontier_counts(folder):
    words, phrases, sentences, every = (len(read(folder, max_len=n).data.votes) for n in (1, 2, 4, None))
    assert words + phrases + sentences == every  # no constituent of these trees is on two of the frontiers
    assert min(words, phrases, sentences) > 0


def test_a_list_may_lack_segments(folder):
    lines = (folder / "sys2.jsonl").read_text().splitlines(keepends=True)
    (folder / "sys2.jsonl").write_text("".join(lines[3:]))
    table = read(folder).data.candidates
    assert (table[2, :3] == -1).all()
    assert (table[[0, 1, 3, 4]] >= 0).all()


def test_an_n_best_list_is_no_system(folder):
    lines = (folder / "sys2.jsonl").read_text().splitlines(keepends=True)
    (folder / "sys2.jsonl").write_text("".join([*lines, lines[4]]))
    with pytest.raises(
        InputError, match=r"sys2.jsonl: expected one candidate per segment, found a second of 4"
    ):
        read(folder)


def test_two_lists_of_one_system(folder):
    (folder / "more").mkdir()
    shutil.copy(folder / "sys1.jsonl", folder / "more" / "sys0.jsonl")
    text = (folder / "rypt.toml").read_text()
    (folder / "rypt.toml").write_text(text.replace('"sys1.jsonl"', '"more/sys0.jsonl"'))
    with pytest.raises(InputError, match="two lists are of the system sys0"):
        read(folder)


def test_no_references(tmp_path):
    campaign = make(tmp_path / "campaign", references=False)
    with pytest.raises(RyptError, match="the metric bleu needs references, and the campaign names none"):
        read(campaign.folder)


@pytest.mark.parametrize(
    ("way", "message"),
    [
        (
            "system",
            r"no judgment that counts here has one of the systems \(sys0, sys1, sys2, sys3, sys4\) as its origin",
        ),
        ("rater", r"no judgment that counts here is by one of the raters of the scores \(r1, r2\)"),
    ],
)
def test_no_judgments(tmp_path, way, message):
    campaign = make(tmp_path / "campaign", judged=False)
    with pytest.raises(RyptError, match=message):
        read(campaign.folder, way=way)


def test_excluded_workers_do_not_judge(folder):
    with JudgmentDatabase(folder / "judgments.db") as db:
        db.exclude("r1", "does not read")
    evidence = read(folder, way="rater")
    assert evidence.data.votes.groups == ["r2"]
    (split,) = evidence.splits("rater", 9, 1)
    assert set(split.judges.names) == {frozenset(["r2"])}
    np.testing.assert_array_equal(split.quality, evidence.scores.raters["r1"])


def test_scores_of_judging_raters_need_raters(folder):
    human = [parse_pick_metric("rypt"), parse_pick_metric("human+0.001*chrf")]
    with pytest.raises(
        RyptError, match=r"'human\+0.001\*chrf': the term human is the judging raters' own score"
    ):
        read_evidence(Campaign.open(folder), folder / "scores.jsonl", human)
    evidence = read_evidence(Campaign.open(folder), folder / "scores.jsonl", human, way="rater")
    assert list(evidence.data.fixed) == ["chrf"]


def test_a_system_to_be_judged_only_must_be_there(folder):
    evidence = read(folder)
    with pytest.raises(RyptError, match="no list and no judgment is of the system 'sys9'"):
        evidence.splits("system", 1, 1, judged_only=["sys9"])
    assert all("sys4" in split.judges for split in evidence.splits("system", 5, 1, judged_only=["sys4"]))


def test_leaving_out_candidates_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(RyptError, match="biased"):
        read_evidence(
            Campaign.open(make(tmp_path / "c").folder), tmp_path / "nothing", METRICS, way="candidate"
        )


def test_lists_are_named_after_the_origins_of_judgments(folder):
    (folder / "sys1.jsonl").rename(folder / "test.sys1.de.jsonl")
    text = (folder / "rypt.toml").read_text()
    (folder / "rypt.toml").write_text(text.replace('"sys1.jsonl"', '"test.sys1.de.jsonl"'))
    assert read(folder).data.systems[1] == "sys1"


def test_lists_are_named_after_systems_that_were_only_scored(folder):
    """Where raters are held out, judgments may have any origin: the file of scores says what the systems are called."""
    (folder / "sys1.jsonl").rename(folder / "test.sys1.de.jsonl")
    text = (folder / "rypt.toml").read_text()
    (folder / "rypt.toml").write_text(text.replace('"sys1.jsonl"', '"test.sys1.de.jsonl"'))
    with JudgmentDatabase(folder / "judgments.db") as db, db.writing():
        db.db.execute("UPDATE judgments SET origin = 'hit-' || origin")
    evidence = read(folder, way="rater")
    assert evidence.data.systems[1] == "sys1"
    assert not np.isnan(evidence.scores.mean[1]).any()
    assert evidence.notes == []


def test_what_no_score_is_of_is_said(folder):
    lines = (folder / "scores.jsonl").read_text().splitlines(keepends=True)
    (folder / "scores.jsonl").write_text("".join(line.replace('"sys1"', '"SYS1"') for line in lines))
    assert read(folder).notes == [
        "24 of 120 scores are of other systems or segments",
        "without a score, so never picked: sys1",
    ]


def test_simulated_judgments_are_said(folder):
    assert read(folder).simulated == ""
    with JudgmentDatabase(folder / "judgments.db") as db, db.writing():
        db.db.execute("UPDATE judgments SET source = 'simulation' WHERE worker = 'r1'")
    assert read(folder).simulated.startswith("SIMULATED: 420 of 840 judgments")
