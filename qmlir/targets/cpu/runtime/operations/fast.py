"""All uses of numba's private API, which make compilation faster and let numba's code run without importing numba.

Without `KernelCompiler`, numba's own compiler would compile kernels to equivalent code, several times slower. `home`,
`cached_object` and `address_of` make compiled code usable where numba is not imported.
"""

# numba and llvmlite have no type annotations.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false, reportUntypedFunctionDecorator=false

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

from llvmlite import ir
from numba import config, types
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import compile_result
from numba.core.environment import Environment
from numba.core.funcdesc import PythonFunctionDescriptor
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

# --- Types of operations ----------------------------------------------------------------------------------------------

ResultType = Callable[..., Any]
"""A function from operand types to the result type; returns `None` if the operands don't fit."""

_FIRST = {"target": "cpu"}
"""Marks a registration for the CPU target, which numba tries before those for all targets (about thirty for `+`)."""


def register_type(key: Any, name: str, typed: ResultType, *, literal: bool = False) -> None:
    """Registers the typing of a function or Python operator; `literal` keeps the types of literal numbers."""

    def generic(self: Any, operands: tuple[Any, ...], keywords: Any) -> Any:
        result = None if keywords else typed(*operands)
        if result is None:
            return None
        return signature(result, *(types.unliteral(each) if not literal else each for each in operands))

    members = {"key": key, "generic": generic, "prefer_literal": literal, "metadata": _FIRST}
    infer_global(key, types.Function(type(f"{name}_template", (AbstractTemplate,), members)))


MEANINGS: dict[Any, dict[type, ResultType]] = types.__dict__.setdefault("qmlir_operators", {})
"""The typing of each operator by register class, shared by all programs of the process.

Each program has its own copy of this file and its own register classes. numba tries all typings of an operator in
turn, so with one registration per program, each `+` would try those of all programs.
"""


# --- Compiling a kernel -----------------------------------------------------------------------------------------------


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


class KernelCompiler:
    """Compiles one emitted function; numba calls it instead of its compiler.

    A subclass lowers the body of the function.
    """

    def __init__(
        self, typing: Any, target: Any, library: Any, kinds: tuple[Any, ...], result: Any, flags: Any, locals_: Any
    ) -> None:
        self.typing = typing
        self.target = target
        self.kinds = kinds
        """The numba types of the arguments."""

    def lower(self, function: Any, target: Any, builder: Any, arguments: Sequence[Any]) -> None:
        """Emits the body of a function, given the llvmlite values of its arguments."""
        raise NotImplementedError

    def compile_extra(self, func: Any) -> Any:
        """Compiles a function to machine code."""
        identity: Any = FunctionIdentity.from_function(func)
        descriptor = PythonFunctionDescriptor(
            native=True, modname=func.__module__, qualname=func.__qualname__, unique_name=identity.unique_name, doc="",
            typemap=None, restype=types.void, calltypes=None, args=tuple(identity.arg_names), kws=(),
            mangler=self.target.mangler, argtypes=self.kinds, uid=identity.unique_id,
        )  # fmt: skip
        library = KernelLibrary(self.target.codegen(), func.__qualname__)
        library.enable_object_caching()
        environment = Environment.from_fndesc(descriptor)
        target = self.target.subtarget(environment=environment, fndesc=descriptor)
        module = library.create_ir_module(descriptor.unique_name)
        target.declare_env_global(module, target.get_env_name(descriptor))
        function = target.declare_function(module, descriptor)
        entry, start = (function.append_basic_block(name) for name in ("entry", "start"))  # `entry` for the stack
        builder = ir.IRBuilder(start)
        self.lower(func, target, builder, target.call_conv.decode_arguments(builder, self.kinds, function))
        target.call_conv.return_value(builder, target.get_dummy_value())
        builder.position_at_end(entry)
        builder.branch(start)
        library.add_ir_module(module)
        return compile_result(
            typing_context=self.typing,
            target_context=target,
            entry_point=target.get_executable(library, descriptor, environment),
            library=library,
            signature=signature(types.void, *self.kinds),
            objectmode=False,
            lifted=(),
            fndesc=descriptor,
            environment=environment,
            metadata={},
            reload_init=[],
        )


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
