"""What the values of a subject are called, and which values of two subjects are the same value of the model.

A module comes in; out come its values that hold numbers, each with a key like that of profiles (`fc1`, `fc1/bias_add`)
and with what else tells it: the kind of its operation, the composite that it is a result of, the name of the model's
tensor. `matched` pairs the values of two subjects, whatever their operations have become.
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
"""The operation of an input that is as it was given."""

OUTPUT = "output"
"""The operation of an output."""


@dataclass(frozen=True)
class Name:
    """One value of a subject: what it is called, and what tells that it is a value of the other subject too."""

    key: str
    """`fc1/bias_add`; the port's name for an input, `output:NAME` for an output."""

    operation: str
    """What computes it: `nn.matmul`, the operator in ONNX Runtime, `input`, `output`."""

    type: str
    """The element type, `i8` or `f32`."""

    origins: tuple[Origin, ...] = ()
    """The nodes, and parts of nodes, that the operation stands for."""

    tokens: tuple[str, ...] = ()
    """Names of which one is enough: two values that share one are the same value of the model."""

    is_whole: bool = False
    """Whether it may be what its nodes give: the first result of the last kind of operation that stands for them."""

    is_limited: bool = False
    """Whether the value saturates on purpose, because only a relu or a clip takes it that cuts the same off."""

    last: int = 0
    """The place, among all operations, of the last one that gives the value."""


def input_name(port: str, operation: str = INPUT, type_: str = "", *, key: str = "") -> Name:
    """The name of an input; `operation` is what quantizes it, where something does."""
    return Name(key or port, operation, type_, tokens=(f"input:{port}",))


def output_name(port: str, type_: str = "") -> Name:
    """The name of an output."""
    return Name(f"output:{port}", OUTPUT, type_, tokens=(f"output:{port}",))


@dataclass
class ModuleNames:
    """The values of a module: their names in order, and where they are."""

    by_key: dict[str, Name] = field(default_factory=dict[str, Name])
    values: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """The key of each value that has one."""

    written: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """The keys of what operations on memory write into their last operand."""

    inputs: dict[str, str] = field(default_factory=dict[str, str])
    """The keys of the inputs of the function that is run, by port."""

    @property
    def names(self) -> Sequence[Name]:
        """The names in the order of computation."""
        return tuple(self.by_key.values())

    def add(self, name: Name) -> str:
        """Add a name, or what tells it to the one that is there: operations of one kind in one role share it."""
        known = self.by_key.get(name.key)
        if known is not None:  # the last step of an unrolled layer is what is the result of the layer
            name = replace(name, tokens=tuple(dict.fromkeys((*known.tokens, *name.tokens))))
        self.by_key[name.key] = name
        return name.key


