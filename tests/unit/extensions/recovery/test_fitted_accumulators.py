"""Weights whose sums fit in a width: every sum by formula, by enumeration and at random."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import ModelProto, numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.nn.accumulators import KnownOperands, partial_sum_limits
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction import ops
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.extensions.recovery.weight_rounding import AccumulatorGrid
from qmlir.ir.diagnostics import DiagnosticError
from tests.unit.dialects.nn.test_quantized_meaning import module_of, plain, tensor_text, uniform

Array = npt.NDArray[Any]


def ends(terms: Array, bias: int, low: int, high: int) -> tuple[int, int]:
    """The smallest and largest partial sums: terms of one sign only, for the data that makes them so."""
    products = [sorted((int(w) * low, int(w) * high, 0)) for w in terms]
    return sum(each[0] for each in products) + min(bias, 0), sum(each[2] for each in products) + max(bias, 0)


@given(st.data())
def test_the_nearest_codes_that_fit(data: st.DataObject) -> None:
    bits = data.draw(st.integers(4, 16))
    low, high = -data.draw(st.integers(0, 128)), data.draw(st.integers(0, 255))
    rows = data.draw(st.lists(st.lists(st.floats(-130, 130), min_size=5, max_size=5), min_size=1, max_size=3))
    step = data.draw(st.sampled_from([0.5, 1.0, 3.0]))
    room = 1 << (bits - 1)
    biases = np.array([step * data.draw(st.floats(-room / 2, room / 2)) for _ in rows])
    weights = np.array(rows)
    shape = weights.shape
    grid = AccumulatorGrid(
        np.full(shape, step), np.full(shape, -127.0), np.full(shape, 127.0), (low, high),
        np.minimum(biases, 0), np.maximum(biases, 0), bits,
    )  # fmt: skip
    plain_codes, codes = np.clip(np.rint(weights / step), -127, 127), grid.nearest(weights)
    for row, before, bias in zip(codes, plain_codes, biases, strict=True):
        own = round(bias / step)
        found, wanted = ends(row, own, low, high), ends(before, own, low, high)
        assert -room <= found[0]
        assert found[1] < room
        margin = 2 + abs(own) * 2**-19
        if -room + margin <= wanted[0] and wanted[1] < room - margin:
            np.testing.assert_array_equal(row, before)
        assert (np.abs(row) <= np.abs(before)).all()
        assert (row * before >= 0).all()


def test_the_limits_are_those_of_all_data_and_all_orders() -> None:
    x, w, y = uniform(3, 1.0, 1), uniform(4, 1.0, -2), uniform(32, 1.0)
    weights, bias = np.array([[5, -3, 2], [-4, 0, -8]], np.int8), np.array([4, -30], np.int32)
    operands = [tensor_text(shape, each) for shape, each in (((1, 3), x), ((2, 3), w))]
    module = module_of("nn.matmul {transpose_b = true}", operands, tensor_text((1, 2), y))
    (op,) = (op for op in module.walk() if isinstance(op, ops.MatMulOp))
    sums = {0}
    for data in itertools.product(range(-4, 4), repeat=3):
        for row, added in zip(plain(weights, w), bias, strict=True):
            terms = [int(added), *((each - 1) * code for each, code in zip(data, row, strict=True))]
            sums.update(sum(chosen) for n in range(5) for chosen in itertools.combinations(terms, n))
    assert partial_sum_limits(op, bias, KnownOperands(known=lambda _, value: weights)) == (min(sums), max(sums))


def net() -> ModelProto:
    random = np.random.default_rng(0)
    shapes = {"w1": (6, 4, 3, 3), "b1": (6,), "w2": (6, 1, 3, 3), "w3": (6, 5, 2, 2), "b3": (5,), "w4": (3, 180)}
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> net (float[1, 4, 5, 5] x) => (float[1, 3] y) {'
        " a = Conv <pads = [1, 1, 1, 1]> (x, w1, b1) r = Relu (a) d = Conv <group = 6, pads = [1, 1, 1, 1]> (r, w2)"
        " t = ConvTranspose (d, w3, b3) f = Flatten (t) y = Gemm <transB = 1> (f, w4) }"
    )
    arrays = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    return model


CONTRACTIONS = ops.ConvOp, ops.ConvTransposeOp, ops.FullyConnectedOp, ops.MatMulOp


def sums_of(module: ModuleOp) -> Iterator[list[tuple[Array, int, int, int]]]:
    """For each layer, the weights and the bias of each channel, with the limits of the data."""
    for op in module.walk():
        if not isinstance(op, CONTRACTIONS):
            continue
        x, w = (quantized_type(value) for value in op.operands[:2])
        weights, bias = (constant_array(value) for value in (op.operands[1], op.operands[-1]))
        assert x is not None
        assert w is not None
        assert weights is not None
        assert bias is not None
        axis = 1 if isinstance(op, ops.ConvTransposeOp) else 0
        rows = np.moveaxis(plain(weights, w), axis, 0).reshape(weights.shape[axis], -1)
        added = bias if len(op.operands) > 2 else np.zeros(len(rows), int)
        limits = x.storage_min - x.zero_point, x.storage_max - x.zero_point
        yield [(row, int(own), *limits) for row, own in zip(rows, added, strict=True)]


def overflows(channel: tuple[Array, int, int, int], bits: int) -> bool:
    least, most = ends(*channel)
    return least < -(1 << (bits - 1)) or most >= 1 << (bits - 1)


@pytest.mark.parametrize(("scheme", "count"), [("asymmetric", 3), ("symmetric_pow2", 3), ("symmetric", 20)])
@pytest.mark.parametrize("bits", [17, 28])
def test_no_sum_of_a_network_overflows(bits: int, scheme: str, count: int) -> None:
    """With few samples weights decide, with more the products; either way with the bias that is stored in the end."""
    random = np.random.default_rng(1)
    samples = [{"x": random.normal(size=(1, 4, 5, 5)).astype(np.float32)} for _ in range(count)]
    settings: dict[str, Any] = {
        "scheme": scheme, "weight_scheme": "symmetric_pow2" if "pow2" in scheme else "symmetric", "validate": False,
    }  # fmt: skip
    unchanged = qmlir.quantize(qmlir.load(net()), samples, effort=0, **settings).module
    found = qmlir.quantize(qmlir.load(net()), samples, accumulator_bits=bits, **settings)
    layers = list(sums_of(found.module))
    assert len(layers) == 4
    for channel in itertools.chain(*layers):
        assert not overflows(channel, bits)
        row, bias, low, high = channel
        least, most = ends(*channel)
        terms = [*(row * random.integers(low, high + 1, len(row))), bias]
        sums = np.cumsum(random.permutation(np.array(terms, np.int64)))
        assert least <= sums.min()
        assert sums.max() <= most
    changed = sum(any(overflows(channel, bits) for channel in layer) for layer in sums_of(unchanged))
    assert (changed > 0) == (bits == 17)
    assert f"{bits}-bit accumulators hold every sum: weights of {changed} of 4 layers changed" in found.text()
    assert found.summary().to_dict()["accumulators"] == {"bits": bits, "layers": 4, "changed": changed}
    assert (found.repair is not None) == (count == 20)
    if found.repair is not None:
        fit = f"quant-fit-accumulators{{bits={bits}}}"  # again after the biases have changed
        assert found.repair.passes == f"{fit},quant-correct-bias,{fit}"
    if not changed:
        again = qmlir.quantize(qmlir.load(net()), samples, effort=0, accumulator_bits=bits, **settings).module
        expected = qmlir.interpret(unchanged, samples[0])["y"]
        np.testing.assert_array_equal(qmlir.interpret(again, samples[0])["y"], expected)


def test_ordinary_kernels_compute_the_sums() -> None:
    random = np.random.default_rng(1)
    samples = [{"x": random.normal(size=(1, 4, 5, 5)).astype(np.float32)} for _ in range(2)]
    module = qmlir.quantize(qmlir.load(net()), samples, accumulator_bits=18, validate=False).module
    expected = qmlir.interpret(module, samples[1])["y"]
    np.testing.assert_array_equal(qmlir.compile(module, codegen="llvm")(samples[1])["y"], expected)


def test_a_bias_that_no_weights_make_room_for() -> None:
    model = net()
    model.graph.initializer[1].CopyFrom(numpy_helper.from_array(np.full(6, 1e6, np.float32), "b1"))
    samples = [{"x": np.random.default_rng(1).normal(size=(1, 4, 5, 5)).astype(np.float32)}]
    message = r"'nn.conv' op \(.*\) has sums in \[.*\], which overflow a 17-bit accumulator with any weights"
    with pytest.raises(DiagnosticError, match=message):
        qmlir.quantize(qmlir.load(model), samples, accumulator_bits=17, validate=False)
