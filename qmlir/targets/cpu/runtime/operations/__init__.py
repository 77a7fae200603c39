"""The operations that emitted code imports by name: `from .runtime.operations import i32, kernel, load, splat, …`.

Conversions are created when their name is first requested.
"""

import re
from typing import Any

from ..team_code import provide_team
from . import arithmetic, kernels, lanes, memory, threads

_KNOWN: dict[str, Any] = {
    **arithmetic.OPERATIONS,
    **arithmetic.COMPARISONS,
    **lanes.OPERATIONS,
    **memory.OPERATIONS,
    **kernels.OPERATIONS,
    **threads.OPERATIONS,
    "addresses": kernels.addresses,
    "by_intrinsics": lanes.by_intrinsics,
    "holds": arithmetic.holds,
    "kernel": kernels.kernel,
    "requires": lanes.requires,
}

_NARROWING = re.compile(r"narrow_([iu])(\d+)")


def __getattr__(name: str) -> Any:
    """Returns the operation `name`, creating conversions on first use. Raises `AttributeError` for an unknown name."""
    if name in threads.OPERATIONS:  # loaded code needs their symbols, too
        provide_team()
    found = _KNOWN.get(name) or arithmetic.conversion(name)
    if found is None and (narrowing := _NARROWING.fullmatch(name)):
        found = lanes.narrowing(int(narrowing[2]), unsigned=narrowing[1] == "u")
    if found is None:
        raise AttributeError(f"compiled code has no operation '{name}'")
    _KNOWN[name] = found
    return found
