"""Checks of shapes, and the type of sums of products, which importers of all formats share."""

import math
from collections.abc import Collection, Iterable, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, i32

from qmlir.arithmetic.requantization import accumulator_scale
from qmlir.dialects.nn.movement.ops import MAX_AXES
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.diagnostics import nearest_name, text_error

MAX_ELEMENTS = 2**33
"""The maximum number of elements in a tensor; a larger tensor is a mistake or an attack."""


def shape_fault(sizes: Sequence[int]) -> str | None:
    """Returns the reason why a shape is invalid, or `None` if it is valid; sizes may be `DYNAMIC_INDEX`."""
    if len(sizes) > MAX_AXES:
        return f"{len(sizes)} axes, more than {MAX_AXES}"
    known = [size for size in sizes if size != DYNAMIC_INDEX]
    if any(size < 0 for size in known):
        return f"the invalid shape {list(sizes)}: sizes must be >= 0"
    if 0 not in known and math.prod(known) > MAX_ELEMENTS:
        return f"the shape {list(sizes)}, more than {MAX_ELEMENTS} elements"
    return None


def check_names(shapes: Iterable[str], inputs: Collection[str]) -> None:
    """Raises `DiagnosticError` if the shapes that a caller gives name something else than the inputs of a model."""
    if unknown := next((name for name in shapes if name not in inputs), None):
        near = nearest_name(unknown, inputs)
        raise text_error(f"the model has no input '{unknown}'{near} (available: {', '.join(inputs)})")


def check_shape(name: str, shape: Sequence[int], rank: int) -> None:
    """Raises `DiagnosticError` if an input of this rank can't have the shape; sizes may be `DYNAMIC_INDEX`."""
    if len(shape) != rank:
        raise text_error(f"input '{name}' must have rank {rank}, but got {list(shape)}")
    if (fault := shape_fault(shape)) is not None:
        raise text_error(f"input '{name}' has {fault}")


def accumulator_type(x: UniformQuantizedType, w: UniformQuantizedType, axis: int) -> UniformQuantizedType:
    """Returns the type of sums of products, with scale `f32(s_x * s_w)`; `axis` is that of the channels, if any."""
    scales = accumulator_scale(x.scales, w.scales)
    if w.granularity is Granularity.TENSOR:
        return UniformQuantizedType.per_tensor(i32, f32, float(scales))
    return UniformQuantizedType.per_axis(i32, f32, axis, scales.reshape(-1))
