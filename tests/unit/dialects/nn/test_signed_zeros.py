"""Zeros keep their signs on all levels: every operation on floats, on every pair of special numbers, bit for bit.

The larger and the smaller of two numbers are held against IEEE 754-2019 `maximum` and `minimum`, one pair at a time.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.arrays import Extreme, maximum, minimum
from qmlir.dialects.nn.base import Kind, NnOp
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.interpreter.differences import difference_of
from qmlir.interpreter.run import interpret
from qmlir.ir.passes import EVERY_BIT
from qmlir.ir.verification import verify
from qmlir.targets.cpu.compiler import compile_module
from qmlir.text.parsing import parse_module
from tests.unit.dialects.nn.lower.driver import ENVIRONMENT, lowered

Array = npt.NDArray[Any]

SPECIAL = (0.0, -0.0, 1.0, -1.0, -3.0, 1e-40, -1e-40, math.inf, -math.inf, math.nan)
COUNT = len(SPECIAL)
FIRST, SECOND = np.repeat(SPECIAL, COUNT), np.tile(SPECIAL, COUNT)
"""Every pair."""

DTYPES: Mapping[str, Any] = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}

VECTOR, MATRIX, IMAGE = f"tensor<{COUNT**2}xT>", f"tensor<{COUNT**2}x2xT>", f"tensor<1x{COUNT**2}x2xT>"
"""One number of each pair; the pairs as rows; the pairs as the channels of an image of two elements."""

POOLED, PLACES = f"tensor<1x{COUNT**2}x1xT>", f"tensor<{COUNT**2}xi64>"


def _leaves(kind: type[Any]) -> Iterator[type[NnOp]]:
    """The operations among the classes below `kind`, by name."""
    below = [leaf for each in kind.__subclasses__() for leaf in _leaves(each)] or [kind]
    yield from sorted(below, key=lambda each: each.name)


def _rows(name: str, properties: str, result: str = MATRIX) -> str:
    return f"nn.{name} %rows {{{properties}}} : ({MATRIX}) -> {result}"


BOUNDS = ("minimum = 0.0", "minimum = -0.0", "maximum = 0.0", "maximum = -0.0", "minimum = 0.0, maximum = -0.0")

FUNCTIONS = tuple(
    f"{each.name} %a : {VECTOR}"
    for each in _leaves(elementwise.UnaryOp)
    if Kind.FLOAT in each.ACCEPTS and not issubclass(each, elementwise.PredicateOp)
)

CHOICES = (
    *(
        f"{each.name} %rows {{axes = [1], keep_dims = false}} : ({MATRIX}) -> {VECTOR}"
        for each in _leaves(reduction.ReduceOp)
        if each is not reduction.ReduceLogSumExpOp
    ),
    *(f"nn.{name} %a, %b : {VECTOR}" for name in ("add", "sub", "mul", "div", "max", "min", "prelu")),
    f"nn.mod %a, %b {{fmod = true}} : {VECTOR}",
    *(f"nn.clip %a {{{bounds}}} : {VECTOR}" for bounds in BOUNDS),
    *(_rows(name, "axis = 1") for name in ("cum_sum", "cum_prod")),
    _rows("cum_sum", "axis = 1, exclusive = true"),
    *(_rows(name, "axis = 1, keep_dims = false", PLACES) for name in ("arg_max", "arg_min")),
    *(f"nn.{name}_pool %image {{kernel = [2]}} : ({IMAGE}) -> {POOLED}" for name in ("max", "average")),
    *(f"nn.global_{name}_pool %image : ({IMAGE}) -> {POOLED}" for name in ("max", "average")),
    *(
        f'nn.scatter_elements %a, %places, %b {{reduction = "{name}"}} : ({VECTOR}, {PLACES}, {VECTOR}) -> {VECTOR}'
        for name in ("add", "mul", "max", "min")
    ),
    *(f"nn.{name} %a : {VECTOR}" for name in ("relu", "abs", "hard_swish", "hard_sigmoid", "leaky_relu", "sign")),
)
"""What chooses among numbers, or adds them up: these are compiled too, functions take long to."""


SCALAR = "tensor<xT>"
WITH_CONSTANTS = (
    *(f"nn.{name} %a, %{other} : ({VECTOR}, {SCALAR}) -> {VECTOR}"
      for name in ("add", "sub", "mul", "div", "max", "min") for other in ("zero", "minus_zero", "one")),
    *(f"nn.{name} %{other}, %a : ({SCALAR}, {VECTOR}) -> {VECTOR}"
      for name in ("add", "sub", "mul", "max", "min") for other in ("zero", "minus_zero", "one")),
)  # fmt: skip
"""What looks as if it could be folded."""

OPERATIONS = (
    *FUNCTIONS,
    *CHOICES,
    *WITH_CONSTANTS,
    *(_rows(name, "axis = 1") for name in ("softmax", "log_softmax")),
    f"nn.reduce_log_sum_exp %rows {{axes = [1], keep_dims = false}} : ({MATRIX}) -> {VECTOR}",
)


def _module(element: str, operations: Sequence[str] = OPERATIONS) -> ModuleOp:
    """The operations side by side, a result each."""
    results = [operation.rpartition("-> ")[2].rpartition(" : ")[2] for operation in operations]
    names = [f"%{position}" for position in range(len(operations))]
    lines = "\n".join(f"{name} = {operation}" for name, operation in zip(names, operations, strict=True))
    arguments = f"%a: {VECTOR}, %b: {VECTOR}, %rows: {MATRIX}, %image: {IMAGE}"
    text = f"""func.func @main({arguments}) -> ({", ".join(results)}) {{
      %places = nn.constant dense<{list(range(COUNT**2))}> : {PLACES}
      %zero = nn.constant dense<0.0> : tensor<xT>
      %minus_zero = nn.constant dense<-0.0> : tensor<xT>
      %one = nn.constant dense<1.0> : tensor<xT>
      {lines}
      func.return {", ".join(names)} : {", ".join(results)}
    }}"""
    module = parse_module(
        ENVIRONMENT.new_context(), text.replace("<xT>", f"<{element}>").replace("xT>", f"x{element}>")
    )
    verify(module)
    return module


def _inputs(element: str) -> list[Array]:
    first, second = FIRST.astype(DTYPES[element]), SECOND.astype(DTYPES[element])
    rows = np.stack([first, second], axis=1)
    return [first, second, rows, rows[None]]


def _hold_equal(expected: Mapping[str, Any], found: Mapping[str, Any], operations: Sequence[str] = OPERATIONS) -> None:
    results = zip(operations, expected.values(), found.values(), strict=True)
    differences = {operation: difference_of(*pair, EVERY_BIT) for operation, *pair in results}
    assert not {operation: str(each) for operation, each in differences.items() if each is not None}


@pytest.mark.parametrize("element", DTYPES)
def test_levels_agree(element: str) -> None:
    module, inputs = _module(element), _inputs(element)
    _hold_equal(interpret(module, inputs), interpret(lowered(module), inputs))


def test_parts_and_expanded_functions_agree() -> None:
    module, inputs = _module("f32"), _inputs("f32")
    expected = interpret(module, inputs)
    for pipeline in ("nn-decompose", "convert-nn-to-kernel,canonicalize,math-expand,canonicalize"):
        _hold_equal(expected, interpret(lowered(module, pipeline), inputs))


def test_compiled_code_agrees() -> None:
    module, inputs = _module("f32", CHOICES), _inputs("f32")
    _hold_equal(interpret(module, inputs), compile_module(module, emitter="llvm")(inputs), CHOICES)


def _by_the_standard(a: float, b: float, is_largest: bool) -> float:
    """`maximum(a, b)` and `minimum(a, b)`, word by word."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    if a == 0 and b == 0:
        negative = math.copysign(1, a) < 0, math.copysign(1, b) < 0
        return -0.0 if (all if is_largest else any)(negative) else 0.0
    return max(a, b) if is_largest else min(a, b)


@pytest.mark.parametrize("extreme", [maximum, minimum])
@pytest.mark.parametrize("dtype", DTYPES.values())
def test_the_standard(extreme: Extreme, dtype: Any) -> None:
    first, second = FIRST.astype(dtype), SECOND.astype(dtype)
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    expected = np.array([_by_the_standard(float(a), float(b), extreme is maximum) for a, b in pairs]).astype(dtype)
    lowest = -math.inf if extreme is maximum else math.inf
    scalars = np.array([extreme(a, b) for a, b in zip(first, second, strict=True)], dtype)
    rows = np.stack([first, second], axis=1)
    for found in (
        extreme(first, second),
        scalars,
        extreme.along(rows, [1], initial=lowest),
        extreme.at(first, np.arange(first.size), second),
    ):
        assert found.dtype == dtype
        assert difference_of(expected, found, EVERY_BIT) is None
