"""All operations of the requester's protocol, by name."""

from collections.abc import Mapping
from typing import Any

from hits.server.protocol.calls import Call, Operation
from hits.server.protocol.hits import HIT_OPERATIONS
from hits.server.protocol.limits import check_limits
from hits.server.protocol.qualifications import QUALIFICATION_OPERATIONS
from hits.server.protocol.work import WORK_OPERATIONS

OPERATIONS: Mapping[str, Operation] = {**HIT_OPERATIONS, **WORK_OPERATIONS, **QUALIFICATION_OPERATIONS}


def perform(call: Call) -> Mapping[str, Any]:
    """Check the documented limits, then do what the operation does."""
    check_limits(call.request)
    return OPERATIONS[call.operation](call)
