"""Describes a model: the operation, types, shapes, multiply-adds and bytes of each layer, and the totals.

The module may be at any level, float or quantized. A layer has a provenance key (`fc1`, `fc1/matmul`). Operations with
the same key, kind and types, such as the time steps of an unrolled layer, form one row. Weights are counted for the
operation that reads them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.nn.base import Kind, kind_of, plain_type
from qmlir.dialects.quant.infer import bits_of, bytes_of, elements_of, shaped_type
from qmlir.extensions.report.choices import BY_BYTES, BY_MACS
from qmlir.extensions.report.naming import ValueInfo, constant_behind, value_infos
from qmlir.extensions.report.naming import value_info as info_of
from qmlir.ir.decomposition import Parts, marks_on, parts_given
from qmlir.ir.diagnostics import printable
from qmlir.ir.interfaces import MultipliesAndAdds, Quantizable
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import Port, inputs_of, memory_outputs_of, outputs_of
from qmlir.quantization.profiles.keys import ENTRY, functions_of, is_constant
from qmlir.quantization.report import CASTS, coverage, key_of, share
from qmlir.text.tables import Readable, aligned, bytes_text, number
from qmlir.workflows.loading import takes_model

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


def _listed(values: Sequence[ValueInfo]) -> str:
    return ", ".join(f"{each.name} {each.text}".strip() for each in values) or "none"


def _head(found: Inspection) -> list[str]:
    operations = sum(layer.count for layer in found.layers)
    lines = [f"inputs: {_listed(found.inputs)}", f"outputs: {_listed(found.outputs)}", f"operations: {operations}"]
    part = found.integer_share
    if found.multiply_adds is None or part is None:
        lines.append("multiply-adds: not known any more at this level")
    else:
        lines.append(f"multiply-adds: {number(found.multiply_adds)}, {100 * part:.1f}% in integers")
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
    result = layer.results[0].text if layer.results else ""
    products = number(layer.multiply_adds) if layer.multiply_adds != 0 else ""
    weights = bytes_text(layer.parameter_bytes) if layer.parameter_bytes else ""
    figures = products, weights, bytes_text(layer.activation_bytes)
    return _short(layer.key), layer.operation, operands, result, _range(layer.results), *figures, _note(layer)


# The reader of modules.

_VIEWS = frozenset(
    {"tensor.empty", "memref.alloc", "memref.view", "memref.cast", "memref.subview", "memref.get_global"}
)
"""Operations that only allocate or view memory."""

_LOOPS = frozenset({"scf", "simd", "vector"})
"""Dialects at whose level multiply-adds can no longer be counted."""


def _is_number(value: SSAValue) -> bool:
    """Returns true for a float or quantized value."""
    found = shaped_type(value)
    return found is not None and kind_of(found[0]) in (Kind.FLOAT, Kind.QUANTIZED)


def _weights(op: Operation) -> Iterator[SSAValue]:
    """Yields the constants that `op` computes with, without duplicates; not those that hold shapes or axes."""
    if isinstance(op, CASTS):
        return
    data = [value for value, slot in op.operands_with_slots() if slot] if isinstance(op, Quantizable) else op.operands
    found = dict.fromkeys(constant for value in data if (constant := constant_behind(value)) is not None)
    is_nn = op.dialect_name() == "nn"
    yield from (value for value in found if shaped_type(value) is not None and (_is_number(value) or not is_nn))


def _is_quantized(op: Operation) -> bool:
    elements = (found[0] for value in op.operands if (found := shaped_type(value)) is not None)
    return any(kind_of(each) is Kind.QUANTIZED for each in elements)


def _multiplies_integers(op: Operation) -> bool:
    """Returns true if `op`, below the quantized level, sums products of plain integers."""
    found = shaped_type(op.operands[0]) if isinstance(op, MultipliesAndAdds) else None
    return found is not None and kind_of(found[0]) is Kind.INTEGER


def _products(inside: Sequence[Operation]) -> int | None:
    """Returns the multiply-adds of operations; `None` if they include loops."""
    if any(op.dialect_name() in _LOOPS for op in inside):
        return None
    return sum(op.multiply_adds() for op in inside if isinstance(op, MultipliesAndAdds))


class _Reader:
    """Reads the operations of a module."""

    def __init__(self, module: ModuleOp) -> None:
        self.functions = {function.sym_name.data: function for function in functions_of(module)}
        called = {op.callee.root_reference.data for op in module.walk() if isinstance(op, CallOp)}
        known = called & self.functions.keys()
        self.kernels = {name for name in known if not self.functions[name].function_type.outputs.data}
        """The called functions that return nothing: they write to memory of their caller."""

        self.composites: dict[str, dict[str, None]] = {}
        for op in module.walk():
            for mark in marks_on(op):
                for origin in origins_of(op):
                    self.composites.setdefault(origin.name, {})[mark.name] = None

    def entry(self) -> FuncOp | None:
        """Returns the function with the model's inputs and outputs: `@main`, or the first that no other calls."""
        rest = [function for name, function in self.functions.items() if name not in self.kernels]
        return self.functions.get(ENTRY) or next(iter(rest), None)

    def operations(self) -> Iterator[Operation]:
        """Yields the computing operations in order; a kernel at its call."""
        for name, function in self.functions.items():
            if name not in self.kernels:
                yield from filter(self._computes, list(function.body.walk()))

    def _computes(self, op: Operation) -> bool:
        if op.name in _VIEWS or isinstance(op, ObserveOp) or is_constant(op) or op.has_trait(IsTerminator):
            return False
        if isinstance(op, CallOp):
            return op.callee.root_reference.data in self.kernels
        return any(shaped_type(result) is not None for result in op.results)

    def layer(self, op: Operation) -> LayerSummary:
        """Returns the row of one operation."""
        name, inside, operands, results = op.name, [op], list(op.operands), list(op.results)
        if isinstance(op, CallOp):
            kernel = self.functions[op.callee.root_reference.data]
            name, inside = f"@{kernel.sym_name.data}", list(kernel.body.walk())
            operands, results = operands[:-1], operands[-1:]  # the output memory comes last
        origins = origins_of(op)
        parts_of = (mark for each in origins if each.role for mark in self.composites.get(each.name, ()))
        weights = list(_weights(op))
        op_type = "+".join(dict.fromkeys(each.op_type for each in origins if each.op_type))
        is_integer = any(_is_quantized(each) or _multiplies_integers(each) for each in inside)
        return LayerSummary(
            _key(op), name, op_type, value_infos(operands), value_infos(results), _products(inside), is_integer,
            sum(map(elements_of, weights)), sum(map(bytes_of, weights)), sum(map(bytes_of, results)),
            composite=", ".join(dict.fromkeys(parts_of)), is_whole=_has_parts(op),
        )  # fmt: skip


