"""Operations in destination style, whoever defined them: those that implement the interface, `linalg` by an adapter.

Operations of xDSL that write a part of a tensor, or carry tensors, are rows of a table; a package adds its own to
`bufferize.destinations` of its `Contribution`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from qmlir import registry
from qmlir.dialects.kernel.by_rows import RowFusionOp
from qmlir.ir.interfaces import Destination, DestinationStyle


def is_permutation(map_: AffineMap) -> bool:
    """Whether `map_` takes each point of its dimensions to a place of its own, axis by axis."""
    axes = [result.position for result in map_.results if isinstance(result, AffineDimExpr)]
    return len(axes) == len(map_.results) and sorted(axes) == list(range(map_.num_dims))


@dataclass(frozen=True)
class LinalgDestinations(DestinationStyle):
    """A structured operation of `linalg`: its outputs are its destinations, its maps say what lies where."""

    op: LinalgStructuredOperation

    def destinations(self) -> Sequence[Destination]:
        first = len(self.op.inputs)
        old = self.op.body.block.args[first:]
        return [Destination(first + place, bool(argument.uses)) for place, argument in enumerate(old)]

    def on_memory(self, memory: Callable[[SSAValue], SSAValue], outs: Sequence[SSAValue]) -> Operation:
        regions = [self.op.detach_region(region) for region in list(self.op.regions)]
        return type(self.op).create(
            operands=[*map(memory, self.op.inputs), *outs],
            properties=dict(self.op.properties),
            attributes=dict(self.op.attributes),
            regions=regions,
        )

    def may_overwrite(self, operand: int, destination: int) -> bool:
        maps = [attribute.data for attribute in self.op.get_indexing_maps()]
        written = self.destinations()[destination].operand
        assert written is not None
        is_parallel = all(kind.data is IteratorType.PARALLEL for kind in self.op.get_iterator_types())
        return is_parallel and maps[operand] == maps[written] and is_permutation(maps[written])


def destination_style(op: Operation) -> DestinationStyle | None:
    """How `op` writes its destinations; `None` where it is not a structured operation."""
    if isinstance(op, DestinationStyle):
        return cast(DestinationStyle, op)
    return LinalgDestinations(op) if isinstance(op, LinalgStructuredOperation) else None


def _inserted(op: Operation) -> Sequence[Destination]:
    """The one operand behind the source, with a part of it written anew."""
    return [Destination(1, is_read=True)]


def _carried(op: scf.ForOp | RowFusionOp) -> Sequence[Destination]:
    """The last operands: what is carried around a loop, behind its bounds and step, or what rows are written to."""
    first = len(op.operands) - len(op.results)
    return [Destination(first + place, is_read=True) for place in range(len(op.results))]


DESTINATIONS: Mapping[type[Operation], Callable[..., Sequence[Destination]]] = {
    tensor.InsertOp: _inserted,
    tensor.InsertSliceOp: _inserted,
    scf.ForOp: _carried,
    RowFusionOp: _carried,
}
"""For each result of an operation how it is written, where neither the interface nor an adapter says it."""


def results_written(op: Operation) -> Sequence[Destination]:
    """For each result of an operation on tensors how it comes about, where that is by writing: none for any other."""
    written = registry.table("bufferize.destinations").get(type(op))
    if written is not None:
        return written(op)
    style = destination_style(op)
    return () if style is None or not has_tensors(op) else style.destinations()


def is_tensor_type(type_: Attribute) -> bool:
    """Whether values of this type are to become memory."""
    return isinstance(type_, TensorType | UnrankedTensorType)


def is_tensor(value: SSAValue) -> bool:
    """Whether `value` is to become memory."""
    return is_tensor_type(value.type)


def has_tensors(op: Operation) -> bool:
    """Whether `op` itself takes or gives a tensor."""
    return any(map(is_tensor, (*op.operands, *op.results)))
