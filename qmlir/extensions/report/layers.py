"""The layers of a quantized model, and the kernels that run each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from qmlir.dialects.kernel.contraction import EpilogueOp
from qmlir.dialects.kernel.packed_ops import PackedOp
from qmlir.extensions.report.choices import BY_BYTES, BY_MACS
from qmlir.extensions.report.naming import NamedNode, ValueInfo
from qmlir.ir.diagnostics import printable
from qmlir.ir.provenance import origins_of
from qmlir.quantization.profiles.keys import functions_of
from qmlir.quantization.report import share
from qmlir.text.tables import Readable, aligned, bytes_text, number

# The description of a model, as data and as text: a few lines about the whole, then a row for each layer.


@dataclass(frozen=True, repr=False)
class LayerSummary(Readable):
    """One row of an inspection: operations of the same kind and types with the same provenance."""

    key: str
    """The provenance key, such as `layer1/matmul`, or the name of the operation if it has no provenance."""

    operation: str
    """The operation, such as `nn.conv`, or the kernel that is called, such as `@conv3x3s1_56x56x64_i8`."""

    op_type: str
    """The operator in the model, such as `Conv`; `Conv+Relu` for several nodes."""

    operands: tuple[ValueInfo, ...]
    """The operands, with names, shapes and types."""

    results: tuple[ValueInfo, ...]
    """The results, with names, shapes and types."""

    multiply_adds: int | None
    """Multiply-adds for one sample; `None` if unknown, as for loops."""

    is_integer: bool
    """True if the operations compute on integers or quantized values."""

    parameters: int = 0
    """Number of elements of weights and biases."""

    parameter_bytes: int = 0
    """Bytes of weights and biases as they are stored."""

    activation_bytes: int = 0
    """Bytes of the results."""

    count: int = 1
    """Number of operations."""

    composite: str = ""
    """The composite that the operations are a part of, such as `nn.fully_connected`; empty if there is none."""

    is_whole: bool = False
    """True for a composite that is not decomposed."""

    @property
    def bytes(self) -> int:
        """The total bytes of weights and results."""
        return self.parameter_bytes + self.activation_bytes

    def text(self) -> str:
        """Format the row as one line.

        Returns:
            The figures with their names.
        """
        told = (f"{name} {cell}".strip() for name, cell in zip(_HEAD[1:], _row(self)[1:], strict=True) if cell)
        return f"{printable(self.key)}: {', '.join(map(printable, told))}\n"


@dataclass(frozen=True, repr=False)
class Inspection(Readable):
    """A description of a model. Dynamic dimensions count as 1, so the figures apply to one sample."""

    layers: tuple[LayerSummary, ...]
    """The layers in order."""

    inputs: tuple[ValueInfo, ...]
    """The inputs, with names, shapes and types."""

    outputs: tuple[ValueInfo, ...]
    """The outputs, with names, shapes and types."""

    multiply_adds: int | None
    """Multiply-adds of all layers; `None` if those of a layer are unknown."""

    integer_multiply_adds: int | None
    """Multiply-adds that are computed in integers; `None` if unknown."""

    parameters: int
    """Number of elements of all weights."""

    weight_bytes: int
    """Bytes of all weights as they are stored."""

    float_weight_bytes: int | None
    """Bytes of the same weights as floats; `None` below the quantized level, where the quantized types are no longer
    known.
    """

    largest_activation: ValueInfo | None
    """The input or result with the most bytes; `None` if the model has none."""

    @property
    def integer_share(self) -> float | None:
        """Fraction of multiply-adds that are computed in integers, in [0, 1].

        The fraction is 1 if there are no multiply-adds, and `None` if their number is unknown.
        """
        if self.multiply_adds is None or self.integer_multiply_adds is None:
            return None
        return share(self.integer_multiply_adds, self.multiply_adds)

    @property
    def kept(self) -> tuple[str, ...]:
        """The kinds of composites that are not decomposed, in order."""
        return tuple(dict.fromkeys(layer.operation for layer in self.layers if layer.is_whole))

    @property
    def decomposed(self) -> tuple[str, ...]:
        """The kinds of composites that are decomposed, in order."""
        return tuple(dict.fromkeys(layer.composite for layer in self.layers if layer.composite))

    def text(self) -> str:
        """Format the description.

        Returns:
            A few lines about the model, then a table of the layers.
        """
        lines = [*map(printable, _head(self))]
        if self.layers:
            lines += ["", *aligned([_HEAD, *map(_row, self.layers)], _RIGHT)]
        return "".join(f"{line}\n" for line in lines)


SORT_KEYS: Mapping[str, Callable[[LayerSummary], int]] = {
    BY_MACS: lambda layer: layer.multiply_adds or 0,
    BY_BYTES: lambda layer: layer.bytes,
}
"""The figure of a layer for each of `SORTS`."""

_HEAD = ("layer", "operation", "operands", "result", "range", "macs", "weights", "activations", "")
_RIGHT = frozenset({"macs", "weights", "activations"})
_LONGEST = 40


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _ports(values: Sequence[ValueInfo]) -> str:
    return ", ".join(f"{each.name} {each.text}".strip() for each in values) or "none"


def _head(found: Inspection) -> list[str]:
    operations = sum(layer.count for layer in found.layers)
    lines = [
        f"inputs: {_ports(found.inputs)}",
        f"outputs: {_ports(found.outputs)}",
        f"operations: {operations}",
    ]
    share = found.integer_share
    if found.multiply_adds is None or share is None:
        lines.append("multiply-adds: not known any more at this level")
    else:
        lines.append(f"multiply-adds: {number(found.multiply_adds)}, {_percent(share)} in integers")
    floats = found.float_weight_bytes
    before = f", {bytes_text(floats)} as floats" if floats is not None and floats != found.weight_bytes else ""
    lines.append(f"weights: {number(found.parameters)} numbers, {bytes_text(found.weight_bytes)}{before}")
    if (most := found.largest_activation) is not None:
        lines.append(f"largest activation: {bytes_text(most.bytes)}, {f'{most.name} {most.text}'.strip()}")
    if found.kept:
        lines.append(f"composites in one piece: {', '.join(found.kept)}")
    if found.decomposed:
        lines.append(f"composites in parts: {', '.join(found.decomposed)}")
    return lines


def _range(values: Sequence[ValueInfo]) -> str:
    known = next((each.range for each in values if each.range is not None), None)
    return "" if known is None else f"{known[0]:.4g} … {known[1]:.4g}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _note(layer: LayerSummary) -> str:
    notes = [f"part of {layer.composite}"] if layer.composite else []
    if layer.is_whole:
        notes.append("composite")
    if layer.count > 1:
        notes.append(f"{layer.count} times")
    return ", ".join(notes)


def _row(layer: LayerSummary) -> tuple[str, ...]:
    operands = " ".join(dict.fromkeys(each.element for each in layer.operands))
    return (
        _short(layer.key),
        layer.operation,
        operands,
        layer.results[0].text if layer.results else "",
        _range(layer.results),
        number(layer.multiply_adds) if layer.multiply_adds != 0 else "",
        bytes_text(layer.parameter_bytes) if layer.parameter_bytes else "",
        bytes_text(layer.activation_bytes),
        _note(layer),
    )


# The kernels that run a node: the functions outlined from it, each with its schedule.
#
# The module is at the scheduled level. No code is generated, because kernels get their names before they are lowered to
# loops.


@dataclass(frozen=True)
class NodeKernel:
    """A kernel: a function that computes a node or a part of it."""

    name: str
    """The name in emitted code and timings, such as `conv3x3s1_56x56x64_i8`."""

    operations: tuple[str, ...]
    """The operations that it contains, such as `kernel.packed_conv` or `linalg.generic`."""

    schedule: Mapping[str, str | int | bool] | None
    """The schedule of a contraction: `variant`, `rows`, `vectors`, `lanes`, `k_unroll`, `threads`, `packed`."""

    calls: int
    """Number of calls for this node."""

    nodes: tuple[str, ...]
    """The nodes that these calls implement; a kernel computes all nodes that were fused into it."""


def _schedule(op: EpilogueOp) -> dict[str, str | int | bool] | None:
    is_packed = isinstance(op, PackedOp)
    attribute = op.loops if is_packed else op.schedule
    if attribute is None:
        return None
    found = {name: getattr(attribute, name) for name in ("variant", "rows", "vectors", "lanes", "k_unroll")}
    return {**found, "threads": bool(attribute.threads), "packed": is_packed}


def _inside(function: FuncOp) -> Iterator[Operation]:
    """Yields the operations of a kernel, without constants and the terminator."""
    return (op for op in function.body.blocks[0].ops if op.regions or isinstance(op, EpilogueOp))


def kernels_of(module: ModuleOp, node: NamedNode) -> tuple[NodeKernel, ...]:
    """Returns the kernels that `module` calls for `node`, in the order of their first calls."""
    functions = {function.sym_name.data: function for function in functions_of(module)}
    calls: dict[str, list[CallOp]] = {}
    for op in module.walk():
        if isinstance(op, CallOp) and node.is_of(op) and op.callee.root_reference.data in functions:
            calls.setdefault(op.callee.root_reference.data, []).append(op)
    found: list[NodeKernel] = []
    for name, sites in calls.items():
        inside = list(_inside(functions[name]))
        schedules = (_schedule(op) for op in inside if isinstance(op, EpilogueOp))
        nodes = dict.fromkeys(str(origin) for site in sites for origin in origins_of(site))
        found.append(
            NodeKernel(
                name,
                tuple(dict.fromkeys(op.name for op in inside)),
                next(filter(None, schedules), None),
                len(sites),
                tuple(nodes),
            )
        )
    return tuple(found)
