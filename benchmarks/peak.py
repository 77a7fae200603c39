"""The most multiply-adds a second that this machine does, measured: a register tile over a few KB that stay in L1.

The kernel is written in the loops of the compiler and goes through its emission, so it does what the best of our own
kernels can do: dot products of the host's instruction set for integers, fused multiply-adds for f32. Nothing is read
from beyond L1 and nothing is stored inside the loop.
"""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from qmlir.environment import default_environment
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.targets.cpu.emitters.numba.emit import emit_module
from qmlir.targets.cpu.host import host_isa
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.isa.base import InstructionSet
from qmlir.targets.cpu.package import load_package, write_package
from qmlir.text.parsing import parse_module

_ROWS, _DEPTH, _STEPS = 6, 64, 1 << 16
"""Positions of the tile, steps until memory is read again from its start, and steps in one call, about half a
millisecond of them."""

_SECONDS = 0.15
"""How long each is measured: the fastest call counts."""

_WIDE, _NARROW = 4, 2
"""Vectors of the tile with more than `_FEW` registers and with as many."""

_FEW = 16
_LANE_BITS = 32
"""The bits of a sum."""


@dataclass(frozen=True)
class _Tile:
    """What one step multiplies: vectors of `element`, which sum groups into `lanes` lanes of `sum_element`."""

    element: str
    sum_element: str
    lanes: int
    group: int
    vectors: int
    splat: str
    """How one position is repeated in a vector."""

    step: str
    """How it is multiplied and added."""

    @property
    def operand(self) -> str:
        """The type of what is multiplied."""
        return f"vector<{self.lanes * self.group}x{self.element}>"

    @property
    def sums(self) -> str:
        """The type of what is added to."""
        return f"vector<{self.lanes}x{self.sum_element}>"

    @property
    def products(self) -> int:
        """The multiply-adds of one call."""
        return _STEPS * _ROWS * self.vectors * self.lanes * self.group


_GROUP_SPLAT = "{name} = simd.load_group_splat %x[{position}] : {memory} to {operand}"
_DOT = '{name} = simd.dot_accumulate {sum}, {x}, {w} {{signs = "{signs}"}} : {sums}, {operand}, {operand} -> {sums}'
_ONE_SPLAT = (
    "{name}_one = memref.load %x[{position}] : {memory}\n"
    "        {name} = vector.broadcast {name}_one : {element} to {operand}"
)
_FUSED = "{name} = vector.fma {x}, {w}, {sum} : {sums}"
_APART = "{name}_product = arith.mulf {x}, {w} : {sums}\n        {name} = arith.addf {sum}, {name}_product : {sums}"


def _bytes(lanes: int, vectors: int) -> _Tile:
    return _Tile("i8", "i32", lanes, 4, vectors, _GROUP_SPLAT, _DOT.replace("{signs}", "us"))


def _pairs(lanes: int, vectors: int) -> _Tile:
    return _Tile("i16", "i32", lanes, 2, vectors, _GROUP_SPLAT, _DOT.replace("{signs}", "ss"))


def _tiles(isa: InstructionSet) -> tuple[_Tile, _Tile]:
    """The tiles of integers and of f32: of what the loops of the set multiply, in the registers that it has."""
    lanes, vectors = isa.bits // _LANE_BITS, _WIDE if isa.registers > _FEW else _NARROW
    variants = {row.variant for row in isa.rows}
    step = _FUSED if "splat_fma" in variants else _APART
    floats = _Tile("f32", "f32", lanes, 1, vectors, _ONE_SPLAT, step)
    return (_bytes if variants & {"u8s8_dot", "s8s8_dot", "s8s8_lanes"} else _pairs)(lanes, vectors), floats


