"""What is known of the tensors of a sequence, from what is known of each of them."""

from functools import reduce

from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyUnrankedTensorType, TensorType, UnrankedTensorType
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import shapes_agree
from qmlir.dialects.nn.infer.movement import normalized_axis
from qmlir.ir.builtin_types import AnyTensor, ranked_tensor

Tensors = AnyTensor | AnyUnrankedTensorType


def common_type(*types: Tensors) -> Tensors:
    """The type that covers all of `types`, one at least: ranks and sizes in which they differ are left open."""
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
    """Whether a tensor can be of both types."""
    if left.get_element_type() != right.get_element_type():
        return False
    one, other = ranked_tensor(left), ranked_tensor(right)
    return one is None or other is None or shapes_agree(one.get_shape(), other.get_shape())


def resized(type_: AnyTensor, axis: int, size: int | None) -> AnyTensor:
    """`type_` with another size along `axis`, or (`None`) without the axis."""
    shape = type_.get_shape()
    axis = normalized_axis(axis, len(shape))
    return TensorType(type_.get_element_type(), (*shape[:axis], *(() if size is None else (size,)), *shape[axis + 1 :]))


def joined_type(tensors: Tensors, axis: int, is_new: bool) -> Tensors:
    """The type of any number of `tensors` concatenated along `axis`, or stacked along it where it `is_new`."""
    type_ = ranked_tensor(tensors)
    if type_ is None:
        return tensors
    if not is_new:
        return resized(type_, axis, DYNAMIC_INDEX)
    shape = type_.get_shape()
    axis = normalized_axis(axis, len(shape) + 1)
    return TensorType(type_.get_element_type(), (*shape[:axis], DYNAMIC_INDEX, *shape[axis:]))
