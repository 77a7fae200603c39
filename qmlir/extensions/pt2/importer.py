"""Imports an exported program as one function, whose inputs and outputs are those of the program.

The operations have the name of their node, the operator and the path of the module as provenance. Dynamic dimensions
keep the names of their symbols; the size 1, which PyTorch excludes from a range if it specializes to it, is accepted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, ModuleOp, StringAttr, TensorType, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.extensions.pt2.archive import ELEMENTS, Argument, Call, ExportedProgram, TensorMeta
from qmlir.extensions.pt2.node import AtenNode, Declared, Integer
from qmlir.extensions.pt2.operators import OPERATORS, SIZES, SKIPPED, VIEWS
from qmlir.extensions.pt2.sizes import Expression, evaluated
from qmlir.formats.graph import BlockBuilder, suggest_name
from qmlir.formats.types import check_names, check_shape
from qmlir.ir.builtin_types import element_of, ranked_tensor, shape_of
from qmlir.ir.diagnostics import text_error
from qmlir.ir.provenance import Origin, name_results
from qmlir.ir.signature import Port, set_ports
from qmlir.ir.verification import verify

LIMIT = 2**63
"""The limit of an integer, which has 64 bits."""

_Results: TypeAlias = "int | SSAValue | Sequence[SSAValue]"

SHOWN = 20
"""The maximum number of unsupported operators in a message."""


def _names(target: str) -> tuple[str, str, bool]:
    """Returns an operator's name, its name without overload, and True if it changes its first argument in place."""
    packet, _, overload = target.rpartition(".")
    if not packet or packet == "_operator":
        return target, target, False
    is_in_place = packet.endswith("_") and not packet.endswith("__")
    packet = packet.rstrip("_") if is_in_place else packet
    return f"{packet}.{overload}", packet, is_in_place


def _importer(call: Call) -> Any:
    full, packet, _ = _names(call.target)
    return OPERATORS.get(full) or OPERATORS.get(packet)


