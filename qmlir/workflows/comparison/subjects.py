"""The subjects of comparisons: modules in the interpreter, and programs.

A subject names its values and computes them on the inputs of one batch, as floats: quantized values are dequantized.

The values inside a compiled program come from a second program that returns them. It fuses fewer operations, but
computes the same integers. The outputs are those of the program that a user has.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Protocol, cast, runtime_checkable

import numpy as np
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.quant.infer import element_type, storage_dtype
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.interpreter.interpreter import Listener
from qmlir.interpreter.real_values import real, stored_inputs
from qmlir.interpreter.run import interpret
from qmlir.interpreter.upstream.scalars import unsigned, wrap
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.control_flow import terminator_of
from qmlir.ir.diagnostics import text_error, unknown
from qmlir.ir.signature import Port, inputs_of, outputs_of, set_ports
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import COMPILE
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.quantization.report import element_text
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import specialize
from qmlir.targets.cpu.compiler import compile_module
from qmlir.workflows.choices import STAGES
from qmlir.workflows.comparison.names import ModuleNames, Name, matched, module_names, output_name


@runtime_checkable
class Subject(Protocol):
    """One side of a comparison."""

    @property
    def name(self) -> str:
        """The name of the subject in messages and tables."""
        ...

    @property
    def signature(self) -> FuncOp | None:
        """A function with the subject's inputs, whose body is irrelevant; `None` if the inputs are unknown."""
        ...

    @property
    def names(self) -> Sequence[Name]:
        """The values in the order of computation, inputs first, outputs last."""
        ...

    def values(self, inputs: Mapping[str, Array]) -> Mapping[str, tuple[Array, ...]]:
        """Computes the values for named inputs: floats by key, one array for each step of an unrolled layer.

        A key may be missing if no operation that computes it has run.
        """
        ...