def _key(op: Operation) -> str:
    """Returns the key of an operation; for a cast of an input, the input's name."""
    if isinstance(op, CASTS) and not origins_of(op) and (info := info_of(op.operands[0])) is not None and info.name:
        return info.name
    return key_of(op)


def _has_parts(op: Operation) -> bool:
    """Returns true if `op` is a composite with a decomposition; a convolution without bias has none."""
    parts = Parts(op, may_be_excerpt=True)
    try:
        return parts_given(op, parts) is not None
    finally:
        parts.discard()


def _multiply_adds(layers: Sequence[LayerSummary]) -> int | None:
    """Returns the multiply-adds of all layers; `None` if those of a layer are unknown."""
    found = [layer.multiply_adds for layer in layers]
    return None if None in found else sum(filter(None, found))


def _merged(layers: Sequence[LayerSummary]) -> tuple[LayerSummary, ...]:
    """Merges rows of equal key, operation and types."""
    rows: dict[tuple[object, ...], list[LayerSummary]] = {}
    for layer in layers:
        types = tuple((each.shape, each.element, each.parameters) for each in (*layer.operands, *layer.results))
        rows.setdefault((layer.key, layer.operation, types), []).append(layer)
    return tuple(
        replace(
            same[0],
            multiply_adds=_multiply_adds(same),
            count=len(same),
            activation_bytes=sum(each.activation_bytes for each in same),
        )
        for same in rows.values()
    )


def _float_bytes(weights: Sequence[SSAValue]) -> int | None:
    """Returns the bytes that `weights` would take as floats; `None` if they are plain integers."""
    bits = 0
    for value in weights:
        found = shaped_type(value)
        if found is None or not _is_number(value):
            return None
        bits += elements_of(value) * bits_of(plain_type(found[0]))
    return bits // 8


def _ports(function: FuncOp | None) -> tuple[tuple[ValueInfo, ...], tuple[ValueInfo, ...]]:
    """Returns the inputs and the outputs of a function, with the model's names."""
    if function is None:
        return (), ()
    block, inputs, outputs = function.body.blocks[0], inputs_of(function), outputs_of(function)
    memory = memory_outputs_of(function)
    last = block.last_op
    given = block.args[: len(inputs)]
    made = block.args[len(inputs) :] if memory else () if last is None else last.operands

    def named(values: Sequence[SSAValue], ports: Sequence[Port]) -> tuple[ValueInfo, ...]:
        pairs = ((info_of(value), port.name) for value, port in zip(values, ports, strict=False))
        return tuple(replace(info, name=name or info.name) for info, name in pairs if info is not None)

    return named(given, inputs), named(made, memory or outputs)


@takes_model
def inspect(module: ModuleOp) -> Inspection:
    """Describe a model layer by layer: operations, types, shapes, multiply-adds and bytes.

    It accepts float and quantized models at every level. The model is not changed. Multiply-adds are those of
    contractions: a ResNet-50 has 4.09e9 at 224x224. Dynamic dimensions count as 1.

    Args:
        module: The model: a module, a result that holds one (such as `Quantized`), or a path or ONNX model that `load`
            accepts.

    Returns:
        The layers, and the sums over the model. Printing it shows a table.

    Raises:
        DiagnosticError: The model cannot be loaded.

    Example:
        >>> found = qmlir.inspect("docs/examples/digits.onnxtxt")
        >>> found.layers[0].operation, found.multiply_adds, found.weight_bytes
        ('nn.fully_connected', 8, 40)
    """
    reader = _Reader(module)
    operations = list(reader.operations())
    layers = [reader.layer(op) for op in operations]
    weights = list(dict.fromkeys(weight for op in operations for weight in _weights(op)))
    total = _multiply_adds(layers)
    lowered = (layer for layer, op in zip(layers, operations, strict=True) if not _is_quantized(op))
    of_lowered = sum(layer.multiply_adds or 0 for layer in lowered if layer.is_integer)
    inputs, outputs = _ports(reader.entry())
    activations = [*inputs, *(each for layer in layers for each in layer.results)]
    integer = None if total is None else coverage(module).integer_multiply_adds + of_lowered
    largest = max(activations, key=lambda each: each.bytes, default=None)
    return Inspection(
        _merged(layers), inputs, outputs, total, integer, sum(map(elements_of, weights)),
        sum(map(bytes_of, weights)), _float_bytes(weights), largest,
    )  # fmt: skip
