"""The same vocabulary on vectors: an expansion written against `Emitter` becomes work on all lanes."""

from collections.abc import Mapping

from xdsl.builder import Builder
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.kernel.lowering.scalars import Number
from qmlir.dialects.kernel.ops import scalar_of
from qmlir.dialects.simd.base import AnyVector
from qmlir.dialects.simd.base import vector as vector_type
from qmlir.dialects.simd.lanes import CompareOp, Conversion, ConvertOp, RoundToIntOp, SelectOp
from qmlir.targets.cpu.loops.emitter import Emitter

CONVERSIONS: Mapping[type[Operation], Conversion] = {kind: name for name, kind in ConvertOp.ARITH.items()}
"""Each conversion of `arith` and what it is called on lanes."""


class VectorEmitter(Emitter):
    """Writes operations on vectors of so many lanes; its scalars are those of the emitter that it is made from."""

    def __init__(self, builder: Builder, constants: Builder, lanes: int):
        super().__init__(builder, constants)
        self.lanes = lanes
        self._splats: dict[tuple[int, Attribute, str], SSAValue] = {}

    @classmethod
    def of(cls, emit: Emitter, lanes: int) -> "VectorEmitter":
        """The emitter of vectors that writes where `emit` does and has its constants."""
        made = cls(emit.builder, emit.constants, lanes)
        made._known = emit._known
        if isinstance(emit, VectorEmitter):
            made._splats = emit._splats
        return made

    def with_lanes(self, lanes: int) -> "VectorEmitter":
        """The same for another number of lanes."""
        return VectorEmitter.of(self, lanes)

    def typed(self, element: Attribute) -> AnyVector:
        return vector_type(self.lanes, element)

    def splat(self, value: SSAValue) -> SSAValue:
        """A scalar in all lanes."""
        return self.insert(vector.BroadcastOp(value, self.typed(value.type)))

    def constant(self, number: Number, element: Attribute) -> SSAValue:
        key = self.lanes, element, str(number)
        if key not in self._splats:
            scalar = self.scalar_constant(number, element)
            op = self.constants.insert(vector.BroadcastOp(scalar, self.typed(element)))
            self._splats[key] = op.results[0]
        return self._splats[key]

    def convert(self, kind: type[Operation], value: SSAValue, element: Attribute) -> SSAValue:
        return self.insert(ConvertOp(value, CONVERSIONS[kind], self.typed(element)))

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(CompareOp(predicate, a, b))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(SelectOp(condition, a, b))

    def part(self, value: SSAValue, start: int, count: int) -> SSAValue:
        """Some lanes of a vector, one behind the other."""
        mask = DenseArrayBase.from_list(i64, list(range(start, start + count)))
        return self.insert(vector.ShuffleOp(value, value, mask, result_type=vector_type(count, scalar_of(value.type))))

    def lane(self, value: SSAValue, place: int) -> SSAValue:
        """One lane of a vector."""
        return self.insert(vector.ExtractOp(value, [place], scalar_of(value.type)))

    def round_to_integer(self, value: SSAValue, offset: int) -> SSAValue:
        rounded = self.insert(RoundToIntOp(value))
        if not offset:
            return rounded
        return self.binary(arith.AddiOp, rounded, self.constant(offset, scalar_of(rounded.type)))
