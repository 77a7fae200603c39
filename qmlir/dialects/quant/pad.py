"""The padding rule of casts: an element that is 0 remains 0."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation

from qmlir.dialects.nn.padding_rules import PaddedValue, PaddingSite, Rule, zero_of
from qmlir.dialects.quant.ops import CastOperation


def _cast(op: CastOperation, at: PaddingSite) -> Sequence[PaddedValue]:
    at.data()
    facts = at.facts(op.input)
    has_zero = zero_of(op.input) is not None and zero_of(op.result) is not None
    return [PaddedValue(facts.axes, facts.zeros if has_zero else frozenset())]


RULES: Mapping[type[Operation], Rule] = {CastOperation: _cast}
