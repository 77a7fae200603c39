"""All uses of numba's private API, which make compilation faster and let numba's code run without importing numba.

Without `KernelCompiler`, `OperationType` and `MEANINGS`, numba's public API compiles kernels to the same code, more
slowly. `home`, `cached_object` and `address_of` make compiled code usable where numba is not imported.
"""

# numba and llvmlite have no type annotations.
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
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.interpreter import Interpreter, peep_hole_list_to_tuple
from numba.core.typed_passes import NativeLowering, NoPythonBackend, NopythonTypeInference
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model

# --- Types of operations ----------------------------------------------------------------------------------------------

ResultType = Callable[..., Any]
"""A function from operand types to the result type; returns `None` if the operands don't fit."""

_FIRST = {"target": "cpu"}
"""Marks a registration for the CPU target, which numba tries before those for all targets (about thirty for `+`)."""


class OperationType(types.Function):
    """The numba type of an operation; caches the signatures of its uses, since numba types each use twice."""

    def __init__(self, template: Any) -> None:
        self.known: dict[Any, Any] = {}
        super().__init__(template)

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Returns the signature of a use. Raises numba's `TypingError` if the operands don't fit."""
        if kws:
            return super().get_call_type(context, args, kws)
        found = self.known.get(args)
        if found is None:
            found = self.known[args] = super().get_call_type(context, args, kws)
        return found


register_model(OperationType)(models.OpaqueModel)  # like numba's own functions, it has no runtime value


def register_type(key: Any, name: str, typed: ResultType, kind: Any, *, literal: bool) -> None:
    """Registers the typing of a function or Python operator; `literal` keeps the types of literal numbers."""

    def generic(self: Any, operands: tuple[Any, ...], keywords: Any) -> Any:
        result = None if keywords else typed(*operands)
        if result is None:
            return None
        return signature(result, *(types.unliteral(each) if not literal else each for each in operands))

    members = {"key": key, "generic": generic, "prefer_literal": literal, "metadata": _FIRST}
    infer_global(key, kind(type(f"{name}_template", (AbstractTemplate,), members)))


def register_lowering(key: Any, compute: Callable[..., Any], kinds: tuple[Any, ...]) -> None:
    """Registers the lowering of a function or operator for operand types `kinds`."""
    computing: Any = compute
    computing.__signature__ = inspect.signature(compute)  # numba would compute it again at every use
    lower_builtin(key, *kinds)(compute)


MEANINGS: dict[Any, dict[type, ResultType]] = types.__dict__.setdefault("qmlir_operators", {})
"""The typing of each operator by register class, shared by all programs of the process.

Each program has its own copy of this file and its own register classes. numba tries all typings of an operator in
turn, so with one registration per program, each `+` would try those of all programs.
"""


# --- Compiling a kernel -----------------------------------------------------------------------------------------------

_PASSES: tuple[tuple[Any, str], ...] = (
    (NopythonTypeInference, "types"),
    (NativeLowering, "machine code"),
    (NoPythonBackend, "the result"),
)
"""The compiler passes, each with the name of its result.

Without `ReconstructSSA`, variables stay in memory, which LLVM promotes to registers. `IRProcessing` and
`IRLegalization` compute variable lifetimes, which only matter for reference counts; numbers have none.
"""


class EmittedCode(Interpreter):
    """Interprets the bytecode of emitted code, which contains no `with`, `try` or dictionaries."""

    def post_process(self, peepholes: Any, func_ir: Any) -> Any:
        """Converts lists to tuples; skips numba's other rewrites, which emitted code never needs."""
        return peep_hole_list_to_tuple(func_ir)


class KernelLibrary(JITCodeLibrary):
    """The machine code of one kernel, which LLVM optimizes once.

    numba would run LLVM's passes three times: over each function, cheaply over the module, and fully.
    """

    def add_llvm_module(self, ll_module: Any) -> None:
        """Adds a module without optimizing its functions."""
        self._final_module.link_in(ll_module)

    def _optimize_final_module(self) -> None:
        codegen: Any = self.codegen
        builder = codegen._pass_builder(opt=2)  # code of level 3 runs no faster
        builder.getModulePassManager().run(self._final_module, builder)


class KernelCompiler(CompilerBase):
    """Compiles one emitted function that runs on one thread."""

    def compile_extra(self, func: Any) -> Any:
        """Compiles a function from its bytecode."""
        identity = FunctionIdentity.from_function(func)
        self.state.library = KernelLibrary(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        return self.compile_ir(EmittedCode(identity).interpret(ByteCode(identity)))

    def define_pipelines(self) -> list[Any]:
        """Returns the only pipeline."""
        manager = PassManager("kernel")
        for each, summary in _PASSES:
            manager.add_pass(each, summary)
        manager.finalize()
        return [manager]


def home(digest: str, register: type) -> str:
    """Creates the module that numba names a program's code after; returns its name, which depends only on the program.

    The name must be unique to the program: numba uses it for symbols and in its cache, and one process may load many
    programs. The module contains the register type, since the cache pickles it in kernel signatures, and a helper
    process imports the package under another name.
    """
    name = f"qmlir_kernels_{digest}"
    vars(sys.modules.setdefault(name, ModuleType(name)))[register.__qualname__] = register
    register.__module__ = name
    return name


@contextmanager
def caches_beside_the_source() -> Generator[None]:
    """Lets numba keep its cache next to the source inside the `with` block, even if the user has set another folder."""
    settings: Any = config
    before, settings.CACHE_DIR = settings.CACHE_DIR, ""
    try:
        yield
    finally:
        settings.CACHE_DIR = before


# --- Compiled code ----------------------------------------------------------------------------------------------------


def call_address(target: Any, builder: Any, address: Any, types_: Any, values: Any) -> None:
    """Emits a call of the compiled function at an address, with numba's calling convention."""
    convention = target.call_conv
    pointer = builder.inttoptr(address, convention.get_function_type(types.void, types_).as_pointer())
    status, _ = convention.call_function(builder, pointer, types.void, types_, values)
    del status  # kernels raise nothing


def address_of(compiled: Any) -> int:
    """Returns the address of the code of a dispatcher with one overload."""
    (overload,) = compiled.overloads.values()
    return overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)


class CachedObject(NamedTuple):
    """The entry of a function in numba's cache: symbol, object file and bitcode."""

    symbol: str
    data: bytes
    bitcode: bytes


def cached_object(compiled: Any, processor: str, features: str) -> CachedObject | None:
    """Returns the object of a dispatcher with one overload from numba's cache; `None` if missing or for another CPU."""
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
