"""Where the time of a compiled program goes, kernel by kernel: `python -m benchmarks.kernels MODULE INPUTS`.

A module in text, and its inputs as `.npz`. Each kernel of the program is called from Python, on the memory that it has
in a run; its multiply-adds are counted before it becomes loops. `--compile` times the compilation of each instead.
"""

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import qmlir
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import without_remarks
from qmlir.ir.interfaces import MultipliesAndAdds
from qmlir.passmanager.manager import PassManager
from qmlir.pipelines import COMPILE
from qmlir.specialization.specialize import specialize
from qmlir.targets.cpu.compiler import compile_module
from qmlir.targets.cpu.emitters.numba.emit import emit_module
from qmlir.targets.cpu.emitters.program import constants_of
from qmlir.targets.cpu.host import host_isa
from qmlir.targets.cpu.lowering import lowered
from qmlir.targets.cpu.package import load_package, write_package
from qmlir.tools.command import console, main_of
from qmlir.tools.running.run import inputs_refused_in_a_line, read_inputs
from qmlir.tools.stdio import ArgumentParser, Streams

Array = npt.NDArray[Any]


def _products(module: ModuleOp, isa: str) -> dict[str, int]:
    """The multiply-adds of each kernel of a module by its name, counted where weights are not packed yet."""
    environment = default_environment()
    stages = [stage.name for stage in COMPILE.stages if stage.name not in ("schedule", "loops")]
    scheduled = module.clone()
    PassManager(environment.new_context(), COMPILE.passes(*stages, isa=isa)).run(scheduled)
    return {
        function.sym_name.data: sum(op.multiply_adds() for op in function.walk() if isinstance(op, MultipliesAndAdds))
        for function in scheduled.ops
        if isinstance(function, FuncOp)
    }


@dataclass(frozen=True)
class Figure:
    """One kernel in one run of the program."""

    name: str
    calls: int
    microseconds: float
    """Of all calls together."""

    multiply_adds: int
    """Of one call."""

    @property
    def rate(self) -> float:
        """Giga multiply-adds a second."""
        return self.calls * self.multiply_adds / self.microseconds / 1e3


def time_kernels(module: ModuleOp, inputs: Mapping[str, Array], rounds: int = 9) -> list[Figure]:
    """The kernels of a static module in the order of their first call, each with the shortest of `rounds` runs."""
    products = _products(specialize(module, {}, {}), host_isa())
    seconds: dict[str, float] = defaultdict(float)
    calls: Counter[str] = Counter()
    for each in compile_module(module).time_kernels(inputs, rounds):
        seconds[each.name] += each.seconds
        calls[each.name] += 1
    return [Figure(name, calls[name], 1e6 * each, products.get(name, 0)) for name, each in seconds.items()]


def time_compiling(module: ModuleOp) -> list[tuple[str, float]]:
    """The seconds that numba takes for each kernel of a static module; the first is what calls all the others."""
    loops = lowered(specialize(module, {}, {}), host_isa())
    moments: list[tuple[str, float]] = []

    def begin(name: str, number: int, count: int) -> None:
        moments.append((name, time.process_time()))

    with TemporaryDirectory() as folder:
        write_package(Path(folder), emit_module(loops), constants_of(loops))
        load_package(Path(folder), "timed_program", begin)
    moments.append(("", time.process_time()))
    return [(name, after - before) for (name, before), (_, after) in pairwise(moments)]


def _kernel_table(figures: Sequence[Figure]) -> Table:
    table = Table("kernel", "calls", "us", "GMAC/s", "share %")
    whole = sum(each.microseconds for each in figures)
    for each in sorted(figures, key=lambda each: -each.microseconds):
        rate = f"{each.rate:.1f}" if each.multiply_adds else ""
        share = f"{100 * each.microseconds / whole:.1f}"
        table.add_row(each.name, str(each.calls), f"{each.microseconds:.1f}", rate, share)
    table.add_row("all", str(sum(each.calls for each in figures)), f"{whole:.1f}", "", "")
    return table


def _compile_table(seconds: Sequence[tuple[str, float]]) -> Table:
    table = Table("kernel", "compiled in s of processor time")
    for name, each in sorted(seconds, key=lambda row: -row[1]):
        table.add_row(name, f"{each:.2f}")
    table.add_row("all", f"{sum(each for _, each in seconds):.2f}")
    return table


def build_argument_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = ArgumentParser(prog="bench-kernels", description="Times the kernels of a compiled program.")
    parser.add_argument("module", help="a module in text, of known shapes")
    parser.add_argument("inputs", help="its inputs, as .npz")
    parser.add_argument("--compile", action="store_true", help="the time of compiling each kernel")
    return parser


def _run(arguments: argparse.Namespace, streams: Streams) -> int:
    with without_remarks(), inputs_refused_in_a_line():
        module, inputs = qmlir.load(arguments.module), read_inputs([arguments.inputs])
        if arguments.compile:
            table = _compile_table(time_compiling(module))
        else:
            table = _kernel_table(time_kernels(module, inputs))
    Console(file=streams.stdout, width=120).print(table)
    return 0


main = main_of(build_argument_parser, _run)


if __name__ == "__main__":
    console(main)
