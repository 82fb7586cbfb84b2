"""Type aliases of arrays, shared by all three packages."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int8]  # what is observed of constituents, or labels
Ids = NDArray[np.int32]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]  # sets of 64 bits, or hashes
Floats = NDArray[np.float64]
Score = Callable[[Ints], Floats]  # of rows of summed statistics, higher is better
