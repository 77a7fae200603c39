"""Values of a run: the NumPy type for each element type, and checks of values against types."""

import math
from collections.abc import Sequence
from typing import Any, TypeVar, cast

import numpy as np
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import plain_type, shapes_agree
from qmlir.dialects.nn.result_shapes import shape_text
from qmlir.dialects.nn.types import StringType
from qmlir.dialects.quant.infer import storage_dtype
from qmlir.dialects.quant.types import StoredType, UniformFloatType
from qmlir.ir.builtin_types import ranked_tensor, tensor_or_memref, unranked_tensor
from qmlir.ir.interfaces import Container, HeldElement
from qmlir.ir.limits import budget, over
from qmlir.text.elements import dense_dtype

_Value = TypeVar("_Value")


def value_dtype(element: Attribute) -> np.dtype[Any] | None:
    """Returns the NumPy type for an element type: stored integers for a quantized type, `object` for strings."""
    if isinstance(element, StoredType | UniformFloatType):
        return storage_dtype(element)
    if isinstance(element, HeldElement):
        return dense_dtype(element.held_as)
    if isinstance(element, StringType):
        return np.dtype(np.object_)
    return dense_dtype(plain_type(element))


def read_only(array: Array) -> Array:
    """Returns a read-only view of an array, so that writing it is an error."""
    view = array.view()
    view.flags.writeable = False
    return view


def check_size(shape: Sequence[int], dtype: np.dtype[Any] | None) -> None:
    """Raises `InterpretationError` if an array of this static shape exceeds the maximum size of a value."""
    size = math.prod(shape) * (dtype.itemsize if dtype is not None else 1)
    if size > budget("value-bytes"):
        raise InterpretationError(f"the size in bytes of a value of shape {list(shape)} is {over('value-bytes', size)}")


def check_result(type_: Attribute) -> None:
    """Raises `InterpretationError` if a value of this static type exceeds the maximum size of a value."""
    shaped = tensor_or_memref(type_)
    if shaped is not None and shaped.has_static_shape():
        check_size(shaped.get_shape(), value_dtype(shaped.get_element_type()))


def parts_of(type_: Container, values: Sequence[_Value]) -> Sequence[_Value]:
    """Returns `values` unchanged. Raises `InterpretationError` if `type_` contains a different number of values."""
    if type_.count not in (None, len(values)):
        raise InterpretationError(f"a value of type {type_} must have {type_.count} parts, but got {len(values)}")
    return values


def check_value(value: Any, type_: Attribute) -> None:
    """Raises `InterpretationError` if `value`, including the values in a container, doesn't have the type `type_`."""
    if isinstance(type_, Container):
        if not isinstance(value, tuple):
            raise InterpretationError(
                f"a value of type {type_} must be a tuple of arrays, but got {type(value).__name__}"
            )
        for position, each in enumerate(parts_of(type_, cast(tuple[Any, ...], value))):
            check_value(each, type_.part(position))
        return
    expected = ranked_tensor(type_) or unranked_tensor(type_)
    if expected is None:
        return
    dtype = value_dtype(expected.get_element_type())
    if not isinstance(value, np.ndarray):
        held = "" if dtype is None else f" of {dtype}"
        raise InterpretationError(f"a value of type {type_} must be an array{held}, but got {type(value).__name__}")
    array = cast(Array, value)
    if dtype is not None and array.dtype != dtype:  # packages choose the NumPy type of their own element types
        raise InterpretationError(f"a value of type {type_} must be an array of {dtype}, but got {array.dtype}")
    ranked = ranked_tensor(type_)
    if ranked is not None and not shapes_agree(ranked.get_shape(), array.shape):
        raise InterpretationError(
            f"a value of type {type_} must have shape {shape_text(ranked.get_shape())}, but got {list(array.shape)}"
        )
