"""The report of a demo: one page that needs nothing else, with its plots and the commands that made each part."""

import base64
import shlex
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from importlib.resources import files

from rypt.demo.charts import Line, bar_chart, line_chart, rank_chart, share_bars, stacked_bar, vote_chart
from rypt.demo.facts import Facts
from rypt.loop.report import Row
from rypt.metric.drawing import escape
from rypt.text import PathLike, open_output

KINDS = {"baseline": "c0", "BLEU-tuned": "c1", "RYPT-tuned": "c2", "neither": "c3"}
MOST_NAMES = 4  # iterations that have room for more than their number
SIMULATED = '<strong class="sim">SIMULATED</strong>'


def write_report(path: PathLike, facts: Facts) -> None:
    """Write the page."""
    style = (files("rypt.demo") / "report.css").read_text(encoding="utf-8")
    with open_output(path) as stream:
        stream.write(as_page(facts, style))


def as_page(facts: Facts, style: str) -> str:
    """The whole page."""
    sections = [_story(facts), _loop(facts), _money(facts), _workers(facts), _tree(facts), _accepted(facts),
                _preferences(facts), _ranking(facts)]  # fmt: skip
    body = "\n".join(sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>rypt demo: tuning to people's judgments</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<header><p class="brand">rypt {escape(version("rypt"))} · demo</p>
<h1>Tuning a decoder to people’s judgments</h1>
{_who(facts)}</header>
<main>
{body}
</main>
<footer><p>Made by <code>{escape(_command(facts))}</code>. One run of one small decoder says little; the page
“Evidence” of the documentation has many runs, and judgments that people gave.</p></footer>
</body>
</html>
"""


def _command(facts: Facts) -> str:
    return f"rypt demo {shlex.quote(facts.folder)}{' --serve' if facts.plan.people else ''} --seed {facts.plan.seed}"


def _place(facts: Facts, name: str) -> str:
    """A folder of the demo as one types it."""
    return shlex.quote(f"{facts.folder}/{name}")


def _who(facts: Facts) -> str:
    if facts.simulated and facts.plan.people:
        return (
            f'<p class="notice">{SIMULATED}: simulated workers came to the market of this demo, so these are not the '
            "judgments of people. The texts, and what is truly acceptable, come from a grammar that was written for "
            "this project.</p>"
        )
    if facts.simulated:
        careless = round(facts.plan.spam * facts.plan.workers)
        return (
            f'<p class="notice">{SIMULATED}: no person judged anything here. {facts.plan.workers} simulated workers '
            "came to a real local market over HTTP, knew the truth about the corpus, and answered rightly "
            f"{facts.plan.accuracy:.0%} of the time; {careless} of them did not read and always gave the first "
            "answer. Texts and truth come from a grammar that was written for this project.</p>"
        )
    return (
        '<p class="notice">You judged, in the browser. The texts, and what is truly acceptable, come from a grammar '
        "that was written for this project.</p>"
    )


def _mark(facts: Facts) -> str:
    return f" {SIMULATED}" if facts.simulated else ""


def _section(name: str, title: str, text: str, shown: str, commands: Sequence[str]) -> str:
    typed = "\n".join(escape(command) for command in commands)
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n<h2 id="{name}-title">{title}</h2>\n<p>{text}</p>\n'
        f'{shown}\n<details><summary>The commands</summary>\n<pre tabindex="0"><code>{typed}</code></pre></details>\n'
        "</section>"
    )


def _figure(chart: str, caption: str, legend: Sequence[Line] = ()) -> str:
    entries = "".join(f'<li><span class="key {line.kind}"></span>{escape(line.name)}</li>' for line in legend)
    listed = f'<ul class="legend" aria-hidden="true">{entries}</ul>' if legend else ""
    return f"<figure>{listed}{chart}<figcaption>{caption}</figcaption></figure>"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table that scrolls by itself; all columns but the first are numbers."""
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = []
    for first, *rest in rows:
        cells = "".join(f"<td>{escape(str(cell))}</td>" for cell in rest)
        lines.append(f'<tr><th scope="row">{escape(str(first))}</th>{cells}</tr>')
    body = "\n".join(lines)
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{top}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _story(facts: Facts) -> str:
    baseline, bleu, rypt = (facts.accepted[name] for name in ("baseline", "BLEU-tuned", "RYPT-tuned"))
    tiles = (
        (f"{facts.labels}", f"labels for ${facts.spent:.2f}"),
        (f"{baseline.constituents:.1%}", "of constituents acceptable: baseline"),
        (f"{bleu.constituents:.1%}", "tuned to BLEU"),
        (f"{rypt.constituents:.1%}", "tuned to RYPT"),
    )
    shown = "".join(f"<div><dd>{escape(number)}</dd><dt>{escape(what)}</dt></div>" for number, what in tiles)
    text = (
        f"A small German-English decoder starts with all weights 1. It is tuned on {facts.sizes['tune']} segments, "
        f"once to BLEU and once to RYPT, the share of a segment’s constituents whose translation people accept. Then "
        f"all three translate {facts.sizes['unseen']} segments that no tuning has seen."
    )
    return _section(
        "story", "What happened" + _mark(facts), text, f'<dl class="tiles">{shown}</dl>', [_command(facts)]
    )  # fmt: skip


def _loop(facts: Facts) -> str:
    rows = facts.rows
    lines = [
        Line("RYPT of the decoder’s choice, by all labels", "c2", [row.final for row in rows]),
        Line("RYPT of all lists, after tuning", "c4", [row.after for row in rows]),
        Line("constituents with a label", "c3", [row.coverage for row in rows]),
    ]
    names = _iterations(rows)
    text = (
        "Each iteration decodes with the current weights, asks workers about phrases that are new and may change which "
        "candidate is best, waits for their answers, and tunes to all labels so far. A constituent without a label "
        f"counts as half right. Stopped: {escape(facts.stopped)}. In the end all that was decoded is scored by all "
        f"labels: the weights of iteration {facts.best} are the result, the last that no other is clearly better than."
    )
    told = [
        (row.iteration, row.candidates, row.new, _score(row.decoded), _score(row.after),
         "–" if row.p is None else f"{row.p:.3f}", "–" if row.coverage is None else f"{row.coverage:.1%}",
         _score(row.final))
        for row in rows
    ]  # fmt: skip
    head = ("iteration", "candidates", "new", "decoded", "after tuning", "p", "coverage", "by all labels")
    chart = _figure(
        line_chart("RYPT and coverage over the iterations", names, lines),
        f"RYPT and coverage, iteration by iteration.{_mark(facts)}", lines,
    )  # fmt: skip
    campaign, market = _place(facts, "campaign"), _place(facts, "campaign/market")
    commands = [
        f"rypt init {campaign} --source … --trees … --references … --decoder … --weights …",
        f"rypt hits serve {market}", f"rypt loop {campaign}",
        *([f"rypt simulate --at {market} --truth … --watch"] if facts.simulated else []),
    ]  # fmt: skip
    return _section("loop", "The loop" + _mark(facts), text, chart + _table(head, told), commands)


def _iterations(rows: Sequence[Row]) -> list[str]:
    """Their names below a chart, short where there are many."""
    return [f"iteration {row.iteration}" if len(rows) <= MOST_NAMES else str(row.iteration) for row in rows]


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _money(facts: Facts) -> str:
    rows = [row for row in facts.rows if row.asked is not None]
    bars = [
        Line("labels bought", "c1", [row.labels for row in rows]),
        Line("questions with a label already", "c2", [row.reused for row in rows]),
    ]
    reused, questions = sum(row.reused or 0 for row in rows[1:]), sum(row.questions or 0 for row in rows[1:])
    share = f": {reused} of {questions} questions there had their answer before they were asked" if questions else ""
    text = (
        "A label belongs to a phrase, not to a candidate, so it serves every candidate with that phrase, also those of "
        f"later iterations{share}. {facts.labels} labels that count came for ${facts.spent:.2f} at $12.00 an hour; the "
        f"budget was ${facts.plan.budget}."
    )
    chart = _figure(
        bar_chart(
            "Labels bought and labels reused in each iteration", _iterations(rows), bars,
            [f"${row.cost:.2f}" for row in rows],
        ),
        f"What was bought, what was there already, and what it cost.{_mark(facts)}", bars,
    )  # fmt: skip
    campaign = _place(facts, "campaign")
    commands = [f"rypt status {campaign}", f"rypt analyze {campaign}"]
    return _section("money", "Money, and labels used again" + _mark(facts), text, chart, commands)


def _workers(facts: Facts) -> str:
    rows = [
        (
            row["name"] or row["worker"], row["answers"], f"{row['shares'].get('YES', 0):.0%}",
            f"{row['controls'][0]} of {row['controls'][1]}", row["verdict"], "no" if row["excluded"] else "yes",
        )
        for row in facts.workers
    ]  # fmt: skip
    out = facts.excluded
    text = (
        "Questions whose answer is known are mixed in, and answers are compared with those of others. "
        + (f"{len(out)} of {len(rows)} workers did not pass, and what they said does not count: their questions may be "
           "asked again." if out else "Nobody was excluded.")
    )  # fmt: skip
    head = ("worker", "answers", "YES", "controls passed", "verdict", "counts")
    commands = [f"rypt hits workers -C {_place(facts, 'campaign')} --at {_place(facts, 'campaign/market')}"]
    return _section("workers", "Who judged" + _mark(facts), text, _table(head, rows), commands)


def _tree(facts: Facts) -> str:
    picture = base64.b64encode(facts.tree.picture.encode()).decode()
    text = (
        "Why a candidate has its score: its source tree, with what people said of the phrases. A NO goes up to all "
        "that contains the phrase, a YES goes down to its parts."
    )
    outline = escape(facts.tree.outline.strip())
    shown = (
        f'<figure><div class="scroll paper" tabindex="0"><img alt="The source tree of segment '
        f'{escape(facts.tree.segment)} with the labels of its constituents; the outline below says the same" '
        f'src="data:image/svg+xml;base64,{picture}"></div><figcaption>One candidate of segment '
        f"{escape(facts.tree.segment)}.{_mark(facts)}</figcaption></figure>"
        f'<details><summary>The same as text</summary><pre tabindex="0">{outline}</pre></details>'
    )
    commands = [f"rypt explain {facts.tree.segment} -C {_place(facts, 'campaign')} -o why.html"]
    return _section("tree", "One candidate explained" + _mark(facts), text, shown, commands)


def _accepted(facts: Facts) -> str:
    parts = {name: found.constituents for name, found in facts.accepted.items()}
    wholes = {name: found.segments for name, found in facts.accepted.items()}
    text = (
        "The grammar behind the corpus knows all acceptable translations, so what the decoder says on unseen segments "
        "can be measured without anybody’s opinion. No worker is involved in these numbers. BLEU on the segments tuned "
        f"on rose from {facts.bleu['start_score']:.1f} to {facts.bleu['score']:.1f}."
    )
    shown = _figure(
        share_bars("Share of acceptable constituents", parts, KINDS),
        f"Acceptable constituents, mean of {facts.sizes['unseen']} unseen segments.",
    ) + _figure(
        share_bars("Share of acceptable segments", wholes, KINDS), "Segments that are acceptable as a whole."
    )  # fmt: skip
    commands = [
        "rypt tune --decoder … --references … --metric bleu",
        "python -m rypt.demo.decoder.decode --weights … --input … --nbest …",
        "python -m rypt.demo.decoder.accept --trees … --truth … --nbest …",
    ]
    return _section("accepted", "What is truly acceptable", text, f'<div class="pair">{shown}</div>', commands)


def _preferences(facts: Facts) -> str:
    found = facts.preferences
    if found is None:
        same = "Both results say the same on all unseen segments, so there was nothing to ask."
        return _section("preferences", "Which output is preferred", same, "", [])
    first, second = str(found["first"]), str(found["second"])
    text = (
        f"Workers saw the source, the reference, and the two outputs in random order. {escape(first)} minus "
        f"{escape(second)}: {100 * found['net']:+.1f} points of the judgments, 95 % interval {100 * found['low']:+.1f} "
        f"to {100 * found['high']:+.1f}; sign test p = {found['p_judgments']:.2g}. {found['identical']} segments on "
        "which both say the same are set aside."
    )
    out = sum(bool(row["excluded"]) for row in facts.judges)
    text += f" {len(facts.judges)} workers judged, {out} of them excluded." if facts.simulated else ""
    votes = {_signed(at): count for at, count in found["aggregates"].items()}
    kinds = [KINDS[first] if int(at) > 0 else KINDS[second] if int(at) < 0 else "c3" for at in found["aggregates"]]
    names = {first: found["judgments"][first], "neither": found["judgments"]["neither"],
             second: found["judgments"][second]}  # fmt: skip
    shown = _figure(
        stacked_bar(f"Judgments for {first}, for neither, for {second}", names, KINDS),
        f"All judgments (Table 1 of the paper).{_mark(facts)}",
    ) + _figure(
        vote_chart(f"Segments by votes for {first} minus votes for {second}", votes, kinds),
        f"Segments by votes for {escape(first)} minus votes for {escape(second)} (Table 2).{_mark(facts)}",
    )  # fmt: skip
    unseen, market, batch = (_place(facts, name) for name in ("unseen", "campaign/market", "unseen/batches/…"))
    commands = [
        f"rypt hits make {unseen} -o {batch} --kind comparison --output-of … --output-of …",
        f"rypt hits publish {batch} --at {market}",
        f"rypt hits collect {batch} -C {unseen} --at {market}",
        f"rypt rank preferences {unseen} --systems {first},{second}",
    ]
    return _section(
        "preferences", "Which output is preferred" + _mark(facts), text, f'<div class="pair">{shown}</div>', commands
    )  # fmt: skip


def _signed(at: str) -> str:
    return "0" if int(at) == 0 else f"{int(at):+d}".replace("-", "−")


def _ranking(facts: Facts) -> str:
    if facts.ranking is None:
        return _section("ranking", "The ranking", "All three say the same on all unseen segments.", "", [])
    systems = sorted(facts.ranking["systems"], key=lambda system: system["rank"])
    clusters = facts.ranking["clusters"]
    apart = (
        "Their ranges of ranks overlap: these judgments do not tell them apart."
        if clusters == 1
        else f"They fall into {clusters} clusters whose ranges of ranks do not overlap."
    )
    text = (
        "All comparisons together: how often a system was better than another one, with the ranks it has in 95 % of "
        f"resamples. {apart}"
    )
    rows = [
        (system["system"], f"{system['score']:.3f}", system["rank"], f"{system['low']}–{system['high']}")
        for system in systems
    ]
    shown = _figure(
        rank_chart("The three systems by expected wins", systems, KINDS),
        f"Expected wins and ranges of ranks.{_mark(facts)}",
    ) + _table(("system", "expected wins", "rank", "range"), rows)  # fmt: skip
    signature = f'<p class="signature">{escape(facts.ranking["signature"])}</p>'
    return _section(
        "ranking",
        "The ranking" + _mark(facts),
        text,
        shown + signature,
        [f"rypt rank systems {_place(facts, 'unseen')}"],
    )
