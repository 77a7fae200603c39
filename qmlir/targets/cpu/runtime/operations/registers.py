"""Values in registers as numba types: scalars and vectors whose arithmetic is that of LLVM, at their own width.

numba's own integers grow to 64 bits in every operation; these wrap at the width that they have. `i32` is a scalar,
`Register("i32", 16)` a vector of 16 lanes. The short floats `f16` and `bf16` are held as their bits.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false, reportUnknownParameterType=false, reportMissingParameterType=false

from typing import Any, cast

from numba import types
from numba.extending import models, register_model

from ..semantics.values import FLOATS, Type, type_of
from .building import llvm_type


class Register(types.Type):
    """A scalar (0 lanes) or a vector of elements."""

    def __init__(self, element: str, lanes: int = 0) -> None:
        self.element = element
        self.lanes = lanes
        super().__init__(name=f"{element}x{lanes}" if lanes else element)

    @property
    def is_float(self) -> bool:
        """Whether the elements are floats."""
        return self.element in FLOATS

    @property
    def bits(self) -> int:
        """The width of an element."""
        return self.type.bits

    @property
    def type(self) -> Type:
        """The type of the values; not an attribute, as the cache of numba pickles those."""
        return type_of(self.element, self.lanes)

    def of(self, element: str) -> "Register":
        """Returns the type with the same number of lanes and another element."""
        return Register(element, self.lanes)


@register_model(Register)
class _RegisterModel(models.PrimitiveModel):
    def __init__(self, manager: Any, register: Any) -> None:
        super().__init__(manager, register, llvm_type(register.type))


INDEX = types.int64
"""What `index` is: numba's own integer of 64 bits."""

MEMORY = {
    "int8": "i8", "uint8": "i8", "int16": "i16", "uint16": "i16", "int32": "i32", "uint32": "i32", "int64": "i64",
    "uint64": "i64", "float32": "f32", "float64": "f64",
}  # fmt: skip
"""The element that an array of a NumPy type holds."""


def as_register(type_: Any) -> Register | None:
    """`type_` as a register: `index` counts as `i64`; `None` for arrays and the like."""
    if isinstance(type_, Register):
        return type_
    return Register("i64") if isinstance(type_, types.Integer) and cast(Any, type_).bitwidth == 64 else None


def type_in_llvm(type_: Any) -> Type:
    """The type of a register or of one of numba's own numbers."""
    match type_:
        case Register():
            return type_.type
        case types.Float():
            return type_of("f64")
        case types.Boolean():
            return type_of("i1")
        case _:
            return type_of(f"i{type_.bitwidth}")
