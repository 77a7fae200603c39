"""The names of a subject's values, and the matching of values between two subjects.

Each numeric value of a module gets a key like that of profiles (`fc1`, `fc1/bias_add`), and further identification: its
operation, the composite that it is a result of, and the name of the model's tensor. `matched` pairs the values of two
subjects, whatever their operations have become.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import QuantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.decomposition import marks_on
from qmlir.ir.interfaces import Quantizable
from qmlir.ir.provenance import TENSOR, Origin, origins_of, tensor_names
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.quantization.profiles.keys import ENTRY, functions_of, is_constant
from qmlir.quantization.report import CASTS, element_text

INPUT = "input"
"""The operation of an unchanged input."""

OUTPUT = "output"
"""The operation name of an output."""


@dataclass(frozen=True)
class Name:
    """The name of one value of a subject, and the identification that finds its counterpart in another subject."""

    key: str
    """`fc1/bias_add`; the port's name for an input, `output:NAME` for an output."""

    operation: str
    """The operation that computes the value: `nn.matmul`, the operator in ONNX Runtime, `input`, `output`."""

    type: str
    """The element type, `i8` or `f32`."""

    origins: tuple[Origin, ...] = ()
    """The nodes, and parts of nodes, that the operation implements."""

    tokens: tuple[str, ...] = ()
    """Identifying tokens: two values that share one are the same value of the model."""

    is_whole: bool = False
    """Whether it may be the result of its nodes: the first result of the last kind of operation that implements
    them."""

    is_limited: bool = False
    """Whether the value saturates on purpose, because only a relu or a clip reads it that clips the same range."""

    last: int = 0
    """The index, among all operations, of the last one that computes the value."""


def input_name(port: str, operation: str = INPUT, type_: str = "", *, key: str = "") -> Name:
    """Returns the name of an input; `operation` is the op that quantizes it, if any."""
    return Name(key or port, operation, type_, tokens=(f"input:{port}",))


def output_name(port: str, type_: str = "") -> Name:
    """Returns the name of an output."""
    return Name(f"output:{port}", OUTPUT, type_, tokens=(f"output:{port}",))


@dataclass
class ModuleNames:
    """The values of a module: their names in order, and their SSA values or operations."""

    by_key: dict[str, Name] = field(default_factory=dict[str, Name])
    values: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """The key of each value that has one."""

    written: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """The key of each operation that writes a value into its last memory operand."""

    inputs: dict[str, str] = field(default_factory=dict[str, str])
    """The keys of the inputs of the executed function, by port."""

    @property
    def names(self) -> Sequence[Name]:
        """The names, in the order of computation."""
        return tuple(self.by_key.values())

    def add(self, name: Name) -> str:
        """Adds a name, or adds its tokens to an existing one: operations of one kind and role share a name."""
        known = self.by_key.get(name.key)
        if known is not None:  # the last step of an unrolled layer is the layer's result
            name = replace(name, tokens=tuple(dict.fromkeys((*known.tokens, *name.tokens))))
        self.by_key[name.key] = name
        return name.key


def is_limited(value: SSAValue) -> bool:
    """Returns true if a quantized value has the type to which its users clip it, possibly after moves.

    This includes a type that ends at a bound below which its users return 0.
    """
    element = element_type(value.type)
    users = [use.operation for use in value.uses]
    if not isinstance(element, UniformQuantizedType) or not users:
        return False
    return all(isinstance(user, Quantizable) and _limits(user, value, element) for user in users)


def _limits(user: Quantizable, value: SSAValue, element: UniformQuantizedType) -> bool:
    slots = user.quantization_slots()
    if math.isfinite(slots.flat_below) and element.granularity is Granularity.TENSOR:
        lowest = element.scale * (element.storage_min - element.zero_point)
        return abs(lowest - slots.flat_below) <= element.scale
    if not user.results or element_type(user.results[0].type) != element:
        return False
    return (slots.limits_operand and user.operands[0] is value) or is_limited(user.results[0])


def _holds_numbers(value: SSAValue, *, integers: bool) -> bool:
    type_ = ranked_tensor(value.type)
    kinds = (Kind.FLOAT, Kind.QUANTIZED, *((Kind.INTEGER, Kind.BOOLEAN) if integers else ()))
    return type_ is not None and kind_of(type_.get_element_type()) in kinds


def _writes(op: Operation) -> bool:
    """Returns true if `op` is a kernel that writes its last memory operand from others: filling computes no value."""
    if not isinstance(op.parent_op(), FuncOp) or op.results or not origins_of(op):
        return False
    memory = [isinstance(operand.type, MemRefType) for operand in op.operands]
    return sum(memory) > 1 and memory[-1]


def _marked(op: Operation, origins: Sequence[Origin]) -> Iterator[str]:
    """Yields tokens for the composites of which `op` computes a result."""
    for mark in marks_on(op):
        base = "+".join(str(Origin(origin.name, role=mark.role)) for origin in origins)
        yield f"{base}:{mark.name}#{mark.result}"
        yield f"result:{base}#{mark.result}"


