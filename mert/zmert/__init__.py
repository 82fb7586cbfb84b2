"""Z-MERT's own set-up: its configuration file, parameters, lists and decoder script, run by this package's loop.

    read_zmert("ZMERT_config.txt", SearchSettings(), now=milliseconds).run().weights   # mert.zmert.program

`program` is the drop-in, `config` its file of settings, `decoder` runs the script, `lists` reads what it writes.
"""