def is_limited(value: SSAValue) -> bool:
    """Whether a quantized value has the type of what an operation that limits it makes of it, if moved before.

    So it is, too, where its type ends at a number below which its users give 0.
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
    """Whether `op` is a kernel that writes the last memory that it takes, by other memory: filling gives no value."""
    if not isinstance(op.parent_op(), FuncOp) or op.results or not origins_of(op):
        return False
    memory = [isinstance(operand.type, MemRefType) for operand in op.operands]
    return sum(memory) > 1 and memory[-1]


def _marked(op: Operation, origins: Sequence[Origin]) -> Iterator[str]:
    """The composites of which `op` gives a result, as tokens."""
    for mark in marks_on(op):
        base = "+".join(str(Origin(origin.name, role=mark.role)) for origin in origins)
        yield f"{base}:{mark.name}#{mark.result}"
        yield f"result:{base}#{mark.result}"


class _Namer:
    """The names of one module."""

    def __init__(self, module: ModuleOp, *, integers: bool):
        self.integers = integers
        self.found = ModuleNames()
        self.functions = functions_of(module)
        self.last: dict[str, str] = {}
        self.totals: Counter[str] = Counter()
        for op in self._operations():
            if origins := origins_of(op):
                self.last["+".join(map(str, origins))] = op.name
            else:
                self.totals[op.name] += 1
        self.numbers: Counter[str] = Counter()
        self.place = 0

    def _operations(self) -> Iterator[Operation]:
        for function in self.functions:
            yield from (op for op in function.body.walk() if self._is_named(op))

    def _is_named(self, op: Operation) -> bool:
        """Whether `op` computes a value of its own: casts, constants and observers do not, nor calls."""
        if isinstance(op, (*CASTS, ObserveOp, EmptyOp)) or is_constant(op):
            return False
        if isinstance(op, CallOp) and op.results:
            return False
        return _writes(op) or any(_holds_numbers(result, integers=self.integers) for result in op.results)

    def run(self, entry: str) -> ModuleNames:
        functions = {function.sym_name.data: function for function in self.functions}
        if entry in functions:
            self._name_inputs(functions[entry])
        for function in self.functions:
            prefix = "" if function.sym_name.data == ENTRY or len(functions) == 1 else f"@{function.sym_name.data}/"
            for op in function.body.walk():
                if self._is_named(op):
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
        self.place += 1
        if not origins:
            number = self.numbers[op.name]
            self.numbers[op.name] += 1
            # Numbers among their like say nothing where some have come or gone: so their count is in the token.
            base, token = f"{prefix}{op.name}[{number}]", f"{prefix}{op.name}[{number} of {self.totals[op.name]}]"
            is_last, marked = False, ()
        else:
            base = token = "+".join(map(str, origins))
            token += f":{op.name}"
            is_last, marked = self.last[base] == op.name, tuple(_marked(op, origins))
            base += "" if is_last else f":{op.name}"
        if _writes(op):
            text = element_text(element_type(op.operands[-1].type))
            name = Name(base, op.name, text, origins, (f"{token}#0", *marked), is_last, last=self.place)
            self.found.written[op] = self.found.add(name)
        tensors = tensor_names(op)
        for number, result in enumerate(op.results):
            if not _holds_numbers(result, integers=self.integers):
                continue
            tokens = [f"{token}#{number}"]
            # A name that is the node's own is that of what the node gives.
            is_told = is_last or TENSOR in op.attributes
            tokens += [f"tensor:{tensors[number]}"] if is_told and tensors[number] else []
            tokens += [f"result:{base}#{number}"] if number and is_last else []
            tokens += marked if number == 0 else ()
            key = f"{base}#{number}" if number else base
            text = element_text(element_type(result.type))
            is_whole = is_last and number == 0
            name = Name(key, op.name, text, origins, tuple(tokens), is_whole, is_limited(result), self.place)
            self.found.values[result] = self.found.add(name)


def module_names(module: ModuleOp, function: str = ENTRY, *, integers: bool = False) -> ModuleNames:
    """The float and quantized values of `module`, with their names; with `integers` also plain integers.

    Inputs and outputs are those of `function`. Values of operations of one kind with the same provenance, as the steps
    of an unrolled layer, share a name.
    """
    return _Namer(module, integers=integers).run(function)


def _wholes(origin: Origin) -> Iterator[str]:
    """A part of a node, what it is a part of, and so on up to the node."""
    roles = origin.role.split("/") if origin.role else []
    for length in range(len(roles), -1, -1):
        yield str(Origin(origin.name, role="/".join(roles[:length])))


def _last_covering(names: Sequence[Name]) -> dict[str, Name]:
    """For each node, and part of a node, the last value that stands for it or for something inside it."""
    found: dict[str, Name] = {}
    for name in sorted((name for name in names if name.is_whole), key=lambda name: name.last):
        for origin in name.origins:
            found.update(dict.fromkeys(_wholes(origin), name))
    return found


def matched(reference: Sequence[Name], candidate: Sequence[Name]) -> dict[str, str]:
    """For keys of the reference the key of the same value in the candidate; both in the order of computation.

    Two values are the same where they share a token: a kind of operation with the same provenance, a result of the same
    composite, a tensor of the model. Otherwise a value of the reference is what the last operation of the candidate
    gives that stands for its node or for a part of it; where that one stands for several nodes, as a fused kernel, it
    gives the value of the last of them. No value is matched twice.
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
        # A fused value of the reference is what its last node gives, too.
        known = [last[str(each)] for each in name.origins if str(each) in last] if name.is_whole else []
        if known:
            groups[max(known, key=lambda each: each.last).key] = name
    for key, name in groups.items():
        if name.key not in pairs and key not in taken:
            pairs[name.key] = key
            taken.add(key)
    return pairs
