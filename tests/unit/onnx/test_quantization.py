"""Importing quantization: what becomes a type, what stays arithmetic, and that both give the integers of the formula.

Expected numbers come from the contract `saturate(round_half_even(f32(x) / f32(s)) + z)`, `f32(s) * (q - z)`, written
out here in NumPy, and from hand.
"""

from functools import partial
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, defs, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.onnx.ports import onnx_type
from qmlir.targets.runtimes.onnx_runtime import PACKAGE, OrtOptions, OrtSession
from qmlir.targets.runtimes.packages import is_installed
from tests.support.nets import Net, held, node_model

LIMITS: dict[Any, tuple[int, int]] = {
    np.int8: (-128, 127),
    np.uint8: (0, 255),
    np.int16: (-32768, 32767),
    np.uint16: (0, 65535),
    ml_dtypes.int4: (-8, 7),
    ml_dtypes.uint4: (0, 15),
    ml_dtypes.int2: (-2, 1),
    ml_dtypes.uint2: (0, 3),
}
PACKED = {
    TensorProto.INT4: (-8, 7),
    TensorProto.UINT4: (0, 15),
    TensorProto.INT2: (-2, 1),
    TensorProto.UINT2: (0, 3),
}


def names(module: ModuleOp) -> list[str]:
    """The operations of `@main`, its return left out."""
    return [op.name for op in module.walk() if op.name not in ("builtin.module", "func.func", "func.return")]


def quantized(x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray, limits: tuple[int, int]) -> np.ndarray:
    return np.clip(np.rint(x.astype(np.float32) / scale).astype(np.float64) + zero_point, *limits).astype(np.int64)


# Packed initializers


