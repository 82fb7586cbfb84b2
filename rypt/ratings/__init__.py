"""Ratings of evaluation campaigns that exist already (MQM, ESA) as judgments.

ratings = read_mqm("ratings.tsv")                          # rypt.ratings.mqm; or esa.read_esa
collect_texts("ratings.tsv", ratings).write("texts")       # rypt.ratings.texts: to make a campaign of
import_ratings(campaign, "ratings.tsv", ratings)           # rypt.ratings.importing
"""
