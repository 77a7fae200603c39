"""Rows that connect one operator of a format with one operation: a row defines both import and export.

Inputs become operands, or properties if they are known integers; attributes become properties. The tables of all
formats have rows of this form.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, StringAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, OptionalDef, VariadicDef

from qmlir.dialects.nn.base import NnOp
from qmlir.formats.node import SourceNode, attribute_names
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.interfaces import ReadsShapesOnly, Slot


class RowEmitter(Protocol):
    """The part of an exporter's interface that rows use: it adds one node of a format for one operation."""

    outputs: list[str]

    def needs(self, opset: int, what: str) -> None:
        """Raises an error if `what` requires a newer version of the format (`opset`) than the exported one."""
        ...

    def name(self, value: SSAValue | None) -> str:
        """Returns the name of an operand in the exported model; empty if the operand is omitted."""
        ...

    def parameter(self, name: str, *, is_scalar: bool = False) -> str:
        """Returns the name of a tensor with the integers of a parameter; empty if it is omitted."""
        ...

    def constant(self, array: Any) -> str:
        """Adds a constant tensor and returns its name."""
        ...

    def node(self, op_type: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> str:
        """Adds a node and returns the name of its first output."""
        ...


def number(attribute: Attribute | None) -> Any:
    """Returns the value of a property (number, flag, string, list) for an attribute of a format; `None` if omitted."""
    match attribute:
        case None:
            return None
        case IntegerAttr():
            return abs(attribute.value.data) if attribute.type == i1 else int(attribute.value.data)
        case FloatAttr():
            return float(attribute.value.data)
        case StringAttr():
            return attribute.data
        case ArrayAttr():  # an array of strings; an empty list has no type in ONNX
            return [number(each) for each in attribute] or None
        case _:
            return list(integer_list(cast(Any, attribute)))


def attributes_of(op: Operation, names: str) -> dict[str, Any]:
    """Returns the attributes for the properties of `op` in `names`, which has the syntax of `attribute_names`."""
    return {attribute: number(getattr(op, own)) for attribute, own in attribute_names(names).items()}


@dataclass(frozen=True)
class OneToOne:
    """An operator of a format and the corresponding operation."""

    op_type: str
    operation: type[IRDLOperation]
    attributes: str = ""
    """The attributes, such as `"axis keepdims=keep_dims"`, with the property after `=` if its name differs."""

    inputs: str = ""
    """The operands and parameters in the order of the operator's inputs, if the operation has another order."""

    since: int = 0
    """The first version of the format with the operator, if exports may use an older one."""

    def _inputs(self) -> Sequence[str]:
        definitions = self.operation.get_irdl_definition().operands
        return self.inputs.split() or [name.removesuffix("_value") for name, _ in definitions]

    def imported(self, node: SourceNode) -> SSAValue | Sequence[SSAValue]:
        """Imports a node as the operation of this row.

        Operands that the operation only moves, or of which it only reads the shape, may be quantized. Other operands
        are converted to plain integers, because a quantized value in ONNX is a tensor of integers.
        """
        operation = cast(type[NnOp], self.operation)
        slots, reads_shapes = operation.SLOTS, operation.has_trait(ReadsShapesOnly)
        kinds = dict(operation.get_irdl_definition().operands)
        operands: dict[str, Any] = {}
        properties: dict[str, Any] = {}
        for position, name in enumerate(self._inputs()):
            if name in operation.PARAMETERS:
                is_scalar = name in operation.SCALARS
                properties[name] = node.moved_parameter(name, position, is_scalar=is_scalar)
                continue
            takes_quantized = reads_shapes or (
                slots.shares_parameters and slots.operands.get(name, Slot.INPUT) is not None
            )
            read: Callable[[int], SSAValue] = node.quantized if takes_quantized else node.input
            if isinstance(kinds[name], OptionalDef) and (position >= len(node.inputs) or node.inputs[position] is None):
                continue
            is_variadic = isinstance(kinds[name], VariadicDef) and not isinstance(kinds[name], OptionalDef)
            operands[name] = (
                [read(each) for each in range(position, len(node.inputs))] if is_variadic else read(position)
            )
        given = (operands.get(name) for name in kinds)
        return node.add(operation, *given, attributes=self.attributes, **properties).results

    def exported(self, out: RowEmitter, op: Operation) -> None:
        """Exports an operation of this row as one node."""
        out.needs(self.since, self.op_type)
        names: list[str] = []
        for name in self._inputs():
            if isinstance(op, NnOp) and name in op.PARAMETERS:
                is_scalar = name in op.SCALARS
                # The default axis of a scan is the first.
                names.append(out.parameter(name, is_scalar=is_scalar) or (out.constant(0) if is_scalar else ""))
                continue
            value: SSAValue | Sequence[SSAValue] | None = getattr(op, name)
            names += [out.name(value)] if isinstance(value, SSAValue | None) else map(out.name, value)
        out.node(self.op_type, names, out.outputs, **attributes_of(op, self.attributes))
