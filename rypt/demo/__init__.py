"""The whole story on bundled data: a decoder, people, two tuned systems, and which one people prefer.

rypt demo FOLDER                         # `story` runs it, `report` shows it
"""
