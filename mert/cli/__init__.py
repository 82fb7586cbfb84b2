"""The commands ``rypt tune``, ``rypt decode`` and ``rypt moses-tools``: parse, call, print."""