def _text(tile: _Tile, isa: str) -> str:
    """The module: sums of all positions and vectors in registers, in one loop."""
    names = [(row, vector) for row in range(_ROWS) for vector in range(tile.vectors)]
    width, elements = tile.lanes * tile.group, tile.vectors * tile.lanes * tile.group
    x_memory = f"memref<{_DEPTH * _ROWS * tile.group}x{tile.element}>"
    w_memory = f"memref<{_DEPTH * elements}x{tile.element}>"
    out_memory = f"memref<{len(names) * tile.lanes}x{tile.sum_element}>"
    types = ", ".join([tile.sums] * len(names))

    def listed(prefix: str) -> str:
        return ", ".join(f"%{prefix}{row}_{vector}" for row, vector in names)

    zero = "0" if tile.sum_element == "i32" else "0.0"
    lines = [f"%zero = arith.constant dense<{zero}> : {tile.sums}"]
    lines += ["%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index"]
    lines += [f"%steps = arith.constant {_STEPS} : index", f"%mask = arith.constant {_DEPTH - 1} : index"]
    lines += [f"%x_step = arith.constant {_ROWS * tile.group} : index", f"%w_step = arith.constant {elements} : index"]
    start = ", ".join(f"%b{row}_{vector} = %zero" for row, vector in names)
    lines += [f"%all:{len(names)} = scf.for %i = %c0 to %steps step %c1 iter_args({start}) -> ({types}) {{"]
    body = ["%k = arith.andi %i, %mask : index"]
    body += ["%xk = arith.muli %k, %x_step : index", "%wk = arith.muli %k, %w_step : index"]
    for vector in range(tile.vectors):
        body += [f"%wo{vector} = arith.constant {vector * width} : index"]
        body += [f"%wp{vector} = arith.addi %wk, %wo{vector} : index"]
        body += [f"%w{vector} = simd.load %w[%wp{vector}] : {w_memory} to {tile.operand}"]
    for row in range(_ROWS):
        body += [
            f"%xo{row} = arith.constant {row * tile.group} : index",
            f"%xp{row} = arith.addi %xk, %xo{row} : index",
        ]
        body += [
            tile.splat.format(
                name=f"%x{row}", position=f"%xp{row}", memory=x_memory, operand=tile.operand, element=tile.element
            )
        ]
        for vector in range(tile.vectors):
            body += [
                tile.step.format(
                    name=f"%n{row}_{vector}", sum=f"%b{row}_{vector}", x=f"%x{row}", w=f"%w{vector}",
                    sums=tile.sums, operand=tile.operand,
                )
            ]  # fmt: skip
    lines += [f"  {line}" for line in body]
    lines += [f"  scf.yield {listed('n')} : {types}", "}"]
    for position in range(len(names)):
        lines += [f"%o{position} = arith.constant {position * tile.lanes} : index"]
        lines += [f"simd.store %all#{position}, %out[%o{position}] : {tile.sums}, {out_memory}"]
    text = "\n    ".join(lines)
    return f"""
builtin.module attributes {{kernel.target = #kernel.target<isa = "{isa}">}} {{
  func.func @main(%x: {x_memory}, %w: {w_memory}, %out: {out_memory} {{nn.result}}) {{
    {text}
    func.return
  }}
}}
"""


_numbers = count()


def loops_program(text: str, passes: str) -> Callable[[Sequence[npt.NDArray[Any]]], object]:
    """What calls a module of loops, written as text, after some passes."""
    environment = default_environment()
    context = environment.new_context()
    module = parse_module(context, text, "bench.mlir")
    verify(module)
    PassManager(context, parse_pipeline(passes, environment.passes)).run(module)
    with TemporaryDirectory(prefix="qmlir-bench-") as folder:
        write_package(Path(folder), emit_module(module), {})
        return load_package(Path(folder), f"qmlir_bench_{next(_numbers)}").program


def _program(tile: _Tile, isa: str) -> Callable[[], object]:
    """The compiled kernel with its input."""
    program = loops_program(_text(tile, isa), "simd-legalize")
    generator = np.random.default_rng(0)
    dtype = {"i8": np.int8, "i16": np.int16, "f32": np.float32}[tile.element]
    # Small: neither sums of f32 nor those of integers leave their range.
    x, w = (
        generator.integers(0, 3, size).astype(dtype)
        for size in (_DEPTH * _ROWS * tile.group, _DEPTH * tile.vectors * tile.lanes * tile.group)
    )
    return lambda: program([x, w])


def _shortest(run: Callable[[], object]) -> float:
    shortest, end = math.inf, time.perf_counter() + _SECONDS
    while (start := time.perf_counter()) < end:
        run()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


@dataclass(frozen=True)
class Peak:
    """Multiply-adds a second."""

    int8: float
    f32: float


@cache
def _kernels(isa: str) -> tuple[tuple[int, Callable[[], object]], ...]:
    return tuple((tile.products, _program(tile, isa)) for tile in _tiles(instruction_set(isa)))


def measure_peak(threads: int = 1, isa: str | None = None) -> Peak:
    """The peak of integers and of f32 on so many threads, which compute at the same time, by an instruction set.

    `isa` is the host's where it is left out.
    """
    rates: list[float] = []
    with ThreadPoolExecutor(threads) as pool:
        for products, run in _kernels(isa or host_isa()):
            run()
            found = pool.map(_shortest, [run] * threads)
            rates.append(sum(products / each for each in found))
    return Peak(*rates)
