"""Private API of numba, all of it: it makes numba compile faster, and runs its code without it.

Public API does the same work, slower: without `KernelCompiler`, `OperationType` and `MEANINGS` kernels compile to the
same code. `home`, `cached_object` and `address_of` let code that numba compiled run where numba is not imported.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false, reportUntypedFunctionDecorator=false

import inspect
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

from numba import config, types
from numba.core.bytecode import ByteCode, FunctionIdentity
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.interpreter import Interpreter, peep_hole_list_to_tuple
from numba.core.typed_passes import NativeLowering, NoPythonBackend, NopythonTypeInference
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model

# --- Types of operations ----------------------------------------------------------------------------------------------

ResultType = Callable[..., Any]
"""From the types of the operands to that of the result; `None` where they do not fit."""

_FIRST = {"target": "cpu"}
"""numba asks what belongs to a target before what belongs to all: `+` of registers before the thirty other meanings."""


class OperationType(types.Function):
    """The type of an operation: it keeps what its uses have been typed as, and numba types each of them twice."""

    def __init__(self, template: Any) -> None:
        self.known: dict[Any, Any] = {}
        super().__init__(template)

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """The signature of a use, as numba asks for it. Raises numba's `TypingError` where the operands do not fit."""
        if kws:
            return super().get_call_type(context, args, kws)
        found = self.known.get(args)
        if found is None:
            found = self.known[args] = super().get_call_type(context, args, kws)
        return found


register_model(OperationType)(models.OpaqueModel)  # as a function of numba's own, it has no value


def register_type(key: Any, name: str, typed: ResultType, kind: Any, *, literal: bool) -> None:
    """Register how a function, or an operator of Python, is typed. `literal` keeps numbers that are written out."""

    def generic(self: Any, operands: tuple[Any, ...], keywords: Any) -> Any:
        result = None if keywords else typed(*operands)
        if result is None:
            return None
        return signature(result, *(types.unliteral(each) if not literal else each for each in operands))

    members = {"key": key, "generic": generic, "prefer_literal": literal, "metadata": _FIRST}
    infer_global(key, kind(type(f"{name}_template", (AbstractTemplate,), members)))


def register_lowering(key: Any, compute: Callable[..., Any], kinds: tuple[Any, ...]) -> None:
    """Register how it is lowered for operands of some kinds."""
    computing: Any = compute
    computing.__signature__ = inspect.signature(compute)  # numba asks for it anew at every use
    lower_builtin(key, *kinds)(compute)


MEANINGS: dict[Any, dict[type, ResultType]] = types.__dict__.setdefault("qmlir_operators", {})
"""What each operator means on registers of a class, for all programs of the process: each has its own copy of this
file, and registers of its own. numba asks all meanings of an operator in turn, and would ask those of a hundred
programs for each `+` of the next one."""


# --- Compiling a kernel -----------------------------------------------------------------------------------------------

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


def home(digest: str, register: type) -> str:
    """The module whose name numba gives the code of a program, known by this name wherever the program lies.

    The name must belong to the program alone: numba names code by it, in its cache too, and one process may load many.
    The module has the type of registers: the cache pickles it in the signature of a kernel, and a helper has the
    package under another name.
    """
    name = f"qmlir_kernels_{digest}"
    vars(sys.modules.setdefault(name, ModuleType(name)))[register.__qualname__] = register
    register.__module__ = name
    return name


@contextmanager
def caches_beside_the_source() -> Generator[None]:
    """Whatever the user says where numba keeps code: inside the `with` block it is beside the source."""
    settings: Any = config
    before, settings.CACHE_DIR = settings.CACHE_DIR, ""
    try:
        yield
    finally:
        settings.CACHE_DIR = before


# --- Compiled code ----------------------------------------------------------------------------------------------------


def call_address(target: Any, builder: Any, address: Any, types_: Any, values: Any) -> None:
    """Write a call of a compiled function of these types at an address, by numba's calling convention."""
    convention = target.call_conv
    pointer = builder.inttoptr(address, convention.get_function_type(types.void, types_).as_pointer())
    status, _ = convention.call_function(builder, pointer, types.void, types_, values)
    del status  # kernels raise nothing


def address_of(compiled: Any) -> int:
    """Where the code of a dispatcher with one overload lies."""
    (overload,) = compiled.overloads.values()
    return overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)


class CachedObject(NamedTuple):
    """What numba's cache has of a function."""

    symbol: str
    data: bytes
    bitcode: bytes


def cached_object(compiled: Any, processor: str, features: str) -> CachedObject | None:
    """The object of a dispatcher with one overload, out of numba's cache; `None` if it is not there, or not for this
    CPU."""
    (overload,) = compiled.overloads.values()
    cache = compiled._cache
    kept = cache._cache_file.load(cache._index_key(overload.signature, overload.codegen))
    if kept is None or overload.codegen.magic_tuple()[1:] != (processor, features):
        return None
    _, kind, library = kept[0]
    if kind != "object":
        return None
    data, bitcode = library
    return CachedObject(overload.fndesc.llvm_func_name, bytes(data), bitcode)
