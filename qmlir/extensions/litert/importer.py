"""Imports a LiteRT graph as one function, whose inputs and outputs are those of the model.

Stored integers of quantized models stay integers at the interface: the types of the function contain their scales and
zero points. A quantized operation has LiteRT's arithmetic, which its property `requantize` names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from xdsl.dialects.builtin import (
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.extensions.litert.model import LiteModel, LiteOperator
from qmlir.extensions.litert.node import LiteNode
from qmlir.extensions.litert.operators import OPERATORS
from qmlir.extensions.litert.values import IMAGE, Layout, LiteValues
from qmlir.formats.graph import BlockBuilder, suggest_name
from qmlir.formats.types import check_names, check_shape
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.ir.provenance import Origin, name_results
from qmlir.ir.signature import Port, set_ports
from qmlir.ir.verification import verify

MODES: Mapping[str, Mode] = {
    mode.value.replace("_", "-"): mode for mode in (Mode.LITERT_REFERENCE, Mode.LITERT_XNNPACK)
}
"""The values of `requantize` that name kernels."""

FLOAT = "float"
"""The value of `requantize` for the reference kernels, but floats in models with float data and integer weights."""


_STATE = ("ASSIGN_VARIABLE", "READ_VARIABLE", "VAR_HANDLE", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM")
"""The operators whose variables keep their values between calls."""


@dataclass
class GraphImporter:
    """The state of one import."""

    model: LiteModel
    values: LiteValues
    is_resized: bool = False
    """Whether inputs have other shapes than in the file, so that the shapes of the file are void."""

    names: set[str] = field(default_factory=set[str])

    def run(self, operator: LiteOperator) -> None:
        """Adds the operations of an operator."""
        values, tensors = self.values, self.values.graph.tensors
        outputs = [tensors[index] for index in operator.outputs]
        row = OPERATORS.get(operator.name)
        if row is None or not outputs:
            raise self._unsupported(operator)
        inputs = tuple(values.any_form(index) for index in operator.inputs)
        node = LiteNode(inputs, values.builder, Origin(self._name(operator), operator.name), operator, values)
        row.check(node)
        node = replace(node, layout=row.layout(node))
        before = values.builder.block.last_op
        try:
            with np.errstate(over="ignore"):  # a scale that overflows is no type, which is an error
                results = row.imported(node)
        except VerifyException as error:
            raise node.error(" ".join(str(error).split())) from error
        settled = values.settle(before, [results] if isinstance(results, SSAValue) else results)
        name_results(settled, [tensor.name for tensor in outputs])
        for tensor, value in zip(outputs, settled, strict=False):
            shape = shape_of(value)
            declared = tuple(node.layout.ordered(tensor.shape) if len(tensor.shape) == IMAGE else tensor.shape)
            if len(shape) != len(declared) or (not self.is_resized and shape != declared):
                raise node.error(f"'{tensor.name}' is declared as {list(declared)}, but has shape {list(shape)}")
            values.forms[tensor.index, node.layout if len(shape) == IMAGE else Layout.LAST] = value
            suggest_name(value, tensor.name)

    def _name(self, operator: LiteOperator) -> str:
        """Returns the name of an operator: that of its first output, with its index if the name isn't unique."""
        name = self.values.graph.tensors[operator.outputs[0]].name
        if name in self.names:
            name = f"{name}:{operator.index}"
        self.names.add(name)
        return name

    def _unsupported(self, operator: LiteOperator) -> DiagnosticError:
        if operator.name in _STATE:
            return text_error(
                f"{self.model.name}: operator {operator.index} ({operator.name}) is not supported: it keeps state "
                "between calls; convert the model with the state as an input and an output"
            )
        known = ", ".join(sorted(OPERATORS))
        return text_error(
            f"{self.model.name}: operator {operator.index} ({operator.name}) is not supported (available: {known})"
        )


def _input_ports(values: LiteValues, shapes: Mapping[str, Sequence[int]]) -> list[Port]:
    graph = values.graph
    names = _unique([graph.tensors[index].name for index in graph.inputs])
    check_names(shapes, names)
    ports: list[Port] = []
    for name, index in zip(names, graph.inputs, strict=True):
        tensor = graph.tensors[index]
        shape = tuple(shapes.get(name, tensor.shape))
        check_shape(name, shape, len(tensor.shape))
        ports.append(Port(name, TensorType(values.element(tensor), shape)))
    return ports


def _unique(names: Sequence[str]) -> list[str]:
    """Returns the names, the later of equal ones with a number."""
    found: list[str] = []
    for name in names:
        number, wanted = 1, name
        while wanted in found:
            wanted, number = f"{name}:{number}", number + 1
        found.append(wanted)
    return found


def import_model(
    model: LiteModel, *, shapes: Mapping[str, Sequence[int]] | None = None, requantize: str | None = None
) -> ModuleOp:
    """Returns the verified module of a model, whose function `@main` has its inputs and outputs.

    Raises `DiagnosticError` if the model is invalid or has unsupported operators.
    """
    if requantize not in (None, *MODES, FLOAT):
        known = ", ".join((*MODES, FLOAT))
        raise text_error(f"requantize of a LiteRT model must be one of {known}, but got '{requantize}'")
    graph = model.graphs[0]
    if not graph.outputs:
        raise text_error(f"{model.name} has no outputs")
    function = FuncOp("main", FunctionType.from_lists([], []))
    block = function.body.block
    mode = MODES.get(requantize or FLOAT, Mode.LITERT_REFERENCE)
    values = LiteValues(graph, BlockBuilder(block), RequantizeAttr.of(mode), requantize == FLOAT)
    importer = GraphImporter(model, values, bool(shapes))
    inputs = _input_ports(values, shapes or {})
    for port, index in zip(inputs, graph.inputs, strict=True):
        argument = block.insert_arg(port.type, len(block.args))
        values.forms[index, Layout.LAST] = argument
        suggest_name(argument, port.name)
    for operator in graph.operators:
        importer.run(operator)
    tensors = [graph.tensors[index] for index in graph.outputs]
    outputs = [values.value(tensor, Layout.LAST) for tensor in tensors]
    block.add_op(ReturnOp(*outputs))
    function.update_function_type()
    names = _unique([tensor.name for tensor in tensors])
    ports = [Port(name, value.type) for name, value in zip(names, outputs, strict=True)]
    set_ports(function, inputs, ports)
    values.builder.sweep()
    module = ModuleOp([function], {"nn.producer": StringAttr(model.description)} if model.description else {})
    verify(module)
    return module
