"""What the `quant` operations compute, by hand-made numbers, and the proof of their folds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import Float8E4M3FNType, IntegerType, Signedness, TensorType, f32, f64, i1, i8, i16, i32
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.test_value import create_ssa_value

from qmlir.dialects.nn.movement.ops import transposed_element
from qmlir.dialects.quant.canonicalize import is_exact_round_trip
from qmlir.dialects.quant.evaluate import EVALUATORS, dequantize, quantize
from qmlir.dialects.quant.infer import storage_dtype
from qmlir.dialects.quant.ops import StorageCastOp
from qmlir.dialects.quant.types import Granularity, UniformFloatType, UniformQuantizedType, UniformType

u8 = IntegerType(8, Signedness.UNSIGNED)
u4 = IntegerType(4, Signedness.UNSIGNED)
i4 = IntegerType(4)


def _f32(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


@pytest.mark.parametrize(
    ("type_", "values", "stored"),
    [
        # Ties go to even before the zero point is added: 0.5 -> 0, 1.5 -> 2, 2.5 -> 2, then + 3.
        (UniformQuantizedType.per_tensor(i8, f32, 1.0, 3), [0.5, 1.5, 2.5, -0.5, -1.5], [3, 5, 5, 3, 1]),
        # Saturation on both sides, infinities included.
        (UniformQuantizedType.per_tensor(i8, f32, 0.5, -1), [1e9, -1e9, np.inf, -np.inf], [127, -128, 127, -128]),
        (UniformQuantizedType.per_tensor(u8, f32, 0.25, 10), [-3.0, 0.0, 61.25, 70.0], [0, 10, 255, 255]),
        # Narrow storage, and limits that the type states.
        (UniformQuantizedType.per_tensor(i4, f32, 1.0), [-9.0, 7.4, 8.0], [-8, 7, 7]),
        (UniformQuantizedType.per_tensor(i8, f32, 1.0, 0, (-127, 127)), [-200.0, 200.0], [-127, 127]),
        (UniformQuantizedType.per_tensor(IntegerType(1, Signedness.UNSIGNED), f32, 1.0), [0.4, 0.6, 9.0], [0, 1, 1]),
        # The quotient is rounded to f32 first: 0.35 / 0.1 is 3.5 there, and the tie goes to 4.
        (UniformQuantizedType.per_tensor(i8, f32, 0.1), [0.35], [4]),
        (UniformQuantizedType.per_tensor(i32, f32, 1.0), [3e9, -3e9], [2**31 - 1, -(2**31)]),
    ],
)
def test_quantize(type_: UniformQuantizedType, values: list[float], stored: list[int]) -> None:
    assert quantize(_f32(*values), type_).tolist() == stored


def test_quantize_per_axis_and_block() -> None:
    per_axis = UniformQuantizedType.per_axis(i8, f32, 1, [1.0, 0.5], [0, 10])
    assert quantize(_f32(2.0, 2.0, -3.0, -3.0).reshape(2, 2), per_axis).tolist() == [[2, 14], [-3, 4]]
    blocks = UniformQuantizedType.per_block(i8, f32, {1: 2}, [[1.0, 0.5]], [[0, 1]])
    assert quantize(_f32(1.0, 2.0, 1.0, 2.0).reshape(1, 4), blocks).tolist() == [[1, 2, 3, 5]]
    assert dequantize(np.array([[1, 2, 3, 5]], dtype=np.int8), blocks).tolist() == [[1.0, 2.0, 1.0, 2.0]]


@pytest.mark.parametrize("blocks", [{0: 1, 1: 32}, {0: 8, 1: 1}, {1: 64}, {0: 4, 1: 2}, {0: 512}])
def test_large_tensors_are_rounded_like_small_ones(blocks: dict[int, int]) -> None:
    """By NumPy on whole arrays; the tensor is several slabs of rows."""
    generator, shape = np.random.default_rng(0), (512, 448)
    counts = [size // blocks.get(axis, size) for axis, size in enumerate(shape)]
    scales, points = np.float32(generator.uniform(0.1, 1, counts)), generator.integers(-8, 8, counts)
    whole = [np.kron(each, np.ones(np.array(shape) // counts, each.dtype)) for each in (scales, points)]
    values = generator.standard_normal(shape).astype(np.float32)
    for zero_points, own in ((points, whole[1]), (0, np.zeros(shape, np.int64))):
        type_ = UniformQuantizedType.per_block(i4, f32, blocks, scales, zero_points)
        stored = np.clip(np.rint(values / whole[0]) + own, -8, 7)
        assert np.array_equal(quantize(values, type_), stored)
        assert np.array_equal(dequantize(stored.astype(np.int8), type_), whole[0] * (stored - own).astype(np.float32))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_blocks_lie_along_their_axes_after_a_transpose(order: tuple[int, int, int]) -> None:
    scales = np.arange(1.0, 13.0).reshape(2, 3, 2)
    integers = UniformQuantizedType.per_block(i8, f32, {0: 2, 1: 1, 2: 3}, scales, np.arange(12).reshape(2, 3, 2))
    floats = UniformFloatType.of(Float8E4M3FNType(), f32, scales, Granularity.BLOCK, {0: 2, 1: 1, 2: 3})
    for blocks in (integers, floats):
        stored = np.arange(72).reshape(4, 3, 6).astype(storage_dtype(blocks))
        moved = transposed_element(blocks, order)
        assert isinstance(moved, UniformType)
        assert np.array_equal(dequantize(stored.transpose(order), moved), dequantize(stored, blocks).transpose(order))


def test_dequantize() -> None:
    type_ = UniformQuantizedType.per_tensor(u8, f32, 0.1, 128)
    stored = np.array([0, 127, 128, 255], dtype=np.uint8)
    assert dequantize(stored, type_).tolist() == [float(np.float32(0.1) * np.float32(n)) for n in (-128, -1, 0, 127)]


def test_empty_scalar_and_nan() -> None:
    type_ = UniformQuantizedType.per_tensor(i8, f32, 0.5)
    assert quantize(np.zeros((0, 3), np.float32), type_).shape == (0, 3)
    assert quantize(np.float32(1.0).reshape(()), type_).item() == 2
    with pytest.raises(InterpretationError, match="NaN"):
        quantize(_f32(1.0, np.nan), type_)


def _scast(values: np.ndarray, source: Attribute, result: Attribute) -> np.ndarray:
    operand = create_ssa_value(TensorType(source, values.shape))
    op = StorageCastOp.create(operands=[operand], result_types=[TensorType(result, values.shape)])
    (found,) = EVALUATORS[StorageCastOp](op, values)
    return found


@pytest.mark.parametrize(
    ("quantized", "stored", "integer", "values"),
    [
        # The bits stay: what is 200 unsigned is -56 in the signless integer, held as a signed one.
        (UniformQuantizedType.per_tensor(u8, f32, 1.0), np.array([127, 128, 200], np.uint8), i8, [127, -128, -56]),
        (UniformQuantizedType.per_tensor(u4, f32, 1.0), np.array([0, 7, 8, 15], np.uint8), i4, [0, 7, -8, -1]),
        (UniformQuantizedType.per_tensor(i4, f32, 1.0), np.array([-8, 7], np.int8), i4, [-8, 7]),
        (UniformQuantizedType.per_tensor(i1, f32, 1.0), np.array([0, -1], np.int8), i1, [0, 1]),
    ],
)
def test_a_storage_cast_keeps_the_bits(
    quantized: UniformQuantizedType, stored: np.ndarray, integer: IntegerType, values: list[int]
) -> None:
    found = _scast(stored, quantized, integer)
    assert found.tolist() == values
    assert np.issubdtype(found.dtype, np.signedinteger)
    back = _scast(found, integer, quantized)
    assert back.tolist() == stored.tolist()
    assert back.dtype == stored.dtype
    for one, bits in zip(stored, values, strict=True):  # a tensor without axes is an array too
        scalar = _scast(np.array(one), quantized, integer)
        again = _scast(np.array(bits, found.dtype), integer, quantized)
        assert (type(scalar), scalar.tolist()) == (np.ndarray, bits)
        assert (type(again), again.tolist()) == (np.ndarray, one)


def test_a_storage_cast_into_a_narrow_range_is_not_folded() -> None:
    # A storage cast brings -128 in, which dequantizing and quantizing again saturates to -127.
    narrow = UniformQuantizedType.per_tensor(i8, f32, 0.5, 0, (-127, 127))
    stored = np.array([-128], np.int8)
    assert quantize(dequantize(stored, narrow), narrow).tolist() == [-127]
    assert not is_exact_round_trip(narrow)


SCALES = st.floats(2.0**-149, 2.0**127, width=32) | st.sampled_from(
    [0.1, 1 / 3, 1e-3, 2.0**-149, 2.0**-126, 1.1754942e-38]
)


@settings(max_examples=400)
@given(SCALES, st.data())
def test_a_fold_is_exact_on_every_stored_value(scale: float, data: st.DataObject) -> None:
    """Exhaustive over the storage: i4, i8, u8 and i16, any scale and zero point."""
    storage = data.draw(st.sampled_from([i4, i8, u8, i16]))
    unsigned = storage.signedness.data is Signedness.UNSIGNED
    low, high = (0, 255) if unsigned else (-(1 << (storage.width.data - 1)), (1 << (storage.width.data - 1)) - 1)
    zero_point = data.draw(st.integers(low, high))
    type_ = UniformQuantizedType.per_tensor(storage, f32, scale, zero_point)
    stored = np.arange(low, high + 1).astype(f"{'u' if unsigned else 'i'}{max(1, storage.width.data // 8)}")
    if is_exact_round_trip(type_):
        assert (quantize(dequantize(stored, type_), type_) == stored).all()
    else:
        # Only a product that may overflow keeps the pair.
        assert scale > 1e33


def test_the_condition_refuses_what_is_not_exact() -> None:
    wide = UniformQuantizedType.per_tensor(i32, f32, 0.1)
    assert not is_exact_round_trip(wide)
    # 0.1 * (2^31 - 1) in f32 does not come back as 2^31 - 1.
    stored = np.array([2**31 - 2], dtype=np.int32)
    assert (quantize(dequantize(stored, wide), wide) != stored).all()
    assert is_exact_round_trip(UniformQuantizedType.per_tensor(i32, f64, 0.1))
    assert not is_exact_round_trip(UniformQuantizedType.per_tensor(i8, f32, 1e37))


@settings(max_examples=200)
@given(st.floats(2.0**-100, 2.0**100, width=32), st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=50))
def test_a_fold_is_exact_for_wide_storage_in_f64(scale: float, values: list[int]) -> None:
    type_ = UniformQuantizedType.per_tensor(i32, f64, scale)
    stored = np.array(values, dtype=np.int32)
    assert is_exact_round_trip(type_)
    assert (quantize(dequantize(stored, type_), type_) == stored).all()


def test_types_are_equal_by_their_bytes() -> None:
    scales = np.linspace(0.01, 1.0, 2048)
    one, other = (UniformQuantizedType.per_axis(i8, f32, 0, scales.copy()) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    scales[-1] = np.nextafter(scales[-1], 2)
    assert one != UniformQuantizedType.per_axis(i8, f32, 0, scales)
    assert not one.scales.flags.writeable
