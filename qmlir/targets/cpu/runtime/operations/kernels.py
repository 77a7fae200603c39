"""Kernels: compiled functions of flat arrays, and the function that calls them by address.

A call by address keeps the code of the kernels out of the module of their caller: numba would link and optimize all of
it a second time.

Only those passes of numba run that emitted code has work for. The others look for what it doesn't have (closures,
branches on constants, variables of several types) in every statement; LLVM ends up with the same instructions.
"""


# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false, reportUntypedFunctionDecorator=false

import sys
from collections.abc import Callable
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any, cast

import numpy as np
from numba import config, njit, types

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false
from numba.core.bytecode import ByteCode, FunctionIdentity
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.interpreter import Interpreter, peep_hole_list_to_tuple
from numba.core.typed_passes import NativeLowering, NoPythonBackend, NopythonTypeInference

from ..entry import entry
from .declare import Emission, operation
from .registers import Register

_PASSES: tuple[tuple[Any, str], ...] = (
    (NopythonTypeInference, "types"),
    (NativeLowering, "machine code"),
    (NoPythonBackend, "the result"),
)
"""Passes, each with what it makes.

Without `ReconstructSSA` variables are memory, which LLVM makes registers. Without `IRProcessing` and `IRLegalization`
nothing says where variables end, which only counts references, and numbers have none.
"""


class EmittedCode(Interpreter):
    """Reads the bytecode of emitted code, which has no `with`, no `try` and no dictionaries."""

    def post_process(self, peepholes: Any, func_ir: Any) -> Any:
        """Lists become tuples. What numba looks for beside them, in every statement, is not there."""
        return peep_hole_list_to_tuple(func_ir)


class KernelCompiler(CompilerBase):
    """Compiles one emitted function that runs on one thread."""

    def compile_extra(self, func: Any) -> Any:
        """The statements of a function, compiled."""
        identity = FunctionIdentity.from_function(func)
        return self.compile_ir(EmittedCode(identity).interpret(ByteCode(identity)))

    def define_pipelines(self) -> list[Any]:
        """The one pipeline."""
        manager = PassManager("kernel")
        for each, summary in _PASSES:
            manager.add_pass(each, summary)
        manager.finalize()
        return [manager]


jit: Any = njit  # its type knows fewer options than it takes
settings: Any = config  # made when it is imported, of the environment

BY_HAND = {
    "error_model": "numpy",
    "boundscheck": False,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,  # all are called by their addresses
}
"""How kernels are compiled that call custom kernels, which may use all of numba."""

OPTIONS = {**BY_HAND, "_nrt": False, "pipeline_class": KernelCompiler}
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
        (overload,) = self.compiled.overloads.values()
        return overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)

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
        function.__module__ = home(cast(FunctionType, function).__globals__["DIGEST"])
        return Kernel(function, arguments, is_by_hand=by_hand)

    return made


def home(digest: str) -> str:
    """The module whose name numba gives the code of a program, known by this name wherever the program lies.

    The name must belong to the program alone: numba names code by it, in its cache too, and one process may load many.
    The module has the type of registers: the cache pickles it in the signature of a kernel, and a helper has the
    package under another name.
    """
    name = f"qmlir_kernels_{digest}"
    vars(sys.modules.setdefault(name, ModuleType(name)))[Register.__qualname__] = Register
    Register.__module__ = name
    return name


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
    target, builder = emission.target, emission.builder
    address = builder.load(builder.gep(emission.field(emission.operands[0], table, "data"), [number]))
    given = emission.operands[2:]
    convention = target.call_conv
    pointer = builder.inttoptr(address, convention.get_function_type(types.void, given).as_pointer())
    status, _ = convention.call_function(builder, pointer, types.void, given, arguments)
    del status  # kernels raise nothing
    return target.get_dummy_value()


_CALL = operation("call", _call_type, _call)

OPERATIONS: dict[str, Any] = {"call": _CALL}
"""Name to operation; the emitted code imports them by name."""
