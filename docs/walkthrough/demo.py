"""`make demo`: a trained model from its ONNX file to an exact int8 program, and what that cost, in one go.

It profiles, quantizes, lowers and compiles, holds the compiled program against the interpreter bit for bit, prints
accuracy, size and speed beside float, and writes the module at every level and the report into a folder.
"""

import argparse
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

from docs.walkthrough.descending import descend
from qmlir import compile, interpret, load, report
from qmlir.extensions.report.timing import Times, interleaved
from qmlir.interpreter.archives import arrays_of, whole
from qmlir.interpreter.differences import difference_of
from qmlir.ir.diagnostics import text_error, without_remarks
from qmlir.ir.passes import EVERY_BIT
from qmlir.targets.cpu.emitters.numba.emit import emit_module
from qmlir.targets.cpu.host import host_isa
from qmlir.targets.runtimes import onnx_runtime
from qmlir.targets.runtimes.packages import installed_version, is_installed
from qmlir.text.printing import PrintOptions, Weights, save_module
from qmlir.text.tables import bytes_text
from qmlir.text.writing import made_folder, write_file
from qmlir.tools.command import console, main_of
from qmlir.tools.stdio import Streams
from qmlir.workflows.folder import QuantizedFolder
from qmlir.workflows.quantized import weight_bytes
from qmlir.workflows.quantizing import Quantized, quantize

MODEL = "docs/examples/digits_cnn.onnx"
SAMPLES = "docs/examples/digits_samples.npz"
TEST = "docs/examples/digits_test.npz"
_INPUT = "input"
_LABELS = "labels"
_SHAPE = (1, 1, 8, 8)
_CHECKED = 100
"""Images that the interpreter computes, too."""

Call = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class _Contestant:
    """A row of the table: what runs the model, and the bytes of its weights."""

    name: str
    call: Call
    weight_bytes: int


class _Demo:
    """The steps of the demonstration; each prints what it did, and how long it took."""

    def __init__(self, streams: Streams, folder: Path) -> None:
        self._console = Console(file=streams.stdout, highlight=False)
        self._progress = streams.stderr
        self._folder = made_folder(folder)
        test = {name: whole(rows) for name, rows in arrays_of(Path(TEST)).items()}
        self._images, self._labels = test[_INPUT], test[_LABELS]

    @contextmanager
    def _step(self, title: str) -> Generator[None]:
        start = time.perf_counter()
        self._console.print(f"[bold]{title}[/bold]")
        yield
        self._console.print(f"  [dim]{time.perf_counter() - start:.1f} s[/dim]")

    def _say(self, text: str) -> None:
        self._console.print("\n".join(f"  {line}" for line in text.rstrip().splitlines()), markup=False)

    def run(self) -> None:
        """All of it. Raises `DiagnosticError` where a number is wrong."""
        with self._step(f"1. Read {MODEL}, a trained classifier of handwritten digits"):
            model = load(MODEL, shapes={_INPUT: _SHAPE})
        with self._step(f"2. Profile the lowered model on {SAMPLES}, and decide the types of its values"):
            folder, quantized = self._quantize(model)
        with self._step("3. Lower it to integer loops; the module at every level:"):
            self._write_levels(model, quantized)
        with self._step(f"4. Compile the loops with numba for this processor ({host_isa()})"):
            programs = {"float": compile(model, progress=self._progress)}
            programs["int8"] = compile(quantized.module, progress=self._progress)
            self._say("kernels come from the cache where they were compiled before")
        with self._step("5. Hold the compiled programs against the interpreter, bit for bit"):
            self._check(quantized.module, programs["int8"])
        with self._step("6. Accuracy, size, speed"):
            self._measure(model, quantized.module, programs)
        with self._step("7. Write the report"):
            page = self._folder / "report.html"
            report(folder.path, {_INPUT: self._images}, page, labels=self._labels, progress=self._progress)
        self._console.print(f"\nOpen next:\n  {page}\n  {self._folder}/levels/\n  docs/getting-started.md")

    def _quantize(self, model: ModuleOp) -> tuple[QuantizedFolder, Quantized]:
        quantized = quantize(model, SAMPLES, progress=self._progress, validate=False)
        folder = QuantizedFolder(self._folder / "digits_cnn", "digits_cnn")
        quantized.save(folder.path, stem=folder.stem)
        self._say(repr(quantized))
        self._say(f"in {folder.path}/: the module, its profile, the recipe")
        return folder, quantized

    def _write_levels(self, model: ModuleOp, quantized: Quantized) -> None:
        levels = made_folder(self._folder / "levels")
        steps = list(descend(model, quantized.profile, isa=host_isa()))
        for number, step in enumerate(steps):
            path = levels / f"{number}-{step.level}.mlir"
            save_module(step.module, path, PrintOptions(weights=Weights.SIDECAR))
            self._say(f"{path}  {sum(1 for _ in step.module.walk()) - 1} operations")
        write_file(levels / "kernels.py", emit_module(steps[-1].module))
        self._say(f"{levels / 'kernels.py'}  the Python that numba compiles")

    def _check(self, module: ModuleOp, program: Call) -> None:
        for position in range(_CHECKED):
            inputs = {_INPUT: self._images[position : position + 1]}
            found = program(inputs)
            for name, expected in interpret(module, inputs).items():
                different = difference_of(expected, found[name], EVERY_BIT)
                if different is not None:
                    raise text_error(f"sample {position}: output '{name}' {different} in the compiled program")
        self._say(f"{_CHECKED} images: every bit of every output is equal")

    def _measure(self, model: ModuleOp, quantized: ModuleOp, programs: Mapping[str, Call]) -> None:
        rows = [
            _Contestant("qmlir float", programs["float"], weight_bytes(model)),
            _Contestant("qmlir int8", programs["int8"], weight_bytes(quantized)),
        ]
        if is_installed(onnx_runtime.PACKAGE):
            title = f"ONNX Runtime {installed_version(onnx_runtime.PACKAGE)} float"
            rows.append(_Contestant(title, onnx_runtime.OrtSession(MODEL), weight_bytes(model)))
        one = {_INPUT: self._images[:1]}
        times = interleaved({row.name: partial(row.call, one) for row in rows}, rounds=3, seconds=0.1)
        table = Table("", "top-1", "weights", "time of one image")
        for row in rows:
            table.add_row(
                row.name, f"{self._accuracy(row.call):.4f}", bytes_text(row.weight_bytes), _told(times[row.name])
            )
        self._console.print(table)

    def _accuracy(self, call: Call) -> float:
        right = 0
        for image, label in zip(self._images, self._labels, strict=True):
            (scores,) = call({_INPUT: image[None]}).values()
            right += int(np.argmax(scores)) == int(label)
        return right / len(self._labels)


def _told(timing: Times) -> str:
    return f"{timing.median * 1e6:.1f} us"


def build_argument_parser() -> argparse.ArgumentParser:
    """The command line of the demonstration."""
    parser = argparse.ArgumentParser(
        prog="demo", description="A trained model from its file to an exact int8 program.", allow_abbrev=False
    )
    parser.add_argument("-o", "--output", default="build/demo", metavar="DIR", help="where everything is written")
    return parser


def _run(arguments: argparse.Namespace, streams: Streams) -> int:
    with without_remarks():
        _Demo(streams, Path(arguments.output)).run()
    return 0


main = main_of(build_argument_parser, _run)


if __name__ == "__main__":
    console(main)
