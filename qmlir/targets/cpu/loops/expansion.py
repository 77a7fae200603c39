"""The definitions of `qmlir.arithmetic.functions` as operations: their steps, written by an `Emitter`.

Whoever writes a loop calls `expanded` where its body has `math.exp`; with an emitter of vectors the same definition
gives operations on all lanes.
"""

from collections.abc import Sequence

from xdsl.dialects import math
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.functions import FUNCTIONS
from qmlir.arithmetic.functions.roots import reciprocal_root
from qmlir.dialects.kernel.lowering.scalars import STEPS, Scalar
from qmlir.dialects.kernel.ops import scalar_of
from qmlir.targets.cpu.loops.emitter import Emitter


def function_name(op: Operation) -> str | None:
    """The name of the function of f32 or a shorter float that `op` computes, `None` where it is another one."""
    dialect, _, name = op.name.partition(".")
    is_function = dialect == math.Math.name and name in FUNCTIONS
    return name if is_function and scalar_of(op.results[0].type) in (f32, f16, bf16) else None


def expanded(emitter: Emitter, name: str, operands: Sequence[SSAValue]) -> SSAValue:
    """The function `name` (`exp`, …) of values of f32, f16 or bf16; the latter two go through f32."""
    scalars = [Scalar(operand, emitter) for operand in operands]
    element = scalars[0].type
    return FUNCTIONS[name].definition(STEPS, *(each.to(f32) for each in scalars)).to(element).value


def expanded_root(emitter: Emitter, value: SSAValue) -> SSAValue:
    """The reciprocal root of an integer, rounded exactly."""
    return reciprocal_root(STEPS, Scalar(value, emitter)).value
