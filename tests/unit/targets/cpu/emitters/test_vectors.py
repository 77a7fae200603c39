"""Every `simd` operation, and `arith` and `vector` on registers: compiled, it equals its NumPy meaning, bit for bit.

For each instruction set that this processor has, and for the plain arithmetic that runs everywhere.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.kernel.attributes import isa_names
from qmlir.dialects.simd.base import is_tile
from qmlir.dialects.simd.dialect import Simd
from qmlir.dialects.simd.lanes import Conversion
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.targets.cpu.emitters.numba.emit import EMISSIONS
from qmlir.targets.cpu.host import runs_here
from qmlir.targets.cpu.loops.simd_unroll import unroll_tiles
from tests.support.emitted import assert_equal_outputs, assert_same, parsed

DTYPES = {
    "i1": np.int8, "i4": np.int8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
HERE = [isa for isa in isa_names() if runs_here(isa)]


def values(element: str, count: int, seed: int = 0) -> np.ndarray:
    """Random elements, the ends of the type among them."""
    rng = np.random.default_rng(seed)
    if element[0] == "i":
        bits = int(element[1:])
        low, high = (0, 1) if bits == 1 else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        found = rng.integers(low, high, count, endpoint=True).astype(DTYPES[element])
        found[: count // 4] = rng.choice([low, high], count // 4)
        return found
    found = rng.normal(size=count) * 10.0 ** rng.integers(-3, 4, count)
    found[: count // 4] = rng.choice([0.0, -0.0, 0.5, 1.5, np.inf, -np.inf, np.nan], count // 4)
    return found.astype(DTYPES[element])


class Registers:
    """A module that loads vectors, computes on them and stores the results, each into an output of its own.

    With a `tile`, all vectors are register tiles of that shape.
    """

    def __init__(self, *tile: int) -> None:
        self.tile = tile
        self.registers = math.prod(tile)
        self.inputs: list[np.ndarray] = []
        self.arguments: list[str] = []
        self.results: list[str] = []
        self.lines: list[str] = []

    def load(self, array: np.ndarray, element: str) -> str:
        """A vector that holds `array`."""
        number, lanes = len(self.inputs), array.size
        array = np.concatenate([np.roll(array, place) for place in range(self.registers)])
        self.inputs.append(array)
        memory = f"memref<{array.size}x{element}>"
        self.arguments.append(f"%m{number}: {memory}")
        type_ = self.tiled(f"vector<{lanes}x{element}>")
        self.lines.append(f"%v{number} = simd.load %m{number}[%c0]{self.strides(lanes)} : {memory} to {type_}")
        return f"%v{number}"

    def tiled(self, text: str) -> str:
        """The text of an operation on vectors, on tiles."""
        return text.replace("vector<", "vector<" + "".join(f"{size}x" for size in self.tile))

    def strides(self, lanes: int) -> str:
        """The strides of registers that follow each other in memory."""
        steps = ", ".join(str(math.prod(self.tile[axis + 1 :]) * lanes) for axis in range(len(self.tile)))
        return f" {{strides = array<i64: {steps}>}}" if self.tile else ""

    def vector(self, element: str, lanes: int) -> str:
        """A vector of random lanes."""
        return self.load(values(element, lanes, len(self.inputs)), element)

    def give(self, text: str, element: str, lanes: int = 0) -> None:
        """Make the result of an operation an output."""
        number, memory = len(self.results), f"memref<{max(lanes, 1) * self.registers}x{element}>"
        self.results.append(f"%o{number}: {memory} {{nn.result}}")
        self.lines.append(f"%r{number} = {self.tiled(text)}")
        if lanes:
            type_ = self.tiled(f"vector<{lanes}x{element}>")
            self.lines.append(f"simd.store %r{number}, %o{number}[%c0]{self.strides(lanes)} : {type_}, {memory}")
        else:
            self.lines.append(f"memref.store %r{number}, %o{number}[%c0] : memref<1x{element}>")

    def text(self, isa: str) -> str:
        """The module."""
        body = "\n    ".join(["%c0 = arith.constant 0 : index", "%c3 = arith.constant 3 : index", *self.lines])
        arguments = ", ".join(self.arguments + self.results)
        return f"""
