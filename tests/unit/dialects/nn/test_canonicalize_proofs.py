"""A proof for every canonicalization of numbers: both sides on every value of i4 and i8, and on floats by their bits.

Each module is evaluated before and after `canonicalize`; the pattern must have changed it, and no result may differ.
"""

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from qmlir.environment import default_environment
from qmlir.ir import evaluation
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text
from qmlir.tools import qmlir_opt

ENVIRONMENT = default_environment()
I4 = np.arange(-8, 8, dtype=np.int8)
I8 = np.arange(-128, 128).astype(np.int8)


def _evaluate(module: ModuleOp, argument: np.ndarray) -> list[np.ndarray]:
    (function,) = [op for op in module.walk() if isinstance(op, FuncOp)]
    values: dict[SSAValue, np.ndarray] = {function.body.block.args[0]: argument}
    for op in function.body.block.ops:
        if isinstance(op, ReturnOp):
            return [values[operand] for operand in op.operands]
        results = evaluation.evaluate(op, [values[operand] for operand in op.operands])
        values.update(zip(op.results, results, strict=True))
    raise AssertionError("the function does not return")


def _before_and_after(body: str, argument: np.ndarray, element: str) -> tuple[list[np.ndarray], list[np.ndarray], int]:
    """The results of `body` before and after canonicalization, and how many operations went."""
    type_ = f"tensor<{'x'.join(map(str, argument.shape))}x{element}>"
    body = body.replace("TYPE", type_)
    result = body.rpartition(" : ")[2]
    text = f"func.func @main(%x: {type_}) -> {result} {{\n{body}\n}}"
    module = parse_module(ENVIRONMENT.new_context(), text)
    out, err = io.StringIO(), io.StringIO()
    whole = module_text(module, PrintOptions(weights=Weights.INLINE))
    code = qmlir_opt.main(["-p", "canonicalize", "--inline-weights"], stdin=io.StringIO(whole), stdout=out, stderr=err)
    assert code == 0, err.getvalue()
    after = parse_module(ENVIRONMENT.new_context(), out.getvalue())
    gone = sum(1 for _ in module.walk()) - sum(1 for _ in after.walk())
    return _evaluate(module, argument), _evaluate(after, argument), gone


def _assert_proven(body: str, argument: np.ndarray, element: str) -> None:
    before, after, gone = _before_and_after(body, argument, element)
    assert gone > 0, "no pattern applied"
    assert [each.tobytes() for each in before] == [each.tobytes() for each in after]


ELEMENTWISE = {
    "idempotent relu": "%0 = nn.relu %x : TYPE  %1 = nn.relu %0 : TYPE  func.return %1 : TYPE",
    "idempotent abs": "%0 = nn.abs %x : TYPE  %1 = nn.abs %0 : TYPE  func.return %1 : TYPE",
    "double negation": "%0 = nn.neg %x : TYPE  %1 = nn.neg %0 : TYPE  func.return %1 : TYPE",
    "identity cast": "%0 = nn.cast %x : TYPE  %1 = nn.add %0, %x : TYPE  func.return %1 : TYPE",
}


@pytest.mark.parametrize("body", ELEMENTWISE.values(), ids=ELEMENTWISE)
@pytest.mark.parametrize(("values", "element"), [(I4, "i4"), (I8, "i8")], ids=["i4", "i8"])
def test_elementwise_on_every_integer(body: str, values: np.ndarray, element: str) -> None:
    # i4 values are held in 8 bits, and wrap around as 4: -(-8) is -8 on both sides.
    _assert_proven(body, values, element)


@pytest.mark.parametrize("body", ELEMENTWISE.values(), ids=ELEMENTWISE)
@settings(max_examples=25)
@given(bits=arrays(np.uint32, 64))
def test_elementwise_on_floats(body: str, bits: np.ndarray) -> None:
    # Quiet NaNs only: what a processor does to the payload of a signalling one is not ours to fold.
    values = np.where(np.isnan(bits.view(np.float32)), np.float32(np.nan), bits.view(np.float32))
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype=np.float32)
    with np.errstate(all="ignore"):
        before, after, gone = _before_and_after(body, np.concatenate([values, special]), "f32")
    assert gone > 0
    np.testing.assert_array_equal(before[0], after[0])
    numbers = ~np.isnan(before[0])
    assert (np.signbit(before[0]) == np.signbit(after[0]))[numbers].all()


@settings(max_examples=60)
@given(st.permutations([0, 1, 2]), st.permutations([0, 1, 2]))
def test_merged_transposes(first: list[int], second: list[int]) -> None:
    shape = [2, 3, 4]
    middle = [shape[axis] for axis in first]
    last = [middle[axis] for axis in second]

    def tensor(sizes: list[int]) -> str:
        return f"tensor<{'x'.join(map(str, sizes))}xi8>"

    body = (
        f"%0 = nn.transpose %x {{permutation = {first}}} : (TYPE) -> {tensor(middle)}\n"
        f"%1 = nn.transpose %0 {{permutation = {second}}} : ({tensor(middle)}) -> {tensor(last)}\n"
        f"func.return %1 : {tensor(last)}"
    )
    _assert_proven(body, np.arange(24, dtype=np.int8).reshape(shape), "i8")


