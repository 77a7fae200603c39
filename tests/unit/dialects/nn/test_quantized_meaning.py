"""What the `nn` operations compute on quantized values, against loops over Python's integers and fractions."""

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, f32

from qmlir.arithmetic.arrays import sum_dtype
from qmlir.dialects.quant.infer import broadcast_parameters, storage_dtype
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from qmlir.text.parsing import parse_module

ENVIRONMENT = default_environment()


def tensor_text(shape: Sequence[int], element: object) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def module_of(operation: str, operands: Sequence[str], result: str) -> ModuleOp:
    """`operation` of arguments `%0`, `%1`, … of the types `operands`."""
    arguments = ", ".join(f"%{position}: {type_}" for position, type_ in enumerate(operands))
    names = ", ".join(f"%{position}" for position in range(len(operands)))
    name, _, properties = operation.partition(" ")
    text = f"{name} {names} {properties} : ({', '.join(operands)}) -> {result}"
    module = parse_module(
        ENVIRONMENT.new_context(),
        f"func.func @main({arguments}) -> {result} {{ %r = {text} func.return %r : {result} }}",
    )
    verify(module)
    return module


def run(
    operation: str, operands: Sequence[tuple[np.ndarray, object]], shape: Sequence[int], element: object
) -> np.ndarray:
    types = [tensor_text(array.shape, each) for array, each in operands]
    (result,) = interpret(
        module_of(operation, types, tensor_text(shape, element)), [array for array, _ in operands]
    ).values()
    return result


def uniform(bits: int, scale: object, zero_point: object = 0, axis: int | None = None) -> UniformQuantizedType:
    """A type with signed storage, unsigned where `bits` is negative."""
    storage = IntegerType(abs(bits), Signedness.UNSIGNED if bits < 0 else Signedness.SIGNLESS)
    if axis is None:
        return UniformQuantizedType.per_tensor(storage, f32, scale, zero_point)  # pyright: ignore[reportArgumentType]
    return UniformQuantizedType.per_axis(storage, f32, axis, scale, zero_point)  # pyright: ignore[reportArgumentType]


def drawn(generator: np.random.Generator, element: UniformQuantizedType, *shape: int) -> np.ndarray:
    values = generator.integers(element.storage_min, element.storage_max + 1, shape)
    return values.astype(storage_dtype(element))


def plain(stored: np.ndarray, element: UniformQuantizedType) -> np.ndarray:
    """The integers `q - z` as Python's own."""
    _, zero_points = broadcast_parameters(element, stored.shape)
    return stored.astype(object) - zero_points.astype(object)


def requantized(integer: int, source: np.float32, element: UniformQuantizedType, channel: int = 0) -> int:
    """One requantization in f32 steps; the integers here are below 2^24, which f32 holds."""
    assert abs(integer) < 2**24
    target, zero_point = np.float32(element.scales.flat[channel]), int(element.zero_points.flat[channel])
    rounded = round(Fraction(float(np.float32(integer) * np.float32(source / target))))
    return min(max(rounded + zero_point, element.storage_min), element.storage_max)


WIDTHS = [2, 4, 7, 8, -1, -3, -8, 16]


