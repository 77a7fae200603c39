"""How quantized operations rescale in the modes that they name, against Python's integers and fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from qmlir.arithmetic.requantization import Mode, Ties
from qmlir.dialects.quant.types import UniformQuantizedType
from tests.unit.dialects.nn.test_quantized_meaning import drawn, plain, run, uniform

GENERATOR = np.random.default_rng(5)


def fixed(ratio: Fraction) -> tuple[int, int]:
    """31 bits of the ratio, and the shift."""
    exponent = math.frexp(float(ratio))[1]
    scaled = math.floor(ratio / Fraction(2) ** (exponent - 31) + Fraction(1, 2))
    return (scaled >> 1, 30 - exponent) if scaled == 1 << 31 else (scaled, 31 - exponent)


def rounded(value: Fraction, ties: Ties) -> int:
    match ties:
        case Ties.EVEN:
            return round(value)
        case Ties.UP:
            return math.floor(value + Fraction(1, 2))
        case Ties.AWAY:
            return int(math.copysign(math.floor(abs(value) + Fraction(1, 2)), value))


def rescaled(integer: int, ratio: Fraction, mode: Mode, ties: Ties = Ties.EVEN) -> int:
    """The integer times the ratio, by the text of TOSA's RESCALE, or the shift exactly."""
    if mode is Mode.SHIFT:
        return rounded(integer * ratio, ties)
    multiplier, shift = fixed(ratio)
    nudge = 1 << (shift - 1)
    if mode is Mode.DOUBLE_ROUND and shift > 31:
        nudge += (1 << 30) if integer >= 0 else -(1 << 30)
    return (integer * multiplier + nudge) >> shift


def stored(integer: int, element: UniformQuantizedType) -> int:
    return min(max(integer + element.zero_point, element.storage_min), element.storage_max)


def exact(scale: float) -> Fraction:
    return Fraction(float(np.float32(scale)))


def text(mode: Mode, ties: Ties) -> str:
    return f"#kernel.requantize<{mode}{f', {ties}' if mode is Mode.SHIFT else ''}>"


MODES = [
    (Mode.SINGLE_ROUND, Ties.EVEN),
    (Mode.DOUBLE_ROUND, Ties.EVEN),
    *((Mode.SHIFT, ties) for ties in Ties),
]


@pytest.mark.parametrize(("mode", "ties"), MODES)
def test_a_contraction(mode: Mode, ties: Ties) -> None:
    x = uniform(8, 0.25, 3)
    w = uniform(8, [0.5, 2.0**-6, 2.0**-9] if mode is Mode.SHIFT else [0.1, 0.013, 0.0007], axis=0)
    y = uniform(-8, 1.0 if mode is Mode.SHIFT else 0.37, 100)
    data, weight = drawn(GENERATOR, x, 5, 7), drawn(GENERATOR, w, 3, 7)
    found = run(f"nn.fully_connected {{requantize = {text(mode, ties)}}}", [(data, x), (weight, w)], (5, 3), y)
    sums = plain(data, x) @ plain(weight, w).T
    ratios = [exact(np.float32(0.25) * np.float32(s)) / exact(y.scale) for s in w.scales]
    wanted = [[stored(rescaled(sums[i, j], ratios[j], mode, ties), y) for j in range(3)] for i in range(5)]
    assert found.tolist() == wanted


@pytest.mark.parametrize(("mode", "ties"), MODES)
@pytest.mark.parametrize(("operation", "count"), [("nn.relu", 1), ("nn.neg", 1), ("nn.reduce_mean", 4)])
def test_one_scale(operation: str, count: int, mode: Mode, ties: Ties) -> None:
    x, y = uniform(8, 0.25, -9), uniform(6, 0.5 if mode is Mode.SHIFT else 0.3, 2)
    data = drawn(GENERATOR, x, 50, 4)
    axes = "axes = [1], keep_dims = false, " if count > 1 else ""
    shape = (50,) if count > 1 else (50, 4)
    found = run(f"{operation} {{{axes}requantize = {text(mode, ties)}}}", [(data, x)], shape, y)
    integers = plain(data, x)
    integers = {"nn.relu": np.maximum(integers, 0), "nn.neg": -integers, "nn.reduce_mean": integers.sum(axis=1)}[
        operation
    ]
    ratio = exact(0.25) / (exact(y.scale) * count)
    if mode is not Mode.SHIFT:
        ratio = exact(0.25) / exact(np.float32(y.scale) * np.float32(count))
    assert found.tolist() == np.vectorize(lambda a: stored(rescaled(a, ratio, mode, ties), y))(integers).tolist()


