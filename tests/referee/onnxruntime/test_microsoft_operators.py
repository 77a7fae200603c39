"""ONNX Runtime's own quantized operators, imported, against ONNX Runtime: every integer equal.

Each sheet is one model of single operators, interpreted and compiled. ONNX Runtime runs it as it is, without
optimizations: weights are small enough for the kernels of CPUs that add pairs of products up in 16 bits. Half of the
scales are small odd multiples of powers of two, which make half-way cases: there the order of the f32 steps decides.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper

import qmlir
from qmlir.targets.cpu.host import host_features
from tests.support.nets import Net, held
from tests.support.sampled import of_families

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install -e '.[peers]'")

pytestmark = [
    pytest.mark.referee,
    pytest.mark.skipif("fma" not in host_features(), reason="without FMA ONNX Runtime's sums and sigmoid differ"),
]

MICROSOFT = "com.microsoft"
PER_SHEET = 12
FLOAT = np.float32


@dataclass
class Sheet:
    """A model under construction, and the random numbers for it."""

    rng: np.random.Generator
    net: Net = field(default_factory=Net)
    outputs: list[str] = field(default_factory=list)
    dtype: Any = np.uint8

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def scale(self, exponent: int, count: int | None = None) -> np.ndarray:
        """About `2^exponent`."""
        shape = () if count is None else (count,)
        if self.chance(0.6):
            odd = self.rng.choice([1, 3, 5, 7, 9, 11], shape)
            return FLOAT(odd * 2.0 ** (exponent - 2 + self.rng.integers(0, 2, shape)))
        return FLOAT(2.0**exponent * self.rng.uniform(0.5, 2.0, shape))

    def integers(self, *shape: int, dtype: Any = None) -> np.ndarray:
        limits = np.iinfo(dtype or self.dtype)
        return self.rng.integers(limits.min, limits.max + 1, shape).astype(dtype or self.dtype)

    def weights(self, *shape: int, dtype: Any) -> np.ndarray:
        """Of any size where unsigned, otherwise below 64."""
        low, high = (0, 255) if dtype is np.uint8 else (-63, 63)
        return self.rng.integers(low, high + 1, shape).astype(dtype)

    def zero_point(self, dtype: Any = None) -> np.ndarray:
        limits = np.iinfo(dtype or self.dtype)
        ends = self.rng.choice([limits.min, limits.max])
        return np.asarray(ends if self.chance(0.2) else self.rng.integers(limits.min, limits.max + 1)).astype(
            dtype or self.dtype
        )

    def parameters(self, scale: np.ndarray, zero_point: np.ndarray | None = None) -> tuple[str, str]:
        """Two constants."""
        return self.net.constant(scale), self.net.constant(self.zero_point() if zero_point is None else zero_point)

    def operand(self, exponent: int, *shape: int) -> list[str]:
        return [self.net.input(self.integers(*shape)), *self.parameters(self.scale(exponent))]

    def add(self, op_type: str, *inputs: str, domain: str = MICROSOFT, **attributes: Any) -> str:
        name = self.net.node(op_type, *inputs, domain=domain, **attributes)
        self.outputs.append(name)
        return name

    def model(self) -> ModelProto:
        model = self.net.model(*self.outputs)
        model.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
        return model


def _shapes(sheet: Sheet) -> tuple[list[int], list[int]]:
    """Two shapes, in half of the cases with something to broadcast."""
    left = [sheet.integer(1, 9) for _ in range(sheet.integer(0, 4))]
    if sheet.chance(0.2):
        left = [sheet.integer(100, 400)]
    right = list(left)
    if sheet.chance(0.6):
        right = [1 if sheet.chance(0.5) else size for size in left][sheet.integer(0, len(left)) :]
    return (left, right) if sheet.chance(0.5) else (right, left)


def qlinear_add(sheet: Sheet) -> None:
    left, right = _shapes(sheet)
    inputs = [*sheet.operand(0, *left), *sheet.operand(0, *right)]
    sheet.add("QLinearAdd", *inputs, *sheet.parameters(sheet.scale(sheet.integer(0, 2))))


def qlinear_mul(sheet: Sheet) -> None:
    left, right = _shapes(sheet)
    inputs = [*sheet.operand(0, *left), *sheet.operand(0, *right)]
    sheet.add("QLinearMul", *inputs, *sheet.parameters(sheet.scale(sheet.integer(4, 7))))


def qlinear_average_pool(sheet: Sheet) -> None:
    rank = int(sheet.rng.choice([1, 2, 2, 2, 3]))
    kernel = [sheet.integer(1, 3) for _ in range(rank)]
    sizes = [sheet.integer(3, 8) for _ in range(rank)]
    pads = [sheet.integer(0, taps - 1) if sheet.chance(0.5) else 0 for taps in kernel * 2]
    if sheet.chance(0.15):
        kernel, pads = sizes, [0] * 2 * rank
    strides = [sheet.integer(1, 3) for _ in range(rank)]
    has_last, shape = sheet.chance(0.3), [sheet.integer(1, 2), sheet.integer(1, 5), *sizes]
    if has_last:
        shape = [shape[0], *sizes, shape[1]]
    sheet.add(
        "QLinearAveragePool", *sheet.operand(0, *shape), *sheet.parameters(sheet.scale(-sheet.integer(0, 1))),
        kernel_shape=kernel, pads=pads, strides=strides, channels_last=int(has_last),
        count_include_pad=int(sheet.chance(0.5)), ceil_mode=int(sheet.chance(0.3)),
    )  # fmt: skip


def qlinear_global_average_pool(sheet: Sheet) -> None:
    shape = [sheet.integer(1, 2), *(sheet.integer(1, 7) for _ in range(3))]
    inputs = [*sheet.operand(0, *shape), *sheet.parameters(sheet.scale(0))]
    sheet.add("QLinearGlobalAveragePool", *inputs, channels_last=int(sheet.chance(0.4)))


def qlinear_concat(sheet: Sheet) -> None:
    shape = [sheet.integer(1, 6) for _ in range(sheet.integer(1, 4))]
    axis = sheet.integer(0, len(shape) - 1)
    result = sheet.parameters(sheet.scale(0))
    operands: list[str] = []
    for _ in range(sheet.integer(1, 4)):
        shape[axis] = sheet.integer(1, 6)
        operands += sheet.operand(0, *shape)
        if sheet.chance(0.3):
            operands[-2:] = result
    sheet.add("QLinearConcat", *result, *operands, axis=axis - len(shape) if sheet.chance(0.3) else axis)


def qlinear_sigmoid(sheet: Sheet) -> None:
    scale = FLOAT(1 / 256) if sheet.chance(0.5) else sheet.scale(-8)
    inputs = [*sheet.operand(-sheet.integer(2, 7), sheet.integer(1, 3), 300), *sheet.parameters(scale)]
    sheet.add("QLinearSigmoid", *inputs)


def qlinear_leaky_relu(sheet: Sheet) -> None:
    inputs = [*sheet.operand(0, sheet.integer(1, 3), 300), *sheet.parameters(sheet.scale(0))]
    sheet.add("QLinearLeakyRelu", *inputs, **({"alpha": float(sheet.rng.uniform(0, 1))} if sheet.chance(0.8) else {}))


def qlinear_where(sheet: Sheet) -> None:
    left, right = _shapes(sheet)
    condition = sheet.net.input(sheet.rng.integers(0, 2, _shapes(sheet)[0] if not left and not right else left) > 0)
    result = sheet.parameters(sheet.scale(0))
    x, y = sheet.operand(0, *left), sheet.operand(0, *right)
    if sheet.chance(0.3):
        x[1:] = result
    sheet.add("QLinearWhere", condition, *x, *y, *result)


def qlinear_softmax(sheet: Sheet) -> None:
    shape = [sheet.integer(1, 5), sheet.integer(1, 40), sheet.integer(1, 5)][: sheet.integer(1, 3)]
    scale = FLOAT(1 / 256) if sheet.chance(0.5) else FLOAT(sheet.rng.uniform(0.002, 0.02))
    attributes: dict[str, Any] = {"opset": int(sheet.rng.choice([12, 13]))}
    axis = attributes["axis"] = sheet.integer(-len(shape), len(shape) - 1)
    terms = shape[axis] if attributes["opset"] == 13 else math.prod(shape[axis % len(shape) :])
    if 1 / scale > 100 * terms:  # beyond f32 inside: what ONNX Runtime makes of it depends on the processor
        scale = FLOAT(0.02)
    inputs = [*sheet.operand(-sheet.integer(2, 6), *shape), *sheet.parameters(scale)]
    sheet.add("QLinearSoftmax", *inputs, **attributes)


def qgemm(sheet: Sheet, *, is_real: bool = False) -> None:
    rows, columns, terms = sheet.integer(1, 9), sheet.integer(1, 20), sheet.integer(1, 60)
    flips = {"transA": int(sheet.chance(0.3)), "transB": int(sheet.chance(0.5))}
    dtype = np.int8 if sheet.dtype is np.int8 or sheet.chance(0.5) else np.uint8
    count = columns if sheet.chance(0.5) else None
    points = sheet.weights(*(() if count is None else (count,)), dtype=dtype)
    weights = sheet.weights(*((columns, terms) if flips["transB"] else (terms, columns)), dtype=dtype)
    b = sheet.net.input(weights) if sheet.chance(0.3) else sheet.net.constant(weights)
    alpha = {"alpha": float(FLOAT(sheet.rng.uniform(0.3, 2)))} if sheet.chance(0.3) else {}
    shapes = [(columns,), (1, columns), (rows, 1), (rows, columns), (1,), ()]
    bias = sheet.rng.integers(-20000, 20000, shapes[sheet.integer(0, 5)]).astype(np.int32)
    data = sheet.integers(*((terms, rows) if flips["transA"] else (rows, terms)))
    sheet.add(
        "QGemm", sheet.net.input(data), *sheet.parameters(sheet.scale(-4)), b,
        *sheet.parameters(sheet.scale(-4, count), points),
        sheet.net.tensor(bias, is_constant=sheet.chance(0.7)) if sheet.chance(0.7) else "",
        *([] if is_real else sheet.parameters(sheet.scale(round(math.log2(terms) / 2)))), **flips, **alpha,
    )  # fmt: skip


def qgemm_real(sheet: Sheet) -> None:
    qgemm(sheet, is_real=True)


def casts(sheet: Sheet) -> None:
    """Both casts of this domain, to and from 4, 8 and 16 bits, by tensor and by axis."""
    kinds = [np.uint8, np.int8, np.uint16, np.int16, ml_dtypes.int4, ml_dtypes.uint4]
    dtype = kinds[sheet.integer(0, len(kinds) - 1)]
    shape = [sheet.integer(1, 5), sheet.integer(2, 6)]
    axis = sheet.integer(0, 1) if sheet.chance(0.5) else None
    count = None if axis is None else shape[axis]
    limits = ml_dtypes.iinfo(dtype)
    points = sheet.rng.integers(limits.min, limits.max + 1, () if count is None else (count,)).astype(dtype)
    names = [sheet.net.constant(sheet.scale(0, count)), sheet.net.constant(points)]
    attributes = {} if axis is None else {"axis": axis}
    reals = FLOAT(sheet.rng.integers(limits.min * 4, limits.max * 4, shape) / 2)
    stored = sheet.net.node("QuantizeLinear", sheet.net.input(reals), *names, domain=MICROSOFT, **attributes)
    sheet.add("DequantizeLinear", stored, *names, **attributes)
    if limits.bits > 4:
        sheet.outputs.append(stored)


def qlinear_conv(sheet: Sheet) -> None:
    """The variants that ONNX Runtime's quantizer writes: u8u8, u8s8 and s8s8, per tensor and per channel."""
    channels, inputs = sheet.integer(1, 9), sheet.integer(1, 9)
    dtype = np.int8 if sheet.dtype is np.int8 or sheet.chance(0.6) else np.uint8
    count = channels if sheet.chance(0.6) else None
    point = np.full((channels,) if count else (), sheet.weights(dtype=dtype) if sheet.chance(0.3) else 0, dtype)
    weights = sheet.weights(channels, inputs, *(sheet.integer(1, 3) for _ in range(2)), dtype=dtype)
    bias = sheet.rng.integers(-9000, 9000, channels).astype(np.int32)
    w = [sheet.net.constant(weights), *sheet.parameters(sheet.scale(-4, count), point)]
    y = sheet.parameters(sheet.scale(round(math.log2(weights[0].size) / 2)))
    x = sheet.operand(-4, 1, inputs, sheet.integer(3, 8), sheet.integer(3, 8))
    optional = [sheet.net.constant(bias)] if sheet.chance(0.6) else []
    sheet.add("QLinearConv", *x, *w, *y, *optional, domain="", pads=[sheet.integer(0, 1) for _ in range(4)])


