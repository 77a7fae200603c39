"""`kernel-verify-custom`: checks that custom kernels compute the same results as the operations that they replace."""

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from qmlir.analysis.operand_accesses import constant_array
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.custom import CustomKernel, CustomOp, as_stored, called_kernel, stored_dtype
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.types import StoredType, UniformQuantizedType
from qmlir.interpreter.interpreter import Frame, Interpreter
from qmlir.ir.builtin_types import tensor
from qmlir.ir.diagnostics import op_error
from qmlir.ir.evaluation import RegionEvaluator, arguments_by, evaluator_of, operand_layout
from qmlir.ir.passes import count
from qmlir.registry import at_code
from qmlir.registry.faults import RAISED, one_line

ROUNDS = 3
"""The minimum number of comparisons per kernel, each with new inputs."""

NUMBERS = 1024
"""The minimum number of elements that the largest operand or result of a kernel has had after all rounds."""

_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, -64.0, 64.0)
"""Special values among the normally distributed floats."""

_WIDEST = 1 << 24
"""Integers of 32 bits and more are drawn up to this magnitude, so that adding to them does not overflow."""

_UNWRITTEN = 0xA5
"""The initial bytes of results."""


def _random(random: np.random.Generator, own: Attribute) -> Array:
    """Returns random elements over the whole range of a type, including its ends and zero."""
    element, shape = element_type(own), tensor(own).get_shape()
    dtype = stored_dtype(element)
    assert dtype is not None  # the verifier of the operation has checked it
    if dtype.kind == "f":
        values = random.normal(0, 4, shape).astype(dtype)
        ends: list[Any] = list(_FLOATS)
    else:
        information = np.iinfo(cast(Any, dtype))
        low, high = max(int(information.min), -_WIDEST), min(int(information.max), _WIDEST)
        ends = [0]
        if isinstance(element, StoredType):
            low, high = max(low, element.storage_min), min(high, element.storage_max)
        if isinstance(element, UniformQuantizedType):
            ends = element.zero_points.reshape(-1).tolist()
        values = random.integers(low, high, shape, endpoint=True).astype(dtype)
        ends = [low, high, *ends]
    flat = values.reshape(-1)
    positions = random.permutation(flat.size)[: -(-flat.size // 4)]
    flat[positions] = np.resize(random.permutation(np.asarray(ends, dtype)), len(positions))
    return flat.reshape(shape)


def _inputs(op: CustomOp, kernel: CustomKernel, original: Operation, random: np.random.Generator) -> list[Array]:
    """Returns a read-only array for each operand: the constants of the module, or random elements."""
    types = op.own_types[: len(op.inputs)]
    made = [_random(random, type_) for type_ in types] if kernel.inputs is None else [*kernel.inputs(original, random)]
    if len(made) != len(types):
        raise ValueError(f"expected inputs for {len(types)} operands, but got {len(made)}")
    for position, (value, own) in enumerate(zip(op.inputs, types, strict=True)):
        constant = constant_array(value)
        if constant is not None:
            made[position] = as_stored(constant, own)
        made[position] = np.array(made[position], stored_dtype(element_type(own)), order="C")
        made[position].flags.writeable = False
    return made


def _function(op: CustomOp) -> Callable[..., None]:
    module, _, name = op.function.data.partition(":")
    try:
        found: Any = getattr(import_module(module), name)
    except Exception as error:  # a module of another package can raise anything at import
        raise op_error(op, f"cannot import '{op.function.data}': {error}") from error
    if not hasattr(found, "py_func"):
        raise op_error(
            op,
            f"calls '{op.function.data}', which is not a numba function; decorate it with numba.njit{at_code(found)}",
        )
    return found


def _differing(found: Array, expected: Array, relative: float) -> tuple[int, ...] | None:
    """Returns the index of the first element that differs too much from the expected one; NaN equals NaN."""
    if found.dtype.kind == "f":
        is_nan = np.isnan(found) & np.isnan(expected)
        bits = f"i{found.dtype.itemsize}"
        same = (found.view(bits) == expected.view(bits)) | is_nan
        if relative:
            finite = np.abs(expected[np.isfinite(expected)])
            bound = relative * float(finite.max(initial=0))
            same |= np.abs(found.astype(np.float64) - expected) <= bound
    else:
        same = found == expected
    wrong = np.argwhere(~same)
    return None if not len(wrong) else tuple(wrong[0].tolist())


def _at(inputs: Sequence[Array], position: tuple[int, ...], shape: Sequence[int]) -> str:
    """Returns text with the elements of the operands at an index, if they have the shape of the result."""
    if not inputs or any(tuple(each.shape) != tuple(shape) for each in inputs):
        return ""
    return f" for {', '.join(str(each[position]) for each in inputs)}"


def _rounds(op: CustomOp) -> int:
    sizes = [math.prod(tensor(own).get_shape()) for own in op.own_types]
    return max(ROUNDS, -(-NUMBERS // max(*sizes, 1)))


def _evaluated(op: CustomOp, original: Operation, inputs: Sequence[Array]) -> Sequence[Any]:
    """Returns the results of `original`; its regions cannot reference a module."""
    evaluator = evaluator_of(original)
    if evaluator is None:
        raise op_error(op, f"implements '{original.name}', which the interpreter cannot evaluate")
    arguments = arguments_by(operand_layout(original), inputs)
    if isinstance(evaluator, RegionEvaluator):
        return evaluator.function(Frame(Interpreter(ModuleOp([])), {}), original, *arguments)
    return evaluator(original, *arguments)


def compare(op: CustomOp) -> None:
    """Runs a custom kernel and the evaluator on the same inputs. Raises `DiagnosticError` if their results differ."""
    (kernel, original), function = called_kernel(op), _function(op)
    random = np.random.default_rng(zlib.crc32(f"{op.function.data} {original.name}".encode()))
    for _ in range(_rounds(op)):
        try:
            inputs = _inputs(op, kernel, original, random)
        except RAISED as error:  # errors of another package's function are reported with its name
            where = at_code(kernel.inputs, error)
            what = f"cannot make inputs for '{op.function.data}': {one_line(error)}{where}"
            raise op_error(op, what) from error
        meant = _evaluated(op, original, inputs)
        expected = [np.asarray(each, order="C") for each in meant]
        found = [
            np.frombuffer(bytearray([_UNWRITTEN]) * each.nbytes, each.dtype).reshape(each.shape) for each in expected
        ]
        try:
            function(*inputs, *found)
        except Exception as error:
            first = str(error).strip().partition("\n")[0]
            raise op_error(
                op, f"'{op.function.data}' raised {type(error).__name__}: {first}{at_code(function)}"
            ) from error
        for number, (result, wanted) in enumerate(zip(found, expected, strict=True)):
            position = _differing(result, wanted, kernel.relative)
            if position is not None:
                which = f"result {number} at " if len(found) > 1 else "at "
                message = (
                    f"'{op.function.data}' does not compute '{original.name}': {which}{list(position)} expected "
                    f"{wanted[position]}{_at(inputs, position, result.shape)}, but got {result[position]}"
                )
                raise op_error(op, f"{message}{at_code(function)}")


def _different(module: ModuleOp) -> Iterator[CustomOp]:
    """Yields one of each set of equal calls."""
    seen: set[Any] = set()
    for op in module.walk():
        if not isinstance(op, CustomOp):
            continue
        constants = tuple(value if constant_array(value) is not None else None for value in op.inputs)
        key = op.function, op.computes, constants
        if key not in seen:
            seen.add(key)
            yield op


@dataclass(frozen=True)
class KernelVerifyCustom(ModulePass):
    """Runs every custom kernel, and compares its results with the evaluator of the operation that it replaces.

    Each kernel runs on arrays of the actual shapes. Constant operands keep their values. All others get the inputs that
    the package provides or, by default, random elements: integers over the range of their type, up to a magnitude of
    2^24, and finite floats. A kernel runs at least three times, and until its largest operand or result has had at
    least a thousand elements. Integers must be equal and floats bit-identical, unless the package defines a tolerance
    (`CustomKernel.relative`). An element that the kernel does not write counts as different. The module is unchanged; a
    difference is an error that names the function, the operation and the first differing element.

    Accepted as it is:

    ```mlir
    func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
      func.return %x : tensor<4xi8>
    }
    ```
    """

    name = "kernel-verify-custom"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in _different(op):
            compare(each)
            count("kernels compared")
