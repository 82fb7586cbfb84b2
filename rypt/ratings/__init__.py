"""Ratings of evaluation campaigns that exist already (MQM, ESA) as judgments.

ratings = read_mqm(path)                 # or read_esa
import_ratings(campaign, ratings, ...)   # rypt.ratings.importing
"""
