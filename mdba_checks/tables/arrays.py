"""Names for the array types that packages pass to each other."""

from __future__ import annotations

from typing import Any

import numpy as np

FloatArray = np.ndarray[Any, np.dtype[np.floating[Any]]]
IntArray = np.ndarray[Any, np.dtype[np.integer[Any]]]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
