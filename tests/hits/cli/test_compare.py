"""``rypt compare``: picks shown, people asked and their answers read back, held-out scores, and what is refused."""

import json
import re
import shutil

import pytest
from commands import run
from local_market import local_market, work
from rated_file import align_in_order, ratings_file
from systems_world import make

from hits.batch.folder import read_batch
from hits.compare.picks import compare_metrics
from hits.market.collect import collect_into
from hits.market.publish import publish, published
from hits.results.answers import Results
from rypt.campaign.folder import Campaign


@pytest.fixture
def campaign(demo_campaign, tmp_path):
    return shutil.copytree(demo_campaign, tmp_path / "campaign")


@pytest.fixture(scope="module")
def systems(tmp_path_factory):
    return make(tmp_path_factory.mktemp("world") / "systems", systems=6, segments=20).folder


def compare(capsys, *arguments):
    code, out, err = run(capsys, "compare", *arguments)
    assert code == 0, err
    return out


def refused(capsys, code, message, *arguments):
    found, out, err = run(capsys, "compare", *arguments)
    assert (found, out) == (code, ""), err
    assert re.search(message, err.splitlines()[-1]), err
    assert code == 2 or len(err.splitlines()) == 1


# by people


@pytest.mark.slow
def test_disagreements_are_shown_with_rejected_words_marked(capsys, campaign):
    out = compare(capsys, "picks", campaign)
    blocks = out.split("\n\n")
    summary, rypt, bleu, simulated = blocks[-1].splitlines()
    assert (rypt.split()[0], bleu.split()[0]) == ("rypt", "bleu")
    assert simulated == "SIMULATED: 2,274 of 2,274 judgments were given by no person"
    different, same = map(int, re.findall(r"\d+", summary))
    assert (len(blocks) - 1, different + same) == (different, 40)
    names = [line.split()[0] for line in blocks[0].splitlines()]
    assert names == ["segment", "source", "reference", "rypt", "bleu"]
    assert re.search(r"^  bleu .*\[\w+\]", out, re.MULTILINE)
    few = compare(capsys, "picks", campaign, "--limit", 2)
    assert few.split("\n\n")[:2] == blocks[:2]
    assert len(few.split("\n\n")) == 3


@pytest.mark.slow
def test_disagreements_on_a_page(capsys, campaign, tmp_path):
    page = tmp_path / "picks.html"
    out = compare(capsys, "picks", campaign, "--page", page, "--limit", 3)
    text = page.read_text()
    assert text.count("<article>") == 3
    for said in (f"{int(out.split()[0])} segments with different picks", "SIMULATED", "RYPT|nodes:spans"):
        assert said in text
    refused(capsys, 1, "expected a name ending in .html", "picks", campaign, "--page", tmp_path / "x.txt")


def test_nobody_is_asked_about_picks_that_a_tie_decides(capsys, campaign, tmp_path):
    code, _, err = run(capsys, "hits", "make", campaign, "--kind", "picks", "-o", tmp_path / "b")
    assert code == 0, err
    picks = compare_metrics(campaign).picks.values()
    tied = {segment for each in picks for segment, pick in each.items() if pick.tied > 1}
    assert f"undecided: {len(tied)} by a tie, 0 for lack of labels" in err
    asked = {i.columns["segment"] for i in read_batch(tmp_path / "b").items if not i.columns["control"]}
    assert asked
    assert tied
    assert not asked & tied
    with Campaign.open(campaign).database(readonly=False) as db, db.writing():
        db.db.execute("DELETE FROM judgment_rows")
    code, _, err = run(capsys, "hits", "make", campaign, "--kind", "picks", "-o", tmp_path / "c")
    assert (code, "nothing to ask" in err) == (1, True)


