"""How simulated workers are told from people: by the name they come in with, and by the id the market gives them.

The id stands wherever a worker does (results, exports, reports, the dashboard), so nobody takes them for people. Their
judgments have the source ``simulation``, and the time they took is nobody's.
"""

SIMULATED_NAME = "simulated-"
SIMULATED_ID = "ASIMULATED"  # the protocol wants ids that begin with A and have capitals and digits only


def is_simulated(worker: str) -> bool:
    """Whether a worker's id is that of a simulated one.

    >>> is_simulated("ASIMULATED7Q2X"), is_simulated("A1B2C3")
    (True, False)
    """
    return worker.startswith(SIMULATED_ID)
