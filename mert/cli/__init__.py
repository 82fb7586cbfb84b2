"""The commands ``rypt tune`` and ``rypt moses-tools``: parse, call, print."""
