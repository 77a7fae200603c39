"""Random graphs of one quantized operator, compiled, against ONNX Runtime: every integer is equal.

ONNX Runtime runs without optimizations and on the unsigned twin of the graph (`unsigned_twins.py`). What
is imported as it is, QLinearConv, QLinearMatMul and MaxPool, is one ONNX model for both sides. Of sums, products and
means ours is the QDQ form, whose casts `quant-fuse-casts` takes into the operator, and ONNX Runtime's either the same
model or its own operator from com.microsoft. Scales and zero points there are those for which `docs/arithmetic.md`
promises the same integers: QDQ forms with different or with power-of-two scales, and even zero points where ONNX
Runtime adds them before it rounds.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.kernel.attributes import isa_names
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.elementwise.ops import CastOp
from qmlir.environment import default_environment
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import CLEAN
from qmlir.targets.cpu.host import host_isa, runs_here
from tests.referee.onnxruntime.test_quantized_import import LIMITS, Draw
from tests.support.nets import Net
from tests.support.sampled import of_families
from tests.support.unsigned_twins import as_unsigned, run_twin

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install -e '.[peers]'")

pytestmark = pytest.mark.referee

MICROSOFT = "com.microsoft"
FUSE = f"quant-fuse-casts,{CLEAN}"
OTHERS = [isa for isa in isa_names() if runs_here(isa) and isa != host_isa()]
"""Instruction sets that this machine has beside its best; every fourth graph is compiled for one of them."""


@dataclass(frozen=True)
class Graph:
    """One operator: the model that we import, the one that ONNX Runtime runs, what both are given, and a name."""

    ours: ModelProto
    theirs: ModelProto
    feeds: Mapping[str, np.ndarray]
    name: str


# Numbers


def _zero_point(draw: Draw, dtype: Any, *, even: bool = False) -> Any:
    low, high = LIMITS[dtype]
    drawn = int(draw.rng.choice([low, high])) if draw.chance(0.25) else draw.integer(low, high)
    return dtype(drawn & ~1 if even else drawn)


def _stored(draw: Draw, dtype: Any, *shape: int) -> np.ndarray:
    """Integers of the whole range; in some graphs only its two ends, or one of them."""
    if draw.chance(0.2):
        return draw.rng.choice(LIMITS[dtype], shape).astype(dtype)
    if draw.chance(0.1):
        return np.full(shape, draw.rng.choice(LIMITS[dtype]), dtype)
    return draw.integers(dtype, *shape)


def _near(draw: Draw, zero_point: Any, *shape: int) -> np.ndarray:
    """Integers a few steps from the zero point, whose sums are small."""
    dtype = np.asarray(zero_point).dtype.type
    return np.clip(np.int64(zero_point) + draw.rng.integers(-7, 8, shape), *LIMITS[dtype]).astype(dtype)


def _power_of_two(draw: Draw) -> np.ndarray:
    return np.asarray(2.0 ** draw.integer(-2, 2), np.float32)


def _spread(dtype: Any, array: np.ndarray, zero_point: Any) -> float:
    """The root of the mean square of what integers stand for."""
    return max(float(np.sqrt(np.mean(np.square(array.astype(np.float64) - np.float64(zero_point))))), 1.0)


@dataclass(frozen=True)
class _Operand:
    """A quantized tensor that is given at run time."""

    data: np.ndarray
    scale: np.ndarray
    zero_point: Any

    @staticmethod
    def of(draw: Draw, shape: Sequence[int], scale: np.ndarray, *, near: bool = False) -> "_Operand":
        dtype = draw.kind()
        zero_point = _zero_point(draw, dtype)
        data = _near(draw, zero_point, *shape) if near else _stored(draw, dtype, *shape)
        return _Operand(data, scale, zero_point)


# Contractions


@dataclass(frozen=True)
class _Scales:
    """Scales of a contraction: any, or such that many sums lie half-way between two results."""

    draw: Draw
    has_ties: bool

    def operand(self, exponent: int, count: int | None = None) -> np.ndarray:
        """About `2^exponent`."""
        return (
            self.draw.tied_scale(exponent - 1, exponent, count)
            if self.has_ties
            else self.draw.any_scale(exponent, count)
        )

    def result(self, exponent: int) -> np.ndarray:
        """About `2^exponent`; ratios to odd multiples of powers of two are ties where this is a power of two."""
        return np.asarray(2.0**exponent, np.float32) if self.has_ties else self.draw.any_scale(exponent)


def _result_exponent(draw: Draw, terms: int, factors: float, scales: float, bias: np.ndarray | None) -> int:
    """The exponent of a scale for a sum of `terms` products, whose integers are about `factors`, and of a bias.

    It leaves most results inside 8 bits, and something to round.
    """
    largest = math.sqrt(terms) * factors
    if bias is not None:
        largest = max(largest, float(np.abs(bias.astype(np.float64)).mean()))
    return round(math.log2(max(largest / 64, 2.0) * scales)) + draw.integer(-1, 1)


def _parameters(draw: Draw) -> Callable[[Any, Any], tuple[str, str]]:
    """What makes tensors of scale and zero point: constants, in a few graphs inputs, with which a program computes."""
    is_constant = draw.chance(0.9)
    return lambda *pair: tuple(draw.net.tensor(each, is_constant=is_constant) for each in pair)


def _channels(draw: Draw) -> tuple[str, int, int, int]:
    """A kind of convolution: its name, groups, and the input and output channels of each."""
    match draw.integer(0, 3):
        case 0:
            return "depthwise", draw.integer(2, 40), 1, 1 if draw.chance(0.7) else 2
        case 1:
            return "grouped", draw.integer(2, 4), draw.integer(1, 9), draw.integer(1, 9)
        case _:
            return "plain", 1, draw.integer(1, 40), draw.integer(1, 40)


def qlinear_conv(draw: Draw) -> Graph:
    kind, groups, inputs, outputs = _channels(draw)
    rank = int(draw.rng.choice([1, 2, 2, 2, 2, 2, 3]))
    most = 3 if rank == 3 else 5
    kernel = [draw.integer(1, most) for _ in range(rank)]
    if draw.chance(0.2):
        kernel = [1] * rank
    strides, dilations = ([draw.integer(1, 3) if draw.chance(0.5) else 1 for _ in range(rank)] for _ in range(2))
    pads = [draw.integer(0, taps) if draw.chance(0.7) else 0 for taps in kernel * 2]
    sizes = [
        max((taps - 1) * step + 1 - pads[axis] - pads[axis + rank], 1) + draw.integer(0, 8)
        for axis, (taps, step) in enumerate(zip(kernel, dilations, strict=True))
    ]
    scales = _Scales(draw, has_ties=draw.chance(0.5))
    near = scales.has_ties and draw.chance(0.5)
    x = _Operand.of(draw, (draw.integer(1, 2), groups * inputs, *sizes), scales.operand(-5), near=near)
    channels, dtype = groups * outputs, draw.kind()
    w_scale = scales.operand(-6, channels if draw.chance(0.5) else None)
    w_zero_point = _zero_point(draw, dtype) if draw.chance(0.7) else dtype(128 if dtype is np.uint8 else 0)
    shape = channels, inputs, *kernel
    w = _near(draw, w_zero_point, *shape) if near else _stored(draw, dtype, *shape)
    largest = 1 << draw.integer(28, 30) if draw.chance(0.15) else 9999
    bias = draw.rng.integers(-largest, largest, channels).astype(np.int32) if draw.chance(0.5) else None
    factors = _spread(x.data.dtype, x.data, x.zero_point) * _spread(dtype, w, w_zero_point)
    exponent = _result_exponent(
        draw, inputs * math.prod(kernel), factors, float(x.scale) * float(np.mean(w_scale)), bias
    )
    net, parameters, y_dtype = draw.net, _parameters(draw), draw.kind()
    y = net.node(
        "QLinearConv",
        net.input(x.data), *parameters(x.scale, x.zero_point), net.tensor(w, is_constant=draw.chance(0.85)),
        # ONNX Runtime takes one zero point for all channels.
        *parameters(w_scale, np.full(w_scale.shape, w_zero_point, dtype)),
        *parameters(scales.result(exponent), _zero_point(draw, y_dtype)),
        *([] if bias is None else [net.constant(bias)]),
        group=groups, kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads,
    )  # fmt: skip
    return _imported(draw, y, f"{kind} QLinearConv")


def qlinear_matmul(draw: Draw) -> Graph:
    rows, columns = draw.integer(1, 20), draw.integer(1, 40)
    terms = draw.integer(300, 700) if draw.chance(0.15) else draw.integer(1, 100)
    batch = [draw.integer(1, 3) for _ in range(draw.integer(0, 2))]
    dtype, is_batched = draw.kind(), draw.chance(0.5)
    scales = _Scales(draw, has_ties=draw.chance(0.5))
    near = scales.has_ties and draw.chance(0.5)
    a = _Operand.of(draw, (*batch, rows, terms), scales.operand(-5), near=near)
    shape = *(batch if is_batched else []), terms, columns
    by_column = len(shape) == 2 and draw.chance(0.6)
    b_scale = scales.operand(-6, columns if by_column else None)
    b_zero_point = np.asarray(_zero_point(draw, dtype))
    if by_column:
        b_zero_point = draw.integers(dtype, columns) if draw.chance(0.5) else np.full(columns, b_zero_point)
    b = _near(draw, b_zero_point, *shape) if near else _stored(draw, dtype, *shape)
    factors = _spread(a.data.dtype, a.data, a.zero_point) * _spread(dtype, b, b_zero_point)
    exponent = _result_exponent(draw, terms, factors, float(a.scale) * float(np.mean(b_scale)), None)
    net, parameters, y_dtype = draw.net, _parameters(draw), draw.kind()
    y = net.node(
        "QLinearMatMul",
        net.input(a.data), *parameters(a.scale, a.zero_point),
        net.tensor(b, is_constant=draw.chance(0.7)), *parameters(b_scale, b_zero_point),
        *parameters(scales.result(exponent), _zero_point(draw, y_dtype)),
    )  # fmt: skip
    return _imported(draw, y, "batched QLinearMatMul" if b.ndim > 2 else "QLinearMatMul")


# Sums, products and means


def _imported(draw: Draw, y: str, name: str) -> Graph:
    """One model for both sides."""
    model = draw.net.model(y)
    return Graph(model, model, draw.net.feeds, name)


def _qdq(draw: Draw, op_type: str, operands: Sequence[_Operand], y: _Operand, **attributes: Any) -> ModelProto:
    """A float operator between casts; the net of `draw` has the inputs."""
    net = draw.net
    reals = [
        net.node("DequantizeLinear", net.input(each.data), net.constant(each.scale), net.constant(each.zero_point))
        for each in operands
    ]
    result = net.node(op_type, *reals, **attributes)
    return net.model(net.node("QuantizeLinear", result, net.constant(y.scale), net.constant(y.zero_point)))


def _own(op_type: str, operands: Sequence[_Operand], y: _Operand, **attributes: Any) -> ModelProto:
    """The same as one operator of ONNX Runtime's own."""
    net = Net()
    names = [
        name
        for each in operands
        for name in (net.input(each.data), net.constant(each.scale), net.constant(each.zero_point))
    ]
    parameters = net.constant(y.scale), net.constant(y.zero_point)
    model = net.model(net.node(op_type, *names, *parameters, domain=MICROSOFT, **attributes))
    model.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    return model


