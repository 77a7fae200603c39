"""Requantizations in integers: every way that the pass has gives the integers of the reference functions."""

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import (
    Mode,
    requantize_double_round,
    requantize_f32,
    requantize_qlinear,
    requantize_single_round,
)
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.passmanager.manager import run_pipeline
from tests.support.emitted import parsed
from tests.support.residual import residual_network

LIMITS = {8: (-128, 127), 16: (-32768, 32767)}


def _module(
    channels: int, positions: int, mode: Mode, multipliers: Array, zero_point: int, bits: int, indices: str = "d1"
) -> ModuleOp:
    """Requantizes `[positions, channels]`; the multiplier of an element `(d0, d1)` is the one at `indices`."""
    blob = multipliers.astype(np.float32).tobytes().hex().upper()
    dense = f'"0x{blob}"' if multipliers.size > 1 else repr(float(np.float32(multipliers[0])))
    type_ = f"tensor<{'x'.join(map(str, multipliers.shape))}xf32>"
    low, high = LIMITS[bits]
    shape = f"{positions}x{channels}"
    return parsed(f"""
func.func @main(%x: tensor<{shape}xi32>) -> tensor<{shape}xi{bits}> {{
  %m = arith.constant dense<{dense}> : {type_}
  %e = tensor.empty() : tensor<{shape}xi{bits}>
  %r = linalg.generic {{
      indexing_maps = [
          affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ({indices})>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%x, %m : tensor<{shape}xi32>, {type_}) outs(%e : tensor<{shape}xi{bits}>) {{
  ^bb0(%a: i32, %f: f32, %o: i{bits}):
    %q = kernel.requantize %a, %f {{
      mode = #kernel.requantize<{mode}>, zero_point = {zero_point}, minimum = {low}, maximum = {high}
    }} : i32, f32 -> i{bits}
    linalg.yield %q : i{bits}
  }} -> tensor<{shape}xi{bits}>
  func.return %r : tensor<{shape}xi{bits}>
}}
""")


def _reference(mode: Mode, x: Array, multipliers: Array, zero_point: int, bits: int) -> Array:
    way = requantize_f32 if mode is Mode.F32 else requantize_qlinear
    return way(x, multipliers.astype(np.float32), zero_point, LIMITS[bits])


def _ties(rng: np.random.Generator, multipliers: Array, positions: int) -> Array:
    """Accumulators next to those that are half-way between two results."""
    halves = rng.integers(-300, 300, (positions, len(multipliers))) + 0.5
    nearest = np.rint(halves / multipliers) + rng.integers(-1, 2, halves.shape)
    return np.clip(nearest, -(1 << 31), (1 << 31) - 1).astype(np.int32)


def _lowered(module: ModuleOp) -> tuple[ModuleOp, list[Diagnostic]]:
    told: list[Diagnostic] = []
    with diagnostic_handler(told.append):
        made = run_pipeline(module.clone(), "kernel-requantize-by-integers")
    return made, told


# All accumulators of 32 bits: f32 doesn't hold them, and few sums and shifts have their steps.
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("mode", [Mode.F32, Mode.QLINEAR])
@pytest.mark.parametrize("seed", range(4))
def test_accumulators_of_32_bits(seed: int, mode: Mode, bits: int) -> None:
    rng = np.random.default_rng([seed, bits])
    channels, positions = int(rng.choice([1, 5])), 3000
    multipliers = (2.0 ** rng.uniform(-24, -3) * 2.0 ** rng.uniform(0, 4, channels)).astype(np.float32)
    zero_point = int(rng.integers(*LIMITS[bits]))
    made, told = _lowered(_module(channels, positions, mode, multipliers, zero_point, bits))
    (remark,) = told
    assert "by every rounding of f32 in 64 bits" in remark.message or (
        bits == 8 and "proven at each of 255" in remark.message
    )
    assert "f32>)" not in str(made)
    ends = np.array([-(1 << 31), (1 << 31) - 1, 1 << 24, (1 << 24) + 1, -(1 << 24) - 1, 0])
    for x in (
        rng.integers(-(1 << 31), 1 << 31, (positions, channels)).astype(np.int32),
        _ties(rng, multipliers, positions),
        np.resize(ends, (positions, channels)).astype(np.int32),
    ):
        wanted = _reference(mode, x, multipliers, zero_point, bits)
        np.testing.assert_array_equal(qmlir.interpret(made, [x])["output0"], wanted)


