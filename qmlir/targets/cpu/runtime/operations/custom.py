"""Passes memory to custom kernels as numba arrays with a shape and strides."""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from .declare import Emission, operation

_INT64 = ir.IntType(64)


def _array_type(flat: Any, element: Any, layout: Any, *numbers: Any) -> Any:
    if not isinstance(flat, types.Array) or not isinstance(element, types.StringLiteral) or len(numbers) % 2:
        return None
    dtype = getattr(types, element.literal_value)
    return types.Array(dtype, len(numbers) // 2, layout.literal_value, readonly=not flat.mutable)


def _array(emission: Emission, flat: Any, _element: Any, _layout: Any, *numbers: Any) -> Any:
    """Emits an array over `flat`; `numbers` are the sizes of its axes, then their strides in elements."""
    target, builder = emission.target, emission.builder
    type_ = emission.result
    data = emission.field(emission.operands[0], flat, "data")
    size = target.get_constant(types.intp, target.get_abi_sizeof(target.get_data_type(type_.dtype)))
    shape, steps = numbers[: type_.ndim], numbers[type_.ndim :]
    count = ir.Constant(_INT64, 1)
    for each in shape:
        count = builder.mul(count, each)
    fields = {
        "data": builder.bitcast(data, target.get_data_type(type_.dtype).as_pointer()),
        "itemsize": size,
        "nitems": count,
    }
    if type_.ndim:
        fields["shape"] = cgutils.pack_array(builder, list(shape))
        fields["strides"] = cgutils.pack_array(builder, [builder.mul(step, size) for step in steps])
    model = target.data_model_manager[type_]
    array = ir.Constant(model.get_value_type(), None)  # nothing owns the memory
    for name, value in fields.items():
        array = model.set(builder, array, value, name)
    return array


OPERATIONS: dict[str, Any] = {"array": operation("array", _array_type, _array, literal=True)}
"""The operations of this module by the names under which emitted code imports them."""
