"""Types with more of their shape known: what inference gives, joined with what the value's own type says."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from qmlir.dialects.nn.base import shapes_agree
from qmlir.dialects.nn.types import SequenceType
from qmlir.ir.builtin_types import AnyTensor, ranked_tensor, unranked_tensor


def is_static(type_: Attribute) -> bool:
    """Whether `type_` is a tensor of known sizes."""
    ranked = ranked_tensor(type_)
    return ranked is not None and DYNAMIC_INDEX not in ranked.get_shape()


def is_open(type_: Attribute) -> bool:
    """Whether `type_` is a tensor of which a size is not known, or a sequence."""
    if isinstance(type_, SequenceType) or unranked_tensor(type_) is not None:
        return True
    return ranked_tensor(type_) is not None and not is_static(type_)


def retype(value: SSAValue, type_: Attribute) -> SSAValue:
    """`value` with another type: a new value where it is another one."""
    return value if value.type == type_ else Rewriter.replace_value_with_new_type(value, type_)


def shaped(type_: Attribute, shape: Sequence[int]) -> AnyTensor:
    """The tensor type of `shape` with the elements of the ranked tensor `type_`."""
    ranked = ranked_tensor(type_)
    assert ranked is not None
    return TensorType(ranked.get_element_type(), list(shape))


def refined(type_: Attribute, inferred: Attribute) -> Attribute | None:
    """`type_` with the sizes that `inferred` knows, `None` where they contradict each other.

    The elements stay: what quantization decided of them does not follow from the operands.
    """
    if isinstance(type_, SequenceType) and isinstance(inferred, SequenceType):
        tensors = refined(type_.tensors, inferred.tensors)
        return None if tensors is None else SequenceType(tensors)
    mine, other = ranked_tensor(type_), ranked_tensor(inferred)
    if other is None:
        return type_
    if mine is None:
        return inferred
    if not shapes_agree(mine.get_shape(), other.get_shape()):
        return None
    sizes = [
        known if size == DYNAMIC_INDEX else size
        for size, known in zip(other.get_shape(), mine.get_shape(), strict=True)
    ]
    return shaped(type_, sizes)
