"""Checks of operands whose shape follows from the others."""

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.base import shapes_agree
from qmlir.ir.builtin_types import shape_of


def shape_text(shape: Sequence[int]) -> str:
    """`[2, ?]`: a shape as an error shows it."""
    return f"[{', '.join('?' if size == DYNAMIC_INDEX else str(size) for size in shape)}]"


def check_shape(what: str, value: SSAValue | None, shape: Sequence[int]) -> None:
    """Check that an operand, if present, has `shape`, as far as both are known."""
    if value is not None and not shapes_agree(shape_of(value), shape):
        raise VerifyException(f"expected {what} of shape {shape_text(shape)}, but got '{value.type}'")


def check_choice(what: str, found: str, accepted: Iterable[str]) -> None:
    """Check that a property has one of the `accepted` values."""
    if found not in accepted:
        raise VerifyException(f"{what} must be one of {', '.join(accepted)}, but got '{found}'")