def test_multipliers_that_no_word_holds_together() -> None:
    rng = np.random.default_rng(0)
    multipliers = np.array([3.1e-1, 2.7e-9, 1.3e-14, 0.75], np.float32)
    made, told = _lowered(_module(4, 2000, Mode.F32, multipliers, 9, 8))
    (remark,) = told
    assert remark.message.endswith("by every rounding of f32 in 64 bits")
    assert "tensor<4xi8>" in str(made)  # the places of each
    for x in (_ties(rng, multipliers, 2000), rng.integers(-(1 << 31), 1 << 31, (2000, 4)).astype(np.int32)):
        wanted = _reference(Mode.F32, x, multipliers, 9, 8)
        np.testing.assert_array_equal(qmlir.interpret(made, [x])["output0"], wanted)


FACTORS, SHIFTS = np.array([1342177280, 2040109465]), np.array([38, 40])

FIXED_POINT = """
func.func @main(%x: tensor<4000x2xi32>) -> tensor<4000x2xRESULT> {{
  %c = arith.constant dense<60000> : tensor<4000x2xi32>
  %n = arith.constant dense<-60000> : tensor<4000x2xi32>
  %u = arith.minsi %x, %c : tensor<4000x2xi32>
  %v = arith.maxsi %u, %n : tensor<4000x2xi32>
  %m = arith.constant dense<[1342177280, 2040109465]> : tensor<2xi32>
  %s = arith.constant dense<[38, 40]> : tensor<2xi8>
  %e = tensor.empty() : tensor<4000x2xRESULT>
  %r = linalg.generic {{
      indexing_maps = [
          affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>,
          affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%v, %m, %s : tensor<4000x2xi32>, tensor<2xi32>, tensor<2xi8>) outs(%e : tensor<4000x2xRESULT>) {{
  ^bb0(%a: i32, %f: i32, %t: i8, %o: RESULT):
    %q = kernel.requantize %a, %f, %t {{
      mode = #kernel.requantize<{mode}>, zero_point = {zero_point}, minimum = {minimum}, maximum = {maximum}
    }} : i32, i32, i8 -> RESULT
    linalg.yield %q : RESULT
  }} -> tensor<4000x2xRESULT>
  func.return %r : tensor<4000x2xRESULT>
}}
"""


@pytest.mark.parametrize(
    ("mode", "zero_point", "way"),
    [
        (Mode.SINGLE_ROUND, -128, "proven at each of 255 steps"),
        (Mode.DOUBLE_ROUND, -128, "proven at each of 255 steps"),
        (Mode.DOUBLE_ROUND, 0, "by a product of 64 bits, rounded in its high word"),
    ],
)
@pytest.mark.parametrize("is_wide", [False, True])
def test_fixed_point_needs_no_shift_of_64_bits(mode: Mode, zero_point: int, way: str, is_wide: bool) -> None:
    """Rounding twice moves results of both signs apart, so they have common steps only if one sign is clamped away."""
    limits = (-(1 << 40), 1 << 40) if is_wide else LIMITS[8]
    text = FIXED_POINT.format(mode=mode, zero_point=zero_point, minimum=limits[0], maximum=limits[1])
    made, told = _lowered(parsed(text.replace("RESULT", "i64" if is_wide else "i8")))
    assert is_wide or told[0].message.endswith(way)
    assert "kernel.requantize" not in str(made)
    rng = np.random.default_rng(4)
    x = rng.integers(-70_000, 70_000, (4000, 2)).astype(np.int32)
    x[:2000] = np.rint((rng.integers(0, 256, (2000, 1)) + 0.5) / np.ldexp(FACTORS, -SHIFTS))
    x += rng.integers(-1, 2, x.shape).astype(np.int32)
    reference = requantize_single_round if mode is Mode.SINGLE_ROUND else requantize_double_round
    wanted = reference(np.clip(x, -60_000, 60_000), FACTORS, SHIFTS, zero_point, limits)
    np.testing.assert_array_equal(qmlir.interpret(made, [x])["output0"], wanted)