@settings(max_examples=60)
@given(data=st.data(), kind=st.sampled_from(sorted(PACKED)), is_raw=st.booleans(), is_symmetric=st.booleans())
def test_packed_weights(data: st.DataObject, kind: int, is_raw: bool, is_symmetric: bool) -> None:
    """Elements of 2 and 4 bits, in any number, in the bytes of the tensor or in its list: each comes back."""
    low, high = PACKED[kind]
    stored = data.draw(st.lists(st.integers(low, high), min_size=1, max_size=9))
    zero_point = 0 if is_symmetric else data.draw(st.integers(low, high))
    net = Net(opset=25)
    bits = 2 if kind in (TensorProto.INT2, TensorProto.UINT2) else 4
    if is_raw:
        fields = [value & ((1 << bits) - 1) for value in stored]
        fields += [0] * (-len(fields) % (8 // bits))
        groups = zip(*[iter(fields)] * (8 // bits), strict=True)
        packed = bytes(sum(value << bits * position for position, value in enumerate(group)) for group in groups)
        net.initializers.append(helper.make_tensor("w", kind, [len(stored)], packed, raw=True))
    else:
        net.initializers.append(helper.make_tensor("w", kind, [len(stored)], stored))
    net.initializers.append(helper.make_tensor("z", kind, [], [zero_point]))
    y = net.node("DequantizeLinear", "w", net.constant(np.float32(0.5)), "z")
    module = qmlir.load(net.model(y))
    assert names(module) == ["nn.constant", "quant.dcast"]
    np.testing.assert_array_equal(
        qmlir.interpret(module)[y], np.float32(0.5) * (np.array(stored, np.float32) - zero_point)
    )


# One scale, one for each index, one for each block: in types and at run time


@settings(max_examples=120)
@given(
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from(list(LIMITS)),
    granularity=st.sampled_from(["tensor", "axis", "block", "odd_block"]),
    is_constant=st.booleans(),
)
def test_quantize_and_dequantize(seed: int, dtype: Any, granularity: str, is_constant: bool) -> None:
    rng = np.random.default_rng(seed)
    shape, axis = (2, 6, 3), int(rng.integers(-3, 3))
    block = {"block": 1 + int(rng.integers(0, 2)), "odd_block": 4}.get(granularity, 0)
    size = shape[axis]
    if granularity == "tensor":
        counts: tuple[int, ...] = ((), (1,))[int(rng.integers(0, 2))]
    elif granularity == "axis":
        counts = (size,)
    else:
        counts = tuple(-(-n // block) if position == axis % 3 else n for position, n in enumerate(shape))
    # Odd multiples of powers of two make ties.
    scale = (rng.choice([1, 3, 5], counts) * 2.0 ** rng.integers(-3, 1, counts)).astype(np.float32)
    limits = LIMITS[dtype]
    zero_point = rng.integers(limits[0], limits[1] + 1, counts)
    x = (rng.integers(-60, 61, shape) / 4).astype(np.float32)
    net = Net(opset=25)
    given_scale = net.tensor(scale, is_constant=is_constant)
    given_zero_point = net.tensor(zero_point.astype(dtype), is_constant=is_constant)
    attributes = {"axis": axis, "block_size": block} if block else {"axis": axis}
    q = net.node("QuantizeLinear", net.input(x), given_scale, given_zero_point, **attributes)
    y = net.node("DequantizeLinear", q, given_scale, given_zero_point, **attributes)
    module = qmlir.load(net.model(q, y))
    is_typed = is_constant and (not block or size % block == 0 or size < block)
    if is_typed:
        assert names(module) == ["quant.qcast", "quant.dcast"]
    else:
        assert not any(name.startswith("quant") for name in names(module))
    found = qmlir.interpret(module, {name: held(array) for name, array in net.feeds.items()})

    def spread(parameter: np.ndarray) -> np.ndarray:
        if parameter.size == 1:
            return parameter.reshape(())
        if block:
            return np.repeat(parameter, block, axis).take(range(size), axis)
        return parameter.reshape([size if position == axis % 3 else 1 for position in range(3)])

    expected = quantized(x, spread(scale), spread(zero_point), limits)
    np.testing.assert_array_equal(found[q].astype(np.int64), expected)
    np.testing.assert_array_equal(found[y], spread(scale) * (expected - spread(zero_point)).astype(np.float32))
    assert found[y].dtype == np.float32


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision(dtype: Any, is_constant: bool) -> None:
    """f16 and bf16 are divided and multiplied in f32, and the product is rounded once."""
    net = Net(opset=25)
    x = np.array([-3.0, 0.1, 0.75, 100.0], dtype)
    scale, zero_point = np.array(0.3, dtype), np.uint8(3)
    given_scale = net.tensor(scale, is_constant=is_constant)
    given_zero_point = net.tensor(zero_point, is_constant=is_constant)
    q = net.node("QuantizeLinear", net.input(x), given_scale, given_zero_point)
    y = net.node("DequantizeLinear", q, given_scale, given_zero_point)
    stored, reals = net.run(q, y)
    expected = quantized(x, scale.astype(np.float32), np.int64(3), (0, 255))
    np.testing.assert_array_equal(stored, expected)
    assert reals.dtype == dtype
    np.testing.assert_array_equal(reals, (scale.astype(np.float32) * (expected - 3).astype(np.float32)).astype(dtype))


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize(
    ("x", "scale", "attributes", "expected"),
    [
        # 2049 is not an f16: it is 2048 where the division is in f16.
        (np.float32([2049.0]), np.float32(1.0), {}, [2049]),
        (np.float32([2049.0]), np.float16(1.0), {}, [2048]),
        (np.float32([2049.0]), np.float16(1.0), {"precision": TensorProto.FLOAT}, [2049]),
        (np.float32([2049.0]), np.float32(1.0), {"precision": TensorProto.FLOAT16}, [2048]),
        (np.int32([7, -5]), np.float32(2.0), {}, [4, -2]),
    ],
    ids=["f32", "f16 scale", "f32 precision", "f16 precision", "integers"],
)
def test_precision(x: Any, scale: Any, attributes: dict[str, int], expected: list[int], is_constant: bool) -> None:
    net = Net(opset=23)
    attributes = {"output_dtype": TensorProto.INT16, **attributes}
    given_scale = net.tensor(scale, is_constant=is_constant)
    (found,) = net.run(net.node("QuantizeLinear", net.input(x), given_scale, **attributes))
    np.testing.assert_array_equal(found, np.int16(expected))


@pytest.mark.parametrize("is_constant", [True, False])
def test_output_type_of_dequantize(is_constant: bool) -> None:
    net = Net(opset=23)
    scale = net.tensor(np.float32(0.25), is_constant=is_constant)
    y = net.node("DequantizeLinear", net.input(np.int8([-3, 5])), scale, output_dtype=TensorProto.FLOAT16)
    np.testing.assert_array_equal(net.run(y)[0], np.float16([-0.75, 1.25]), strict=True)


@pytest.mark.parametrize("is_constant", [True, False])
def test_dequantize_int32(is_constant: bool) -> None:
    """32 bits are converted to f32 with one rounding, and the zero point may be anywhere."""
    net = Net(opset=23)
    x = np.int32([2**31 - 1, -(2**31), 2**24 + 1])
    scale, zero_point = (net.tensor(each, is_constant=is_constant) for each in (np.float32(0.5), np.int32(-2)))
    y = net.node("DequantizeLinear", net.input(x), scale, zero_point)
    np.testing.assert_array_equal(net.run(y)[0], np.float32(0.5) * (x.astype(np.int64) + 2).astype(np.float32))


@pytest.mark.parametrize("is_constant", [True, False])
def test_a_vector_needs_no_axis(is_constant: bool) -> None:
    """The default axis is 1, which a vector does not have."""
    net = Net(opset=13)
    scale = net.tensor(np.float32([1, 2, 4]), is_constant=is_constant)
    (found,) = net.run(net.node("QuantizeLinear", net.input(np.float32([3, 3, 3])), scale))
    np.testing.assert_array_equal(found, np.uint8([3, 2, 1]))  # 3 / 2 = 1.5 is rounded to even


def test_the_default_is_uint8() -> None:
    net = Net(opset=10)
    module = qmlir.load(net.model(net.node("QuantizeLinear", net.input(np.float32([1])), net.constant(np.float32(2)))))
    assert "!quant.uniform<u8:f32, 2.0" in str(module)


# Structure


def quantize(net: Net, value: str, scale: float, zero_point: int = 0) -> str:
    return net.node("QuantizeLinear", value, net.constant(np.float32(scale)), net.constant(np.int8(zero_point)))


def dequantize(net: Net, value: str, scale: float, zero_point: Any = 0) -> str:
    return net.node("DequantizeLinear", value, net.constant(np.float32(scale)), net.constant(np.int8(zero_point)))


def test_equal_types_meet_without_a_cast() -> None:
    net = Net()
    y = dequantize(net, quantize(net, net.input(np.float32([1])), 0.5, 3), 0.5, 3)
    assert names(qmlir.load(net.model(y))) == ["quant.qcast", "quant.dcast"]


def test_other_parameters_read_the_same_integers() -> None:
    net = Net()
    y = dequantize(net, quantize(net, net.input(np.float32([1])), 0.5, 3), 0.25)
    assert names(qmlir.load(net.model(y))) == ["quant.qcast", "quant.scast", "quant.scast", "quant.dcast"]
    np.testing.assert_array_equal(net.run(y)[0], np.float32([1.25]))


def test_given_integers_are_taken_as_quantized() -> None:
    net = Net()
    signed, unsigned = net.input(np.int8([1, -1])), net.input(np.uint8([1, 255]))
    scale, zero_point = net.constant(np.float32(0.5)), net.constant(np.uint8(1))
    y = net.node("DequantizeLinear", signed, scale)
    z = net.node("DequantizeLinear", unsigned, scale, zero_point)
    assert names(qmlir.load(net.model(y))) == ["quant.scast", "quant.dcast"]
    assert names(qmlir.load(net.model(z))) == ["nn.cast", "quant.scast", "quant.dcast"]
    for found, expected in zip(net.run(y, z), ([0.5, -0.5], [0, 127]), strict=True):
        np.testing.assert_array_equal(found, np.float32(expected))


def test_weights_shared_by_two_nodes_are_one_constant() -> None:
    net = Net()
    w = net.constant(np.int8([1, 2]))
    both = [dequantize(net, w, 0.5), dequantize(net, w, 0.5), dequantize(net, w, 0.25)]
    assert sorted(names(qmlir.load(net.model(*both)))) == ["nn.constant"] * 2 + ["quant.dcast"] * 3


def test_movement_keeps_the_parameters() -> None:
    net = Net()
    moved = net.node("Transpose", quantize(net, net.input(np.zeros((2, 3), np.float32)), 0.5), perm=[1, 0])
    assert names(qmlir.load(net.model(dequantize(net, moved, 0.5)))) == ["quant.qcast", "nn.transpose", "quant.dcast"]


def test_integers_of_other_parameters_are_joined_as_integers() -> None:
    """ONNX joins integers, whatever they stand for."""
    net = Net()
    x = net.input(np.float32([1, 2]))
    joined = net.node("Concat", quantize(net, x, 0.5), quantize(net, x, 0.25), axis=0)
    module = qmlir.load(net.model(joined))
    assert names(module) == ["quant.qcast", "quant.qcast", "quant.scast", "quant.scast", "nn.concat"]
    np.testing.assert_array_equal(net.run(joined)[0], np.int8([2, 4, 4, 8]))


def test_an_axis_that_is_lost_leaves_integers() -> None:
    """No type holds a scale for each index of an axis that is gone."""
    net = Net()
    scale, zero_point = net.constant(np.float32([1, 2, 4])), net.constant(np.int8([0, 1, 2]))
    q = net.node("QuantizeLinear", net.input(np.float32([[4, 4, 4], [8, 8, 8]])), scale, zero_point)
    flat = net.node("Reshape", q, net.constant(np.int64([6])))
    assert names(qmlir.load(net.model(flat))) == ["quant.qcast", "quant.scast", "nn.reshape"]
    np.testing.assert_array_equal(net.run(flat)[0], np.int8([4, 3, 3, 8, 5, 4]))


def test_what_fits_neither_way_is_an_error() -> None:
    net = Net()
    q = quantize(net, net.input(np.zeros((2, 3), np.float32)), 0.5)
    with pytest.raises(DiagnosticError, match=r"Reshape node 'Reshape1': cannot reshape \[2, 3\] \(6 elements\)"):
        qmlir.load(net.model(net.node("Reshape", q, net.constant(np.int64([4])))))


def test_sizes_that_are_not_known() -> None:
    """Both forms take sizes that only a run tells; blocks need theirs."""
    for is_constant in (True, False):
        net = Net(opset=25)
        x = net.input(np.float32([[1, 2], [3, 4], [5, 6]]), ["n", "m"])
        scale = net.tensor(np.float32([0.5, 1]), is_constant=is_constant)
        q = net.node("QuantizeLinear", x, scale, axis=1)
        np.testing.assert_array_equal(net.run(q)[0], np.uint8([[2, 2], [6, 4], [10, 6]]))
    blocks = net.node("QuantizeLinear", x, net.input(np.ones((3, 2), np.float32)), block_size=2)
    with pytest.raises(
        DiagnosticError, match="blocks along axis 1 require a static size; fix the shape of the input with --shape"
    ):
        qmlir.load(net.model(blocks), fallback=False)


def test_onnx_type_of_a_quantized_value() -> None:
    """ONNX's own rules see the integers that a value stores."""
    net = Net()
    scale, zero_point = net.constant(np.float32(1)), net.constant(np.uint8(0))
    module = qmlir.load(
        net.model(net.node("QuantizeLinear", net.input(np.zeros((2, 3), np.float32)), scale, zero_point))
    )
    (cast,) = (op for op in module.walk() if op.name == "quant.qcast")
    expected = helper.make_tensor_type_proto(TensorProto.UINT8, [2, 3])
    assert onnx_type(cast.results[0]) == expected


def test_arithmetic_on_quantized_values_is_on_their_integers() -> None:
    net = Net()
    total = net.node("Add", *[quantize(net, net.input(np.float32([1, 2])), 0.5)] * 2)
    np.testing.assert_array_equal(net.run(total)[0], np.int8([4, 8]))


def test_a_scale_that_the_run_finds_to_be_0() -> None:
    """Division by 0 saturates, as IEEE has it."""
    net = Net()
    x, zero = net.input(np.float32([1, -1])), net.input(np.float32(0))
    q = net.node("QuantizeLinear", x, zero, net.constant(np.int8(0)))
    np.testing.assert_array_equal(net.run(q)[0], np.int8([127, -128]))


@pytest.mark.parametrize("wrong", [-0.5, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("position", [0, 1])
def test_a_scale_that_is_no_scale(wrong: float, position: int) -> None:
    """Whichever node reads it, and wherever it stands among the scales of an axis."""
    scales = np.float32([0.5, 0.5])
    scales[position] = wrong
    x = np.zeros((1, 2, 1, 1), np.uint8)
    w, one, zero = np.zeros((2, 2, 1, 1), np.int8), np.float32(1), np.uint8(0)
    nodes: dict[str, list[Any]] = {
        "QuantizeLinear": [x.astype(np.float32), scales],
        "DequantizeLinear": [x, scales],
        "QLinearConv": [x, one, zero, w, scales, np.int8(0), one, zero],
    }
    for op_type, values in nodes.items():
        net = Net()
        given = [net.tensor(value, is_constant=count > 0) for count, value in enumerate(values)]
        model = net.model(net.node(op_type, *given))
        with pytest.raises(DiagnosticError, match=f"{op_type} node .*scales must be finite and not negative, but got"):
            qmlir.load(model)


@pytest.mark.parametrize("op_type", ["QLinearConv", "QLinearMatMul"])
def test_the_scale_of_a_result_is_above_zero(op_type: str) -> None:
    integers = np.zeros((2, 2, 1, 1) if op_type == "QLinearConv" else (2, 2), np.uint8)
    one, zero = np.float32(1), np.uint8(0)
    net = Net()
    given = map(net.constant, (one, zero, integers, one, zero, np.float32(0), zero))
    model = net.model(net.node(op_type, net.input(integers), *given))
    with pytest.raises(DiagnosticError, match=r"scales must be finite and above 0, but got 0\.0"):
        qmlir.load(model)


def test_zero_points_of_another_shape() -> None:
    net = Net()
    given = [net.constant(value) for value in (np.float32([0.5, 1]), np.int8(0))]
    with pytest.raises(DiagnosticError, match=r"zero point and scale must have the same shape, but got \[\] and \[2\]"):
        qmlir.load(net.model(net.node("QuantizeLinear", net.input(np.zeros((3, 2), np.float32)), *given)))


_ZERO_POINTS = ", ".join(sorted(defs.get_schema("QuantizeLinear", 23).inputs[2].types))


@pytest.mark.parametrize(
    ("scale", "zero_point", "attributes", "message"),
    [
        (
            np.ones(3, np.float32),
            np.int8(0),
            {"axis": 0},
            "of shape [3] is incompatible with shape [2, 3] along axis 0",
        ),
        (np.ones(3, np.float32), np.int8(0), {"axis": 2}, "axis 2 is out of range for rank 2"),
        (np.ones((2, 3), np.float32), np.int8(0), {}, "of shape [2, 3] is incompatible with shape [2, 3] along axis 1"),
        (np.ones((2, 2), np.float32), np.int8(0), {"block_size": 3}, "along axis 1 in blocks of 3"),
        (np.float32(1), np.int8(0), {"block_size": -1}, "block_size must be at least 1, but got -1"),
        (
            np.float32(1),
            np.int8(0),
            {"output_dtype": TensorProto.UINT8},
            "output_dtype (ui8) and the type of the zero point (i8) must be equal",
        ),
        (np.float32(1), np.int8(0), {"output_dtype": TensorProto.COMPLEX64}, "COMPLEX64 are not supported"),
        (
            np.float32(1),
            ml_dtypes.float8_e8m0fnu(1),
            {},
            f"input 2 ('y_zero_point') must be one of {_ZERO_POINTS}, but got tensor(float8e8m0)",
        ),
    ],
)
@pytest.mark.parametrize("is_constant", [True, False])
def test_what_does_not_fit(scale: Any, zero_point: Any, attributes: Any, message: str, is_constant: bool) -> None:
    net = Net(opset=23)
    parameters = [net.tensor(each, is_constant=is_constant) for each in (scale, zero_point)]
    q = net.node("QuantizeLinear", net.input(np.zeros((2, 3), np.float32)), *parameters, **attributes)
    with pytest.raises(DiagnosticError) as raised:
        qmlir.load(net.model(q))
    assert message in str(raised.value)
    assert "QuantizeLinear node" in str(raised.value)


# Products


def product(net: Net, *, is_constant: bool, **values: Any) -> str:
    """A QLinearMatMul of `a` and `b` with their parameters, each in a tensor of its own."""
    order = ("a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "y_scale", "y_zero_point")
    given = [net.tensor(values[name], is_constant=is_constant and name not in ("a", "b")) for name in order]
    return net.node("QLinearMatMul", *given)


A, B = np.uint8([[1, 2, 3], [250, 5, 6]]), np.int8([[1, -2], [3, 4], [-128, 6]])


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [((), ()), ((), (2,)), ((), (1, 2)), ((2,), ()), ((2,), (2,)), ((2, 1), (1, 2)), ((1,), (1, 1))],
)
def test_scales_of_rows_and_columns(a_shape: tuple[int, ...], b_shape: tuple[int, ...], is_constant: bool) -> None:
    rng = np.random.default_rng(7)
    a_scale = rng.choice([0.5, 1.0, 0.25], a_shape).astype(np.float32)
    b_scale = rng.choice([0.5, 1.5, 0.75], b_shape).astype(np.float32)
    a_zero_point, b_zero_point = rng.integers(0, 9, a_shape), rng.integers(-4, 5, b_shape)
    net = Net()
    y = product(
        net, is_constant=is_constant, a=A, a_scale=a_scale, a_zero_point=a_zero_point.astype(np.uint8),
        b=B, b_scale=b_scale, b_zero_point=b_zero_point.astype(np.int8),
        y_scale=np.float32(4), y_zero_point=np.int8(3),
    )  # fmt: skip
    rows = tuple(np.broadcast_to(each.reshape(-1, 1), (2, 1)) for each in (a_scale, a_zero_point))
    columns = tuple(np.broadcast_to(each.reshape(1, -1), (1, 2)) for each in (b_scale, b_zero_point))
    total = (A.astype(np.int64) - rows[1]) @ (B.astype(np.int64) - columns[1])
    expected = np.clip(np.rint(total * (rows[0] * columns[0] / 4)) + 3, -128, 127)
    np.testing.assert_array_equal(net.run(y)[0], expected.astype(np.int8), strict=True)
    module = qmlir.load(net.model(y))
    assert ("nn.round" not in names(module)) == (is_constant and a_shape in ((), (1,)))


@pytest.mark.parametrize("is_constant", [True, False])
def test_vectors(is_constant: bool) -> None:
    """A vector has no rows in the result: columns have their scales still."""
    net = Net()
    y = product(
        net, is_constant=is_constant, a=A[0], a_scale=np.float32(1), a_zero_point=np.uint8(1),
        b=B, b_scale=np.float32([1, 2]), b_zero_point=np.int8([0, 1]),
        y_scale=np.float32(1), y_zero_point=np.int8(0),
    )  # fmt: skip
    # [0, 1, 2] times columns [1, 3, -128] and [-3, 3, 5].
    np.testing.assert_array_equal(net.run(y)[0], np.int8([-128, 26]))


def test_a_vector_has_one_scale() -> None:
    net = Net()
    y = net.node("MatMulInteger", net.input(A[0]), net.input(B), net.input(np.uint8([1, 2, 3])))
    with pytest.raises(DiagnosticError, match=r"a vector must have one scale and zero point, but got shape \[3\]"):
        qmlir.load(net.model(y))


def test_matmul_integer_of_rows_and_columns() -> None:
    net = Net()
    zero_points = net.input(np.uint8([1, 250])), net.input(np.int8([-1, 2]))
    y = net.node("MatMulInteger", net.input(A), net.input(B), *zero_points)
    # [0, 1, 2] and [0, -245, -244] times [2, 4, -127] and [-4, 2, 4].
    np.testing.assert_array_equal(net.run(y)[0], np.int32([[-250, 10], [30008, -1466]]), strict=True)


def convolution(net: Net, *, is_constant: bool, bias: Any = None, w_scale: Any, w_zero_point: Any) -> str:
    x, w = np.uint8(np.arange(9).reshape(1, 1, 3, 3)), np.int8([[[[1, -1], [0, 2]]], [[[3, 0], [-2, 1]]]])
    values = (x, np.float32(0.5), np.uint8(4), w, w_scale, w_zero_point, np.float32(1.5), np.int8(-1), bias)
    given = [
        net.tensor(value, is_constant=is_constant and position not in (0, 3, 8))
        for position, value in enumerate(values)
        if value is not None
    ]
    return net.node("QLinearConv", *given, pads=[0, 0, 1, 1])


@pytest.mark.parametrize("bias", [None, np.int32([7, -9])], ids=["no bias", "bias"])
@pytest.mark.parametrize("parameters", [(np.float32(2), np.int8(1)), (np.float32([2, 0.75]), np.int8([1, -2]))])
def test_convolution(parameters: tuple[Any, Any], bias: Any) -> None:
    """Padding has the value of the zero point; both forms are the sum written out."""
    scale, zero_point = (np.broadcast_to(each, 2) for each in parameters)
    x = np.pad(np.arange(9).reshape(3, 3) - 4, ((0, 1), (0, 1)))
    w = np.array([[[1, -1], [0, 2]], [[3, 0], [-2, 1]]]) - zero_point.reshape(2, 1, 1)
    total = np.array([[[(x[i : i + 2, j : j + 2] * k).sum() for j in range(3)] for i in range(3)] for k in w])
    total = total + (0 if bias is None else bias.reshape(2, 1, 1))
    expected = np.clip(np.rint(total * (np.float32(0.5) * scale / np.float32(1.5)).reshape(2, 1, 1)) - 1, -128, 127)
    for is_constant in (True, False):
        net = Net()
        y = convolution(net, is_constant=is_constant, bias=bias, w_scale=parameters[0], w_zero_point=parameters[1])
        np.testing.assert_array_equal(net.run(y)[0], expected[None].astype(np.int8), strict=True)


def test_type_of_the_bias() -> None:
    """Its scale is the f32 product of the others: 0.1 * 0.3 in f32, not in f64."""
    net = Net()
    inputs = [
        net.input(np.zeros((1, 1, 2, 2), np.uint8)), net.constant(np.float32(0.1)), net.constant(np.uint8(0)),
        net.constant(np.ones((1, 1, 1, 1), np.int8)), net.constant(np.float32(0.3)), net.constant(np.int8(0)),
        net.constant(np.float32(1)), net.constant(np.uint8(0)), net.constant(np.int32([5])),
    ]  # fmt: skip
    module = qmlir.load(net.model(net.node("QLinearConv", *inputs)))
    (conv,) = (op for op in module.walk() if op.name == "nn.conv")
    bias: Any = conv.operands[2].type
    assert (bias.element_type.scale, bias.element_type.zero_point) == (float(np.float32(0.1) * np.float32(0.3)), 0)
    assert conv.operands[2].owner.name == "nn.constant"


# DynamicQuantizeLinear


@pytest.mark.parametrize(
    ("x", "scale", "zero_point", "y"),
    [
        ([0.0, 255.0, 127.5], 1.0, 0, [0, 255, 128]),
        ([-255.0, -1.0], 1.0, 255, [0, 254]),
        ([-127.5, 127.5, 0.5], 1.0, 128, [0, 255, 128]),  # -127.5 and 0.5 are ties, before the zero point is added
        ([0.0, 0.0], np.float32(1) / np.float32(255), 0, [0, 0]),
    ],
)
def test_dynamic_quantize(x: list[float], scale: float, zero_point: int, y: list[int]) -> None:
    net = Net()
    found = net.run(*net.nodes_of("DynamicQuantizeLinear", net.input(np.float32(x)), outputs=3))
    for ours, expected in zip(found, (np.uint8(y), np.float32(scale), np.uint8(zero_point)), strict=True):
        np.testing.assert_array_equal(ours, expected)
        assert ours.dtype == expected.dtype


def test_a_chain_of_quantized_operators_has_no_float() -> None:
    """QLinearConv, MaxPool, Reshape and QLinearMatMul hand on their quantized values."""
    net = Net()
    one, zero = net.constant(np.float32(0.5)), net.constant(np.uint8(3))
    x = net.input(np.zeros((1, 1, 4, 4), np.uint8))
    w = net.constant(np.ones((2, 1, 3, 3), np.uint8))
    conv = net.node("QLinearConv", x, one, zero, w, one, zero, one, zero)
    pool = net.node("MaxPool", conv, kernel_shape=[2, 2])
    flat = net.node("Reshape", pool, net.constant(np.int64([1, 2])))
    b = net.constant(np.ones((2, 3), np.uint8))
    module = qmlir.load(net.model(net.node("QLinearMatMul", flat, one, zero, b, one, zero, one, zero)))
    found = [op for op in module.walk() if op.name.startswith("nn.") and op.name not in ("nn.constant", "nn.cast")]
    assert [op.name for op in found] == ["nn.conv", "nn.max_pool", "nn.reshape", "nn.matmul"]
    for first, second in pairwise(found):
        assert second.operands[0] == first.results[0]


def test_names_reach_the_constants() -> None:
    net = Net()
    net.initializers.append(numpy_helper.from_array(np.int8([1, 2]), "weights"))
    text = str(qmlir.load(net.model(dequantize(net, "weights", 0.5))))
    assert "%weights = nn.constant" in text
    assert 'origin = "weights"' in text


# The precision of the division

UNOPTIMIZED = OrtOptions(optimization="none")

FLOATS: dict[int, Any] = {
    TensorProto.FLOAT: np.float32,
    TensorProto.FLOAT16: np.float16,
    TensorProto.BFLOAT16: ml_dtypes.bfloat16,
}


def division(data: int, scale: int, precision: int, opset: int) -> ModelProto:
    """QuantizeLinear of f32 data that were cast, with a scale of a type and a precision, 0 for none."""
    step = numpy_helper.from_array(np.asarray(0.0173).astype(FLOATS[scale]), "s")
    attributes = {"precision": precision} if precision else {}
    nodes = [
        helper.make_node("Cast", ["x"], ["c"], to=data),
        helper.make_node("QuantizeLinear", ["c", "s", "z"], ["y"], **attributes),
    ]
    tensors = [step, numpy_helper.from_array(np.array(3, np.uint16), "z")]
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [999])]
    graph = helper.make_graph(
        nodes, "g", ports, [helper.make_tensor_value_info("y", TensorProto.UINT16, [999])], tensors
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


DIVISIONS = [
    *((each, each, 0, 21) for each in FLOATS),
    *((data, scale, precision, 23) for data in FLOATS for scale in FLOATS for precision in (0, *FLOATS)),
    *((each, TensorProto.FLOAT16, 0, 25) for each in FLOATS),
]
"""The types of the data and of the scale, the precision, and the operator set: 21 has one type, and no precision."""


@pytest.mark.parametrize(("data", "scale", "precision", "opset"), DIVISIONS)
def test_precision_of_the_division(data: int, scale: int, precision: int, opset: int) -> None:
    """From operator set 23 on both sides and their quotient have the precision, by default the type of the scale.

    ONNX Runtime is asked where it has the types. Exports to every operator set give the same integers.
    """
    model, x = division(data, scale, precision, opset), np.random.default_rng(7).standard_normal(999).astype(np.float32)
    x *= 50
    dtype = FLOATS[(precision or scale) if opset >= 23 else TensorProto.FLOAT]
    cast, step = x.astype(FLOATS[data]).astype(dtype), np.asarray(0.0173).astype(FLOATS[scale]).astype(dtype)
    quotient = (cast.astype(np.float32) / step.astype(np.float32)).astype(dtype).astype(np.float64)
    wanted = np.clip(np.rint(quotient) + 3, 0, 65535)
    module = qmlir.load(model)
    assert np.array_equal(qmlir.interpret(module, {"x": x})["y"], wanted)
    models = [qmlir.export_onnx(module), qmlir.export_onnx(module, opset=25)]
    if TensorProto.BFLOAT16 not in (data, scale, precision) and is_installed(PACKAGE):
        for each in (model, *models):
            assert np.array_equal(OrtSession(each.SerializeToString(), UNOPTIMIZED)({"x": x})["y"], wanted)
    for each in models:
        del each.metadata_props[:], each.graph.metadata_props[:]
        for node in each.graph.node:
            del node.metadata_props[:]
        assert np.array_equal(qmlir.interpret(qmlir.load(each), {"x": x})["y"], wanted)


RNG = np.random.default_rng(0)

# Scales of 0: what has one is 0, as in ONNX Runtime. Both factors of a product are u8, which saturates on no CPU.

SCALES = np.array([0.5, 0, 0.25, 0], np.float32)
POINTS = np.array([100, 7, 130, 255], np.uint8)


def _zero_scale_dequantize(net: Net, x: str, *, is_quantized: bool = False) -> str:
    parameters = net.constant(SCALES), net.constant(POINTS)
    weights = RNG.integers(0, 256, (6, 4)).astype(np.uint8)
    if is_quantized:  # as tools for training write it, which leave the weights of a pruned column at 0
        reals = (weights.astype(np.float32) - POINTS) * SCALES
        integers = net.node("QuantizeLinear", net.constant(reals), *parameters, axis=1)
    else:
        integers = net.constant(weights)
    return net.node("MatMul", x, net.node("DequantizeLinear", integers, *parameters, axis=1))


def _zero_scale_bias(net: Net, x: str) -> str:
    """A convolution between casts, whose bias has the scale 0 where its weights have it."""
    one, zero = net.constant(np.float32(1 / 16)), net.constant(np.uint8(128))
    data = net.node("Reshape", x, net.constant(np.array([5, 6, 1])))
    data = net.node("DequantizeLinear", net.node("QuantizeLinear", data, one, zero), one, zero)
    integers = RNG.integers(0, 256, (4, 6, 1)).astype(np.uint8)
    weights = net.node("DequantizeLinear", *map(net.constant, (integers, SCALES, POINTS)), axis=0)
    sums = RNG.integers(-900, 900, 4).astype(np.int32), SCALES / 16, np.zeros(4, np.int32)
    bias = net.node("DequantizeLinear", *map(net.constant, sums), axis=0)
    return net.node("Conv", data, weights, bias)


def _zero_scale_blocks(net: Net, x: str) -> str:
    scales = np.array([[0.5, 0, 0.25, 0], [0, 1, 1, 0]], np.float32)
    points = np.full((2, 4), 3, np.uint8)
    given = RNG.integers(0, 256, (6, 4)).astype(np.uint8), scales, points
    weights = net.node("DequantizeLinear", *map(net.constant, given), axis=0, block_size=3)
    return net.node("MatMul", x, weights)


def _zero_scale_conv(net: Net, x: str) -> str:
    data = net.node("Reshape", x, net.constant(np.array([5, 6, 1])))
    one, zero = net.constant(np.float32(1 / 16)), net.constant(np.uint8(128))
    weights = RNG.integers(0, 256, (4, 6, 1)).astype(np.uint8)
    factor = map(net.constant, (weights, SCALES, np.full(4, 9, np.uint8)))
    bias = net.constant(RNG.integers(-900, 900, 4).astype(np.int32))
    integers = net.node("QuantizeLinear", data, one, zero)
    return net.node("QLinearConv", integers, one, zero, *factor, net.constant(np.float32(2)), zero, bias)


def _zero_scale_matmul(net: Net, x: str) -> str:
    one, zero = net.constant(np.float32(1 / 16)), net.constant(np.uint8(128))
    weights = RNG.integers(0, 256, (6, 4)).astype(np.uint8)
    factor = map(net.constant, (weights, SCALES, POINTS))
    integers = net.node("QuantizeLinear", x, one, zero)
    return net.node("QLinearMatMul", integers, one, zero, *factor, net.constant(np.float32(2)), zero)


def _zero_scale_activation(net: Net, x: str) -> str:
    """An activation that was 0 in all samples, as an observer of its largest value has it."""
    dead, zero = net.constant(np.float32(0)), net.constant(np.uint8(128))
    return net.node("DequantizeLinear", net.node("QuantizeLinear", x, dead, zero), dead, zero)


ZERO_SCALES = {
    "weights": _zero_scale_dequantize,
    "float weights": partial(_zero_scale_dequantize, is_quantized=True),
    "bias": _zero_scale_bias,
    "blocks": _zero_scale_blocks,
    "QLinearConv": _zero_scale_conv,
    "QLinearMatMul": _zero_scale_matmul,
    "activation": _zero_scale_activation,
}


@pytest.mark.parametrize("name", ZERO_SCALES)
def test_what_has_a_scale_of_zero_is_zero(name: str) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install -e '.[peers]'")
    net = Net()
    x = RNG.integers(-9, 9, (5, 6)).astype(np.float32) / 4
    output = ZERO_SCALES[name](net, net.input(x))
    model = net.model(output)
    expected = OrtSession(model.SerializeToString(), OrtOptions(optimization="none"))(net.feeds)[output]
    for keep_casts in (False, True):
        module = qmlir.load(model, keep_casts=keep_casts)
        found = qmlir.interpret(module, net.feeds)[output]
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(qmlir.compile(module, codegen="llvm")(net.feeds)[output], found)


@pytest.mark.parametrize("rows", ["a", "y", "both", "stacked"])
@pytest.mark.parametrize("columns", [False, True])
def test_products_by_row(rows: str, columns: bool) -> None:
    """QLinearMatMul with a scale and zero point for each row: `rint(f32(acc * s_a * s_b / s_y)) + z_y`, saturated."""

    def parameters(is_several: bool, shape: tuple[int, ...], low: float) -> list[np.ndarray]:
        shape = shape if is_several else ()
        return [RNG.uniform(low, 4 * low, shape).astype(np.float32), RNG.integers(90, 160, shape).astype(np.uint8)]

    is_stacked = rows == "stacked"
    a, b = (RNG.integers(0, 256, shape).astype(np.uint8) for shape in ((2, 3, 4) if is_stacked else (3, 4), (4, 5)))
    by_row = (2, 3, 1) if is_stacked else (3,)
    given = [
        a, *parameters(rows != "y", by_row, 0.01), b, *parameters(columns, (5,), 0.01),
        *parameters(rows != "a", by_row, 0.5),
    ]  # fmt: skip
    model = node_model("QLinearMatMul", given, ["y"], 21)
    _, a_scale, a_zero, _, b_scale, b_zero, y_scale, y_zero = (
        each[:, None] if not is_stacked and position in (1, 2, 6, 7) and each.ndim else each
        for position, each in enumerate(given)
    )
    sums = (a.astype(np.int32) - a_zero) @ (b.astype(np.int32) - b_zero)
    scaled = sums.astype(np.float32) * (a_scale * b_scale / y_scale)
    expected = np.clip(np.rint(scaled) + y_zero, 0, 255).astype(np.uint8)
    values = {f"i{position}": each for position, each in enumerate(given)}
    np.testing.assert_array_equal(qmlir.interpret(qmlir.load(model), values)["y"], expected)
    for each in list(model.graph.input)[1:]:
        model.graph.initializer.append(numpy_helper.from_array(values[each.name], each.name))
        model.graph.input.remove(each)
    module = qmlir.load(model)
    np.testing.assert_array_equal(qmlir.interpret(module, {"i0": a})["y"], expected)
    np.testing.assert_array_equal(qmlir.compile(module, codegen="llvm")({"i0": a})["y"], expected)
