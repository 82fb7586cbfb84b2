"""A demo small enough for tests."""

from rypt.demo.texts import Plan

TINY = Plan(labels=25, iterations=2, size=5, compared=6, judges=2, workers=4, spam=0.25, segments=10)