@dataclass
class _Importer:
    """The state of one import."""

    program: ExportedProgram
    builder: BlockBuilder
    symbols: dict[str, int] = field(default_factory=dict[str, int])
    """The sizes of dynamic dimensions that the caller fixed."""

    values: dict[str, Any] = field(default_factory=dict[str, Any])
    """The value of each tensor and integer by name."""

    constants: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    roots: dict[str, str] = field(default_factory=dict[str, str])
    """The tensor whose memory each view shares."""

    def declared(self, name: str) -> Declared:
        """Returns the declared type of a tensor."""
        meta = self.program.tensors.get(name)
        if meta is None:
            raise text_error(f"{self.program.name}: tensor '{name}' has no type")
        return self.known(meta)

    def known(self, meta: TensorMeta) -> Declared:
        """Returns a declared type with the sizes that the caller fixed."""
        found = [evaluated(size, self.symbols) for size in meta.sizes]
        return Declared(meta.element, tuple(DYNAMIC_INDEX if size is None else size for size in found), meta.sizes)

    def value(self, name: Any) -> Any:
        """Returns the value of a tensor or integer; a constant is added when it is first used."""
        if isinstance(name, str) and name in self.values:
            return self.values[name]
        if not isinstance(name, str) or name not in self.program.constants:
            raise text_error(f"{self.program.name}: no supported operator computes '{name}'")
        path, array = self.program.constants[name]
        if id(array) not in self.constants:
            element = next((each for each, dtype in ELEMENTS.values() if np.dtype(dtype) == array.dtype))
            op = ConstantOp.of(array, TensorType(cast(Any, element), array.shape))
            value = self.builder.append(op, [Origin(path)]).result
            suggest_name(value, path)
            self.constants[id(array)] = value
        self.values[name] = self.constants[id(array)]
        return self.values[name]

    def argument(self, call: Call, name: str, given: Argument) -> Any:
        """Returns the value of an argument."""
        value, fail = given.value, partial(self._invalid, call, name, given)
        match given.kind:
            case "as_tensor" if isinstance(value, dict):
                return self.value(cast(Any, value).get("name"))
            case "as_tensors" | "as_optional_tensors" if isinstance(value, list):
                return [self._listed(each, fail) for each in cast(list[Any], value)]
            case "as_sym_int":
                return self._integer(value, fail)
            case "as_sym_ints" if isinstance(value, list):
                return [self._integer(each, fail) for each in cast(list[Any], value)]
            case "as_int" | "as_ints" | "as_bool" | "as_bools" | "as_string":
                listed = cast(list[Any], value) if isinstance(value, list) else [value]
                if any(isinstance(each, int) and not -LIMIT <= each < LIMIT for each in listed):
                    raise fail()
                return cast(Any, value)
            case "as_float":
                return self._float(value, fail)
            case "as_floats" if isinstance(value, list):
                return [self._float(each, fail) for each in cast(list[Any], value)]
            case "as_scalar_type":
                if not isinstance(value, int) or value not in ELEMENTS:
                    raise fail()
                return ELEMENTS[value][0]
            case "as_none" | "as_device" | "as_layout" | "as_memory_format":
                return None
            case _:
                raise fail()

    def _invalid(self, call: Call, name: str, given: Argument) -> Exception:
        shown = str(given.value)[:60]
        return text_error(f"{call.target} '{call.name}': argument '{name}' of kind {given.kind} is invalid: {shown}")

    def _listed(self, held: Any, fail: Any) -> Any:
        if not isinstance(held, dict):
            raise fail()
        found = cast(dict[str, Any], held)
        if "as_none" in found:
            return None
        inner = found.get("as_tensor", found)
        if not isinstance(inner, dict):
            raise fail()
        return self.value(cast(Any, inner).get("name"))

    def _integer(self, held: Any, fail: Any) -> Integer:
        if not isinstance(held, dict):
            raise fail()
        found = cast(dict[str, Any], held)
        number = found.get("as_int")
        if isinstance(number, int) and not isinstance(number, bool) and -LIMIT <= number < LIMIT:
            return number
        value = self.value(found.get("as_name"))
        if not isinstance(value, int) and element_of(value) != i64:
            raise fail()
        return value

    @staticmethod
    def _float(value: Any, fail: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError):
            raise fail() from None

    def run(self, call: Call) -> None:
        """Adds the operations of a call."""
        if call.target in SKIPPED:
            return
        arguments = {name: self.argument(call, name, given) for name, given in call.arguments.items()}
        origin = Origin(call.name, call.target, module=call.module)
        sizes = {
            name: meta.sizes
            for name, given in call.arguments.items()
            if given.kind == "as_tensor" and (meta := self.program.tensors.get(given.value.get("name"))) is not None
        }
        is_integer = call.target in SIZES
        outputs = [] if is_integer else [self.declared(name) for name in call.outputs if name]
        inputs = tuple(cast(SSAValue, value) for value in arguments.values() if isinstance(value, SSAValue))
        node = AtenNode(inputs, self.builder, origin, call, arguments, outputs, sizes)
        before = self.builder.block.last_op
        try:
            with np.errstate(all="ignore"):
                results = cast(_Results, (SIZES[call.target] if is_integer else _importer(call))(node))
        except VerifyException as error:
            raise node.error(" ".join(str(error).split())) from error
        if isinstance(results, int):
            self.values[call.outputs[0]] = results
            return
        self._store(node, before, [results] if isinstance(results, SSAValue) else list(results))

    def _store(self, node: AtenNode, before: Operation | None, results: Sequence[SSAValue]) -> None:
        """Records the results of a call under the names of its outputs; an error follows if a missing one is used."""
        call = node.call
        following = self.builder.block.first_op if before is None else before.next_op
        settled = self.builder.settle(following, list(results))
        name_results(settled, [name if name != call.name else "" for name in call.outputs])
        for name, value in zip(call.outputs, settled, strict=False):
            if not name or value is None:
                continue
            if call.target not in SIZES:
                declared = self.declared(name)
                if _disagree(shape_of(value), declared.shape):
                    found = list(shape_of(value))
                    raise node.error(f"'{name}' is declared with shape {list(declared.shape)}, but has shape {found}")
                if isinstance(value.owner, Operation) and ranked_tensor(value.type) is not None:
                    value = self.builder.refine(value, declared.type)
            self.values[name] = value
            suggest_name(value, name)
        self._follow_memory(node)

    def _follow_memory(self, node: AtenNode) -> None:
        """Keeps track of views, and gives the result of an operation in place to the tensor that it changes."""
        call = node.call
        _, packet, is_in_place = _names(call.target)
        first = next(iter(call.arguments.values()), None)
        if first is None or first.kind != "as_tensor":
            return
        source = str(first.value["name"])
        root = self.roots.get(source) or source
        if packet in VIEWS or is_in_place:
            self.roots |= dict.fromkeys(call.outputs, root)
        if not is_in_place:
            return
        shared = {name for name, held in self.roots.items() if held == root} | {root}
        later = self.program.calls[self.program.calls.index(call) + 1 :]
        used = {name for each in later for given in each.arguments.values() for name in _tensor_names(given)}
        used |= set(self.program.outputs)
        same = self._aliases(source)
        if others := sorted((shared & used) - same - set(call.outputs)):
            raise node.error(f"changes memory that '{others[0]}' shares in place, which is not supported")
        for name in same:
            self.values[name] = self.values[call.outputs[0]]

    def _aliases(self, source: str) -> set[str]:
        """Returns the names whose value is that of `source`."""
        value = self.values.get(source)
        return {source} | {name for name, held in self.values.items() if held is value}