RESHAPES = {
    "merged": "%0 = nn.reshape %x : (TYPE) -> tensor<24xi8> %1 = nn.reshape %0 : (tensor<24xi8>) -> tensor<4x6xi8>"
    " func.return %1 : tensor<4x6xi8>",
    "identity": "%0 = nn.reshape %x : TYPE %1 = nn.neg %0 : TYPE func.return %1 : TYPE",
    "whole slice": "%0 = nn.slice %x {starts = [0, -3], ends = [2, 9], axes = [0, 1]} : TYPE %1 = nn.neg %0 : TYPE"
    " func.return %1 : TYPE",
    "single concat": "%0 = nn.concat %x {axis = 1} : TYPE %1 = nn.neg %0 : TYPE func.return %1 : TYPE",
}


@pytest.mark.parametrize("body", RESHAPES.values(), ids=RESHAPES)
def test_movement(body: str) -> None:
    _assert_proven(body, np.arange(24, dtype=np.int8).reshape(2, 3, 4), "i8")


def test_constant_folding_on_every_pair_of_i4() -> None:
    pairs = [list(pair) for pair in zip(np.repeat(I4, 16).tolist(), np.tile(I4, 16).tolist(), strict=True)]
    left, right = ([pair[side] for pair in pairs] for side in (0, 1))
    for name in ("add", "sub", "mul", "min", "max"):
        body = (
            f"%a = nn.constant dense<{left}> : tensor<256xi8>  %b = nn.constant dense<{right}> : tensor<256xi8>\n"
            f"%0 = nn.{name} %a, %b : tensor<256xi8>  func.return %0 : tensor<256xi8>"
        )
        _assert_proven(body, I8, "i8")


LAYERS = {
    "conv {pads = [1, 1, 1, 1]}": ((4, 1, 3, 3), (1, 1, 4, 4), (1, 4, 4, 4)),
    "conv {pads = [1, 1, 1, 1], groups = 2 : i64}": ((4, 1, 3, 3), (1, 2, 4, 4), (1, 4, 4, 4)),
    "conv_transpose": ((1, 4, 3, 3), (1, 1, 2, 2), (1, 4, 4, 4)),
    "conv_transpose {groups = 2 : i64}": ((2, 2, 3, 3), (1, 2, 2, 2), (1, 4, 4, 4)),
    "conv_transpose {groups = 4 : i64}": ((4, 1, 3, 3), (1, 4, 2, 2), (1, 4, 4, 4)),
    "fully_connected": ((4, 9), (2, 9), (2, 4)),
}
"""Layers of four channels, each result a sum of 9 products: the shapes of the weights, the data and the result."""


SCALED = {
    "norm": "nn.batch_norm %c, %s, %o, %m, %v : (RESULT, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)",
    "factor": "nn.mul %f, %c : (CHANNELS, RESULT)",
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("scaled", ["norm", "factor"])
@settings(max_examples=10)
@given(st.data())
def test_what_scales_channels_goes_into_the_weights(scaled: str, layer: str, data: st.DataObject) -> None:
    """Not bit for bit: the sums are rounded in another order. Each result is a sum of 9 products and a bias.

    In f32 both sides are within about 12 roundings of 2^-24 of the sum of the magnitudes of their terms, which is at
    most 9 * 4 * 4 * 4 + 4 + 16 for values up to 4 and a factor up to 4: 600 * 12 * 2^-24 * 2 sides < 1e-3.
    """

    def values(low: float, high: float, *shape: int) -> Any:
        return data.draw(arrays(np.float32, shape, elements=st.floats(low, high, width=16)))

    def type_of(shape: tuple[int, ...]) -> str:
        return f"tensor<{'x'.join(map(str, shape))}xf32>"

    weights, operand, result = LAYERS[layer]
    w, b, s, o, m = values(-4, 4, *weights), *(values(-4, 4, 4) for _ in range(4))
    v, x, channels = values(1, 4, 4), values(-4, 4, *operand), (4, *(1 for _ in result[2:]))
    constants = "\n".join(
        f"%{name} = nn.constant dense<{each.tolist()}> : {type_of(each.shape)}"
        for name, each in {"w": w, "b": b, "s": s, "o": o, "m": m, "v": v, "f": s.reshape(channels)}.items()
    )
    name, _, properties = layer.partition(" ")
    body = constants + (
        f"\n%c = nn.{name} %x, %w, %b {properties} : (TYPE, {type_of(weights)}, tensor<4xf32>) -> {type_of(result)}"
        f"\n%r = {SCALED[scaled]} -> {type_of(result)}\nfunc.return %r : {type_of(result)}"
    ).replace("RESULT", type_of(result)).replace("CHANNELS", type_of(channels))
    before, after, gone = _before_and_after(body, x, "f32")
    assert gone > 0
    np.testing.assert_allclose(after[0], before[0], rtol=0, atol=1e-3)
