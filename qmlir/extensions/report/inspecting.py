"""Describes a model: the operation, types, shapes, multiply-adds and bytes of each layer, and the totals.

The module may be at any level, float or quantized. A layer has a provenance key (`fc1`, `fc1/matmul`). Operations with
the same key, kind and types, such as the time steps of an unrolled layer, form one row. Weights are counted for the
operation that reads them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.nn.base import Kind, kind_of, plain_type
from qmlir.dialects.quant.infer import bits_of, bytes_of, elements_of, shaped_type
from qmlir.extensions.report.layers import Inspection, LayerSummary
from qmlir.extensions.report.naming import ValueInfo, constant_behind
from qmlir.extensions.report.naming import value_info as info_of
from qmlir.ir.decomposition import Parts, marks_on, parts_given
from qmlir.ir.interfaces import MultipliesAndAdds, Quantizable
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import Port, inputs_of, memory_outputs_of, outputs_of
from qmlir.quantization.profiles.keys import ENTRY, functions_of, is_constant
from qmlir.quantization.report import CASTS, coverage, key_of
from qmlir.workflows.loading import takes_model

_VIEWS = frozenset(
    {"tensor.empty", "memref.alloc", "memref.view", "memref.cast", "memref.subview", "memref.get_global"}
)
"""Operations that only allocate or view memory."""

_LOOPS = frozenset({"scf", "simd", "vector"})
"""Dialects at whose level multiply-adds can no longer be counted."""


def _infos(values: Sequence[SSAValue]) -> tuple[ValueInfo, ...]:
    return tuple(info for value in values if (info := info_of(value)) is not None)


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
    found = 0
    for op in inside:
        if op.dialect_name() in _LOOPS:
            return None
        found += op.multiply_adds() if isinstance(op, MultipliesAndAdds) else 0
    return found


class _Reader:
    """Reads the operations of a module."""

    def __init__(self, module: ModuleOp) -> None:
        self.functions = {function.sym_name.data: function for function in functions_of(module)}
        called = {op.callee.root_reference.data for op in module.walk() if isinstance(op, CallOp)}
        self.kernels = {name for name in called & self.functions.keys() if _is_kernel(self.functions[name])}
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
        return LayerSummary(
            _key(op),
            name,
            "+".join(dict.fromkeys(each.op_type for each in origins if each.op_type)),
            _infos(operands),
            _infos(results),
            _products(inside),
            any(_is_quantized(each) or _multiplies_integers(each) for each in inside),
            sum(map(elements_of, weights)),
            sum(map(bytes_of, weights)),
            sum(map(bytes_of, results)),
            composite=", ".join(dict.fromkeys(parts_of)),
            is_whole=_has_parts(op),
        )


def _key(op: Operation) -> str:
    """Returns the key of an operation; for a cast of an input, the input's name."""
    if isinstance(op, CASTS) and not origins_of(op) and (info := info_of(op.operands[0])) is not None and info.name:
        return info.name
    return key_of(op)


def _is_kernel(function: FuncOp) -> bool:
    """Returns true if a called function writes to memory of its caller."""
    return not function.function_type.outputs.data


def _has_parts(op: Operation) -> bool:
    """Returns true if `op` is a composite with a decomposition; a convolution without bias has none."""
    parts = Parts(op, may_be_excerpt=True)
    try:
        return parts_given(op, parts) is not None
    finally:
        parts.discard()


def _merged(layers: Sequence[LayerSummary]) -> tuple[LayerSummary, ...]:
    """Merges rows of equal key, operation and types."""
    rows: dict[tuple[object, ...], LayerSummary] = {}
    for layer in layers:
        types = tuple((each.shape, each.element, each.parameters) for each in (*layer.operands, *layer.results))
        key = layer.key, layer.operation, types
        known = rows.get(key)
        if known is None:
            rows[key] = layer
            continue
        products = None
        if known.multiply_adds is not None and layer.multiply_adds is not None:
            products = known.multiply_adds + layer.multiply_adds
        rows[key] = replace(
            known,
            multiply_adds=products,
            activation_bytes=known.activation_bytes + layer.activation_bytes,
            count=known.count + 1,
        )
    return tuple(rows.values())


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
    products = [layer.multiply_adds for layer in layers]
    total = None if None in products else sum(each for each in products if each is not None)
    lowered = (layer for layer, op in zip(layers, operations, strict=True) if not _is_quantized(op))
    of_lowered = sum(layer.multiply_adds or 0 for layer in lowered if layer.is_integer)
    inputs, outputs = _ports(reader.entry())
    activations = [*inputs, *(each for layer in layers for each in layer.results)]
    return Inspection(
        _merged(layers),
        inputs,
        outputs,
        total,
        None if total is None else coverage(module).integer_multiply_adds + of_lowered,
        sum(map(elements_of, weights)),
        sum(map(bytes_of, weights)),
        _float_bytes(weights),
        max(activations, key=lambda each: each.bytes, default=None),
    )