@pytest.mark.slow
def test_people_are_asked_and_their_preferences_read_back(capsys, campaign, tmp_path):
    """A batch of picks is published to a market, answered there and collected, and gives the tables of the paper."""
    batch = tmp_path / "batch"
    options = ["--kind", "picks", "--controls", 0.2, "--seed", 3, "-q"]
    out = run(capsys, "hits", "make", campaign, "-o", batch, *options)[1]
    made = read_batch(batch)
    asked = [item for item in made.items if not item.columns["control"]]
    assert f"{len(made.items)} hits (6 + 2 controls), {3 * len(made.items)} assignments" in out
    assert made.settings.made["systems"] == ["rypt", "bleu"]
    refused(capsys, 1, "no answers about these picks yet", "preferences", campaign)
    items = {}

    def choose(number):
        """Two workers prefer RYPT's pick, the third prefers neither; all know the controls."""

        def answer(hit):
            columns = next(item.columns for item in made.items if item.id == items[hit["HITId"]])
            if columns["control"]:
                return {"choice": columns["control"]}
            return {"choice": "EQUAL" if number == 2 else "A" if columns["system_a"] == "rypt" else "B"}

        return answer

    with local_market(tmp_path) as (client, store), Campaign.open(campaign).database(readonly=False) as db:
        publish(batch, client)
        items.update({hit: item for item, hit in published(made, batch, client).items()})
        for number in range(3):
            assert work(store, f"w{number}", choose(number))[1] == len(made.items)
        assert collect_into(Results(db), made, batch, client).comparisons == 3 * len(asked)
    out = compare(capsys, "preferences", campaign)
    assert out.startswith("People prefer rypt to bleu, reference shown: +66.7 points (")
    assert re.search(rf"rypt \+2 +{len(asked)} +100.0\n", out)
    assert "the labels behind the picks are SIMULATED" in out
    assert f"compare|preferences|metrics:rypt,bleu|judgments:{3 * len(asked)}|seed:1|v:" in out
    found = json.loads(compare(capsys, "preferences", campaign, "--json", "--plot", tmp_path / "p.svg"))
    (preferences,) = found["preferences"]
    assert preferences["judgments"] == {"rypt": 2 * len(asked), "bleu": 0, "neither": len(asked)}
    assert preferences["aggregates"] == {"+2": len(asked)}
    assert "<svg" in (tmp_path / "p.svg").read_text()
    assert compare(capsys, "preferences", campaign, "--latex").count(r"\begin{tabular}") == 2
    refused(capsys, 1, "no answers about these", "preferences", campaign, "--metrics", "rypt,chrf")


# by held-out scores


