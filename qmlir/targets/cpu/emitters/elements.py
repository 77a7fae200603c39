"""Element types for all emitters: names in registers, NumPy types of the caller's arrays, and sizes in memory."""

from xdsl.dialects import builtin
from xdsl.ir import Attribute, Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.simd.base import as_vector
from qmlir.ir.builtin_types import AnyDense, as_integer, as_small_float
from qmlir.ir.diagnostics import op_error
from qmlir.text.elements import dense_array, dense_dtype

_FLOATS: dict[type[Attribute], str] = {
    builtin.Float16Type: "f16",
    builtin.BFloat16Type: "bf16",
    builtin.Float32Type: "f32",
    builtin.Float64Type: "f64",
}


def register_name(op: Operation, type_: Attribute) -> str:
    """Returns the name of an element type in registers. Raises `DiagnosticError` if there is none."""
    vector = as_vector(type_)
    element = type_ if vector is None else vector.get_element_type()
    if isinstance(element, builtin.IndexType):
        return "index" if vector is None else "i64"
    integer = as_integer(element)
    if integer is not None and 1 <= integer.width.data <= 64:
        return f"i{integer.width.data}"
    if type(element) in _FLOATS:
        return _FLOATS[type(element)]
    raise op_error(op, f"values must be integers of at most 64 bits, f16, bf16, f32, f64 or index, but got {type_}")


def memory_name(op: Operation, element: Attribute) -> str:
    """Returns the NumPy type of flat arrays in compiled code; low-precision floats are represented by their bits."""
    dtype = dense_dtype(element)
    if dtype is None:
        raise op_error(op, f"has memory of {element}, which has no NumPy type")
    is_half = isinstance(element, builtin.Float16Type | builtin.BFloat16Type)
    return "uint16" if is_half else str(dtype).replace("uint", "int")


def caller_dtype(op: Operation, element: Attribute) -> str:
    """Returns the NumPy type of the caller's array."""
    dtype = dense_dtype(element)
    if dtype is None:
        raise op_error(op, f"has elements of {element}, which has no NumPy type")
    return "bool" if element == builtin.i1 else str(dtype)


def unfilled_bits(element: Attribute) -> int:
    """Returns the width of elements that don't fill their NumPy type, in bits; 0 for others."""
    held = as_integer(element) or as_small_float(element)
    if held is None or element == builtin.i1:
        return 0
    return held.bitwidth if held.bitwidth < 8 * item_size(element) else 0


def item_size(element: Attribute) -> int:
    """Returns the size of an element in memory, in bytes."""
    dtype = dense_dtype(element)
    assert dtype is not None
    return dtype.itemsize


def lanes_of_constant(op: Operation, dense: AnyDense) -> Array:
    """Returns the lanes of a constant vector. Raises `DiagnosticError` unless it has rank 1."""
    vector = as_vector(dense.type)
    if vector is None or vector.get_num_dims() != 1:
        raise op_error(op, f"must be a scalar or a vector of rank 1, but got constant {dense.type}")
    return dense_array(dense)


def common_lane(lanes: Array, element: Attribute) -> Attribute | None:
    """Returns the scalar constant that all lanes are equal to, bit for bit; `None` if they differ."""
    bits = lanes.view(f"u{lanes.itemsize}")
    if (bits != bits[0]).any():
        return None
    if isinstance(element, builtin.AnyFloat):
        return builtin.FloatAttr(float(lanes[0]), element)
    return builtin.IntegerAttr(int(lanes[0]), as_integer(element) or builtin.IndexType())
