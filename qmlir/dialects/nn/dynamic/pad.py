"""The padding rule of dynamic quantization."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation

from qmlir.dialects.nn.dynamic.ops import DynamicQuantizeOp
from qmlir.dialects.nn.padding_rules import ONE, PaddedValue, PaddingSite, Rule, zero_of


def _dynamic_quantize(op: DynamicQuantizeOp, at: PaddingSite) -> Sequence[PaddedValue]:
    """The rule of dynamic quantization: padding in a range becomes 0, which the range always includes."""
    axes, gone = at.axes(op.input), op.reduced_axes
    at.mix(*(axes[axis] for axis in gone))
    at.select(op.input, gone, zero_of)
    scale = () if op.axes is None else tuple(ONE if axis in gone else extent for axis, extent in enumerate(axes))
    return [PaddedValue(axes), PaddedValue(scale), PaddedValue(() if op.is_symmetric else scale)]


RULES: Mapping[type[Operation], Rule] = {DynamicQuantizeOp: _dynamic_quantize}
