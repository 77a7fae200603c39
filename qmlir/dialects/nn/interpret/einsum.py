"""What Einstein sums compute; f16 and bf16 in f32, rounded once, integers wrap."""

import numpy as np
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.interpret.precision import is_integral, widened
from qmlir.dialects.nn.ops import einsum as ops
from qmlir.ir.builtin_types import element_of
from qmlir.ir.evaluation import Evaluator
from qmlir.text.elements import narrowed


def _einsum(op: ops.EinsumOp, arrays: tuple[Array, ...]) -> tuple[Array]:
    equation = op.parsed
    equation.shape([array.shape for array in arrays])
    total = np.asarray(np.einsum(str(equation), *map(widened, arrays), optimize=len(arrays) > 1))
    result = total.astype(arrays[0].dtype)  # a copy, as NumPy gives a view where it can
    return (narrowed(result, element_of(op.result)) if is_integral(result) else result,)


EVALUATORS: dict[type[Operation], Evaluator] = {ops.EinsumOp: _einsum}
