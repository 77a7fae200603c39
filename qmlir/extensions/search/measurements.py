"""Measured figures of a search: latencies of layers, and a file that stores slow measurements."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.search.widths import LayerwiseModel, Widths
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu.compiler import compile_module
from qmlir.targets.cpu.timing import KernelTime
from qmlir.text.data import read_data
from qmlir.text.files import path_of
from qmlir.text.writing import check_generated, made_folder, write_own

# Figures that are slow to measure, stored by name in a file, so that an interrupted search can continue.

FORMAT = "qmlir-search"

_START = f'{{\n "format": "{FORMAT}"'.encode()


class Measurements:
    """Measured figures by name, optionally backed by a file."""

    def __init__(self, key: str, path: str | PathLike[str] | None = None) -> None:
        """Reads the figures stored in `path` under `key`; figures stored under another key are discarded.

        Raises `DiagnosticError` if `path` is a file of another kind.
        """
        self.key = key
        self.path = None if path is None else path_of(path)
        if self.path is not None:
            check_generated(self.path, _START)
        self._figures: dict[str, float] = {} if self.path is None else _read(self.path, key)
        self.known = len(self._figures)
        """Number of figures that were read."""
        self.taken = 0
        """Number of figures measured since."""

    def __contains__(self, name: str) -> bool:
        return name in self._figures

    def measured(self, name: str, measure: Callable[[], float]) -> float:
        """Returns the stored figure `name`, or calls `measure` and stores its result immediately.

        Raises `DiagnosticError` if the result cannot be stored.
        """
        return self.together([name], lambda: [measure()])[0]

    def together(self, names: Sequence[str], measure: Callable[[], Sequence[float]]) -> list[float]:
        """Returns the stored figures `names`; if one is missing, calls `measure` and stores all its results."""
        if any(name not in self._figures for name in names):
            self._figures.update(zip(names, measure(), strict=True))
            self.taken += len(names)
            if self.path is not None:
                made_folder(self.path.parent)
                write_own(self.path, self.text())
        return [self._figures[name] for name in names]

    def text(self) -> str:
        """Returns the content of the file."""
        content = {"format": FORMAT, "key": self.key, "figures": self._figures}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _read(path: Path, key: str) -> dict[str, float]:
    """Returns the figures of a file; none if it does not exist or cannot be parsed."""
    try:
        data = read_data(path, allow_nonfinite=True)
        data["format"].text([FORMAT])
        data["key"].text([key])
        figures = data["figures"].entries()
    except DiagnosticError:
        return {}
    found: dict[str, float] = {}
    for name, each in figures.items():
        with suppress(DiagnosticError):
            found[name] = each.number(allow_nonfinite=True)
    return found


# The time of each layer in a compiled program, measured per kernel.
#
# The time of a kernel that covers several nodes, such as a convolution with a fused residual add and activation, is
# assigned to its first node with weights. So the times of the layers add up to those of the kernels, regardless of
# fusion.

ROUNDS = 50
"""The number of timed runs of a program. The shortest time of each kernel counts, because other load on the machine
affects it least.
"""


@dataclass(frozen=True)
class Latency:
    """Measures the latency of a module, compiled with chosen layer widths, on one sample."""

    layered: LayerwiseModel
    inputs: Mapping[str, Array]
    threads: int = 1

    def of(self, widths: Widths) -> dict[str, int]:
        """Returns the nanoseconds of each layer with these widths; the name '' stands for the rest of the program.

        Raises `DiagnosticError` if the module cannot be compiled.
        """
        program = compile_module(self.layered.quantized(widths), threads=self.threads)
        found: Counter[str] = Counter(dict.fromkeys(["", *self.layered.layers], 0))
        for each in program.time_kernels(self.inputs, ROUNDS):
            found[self._layer(each)] += round(each.seconds * 1e9)
        return dict(found)

    def _layer(self, kernel: KernelTime) -> str:
        known = [name for node in kernel.nodes if (name := _named(node, self.layered.layers))]
        weighted = (name for name in known if self.layered.layers[name].weights)
        return next(weighted, known[0] if known else "")


def _named(node: str, names: Iterable[str]) -> str:
    """Returns the longest of `names` that a node, or a part of it such as `fc1/bias_add`, belongs to.

    Returns an empty string if none does.
    """
    fitting: Sequence[str] = [name for name in names if node == name or node.startswith(f"{name}/")]
    return max(fitting, key=len, default="")
