"""The time of each layer in a compiled program, measured kernel by kernel.

A kernel that covers several nodes, such as a convolution with a fused residual add and activation, counts for its first
node with weights. So the times of the layers add up to those of the kernels, whatever is fused.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.search.widths import Layered, Widths
from qmlir.targets.cpu.compiler import compile_module
from qmlir.targets.cpu.timing import KernelTime

ROUNDS = 50
"""Runs of a program. The shortest time of each kernel counts, as other work on the machine disturbs it least."""


@dataclass(frozen=True)
class Latency:
    """Measures compiled programs of a module with chosen layer widths, on one sample."""

    layered: Layered
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
