"""Which system is better, how sure we are, and which comparison to ask for next.

read_comparisons → read_model → Model.fit → Fitted → rank_table
"""
