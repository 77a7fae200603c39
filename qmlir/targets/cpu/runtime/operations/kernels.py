"""Kernels: compiled functions on flat arrays, and the function that calls them by address.

A call by address keeps the code of a kernel out of the caller's module; otherwise numba would link and optimize it a
second time.

`syntax` compiles kernels, and numba's own compiler those that call custom kernels, which may use all of numba. numba
caches both on disk.
"""


# numba and llvmlite have no type annotations.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false, reportUntypedFunctionDecorator=false

from collections.abc import Callable
from functools import cached_property
from types import FunctionType
from typing import Any, cast

import numpy as np
from numba import config, njit, types

from ..entry import entry
from . import fast
from .declare import Emission, operation
from .registers import Register
from .syntax import Compiler

jit: Any = njit  # its annotations lack some options
settings: Any = config

BY_HAND = {
    "error_model": "numpy",
    "boundscheck": False,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,  # all are called by their addresses
}
"""Options for kernels that call custom kernels, which may use all of numba."""

OPTIONS = {**BY_HAND, "_nrt": False, "pipeline_class": Compiler}
"""Options for all other kernels."""


def _argument(text: str) -> Any:
    """Returns the numba type: `const int8` is a read-only flat array, `int8` a writable one, `value i32` a scalar."""
    word, _, name = text.rpartition(" ")
    if word == "value":
        return types.int64 if name == "index" else Register(name)
    return types.Array(getattr(types, name), 1, "C", readonly=word == "const")


class CompileShare:
    """The kernels of a program that one process compiles: all of them if there are no helpers."""

    is_helper = False
    """True if the process only fills the cache for another one, and calls nothing."""

    def takes(self, kernel: str) -> bool:
        """Returns true if this process compiles `kernel`; it loads other kernels after `wait`."""
        return True

    def wait(self) -> None:
        """Waits until every kernel of another process is in the cache, or that process has ended."""


work = CompileShare()
"""The kernels that this process compiles; set before the kernels are imported."""


def _untold(name: str) -> None:
    pass


on_kernel: Callable[[str], None] = _untold
"""A callback with the name of each kernel before it is compiled or loaded."""


class Kernel:
    """A function on flat arrays that is compiled, or loaded from the cache, on first use and called by its address.

    `arguments` are written like those of the decorator `kernel`, for example `"const int8"`.
    """

    def __init__(self, function: Callable[..., None], arguments: tuple[str, ...], *, is_by_hand: bool = False) -> None:
        self.name = function.__name__
        self.py_func = function
        """The Python function."""

        self.arguments = arguments
        self.is_by_hand = is_by_hand
        """True if it calls a custom kernel."""

    @cached_property
    def compiled(self) -> Any:
        """numba's dispatcher, with a single overload."""
        if settings.DISABLE_JIT:
            raise RuntimeError("this program requires numba's compiler; unset NUMBA_DISABLE_JIT")
        on_kernel(self.name)
        return jit(
            types.void(*map(_argument, self.arguments)), cache=True, **(BY_HAND if self.is_by_hand else OPTIONS)
        )(self.py_func)

    @cached_property
    def address(self) -> int:
        """The address of the code."""
        return fast.address_of(self.compiled)

    @cached_property
    def _entry(self) -> Callable[..., None]:
        return entry(self.address, self.arguments)

    def __call__(self, *arrays: Any) -> None:
        """Runs the kernel. Arrays are not checked: they must be contiguous, with the element size of the arguments."""
        self._entry(*arrays)


def kernel(*arguments: str, by_hand: bool = False) -> Callable[[Callable[..., None]], Kernel]:
    """Declares a kernel: a function on flat arrays that `addresses` compiles and caches on disk next to its file.

    Each argument is `"const int8"` (read-only), `"int8"` (writable), or a scalar such as `"value index"`. Kernels that
    call a custom kernel (`by_hand`) are compiled with the options for custom kernels.
    """

    def made(function: Callable[..., None]) -> Kernel:
        function.__module__ = fast.home(cast(FunctionType, function).__globals__["DIGEST"], Register)
        return Kernel(function, arguments, is_by_hand=by_hand)

    return made


def addresses(*kernels: Kernel) -> Any:
    """Returns the addresses of kernels, as `call` takes them; compiles them in this process and its helpers."""
    for each in kernels:
        if work.takes(each.name):
            _ = each.compiled
    work.wait()
    return np.array([0 if work.is_helper else each.address for each in kernels], np.int64)


def _call_type(table: Any, number: Any, *arguments: Any) -> Any:
    is_table = isinstance(table, types.Array) and table.dtype == types.int64
    return types.void if is_table and isinstance(number, types.Integer) else None


def _call(emission: Emission, table: Any, number: Any, *arguments: Any) -> None:
    builder = emission.builder
    address = builder.load(builder.gep(emission.field(emission.operands[0], table, "data"), [number]))
    fast.call_address(emission.target, builder, address, emission.operands[2:], arguments)


_CALL = operation("call", _call_type, _call)

OPERATIONS: dict[str, Any] = {"call": _CALL}
"""The operations by name; emitted code imports them."""