def test_a_multiplier_that_is_too_large_leaves_all_in_float() -> None:
    multipliers = np.array([2.0**25, 2.7e-9], np.float32)
    made, told = _lowered(_module(2, 4, Mode.F32, multipliers, 0, 8))
    assert "a multiplier is too large or too small" in told[0].message
    x = np.array([[0, -(1 << 31)], [1, 0], [-1, 1 << 30], [3, (1 << 31) - 1]], np.int32)
    wanted = _reference(Mode.F32, x, multipliers, 0, 8)
    np.testing.assert_array_equal(qmlir.interpret(made, [x])["output0"], wanted)


@pytest.mark.parametrize(
    ("indices", "rows"), [("d0, d1", [0, 1, 2, 3]), ("d0 floordiv 2, d1", [0, 0, 1, 1]), ("1, d1", [1] * 4)]
)
def test_multipliers_that_are_not_one_per_channel(indices: str, rows: list[int]) -> None:
    rng = np.random.default_rng(0)
    multipliers = 2.0 ** rng.uniform(-10, -6, (max(rows) + 1, 3))
    made, _ = _lowered(_module(3, 4, Mode.F32, multipliers, 5, 8, indices))
    x = rng.integers(-10_000, 10_000, (4, 3)).astype(np.int32)
    wanted = _reference(Mode.F32, x, multipliers[rows], 5, 8)
    np.testing.assert_array_equal(qmlir.interpret(made, [x])["output0"], wanted)


def test_a_rounding_that_is_wrong_is_found_out() -> None:
    """The half of ties away from even: what a test of random accumulators alone would not see."""
    multipliers = np.array([0.31], np.float32)
    made, (remark,) = _lowered(_module(1, 400, Mode.QLINEAR, multipliers, 0, 8))
    assert "by every rounding of f32" in remark.message
    x = np.arange(-200, 200, dtype=np.int32).reshape(-1, 1)
    wanted = _reference(Mode.QLINEAR, x, multipliers, 0, 8)
    text = str(made)
    assert np.array_equal(qmlir.interpret(made, [x])["output0"], wanted)
    half = re.findall(r"arith\.constant (\d{4,}) : i64", text)
    broken = [parsed(text.replace(number, str(int(number) + 1))) for number in half]
    assert broken
    assert all(not np.array_equal(qmlir.interpret(each, [x])["output0"], wanted) for each in broken)


@pytest.mark.parametrize("accumulator", ["i8", ""])
def test_a_network_with_a_residual_sum_has_no_floats(accumulator: str) -> None:
    module = residual_network(accumulator)
    rng = np.random.default_rng(1)
    x = rng.integers(-128, 128, (1, 4, 8, 8)).astype(np.int8)
    (wanted,) = qmlir.interpret(module, [x]).values()
    emitted = qmlir.emit(module, cpu="cortex-m3")
    text = emitted.files["model.c"]
    assert isinstance(text, str)
    assert not re.search(r"\b(float|double)\b", text)
    for emitter in ("numba", "llvm"):
        program = qmlir.compile(module, isa="portable-integer", codegen=emitter)
        np.testing.assert_array_equal(program([x])["y"], wanted)


# --- Chains of operations ---------------------------------------------------------------------------------------------


