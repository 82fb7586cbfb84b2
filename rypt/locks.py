"""Locks on open files for one process at a time; the system releases a lock when its process ends."""

from typing import IO

import portalocker


def lock(file: IO[bytes] | IO[str] | int) -> bool:
    """Lock an open file (or its descriptor) for this process; return False if another one holds the lock.

    The lock lasts until the file is closed.
    """
    try:
        portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
    except portalocker.exceptions.LockException:
        return False
    return True
