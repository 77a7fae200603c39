"""Results of 32 bits that keep the scale of their exact integers: what saturates, on every level, and what is refused.

Expected integers are Python's; the largest and smallest sums are found by trying all operands that are at either limit.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.nn.contraction.ops import FullyConnectedOp
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from qmlir.targets.cpu.compiler import compile_module
from qmlir.text.parsing import parse_module
from tests.unit.dialects.nn.lower.driver import ENVIRONMENT, PIPELINE, lowered

LOW, HIGH = -(2**31), 2**31 - 1
ENDS = [HIGH, LOW, 2**30, -(2**30), 3, -1, 0, LOW + 1]
FIRST, SECOND = (np.array(each, np.int32) for each in zip(*itertools.product(ENDS, ENDS), strict=True))

A = "!quant.uniform<i32:f32, 0.5>"
TWICE = "!quant.uniform<i32:f32, 0.25>"
VECTOR, PAIRS = f"tensor<64x{A}>", f"tensor<64x2x{A}>"

Formula = Callable[[int, int], int]
ELEMENTWISE: dict[str, Formula] = {
    f"nn.add %a, %b : {VECTOR}": lambda a, b: a + b,
    f"nn.sub %a, %b : {VECTOR}": lambda a, b: a - b,
    f"nn.max %a, %b : {VECTOR}": max,
    f"nn.min %a, %b : {VECTOR}": min,
    f"nn.neg %a : {VECTOR}": lambda a, b: -a,
    f"nn.abs %a : {VECTOR}": lambda a, b: abs(a),
    f"nn.relu %a : {VECTOR}": lambda a, b: max(a, 0),
    f"nn.clip %a {{minimum = -4.0}} : {VECTOR}": lambda a, b: max(a, -8),
    f"nn.reduce_sum %pairs {{axes = [1], keep_dims = false}} : ({PAIRS}) -> {VECTOR}": lambda a, b: a + b,
}
MODES = ("single_round", "double_round", "shift, even")


def _module(operations: Sequence[str]) -> ModuleOp:
    """Operations on all pairs of `ENDS`, as two vectors and as rows, a result each."""
    results = [operation.rpartition("-> ")[2].rpartition(" : ")[2] for operation in operations]
    names = [f"%{position}" for position in range(len(operations))]
    lines = "\n".join(f"{name} = {operation}" for name, operation in zip(names, operations, strict=True))
    text = f"""func.func @main(%a: {VECTOR}, %b: {VECTOR}, %pairs: {PAIRS}) -> ({", ".join(results)}) {{
      {lines}
      func.return {", ".join(names)} : {", ".join(results)}
    }}"""
    module = parse_module(ENVIRONMENT.new_context(), text)
    verify(module)
    return module


def _saturated(integers: Sequence[int]) -> list[int]:
    return [min(max(each, LOW), HIGH) for each in integers]


def test_every_level_saturates() -> None:
    """The last results are those of the modes, to half the scale: with a multiplier, what 32 bits hold is doubled."""
    in_modes = [
        f"nn.add %a, %b {{requantize = #kernel.requantize<{mode}>}} : ({VECTOR}, {VECTOR}) -> tensor<64x{TWICE}>"
        for mode in MODES
    ]
    module = _module([*ELEMENTWISE, *in_modes])
    pairs = list(zip(FIRST.tolist(), SECOND.tolist(), strict=True))
    expected = [_saturated([formula(*pair) for pair in pairs]) for formula in ELEMENTWISE.values()]
    doubled = _saturated([2 * (a + b) for a, b in pairs])
    inputs = [FIRST, SECOND, np.stack([FIRST, SECOND], axis=1)]
    for found in (
        interpret(module, inputs),
        interpret(lowered(module), inputs),
        interpret(lowered(module, f"{PIPELINE},kernel-fuse,canonicalize"), inputs),
        compile_module(module, emitter="llvm")(inputs),
    ):
        arrays = [array.tolist() for array in found.values()]
        assert arrays == [*expected, *[doubled] * len(MODES)]


def _contraction(weights: Any, bias: Sequence[int] | None, result: str) -> ModuleOp:
    """A fully connected layer of 16-bit data; its sums have the scale 0.5."""
    rows, terms = np.shape(weights)
    x, w = f"tensor<1x{terms}x!quant.uniform<i16:f32, 0.5>>", f"tensor<{rows}x{terms}x!quant.uniform<i16:f32, 1.0>>"
    biases = "" if bias is None else f"%b = nn.constant dense<{list(bias)}> : tensor<{rows}xi32> -> tensor<{rows}x{A}>"
    added = ("", "") if bias is None else (", %b", f", tensor<{rows}x{A}>")
    text = f"""func.func @main(%x: {x}) -> tensor<1x{rows}x{result}> {{
      %w = nn.constant dense<{np.asarray(weights).tolist()}> : tensor<{rows}x{terms}xi16> -> {w}
      {biases}
      %0 = nn.fully_connected %x, %w{added[0]} : ({x}, {w}{added[1]}) -> tensor<1x{rows}x{result}> {{origin = "fc"}}
      func.return %0 : tensor<1x{rows}x{result}>
    }}"""
    module = parse_module(ENVIRONMENT.new_context(), text)
    verify(module)
    return module


EXTREME = st.sampled_from([-(2**15), 2**15 - 1, 0, 1, -1, 2**14, 20000])
BIAS = st.sampled_from([0, 5, LOW, HIGH, -(2**30), 2**30 - 1])


@st.composite
def _layers(draw: st.DrawFn) -> tuple[list[list[int]], list[int] | None]:
    rows, terms = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    weights = [[draw(EXTREME) for _ in range(terms)] for _ in range(rows)]
    return weights, draw(st.none() | st.lists(BIAS, min_size=rows, max_size=rows))


def _sums(weights: list[list[int]], bias: list[int], data: Sequence[int]) -> list[int]:
    return [sum(x * w for x, w in zip(data, row, strict=True)) + b for row, b in zip(weights, bias, strict=True)]


@settings(deadline=None, max_examples=40)
@given(_layers())
def test_sums_of_constants(layer: tuple[list[list[int]], list[int] | None]) -> None:
    """An accumulator that some data overflow is refused with their sums; parts that would overflow are not made."""
    weights, bias = layer
    added = bias or [0] * len(weights)
    samples = list(itertools.product([-(2**15), 2**15 - 1], repeat=len(weights[0])))
    module = _contraction(weights, bias, A)
    every = [each for data in samples for each in _sums(weights, added, data)]
    low, high = min(every), max(every)
    if low >= LOW and high <= HIGH:
        after = lowered(module)
        for data in samples:
            inputs = [np.array([data], np.int16)]
            expected = _saturated(_sums(weights, added, data))
            assert [each.tolist() for each in interpret(module, inputs).values()] == [[expected]]
            assert [each.tolist() for each in interpret(after, inputs).values()] == [[expected]]
    else:
        message = rf"'nn.fully_connected' op \(fc\) has sums in \[{low}, {high}\], .* sums must be in \[{LOW}, {HIGH}\]"
        with pytest.raises(DiagnosticError, match=message):
            lowered(module)

    rounded = _contraction(weights, bias, "!quant.uniform<i16:f32, 65536.0>")
    parts = lowered(rounded, "nn-decompose")
    products = [each for data in samples for each in _sums(weights, [0] * len(weights), data)]
    is_whole = any(isinstance(op, FullyConnectedOp) for op in parts.walk())
    assert is_whole == (bias is not None and (min(products) < LOW or max(products) > HIGH))
    for data in samples:
        inputs = [np.array([data], np.int16)]
        exact = [np.float32(each) * np.float32(2**-17) for each in _sums(weights, added, data)]
        expected = np.clip(np.rint(exact), -(2**15), 2**15 - 1).astype(int).tolist()
        for each in (rounded, parts):
            assert [found.tolist() for found in interpret(each, inputs).values()] == [[expected]]


OTHERS = {
    "nn.matmul": ("", "4x3", "1x3"),
    "nn.matmul ": ("{transpose_b = true}", "3x4", "1x3"),
    "nn.conv": ("{pads = [1, 1]}", "3x1x3", "1x3x4"),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("is_constant", [True, False])
def test_other_contractions_are_refused(name: str, is_constant: bool) -> None:
    properties, shape, result = OTHERS[name]
    data = "1x4" if "matmul" in name else "1x1x4"
    x, w = f"tensor<{data}x!quant.uniform<i16:f32, 0.5>>", f"tensor<{shape}x!quant.uniform<i16:f32, 1.0>>"
    constant = f"%w = nn.constant dense<32767> : tensor<{shape}xi16> -> {w}" if is_constant else ""
    argument = "" if is_constant else f", %w: {w}"
    text = f"""func.func @main(%x: {x}{argument}) -> tensor<{result}x{A}> {{
      {constant}
      %0 = {name} %x, %w {properties} : ({x}, {w}) -> tensor<{result}x{A}> {{origin = "layer"}}
      func.return %0 : tensor<{result}x{A}>
    }}"""
    module = parse_module(ENVIRONMENT.new_context(), text)
    verify(module)
    terms = 4 if "matmul" in name else 3
    weights = (32767, 32767) if is_constant else (-32768, 32767)
    corners = [terms * a * b for a in (-32768, 32767) for b in weights]
    with pytest.raises(
        DiagnosticError, match=rf"\(layer\) has sums in \[{min(corners)}, {max(corners)}\], which overflow"
    ):
        lowered(module)