def _chain_module(leaves: Sequence[int], positions: int, body: Sequence[str], result: int) -> ModuleOp:
    """A body that gives `%q` of `%x0` and `%x1`, integers of the widths `leaves`."""
    names = [f"%x{number}" for number in range(len(leaves))]
    types = [f"tensor<{positions}xi{bits}>" for bits in leaves]
    arguments = ", ".join(f"%t{number}: {type_}" for number, type_ in enumerate(types))
    values = ", ".join(f"%t{number}" for number in range(len(leaves)))
    elements = ", ".join(f"{name}: i{bits}" for name, bits in zip(names, leaves, strict=True))
    maps = ", ".join(["affine_map<(d0) -> (d0)>"] * (len(leaves) + 1))
    lines = "\n    ".join(body)
    return parsed(f"""
func.func @main({arguments}) -> tensor<{positions}xi{result}> {{
  %e = tensor.empty() : tensor<{positions}xi{result}>
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
      ins({values} : {", ".join(types)}) outs(%e : tensor<{positions}xi{result}>) {{
  ^bb0({elements}, %o: i{result}):
    {lines}
    linalg.yield %q : i{result}
  }} -> tensor<{positions}xi{result}>
  func.return %r : tensor<{positions}xi{result}>
}}
""")


def _everything(bits: int, rng: np.random.Generator) -> Array:
    """All integers of so many bits; of 64, those at the ends and beside the steps of f32, and some."""
    if bits == 1:
        return np.array([False, True])
    if bits < 64:
        return np.arange(-(1 << bits - 1), 1 << bits - 1).astype(np.int8 if bits <= 8 else np.int16)
    powers = [sign * (1 << bit) + move for bit in range(62) for sign in (-1, 1) for move in (-1, 0, 1)]
    ends = [-(1 << 63), 1 - (1 << 63), (1 << 62) + 1, (1 << 63) - (1 << 40), (1 << 63) - 1]
    some = rng.integers(-(1 << 62), 1 << 62, 200) >> rng.integers(0, 60, 200)
    return np.concatenate([np.array([*powers, *ends]), some]).astype(np.int64)


def _same(module: ModuleOp, inputs: Sequence[Array]) -> str:
    """The integers are those of the module as it was; what was told."""
    made, told = _lowered(module)
    (wanted,), (found,) = (qmlir.interpret(each, list(inputs)).values() for each in (module, made))
    np.testing.assert_array_equal(found, wanted, str(made))
    return "; ".join(each.message for each in told)


def _multiplier(rng: np.random.Generator, *, is_wild: bool = False) -> str:
    kind = rng.random()
    number = 2.0 ** rng.uniform(-9, 2)
    if kind < 0.25:
        number = 2.0 ** int(rng.integers(-6, 3))
    elif kind < 0.4:
        number = round(number * 20) / 20 + 0.05
    elif is_wild and kind < 0.5:
        return "0x7F800000"  # infinity
    return repr(float(np.float32(number if rng.random() < 0.8 else -number)))


def _random_chain(rng: np.random.Generator, leaves: Sequence[int]) -> list[str]:
    lines: list[str] = []

    def add(text: str) -> str:
        lines.append(f"%v{len(lines)} = {text}")
        return f"%v{len(lines) - 1}"

    def constant(number: str) -> str:
        return add(f"arith.constant {number} : f32")

    def leaf(position: int) -> str:
        found = add(f"arith.sitofp %x{position} : i{leaves[position]} to f32")
        if rng.random() < 0.6:
            found = add(f"arith.subf {found}, {constant(repr(float(rng.integers(-20, 20))))} : f32")
        return found

    now = add(f"arith.mulf {leaf(0)}, {constant(_multiplier(rng))} : f32")
    if len(leaves) > 1:
        other = leaf(1)
        way = rng.choice(["addf", "subf", "maximumf", "mulf", "fma"])
        if way == "fma":
            now = add(f"math.fma {other}, {constant(_multiplier(rng))}, {now} : f32")
        else:
            scaled = other if way == "mulf" else add(f"arith.mulf {other}, {constant(_multiplier(rng))} : f32")
            now = add(f"arith.{way} {now}, {scaled} : f32")
    if rng.random() < 0.2:
        now = add(f"arith.negf {now} : f32")
    if rng.random() < 0.2:
        now = add(f"arith.subf {constant('3.0')}, {now} : f32")
    if (way := rng.choice(["divf", "mulf", ""])) != "":
        now = add(f"arith.{way} {now}, {constant(_multiplier(rng))} : f32")
    now = add(f"math.roundeven {now} : f32")
    if rng.random() < 0.7:
        now = add(f"arith.addf {now}, {constant(repr(float(rng.integers(-128, 128))))} : f32")
    now = add(f"arith.maximumf {now}, {constant('-128.0')} : f32")
    now = add(f"arith.minimumf {now}, {constant('127.0')} : f32")
    return [*lines, f"%q = arith.fptosi {now} : f32 to i8"]


