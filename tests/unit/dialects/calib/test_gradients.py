"""Fake quantization and its gradients against the formulas of the papers, written for one value at a time."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import (
    BoolAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    f32,
    f64,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

import qmlir
from qmlir.dialects.calib.ops import METHODS, FakeQuantOp, RowNormOp
from tests.support.gradients import gradients_of

Result = tuple[float, float, tuple[float, ...]]
"""The quantized value, its derivative by `x`, and by each parameter."""


def tqt(x: float, n: int, p: int, bits: int, t: float) -> Result:
    s = 2.0 ** math.ceil(t) / 2.0 ** (bits - (n < 0))
    r = round(x / s)
    inside = n <= r <= p
    return min(max(r, n), p) * s, inside, (s * math.log(2) * (r - x / s if inside else n if r < n else p),)


def lsq(x: float, n: int, p: int, bits: int, s: float) -> Result:
    v = x / s
    slope = n if v <= n else p if v >= p else round(v) - v
    return min(max(round(v), n), p) * s, n < v < p, (slope,)


def lsq_plus(x: float, n: int, p: int, bits: int, s: float, offset: float) -> Result:
    y, inside, (slope,) = lsq(x - offset, n, p, bits, s)
    return y + offset, inside, (slope, not inside)


def pact(x: float, n: int, p: int, bits: int, limit: float) -> Result:
    s = limit / p
    return min(max(round(x / s), 0), p) * s, 0 <= x < limit, (x >= limit,)


def affine(x: float, n: int, p: int, bits: int, s: float, zero: float) -> Result:
    z = min(max(round(zero), n), p)
    q = round(x / s) + z
    inside, limit = n <= q <= p, n if q < n else p
    slopes = (round(x / s) - x / s, 0.0) if inside else (limit - z, -s)
    return (min(max(q, n), p) - z) * s, inside, slopes


def limits(x: float, n: int, p: int, bits: int, low: float, high: float) -> Result:
    least, most = min(low, 0.0), max(high, 0.0)
    s = (most - least) / (p - n)
    y, inside, (of_scale, of_zero) = affine(x, n, p, bits, s, n - least / s)
    # s' = (1 by the maximum, -1 by the minimum) / (p - n); z' = -least' / s + least / s^2 s'
    by_scale = (of_scale + of_zero * least / s**2) / (p - n)
    return y, inside, ((-by_scale - of_zero / s) * (low <= 0), by_scale * (high >= 0))


FORMULAS: dict[str, Callable[..., Result]] = {
    "tqt": tqt, "lsq": lsq, "lsq_plus": lsq_plus, "pact": pact, "affine": affine, "range": limits,
}  # fmt: skip
RANGES = {
    "log2_threshold": (-1.0, 1.0), "scale": (0.1, 0.5), "offset": (-0.5, 0.5), "limit": (0.5, 2.0),
    "zero_point": (-3.0, 3.0), "minimum": (-2.0, 0.2), "maximum": (0.3, 2.0),
}  # fmt: skip


def _module(method: str, bits: int, signed: bool, axis: int | None, shape: tuple[int, ...]) -> ModuleOp:
    parameter = TensorType(f64, () if axis is None else (shape[axis],))
    block = Block(arg_types=[TensorType(f64, shape), *[parameter] * len(METHODS[method])])
    properties = {
        "method": StringAttr(method), "bits": IntegerAttr(bits, i64), "signed": BoolAttr.from_bool(signed),
    }  # fmt: skip
    if axis is not None:
        properties["axis"] = IntegerAttr(axis, i64)
    x, *parameters = block.args
    op = FakeQuantOp.build(operands=[[x], parameters], result_types=[x.type], properties=properties)
    block.add_ops([op, ReturnOp(op.result)])
    return ModuleOp([FuncOp("main", FunctionType.from_lists(block.arg_types, [x.type]), Region(block))])


@pytest.mark.parametrize("method", METHODS)
def test_formulas(method: str) -> None:
    random = np.random.default_rng(7)
    for draw in range(6):
        bits, signed, axis = int(random.integers(2, 5)), bool(draw % 2) and method != "pact", (None, 1)[draw // 2 % 2]
        module = _module(method, bits, signed, axis, (2, 3, 4))
        module.verify()
        x, g = random.uniform(-2, 2, (2, 3, 4)), random.uniform(-1, 1, (2, 3, 4))
        parameters = [random.uniform(*RANGES[name], () if axis is None else 3) for name in METHODS[method]]
        n, p = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        y, own, sums = np.zeros_like(x), np.zeros_like(x), [np.zeros_like(each) for each in parameters]
        # LSQ and LSQ+ weigh the gradients of parameters by the number of values that they are for.
        factor = 1 / math.sqrt(x.size / (1 if axis is None else 3) * p) if method.startswith("lsq") else 1.0
        for position in np.ndindex(x.shape):
            channel = () if axis is None else position[axis]
            y[position], own[position], slopes = FORMULAS[method](
                x[position], n, p, bits, *(float(each[channel]) for each in parameters)
            )
            for total, slope in zip(sums, slopes, strict=True):
                total[channel] += g[position] * slope * factor
        inputs = dict(zip([f"input{position}" for position in range(3)], [x, *parameters], strict=False))
        np.testing.assert_allclose(qmlir.interpret(module, inputs)["output0"], y, rtol=1e-12, atol=1e-12)
        found = gradients_of(module, inputs, {"output0": g})
        np.testing.assert_allclose(found["input0"], own * g, rtol=1e-12)
        for position, total in enumerate(sums, 1):
            np.testing.assert_allclose(found[f"input{position}"], total, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("is_centered", [True, False])
def test_row_norm(is_centered: bool) -> None:
    """What central differences say of the formula in f64; a scale as small as epsilon moves the root."""
    random, g = np.random.default_rng(7), np.random.default_rng(8).uniform(-1, 1, (3, 2, 4))
    d, s, epsilon = random.integers(-7, 8, (3, 2, 4)).astype(np.float64), 0.02, float(np.float32(1e-2))

    def normalized(d: npt.NDArray[np.float64], s: float) -> npt.NDArray[np.float64]:
        c = d - d.mean((1, 2), keepdims=True) if is_centered else d
        return c / np.sqrt((c * c).mean((1, 2), keepdims=True) + epsilon / s**2)

    block = Block(arg_types=[TensorType(f32, d.shape), TensorType(f32, ())])
    properties = {
        "axis": IntegerAttr(1, i64), "bits": IntegerAttr(4, i64), "epsilon": FloatAttr(epsilon, f32),
        "centred": BoolAttr.from_bool(is_centered),
    }  # fmt: skip
    op = RowNormOp.build(operands=list(block.args), result_types=[block.args[0].type], properties=properties)
    block.add_ops([op, ReturnOp(op.result)])
    module = ModuleOp([FuncOp("main", FunctionType.from_lists(block.arg_types, op.result_types), Region(block))])
    module.verify()
    inputs = {"input0": d.astype(np.float32), "input1": np.float32(s)}
    np.testing.assert_allclose(qmlir.interpret(module, inputs)["output0"], normalized(d, float(np.float32(s))), 1e-6)
    found = gradients_of(module, inputs, {"output0": g.astype(np.float32)})
    wanted = np.zeros_like(d)
    for position in np.ndindex(d.shape):
        step = np.zeros_like(d)
        step[position] = 1e-4
        wanted[position] = (g * (normalized(d + step, s) - normalized(d - step, s))).sum() / 2e-4
    np.testing.assert_allclose(found["input0"], wanted, rtol=1e-4, atol=1e-6)
    slope = (g * (normalized(d, s * 1.0001) - normalized(d, s * 0.9999))).sum() / (2e-4 * s)
    np.testing.assert_allclose(found["input1"], slope, rtol=1e-4)