def _tensor_names(given: Argument) -> list[str]:
    """Returns the names of the tensors of an argument."""
    value: Any = given.value
    listed: list[Any] = cast(list[Any], value) if isinstance(value, list) else [value]
    found = [cast(dict[str, Any], each) for each in listed if isinstance(each, dict)]
    inner = [each.get("as_tensor", each) for each in found]
    names = [cast(dict[str, Any], each).get("name") for each in inner if isinstance(each, dict)]
    return [name for name in names if isinstance(name, str)]


def _disagree(found: Sequence[int], declared: Sequence[int]) -> bool:
    return len(found) != len(declared) or any(
        DYNAMIC_INDEX not in pair and pair[0] != pair[1] for pair in zip(found, declared, strict=True)
    )


def _ports(importer: _Importer, shapes: Mapping[str, Sequence[int]]) -> list[Port]:
    """Returns the inputs; sizes that the caller gives fix the symbols of dynamic dimensions."""
    program = importer.program
    check_names(shapes, program.inputs)
    for name, shape in shapes.items():
        sizes = importer.declared(name).sizes
        check_shape(name, shape, len(sizes))
        for size, wanted in zip(sizes, shape, strict=True):
            if isinstance(size, Expression) and not size.operands and wanted != DYNAMIC_INDEX:
                _fix(importer, name, size.name, wanted)
    ports: list[Port] = []
    for name in program.inputs:
        declared = importer.declared(name)
        if name in shapes and _disagree(shapes[name], declared.shape):
            raise text_error(
                f"input '{name}' was exported with shape {_shown(declared)}, but got {list(shapes[name])}; "
                "mark the dimension as dynamic (dynamic_shapes of torch.export.export)"
            )
        dims = tuple(
            each.name if size == DYNAMIC_INDEX and isinstance(each, Expression) and not each.operands else ""
            for size, each in zip(declared.shape, declared.sizes, strict=True)
        )
        ports.append(Port(name, declared.type, dims))
    return ports


def _shown(declared: Declared) -> list[int | str]:
    return ["?" if size == DYNAMIC_INDEX else size for size in declared.shape]


def _fix(importer: _Importer, name: str, symbol: str, size: int) -> None:
    """Fixes the size of a dynamic dimension, which must be in its range."""
    low, high = importer.program.ranges.get(symbol, (None, None))
    # PyTorch treats 0 and 1 apart, so that a range begins at 2 unless it was declared; the graph is the same for 1.
    low = 1 if low == 2 else low
    if (low is not None and size < low) or (high is not None and size > high):
        raise text_error(f"size {size} of input '{name}' must be in [{low}, {high}], the range of its export")
    if importer.symbols.setdefault(symbol, size) != size:
        raise text_error(f"input '{name}' has size {size}, but another input has {importer.symbols[symbol]} for it")


def _check_operators(program: ExportedProgram) -> None:
    """Raises `DiagnosticError` if operators are unsupported; the message lists all of them."""
    missing = Counter[str]()
    places: dict[str, str] = {}
    for call in program.calls:
        if call.target not in SKIPPED and call.target not in SIZES and _importer(call) is None:
            missing[call.target] += 1
            places.setdefault(call.target, call.module or call.name)
    if missing:
        shown = [f"{name} ({count}, first in '{places[name]}')" for name, count in sorted(missing.items())]
        more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
        raise text_error(f"{program.name}: unsupported operators: {', '.join(shown[:SHOWN])}{more}")


def import_program(program: ExportedProgram, *, shapes: Mapping[str, Sequence[int]] | None = None) -> ModuleOp:
    """Returns the verified module of a program, whose function `@main` has its inputs and outputs.

    Raises `DiagnosticError` if the program is invalid or has unsupported operators.
    """
    _check_operators(program)
    if not program.outputs:
        raise text_error(f"{program.name} has no outputs")
    function = FuncOp("main", FunctionType.from_lists([], []))
    block = function.body.block
    importer = _Importer(program, BlockBuilder(block))
    inputs = _ports(importer, shapes or {})
    for port in inputs:
        argument = block.insert_arg(port.type, len(block.args))
        importer.values[port.name] = argument
        suggest_name(argument, port.name)
    for call in program.calls:
        importer.run(call)
    outputs = [importer.builder.plain(importer.value(name)) for name in program.outputs]
    block.add_op(ReturnOp(*outputs))
    function.update_function_type()
    names = [
        f"{name}:{index}" if name in program.outputs[:index] else name for index, name in enumerate(program.outputs)
    ]
    set_ports(function, inputs, [Port(name, value.type) for name, value in zip(names, outputs, strict=True)])
    importer.builder.sweep()
    module = ModuleOp([function], {"nn.producer": StringAttr(program.producer)})
    verify(module)
    return module