@pytest.mark.parametrize("seed", range(12))
def test_convolution(seed: int) -> None:
    generator = np.random.default_rng(seed)
    groups, inputs, outputs = (int(generator.integers(1, 4)) for _ in range(3))
    kernel, stride, dilation, sizes = (generator.integers(1, high + 1, 2) for high in (3, 2, 2, 4))
    pads, sizes = generator.integers(0, 3, 4), sizes + (kernel - 1) * dilation
    rows = groups * outputs
    x = uniform(int(generator.choice(WIDTHS)), 0.3, int(generator.integers(0, 2)))
    w = uniform(-7, generator.uniform(0.01, 0.1, rows), generator.integers(0, 128, rows), axis=0)
    b = uniform(32, np.float32(x.scale) * np.float32(w.scales), axis=0)
    y = uniform(8, 1.7, -3)
    data, weight = drawn(generator, x, 2, groups * inputs, *sizes), drawn(generator, w, rows, inputs, *kernel)
    bias = generator.integers(-3000, 3000, rows).astype(np.int32)
    counts = [
        (sizes[axis] + pads[axis] + pads[axis + 2] - (kernel[axis] - 1) * dilation[axis] - 1) // stride[axis] + 1
        for axis in range(2)
    ]
    xs, ws = plain(data, x), plain(weight, w)
    wanted = np.zeros((2, rows, *counts), np.int8)
    for n, row, i, j in np.ndindex(*wanted.shape):
        total = int(bias[row])
        for channel, k, m in itertools.product(range(inputs), range(kernel[0]), range(kernel[1])):
            down, across = i * stride[0] - pads[0] + k * dilation[0], j * stride[1] - pads[1] + m * dilation[1]
            if 0 <= down < sizes[0] and 0 <= across < sizes[1]:
                total += xs[n, row // outputs * inputs + channel, down, across] * ws[row, channel, k, m]
        wanted[n, row, i, j] = requantized(total, np.float32(x.scale) * np.float32(w.scales[row]), y)
    properties = (
        f"{{strides = {stride.tolist()}, dilations = {dilation.tolist()}, pads = {pads.tolist()}, groups = {groups}}}"
    )
    operands = [(data, x), (weight, w), (bias, b)]
    assert run(f"nn.conv {properties}", operands, wanted.shape, y).tolist() == wanted.tolist()


@pytest.mark.parametrize(("lhs", "rhs"), [((4,), (4, 3)), ((2, 4), (4,)), ((4,), (4,)), ((2, 1, 3, 4), (5, 4, 2))])
def test_matrix_products_of_any_rank(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> None:
    generator = np.random.default_rng(5)
    x, w, a = uniform(-8, 0.5, 7), uniform(4, 0.25, -3), uniform(32, 0.125)
    left, right = drawn(generator, x, *lhs), drawn(generator, w, *rhs)
    wanted = np.matmul(plain(left, x), plain(right, w))
    assert run("nn.matmul", [(left, x), (right, w)], np.shape(wanted), a).tolist() == np.asarray(wanted).tolist()


def test_accumulators_of_each_column() -> None:
    generator = np.random.default_rng(6)
    x = uniform(8, 0.3, 7)
    w = uniform(8, [0.1, 0.2, 0.7], [1, -2, 3], axis=0)
    a = uniform(32, np.float32(0.3) * np.float32(w.scales), axis=1)
    y = uniform(8, [0.5, 3.0, 7.0], [1, 2, 3], axis=1)
    left, right = drawn(generator, x, 2, 5), drawn(generator, w, 3, 5)
    exact = np.matmul(plain(left, x), plain(right, w).T)
    operands = [(left, x), (right, w)]
    assert run("nn.matmul {transpose_b = true}", operands, (2, 3), a).tolist() == exact.tolist()
    assert run("nn.fully_connected", operands, (2, 3), a).tolist() == exact.tolist()
    wanted = [[requantized(exact[i, j], np.float32(a.scales[j]), y, j) for j in range(3)] for i in range(2)]
    assert run("nn.fully_connected", operands, (2, 3), y).tolist() == wanted


def test_an_accumulator_saturates_as_every_result_does() -> None:
    x, a = uniform(16, 1.0), uniform(32, 1.0)
    lowest = np.full((1, 2), -(2**15), np.int16)
    assert run("nn.matmul {transpose_b = true}", [(lowest, x), (lowest, x)], (1, 1), a).item() == 2**31 - 1
    operands = [(lowest, x), (lowest + np.int16([0, 1]), x)]
    assert run("nn.matmul {transpose_b = true}", operands, (1, 1), a).item() == 2**31 - 2**15
    other = uniform(32, 1.0, 1)
    assert run("nn.matmul {transpose_b = true}", [(lowest, x), (lowest, x)], (1, 1), other).item() == 2**31 - 1
    halves, most = uniform(32, 0.5), np.array([2**31 - 1], np.int32)
    assert run("nn.add", [(most, halves), (most, halves)], (1,), halves).item() == 2**31 - 1


def test_sums_wider_than_64_bits() -> None:
    x, y = uniform(32, 1.0, 2**31 - 1), uniform(32, 2.0**40)
    data = np.full((1, 3), -(2**31), np.int32)
    # 3 * (2^32 - 1)^2 is above 2^65: f32(3 * 2^64) * 2^-40.
    assert run("nn.matmul {transpose_b = true}", [(data, x), (data, x)], (1, 1), y).item() == 3 * 2**24
    assert run("nn.mul", [(data, x), (data, x)], (1, 3), y).tolist() == [[2**24] * 3]


@pytest.mark.parametrize(
    ("left", "right", "terms", "dtype"),
    [
        (255, 128, 514, np.float32),
        (256, 256, 255, np.float32),
        (256, 256, 256, np.float64),
        (2**26, 2**26, 1, np.float64),
        (2**26, 2**26, 2, np.int64),
        (2**31, 2**31, 1, np.int64),
        (2**31, 2**31, 2, np.object_),
    ],
)
def test_sums_are_exact_in_their_type(left: int, right: int, terms: int, dtype: type) -> None:
    assert sum_dtype(left, right, terms) == dtype


@pytest.mark.parametrize("at_once", [1 << 21, 20])
def test_blocks_are_summed_in_f32_in_order(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr("qmlir.dialects.nn.contraction.evaluate._BLOCKS_AT_ONCE", at_once)
    generator = np.random.default_rng(8)
    x, y, b = uniform(8, 0.3, 5), uniform(16, 0.07, 11), uniform(32, 0.001)
    scales = np.float32(generator.uniform(0.1, 2, (3, 4)))
    w = UniformQuantizedType.per_block(IntegerType(4), f32, {0: 2, 1: 2}, scales, generator.integers(-8, 8, (3, 4)))
    data, weight = drawn(generator, x, 5, 8), drawn(generator, w, 6, 8)
    bias = generator.integers(-900, 900, 6).astype(np.int32)
    xs, ws = plain(data, x), plain(weight, w)
    wanted = np.zeros((5, 6), np.int16)
    for i, j in np.ndindex(5, 6):
        total = np.float32(0)
        for block in range(4):
            part = sum(xs[i, k] * ws[j, k] for k in (2 * block, 2 * block + 1))
            scale = np.float32(0.3) * scales[j // 2, block]
            total = np.float32(total + np.float32(scale * np.float32(part)))
        total = np.float32(total + np.float32(np.float32(0.001) * np.float32(bias[j])))
        wanted[i, j] = round(float(np.float32(total / np.float32(0.07)))) + 11
    operands = [(data, x), (weight, w), (bias, b)]
    assert run("nn.fully_connected", operands, (5, 6), y).tolist() == wanted.tolist()
    without_bias = [(data, x), (weight, w), (np.zeros_like(bias), b)]
    wanted = run("nn.fully_connected", without_bias, (5, 6), y)
    assert np.array_equal(run("nn.matmul {transpose_b = true}", without_bias[:2], (5, 6), y), wanted)
    turned = w.permuted((1, 0))
    assert np.array_equal(run("nn.matmul", [(data, x), (weight.T, turned)], (5, 6), y), wanted)


def test_blocks_of_a_convolution_ascend_row_by_row() -> None:
    x, y = uniform(8, 1.0), uniform(32, 1.0)
    # Along channels, then rows of the kernel: 1 + 2^24 + 1 - 2^24, in which f32 loses either 1. By columns it is 2.
    scales = np.float32([1, 2.0**24, 1, 2.0**24]).reshape(1, 2, 2, 1)
    w = UniformQuantizedType.per_block(IntegerType(8), f32, {1: 1, 2: 1}, scales)
    data, weight = np.ones((1, 2, 2, 1), np.int8), np.int8([1, 1, 1, -1]).reshape(1, 2, 2, 1)
    assert run("nn.conv", [(data, x), (weight, w)], (1, 1, 1, 1), y).item() == 0


ELEMENTWISE = {"relu": lambda a: max(a, 0), "abs": abs, "neg": lambda a: -a}


@given(
    st.sampled_from(sorted(ELEMENTWISE)),
    st.sampled_from(WIDTHS),
    st.sampled_from(WIDTHS),
    st.sampled_from([(0.5, 1.0), (1.0, 0.5), (0.3, 0.3), (0.75, 2.5), (0.1, 0.7)]),
    st.integers(0, 2**32 - 1),
)
def test_one_scale(name: str, bits: int, result_bits: int, scales: tuple[float, float], seed: int) -> None:
    generator = np.random.default_rng(seed)
    x, y = (
        uniform(width, scale, int(generator.integers(0, 2 if width < 0 else 2 ** (width - 1))))
        for width, scale in zip((bits, result_bits), scales, strict=True)
    )
    data = drawn(generator, x, 7)
    wanted = [requantized(ELEMENTWISE[name](each), np.float32(x.scale), y) for each in plain(data, x)]
    assert run(f"nn.{name}", [(data, x)], (7,), y).tolist() == wanted


@pytest.mark.parametrize("name", ["add", "sub", "min", "max"])
def test_two_operands_of_one_scale(name: str) -> None:
    function = {"add": int.__add__, "sub": int.__sub__, "min": min, "max": max}[name]
    generator = np.random.default_rng(3)
    a, b, y = uniform(8, 0.3, 3), uniform(-4, 0.3, 5), uniform(8, 0.9, -7)
    left, right = drawn(generator, a, 3, 1), drawn(generator, b, 4)
    lefts, rights = plain(left, a), plain(right, b)
    wanted = [[requantized(function(i, j), np.float32(0.3), y) for j in rights] for (i,) in lefts]
    assert run(f"nn.{name}", [(left, a), (right, b)], (3, 4), y).tolist() == wanted


def test_a_product_is_requantized_from_the_product_of_the_scales() -> None:
    generator = np.random.default_rng(3)
    a, b, y = uniform(8, [0.3, 0.1], [3, 4], axis=0), uniform(-4, 0.7, 5), uniform(8, 1.1, -7)
    left, right = drawn(generator, a, 2, 9), drawn(generator, b, 9)
    wanted = [
        [
            requantized(i * j, np.float32(a.scales[row]) * np.float32(0.7), y)
            for i, j in zip(line, plain(right, b), strict=True)
        ]
        for row, line in enumerate(plain(left, a))
    ]
    assert run("nn.mul", [(left, a), (right, b)], (2, 9), y).tolist() == wanted


@pytest.mark.parametrize("counts_padding", [False, True])
@pytest.mark.parametrize("is_ceil", [False, True])
def test_average_pool(counts_padding: bool, is_ceil: bool) -> None:
    generator = np.random.default_rng(4)
    x, y = uniform(8, 0.3, 3), uniform(-8, 0.07, 131)
    data, kernel, stride, pads = drawn(generator, x, 1, 2, 6, 7), (3, 2), (2, 2), (1, 0, 1, 1)
    shape = (1, 2, 4 if is_ceil else 3, 4)
    xs = plain(data, x)
    wanted = np.zeros(shape, np.uint8)
    for _, channel, i, j in np.ndindex(*shape):
        total = count = 0
        for k, m in np.ndindex(*kernel):
            down, across = i * stride[0] - pads[0] + k, j * stride[1] - pads[1] + m
            is_inside = 0 <= down < 6 and 0 <= across < 7
            is_padding = -pads[0] <= down < 6 + pads[2] and -pads[1] <= across < 7 + pads[3]
            total += xs[0, channel, down, across] if is_inside else 0
            count += is_inside or (counts_padding and is_padding)
        multiplier = np.float32(np.float32(0.3) / np.float32(np.float32(0.07) * np.float32(count)))
        rounded = round(Fraction(float(np.float32(np.float32(total) * multiplier)))) + 131
        wanted[0, channel, i, j] = min(max(rounded, 0), 255)
    properties = (
        f"{{kernel = {list(kernel)}, strides = {list(stride)}, pads = {list(pads)}, "
        f"count_include_pad = {str(counts_padding).lower()}, ceil_mode = {str(is_ceil).lower()}}}"
    )
    assert run(f"nn.average_pool {properties}", [(data, x)], shape, y).tolist() == wanted.tolist()


def test_max_pool_of_padding_alone_is_the_smallest_stored_value() -> None:
    x = uniform(4, 0.3, 3)
    data = np.int8([[[1, 2]]])
    assert run("nn.max_pool {kernel = [1], pads = [1, 0]}", [(data, x)], (1, 1, 3), x).tolist() == [[[-8, 1, 2]]]


def test_means_along_axes_whose_scales_differ_go_through_float() -> None:
    x, y = uniform(8, [0.5, 2.0], [1, -1], axis=0), uniform(8, 0.25, 3)
    data = np.int8([[3, 5], [0, 4]])
    # The reals are [1, 2] and [2, 10].
    assert run("nn.reduce_sum {axes = [0], keep_dims = false}", [(data, x)], (2,), y).tolist() == [15, 51]
    assert run("nn.reduce_mean {axes = [0], keep_dims = false}", [(data, x)], (2,), y).tolist() == [9, 27]
    assert run("nn.reduce_mean {axes = [1], keep_dims = false}", [(data, x)], (2,), y).tolist() == [9, 27]
    kept = uniform(8, [0.25, 0.5], [0, 1], axis=0)
    assert run("nn.reduce_sum {axes = [1], keep_dims = true}", [(data, x)], (2, 1), kept).tolist() == [[12], [25]]


def test_the_mean_of_nothing_is_an_error() -> None:
    x = uniform(8, 0.5)
    with pytest.raises(DiagnosticError, match="the mean of zero elements"):
        run("nn.reduce_mean {axes = [0]}", [(np.zeros((0, 2), np.int8), x)], (1, 2), x)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("is_centered", [True, False])
def test_norms_of_rows_are_within_0_51_steps_of_real_ones(is_centered: bool, bits: int) -> None:
    generator = np.random.default_rng(bits)
    x, y = uniform(bits, 0.01, 5), uniform(16, 12 * 2.0**-16)
    data = drawn(generator, x, 40, 384)
    scale, bias = (generator.uniform(low, 1, 384).astype(np.float32) for low in (0.5, -1))
    operands: list[tuple[np.ndarray, object]] = [(data, x), (scale, f32), (bias, f32)]
    name = "nn.layer_norm" if is_centered else "nn.rms_norm"
    found = run(name, operands if is_centered else operands[:2], data.shape, y)
    real = (data.astype(np.float64) - 5) * float(np.float32(0.01))
    real -= real.mean(1, keepdims=True) if is_centered else 0
    real = real / np.sqrt((real**2).mean(1, keepdims=True) + 1e-5) * scale + (bias if is_centered else 0)
    steps = real / y.scale
    assert np.abs(steps).max() < y.storage_max
    assert np.abs(found - steps).max() <= 0.51


@pytest.mark.parametrize(("name", "wanted"), [("arg_max", 1), ("arg_min", 2)])
def test_places_of_extremes_are_exact(name: str, wanted: int) -> None:
    # In f32 the first two reals are the same.
    x = uniform(32, 0.1)
    data = np.int32([2**30, 2**30 + 1, -5])
    assert run(f"nn.{name} {{keep_dims = false}}", [(data, x)], (), "i64").item() == wanted
    channels = uniform(8, [0.5, 2.0, 1.0], [0, 10, 0], axis=0)
    assert run(f"nn.{name} {{keep_dims = false}}", [(np.int8([3, 11, 1]), channels)], (), "i64").item() == wanted


COMPARISONS = {"equal": "__eq__", "less": "__lt__", "less_or_equal": "__le__", "greater": "__gt__"}


@given(
    st.sampled_from(sorted(COMPARISONS)),
    st.sampled_from([(0.5, 0.25), (0.1, 0.3), (0.1, 0.1), (1e-30, 3.0)]),
    st.sampled_from([8, 32]),
    st.integers(0, 2**32 - 1),
)
def test_comparisons_are_exact(name: str, scales: tuple[float, float], bits: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = uniform(bits, scales[0], -(2 ** (bits - 1))), uniform(bits, scales[1], 3)
    left, right = drawn(generator, a, 6), drawn(generator, b, 6)
    left[0], right[0] = a.zero_point, b.zero_point
    right[1] = np.clip(int(left[1]) - a.zero_point + 3, b.storage_min, b.storage_max)
    wanted = [
        getattr(Fraction(float(np.float32(scales[0]))) * i, COMPARISONS[name])(
            Fraction(float(np.float32(scales[1]))) * j
        )
        for i, j in zip(plain(left, a), plain(right, b), strict=True)
    ]
    assert run(f"nn.{name}", [(left, a), (right, b)], (6,), "i1").astype(bool).tolist() == wanted


def test_movement_and_choice_keep_stored_integers() -> None:
    x = uniform(4, 0.3, 3)
    data = np.int8([[1, -8, 7], [0, 3, -1]])
    assert run("nn.transpose {permutation = [1, 0]}", [(data, x)], (3, 2), x).tolist() == data.T.tolist()
    condition = np.int8([1, 0, 1])
    got = run("nn.where", [(condition, "i1"), (data, x), (data[::-1].copy(), x)], (2, 3), x)
    assert got.tolist() == [[1, 3, 7], [0, -8, -1]]


def test_what_has_no_scale_cannot_be_computed_with() -> None:
    data = np.int8([1, 2])
    with pytest.raises(DiagnosticError, match="expected a uniform quantized type"):
        run("nn.relu", [(data, "!quant.any<i8:f32>")], (2,), "!quant.any<i8:f32>")
    with pytest.raises(DiagnosticError, match="the input contains NaN, which cannot be quantized"):
        run("nn.sqrt", [(np.int8([-1]), uniform(8, 1.0))], (1,), uniform(8, 1.0))


def test_sizes_that_are_known_at_run_time_alone() -> None:
    x, w, a = uniform(8, 0.5, 1), uniform(8, 0.5), uniform(32, 0.25)
    module = module_of("nn.conv", [f"tensor<?x1x?x{x}>", tensor_text((1, 1, 2), w)], f"tensor<?x1x?x{a}>")
    (got,) = interpret(module, [np.int8([[[1, 2, 3]]]), np.int8([[[1, 10]]])]).values()
    assert got.tolist() == [[[10, 21]]]
    (got,) = interpret(module, [np.zeros((0, 1, 4), np.int8), np.int8([[[1, 10]]])]).values()
    assert got.shape == (0, 1, 3)


def outputs(text: str, *inputs: np.ndarray) -> list[np.ndarray]:
    """The results of the function `@main` of a module."""
    module = parse_module(ENVIRONMENT.new_context(), text)
    verify(module)
    return list(interpret(module, inputs).values())


def test_parts_give_the_integers_of_the_composite() -> None:
    generator = np.random.default_rng(9)
    x, y = uniform(8, 0.02, -3), uniform(8, 0.013, -128)
    w = uniform(8, [0.01, 0.012, 0.003], [1, -2, 3], axis=0)
    a = uniform(32, np.float32(0.02) * np.float32(w.scales), axis=1)
    b = uniform(32, a.scales, axis=0)
    data, weight = drawn(generator, x, 50, 7), drawn(generator, w, 3, 7)
    bias = generator.integers(-9000, 9000, 3).astype(np.int32)
    text = f"""!x = {x}
!w = {w}
!a = {a}
!b = {b}
!y = {y}
func.func @main(%x: tensor<50x7x!x>, %w: tensor<3x7x!w>, %b: tensor<3x!b>) -> (tensor<50x3x!y>, tensor<50x3x!y>) {{
  %0 = nn.fully_connected %x, %w, %b : (tensor<50x7x!x>, tensor<3x7x!w>, tensor<3x!b>) -> tensor<50x3x!y>
  %m = nn.matmul %x, %w {{transpose_b = true}} : (tensor<50x7x!x>, tensor<3x7x!w>) -> tensor<50x3x!a>
  %s = nn.add %m, %b : (tensor<50x3x!a>, tensor<3x!b>) -> tensor<50x3x!a>
  %1 = nn.relu %s : (tensor<50x3x!a>) -> tensor<50x3x!y>
  func.return %0, %1 : tensor<50x3x!y>, tensor<50x3x!y>
}}"""
    # The zero point of the result is its minimum: its saturation is a relu.
    composite, parts = outputs(text, data, weight, bias)
    assert composite.tolist() == parts.tolist()
    assert len(np.unique(composite)) > 30


@pytest.mark.parametrize(
    "operation",
    ["sigmoid", "tanh", "exp", "gelu", "hard_swish", "leaky_relu {alpha = 0.3}", "softmax {axis = 0}", "sqrt", "erf"],
)
def test_everything_else_is_its_float_meaning_between_casts(operation: str) -> None:
    name, _, properties = operation.partition(" ")
    text = f"""!x = !quant.uniform<u8:f32:1, {{0.03:1, 0.05:0}}>
!y = !quant.uniform<i8:f32, 0.017:-31>
func.func @main(%x: tensor<256x2x!x>) -> (tensor<256x2x!y>, tensor<256x2x!y>) {{
  %0 = nn.{name} %x {properties} : (tensor<256x2x!x>) -> tensor<256x2x!y>
  %r = quant.dcast %x : tensor<256x2x!x> to tensor<256x2xf32>
  %f = nn.{name} %r {properties} : (tensor<256x2xf32>) -> tensor<256x2xf32>
  %1 = quant.qcast %f : tensor<256x2xf32> to tensor<256x2x!y>
  func.return %0, %1 : tensor<256x2x!y>, tensor<256x2x!y>
}}"""
    least = 1 if name == "sqrt" else 0  # below the zero point there is no root
    ours, casts = outputs(text, np.maximum(np.arange(256, dtype=np.uint8), least).repeat(2).reshape(256, 2))
    assert ours.tobytes() == casts.tobytes()
