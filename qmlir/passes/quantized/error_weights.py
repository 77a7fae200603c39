"""How much an error of a value inside a float program counts: the squared gradient of the error of the outputs by it.

Near the float program an error `d` of the value changes the outputs `y` by `J d`, so that their squared errors, each
relative to the mean square of its output, add up to

    sum_o |J_o d|^2 / E|y_o|^2 = d' (sum_o J_o' J_o / E|y_o|^2) d

The diagonal of that matrix weights each element of `d` (Li et al., BRECQ: Pushing the Limit of Post-Training
Quantization by Block Reconstruction, ICLR 2021, equations 9 and 10). For random signs `e` the squares of `J' e` have
the diagonal of `J' J` in expectation: one backward pass has all elements of the outputs at once, as for `qmlir
search`.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.passes.primitive.nn_gradient import NnGradient
from qmlir.passes.quantized.value_gradients import PlaceGradients
from qmlir.specialization.inputs import function_of

_DRAWS = 4
"""Draws of signs for each run."""


def _differentiated(module: ModuleOp, wrt: Sequence[str]) -> ModuleOp:
    NnGradient(wrt=tuple(wrt)).apply(Context(), module)
    return module


def _factors(program: PlaceGradients, given: Sequence[Mapping[str, Array]], outputs: Sequence[str]) -> dict[str, float]:
    """What makes an error of each output relative: one over the root of its mean square in all batches."""
    if len(outputs) == 1:
        return {outputs[0]: 1.0}  # the weights have a mean of 1 whatever it is
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
    """The weight of each element of `value`, which has `shape`, in each of `batches`: arguments of the function `name`.

    They are 1 in the mean over all batches. `None` where the gradients of outputs are 0, or not finite. Raises
    `DiagnosticError` for an operation without a gradient, naming it.
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
