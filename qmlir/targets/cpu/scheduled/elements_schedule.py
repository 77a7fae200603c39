"""How structured operations are made into loops: how many elements are one vector, and whether threads divide them."""

import math

from xdsl.dialects.builtin import IndexType, ModuleOp, TensorType, i1
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Attribute

from qmlir.dialects.kernel.attributes import SCHEDULE, TARGET, ScheduleAttr, TargetAttr
from qmlir.dialects.kernel.ops import JoinOp, shaped
from qmlir.dialects.kernel.variants import LANES, SCALAR
from qmlir.dialects.simd.base import bits_of
from qmlir.ir.statistics import count
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.isa.base import DOT_US
from qmlir.targets.cpu.loops.lanes import sums_bytes
from qmlir.targets.cpu.scheduled import contraction_schedule

_WIDEST = 32
"""Elements of more bits take several registers: the shorter ones that they are made of fill one."""

_BYTE = 8

_HELD = (8, 16, 32, 64)
"""The bits of elements that stand in memory as in a register."""


def elements_schedule(op: LinalgStructuredOperation, isa: str, threads: int) -> ScheduleAttr | None:
    """The schedule of a structured operation, `None` for scalars on one thread."""
    sizes = [math.prod(shaped(value)[0]) for value in op.operands if isinstance(value.type, TensorType)]
    is_divided = threads > 1 and sum(sizes) >= contraction_schedule.THREADED_ELEMENTS
    found = instruction_set(isa)
    lanes = _lanes(op, found.bits)
    if lanes > 1:
        # Sums of bytes are products by ones.
        terms = _WIDEST // _BYTE if found.widths(DOT_US) and sums_bytes(op.body.block) else 1
        return ScheduleAttr.of(LANES, lanes=lanes, k_unroll=terms, threads=is_divided)
    return ScheduleAttr.of(SCALAR, threads=True) if is_divided else None


def _lanes(op: LinalgStructuredOperation, bits: int) -> int:
    """The elements of one register, by the widest that the body computes with; 1 where memory packs elements."""
    in_memory = [argument.type for argument in op.body.block.args]
    if any(isinstance(element, IndexType) or bits_of(element) not in _HELD for element in in_memory):
        return 1
    if any(isinstance(each, JoinOp) for each in op.body.block.ops):
        return bits // _BYTE  # what is joined comes out of as many registers as a number has bytes
    computed = [value.type for each in op.body.block.ops for value in each.results]
    widest = max((_bits(element) for element in (*in_memory, *computed)), default=_WIDEST)
    return bits // min(widest, _WIDEST)


def _bits(element: Attribute) -> int:
    """The bits of a number in a lane; places and truths take those of what they are computed from."""
    return 0 if isinstance(element, IndexType) or element == i1 else bits_of(element)


def schedule_all_elements(module: ModuleOp) -> None:
    """Give every structured operation that has no schedule the one for the target of the module, if that has one."""
    target = module.attributes.get(TARGET)
    if not isinstance(target, TargetAttr):
        return
    for op in module.walk():
        if isinstance(op, LinalgStructuredOperation) and SCHEDULE not in op.attributes:
            schedule = elements_schedule(op, target.isa, target.threads)
            if schedule is not None:
                op.attributes[SCHEDULE] = schedule
                count("structured operations divided among threads", schedule.threads)