FAMILIES: dict[Callable[[Sheet], None], int] = {
    qgemm: 4, qgemm_real: 2, qlinear_add: 6, qlinear_mul: 3, qlinear_average_pool: 4,
    qlinear_global_average_pool: 2, qlinear_concat: 2, qlinear_sigmoid: 3, qlinear_leaky_relu: 2, qlinear_where: 2,
    qlinear_softmax: 4, casts: 3, qlinear_conv: 3,
}  # fmt: skip

CASES = of_families(FAMILIES, part=2)


@cache
def _sheet(family: Callable[[Sheet], None], number: int) -> Sheet:
    sheet = Sheet(np.random.default_rng([number, 8]))
    for position in range(PER_SHEET):
        sheet.dtype = np.int8 if position % 2 else np.uint8
        family(sheet)
    return sheet


@cache
def _expected(family: Callable[[Sheet], None], number: int) -> list[np.ndarray]:
    import onnxruntime  # noqa: PLC0415 - absent where the referee is skipped

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    sheet = _sheet(family, number)
    model = sheet.model().SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, sheet.net.feeds)


def _check(sheet: Sheet, found: dict[str, np.ndarray], expected: list[np.ndarray]) -> None:
    nodes = {node.output[0]: node for node in sheet.net.nodes}
    constants = {each.name: numpy_helper.to_array(each) for each in sheet.net.initializers}
    for name, theirs in zip(sheet.outputs, expected, strict=True):
        drawn = [constants.get(each, sheet.net.feeds.get(each, np.zeros(0)).shape) for each in nodes[name].input]
        ours = found[name].astype(theirs.dtype) if theirs.dtype.kind != "f" else found[name]
        np.testing.assert_array_equal(ours, theirs, err_msg=f"{name} {nodes[name].attribute} {drawn}", strict=True)


@pytest.mark.parametrize(("family", "number"), CASES)
def test_interpreted(family: Callable[[Sheet], None], number: int) -> None:
    sheet = _sheet(family, number)
    found = qmlir.interpret(qmlir.load(sheet.model()), {key: held(value) for key, value in sheet.net.feeds.items()})
    _check(sheet, dict(found), _expected(family, number))


@pytest.mark.parametrize(("family", "number"), CASES)
def test_compiled(family: Callable[[Sheet], None], number: int) -> None:
    sheet = _sheet(family, number)
    found = qmlir.compile(qmlir.load(sheet.model()), codegen="llvm")(sheet.net.feeds)
    _check(sheet, dict(found), _expected(family, number))


def test_results_vary() -> None:
    """Most results are not saturated."""
    for family, count in FAMILIES.items():
        if family in (qlinear_softmax, qgemm_real, casts, qlinear_sigmoid):
            continue
        inside = [
            np.mean((each > np.iinfo(each.dtype).min) & (each < np.iinfo(each.dtype).max))
            for number in range(count)
            for each in _expected(family, number)
        ]
        assert np.mean(inside) > 0.4, family
