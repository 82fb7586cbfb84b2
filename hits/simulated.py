"""How simulated workers are distinguished from people: by their names, and by the ids that the market gives them.

The id is shown wherever a worker is (results, exports, reports, the dashboard), so that they are not taken for people.
Their judgments have the source ``simulation``, and their times are not measured.
"""

SIMULATED_NAME = "simulated-"
SIMULATED_ID = "ASIMULATED"  # the protocol wants ids that begin with A and have capitals and digits only


def is_simulated(worker: str) -> bool:
    """Whether a worker's id is that of a simulated one.

    >>> is_simulated("ASIMULATED7Q2X"), is_simulated("A1B2C3")
    (True, False)
    """
    return worker.startswith(SIMULATED_ID)
