"""A small phrase-based decoder, German to English, for trying out tuning: see docs/decoder.md.

    python -m rypt.demo.decoder.train --source train.de --target train.en --output model
    python -m rypt.demo.decoder.decode --model model --weights weights.init --input dev.de --nbest dev.nbest

`train` makes a word alignment (`align`), a phrase table (`phrases`) and a language model (`arpa`); `decode` searches
(`search`) with them (`model`); `accept` says what is truly acceptable of its output, by the bundled corpus's truth.
"""
