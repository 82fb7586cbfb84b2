"""The models that rank systems, one a file; `hits.ranking.names` says what each is called.

A model is fitted to `Comparisons` and gives each system a score: see `hits.ranking.model.Model`.
"""
