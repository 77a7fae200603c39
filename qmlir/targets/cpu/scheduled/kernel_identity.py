"""What makes two contractions the same kernel for a search of schedules: all that decides how fast their loops are.

Sizes, types, steps of windows, whether weights are known, the loops that accept them and the operations of the epilogue
count; numbers (weights, zero points, multipliers) and names of nodes do not.
"""

from collections.abc import Iterator

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, Operation

from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.ops import RequantizeOp, YieldOp
from qmlir.targets.cpu.isa import instruction_set

_NUMBERS = ("schedule", "operandSegmentSizes", "epilogue_maps", "input_zero_point", "weight_zero_point")
"""The properties that are told apart from the others, or do not count."""


def _text(attribute: Attribute) -> str:
    if isinstance(attribute, DenseArrayBase):
        return "x".join(map(str, attribute.get_values()))
    return str(attribute)


def _steps(op: ContractionOp) -> Iterator[str]:
    """The operations of the epilogue by name and type."""
    for each in op.body.walk():
        if isinstance(each, ConstantOp | YieldOp):
            continue
        mode = f"<{each.mode.mode}>" if isinstance(each, RequantizeOp) else ""
        yield f"{each.name}{mode} {','.join(str(value.type) for value in each.results)}"


def _is_known(op: ContractionOp) -> bool:
    owner = op.w.owner
    return isinstance(owner, Operation) and isinstance(owner, ConstantOp)


def kernel_identity(op: ContractionOp, isa: str, threads: int) -> str:
    """A line that is the same for contractions that one schedule fits alike, on an instruction set and so many threads.

    `op` is not packed yet.
    """
    properties = [f"{name}={_text(value)}" for name, value in sorted(op.properties.items()) if name not in _NUMBERS]
    epilogue = [
        f"{value.type} by {attribute.data}" for value, attribute in zip(op.epilogue, op.epilogue_maps, strict=True)
    ]
    variants = dict.fromkeys(row.variant for row in instruction_set(isa).rows_for(op))
    parts = (
        f"{isa}, {threads} thread{'s' if threads > 1 else ''}",
        f"{op.name} {op.x.type} by {'constant ' if _is_known(op) else ''}{op.w.type} to {op.target.type}",
        ", ".join(properties),
        f"sums {op.accumulator_type}, loops {', '.join(variants)}",
        "; ".join(epilogue),
        "; ".join(_steps(op)),
    )
    return " | ".join(part for part in parts if part)