@pytest.mark.slow
def test_held_out_systems(capsys, systems, tmp_path):
    options = ["scores", systems, "--scores", systems / "scores.jsonl", "--splits", 3]
    metrics = ["--metrics", "rypt,bleu,chrf"]
    few = compare(capsys, *options, *metrics).splitlines()
    assert (few[4].split()[:2], few[5]) == (["rypt", "bleu"], "")
    picture = tmp_path / "o.png"
    out = compare(capsys, *options, *metrics, "--with-controls", "--all", "--plot", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    rows = [re.split(r"\s{2,}", line) for line in out.splitlines()[4:11]]
    controls = [*["rypt, coverage"] * 2, *["rypt, permuted"] * 2]
    assert [row[0] for row in rows] == ["rypt", "rypt", "bleu", *controls]
    for row in rows:
        better, equal, worse, net = map(float, row[2:6])
        assert better + equal + worse == pytest.approx(100, abs=0.2)
        assert better - worse == pytest.approx(net, abs=0.2)
    assert "compare|hold-out:system|splits:3|judging:half|max_len:all|segments:20|rypt:half|" in out
    json_options = ["--metrics", "rypt,bleu", "--json", "--max-len", 2, "--judging", 2]
    one, again, other = (compare(capsys, *options, *json_options, "--seed", seed) for seed in (4, 4, 5))
    assert one == again != other
    found = json.loads(one)
    (outcome,) = found["outcomes"]
    assert outcome["low"] <= outcome["net"] <= outcome["high"]
    assert set(found["quality"]) == {"rypt", "bleu", "random", "best"}
    assert "judging:2|max_len:2" in found["signature"]
    assert r"\begin{tabular}" in compare(capsys, *options, "--latex")


@pytest.mark.slow
def test_the_judging_raters_own_scores_are_a_ceiling(capsys, systems):
    options = ["scores", systems, "--scores", systems / "scores.jsonl", "--hold-out", "rater"]
    found = json.loads(compare(capsys, *options, "--json", "--metrics", "rypt,human,bleu"))
    pairs = [(outcome["metric"], outcome["baseline"]) for outcome in found["outcomes"]]
    ceiling = [("human+0.001*chrf", "human"), ("human+0.001*chrf", "bleu")]
    assert pairs == [("rypt", "human"), ("rypt", "bleu"), ("human", "bleu"), *ceiling]
    assert found["outcomes"][0]["equal"] == 1  # the two see the same bad words
    assert found["quality"]["rypt"] == pytest.approx(found["quality"]["best"])
    assert (found["notes"], found["splits"]) == (["20 of 20 segments take part"], 2)
    refused(capsys, 1, "human", "preferences", systems, "--metrics", "human,bleu")
    refused(capsys, 1, "the term human .* --hold-out rater", *options[:4], "--metrics", "human,bleu")
    refused(capsys, 1, "only 2 raters scored two of the candidates", *options, "--judging", 2)


def test_halves_of_documents(capsys, systems, tmp_path):
    documents = "".join(json.dumps({"id": str(i), "document": f"d{i % 4}"}) + "\n" for i in range(20))
    (tmp_path / "documents").write_text(documents)
    scores = ["scores", systems, "--splits", 2]
    for half in ("first", "second"):
        options = ["--half", half, "--unit", "document", "--documents", tmp_path / "documents"]
        assert f"|half:{half}|unit:document|segments:10|" in compare(capsys, *scores, *options)
    refused(capsys, 1, "--half needs to know the documents", *scores, "--half", "first")


def test_human_translations_in_a_campaign_of_ratings_are_never_picked(capsys, tmp_path, monkeypatch):
    align_in_order(monkeypatch)
    path = ratings_file(tmp_path / "mqm_small.tsv")
    assert run(capsys, "import", path, "-C", tmp_path / "small", "--reference", "ref")[0] == 0
    out = compare(capsys, "scores", tmp_path / "small", "--hold-out", "rater")
    assert out.splitlines()[1].startswith("Labels alone (rypt:severity): ")  # a mixture, by default
    assert "judged_only:Human-A,ref" in out
    assert "2 of 2 segments take part" in out


# refusals


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["picks", "--metrics", "rypt,rypt"], "at least two different metrics"),
        (["picks", "--metrics", "rypt,meteor"], "unknown metric 'meteor'"),
        (["picks", "--metrics", "rypt+system,bleu"], "candidates here have no systems"),
        (["picks", "--metrics", "rypt,"], "expected a metric"),
        (["preferences", "--latex", "--json"], "not both"),
        (["preferences", "--plot", "x.txt"], r"expected a name ending in .svg"),
        (["scores", "--scores", "nowhere.jsonl"], "nowhere.jsonl: No such file"),
        (["scores", "--scores", "/dev/null"], "nbest.en: expected one candidate per segment"),
    ],
)
def test_what_cannot_be_compared(capsys, demo_campaign, options, message):
    code = 2 if "--latex" in options else 1
    refused(capsys, code, message, options[0], demo_campaign, *options[1:])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--hold-out", "candidate"], "biased"),
        (["--hold-out", "talk"], "found 'talk'"),
        (["--judging", "5"], "expected 1 to 4 judging systems"),
        (["--judged-only", "ref"], "the system 'ref'"),
        (
            [f for i in range(4) for f in ("--judged-only", f"sys{i}")],
            "expected at least 3 systems, .* found 2",
        ),
        (["--metrics", "bleu,rypt", "--with-controls"], "put rypt first"),
        (["--metrics", "rypt,model"], "the decoder's score"),
        (["--scores", "nothing"], "nothing: No such file"),
        (["--scores", "empty"], "empty: no score is of a system"),
        (["--segments", "ids"], "ids:2: expected the id of a segment"),
        (["--segments", "empty"], "no segment has human scores"),
    ],
)
def test_what_cannot_be_held_out(capsys, systems, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").write_text("")
    (tmp_path / "ids").write_text("3\n\n")
    refused(capsys, 1, message, "scores", systems, "--splits", 2, *options)


@pytest.mark.slow
def test_campaigns_without_judgments_or_references(capsys, tmp_path):
    bare = make(tmp_path / "bare", systems=3, segments=4, judged=False).folder
    refused(capsys, 1, "no judgment that counts here", "scores", bare)
    refused(capsys, 1, "no answers about these picks yet", "preferences", bare)
    assert "with different picks" in compare(capsys, "picks", bare)
    plain = make(tmp_path / "plain", systems=3, segments=4, references=False).folder
    refused(capsys, 1, "the metric bleu needs references", "picks", plain)
    assert "with different picks" in compare(capsys, "picks", plain, "--metrics", "rypt,rypt:no")
    one = make(tmp_path / "one", systems=1, segments=4).folder
    refused(capsys, 1, "expected at least 3 systems", "scores", one)