@pytest.mark.parametrize("leaves", [(1,), (8,), (16,), (64,), (4, 8), (8, 4), (1, 8)])
def test_chains_of_all_integers(leaves: tuple[int, ...]) -> None:
    rng = np.random.default_rng([*leaves, 7])
    for _ in range(10 if len(leaves) == 1 else 3):
        grid = np.meshgrid(*(_everything(bits, rng) for bits in leaves), indexing="ij")
        inputs = [np.ascontiguousarray(each.reshape(-1)) for each in grid]
        told = _same(_chain_module(leaves, inputs[0].size, _random_chain(rng, leaves), 8), inputs)
        assert "requantizes" in told or 1 in leaves


@pytest.mark.parametrize("bits", [8, 16, 64])
def test_requantizations_of_all_integers(bits: int) -> None:
    rng = np.random.default_rng(bits)
    x = _everything(bits, rng)
    for factor in ["0x7F800000", "0x7FC00000", "-0.00031", *(_multiplier(rng, is_wild=True) for _ in range(4))]:
        mode = rng.choice(["f32", "qlinear"])
        told = _same(
            _chain_module(
                (bits,), x.size,
                [f"%m = arith.constant {factor} : f32", f"%q = kernel.requantize %x0, %m {{ mode = "
                 f"#kernel.requantize<{mode}>, zero_point = 5, minimum = -128, maximum = 127 }} : i{bits}, f32 -> i8"],
                8,
            ),
            [x],
        )  # fmt: skip
        if factor.startswith("0x7F"):
            assert "a constant is not finite" in told


def _f32(number: float) -> str:
    """The bits of a number of f32, as a constant is written."""
    return f"0x{np.float32(number).view(np.uint32):08X}"


def _between(bits: int, low: int, high: int) -> list[str]:
    """`%x`, the integer of a leaf of so many bits, kept inside a range."""
    return [
        f"%low = arith.constant {low} : i{bits}", f"%high = arith.constant {high} : i{bits}",
        f"%above = arith.maxsi %x0, %low : i{bits}", f"%x = arith.minsi %above, %high : i{bits}",
    ]  # fmt: skip


