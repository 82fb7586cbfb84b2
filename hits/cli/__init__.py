"""The commands ``rypt hits …``, ``rypt compare``, ``rypt rank`` and ``rypt simulate``: parse, call, print."""
