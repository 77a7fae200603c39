"""An operation on values of other types: what the patterns build, and what deciding tries out."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import Float32Type, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import Kind, kind_of, plain_type
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.normalization.ops import RowNormOp
from qmlir.dialects.quant.infer import element_type
from qmlir.ir.builtin_types import element_of, shape_of, tensor
from qmlir.ir.interfaces import InferResultTypes, Quantizable, Slot

KEEP_FLOAT = "nn.keep_float"
"""On an operation that a recipe leaves in float, also where it stands between casts."""


TRAINABLE = "nn.trainable"
"""On a constant of floats that is trained: it stays one, also where it is quantized. On an argument: its elements."""

UNROUNDED = "quant.unrounded"
"""On a constant of floats whose codes were chosen: the floats that it had."""

REPAIR = "quant.repair"
"""On a constant of floats: the passes that may repair it, where a recipe says which. Where it says more than one thing,
for several operations that read it, `;` stands between."""

REPAIRED = "quant.repaired"
"""On an operation that reads weights: what each repair did to its layer, in their order. It goes where codes become
floats again, which are trained or repaired anew."""


def is_float(value: SSAValue) -> bool:
    """Whether a value is a float, or a tensor of floats."""
    return kind_of(element_type(value.type)) is Kind.FLOAT


def is_f32(value: SSAValue) -> bool:
    """Whether a value is of the one float type that is quantized, profiled or not."""
    return is_float(value) and isinstance(plain_type(element_of(value)), Float32Type)


def slots_of(op: Quantizable) -> dict[int, Slot]:
    """The slots of the operands of `op` that may be quantized, by place."""
    return {place: slot for place, (_, slot) in enumerate(op.operands_with_slots()) if slot is not None}


def place_of(op: Quantizable, wanted: Slot) -> int | None:
    """The place of the first operand of `op` in a slot."""
    return next((place for place, slot in slots_of(op).items() if slot is wanted), None)


def may_be_quantized(op: Operation) -> bool:
    """Whether `op` is supported on quantized values, and no recipe wants it in float."""
    return isinstance(op, Quantizable) and op.accepts_quantized_values() and KEEP_FLOAT not in op.attributes


def may_be_fused(op: Operation) -> bool:
    """Whether `op` takes the place of itself between casts, and no recipe wants it in float."""
    return isinstance(op, Quantizable) and op.fuses_with_casts() and KEEP_FLOAT not in op.attributes


def on_types(op: Operation, operands: Sequence[SSAValue], elements: Sequence[Attribute | None]) -> Operation:
    """`op` on other operands; each float result has the element type that `elements` gives, or the inferred one.

    Raises `VerifyException` where the operation has no meaning on these types.
    """
    types = [
        result.type if element is None or not is_float(result) else TensorType(element, shape_of(result))
        for result, element in zip(op.results, elements, strict=True)
    ]
    made = _recreated(op, operands, types)
    try:
        if any(is_float(result) and element is None for result, element in zip(op.results, elements, strict=True)):
            made = _inferred(made, elements)
        made.verify_()
    except VerifyException:
        made.drop_all_references()
        raise
    for old, new in zip(op.results, made.results, strict=True):
        new.name_hint = old.name_hint
    return made


def _inferred(op: Operation, elements: Sequence[Attribute | None]) -> Operation:
    if not isinstance(op, InferResultTypes):
        raise VerifyException("does not support inference of result types")
    types = [
        TensorType(tensor(inferred).get_element_type(), shape_of(result)) if element is None else result.type
        for result, inferred, element in zip(op.results, op.infer_result_types(), elements, strict=True)
    ]
    made = _recreated(op, op.operands, types)
    op.drop_all_references()
    return made


def _recreated(op: Operation, operands: Sequence[SSAValue], types: Sequence[Attribute]) -> Operation:
    made = type(op).create(
        operands=operands, result_types=types, properties=dict(op.properties), attributes=dict(op.attributes)
    )
    made.location = op.location
    return made


@contextmanager
def imagined(
    op: Operation, operands: Sequence[Attribute], elements: Sequence[Attribute | None]
) -> Generator[Operation]:
    """`op` inside the `with` block on operands and with float results of these element types, `None` for inferred ones.

    Raises `VerifyException` where it does not take them.
    """
    block = Block(
        arg_types=[
            TensorType(element, shape_of(value)) if element != element_of(value) else value.type
            for value, element in zip(op.operands, operands, strict=True)
        ]
    )
    made = on_types(op, block.args, elements)
    try:
        yield made
    finally:
        made.drop_all_references()


def refusal(op: Operation, operands: Sequence[Attribute], elements: Sequence[Attribute | None]) -> str | None:
    """Why `op` does not take operands and float results of these element types; `None` where it does."""
    try:
        with imagined(op, operands, elements):
            return None
    except VerifyException as error:
        return str(error)


def mark_parameters(function: Operation) -> None:
    """Mark the scales and the biases of norms of rows in `function`, constants that stay floats, as trained."""
    for op in function.walk():
        for value in op.operands[1:] if isinstance(op, RowNormOp) and op.components is None else ():
            if isinstance(value.owner, ConstantOp):
                value.owner.attributes[TRAINABLE] = UnitAttr()


def mark_kept_in_float(op: Operation) -> None:
    """Let no later pass quantize `op`."""
    op.attributes[KEEP_FLOAT] = UnitAttr()
