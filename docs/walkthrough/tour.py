"""`make tour`: one convolution through all levels, each printed with how it differs from the last, run, and compared.

For every pass that changes something: its pipeline text and what it is for, the lines that it changed, and what the
module computes now beside what it computed before. The modules also go into a folder, one file a pass.
"""

import argparse
import difflib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.syntax import Syntax
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from docs.walkthrough.descending import GRAPH, descend
from qmlir import compile, interpret, load
from qmlir.interpreter.differences import difference_of
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import op_error, without_remarks
from qmlir.ir.passes import EVERY_BIT, Preservation, preservation_of
from qmlir.ir.signature import inputs_of
from qmlir.levels import LEVELS
from qmlir.passmanager.instrumentation import Instrumentation
from qmlir.pipelines import quantize_pipeline
from qmlir.specialization.inputs import function_of
from qmlir.targets.cpu.emitters.numba.emit import emit_module
from qmlir.targets.cpu.host import host_isa
from qmlir.text.printing import PrintOptions, Weights, module_text
from qmlir.text.writing import made_folder, write_file
from qmlir.tools.command import console, main_of
from qmlir.tools.stdio import Streams
from qmlir.workflows.comparison.errors import ErrorSums
from qmlir.workflows.profiling import profile

EXAMPLE = "docs/examples/convolution.mlir"
_INLINE = PrintOptions(weights=Weights.INLINE)
_SAMPLES = 64


class _Display:
    """The pages of the tour, in colours where there is a terminal."""

    def __init__(self, streams: Streams, folder: Path) -> None:
        self._console = Console(file=streams.stdout, width=None if streams.stdout.isatty() else 120, soft_wrap=True)
        self._folder = made_folder(folder)
        self._pages = 0

    def heading(self, text: str) -> None:
        """The title of what comes next."""
        self._console.print(f"\n{text}\n{'─' * len(text)}", style="bold", markup=False, highlight=False)

    def line(self, text: str) -> None:
        """A remark."""
        self._console.print(text, markup=False, highlight=False)

    def code(self, text: str, language: str) -> None:
        """Text of a language that Pygments knows."""
        if self._console.is_terminal:
            self._console.print(Syntax(text.rstrip(), language, theme="ansi_dark", background_color="default"))
        else:
            self.line(text.rstrip())

    def page(self, name: str, text: str) -> None:
        """Keep the whole text of a step as a file."""
        write_file(self._folder / f"{self._pages:02d}-{name}", text)
        self._pages += 1


def _difference(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", n=1, lineterm="")
    return "\n".join(list(lines)[2:])


@dataclass
class Compared:
    """What the module computed last, and what the float model did."""

    inputs: Mapping[str, Any]
    exact: Mapping[str, Any]
    """The outputs of the float model."""

    outputs: Mapping[str, Any]

    def told(self, found: dict[str, Any], kept: Preservation, op: Operation) -> str:
        """What is to be said of the new outputs. Raises `DiagnosticError` where they break what is kept."""
        before, self.outputs = self.outputs, found
        if not kept.is_held:
            errors = ErrorSums()
            for name, array in found.items():
                errors.add(np.asarray(self.exact[name]), np.asarray(array))
            noise = f"{errors.sqnr_db:.1f} dB of signal to noise, the largest error {errors.max_error:.4g}"
            return f"runs: other numbers, on purpose; against the float model {noise}"
        for name, array in found.items():
            different = difference_of(before[name], array, kept)
            if different is not None:
                raise op_error(op, f"output '{name}' {different}, but the pass keeps {kept}")
        return f"runs: {kept} as before"


class _Guide(Instrumentation):
    """Shows each pass that changes the module."""

    def __init__(self, display: _Display, compared: Compared) -> None:
        self._display = display
        self._compared = compared

    @contextmanager
    def around_pass(self, step: ModulePass, op: Operation) -> Generator[None]:
        before = module_text(op, _INLINE)
        yield
        after = module_text(op, _INLINE)
        if after == before:
            return
        root = op.get_toplevel_object()
        assert isinstance(root, ModuleOp)
        self._display.heading(str(step))
        self._display.line(f"{(step.__doc__ or '').strip().splitlines()[0]}\n")
        self._display.code(_difference(before, after), "diff")
        told = self._compared.told(interpret(root, self._compared.inputs), preservation_of(step), root)
        self._display.line(f"\n→ {told}")
        self._display.page(f"{step.name}.mlir", after)


def build_argument_parser() -> argparse.ArgumentParser:
    """The command line of the tour."""
    parser = argparse.ArgumentParser(prog="tour", description="One layer through all levels.", allow_abbrev=False)
    parser.add_argument("model", nargs="?", default=EXAMPLE, help=f"a float model of known sizes (default: {EXAMPLE})")
    parser.add_argument("-o", "--output", default="build/tour", metavar="DIR", help="where the modules are written")
    parser.add_argument("--isa", default="generic", help="the instruction set of the loops, host for this processor's")
    return parser


def _samples(module: ModuleOp) -> dict[str, Any]:
    """Numbers from -1 to 1 for every input, the same at each run."""
    generator = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for port in inputs_of(function_of(module, "main")):
        type_ = ranked_tensor(port.type)
        if type_ is None or not type_.has_static_shape() or type_.get_element_type() != f32:
            raise op_error(module, f"input '{port.name}' has type {port.type}: a tour takes f32 tensors of known sizes")
        _, *sizes = type_.get_shape()
        found[port.name] = generator.uniform(-1, 1, (_SAMPLES, *sizes)).astype(np.float32)
    return found


def _run(arguments: argparse.Namespace, streams: Streams) -> int:
    module = load(arguments.model)
    isa = host_isa() if arguments.isa == "host" else arguments.isa
    samples = _samples(module)
    display = _Display(streams, Path(arguments.output))
    inputs = {name: array[:1] for name, array in samples.items()}
    exact = interpret(module, inputs)
    compared = Compared(inputs, exact, exact)
    taken = profile(module, samples, passes=quantize_pipeline({}, module).text("lower"))
    steps = descend(module, taken, isa=isa, instrumentations=[_Guide(display, compared)])
    display.heading(f"level graph: {LEVELS[GRAPH].summary}")
    modules: dict[str, ModuleOp] = {}
    for step in steps:
        modules[step.level] = step.module
        if step.level == GRAPH:
            display.code(text := module_text(step.module, _INLINE), "mlir")
            display.page("graph.mlir", text)
        else:
            display.heading(f"level {step.level} is reached: {LEVELS[step.level].summary}")
    display.heading("Python, which numba compiles")
    display.code(source := emit_module(modules["loops"]), "python")
    display.page("kernels.py", source)
    with without_remarks():  # the passes have made them before
        program = compile(modules["quantized"], isa=isa)
    display.line(f"\n→ compiled: {compared.told(program(compared.inputs), EVERY_BIT, module)}")
    display.line(f"\nThe module after each pass is in {arguments.output}/.")
    return 0


main = main_of(build_argument_parser, _run)


if __name__ == "__main__":
    console(main)
