"""The padding rule of dynamic quantization."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation

from qmlir.dialects.nn.dynamic.ops import DynamicQuantizeOp
from qmlir.dialects.nn.padding_rules import PaddedValue, PaddingSite, Rule, zero_of


def _dynamic_quantize(op: DynamicQuantizeOp, at: PaddingSite) -> Sequence[PaddedValue]:
    """The rule of dynamic quantization: padding becomes 0, which the range always includes."""
    axes = at.axes(op.input)
    at.mix(*axes)
    at.select(op.input, range(len(axes)), zero_of)
    return [PaddedValue(axes), PaddedValue(()), PaddedValue(())]


RULES: Mapping[type[Operation], Rule] = {DynamicQuantizeOp: _dynamic_quantize}
