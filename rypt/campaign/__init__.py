"""Campaigns: a folder with ``rypt.toml``, texts and a judgment database; its open queries and its scores.

>>> import tempfile
>>> from pathlib import Path
>>> import rypt
>>> from rypt.campaign.create import create_campaign
>>> place = tempfile.TemporaryDirectory()
>>> folder = Path(place.name)
>>> _ = (folder / "source.de").write_text("das Haus brennt\\n")
>>> _ = (folder / "source.trees").write_text("(S (NP (D das) (N Haus)) (V brennt))\\n")
>>> _ = (folder / "list.nbest").write_text("0 ||| the house burns ||| lm= -3 ||| -3 ||| 0-0 1-1 2-2\\n")
>>> texts = {"source": folder / "source.de", "trees": folder / "source.trees", "nbest": [folder / "list.nbest"]}
>>> _ = create_campaign(folder / "campaign", **texts)        # what `rypt init` does
>>> campaign = rypt.Campaign.open(folder / "campaign")
>>> rypt.queries(campaign, max_len=2)
Queries(2 queries about 1 segment, about $0.06)
>>> [(str(query.span), query.phrase) for query in rypt.queries(campaign, max_len=2)]
[('0-2', 'the house'), ('2-3', 'burns')]
>>> with campaign.database(readonly=False) as db:
...     db.add([rypt.Judgment("0", rypt.Span(0, 2), "the house", rypt.Label.YES, worker="A1B2")])
1
>>> rypt.score(campaign)
ScoreReport(RYPT 0.8000, first candidates of 1 segments, 20.0% labelled, 60.0% after percolation)
>>> rypt.score(campaign, choices=rypt.ScoringChoices(unknown="no")).score
0.6
>>> place.cleanup()

`create` makes campaigns, `folder` opens them, `settings` is ``rypt.toml``; then `queries` and `scoring`.
"""
