"""The name of NumPy's arrays in annotations, where their element type is that of the operation at hand."""

from typing import Any, TypeAlias

import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
