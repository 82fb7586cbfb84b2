"""A complete example on bundled data: a decoder, judgments, two tuned systems, and which one people prefer.

rypt demo FOLDER                         # `story` runs it, `report` shows it
"""
