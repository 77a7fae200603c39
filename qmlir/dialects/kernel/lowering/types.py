"""Which types the integer level has: signless integers and floats in ranked tensors of known sizes."""

from typing import cast

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType
from xdsl.ir import Attribute

from qmlir.dialects.quant.types import CalibratedQuantizedType, StoredType, UniformFloatType
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.small_floats import SmallFloat, as_small_float
from qmlir.ir.type_conversion import TypeConversion


def plain_element(element: Attribute) -> Attribute:
    """The element that memory has for `element`: a signless integer for a stored one, the float for a profiled one,
    the bits of a float of 8 bits or fewer."""
    match element:
        case CalibratedQuantizedType():
            return element.expressed_type
        case StoredType():
            return IntegerType(element.bits)
        case IntegerType():
            return IntegerType(element.width.data)
        case _:
            small = small_float_of(element)
            return element if small is None else IntegerType(small.bitwidth)


def small_float_of(element: Attribute) -> SmallFloat | None:
    """The float of 8 bits or fewer that `element` is, or stores: the integer level holds its bits."""
    return element.storage if isinstance(element, UniformFloatType) else as_small_float(element)


def is_unsigned(element: Attribute) -> bool:
    """Whether the integers of an `nn` element type have no sign: also booleans, 0 and 1, and the bits of floats."""
    match element:
        case StoredType():
            return not element.is_signed
        case IntegerType():
            return element.width.data == 1 or element.signedness.data is Signedness.UNSIGNED
        case _:
            return small_float_of(element) is not None


def _convert(type_: Attribute) -> Attribute | None:
    tensor = ranked_tensor(type_)
    if tensor is None:
        return None
    return TensorType(cast(IntegerType, plain_element(tensor.element_type)), tensor.get_shape())


def integer_types() -> TypeConversion:
    """The conversion of tensors to those of the integer level; other types stay as they are."""
    return TypeConversion(_convert)
