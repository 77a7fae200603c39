"""Kernels: compiled functions of flat arrays, and the function that calls them by address.

A call by address keeps the code of the kernels out of the module of their caller: numba would link and optimize all of
it a second time.

Only those passes of numba run that emitted code has work for. The others look for what it doesn't have (closures,
branches on constants, variables of several types) in every statement; LLVM ends up with the same instructions.
"""


# numba and llvmlite have no types that a checker could read.
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

jit: Any = njit  # its type knows fewer options than it takes
settings: Any = config

BY_HAND = {
    "error_model": "numpy",
    "boundscheck": False,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,  # all are called by their addresses
}
"""How kernels are compiled that call custom kernels, which may use all of numba."""

OPTIONS = {**BY_HAND, "_nrt": False, "pipeline_class": fast.KernelCompiler}
"""How kernels are compiled."""


def _argument(text: str) -> Any:
    """`const int8` is a flat array that is only read, `int8` one that is written too, `value i32` a scalar."""
    word, _, name = text.rpartition(" ")
    if word == "value":
        return types.int64 if name == "index" else Register(name)
    return types.Array(getattr(types, name), 1, "C", readonly=word == "const")


class Work:
    """What one process compiles of a program: all of it, without helpers."""

    is_helper = False
    """Whether the process fills the cache for another one, and calls nothing."""

    def takes(self, kernel: str) -> bool:
        """Whether this process compiles a kernel; what it doesn't take, it loads after `wait`."""
        return True

    def wait(self) -> None:
        """Until every kernel that another process took is in the cache, or that process has ended."""


work = Work()
"""What this process does; set before the kernels are imported."""


def _untold(name: str) -> None:
    pass


on_kernel: Callable[[str], None] = _untold
"""Is called with the name of each kernel before it is compiled, or loaded."""


class Kernel:
    """A compiled function of flat arrays, known by its address. It is compiled, or loaded, when it is first asked.

    `arguments` are in the words of `kernel`.
    """

    def __init__(self, function: Callable[..., None], arguments: tuple[str, ...], *, is_by_hand: bool = False) -> None:
        self.name = function.__name__
        self.py_func = function
        """The function as it is written."""

        self.arguments = arguments
        self.is_by_hand = is_by_hand
        """Whether it calls a custom kernel."""

    @cached_property
    def compiled(self) -> Any:
        """numba's dispatcher, with its one overload."""
        if settings.DISABLE_JIT:
            raise RuntimeError("this program requires numba's compiler; unset NUMBA_DISABLE_JIT")
        on_kernel(self.name)
        return jit(
            types.void(*map(_argument, self.arguments)), cache=True, **(BY_HAND if self.is_by_hand else OPTIONS)
        )(self.py_func)

    @cached_property
    def address(self) -> int:
        """Where the code lies."""
        return fast.address_of(self.compiled)

    @cached_property
    def _entry(self) -> Callable[..., None]:
        return entry(self.address, self.arguments)

    def __call__(self, *arrays: Any) -> None:
        """Run it. Arrays are not checked: they must be contiguous, with elements of the size of the arguments'."""
        self._entry(*arrays)


def kernel(*arguments: str, by_hand: bool = False) -> Callable[[Callable[..., None]], Kernel]:
    """A function of flat arrays of these NumPy types to be compiled by `addresses`, and cached on disk beside its file.

    Each is `"const int8"` where it is only read, `"int8"`, or a scalar, `"value index"`. What calls a function that a
    person wrote (`by_hand`) is compiled as that one.
    """

    def made(function: Callable[..., None]) -> Kernel:
        function.__module__ = fast.home(cast(FunctionType, function).__globals__["DIGEST"], Register)
        return Kernel(function, arguments, is_by_hand=by_hand)

    return made


def addresses(*kernels: Kernel) -> Any:
    """Where the code of kernels lies, as `call` takes it: compiled by this process and those that help it."""
    for each in kernels:
        if work.takes(each.name):
            _ = each.compiled
    work.wait()
    return np.array([0 if work.is_helper else each.address for each in kernels], np.int64)


def _call_type(table: Any, number: Any, *arguments: Any) -> Any:
    is_table = isinstance(table, types.Array) and table.dtype == types.int64
    return types.void if is_table and isinstance(number, types.Integer) else None


def _call(emission: Emission, table: Any, number: Any, *arguments: Any) -> Any:
    builder = emission.builder
    address = builder.load(builder.gep(emission.field(emission.operands[0], table, "data"), [number]))
    fast.call_address(emission.target, builder, address, emission.operands[2:], arguments)
    return emission.nothing()


_CALL = operation("call", _call_type, _call)

OPERATIONS: dict[str, Any] = {"call": _CALL}
"""Name to operation; the emitted code imports them by name."""
