"""Ratings of evaluation campaigns that exist already (MQM, ESA) as judgments.

repairs = Repairs("ratings.tsv")                                          # rypt.ratings.repairs: what had to be mended
ratings = read_mqm("ratings.tsv", repairs=repairs)                        # rypt.ratings.mqm; or esa.read_esa
collect_texts("ratings.tsv", ratings).write("texts")                      # rypt.ratings.texts: to make a campaign of
import_ratings_file(campaign, "ratings.tsv", ratings, Policy())           # rypt.ratings.importing
"""