builtin.module attributes {{kernel.target = #kernel.target<isa = "{isa}">}} {{
  func.func @main({arguments}) {{
    {body}
    func.return
  }}
}}
"""

    def check(self, folder: Path, isa: str = "generic") -> None:
        """Hold the compiled module, legalized, and the unrolled one against the interpreter."""
        module = parsed(self.text(isa))
        legal = legalized(module)
        assert_equal_outputs(legal, self.inputs, folder, reference=module)
        if self.tile:
            assert_unrolled(module, self.inputs)
            assert_unrolled(legal, self.inputs)


def legalized(module: ModuleOp) -> ModuleOp:
    """The module with instructions that its target has."""
    environment, legal = default_environment(), module.clone()
    PassManager(environment.new_context(), parse_pipeline("simd-legalize", environment.passes)).run(legal)
    return legal


def assert_unrolled(module: ModuleOp, inputs: Sequence[np.ndarray]) -> None:
    """Hold a module without tiles against the one with them."""
    alone = unroll_tiles(module.clone())
    verify(alone)
    assert not any(is_tile(value) for op in alone.walk() for value in (*op.results, *op.operands))
    assert_same(interpret(alone, list(inputs)), interpret(module, list(inputs)), "unrolled")


TILES = [(), (2, 3), (1, 1)]


@pytest.mark.parametrize("isa", HERE)
@pytest.mark.parametrize(
    ("lanes", "tile"), [*((lanes, ()) for lanes in (1, 2, 4, 8, 16, 32)), (4, (2, 3)), (8, (3, 2)), (16, (1, 2))]
)
def test_dot_products(isa: str, lanes: int, tile: tuple[int, ...], tmp_path: Path) -> None:
    made = Registers(*tile)
    for element, group in (("i8", 4), ("i16", 2)):
        for signs in ("us", "ss") if element == "i8" else ("ss",):
            a, x, w = (
                made.vector("i32", lanes),
                made.vector(element, group * lanes),
                made.vector(element, group * lanes),
            )
            wide = f"vector<{lanes}xi32>, vector<{group * lanes}x{element}>, vector<{group * lanes}x{element}>"
            made.give(
                f'simd.dot_accumulate {a}, {x}, {w} {{signs = "{signs}"}} : {wide} -> vector<{lanes}xi32>', "i32", lanes
            )
    made.check(tmp_path, isa)


@pytest.mark.parametrize("isa", HERE)
@pytest.mark.parametrize("lanes", [4, 8, 16, 32])
@pytest.mark.parametrize("tile", TILES)
def test_products_of_pairs(isa: str, lanes: int, tile: tuple[int, ...], tmp_path: Path) -> None:
    made = Registers(*tile)
    x, w = made.vector("i8", 2 * lanes), made.vector("i8", 2 * lanes)
    wide = f"vector<{2 * lanes}xi8>"
    made.give(f"simd.multiply_pairs {x}, {w} : {wide}, {wide} -> vector<{lanes}xi16>", "i16", lanes)
    made.check(tmp_path, isa)


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("lanes", [4, 16])
def test_memory(element: str, lanes: int, tmp_path: Path) -> None:
    made = Registers()
    type_ = f"{lanes}x{element}"
    made.inputs.append(values(element, 3 * lanes).reshape(3, lanes))
    made.arguments.append(f"%m: memref<3x{type_}>")
    made.inputs.append(np.array([0, lanes - 1, lanes, 2 * lanes], np.int64))
    made.arguments.append("%counts: memref<4xindex>")
    made.lines.append("%c1 = arith.constant 1 : index\n    %c2 = arith.constant 2 : index")
    for position in range(4):
        made.lines.append(f"%k{position} = arith.constant {position} : index")
        made.lines.append(f"%n{position} = memref.load %counts[%k{position}] : memref<4xindex>")
        made.give(
            f"simd.load_partial %m[%c1, %c3], %n{position} : memref<3x{type_}> to vector<{type_}>", element, lanes
        )
    made.give(f"simd.load %m[%c1, %c3] : memref<3x{type_}> to vector<{type_}>", element, lanes)
    made.give(f"vector.load %m[%c1, %c0] : memref<3x{type_}>, vector<{type_}>", element, lanes)
    made.lines.append(f"%mask = vector.create_mask %n1 : vector<{lanes}xi1>")
    made.give(
        f"vector.maskedload %m[%c2, %c0], %mask, %r4 : "
        f"memref<3x{type_}>, vector<{lanes}xi1>, vector<{type_}> into vector<{type_}>", element, lanes,
    )  # fmt: skip
    if element in ("i8", "i16", "i32"):
        made.give(f"simd.load_group_splat %m[%c1, %c3] : memref<3x{type_}> to vector<{type_}>", element, lanes)
    positions = np.random.default_rng(0).integers(0, 40, 16).astype(np.int32)
    table = values(element, 40, 5)
    made.inputs += [positions, table]
    made.arguments += ["%places: memref<16xi32>", f"%table: memref<40x{element}>"]
    made.lines.append("%p = simd.load %places[%c0] : memref<16xi32> to vector<16xi32>")
    made.give(f"simd.gather %table[%p] : memref<40x{element}>, vector<16xi32> to vector<16x{element}>", element, 16)
    made.results.append(f"%last: memref<2x{type_}> {{nn.result}}")
    for position, value in ((0, "%r4"), (1, "%r4")):
        made.lines.append(f"simd.store {value}, %last[%k{position}, %c0] : vector<{type_}>, memref<2x{type_}>")
    made.lines += [
        f"simd.store_partial %r5, %last[%c0, %c1], %n1 : vector<{type_}>, memref<2x{type_}>",
        f"simd.store_partial %r5, %last[%c1, %c0], %n0 : vector<{type_}>, memref<2x{type_}>",
        f"vector.maskedstore %last[%c1, %c0], %mask, %r5 : memref<2x{type_}>, vector<{lanes}xi1>, vector<{type_}>",
    ]
    made.check(tmp_path)


@pytest.mark.parametrize(("lanes", "tile"), [(4, ()), (16, ()), (32, ()), (64, ()), (16, (2, 3))])
def test_look_up(lanes: int, tile: tuple[int, ...], tmp_path: Path) -> None:
    """The table in registers where this processor permutes bytes."""
    made = Registers(*tile)
    positions = made.vector("i8", lanes)
    made.inputs.append(values("i8", 256, 3))
    made.arguments.append("%table: memref<256xi8>")
    made.give(
        f"simd.look_up %table[{positions}] : memref<256xi8>, vector<{lanes}xi8> to vector<{lanes}xi8>", "i8", lanes
    )
    made.check(tmp_path)


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize(("narrow", "wide"), [("i8", "i32"), ("i16", "i32"), ("i8", "i16")])
def test_a_partial_store_of_truncated_lanes_leaves_the_others(
    lanes: int, narrow: str, wide: str, tmp_path: Path
) -> None:
    """LLVM 22 writes a whole i32 for one lane of a masked store whose lanes were truncated."""
    made = Registers()
    other = made.vector(narrow, lanes)
    type_ = f"vector<{lanes}x{narrow}>"
    memory = f"memref<{2 * lanes}x{narrow}>"
    made.lines += ["%c1 = arith.constant 1 : index", f"%half = arith.constant {lanes} : index"]
    for count in range(1, lanes):
        source = made.vector(wide, lanes)  # one for each: LLVM does so where a truncated value is stored and no more
        made.results.append(f"%o{count}: {memory} {{nn.result}}")
        made.lines += [
            f'%s{count} = simd.convert {source} {{kind = "trunci"}} : vector<{lanes}x{wide}> to {type_}',
            f"%n{count} = arith.constant {count} : index",
            *(f"simd.store {other}, %o{count}[{position}] : {type_}, {memory}" for position in ("%c0", "%half")),
            # At another place than the stores, which LLVM would take together with this one.
            f"simd.store_partial %s{count}, %o{count}[%c1], %n{count} : {type_}, {memory}",
        ]
    made.check(tmp_path)


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_a_count_that_becomes_known_late_leaves_the_others(lanes: int, tmp_path: Path) -> None:
    """The count is known to be 1 when LLVM has seen that the loop has one turn."""
    made = Registers()
    source, other = made.vector("i32", lanes), made.vector("i8", lanes)
    type_, memory = f"vector<{lanes}xi8>", f"memref<2x{2 * lanes}xi8>"
    made.results.append(f"%o: {memory} {{nn.result}}")
    made.lines += [
        "%c1 = arith.constant 1 : index",
        "%c2 = arith.constant 2 : index",
        f"%half = arith.constant {lanes} : index",
        *(
            f"simd.store {other}, %o[{row}, {position}] : {type_}, {memory}"
            for row in ("%c0", "%c1")
            for position in ("%c0", "%half")
        ),
        f'%s = simd.convert {source} {{kind = "trunci"}} : vector<{lanes}xi32> to {type_}',
        "scf.for %n = %c1 to %c2 step %c1 {",
        "  %row = arith.subi %n, %c1 : index",
        f"  simd.store_partial %s, %o[%row, %c1], %n : {type_}, {memory}",
        "}",
    ]
    made.check(tmp_path)


PAIRS = [("i8", "i16"), ("i8", "i32"), ("i16", "i32"), ("i32", "i64"), ("i4", "i8"), ("i1", "i8"), ("i1", "i32")]
FLOAT_PAIRS = [("f16", "f32"), ("bf16", "f32"), ("f32", "f64"), ("f16", "f64"), ("bf16", "f64")]


@pytest.mark.parametrize(("lanes", "tile"), [(4, ()), (16, ()), (8, (2, 3))])
def test_conversions(lanes: int, tile: tuple[int, ...], tmp_path: Path) -> None:
    made, seen = Registers(*tile), set[str]()

    def convert(kind: str, source: str, target: str, value: str | None = None) -> None:
        seen.add(kind)
        vector = value or made.vector(source, lanes)
        made.give(
            f'simd.convert {vector} {{kind = "{kind}"}} : vector<{lanes}x{source}> to vector<{lanes}x{target}>',
            target, lanes,
        )  # fmt: skip

    for narrow, wide in PAIRS:
        convert("extsi", narrow, wide)
        convert("extui", narrow, wide)
        convert("trunci", wide, narrow)
    for narrow, wide in FLOAT_PAIRS:
        convert("extf", narrow, wide)
        convert("truncf", wide, narrow)
    for integer in ("i8", "i16", "i32", "i64"):
        for floating in ("f32", "f64", "f16"):
            convert("sitofp", integer, floating)
            convert("uitofp", integer, floating)
            small = made.load(np.arange(lanes).astype(DTYPES[floating]) + DTYPES[floating](0.5), floating)
            convert("fptosi", floating, integer, small)
            convert("fptoui", floating, integer, small)
    convert("index_cast", "i32", "index")
    convert("index_cast", "index", "i16", made.load(np.arange(lanes) - 2, "index"))
    convert("bitcast", "i32", "f32")
    bytes_ = made.vector("i8", 4 * lanes)
    made.give(
        f'simd.convert {bytes_} {{kind = "bitcast"}} : vector<{4 * lanes}xi8> to vector<{lanes}xi32>', "i32", lanes
    )
    assert seen == set(Conversion)
    made.check(tmp_path)


@pytest.mark.parametrize(("lanes", "tile"), [(4, ()), (16, ()), (8, (2, 3))])
def test_rounding_narrowing_and_interleaving(lanes: int, tile: tuple[int, ...], tmp_path: Path) -> None:
    made = Registers(*tile)
    floats = values("f32", lanes)
    floats[~(np.abs(floats) < 2.0**31)] = 2.5
    made.give(
        f"simd.round_to_int {made.load(floats, 'f32')} : vector<{lanes}xf32> to vector<{lanes}xi32>", "i32", lanes
    )
    for count in (2, 3, 4):
        several = ", ".join(made.vector("i32", lanes) for _ in range(count))
        types = ", ".join([f"vector<{lanes}xi32>"] * count)
        for unsigned in ("", " {unsigned}"):
            made.give(f"simd.narrow {several}{unsigned} : {types} to vector<{count * lanes}xi8>", "i8", count * lanes)
    for source, target in (("i32", "i8"), ("i32", "i16"), ("i16", "i8"), ("i64", "i32"), ("i32", "i4")):
        for unsigned in ("", " {unsigned}"):
            value = made.vector(source, lanes)
            made.give(
                f"simd.narrow {value}{unsigned} : vector<{lanes}x{source}> to vector<{lanes}x{target}>", target, lanes
            )
    for element in ("i8", "i16", "i32", "f32", "bf16"):
        a, b = made.vector(element, lanes), made.vector(element, lanes)
        for half in ("low", "high"):
            made.give(f"simd.interleave_{half} {a}, {b} : vector<{lanes}x{element}>", element, lanes)
            made.give(
                f"simd.interleave_{half} {a}, {b} {{block = 4 : i64}} : vector<{lanes}x{element}>", element, lanes
            )
        mask = made.vector("i1", lanes)
        made.give(f"simd.select {mask}, {a}, {b} : vector<{lanes}xi1>, vector<{lanes}x{element}>", element, lanes)
    made.check(tmp_path)


@pytest.mark.parametrize("lanes", [4, 16])
def test_lanes(lanes: int, tmp_path: Path) -> None:
    made = Registers()
    for element in ("i8", "i16", "i32", "f32", "bf16"):
        a, b = made.vector(element, lanes), made.vector(element, lanes)
        shuffled = f"vector.shuffle {a}, {b} [0, {lanes}, 1, 1] : vector<{lanes}x{element}>, vector<{lanes}x{element}>"
        made.give(shuffled, element, 4)
        made.give(f"vector.extract {a}[%c3] : {element} from vector<{lanes}x{element}>", element)
        one = f"%r{len(made.results) - 1}"
        made.give(f"vector.insert {one}, {b} [2] : {element} into vector<{lanes}x{element}>", element, lanes)
        made.give(f"vector.broadcast {one} : {element} to vector<{lanes}x{element}>", element, lanes)
    for element in ("i8", "i32", "i64", "f32", "f64"):
        value = made.vector(element, lanes)
        made.give(f"simd.reduce_add {value} : vector<{lanes}x{element}> to {element}", element)
        kinds = ["add", "mul", "minsi", "maxsi", "minui", "maxui", "and", "or", "xor"]
        if element[0] == "f":
            kinds = ["add", "mul", "minimumf", "maximumf", "minnumf", "maxnumf"]
        for kind in kinds:
            made.give(f"vector.reduction <{kind}>, {value} : vector<{lanes}x{element}> into {element}", element)
            made.give(f"vector.reduction <{kind}>, {value}, %r{len(made.results) - 1} : "
                      f"vector<{lanes}x{element}> into {element}", element)  # fmt: skip
    made.check(tmp_path)


@pytest.mark.parametrize("element", ["i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("tile", [(), (2, 3)])
def test_comparisons(element: str, tile: tuple[int, ...], tmp_path: Path) -> None:
    made = Registers(*tile)
    predicates = arith.CMPI_COMPARISON_OPERATIONS if element[0] == "i" else arith.CMPF_COMPARISON_OPERATIONS
    a, b = made.vector(element, 16), made.vector(element, 16)
    for predicate in predicates:
        made.give(
            f'simd.compare {a}, {b} {{predicate = "{predicate}"}} : vector<16x{element}> -> vector<16xi1>', "i1", 16
        )
    made.check(tmp_path)


INTEGER_NAMES = ("addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxsi", "minui", "maxui")
FLOAT_NAMES = ("addf", "subf", "mulf", "divf", "minimumf", "maximumf", "minnumf", "maxnumf")


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("lanes", [3, 8, 16])
def test_arithmetic(element: str, lanes: int, tmp_path: Path) -> None:
    made = Registers()
    a, b = made.vector(element, lanes), made.vector(element, lanes)
    type_ = f"vector<{lanes}x{element}>"
    for name in INTEGER_NAMES if element[0] == "i" else FLOAT_NAMES:
        made.give(f"arith.{name} {a}, {b} : {type_}", element, lanes)
    if element[0] == "i":
        bits = int(element[1:])
        amounts = made.load((values(element, lanes, 9).astype(np.int64) % bits).astype(DTYPES[element]), element)
        divisors = made.load(np.where(values(element, lanes, 9) == 0, 1, 5).astype(DTYPES[element]), element)
        for name in ("shli", "shrsi", "shrui"):
            made.give(f"arith.{name} {a}, {amounts} : {type_}", element, lanes)
        for name in ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui"):
            made.give(f"arith.{name} {a}, {divisors} : {type_}", element, lanes)
        constant = ", ".join(map(str, range(lanes)))
        made.give(f"arith.constant dense<[{constant}]> : {type_}", element, lanes)
    else:
        pairs = [(0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0), (-0.0, -1.0), (1.0, -0.0), (np.nan, -0.0), (0.0, np.nan)]
        first, second = (
            made.load(np.resize(each, lanes).astype(DTYPES[element]), element) for each in zip(*pairs, strict=True)
        )
        for name in ("minimumf", "maximumf", "minnumf", "maxnumf"):
            made.give(f"arith.{name} {first}, {second} : {type_}", element, lanes)
        for name in ("arith.negf", "math.absf", "math.roundeven", "math.sqrt", "math.floor"):
            made.give(f"{name} {a} : {type_}", element, lanes)
        numbers = ", ".join(f"{each}.25" for each in range(lanes))
        made.give(f"arith.constant dense<[{numbers}]> : {type_}", element, lanes)
        if element in ("f32", "f64"):
            made.give(f"vector.fma {a}, {b}, {a} : {type_}", element, lanes)
    made.check(tmp_path)


def test_every_operation_has_a_meaning_and_an_emission() -> None:
    from qmlir.dialects.simd.evaluate import EVALUATORS  # noqa: PLC0415

    assert set(EVALUATORS) == set(Simd.operations)
    assert set(Simd.operations) <= set(EMISSIONS)


def test_prefetch_changes_nothing(tmp_path: Path) -> None:
    """Of places inside a memory and far behind its end."""
    made = Registers()
    vector = made.vector("i16", 16)
    made.lines += [
        "%far = arith.constant 1000000 : index",
        "simd.prefetch %m0[%c0] : memref<16xi16>",
        "simd.prefetch %m0[%far] {level = 3} : memref<16xi16>",
    ]
    made.give(f"arith.addi {vector}, {vector} : vector<16xi16>", "i16", 16)
    made.check(tmp_path)


MOVES = """
func.func @main(%x: memref<64xi16>, %w: memref<64xi16>, %n: memref<1xindex>, %y: memref<36xi32> {nn.result},
                %z: memref<48xi16> {nn.result}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c24 = arith.constant 24 : index
  %count = memref.load %n[%c0] : memref<1xindex>
  %groups = simd.load_group_splat %x[%c1] {strides = array<i64: 5>} : memref<64xi16> to vector<2x8xi16>
  %loaded = simd.load %w[%c2] {strides = array<i64: 7, 0>} : memref<64xi16> to vector<3x1x8xi16>
  %rows = vector.broadcast %groups : vector<2x8xi16> to vector<3x2x8xi16>
  %columns = vector.broadcast %loaded : vector<3x1x8xi16> to vector<3x2x8xi16>
  %one = arith.constant 1 : i32
  %ones = vector.broadcast %one : i32 to vector<3x2x4xi32>
  %other = arith.addi %ones, %ones : vector<3x2x4xi32>
  %sums, %left = scf.for %i = %c0 to %count step %c1 iter_args(%a = %ones, %b = %other)
      -> (vector<3x2x4xi32>, vector<3x2x4xi32>) {
    %c = simd.dot_accumulate %b, %rows, %columns
      : vector<3x2x4xi32>, vector<3x2x8xi16>, vector<3x2x8xi16> -> vector<3x2x4xi32>
    scf.yield %c, %a : vector<3x2x4xi32>, vector<3x2x4xi32>
  }
  %odd = arith.cmpi eq, %count, %c3 : index
  %chosen = scf.if %odd -> (vector<3x2x4xi32>) {
    scf.yield %sums : vector<3x2x4xi32>
  } else {
    %less = arith.subi %left, %sums : vector<3x2x4xi32>
    scf.yield %less : vector<3x2x4xi32>
  }
  %turned = simd.transpose %chosen : vector<3x2x4xi32> to vector<2x3x4xi32>
  simd.store %turned, %y[%c0] {strides = array<i64: 4, 8>} : vector<2x3x4xi32>, memref<36xi32>
  %second = vector.extract %turned[1] : vector<3x4xi32> from vector<2x3x4xi32>
  %last = vector.extract %turned[0, 2] : vector<4xi32> from vector<2x3x4xi32>
  %stacked = simd.stack %second, %second : vector<3x4xi32>, vector<3x4xi32> to vector<1x2x3x4xi32>
  %inner = vector.extract %stacked[0, 1] : vector<3x4xi32> from vector<1x2x3x4xi32>
  %repeated = vector.broadcast %last : vector<4xi32> to vector<3x4xi32>
  %added = arith.addi %inner, %repeated : vector<3x4xi32>
  simd.store %added, %y[%c24] {strides = array<i64: 4>} : vector<3x4xi32>, memref<36xi32>
  %narrow = simd.narrow %turned, %turned : vector<2x3x4xi32>, vector<2x3x4xi32> to vector<2x3x8xi16>
  simd.store %narrow, %z[%c0] {strides = array<i64: 8, 16>} : vector<2x3x8xi16>, memref<48xi16>
  func.return
}
"""


@pytest.mark.parametrize("count", [0, 1, 3, 4])
def test_moves_of_registers(count: int, tmp_path: Path) -> None:
    """What loads, loops, branches, broadcasts, transposes and stores of tiles mean, in NumPy."""
    module = parsed(MOVES)
    x, w = (values("i16", 64, seed) for seed in (1, 2))
    groups = np.stack([np.tile(x[1 + 5 * row : 3 + 5 * row], 4) for row in range(2)])
    loaded = np.stack([w[2 + 7 * column : 10 + 7 * column] for column in range(3)])
    products = groups[None].astype(np.int64) * loaded[:, None]
    dots = products.reshape(3, 2, 4, 2).sum(-1)
    sums, left = np.full((3, 2, 4), 1), np.full((3, 2, 4), 2)
    for _ in range(count):
        sums, left = (left + dots).astype(np.int32), sums
    chosen = (sums if count == 3 else left - sums).astype(np.int32)
    turned = chosen.transpose(1, 0, 2)
    y, z = np.zeros(36, np.int32), np.zeros(48, np.int16)
    for row in range(2):
        for column in range(3):
            y[4 * row + 8 * column : 4 * row + 8 * column + 4] = turned[row, column]
            z[8 * row + 16 * column : 8 * row + 16 * column + 8] = np.tile(turned[row, column].clip(-32768, 32767), 2)
    y[24:] = (turned[1] + turned[0, 2]).astype(np.int32).reshape(-1)
    inputs = [x, w, np.array([count])]
    for found in interpret(module, inputs), interpret(unroll_tiles(module.clone()), inputs):
        for array, expected in zip(found.values(), (y, z), strict=True):
            np.testing.assert_array_equal(array, expected)
    assert_equal_outputs(legalized(module), inputs, tmp_path, reference=module)
