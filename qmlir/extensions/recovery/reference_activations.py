"""References for accuracy recovery: float activations, and the sensitivity of the outputs to each value."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction.evaluate import rows_of
from qmlir.extensions.training.nn_gradient import NnGradient
from qmlir.extensions.training.value_gradients import PlaceGradients
from qmlir.interpreter.interpreter import Lockstep
from qmlir.ir.provenance import Origin, origins_of
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.specialization.inputs import function_of

# The float program is run alongside the quantized one: the inputs and results of its operations in the same runs.
#
#  The quantized program was derived from it, and corresponding operations have the same origins. Both programs advance
# together, so only those values of the float one are held that are still needed.


class FloatData:
    """The values that a float `module` computes in `runs`, to be read in program order; earlier ones are released.

    Operations with the same origins, such as the contractions in the time steps of a recurrent layer, cannot be told
    apart and are left out.
    """

    def __init__(self, module: ModuleOp, name: str, runs: Sequence[Sequence[Any]]):
        operations = list(function_of(module, name).body.block.ops)
        known = ((op, rows_of(op)) for op in operations)
        self._rows = {op: rows for op, rows in known if rows is not None and constant_array(rows.weight) is not None}
        counts = Counter(map(origins_of, self._rows))
        self._products = {origins: op for op in self._rows if counts[origins := origins_of(op)] == 1}
        alike = Counter(map(_kind, operations))
        self._givers = {kind: op for op in operations if alike[kind := _kind(op)] == 1 and op.results}
        self._readers = {value: op for op in reversed(operations) for value in op.operands}  # the first reader
        self._left = dict.fromkeys(operations)
        self._steps = Lockstep(module, name, runs)
        self._program = iter(self._steps)
        self._at: Operation | None = None

    def of(self, origins: tuple[Origin, ...]) -> Sequence[Array] | None:
        """Returns the input of the contraction with these `origins` in each run.

        Returns `None` if there is no such contraction or its input has been released.
        """
        wanted = self._products.get(origins)
        return None if wanted is None else self._before(wanted, self._rows[wanted].data)

    def result(self, op: Operation) -> Sequence[Array] | None:
        """Returns the float result of `op` in each run; `None` if it is unknown or has been released.

        `op` is an operation of the quantized program.
        """
        value = self.value(op)
        reader = None if value is None else self._readers.get(value)
        return None if value is None or reader is None else self._before(reader, value)

    def value(self, op: Operation) -> SSAValue | None:
        """Returns the first result of the float operation that `op` was quantized from; `None` if it is unknown."""
        found = self._givers.get(_kind(op))
        return None if found is None else found.results[0]

    def _before(self, wanted: Operation, value: SSAValue) -> Sequence[Array] | None:
        """Returns `value` in each run, before `wanted` is computed; `None` if `wanted` was passed."""
        if wanted not in self._left:
            return None
        while self._at is not wanted:
            if self._at is not None:
                del self._left[self._at]
            self._at = next(self._program, wanted)  # the terminator is no step
        return self._steps.values(value)


def _kind(op: Operation) -> tuple[tuple[Origin, ...], str]:
    return origins_of(op), op.name


# The weight of an error at a value inside a float program: the squared gradient of the output error with respect to it.
#
# Near the float program an error `d` of the value changes the outputs `y` by `J d`. The sum of their squared errors,
# each relative to the mean square of its output, is
#
#     sum_o |J_o d|^2 / E|y_o|^2 = d' (sum_o J_o' J_o / E|y_o|^2) d
#
# The diagonal of that matrix weights each element of `d` (Li et al., BRECQ: Pushing the Limit of Post-Training
# Quantization by Block Reconstruction, ICLR 2021, equations 9 and 10). For random signs `e`, the expected squares of
# `J' e` are the diagonal of `J' J`: one backward pass covers all output elements at once, as in `qmlir search`.

_DRAWS = 4
"""The number of random sign vectors drawn per run."""


def _differentiated(module: ModuleOp, wrt: Sequence[str]) -> ModuleOp:
    NnGradient(wrt=tuple(wrt)).apply(Context(), module)
    return module


def _factors(program: PlaceGradients, given: Sequence[Mapping[str, Array]], outputs: Sequence[str]) -> dict[str, float]:
    """Returns the factor that makes the error of each output relative: 1 / RMS of the output over all batches."""
    if len(outputs) == 1:
        return {outputs[0]: 1.0}  # irrelevant, as the weights are normalized to a mean of 1
    squares = {name: list[float]() for name in outputs}
    for inputs in given:
        values = program.forward(inputs)
        for name, found in squares.items():
            found.append(float(np.square(values[name], dtype=np.float64).mean()))
    means = {name: float(np.mean(each)) for name, each in squares.items()}
    return {name: mean**-0.5 for name, mean in means.items() if mean > 0}


def error_weights(
    module: ModuleOp, name: str, value: SSAValue, batches: Sequence[Sequence[Array]], shape: Sequence[int]
) -> list[Array] | None:
    """Returns the weights of the elements of `value`, one array of the given `shape` for each of `batches`.

    Each batch holds the arguments of the function `name`. The weights have a mean of 1 over all batches. Returns `None`
    if the gradients of the outputs are 0 or not finite. Raises `DiagnosticError`, naming the operation, if an operation
    has no gradient.
    """
    function = function_of(module, name)
    names = [port.name for port in inputs_of(function)]
    given = [dict(zip(names, each, strict=True)) for each in batches]
    sizes = {each: array.shape for each, array in given[0].items()}
    program = PlaceGradients(module, name, {value: shape}, sizes, _differentiated)
    factors = _factors(program, given, [port.name for port in outputs_of(function) if program.reads(port.name)])
    found: list[F64] = []
    for at, inputs in enumerate(given):
        random = np.random.default_rng([0, at])
        values = program.forward(inputs)
        total = np.zeros(tuple(shape))
        for _ in range(_DRAWS):
            signs = {each: random.choice([-1.0, 1.0], values[each].shape) for each in factors}
            seeds = {each: (factor * signs[each]).astype(np.float32) for each, factor in factors.items()}
            total += np.square(program.backward(values, seeds)[value], dtype=np.float64)
        found.append(total)
    mean = float(np.mean([each.mean() for each in found]))
    return [(each / mean).astype(np.float32) for each in found] if 0 < mean < math.inf else None