@pytest.mark.parametrize("ties", list(Ties))
def test_a_sum_of_scales_that_are_shifts_of_each_other_is_exact(ties: Ties) -> None:
    a, b, y = uniform(8, 0.25, 3), uniform(-4, 2.0, 5), uniform(8, 4.0, -1)
    left, right = drawn(GENERATOR, a, 300), drawn(GENERATOR, b, 300)
    found = run(f"nn.add {{requantize = {text(Mode.SHIFT, ties)}}}", [(left, a), (right, b)], (300,), y)
    real = plain(left, a) * Fraction(1, 4) + plain(right, b) * Fraction(2)
    assert found.tolist() == [stored(rounded(value / 4, ties), y) for value in real]


@pytest.mark.parametrize("mode", [Mode.SINGLE_ROUND, Mode.DOUBLE_ROUND])
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_a_sum_of_other_scales_is_that_of_tflite(mode: Mode, bits: int) -> None:
    a, b, y = uniform(8, 0.031, 3), uniform(bits, 0.0077, 0), uniform(8, 0.05, -1)
    left, right = drawn(GENERATOR, a, 300), drawn(GENERATOR, b, 300)
    found = run(f"nn.add {{requantize = {text(mode, Ties.EVEN)}}}", [(left, a), (right, b)], (300,), y)
    # reference_ops::Add, where both have 8 bits: operands shifted left by 20 bits (28 less their width, at all), then
    # rescaled so that twice the larger range has 28 bits; the sum is rescaled to the result.
    common = 2 * max(exact(a.scale) * 2**8, exact(b.scale) * 2**bits) / 2**28
    shifts = 20, max(28 - bits, 0)
    for p, q, r in zip(plain(left, a), plain(right, b), found, strict=True):
        total = sum(
            rescaled(int(value) << shift, exact(element.scale) / (1 << shift) / common, mode)
            for value, shift, element in zip((p, q), shifts, (a, b), strict=True)
        )
        assert r == stored(rescaled(total, common / exact(y.scale), mode), y)


def test_the_parts_of_a_composite_requantize_as_it_does() -> None:
    x, w, y = uniform(8, 0.25), uniform(8, 0.5), uniform(8, 1.0)
    sums, bias = uniform(32, 0.125), np.array([7, -7], np.int32)
    data, weight = drawn(GENERATOR, x, 5, 7), drawn(GENERATOR, w, 2, 7)
    operation = f"nn.fully_connected {{components = {{matmul = {sums}}}, requantize = #kernel.requantize<shift, up>}}"
    found = run(operation, [(data, x), (weight, w), (bias, sums)], (5, 2), y)
    total = plain(data, x) @ plain(weight, w).T + bias.astype(object)
    assert found.tolist() == [[stored(rounded(Fraction(a, 8), Ties.UP), y) for a in row] for row in total.tolist()]


def test_sums_saturate_to_the_32_bits_that_a_mode_with_a_multiplier_takes() -> None:
    x, y = uniform(16, 0.25), uniform(32, 0.5)
    data = np.full((1, 70000), 32767, np.int16)  # 2293690000 in all
    operation = "nn.reduce_sum {axes = [1], requantize = #kernel.requantize<single_round>}"
    assert run(operation, [(data, x)], (1, 1), y).item() == (2**31 - 1 + 1) // 2
    shift = operation.replace("single_round", "shift, even")
    assert run(shift, [(data, x)], (1, 1), y).item() == 2293690000 // 2