def _result(draw: Draw, scale: np.ndarray, *, even: bool) -> _Operand:
    """The parameters of a result, which has no data."""
    return _Operand(np.empty(0), scale, _zero_point(draw, draw.kind(), even=even))


def _shapes(draw: Draw) -> tuple[list[int], list[int]]:
    """Two shapes, in half of the cases with something to broadcast."""
    left = [draw.integer(1, 9) for _ in range(draw.integer(1, 4))]
    if draw.chance(0.1):
        left = [draw.integer(100, 600)]
    right = list(left)
    if draw.chance(0.5):
        right = [1 if draw.chance(0.5) else size for size in left][draw.integer(0, len(left)) :]
    return (left, right) if draw.chance(0.7) else (right, left)


def _binary(draw: Draw, op_type: str, *, own: bool, scales: Sequence[np.ndarray]) -> Graph:
    shapes = _shapes(draw)
    operands = [_Operand.of(draw, shape, scale) for shape, scale in zip(shapes, scales[:2], strict=True)]
    y = _result(draw, scales[2], even=own)
    ours = _qdq(draw, op_type, operands, y)
    theirs = _own(f"QLinear{op_type}", operands, y) if own else ours
    broadcast = "" if shapes[0] == shapes[1] else ", broadcast"
    return Graph(ours, theirs, draw.net.feeds, f"{'QLinear' if own else ''}{op_type}{broadcast}")