class ValueRecorder(Listener):
    """Records the values of one run, by key."""

    def __init__(self, names: ModuleNames, convert: Callable[[Any, Attribute], Array]):
        self.names = names
        self.convert = convert
        self.found: defaultdict[str, list[Array]] = defaultdict(list)

    def on_results(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        for result, value in zip(op.results, results, strict=True):
            key = self.names.values.get(result)
            if key is not None:
                self.found[key].append(self.convert(value, result.type))
        key = self.names.written.get(op)
        if key is not None:  # memory may be overwritten, so the value is copied
            self.found[key].append(np.array(operands[-1]))


class ModuleSubject:
    """A float or quantized module in the reference interpreter."""

    def __init__(self, module: ModuleOp, name: str = "the module"):
        self.module = module
        self.name = name
        self.signature = function_of(module, ENTRY)
        self._found = module_names(module)
        self.names: Sequence[Name] = self._found.names
        self._outputs = {port.name: port.type for port in outputs_of(self.signature)}

    def values(self, inputs: Mapping[str, Array]) -> Mapping[str, tuple[Array, ...]]:
        """Computes the values by key, as defined by `Subject.values`."""
        recorder = ValueRecorder(self._found, real)
        stored = stored_inputs(self.signature, inputs)
        outputs = interpret(self.module, stored, function=ENTRY, listeners=[recorder])
        found = {key: tuple(values) for key, values in recorder.found.items()}
        return found | self._given(stored) | real_outputs(outputs, self._outputs)

    def _given(self, stored: Mapping[str, Array]) -> dict[str, tuple[Array, ...]]:
        """Returns the inputs of a run by key, as floats."""
        types = {port.name: port.type for port in inputs_of(self.signature)}
        return {key: (real(stored[port], types[port]),) for port, key in self._found.inputs.items()}


def is_numbers(value: Any) -> bool:
    """Returns true for a numeric array, not for text or sequences of arrays."""
    return isinstance(value, np.ndarray) and cast(Array, value).dtype.kind not in "OUS"


def real_outputs(outputs: Mapping[str, Any], types: Mapping[str, Attribute]) -> dict[str, tuple[Array, ...]]:
    """Returns the outputs of a run by key, dequantized if `types` has a quantized type for them."""
    return {
        f"output:{name}": (real(value, types[name]) if name in types else np.asarray(value),)
        for name, value in outputs.items()
        if is_numbers(value)
    }


ProgramCall = Callable[[Mapping[str, Array]], Mapping[str, Array]]
"""A compiled program: maps input arrays by name to output arrays by name."""


def called(program: ProgramCall, inputs: Mapping[str, Array], name: str) -> Mapping[str, Array]:
    """Runs `program`. Raises `DiagnosticError` if it rejects the inputs, such as NaN in a quantized model."""
    try:
        return program(inputs)
    except ValueError as error:  # a saved program raises a separate class of this error
        raise text_error(f"{name}: {error}") from error


class ProgramSubject:
    """A compiled program, whose values are its outputs.

    `signature` is a function with the program's inputs. Quantized outputs are dequantized.
    """

    def __init__(
        self,
        program: ProgramCall,
        name: str = "the program",
        *,
        outputs: Sequence[Port],
        signature: FuncOp | None = None,
    ):
        self.program = program
        self.name = name
        self.signature = signature
        self._outputs = {port.name: port.type for port in outputs}
        self.names = tuple(output_name(port.name, element_text(element_type(port.type))) for port in outputs)

    def values(self, inputs: Mapping[str, Array]) -> Mapping[str, tuple[Array, ...]]:
        """Computes the outputs by key, as defined by `Subject.values`."""
        stored = inputs if self.signature is None else stored_inputs(self.signature, inputs)
        return real_outputs(called(self.program, stored, self.name), self._outputs)


class CompiledSubject(ModuleSubject):
    """`module`, float or quantized, compiled for this machine.

    Values in other functions than the entry, and inside regions, are missing.
    """

    def __init__(self, module: ModuleOp, name: str = "the program", *, progress: IO[str] | None = None):
        super().__init__(module, name)
        self._program = compile_module(module, function=ENTRY, progress=progress)
        watched, self._positions = with_values(module)
        self._watched = compile_module(watched, function=ENTRY, progress=progress)
        known = {*self._positions, *(f"output:{each}" for each in self._outputs), *self._found.inputs.values()}
        self.names = [name for name in self.names if name.key in known]

    def values(self, inputs: Mapping[str, Array]) -> Mapping[str, tuple[Array, ...]]:
        """Computes the values by key, as defined by `Subject.values`."""
        stored = stored_inputs(self.signature, inputs)
        found = self._given(stored)
        inside = called(self._watched, stored, self.name)
        for key, positions in self._positions.items():
            found[key] = tuple(real(inside[output], type_) for output, type_ in positions)
        return found | real_outputs(called(self._program, stored, self.name), self._outputs)


def with_values(module: ModuleOp) -> tuple[ModuleOp, dict[str, list[tuple[str, Attribute]]]]:
    """Returns a clone of `module` whose entry also returns all named values, and the added outputs by value key.

    Each added output is described by its name and type.
    """
    clone = module.clone()
    target = function_of(clone, ENTRY)
    keys = module_names(clone).values
    block = target.body.blocks[0]
    values = [value for op in block.ops for value in op.results if value in keys]
    inputs, ports = inputs_of(target), [*outputs_of(target)]
    taken = {port.name for port in ports}
    positions: defaultdict[str, list[tuple[str, Attribute]]] = defaultdict(list)
    for value in values:
        steps = positions[keys[value]]
        name = f"value:{keys[value]}@{len(steps)}"
        while name in taken:
            name += "'"
        taken.add(name)
        steps.append((name, value.type))
        ports.append(Port(name, value.type))
    returned = terminator_of(block)
    returned.operands = (*returned.operands, *values)
    target.update_function_type()
    set_ports(target, inputs, ports)
    verify(clone)
    return clone, dict(positions)


# A quantized module lowered to integers or to loops, as a subject with the names of the quantized module.
#
# Below the quantized level, a value is an array of plain integers, possibly with channels last, that one kernel
# writes for several nodes. Its provenance identifies the value; the type in the quantized module gives the scale and
# zero point.


def channels_first(array: Array, shape: Sequence[int], *, may_move: bool) -> Array | None:
    """Returns `array` in the layout of `shape`, [N, C, …].

    Returns `None` if it has another shape or the layout is ambiguous.
    """
    if not may_move or len(shape) < 3:
        return array if array.shape == tuple(shape) else None
    last = (shape[0], *shape[2:], shape[1])
    if array.shape == last == tuple(shape) and shape[1] > 1 and max(shape[2:]) > 1:
        return None
    if array.shape == last:
        return np.moveaxis(array, -1, 1)
    return array if array.shape == tuple(shape) else None


def stored(array: Array, element: UniformQuantizedType) -> Array:
    """Converts plain integers to stored ones of `element`, using their low bits."""
    integers = wrap(array, IntegerType(element.bits))
    return (integers if element.is_signed else unsigned(integers, IntegerType(element.bits))).astype(
        storage_dtype(element)
    )


def _pairs(source: ModuleNames, found: ModuleNames) -> dict[str, str]:
    """Maps float and quantized values of the module to values of its lowered form.

    An operation with several used results becomes operations that cannot be told apart, and is left out. So are values
    with another width than the quantized type, which are intermediate.
    """
    several = {key for value, key in source.values.items() if sum(bool(each.uses) for each in _siblings(value)) > 1}
    pairs = matched(inside(source.names), inside(found.names))
    return {
        key: there
        for key, there in pairs.items()
        if key not in several and _may_stand_for(source.by_key[key].type, found.by_key[there].type)
    }


def _siblings(value: SSAValue) -> Sequence[SSAValue]:
    return value.owner.results if isinstance(value.owner, Operation) else (value,)


def _may_stand_for(quantized: str, stored: str) -> bool:
    """Returns true if elements of type `stored` can be those of type `quantized`, or floats of a cast."""
    if stored[0] not in "iu":
        return True
    return quantized[0] in "iu" and quantized[1:] == stored[1:]


def written_values(module: ModuleOp, lowered: ModuleOp) -> dict[Operation, str]:
    """Returns the key in `module` of the value that each kernel call of `lowered` writes, in the order of the calls.

    If several calls write one value, it is that of the last one. A value of several steps is left out.
    """
    source, found = module_names(module, integers=True), module_names(lowered, integers=True)
    turns = Counter(source.values.values())
    keys = {there: key for key, there in _pairs(source, found).items() if turns[key] == 1}
    last = {key: op for op, key in found.written.items()}
    return {op: keys[key] for op, key in found.written.items() if key in keys and last[key] is op}


class _Lowered:
    """The module lowered for inputs of one shape, and the mapping of its values to those of the model."""

    def __init__(self, module: ModuleOp, level: str):
        self.module = run_pipeline(module.clone(), COMPILE.passes(*STAGES[level]))
        verify(self.module)
        self.may_move = level != "integer"
        source = module_names(module, integers=True)
        self.found = module_names(self.module, integers=True)
        self.types = {key: value.type for value, key in source.values.items()}
        self.pairs = _pairs(source, self.found)
        self.turns = Counter(source.values.values())

    def run(self, inputs: Mapping[str, Array]) -> tuple[dict[str, Any], dict[str, tuple[Array, ...]]]:
        recorder = ValueRecorder(self.found, lambda value, type_: np.asarray(value))
        outputs = interpret(self.module, inputs, function=ENTRY, listeners=[recorder])
        values: dict[str, tuple[Array, ...]] = {}
        for key, there in self.pairs.items():
            written = recorder.found.get(there, [])
            if self.turns[key] == 1:
                written = written[-1:]  # earlier ones only change the layout of operands
            arrays = [self._real(each, self.types[key]) for each in written]
            known = tuple(each for each in arrays if each is not None)
            if len(known) == self.turns[key]:
                values[key] = known
        return outputs, values

    def _real(self, array: Array, type_: Attribute) -> Array | None:
        """Converts a kernel's result to the floats of the quantized type; `None` if it has another kind."""
        ranked, element = ranked_tensor(type_), element_type(type_)
        if ranked is None:
            return None
        placed = channels_first(array, ranked.get_shape(), may_move=self.may_move)
        if placed is None:
            return None
        if placed.dtype.kind not in "iub":
            return placed  # also for a quantized value: the last kernel writes the result of its cast
        return real(stored(placed, element), type_) if isinstance(element, UniformQuantizedType) else None


def inside(names: Sequence[Name]) -> list[Name]:
    """Returns the values that are neither inputs nor outputs."""
    return [name for name in names if name.origins]


class LoweredSubject(ModuleSubject):
    """`module`, float or quantized, in the interpreter at a level below the quantized one: `integer` or `loops`.

    It is lowered for the shapes of the inputs. Values without a separate kernel, such as those inside a fused one, are
    missing, and so are those with an ambiguous layout. Raises `DiagnosticError` for another level, or if an operation
    cannot be lowered to it.
    """

    def __init__(self, module: ModuleOp, level: str, name: str = ""):
        if level not in STAGES:
            raise text_error(unknown("level", level, STAGES))
        super().__init__(module, name or f"the module at the level {level}")
        self.level = level
        self._lowered: dict[object, _Lowered] = {}

    def values(self, inputs: Mapping[str, Array]) -> Mapping[str, tuple[Array, ...]]:
        """Computes the values by key, as defined by `Subject.values`."""
        shapes = tuple(sorted((name, value.shape) for name, value in inputs.items()))
        if shapes not in self._lowered:
            self._lowered[shapes] = _Lowered(specialize(self.module, dict(shapes), function=ENTRY), self.level)
        outputs, values = self._lowered[shapes].run(stored_inputs(self.signature, inputs))
        return values | real_outputs(outputs, self._outputs)
