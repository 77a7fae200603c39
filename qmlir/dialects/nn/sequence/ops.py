"""Immutable sequences of tensors (ONNX Sequence…, SplitToSequence, ConcatFromSequence).

These operations are not `NnOp`s, because the operands and results of an `NnOp` are tensors that passes count, profile
and quantize. A result type may be more precise than the operands imply, because a model may declare a rank or size that
does not follow from them.
"""

from abc import ABC
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, ClassVar, Self, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyUnrankedTensorType,
    BoolAttr,
    IntegerAttr,
    TensorType,
    UnrankedTensorType,
    i64,
)
from xdsl.ir import Operation, SSAValue, TypeAttribute
from xdsl.irdl import (
    OpResult,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.rewriter import Rewriter
from xdsl.traits import Pure
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir.dialects.nn.assembly import CommonFormatOp
from qmlir.dialects.nn.base import UNKNOWN_TYPE, Operand, build, property_attribute, shapes_agree
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.movement.ops import ConcatOp, SplitOp, SqueezeOp, UnsqueezeOp, normalized_axis
from qmlir.dialects.nn.types import SequenceType
from qmlir.ir.builtin_types import AnyTensor, as_integer, element_of, ranked_tensor, shape_of, tensor, unranked_tensor
from qmlir.ir.evaluation import evaluate, operand_groups
from qmlir.ir.interfaces import HasParameters, InferResultTypes, KnownValue, Replacement

# The type of a sequence's tensors, inferred from the types of its elements.

Tensors = AnyTensor | AnyUnrankedTensorType


def common_type(*types: Tensors) -> Tensors:
    """Returns the most precise type that covers all `types`; differing ranks and sizes become dynamic."""
    elements = {type_.get_element_type() for type_ in types}
    if len(elements) != 1:
        found = ", ".join(sorted(map(str, elements))) or "none"
        raise VerifyException(f"all tensors of a sequence must have one element type, but got {found}")
    return reduce(_common, types)


def _common(left: Tensors, right: Tensors) -> Tensors:
    one, other = ranked_tensor(left), ranked_tensor(right)
    if one is None or other is None or one.get_num_dims() != other.get_num_dims():
        return UnrankedTensorType(left.get_element_type())
    sizes = [a if a == b else DYNAMIC_INDEX for a, b in zip(one.get_shape(), other.get_shape(), strict=True)]
    return TensorType(left.get_element_type(), sizes)


def tensors_agree(left: Tensors, right: Tensors) -> bool:
    """Whether a tensor can have both types."""
    if left.get_element_type() != right.get_element_type():
        return False
    one, other = ranked_tensor(left), ranked_tensor(right)
    return one is None or other is None or shapes_agree(one.get_shape(), other.get_shape())


def resized(type_: AnyTensor, axis: int, size: int | None) -> AnyTensor:
    """Returns `type_` with another size along `axis`, or without the axis if `size` is `None`."""
    shape = type_.get_shape()
    axis = normalized_axis(axis, len(shape))
    return TensorType(type_.get_element_type(), (*shape[:axis], *(() if size is None else (size,)), *shape[axis + 1 :]))


def joined_type(tensors: Tensors, axis: int, is_new: bool) -> Tensors:
    """Returns the type of any number of `tensors` concatenated along `axis`, or stacked along it if it `is_new`."""
    type_ = ranked_tensor(tensors)
    if type_ is None:
        return tensors
    if not is_new:
        return resized(type_, axis, DYNAMIC_INDEX)
    shape = type_.get_shape()
    axis = normalized_axis(axis, len(shape) + 1)
    return TensorType(type_.get_element_type(), (*shape[:axis], DYNAMIC_INDEX, *shape[axis:]))


def sequence_of(value: SSAValue) -> SequenceType:
    """Returns the type of a sequence value."""
    assert isinstance(value.type, SequenceType)
    return value.type


def _members(value: SSAValue) -> tuple[SSAValue, ...] | None:
    """Returns the tensors of a sequence constructed from SSA values; `None` for any other sequence."""
    match value.owner:
        case SequenceConstructOp() as made:
            return tuple(made.inputs)
        case SequenceEmptyOp():
            return ()
        case _:
            return None


def _made_of(tensors: Sequence[SSAValue], type_: TypeAttribute) -> "SequenceOp":
    """Returns the operation that constructs a sequence of `tensors`; `type_` is its type if there are none."""
    return SequenceConstructOp.of(list(tensors)) if tensors else SequenceEmptyOp.of(result_type=type_)


class SequenceOp(CommonFormatOp, InferResultTypes, HasParameters, ABC):
    """An operation with one result that takes or returns a sequence.

    Compiled code has no sequences. If positions and sizes are constant, the tensors in a sequence are known SSA values,
    and the operation is folded to these values.
    """

    PARAMETER: ClassVar[str] = ""
    """The name of the operand with the position or the sizes, on which the result shape may depend."""

    OWNS_TENSORS: ClassVar[bool] = False
    """Whether the operation constructs a sequence from tensors."""

    traits = traits_def(Pure())

    def parameter_operands(self) -> Iterator[SSAValue]:
        value: SSAValue | None = getattr(self, self.PARAMETER) if self.PARAMETER else None
        if value is not None:
            yield value

    def specialized(self, known: KnownValue) -> Replacement | None:
        """Evaluates the operation on the SSA values in its sequences, without reading tensor elements."""
        values: list[Any] = []
        for name, _, group in operand_groups(self):
            for value in group:
                if isinstance(value.type, SequenceType):
                    values.append(_members(value))
                else:
                    values.append(known(value) if name == self.PARAMETER else value)
        if self.OWNS_TENSORS or any(value is None for value in values):
            return None
        return self.specialized_on(values)

    def specialized_on(self, values: Sequence[Any]) -> Replacement | None:
        """Returns the replacement of the operation, given the tensors in its sequences and the values of its
        parameters."""
        result = self.evaluated(values)
        match result:
            case SSAValue():
                return Replacement([], [cast(SSAValue, result)])
            case tuple():
                return Replacement.by(_made_of(cast(tuple[SSAValue, ...], result), self.value_type))
            case _:
                return Replacement.by(ConstantOp.of(result, tensor(self.value_type)))

    def evaluated(self, values: Sequence[Any]) -> Any:
        """Evaluates the operation with its registered evaluator. Raises `VerifyException` if the evaluator rejects
        `values`."""
        try:
            results = evaluate(self, values)
        except InterpretationError as error:
            raise VerifyException(str(error)) from error
        assert results is not None
        return results[0]

    @property
    def value_type(self) -> TypeAttribute:
        """The type of the result."""
        return cast(TypeAttribute, self.value.type)

    @classmethod
    def of(cls, *operands: Operand, result_type: TypeAttribute | None = None, **properties: Any) -> Self:
        """Builds the operation from operands and plain Python properties; the result type is inferred unless it is
        given."""
        attributes = {name: property_attribute(value) for name, value in properties.items()}
        op = cls.build(operands=operands, result_types=[result_type or UNKNOWN_TYPE], properties=attributes)
        if result_type is None:
            (inferred,) = op.infer_result_types()
            Rewriter.replace_value_with_new_type(op.results[0], inferred)
        return op

    @property
    def value(self) -> OpResult:
        """The only result of the operation."""
        return self.results[0]

    def verify_(self) -> None:
        (inferred,) = self.infer_result_types()
        found = self.value.type
        if isinstance(inferred, SequenceType) and isinstance(found, SequenceType):
            agrees = tensors_agree(inferred.tensors, found.tensors)
        else:
            one, other = (ranked_tensor(inferred) or unranked_tensor(inferred)), ranked_tensor(found)
            agrees = one is not None and other is not None and tensors_agree(one, other)
        if not agrees:
            raise VerifyException(f"expected a result of type '{inferred}', but got '{found}'")


def verify_position(position: SSAValue | None) -> None:
    """Raises `VerifyException` unless `position` is one integer."""
    if position is None:
        return
    if as_integer(element_of(position)) is None or any(size not in (1, DYNAMIC_INDEX) for size in shape_of(position)):
        raise VerifyException(f"position must be one integer, but got '{position.type}'")


@irdl_op_definition
class SequenceConstructOp(SequenceOp):
    """Constructs a sequence of at least one operand."""

    name = "nn.sequence_construct"
    OWNS_TENSORS: ClassVar[bool] = True

    inputs = var_operand_def(TensorType)
    result = result_def(SequenceType)

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        return [SequenceType(common_type(*(tensor(value.type) for value in self.inputs)))]


@irdl_op_definition
class SequenceEmptyOp(SequenceOp):
    """Constructs an empty sequence; its type determines the tensors' element type."""

    name = "nn.sequence_empty"
    OWNS_TENSORS: ClassVar[bool] = True

    result = result_def(SequenceType)

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        return [sequence_of(self.result)]


@irdl_op_definition
class SequenceInsertOp(SequenceOp):
    """Inserts `tensor` before `position` (negative values count from the end), or at the end without a position."""

    name = "nn.sequence_insert"
    PARAMETER: ClassVar[str] = "position"

    sequence = operand_def(SequenceType)
    tensor = operand_def(TensorType)
    position = opt_operand_def(TensorType)
    result = result_def(SequenceType)

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        verify_position(self.position)
        return [SequenceType(common_type(sequence_of(self.sequence).tensors, tensor(self.tensor.type)))]


@irdl_op_definition
class SequenceEraseOp(SequenceOp):
    """Removes the tensor at `position` (negative values count from the end), or the last one without a position."""

    name = "nn.sequence_erase"
    PARAMETER: ClassVar[str] = "position"

    sequence = operand_def(SequenceType)
    position = opt_operand_def(TensorType)
    result = result_def(SequenceType)

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        verify_position(self.position)
        return [sequence_of(self.sequence)]


@irdl_op_definition
class SequenceAtOp(SequenceOp):
    """Returns the tensor at `position` (negative values count from the end).

    If the sequence has tensors of several ranks, the result type fixes the rank."""

    name = "nn.sequence_at"
    PARAMETER: ClassVar[str] = "position"

    sequence = operand_def(SequenceType)
    position = operand_def(TensorType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        verify_position(self.position)
        return [sequence_of(self.sequence).tensors]


@irdl_op_definition
class SequenceLengthOp(SequenceOp):
    """Returns the number of tensors in the sequence as an i64 scalar."""

    name = "nn.sequence_length"

    sequence = operand_def(SequenceType)
    result = result_def(TensorType)

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        return [TensorType(i64, [])]


@irdl_op_definition
class SplitToSequenceOp(SequenceOp):
    """Splits `input` along `axis` into parts of the sizes in `split`, or of equal size if `split` is a scalar.

    If a scalar does not divide the size of the axis, the last part is smaller. Without `split`, each part has size 1
    along the axis, and the axis is removed if `keep_dims` is false.
    """

    name = "nn.split_to_sequence"
    PARAMETER: ClassVar[str] = "split"

    input = operand_def(TensorType)
    split = opt_operand_def(TensorType)
    result = result_def(SequenceType)

    axis = opt_prop_def(IntegerAttr, IntegerAttr(0, i64))
    keep_dims = opt_prop_def(BoolAttr, BoolAttr.from_bool(True))

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        size = 1 if self.keep_dims.value.data else None
        if self.split is not None:
            if as_integer(element_of(self.split)) is None or len(shape_of(self.split)) > 1:
                raise VerifyException(
                    f"split must be an integer or a 1-D tensor of integers, but got '{self.split.type}'"
                )
            size = DYNAMIC_INDEX
        return [SequenceType(resized(tensor(self.input.type), self.axis.value.data, size))]

    def specialized_on(self, values: Sequence[Any]) -> Replacement | None:
        shape, axis = shape_of(self.input), self.axis.value.data
        if DYNAMIC_INDEX in shape:
            return None
        # The evaluator computes the parts; a broadcast single byte represents the array at no cost.
        parts = self.evaluated([np.broadcast_to(np.int8(0), shape), *values[1:]])
        sizes = [part.shape[axis] if part.ndim == len(shape) else 1 for part in parts]
        if not sizes:
            return Replacement.by(_made_of((), self.value_type))
        split = build(SplitOp, [self.input], {"axis": axis, "split": sizes}, results=len(sizes))
        operations: list[Operation] = [split]
        tensors: Sequence[SSAValue] = split.parts
        if self.split is None and not self.keep_dims.value.data:
            squeezes = [build(SqueezeOp, [part], {"axes": [axis]}) for part in split.parts]
            operations.extend(squeezes)
            tensors = [squeeze.result for squeeze in squeezes]
        made = _made_of(tensors, self.value_type)
        return Replacement([*operations, made], made.results)


@irdl_op_definition
class ConcatFromSequenceOp(SequenceOp):
    """Concatenates the tensors along `axis`, or stacks them along a new axis if `new_axis` is set."""

    name = "nn.concat_from_sequence"

    sequence = operand_def(SequenceType)
    result = result_def(TensorType)

    axis = prop_def(IntegerAttr)
    new_axis = opt_prop_def(BoolAttr, BoolAttr.from_bool(False))

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        is_new = bool(self.new_axis.value.data)
        return [joined_type(sequence_of(self.sequence).tensors, self.axis.value.data, is_new)]

    def specialized_on(self, values: Sequence[Any]) -> Replacement | None:
        tensors: Sequence[SSAValue] = values[0]
        if not tensors:
            raise VerifyException("cannot concatenate an empty sequence")
        operations: list[Operation] = []
        if self.new_axis.value.data:
            apart = [build(UnsqueezeOp, [value], {"axes": [self.axis.value.data]}) for value in tensors]
            operations.extend(apart)
            tensors = [each.result for each in apart]
        joined = build(ConcatOp, [tensors], {"axis": self.axis.value.data})
        return Replacement([*operations, joined], joined.results)