class _Namer:
    """Names the values of one module."""

    def __init__(self, module: ModuleOp, *, integers: bool):
        self.integers = integers
        self.found = ModuleNames()
        self.functions = functions_of(module)
        self.last: dict[str, str] = {}
        self.totals: Counter[str] = Counter()
        for op, _ in self._operations():
            if origins := origins_of(op):
                self.last["+".join(map(str, origins))] = op.name
            else:
                self.totals[op.name] += 1
        self.numbers: Counter[str] = Counter()
        self.position = 0

    def _operations(self) -> Iterator[tuple[Operation, str]]:
        """Yields the operations that get names, each with the prefix of its function."""
        for function in self.functions:
            name = function.sym_name.data
            prefix = "" if name == ENTRY or len(self.functions) == 1 else f"@{name}/"
            yield from ((op, prefix) for op in function.body.walk() if self._is_named(op))

    def _is_named(self, op: Operation) -> bool:
        """Whether `op` gets a name: casts, constants, observers and calls do not."""
        if isinstance(op, (*CASTS, ObserveOp, EmptyOp)) or is_constant(op):
            return False
        if isinstance(op, CallOp) and op.results:
            return False
        return _writes(op) or any(_holds_numbers(result, integers=self.integers) for result in op.results)

    def run(self, entry: str) -> ModuleNames:
        functions = {function.sym_name.data: function for function in self.functions}
        if entry in functions:
            self._name_inputs(functions[entry])
        for op, prefix in self._operations():
            self._name(op, prefix)
        if entry in functions:
            for port in outputs_of(functions[entry]):
                self.found.add(output_name(port.name, element_text(element_type(port.of_caller().type))))
        return self.found

    def _name_inputs(self, function: FuncOp) -> None:
        for port, argument in zip(inputs_of(function), function.body.blocks[0].args, strict=False):
            key = f"input:{port.name}" if port.name in self.last else port.name
            casts = [use.operation for use in argument.uses if isinstance(use.operation, QuantizeCastOp)]
            if casts:
                result = casts[0].results[0]
                self.found.values[result] = key
                type_ = element_text(element_type(result.type))
                self.found.add(input_name(port.name, casts[0].name, type_, key=key))
            elif _holds_numbers(argument, integers=False):
                self.found.inputs[port.name] = key
                self.found.add(input_name(port.name, INPUT, element_text(element_type(argument.type)), key=key))

    def _name(self, op: Operation, prefix: str) -> None:
        origins = origins_of(op)
        self.position += 1
        if not origins:
            number = self.numbers[op.name]
            self.numbers[op.name] += 1
            # The index among operations of a kind is meaningless if their number changed, so the token includes that
            # number.
            base, token = f"{prefix}{op.name}[{number}]", f"{prefix}{op.name}[{number} of {self.totals[op.name]}]"
            is_last, marked = False, ()
        else:
            base = token = "+".join(map(str, origins))
            token += f":{op.name}"
            is_last, marked = self.last[base] == op.name, tuple(_marked(op, origins))
            base += "" if is_last else f":{op.name}"
        if _writes(op):
            text = element_text(element_type(op.operands[-1].type))
            name = Name(base, op.name, text, origins, (f"{token}#0", *marked), is_last, last=self.position)
            self.found.written[op] = self.found.add(name)
        tensors = tensor_names(op)
        for number, result in enumerate(op.results):
            if not _holds_numbers(result, integers=self.integers):
                continue
            tokens = [f"{token}#{number}"]
            # A tensor name of the node names the node's result.
            is_told = is_last or TENSOR in op.attributes
            tokens += [f"tensor:{tensors[number]}"] if is_told and tensors[number] else []
            tokens += [f"result:{base}#{number}"] if number and is_last else []
            tokens += marked if number == 0 else ()
            key = f"{base}#{number}" if number else base
            text = element_text(element_type(result.type))
            is_whole = is_last and number == 0
            name = Name(key, op.name, text, origins, tuple(tokens), is_whole, is_limited(result), self.position)
            self.found.values[result] = self.found.add(name)


def module_names(module: ModuleOp, function: str = ENTRY, *, integers: bool = False) -> ModuleNames:
    """Returns the float and quantized values of `module` with their names; with `integers` also plain integers.

    Inputs and outputs are those of `function`. Operations of one kind with the same provenance, such as the steps of an
    unrolled layer, share a name.
    """
    return _Namer(module, integers=integers).run(function)


def wholes(origin: Origin) -> Iterator[str]:
    """Yields a part of a node, then the part that contains it, and so on up to the node."""
    roles = origin.role.split("/") if origin.role else []
    for length in range(len(roles), -1, -1):
        yield str(Origin(origin.name, role="/".join(roles[:length])))


def _last_covering(names: Sequence[Name]) -> dict[str, Name]:
    """Returns, for each node and part of a node, the last value that implements it or something inside it."""
    found: dict[str, Name] = {}
    for name in sorted((name for name in names if name.is_whole), key=lambda name: name.last):
        for origin in name.origins:
            found.update(dict.fromkeys(wholes(origin), name))
    return found


def matched(reference: Sequence[Name], candidate: Sequence[Name]) -> dict[str, str]:
    """Maps keys of the reference to keys of the same values in the candidate; both are in the order of computation.

    Two values are the same if they share a token: the operation and provenance, a result of the same composite, or a
    tensor of the model. Otherwise, a value of the reference corresponds to the result of the candidate's last operation
    that implements its node or a part of it; if that operation implements several nodes, as a fused kernel does, its
    result is that of the last one. No value is matched twice.
    """
    by_token: dict[str, str] = {}
    for name in candidate:
        for token in name.tokens:
            by_token.setdefault(token, name.key)
    pairs: dict[str, str] = {}
    taken: set[str] = set()
    for name in reference:
        key = next((by_token[token] for token in name.tokens if by_token.get(token, "") not in ("", *taken)), None)
        if key is not None:
            pairs[name.key] = key
            taken.add(key)
    last = _last_covering(candidate)
    groups: dict[str, Name] = {}
    for name in sorted(reference, key=lambda name: name.last):
        # A fused value of the reference is also the result of its last node.
        known = [last[str(each)] for each in name.origins if str(each) in last] if name.is_whole else []
        if known:
            groups[max(known, key=lambda each: each.last).key] = name
    for key, name in groups.items():
        if name.key not in pairs and key not in taken:
            pairs[name.key] = key
            taken.add(key)
    return pairs
