"""Compile passes, each left out in turn: `python -m benchmarks.ablation int8.mlir …`, modules of the quantized level.

The figure of a pass is the time without it over the time with it, 1.02 where it buys 2%: a pass that buys less on every
model, and is neither for a microcontroller nor for memory, goes. Programs of all variants run in turns, and the times
are minima of two halves of the rounds, because the machines are shared. A variant whose loops are those of all passes
is not run: its figure is 1. For an instruction set that this machine lacks, the operations that the loops execute are
counted instead. A pass that no pipeline has is an error, and so is an output that differs.
"""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

import qmlir
from benchmarks.rows import BenchRow, add_results, write_results
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.constant.ops import storage_element
from qmlir.ir.builtin_types import tensor
from qmlir.ir.control_flow import known_bound
from qmlir.ir.diagnostics import text_error
from qmlir.ir.signature import MAIN, inputs_of
from qmlir.passmanager.manager import run_pipeline
from qmlir.passmanager.pipeline import Pipeline
from qmlir.pipelines import COMPILE
from qmlir.specialization.inputs import function_of, parse_shapes
from qmlir.specialization.specialize import specialize
from qmlir.targets.cpu.emitters.emitter import emitter_named
from qmlir.targets.cpu.host import host_isa, runs_here
from qmlir.targets.cpu.package import load_package
from qmlir.text.elements import dense_dtype
from qmlir.text.printing import module_text

EMITTER = "llvm"
"""Compiles fast, and has the bits of every other emitter."""

OPTIONAL = (
    "kernel-propagate-layout", "kernel-fuse", "kernel-lookup-tables", "kernel-narrow", "kernel-requantize-by-integers",
    "kernel-simplify-rounding", "kernel-winograd", "kernel-tile-producers", "kernel-split-rows", "kernel-split-tables",
    "kernel-fuse-attention", "kernel-fill-halo", "kernel-mark-in-place", "kernel-merge-functions",
    "kernel-mark-read-only",
)  # fmt: skip
"""The passes without which a module still compiles."""


def without(pipeline: Pipeline, name: str) -> Pipeline:
    """`pipeline` without the pass `name`. Raises `DiagnosticError` if it has no such pass."""
    kept = tuple(step for step in pipeline.steps if not isinstance(step, ModulePass) or step.name != name)
    if len(kept) == len(pipeline.steps):
        raise text_error(f"the pipeline has no pass '{name}'")
    return Pipeline(kept)


def executed(block: Block) -> int:
    """The operations that a block executes, those of loops of unknown length once."""
    return sum(map(_executed, block.ops))


def _executed(op: Operation) -> int:
    inner = sum(executed(block) for region in op.regions for block in region.blocks)
    if isinstance(op, scf.ForOp):
        low, high, step = map(known_bound, (op.lb, op.ub, op.step))
        inner *= max(-(-(high - low) // step), 0) if low is not None and high is not None and step else 1
    return 1 + inner


@dataclass
class Variant:
    """A model compiled with all passes, or without one: its loops, and the program if that runs here."""

    name: str
    loops: ModuleOp
    text: str
    program: Any = None

    @staticmethod
    def of(module: ModuleOp, name: str, isa: str) -> "Variant":
        """Lower `module` without the pass `name`, or with all passes."""
        pipeline = COMPILE.passes(isa=isa)
        loops = run_pipeline(module.clone(), without(pipeline, name) if name else pipeline)
        return Variant(name, loops, module_text(loops))

    def compile(self, folder: Path) -> None:
        """Compile the loops in `folder`, which is made."""
        folder.mkdir()
        emitter_named(EMITTER).write(self.loops, folder, None, None)
        self.program = load_package(folder, f"ablation_{folder.parent.name}_{folder.name}").program


def _inputs(module: ModuleOp) -> dict[str, Array]:
    """Random inputs of a static module."""
    random, found = np.random.default_rng(0), dict[str, Array]()
    for port in inputs_of(function_of(module, MAIN)):
        type_ = tensor(port.of_caller().type)
        dtype = dense_dtype(storage_element(type_.get_element_type()))
        assert dtype is not None
        numbers = random.normal(size=type_.get_shape())
        found[port.name] = numbers.astype(dtype) if dtype.kind == "f" else np.zeros(type_.get_shape(), dtype)
    return found


def _times(variants: Sequence[Variant], inputs: Mapping[str, Array], seconds: float) -> list[list[float]]:
    """The shortest time of each variant in each half of the rounds, in which they run in turns."""
    halves: list[list[float]] = []
    for _ in range(2):
        best, end = [float("inf")] * len(variants), time.perf_counter() + seconds / 2
        while time.perf_counter() < end:
            for position, variant in enumerate(variants):
                start = time.perf_counter()
                variant.program(inputs)
                best[position] = min(best[position], time.perf_counter() - start)
        halves.append(best)
    return [list(each) for each in zip(*halves, strict=True)]


def measure(
    path: Path, isa: str, names: Sequence[str], seconds: float, shapes: Mapping[str, Sequence[int]]
) -> Iterator[BenchRow]:
    """A row of each pass for the model at `path`. Raises `AssertionError` if an output differs without a pass."""
    module = specialize(qmlir.load(path), shapes)
    whole, *others = (Variant.of(module, name, isa) for name in ("", *names))
    changed = [each for each in others if each.text != whole.text]
    times: dict[str, list[float]] = {}
    with TemporaryDirectory() as name:
        if changed and runs_here(isa):
            inputs, timed = _inputs(module), [whole, *changed]
            for position, variant in enumerate(timed):
                variant.compile(Path(name) / f"p{position}")
            wanted = whole.program(inputs)
            for variant in changed:
                for output, array in variant.program(inputs).items():
                    assert np.array_equal(array, wanted[output], equal_nan=array.dtype.kind == "f"), variant.name
            times = {each.name: halves for each, halves in zip(timed, _times(timed, inputs, seconds), strict=True)}
    for each in others:
        title = f"{path.stem}, {isa}"
        if each.name in times:
            ratios = sorted(without / with_ for without, with_ in zip(times[each.name], times[""], strict=True))
            figure = min(times[each.name]) / min(times[""])
            yield BenchRow(each.name, figure, unit="times", low=ratios[0], high=ratios[-1], subject=title)
        elif each in changed:
            figure = executed(each.loops.body.block) / executed(whole.loops.body.block)
            yield BenchRow(f"{each.name}, operations", figure, unit="times", subject=title)
        else:
            yield BenchRow(f"{each.name}, no effect", 1.0, unit="times", subject=title)


def main() -> None:
    """Measure what is named on the command line."""
    parser = argparse.ArgumentParser("python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("module", nargs="+", type=Path, help="a quantized module with static shapes, as .mlir")
    parser.add_argument("--isa", action="append", help="instruction set (default: that of the host); may be repeated")
    parser.add_argument("--shape", action="append", default=[], help="shape of an input, as input=1x3x48x192")
    parser.add_argument("--pass", dest="passes", action="append", choices=OPTIONAL, help="a pass (default: all)")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the programs of a model run (default 10)")
    add_results(parser)
    given = parser.parse_args()
    rows: list[BenchRow] = []
    for path in given.module:
        for isa in given.isa or [host_isa()]:
            for row in measure(path, isa, given.passes or OPTIONAL, given.seconds, parse_shapes(given.shape)):
                spread = "" if row.low is None else f"  ({row.low:.3f} to {row.high:.3f})"
                print(f"{row.title:60} {row.figure:.3f}{spread}", flush=True)
                rows.append(row)
    write_results(rows, given)


if __name__ == "__main__":
    main()
