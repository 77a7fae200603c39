"""What each layer takes in a compiled program, measured kernel by kernel.

A kernel that several nodes share, such as a convolution with the sum and the activation behind it, is one of its first
node with weights. So the times of layers add up to those of the kernels, whatever is fused.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.search.widths import Layered, Widths
from qmlir.targets.cpu.compiler import compile_module
from qmlir.targets.cpu.timing import KernelTime

ROUNDS = 50
"""Runs of a program; the shortest time of each kernel counts, which other work on the machine disturbs least."""


@dataclass(frozen=True)
class Latency:
    """Measures programs of a module whose layers have widths, on one sample."""

    layered: Layered
    inputs: Mapping[str, Array]
    threads: int = 1

    def of(self, widths: Widths) -> dict[str, int]:
        """The nanoseconds of each layer with these widths, and of all that is in none, by the name ''.

        Raises `DiagnosticError` for what cannot be compiled.
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
    """The longest of `names` that a node, or a part of it such as `fc1/bias_add`, belongs to; empty for none."""
    fitting: Sequence[str] = [name for name in names if node == name or node.startswith(f"{name}/")]
    return max(fitting, key=len, default="")
