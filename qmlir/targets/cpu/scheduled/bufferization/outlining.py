"""Outlines one operation as a function: captured values become arguments, constants are copied into it."""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, StridedLayoutAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import ConstantLike

from qmlir.dialects.kernel.attributes import overwriting
from qmlir.dialects.kernel.ops import ReshapeOp
from qmlir.ir.provenance import PROVENANCE_ATTRIBUTES
from qmlir.targets.cpu.scheduled.bufferization.aliases import as_memory, destination_style, memory_type, strides_of


@dataclass(frozen=True)
class Outlined:
    """A function without a name, and the values in the caller that are its arguments."""

    function: FuncOp
    arguments: list[SSAValue]


def _is_scalar_constant(value: SSAValue) -> bool:
    op = value.owner
    return isinstance(op, Operation) and op.has_trait(ConstantLike, value_if_unregistered=False)


def _captures(op: Operation) -> Iterator[SSAValue]:
    """What the regions of `op` take from outside, once each."""
    seen: dict[SSAValue, None] = {}
    for region in op.regions:
        for inner in region.walk():
            for operand in inner.operands:
                if not op.is_ancestor(operand.owner):
                    seen[operand] = None
    return iter(seen)


def _arguments(op: Operation) -> tuple[list[SSAValue], dict[int, int]]:
    """The arguments for `op`, and for each of its operands which of them it is; what is written comes last."""
    style = destination_style(op)
    written = [] if style is None else [destination.operand for destination in style.destinations()]
    order = [place for place in range(len(op.operands)) if place not in written]
    arguments: list[SSAValue] = []
    places: dict[int, int] = {}

    def take(place: int) -> None:
        if not _is_scalar_constant(op.operands[place]):
            places[place] = len(arguments)
            arguments.append(op.operands[place])

    for place in order:
        take(place)
    arguments += [value for value in _captures(op) if not _is_scalar_constant(value)]
    if style is None:  # a loop or a choice: what it writes may be what it reads
        unique = list(dict.fromkeys(arguments))
        return unique, {place: unique.index(op.operands[place]) for place in places}
    for place in written:
        if place is not None:
            take(place)
    return arguments, places


def argument_type(type_: Attribute) -> Attribute:
    """The type that a kernel has for an argument of `type_`: memory with strides may begin anywhere."""
    found = as_memory(type_)
    if found is None or not isinstance(found.layout, StridedLayoutAttr):
        return type_
    return _anywhere(found)


def _anywhere(type_: MemRefType[Attribute]) -> MemRefType[Attribute]:
    layout = StridedLayoutAttr(strides_of(type_), None)
    return MemRefType(type_.get_element_type(), type_.get_shape(), layout)


def _forget_offsets(block: Block) -> None:
    """Let views have offsets that nobody knows where those of their sources are not known."""
    for op in list(block.walk()):
        if isinstance(op, memref.SubviewOp | ReshapeOp):
            source, result = memory_type(op.source.type), memory_type(op.result.type)
            if source.get_offset() is None and result.get_offset() is not None:
                Rewriter.replace_value_with_new_type(op.result, _anywhere(result))


def _shared(op: Operation, places: dict[int, int], types: list[Attribute]) -> dict[int, list[int]]:
    """For each argument that is written, the arguments whose memory it may be."""
    style = destination_style(op)
    found: dict[int, list[int]] = {}
    for number, destination in enumerate(() if style is None else style.destinations()):
        written = None if destination.operand is None else places.get(destination.operand)
        if style is None or written is None:
            continue
        same = [
            argument
            for operand, argument in places.items()
            if argument != written and types[argument] == types[written] and style.may_overwrite(operand, number)
        ]
        if same:
            found[written] = same
    return found


def outline(op: Operation) -> Outlined:
    """`op`, which works on memory, as a private function that holds a copy of it, without its provenance."""
    arguments, places = _arguments(op)
    types = [argument_type(value.type) for value in arguments]
    block = Block(arg_types=types)
    copies: dict[SSAValue, SSAValue] = {}
    for value in (*op.operands, *_captures(op)):
        if _is_scalar_constant(value) and value not in copies:
            assert isinstance(value.owner, Operation)
            constant = value.owner.clone()
            block.add_op(constant)
            copies[value] = constant.results[0]
    for value, argument in zip(arguments, block.args, strict=True):
        copies.setdefault(value, argument)
        argument.name_hint = value.name_hint
    inner = op.clone(copies)
    for place, argument in places.items():
        inner.operands[place] = block.args[argument]  # one value may be two arguments
    block.add_ops([inner, ReturnOp()])
    _forget_offsets(block)
    for each in block.walk():
        for name in PROVENANCE_ATTRIBUTES:
            each.attributes.pop(name, None)
    function = FuncOp("kernel", (types, []), Region(block), visibility="private")
    shared = _shared(op, places, types)
    if shared:
        nothing = DictionaryAttr({})
        function.arg_attrs = ArrayAttr(
            overwriting(nothing, shared[number]) if number in shared else nothing for number in range(len(types))
        )
    return Outlined(function, arguments)