@pytest.mark.parametrize("bits", [32, 33, 40, 48, 63, 64])
@pytest.mark.parametrize("span", [100, 1 << 20])
def test_integers_of_every_width_up_to_64(span: int, bits: int) -> None:
    """2^31 is an integer of 33 bits and more: the end of a range, and of another sign in 32."""
    high = 1 << min(31, bits - 1)
    for factor, way, low in ((4.0e-10, "f32", 0), (-3.1e-8, "qlinear", -128), (0.1 / span, "f32", -128)):
        body = [
            *_between(bits, high - span, high - (bits == 32)), f"%m = arith.constant {_f32(factor)} : f32",
            f"%q = kernel.requantize %x, %m {{ mode = #kernel.requantize<{way}>, zero_point = 0, minimum = {low}, "
            f"maximum = 127 }} : i{bits}, f32 -> i8",
        ]  # fmt: skip
        x = np.array([high - 1, high - 1 - span // 2, high - span, 0, -1, -high, high if bits > 32 else 0])
        x = x.astype(np.int32 if bits == 32 else np.int64)
        assert "requantizes" in _same(_chain_module((bits,), x.size, body, 8), [x])


def test_integers_of_more_than_64_bits() -> None:
    """No value of i128 is computed here, so it has no steps; its range says that i64 holds it."""
    body = [
        *_between(128, -1000, 1000), "%m = arith.constant 0.05 : f32",
        "%q = kernel.requantize %x, %m { mode = #kernel.requantize<f32>, zero_point = 0, minimum = -128, "
        "maximum = 127 } : i128, f32 -> i8",
    ]  # fmt: skip
    made, (remark,) = _lowered(_chain_module((128,), 1, body, 8))
    assert remark.message.endswith("by every rounding of f32 in 64 bits")
    assert "arith.trunci" in str(made)


def _sum_of_two(first: float, second: float, moves: tuple[float, float], way: str) -> list[str]:
    return [
        "%f = arith.sitofp %x0 : i32 to f32",
        *(f"%move{n} = arith.constant {_f32(move)} : f32" for n, move in enumerate(moves)),
        *(f"%factor{n} = arith.constant {_f32(each)} : f32" for n, each in enumerate((first, second))),
        *(f"%moved{n} = arith.addf %f, %move{n} : f32" for n in range(2)),
        *(f"%scaled{n} = arith.mulf %moved{n}, %factor{n} : f32" for n in range(2)),
        f"%sum = arith.{way} %scaled0, %scaled1 : f32", "%round = math.roundeven %sum : f32",
        "%low = arith.constant -128.0 : f32", "%high = arith.constant 127.0 : f32",
        "%above = arith.maximumf %round, %low : f32", "%kept = arith.minimumf %above, %high : f32",
        "%q = arith.fptosi %kept : f32 to i8",
    ]  # fmt: skip


def test_a_chain_that_is_no_number_between_its_ends() -> None:
    """`(x - 5) c + (x + 5) c` grows and is infinite at both ends, but `inf - inf` where x is small."""
    body = _sum_of_two(3e38, 3e38, (-5.0, 5.0), "addf")
    x = np.array([-(1 << 31), (1 << 31) - 1, 1000, -1000], np.int32)
    assert "requantizes not in integer arithmetic: " in _same(_chain_module((32,), x.size, body, 8), [x])


_ANY_F32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=60, deadline=None)
@given(
    factors=st.tuples(*[_ANY_F32 | st.floats(-(2.0**-10), 2.0**-10, width=32)] * 2),
    moves=st.tuples(*[st.integers(-(1 << 30), 1 << 30).map(float)] * 2),
    way=st.sampled_from(["addf", "subf", "maximumf", "minimumf"]),
)
def test_chains_of_extreme_factors(factors: tuple[float, float], moves: tuple[float, float], way: str) -> None:
    """Whatever the floats of a chain become, it keeps its integers or stays as it is, and never stops the pass."""
    body = _sum_of_two(*factors, moves, way)
    centres = [*(-int(move) for move in moves), -(1 << 31), (1 << 31) - 1, 0]
    x = np.clip(np.add.outer(centres, np.arange(-20, 21)).reshape(-1), -(1 << 31), (1 << 31) - 1).astype(np.int32)
    module = _chain_module((32,), x.size, body, 8)
    made, told = _lowered(module)
    assert all(each.message.startswith("'linalg.generic' op ") for each in told)
    try:
        (wanted,) = qmlir.interpret(module, [x]).values()
    except DiagnosticError:
        return  # no number, or no i8: nothing is said of such inputs
    (found,) = qmlir.interpret(made, [x]).values()
    np.testing.assert_array_equal(found, wanted)


def test_integers_that_64_bits_do_not_round() -> None:
    """The bounds of leaves are checked as those of what is computed of them."""
    x = np.array([(1 << 62) + 1, -(1 << 62) - 5, (1 << 63) - (1 << 40), 1 - (1 << 63), 3, (1 << 61) + 7])
    body = ["%f = arith.sitofp %x0 : i64 to f32", "%q = arith.fptosi %f : f32 to i64"]
    assert "an intermediate value needs 65 bits" in _same(_chain_module((64,), x.size, body, 64), [x])


@pytest.mark.parametrize(
    ("more", "wanted"), [(0, "by every rounding of f32 in 64 bits"), (1 << 36, "an intermediate value needs 64 bits")]
)
def test_products_with_places_of_their_own_have_61_bits(more: int, wanted: str) -> None:
    x = np.array([(1 << 63) - 1, -(1 << 63), 0, 1 << 62])
    multipliers = np.array([0.31, 1.4e-14], np.float32)
    module = parsed(f"""
func.func @main(%x: tensor<4x2xi64>) -> tensor<4x2xi8> {{
  %m = arith.constant dense<[{float(multipliers[0])!r}, {float(multipliers[1])!r}]> : tensor<2xf32>
  %e = tensor.empty() : tensor<4x2xi8>
  %r = linalg.generic {{
      indexing_maps = [
          affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%x, %m : tensor<4x2xi64>, tensor<2xf32>) outs(%e : tensor<4x2xi8>) {{
  ^bb0(%a: i64, %f: f32, %o: i8):
    %places = arith.constant 26 : i64
    %more = arith.constant {more} : i64
    %b = arith.shrsi %a, %places : i64
    %c = arith.addi %b, %more : i64
    %q = kernel.requantize %c, %f {{
      mode = #kernel.requantize<f32>, zero_point = 0, minimum = -128, maximum = 127 }} : i64, f32 -> i8
    linalg.yield %q : i8
  }} -> tensor<4x2xi8>
  func.return %r : tensor<4x2xi8>
}}
""")
    assert wanted in _same(module, [np.stack([x, x], axis=1)])


def _product(rows: int, multipliers: Array, weights: Array, axis: int) -> ModuleOp:
    """A product by constant weights whose multipliers differ by row (axis 0) or by channel (axis 1)."""
    channels, terms = weights.shape
    return parsed(f"""
func.func @main(%x: tensor<{rows}x{terms}xi8>) -> tensor<{rows}x{channels}xi8> {{
  %w = arith.constant dense<{weights.tolist()}> : tensor<{channels}x{terms}xi8>
  %m = arith.constant dense<{[float(each) for each in multipliers]}> : tensor<{multipliers.size}xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<{rows}x{terms}xi8>, tensor<{channels}x{terms}xi8>)
      epilogue(%m : tensor<{multipliers.size}xf32>) -> tensor<{rows}x{channels}xi8>
      attributes {{epilogue_maps = [affine_map<(d0, d1) -> (d{axis})>]}} {{
  ^bb0(%acc: i32, %f: f32):
    %1 = kernel.requantize %acc, %f {{
      mode = #kernel.requantize<f32>, zero_point = 3, minimum = -128, maximum = 127 }} : i32, f32 -> i8
    kernel.yield %1 : i8
  }}
  func.return %0 : tensor<{rows}x{channels}xi8>
}}
""")


@pytest.mark.parametrize("axis", [0, 1])
def test_parameters_by_row_and_by_channel(axis: int) -> None:
    """As many rows as channels, of which one has small sums: its bounds are those of a channel, never of a row."""
    rng = np.random.default_rng(axis)
    weights = np.array([[1, 0, 0, 0], [100, 100, 100, 100]])
    x = rng.integers(-128, 128, (60, 2, 4)).astype(np.int8)
    told: list[str] = []
    for pair in (
        (0.012345678, 0.00212345),
        (0.0113571, 0.00234561),
        (0.2718, 0.7142),
        *rng.uniform(1e-3, 1e-1, (3, 2)),
    ):
        module = _product(2, np.array(pair, np.float32), weights, axis)
        made, diagnostics = _lowered(module)
        told += [each.message for each in diagnostics]
        for each in x:
            (wanted,), (found,) = (qmlir.interpret(one, [each]).values() for one in (module, made))
            np.testing.assert_array_equal(found, wanted)
    assert any("by a product and a shift" in each for each in told)
