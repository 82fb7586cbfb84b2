"""The complete run: decode, ask people about what is new, tune to their judgments, again (paper, section 8).

`runner` goes through the steps and `journal` remembers each; `status` and `next_step` say where a campaign stands.
"""