def add(draw: Draw) -> Graph:
    """Power-of-two scales through QLinearAdd, different ones through QDQ."""
    if draw.chance(0.5):
        return _binary(draw, "Add", own=True, scales=[_power_of_two(draw) for _ in range(3)])
    left, right = draw.any_scale(-1), draw.any_scale(0)
    if left == right:
        right = np.asarray(3 * right, np.float32)
    op_type = "Add" if draw.chance(0.5) else "Sub"
    return _binary(draw, op_type, own=False, scales=[left, right, draw.any_scale(1)])


def mul(draw: Draw) -> Graph:
    """Any scales through QLinearMul, power-of-two scales through QDQ."""
    if draw.chance(0.5):
        scales = [draw.any_scale(-4), draw.any_scale(-3), draw.any_scale(-1)]
        return _binary(draw, "Mul", own=True, scales=scales)
    return _binary(draw, "Mul", own=False, scales=[*(_power_of_two(draw) for _ in "ab"), np.asarray(64, np.float32)])


def _image(draw: Draw) -> list[int]:
    return [draw.integer(1, 2), draw.integer(1, 40), draw.integer(5, 12), draw.integer(5, 12)]


def average_pool(draw: Draw) -> Graph:
    """Counts that are powers of two, and such scales, make every float step exact."""
    kernel = [int(draw.rng.choice([1, 2, 4])) for _ in range(2)]
    counts_padding = draw.chance(0.5)
    pads = [
        draw.integer(0, taps - 1) if counts_padding or taps == 2 else 0  # counts of 3 otherwise
        for taps in kernel * 2
    ]
    attributes = {
        "kernel_shape": kernel, "strides": [draw.integer(1, 3) for _ in range(2)], "pads": pads,
        "count_include_pad": int(counts_padding),
    }  # fmt: skip
    own = draw.chance(0.5)
    operands = [_Operand.of(draw, _image(draw), _power_of_two(draw))]
    y = _result(draw, np.asarray(operands[0].scale * 2.0 ** draw.integer(-2, 1), np.float32), even=own)
    ours = _qdq(draw, "AveragePool", operands, y, **attributes)
    theirs = _own("QLinearAveragePool", operands, y, **attributes) if own else ours
    return Graph(ours, theirs, draw.net.feeds, f"{'QLinear' if own else ''}AveragePool")


