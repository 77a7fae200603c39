"""Operations rebuilt for other element types: patterns insert them, and type decisions only try them out."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TypeGuard

from xdsl.dialects.builtin import Float32Type, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import Kind, kind_of, plain_type
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.normalization.ops import RowNormOp
from qmlir.dialects.nn.requantize import decompose
from qmlir.dialects.quant.infer import element_type
from qmlir.ir.builtin_types import element_of, shape_of, tensor
from qmlir.ir.decomposition import Parts
from qmlir.ir.interfaces import FixedRange, InferResultTypes, Quantizable, Slot

KEEP_FLOAT = "nn.keep_float"
"""The attribute on an operation that a recipe leaves in float, even if there are casts around it."""


DYNAMIC_DATA = "nn.dynamic"
"""The attribute on an operation whose data a recipe quantizes at run time: the scope and the scheme."""

DYNAMIC_ROLE = "dynamic"
"""The last part of the role of the operations that quantize data at run time, multiply it, and rescale the sums."""

TRAINABLE = "nn.trainable"
"""The attribute on a trainable argument or float constant. Such a constant stays a float when it is quantized."""

UNROUNDED = "quant.unrounded"
"""The attribute on a float constant whose codes a pass has chosen. It contains the original floats."""

REPAIR = "quant.repair"
"""The attribute on a float constant that names the accuracy recovery passes that may change it, if a recipe names them.
If the rules for several users of the constant differ, their texts are separated by `;`."""

FITTED = "quant.fitted"
"""The attribute on a function whose sums provably fit in `bits` bits, with the numbers of `layers` and those `changed`.
"""

REPAIRED = "quant.repaired"
"""The attribute on an operation that reads weights with the effects of accuracy recovery passes on its layer, in order.
It is removed when codes are converted back to floats for further training or recovery."""


def is_float(value: SSAValue) -> bool:
    """Returns True if `value` is a float or a tensor of floats."""
    return kind_of(element_type(value.type)) is Kind.FLOAT


def is_f32(value: SSAValue) -> bool:
    """Returns True if `value` has element type f32, profiled or not. No other float type is quantized."""
    return is_float(value) and isinstance(plain_type(element_of(value)), Float32Type)


def slots_of(op: Quantizable) -> dict[int, Slot]:
    """Returns the slots of the operands of `op` that may be quantized, by operand index."""
    return {position: slot for position, (_, slot) in enumerate(op.operands_with_slots()) if slot is not None}


def place_of(op: Quantizable, wanted: Slot) -> int | None:
    """Returns the index of the first operand of `op` in the slot `wanted`, or `None`."""
    return next((position for position, slot in slots_of(op).items() if slot is wanted), None)


def fixed_range(value: SSAValue) -> FixedRange | None:
    """Returns the range that the producer of `value` gives its results whatever it reads, or `None`."""
    op = value.owner
    return op.quantization_slots().fixed_output if isinstance(op, Quantizable) else None


def moves_values(op: object) -> TypeGuard[Quantizable]:
    """Returns True if `op` only moves or selects values, so that its operands and results share a type."""
    return isinstance(op, Quantizable) and op.quantization_slots().shares_parameters


def reads_weights(op: object) -> TypeGuard[Quantizable]:
    """Returns True if `op` has a slot for weights, like contractions."""
    return isinstance(op, Quantizable) and Slot.WEIGHT in op.quantization_slots().operands.values()


def may_be_quantized(op: Operation) -> bool:
    """Returns True if `op` supports quantized values, and the recipe does not leave it in float."""
    return isinstance(op, Quantizable) and op.accepts_quantized_values() and KEEP_FLOAT not in op.attributes


def may_be_fused(op: Operation) -> bool:
    """Returns True if `op` can be fused with the casts around it, and the recipe does not leave it in float."""
    return isinstance(op, Quantizable) and op.fuses_with_casts() and KEEP_FLOAT not in op.attributes


def on_types(op: Operation, operands: Sequence[SSAValue], elements: Sequence[Attribute | None]) -> Operation:
    """Returns a copy of `op` with other operands; `None` in `elements` infers the element type of a float result.

    Raises `VerifyException` if the operation does not support these types.
    """
    types = [
        result.type if element is None or not is_float(result) else TensorType(element, shape_of(result))
        for result, element in zip(op.results, elements, strict=True)
    ]
    made = recreated(op, operands, types)
    try:
        if any(is_float(result) and element is None for result, element in zip(op.results, elements, strict=True)):
            _infer(made, elements)
        made.verify_()
    except VerifyException:
        made.drop_all_references()
        raise
    for old, new in zip(op.results, made.results, strict=True):
        new.name_hint = old.name_hint
    return made


def _infer(op: Operation, elements: Sequence[Attribute | None]) -> None:
    """Gives the results without an entry in `elements` the element types that `op` infers."""
    if not isinstance(op, InferResultTypes):
        raise VerifyException("does not support inference of result types")
    for result, inferred, element in zip(tuple(op.results), op.infer_result_types(), elements, strict=True):
        if element is None:
            type_ = TensorType(tensor(inferred).get_element_type(), shape_of(result))
            Rewriter.replace_value_with_new_type(result, type_)


def recreated(op: Operation, operands: Sequence[SSAValue], types: Sequence[Attribute]) -> Operation:
    """Returns an operation like `op` on other operands, with results of other types; it may be invalid."""
    made = type(op).create(
        operands=operands, result_types=types, properties=dict(op.properties), attributes=dict(op.attributes)
    )
    made.location = op.location
    return made


@contextmanager
def hypothetical_clone(
    op: Operation, operands: Sequence[Attribute], elements: Sequence[Attribute | None]
) -> Generator[Operation]:
    """Yields a copy of `op` whose operands and float results have the given element types; `None` infers a type.

    The copy exists inside the `with` block only. Raises `VerifyException` if the operation does not support these
    types.
    """
    types = [
        TensorType(element, shape_of(value)) if element != element_of(value) else value.type
        for value, element in zip(op.operands, operands, strict=True)
    ]
    block = Block(arg_types=types)
    made = on_types(op, block.args, elements)
    try:
        yield made
    finally:
        made.drop_all_references()


@contextmanager
def trial_parts(composite: Operation) -> Generator[Parts | None]:
    """Yields the parts of `composite`, possibly of an excerpt; `None` if it has none.

    The parts exist inside the `with` block only.
    """
    parts = Parts(composite, may_be_excerpt=True)
    try:
        yield None if decompose(composite, parts) is None else parts
    finally:
        parts.discard()


def refusal(op: Operation, operands: Sequence[Attribute], elements: Sequence[Attribute | None]) -> str | None:
    """Returns why `op` does not support these element types of its operands and float results; `None` if it does."""
    try:
        with hypothetical_clone(op, operands, elements):
            return None
    except VerifyException as error:
        return str(error)


def mark_parameters(function: Operation) -> None:
    """Marks the scales and biases of row norms in `function` as trainable; these stay float constants."""
    for op in function.walk():
        for value in op.operands[1:] if isinstance(op, RowNormOp) and op.components is None else ():
            if isinstance(value.owner, ConstantOp):
                value.owner.attributes[TRAINABLE] = UnitAttr()


def mark_kept_in_float(op: Operation) -> None:
    """Prevents later passes from quantizing `op`."""
    op.attributes[KEEP_FLOAT] = UnitAttr()
