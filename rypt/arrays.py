"""Type aliases of arrays, shared by all three packages."""

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Codes = NDArray[np.int8]  # what is observed of constituents, or labels
Ids = NDArray[np.int32]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