def global_average_pool(draw: Draw) -> Graph:
    """Any scales."""
    operands = [_Operand.of(draw, _image(draw), draw.any_scale(0))]
    y = _result(draw, draw.any_scale(-2), even=False)
    ours = _qdq(draw, "GlobalAveragePool", operands, y)
    return Graph(ours, _own("QLinearGlobalAveragePool", operands, y), draw.net.feeds, "QLinearGlobalAveragePool")


def max_pool(draw: Draw) -> Graph:
    """On stored integers, or between casts of one scale and zero point."""
    kernel = [draw.integer(1, 5) for _ in range(2)]
    attributes = {
        "kernel_shape": kernel, "strides": [draw.integer(1, 3) for _ in range(2)],
        "pads": [draw.integer(0, taps - 1) for taps in kernel * 2], "ceil_mode": int(draw.chance(0.4)),
    }  # fmt: skip
    x = _Operand.of(draw, _image(draw), _power_of_two(draw))
    if draw.chance(0.5):
        return _imported(draw, draw.net.node("MaxPool", draw.net.input(x.data), **attributes), "MaxPool")
    model = _qdq(draw, "MaxPool", [x], x, **attributes)
    return Graph(model, model, draw.net.feeds, "MaxPool between casts")


FAMILIES: dict[Callable[[Draw], Graph], int] = {
    qlinear_conv: 100, qlinear_matmul: 60, add: 40, mul: 24, average_pool: 24, global_average_pool: 16, max_pool: 24,
}  # fmt: skip

CASES = [(family, number) for family, count in FAMILIES.items() for number in range(count)]


@cache
def _graph(family: Callable[[Draw], Graph], number: int) -> Graph:
    return family(Draw(np.random.default_rng([number, 5])))


def _expected(graph: Graph) -> np.ndarray:
    """What ONNX Runtime makes of the unsigned twin."""
    (result,) = run_twin(graph.theirs, graph.feeds)
    return result


def _module(graph: Graph) -> ModuleOp:
    """Our module, its casts taken into the operator; nothing else computes where parameters are constants."""
    module, environment = qmlir.load(graph.ours), default_environment()
    PassManager(environment.new_context(), parse_pipeline(FUSE, environment.passes)).run(module)
    if any(node.op_type == "QuantizeLinear" for node in graph.ours.graph.node):
        computing = [op.name for op in module.walk() if isinstance(op, NnOp) and not isinstance(op, CastOp)]
        assert len(computing) == 1, computing
    return module


@pytest.mark.parametrize(("family", "number"), of_families(FAMILIES))
def test_graph(family: Callable[[Draw], Graph], number: int) -> None:
    graph = _graph(family, number)
    isa = OTHERS[number // 4 % len(OTHERS)] if OTHERS and number % 4 == 3 else "host"
    (found,) = qmlir.compile(_module(graph), isa=isa, codegen="llvm")(graph.feeds).values()
    np.testing.assert_array_equal(as_unsigned(found), _expected(graph), err_msg=f"{graph.name} for {isa}", strict=True)


def test_graphs_vary() -> None:
    """Enough of them for this machine's best instruction set, of every kind; results that are mostly not saturated."""
    graphs = [_graph(*case) for case in CASES]
    assert sum(number % 4 != 3 for _, number in CASES) >= 200
    assert min(Counter(graph.name for graph in graphs).values()) >= 3
    inside = [np.mean((found > 0) & (found < 255)) for found in map(_expected, graphs)]
    assert np.mean(inside) > 0.5
    assert np.mean(np.asarray(inside) > 0.1) > 0.75
