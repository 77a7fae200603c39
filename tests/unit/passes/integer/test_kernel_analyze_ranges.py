"""Proven bounds against what happens: random contractions on extreme inputs, and every value of random graphs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.utils.type import get_element_type_or_self

from qmlir.analysis.contraction_ranges import winograd
from qmlir.analysis.value_ranges import ValueRanges
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp
from qmlir.dialects.kernel.winograd import ALGORITHMS
from qmlir.environment import default_environment
from qmlir.interpreter.interpreter import Listener
from qmlir.interpreter.random_inputs import random_inputs
from qmlir.interpreter.run import interpret
from qmlir.interpreter.upstream.scalars import wrap
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.passes.integer.verification import ContractionBounds, KernelAnalyzeRanges, bounds_of
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import COMPILE
from qmlir.text.parsing import parse_module
from tests.levels.generator import case_of
from tests.unit.passes.integer.test_kernel_fuse import RandomGraph


def parsed(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), text, "module.mlir")


def main_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp))


def bounds_in(module: ModuleOp) -> ContractionBounds:
    function = main_of(module)
    ranges = ValueRanges(function)
    op = next(each for each in function.walk() if isinstance(each, ContractionOp))
    found = bounds_of(op, ranges)
    assert found is not None
    return found


def extremes(weights: np.ndarray[Any, Any], low: int, high: int, *, largest: bool) -> np.ndarray[Any, Any]:
    """The elements of `x` that make the sum with centered `weights` largest, or smallest."""
    return np.where((weights > 0) == largest, high, low)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_matmul_bounds_are_reached(data: st.DataObject) -> None:
    terms, channels = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    number = st.integers(-128, 127)
    weights = np.array(data.draw(st.lists(number, min_size=terms * channels, max_size=terms * channels)))
    weights = weights.reshape(channels, terms)
    x_zero, w_zero, x_unsigned, w_unsigned = data.draw(st.tuples(number, number, st.booleans(), st.booleans()))
    flags = ", ".join(
        [f"input_zero_point = {x_zero} : i32", f"weight_zero_point = {w_zero} : i32"]
        + ["input_unsigned"] * x_unsigned
        + ["weight_unsigned"] * w_unsigned
    )
    module = parsed(
        f"func.func @main(%x: tensor<{2 * channels}x{terms}xi8>) -> tensor<{2 * channels}x{channels}xi32> {{\n"
        f"%w = arith.constant dense<{weights.tolist()}> : tensor<{channels}x{terms}xi8>\n"
        f"%0 = kernel.matmul ins(%x, %w : tensor<{2 * channels}x{terms}xi8>, tensor<{channels}x{terms}xi8>)"
        f" -> tensor<{2 * channels}x{channels}xi32> attributes {{{flags}}} {{\n^bb0(%acc: i32):\n"
        f"kernel.yield %acc : i32\n}}\nfunc.return %0 : tensor<{2 * channels}x{channels}xi32>\n}}"
    )
    bounds = bounds_in(module)
    read = weights & 255 if w_unsigned else weights
    low, high = (0, 255) if x_unsigned else (-128, 127)
    rows = np.concatenate([extremes(read - w_zero, low, high, largest=largest) for largest in (False, True)])
    (sums,) = interpret(module, [rows.astype(np.uint8).view(np.int8)]).values()
    own = np.arange(channels)
    np.testing.assert_array_equal(sums[own, own], bounds.sums.low)
    np.testing.assert_array_equal(sums[channels + own, own], bounds.sums.high)
    assert bounds.sums.values[0] <= sums.min()
    assert sums.max() <= bounds.sums.values[1]


TRANSFORMS = {
    "f2": (
        np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]]),
        np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]]),
        2,
    ),
    "f4": (
        np.array([
            [4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0],
            [0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0], [0, 4, 0, -5, 0, 1],
        ]),
        np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 12]]),
        6,
    ),
}  # fmt: skip
"""Lavin and Gray's B^T, and G in integers, as often as 32 bits must hold the sums, in powers of two."""


