"""Exports a module as a LiteRT model; its reference kernels and the interpreter give equal results, bit by bit."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation

from qmlir.arithmetic.requantization import Mode
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.requantize import has_litert_kernel, mode_of
from qmlir.environment import default_environment
from qmlir.extensions.litert.export.emission import LiteEmission, NoFormError, emit, same_parameters
from qmlir.extensions.litert.export.forms import EXPORTS
from qmlir.extensions.litert.export.writing import Graph, Operator, serialized
from qmlir.ir.builtin_types import tensor
from qmlir.ir.diagnostics import DiagnosticError, op_error, warn
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.passes.quantized.quant_set_requantize import QuantSetRequantize
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import specialize

SHOWN = 8
"""The maximum number of operations that an error names."""

_FUSED = {"RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3}
"""The number of an activation as an option of the operator in front of it."""

_FUSING = (
    "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD", "SUB", "MUL", "DIV", "AVERAGE_POOL_2D", "MAX_POOL_2D",
)  # fmt: skip
"""The operators with an option for an activation."""


def exported(module: ModuleOp) -> bytes:
    """Returns the content of the file of a module. Raises `DiagnosticError` for operations that have no form."""
    return serialized(_graph(module), "Converted by qmlir.")


def _graph(module: ModuleOp) -> Graph:
    """Returns the graph of a module."""
    module = _with_fixed_sizes(module.clone())
    _set_modes(module)
    function = function_of(module, "main")
    out = LiteEmission()
    for port, argument in zip(inputs_of(function), function.body.block.args, strict=True):
        argument.name_hint = None
        try:
            out.graph.inputs.append(out.declare(argument, name=port.name))
        except NoFormError as error:
            raise op_error(function, f"input '{port.name}' cannot be exported to LiteRT: {error}") from error
    out.reserve(port.name for port in outputs_of(function))
    faults: list[tuple[Operation, str]] = []
    end = function.body.block.last_op
    assert isinstance(end, ReturnOp)
    for op in function.body.block.ops:
        if op is not end and (reason := emit(out, op, EXPORTS)) is not None:
            faults.append((op, reason))
            for result in op.results:  # so that its users are checked too
                out.replace(result)
    if faults:
        raise _fault(faults)
    for port, value in zip(outputs_of(function), end.operands, strict=True):
        out.graph.outputs.append(out.named(out.ordered(value), port.name))
    _fuse_activations(out.graph)
    return out.graph


def _with_fixed_sizes(module: ModuleOp) -> ModuleOp:
    """Returns the module for inputs of fixed sizes: those that are open become 1."""
    ports = {port.name: tensor(port.type).get_shape() for port in inputs_of(function_of(module, "main"))}
    open_ports = {name: shape for name, shape in ports.items() if DYNAMIC_INDEX in shape}
    if not open_ports:
        return module
    names = ", ".join(f"'{name}'" for name in open_ports)
    warn(f"sizes of {names} that are not fixed are 1 in the exported model; --shape, or shapes= of load, sets others")
    return specialize(module, {n: [1 if s == DYNAMIC_INDEX else s for s in shape] for n, shape in open_ports.items()})


def _set_modes(module: ModuleOp) -> None:
    """Sets the arithmetic of the reference kernels, and warns about operations that had another one."""
    others = [
        str(next(iter(origins_of(op)), op.name))
        for op in module.walk()
        if isinstance(op, NnOp) and has_litert_kernel(op) and mode_of(op) is not Mode.LITERT_REFERENCE
    ]
    QuantSetRequantize(mode="litert_reference").apply(default_environment().new_context(), module)
    if others:
        shown = ", ".join(others[:SHOWN]) + (", …" if len(others) > SHOWN else "")
        warn(
            "LiteRT's reference kernels round differently from these operations of the module "
            f"({len(others)}): {shown}; "
            'requantize="litert-reference" of qmlir.quantize quantizes for these kernels'
        )


def _fault(faults: list[tuple[Operation, str]]) -> DiagnosticError:
    """Returns the error about operations without a form."""
    (first, reason), *others = faults
    names = [f"{op.name} ({text})" for op, text in others]
    more = f"; nor can {', '.join(names[:SHOWN])}" + (", …" if len(names) > SHOWN else "") if names else ""
    return op_error(first, f"cannot be exported to LiteRT: {reason}{more}")


def _fuse_activations(graph: Graph) -> None:
    """Makes an activation the option of the operator whose only user it is, if it keeps the scale."""
    users = Counter(index for operator in graph.operators for index in operator.inputs)
    users.update(graph.outputs)
    producers = {operator.outputs[0]: place for place, operator in enumerate(graph.operators)}
    kept: list[Operator | None] = list(graph.operators)
    for place, operator in enumerate(graph.operators):
        number = _FUSED.get(operator.name)
        source = producers.get(operator.inputs[0]) if number else None
        before = None if source is None else kept[source]
        if source is None or before is None or before.name not in _FUSING or users[operator.inputs[0]] > 1:
            continue
        first, second = (graph.tensors[each] for each in (operator.inputs[0], operator.outputs[0]))
        if same_parameters(first.parameters, second.parameters) and "fused_activation_function" not in before.options:
            options = {**before.options, "fused_activation_function": number}
            kept[source], kept[place] = replace(before, outputs=operator.outputs, options=options), None
            if operator.outputs[0] not in graph.outputs:
                graph.tensors[operator.outputs[0]] = replace(second, name=first.name)
            producers[operator.outputs[0]] = source
    graph.operators[:] = [operator for operator in kept if operator is not None]
    _drop_unused(graph)


def _drop_unused(graph: Graph) -> None:
    """Removes tensors that no operator names, and operators whose results nothing uses."""
    wanted, needed = set(graph.outputs), list[Operator]()
    for operator in reversed(graph.operators):
        if wanted.intersection(operator.outputs):
            needed.append(operator)
            wanted.update(index for index in operator.inputs if index >= 0)
            wanted.update(operator.outputs)
    wanted.update(graph.inputs)
    places = {index: place for place, index in enumerate(sorted(wanted))}

    def renumbered(indices: Sequence[int]) -> list[int]:
        return [places.get(index, -1) for index in indices]

    graph.operators[:] = [
        replace(each, inputs=renumbered(each.inputs), outputs=renumbered(each.outputs)) for each in reversed(needed)
    ]
    graph.inputs[:], graph.outputs[:] = renumbered(graph.inputs), renumbered(graph.outputs)
    graph.tensors[:] = [graph.tensors[index] for index in sorted(wanted)]