@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 16]), st.booleans(), st.sampled_from(["f2", "f4"]))
@settings(max_examples=40, deadline=None)
def test_winograd_operands(seed: int, bits: int, is_extreme: bool, algorithm: str) -> None:
    """B^T d B and G g G^T lie in the bounds; with extremes they reach them."""
    own_input, own_weights, shift = TRANSFORMS[algorithm]
    size, random = len(own_input), np.random.default_rng(seed)
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    weights = random.choice([low, high], (2, 3, 3, 1)) if is_extreme else random.integers(low, high + 1, (2, 3, 3, 1))
    zero, out = int(random.integers(-128, 128)), size - 2
    module = parsed(
        f"func.func @main(%x: tensor<1x{size}x{size}x1xi8>) -> tensor<1x{out}x{out}x2xi64> {{\n"
        f"%w = arith.constant dense<{weights.tolist()}> : tensor<2x3x3x1xi{bits}>\n"
        f"%0 = kernel.conv ins(%x, %w : tensor<1x{size}x{size}x1xi8>, tensor<2x3x3x1xi{bits}>) "
        f"-> tensor<1x{out}x{out}x2xi64> "
        f"attributes {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_zero_point = {zero} : i32}} {{\n"
        f"^bb0(%acc: i64):\nkernel.yield %acc : i64\n}}\nfunc.return %0 : tensor<1x{out}x{out}x2xi64>\n}}"
    )
    bounds, ranges = bounds_in(module), ValueRanges(main_of(module))
    (conv,) = (op for op in module.walk() if isinstance(op, ConvOp))
    found = winograd(conv, ranges[conv.x], ranges[conv.w], form=ALGORITHMS[algorithm])
    assert found is not None
    moved = own_weights @ weights[..., 0] @ own_weights.T
    assert found.weights.values[0] <= moved.min()
    assert moved.max() <= found.weights.values[1]
    if not found.weights.within(-(1 << 15), (1 << 15) - 1):
        assert not -(1 << 15) <= moved.min() <= moved.max() < 1 << 15, "16 bits would have held them"
    tiles = random.choice([-128, 127], (500, size, size)) - zero
    seen = own_input @ tiles @ own_input.T
    assert found.input.values[0] <= seen.min()
    assert seen.max() <= found.input.values[1]
    corners = [
        own_input @ np.where((np.outer(row, column) > 0) == is_positive, 127 - zero, -128 - zero) @ own_input.T
        for row in own_input
        for column in own_input
        for is_positive in (False, True)
    ]
    assert found.input.values == (min(map(np.min, corners)), max(map(np.max, corners)))
    assert found.sums.values == tuple(each << shift for each in bounds.sums.values)


class Checks(Listener):
    """Every value of a run lies in its interval."""

    def __init__(self, ranges: ValueRanges):
        self.ranges = ranges
        self.count = 0

    def on_results(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        if op.name in ("tensor.empty", "tensor.insert_slice"):  # nobody reads what nobody has written
            return
        for value, result in zip(op.results, results, strict=True):
            array = np.asarray(result)
            if array.dtype.kind in "iub":
                array = np.asarray(wrap(array.astype(np.int64), get_element_type_or_self(value.type)))
            interval = self.ranges[value]
            if array.size and array.dtype.kind in "iub":
                self.count += 1
                shown = f"{op}: {array.min()} to {array.max()}, proven {interval}"
                assert not interval.is_empty, shown
                low, high = interval.values
                assert low <= array.min() <= array.max() <= high, shown


def test_numbers_of_steps() -> None:
    """From 0 to one less than there are, 0 where there is one step or none."""
    text = (
        "#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>\n"
        "func.func @main(%e: tensor<1x3x0xindex>) -> tensor<1x3x0xindex> {\n"
        '%0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel"]}'
        " outs(%e : tensor<1x3x0xindex>) {\n^bb0(%a: index):\n"
        "%i = linalg.index 0 : index\n%j = linalg.index 1 : index\n%k = linalg.index 2 : index\n"
        "%l = arith.addi %i, %j : index\n%m = arith.addi %l, %k : index\nlinalg.yield %m : index\n"
        "} -> tensor<1x3x0xindex>\nfunc.return %0 : tensor<1x3x0xindex>\n}"
    )
    ranges = ValueRanges(main_of(module := parsed(text)))
    found = [ranges[op.results[0]].values for op in module.walk() if op.name == "linalg.index"]
    assert found == [(0, 0), (0, 2), (0, 0)]


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs(seed: int) -> None:
    module = parsed(RandomGraph(seed).text())
    checks = Checks(ValueRanges(main_of(module)))
    inputs = random_inputs(main_of(module), seed=seed)
    interpret(module, inputs, listeners=[checks])
    interpret(module, {name: np.sign(array) * (2**31 - 1) for name, array in inputs.items()}, listeners=[checks])
    assert checks.count > 10


@pytest.mark.parametrize("seed", range(0, 300, 15))
def test_random_quantized_graphs(seed: int) -> None:
    """Every accumulator that the lowering chose is proven, and every value lies in its interval."""
    case = case_of(seed)
    environment = default_environment()
    context, module = environment.new_context(), case.module.clone()
    PassManager(context, parse_pipeline(COMPILE.text("lower", "fuse"), environment.passes)).run(module)
    interpret(module, case.inputs, listeners=[Checks(ValueRanges(main_of(module)))])


def test_remarks_name_the_operation() -> None:
    text = (
        "func.func @main(%x: tensor<1x1xi16>, %w: tensor<1x1xi16>) -> tensor<1x1xi32> {{\n"
        "%0 = kernel.matmul ins(%x, %w : tensor<1x1xi16>, tensor<1x1xi16>) -> tensor<1x1xi32> "
        'attributes {{origin = "fc1", input_zero_point = {zero} : i32}} {{\n^bb0(%acc: i32):\n'
        "kernel.yield %acc : i32\n}}\nfunc.return %0 : tensor<1x1xi32>\n}}"
    )
    told: list[Diagnostic] = []
    context = default_environment().new_context()
    with diagnostic_handler(told.append):
        KernelAnalyzeRanges().apply(context, parsed(text.format(zero=0)))
        (remark,) = told
        assert remark.message.startswith("'kernel.matmul' op (fc1) sums are in [-1073709056, 1073741824]")
        with pytest.raises(DiagnosticError, match=r"\(fc1\) sums in \[.*\] overflow i32"):
            KernelAnalyzeRanges().apply(context, parsed(text.format(zero=40000)))
