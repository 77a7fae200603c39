"""A quantized module lowered to integers or to loops, as a subject with the names of the quantized module.

Below the quantized level, a value is an array of plain integers, possibly with channels last, that one kernel writes
for several nodes. Its provenance identifies the value; the type in the quantized module gives the scale and zero point.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.quant.infer import element_type, storage_dtype
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.interpreter.run import interpret
from qmlir.interpreter.upstream.scalars import unsigned, wrap
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import text_error, unknown
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import COMPILE
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.specialization.specialize import specialize
from qmlir.workflows.comparison.names import ModuleNames, Name, matched, module_names
from qmlir.workflows.comparison.subjects import ModuleSubject, ValueRecorder, real, real_outputs

STAGES: Mapping[str, tuple[str, ...]] = {
    "integer": ("lower",),
    "loops": ("lower", "fuse", "schedule", "bufferize", "loops"),
}
"""The stages of `COMPILE` that produce each level below the quantized one."""


def _channels_first(array: Array, shape: Sequence[int], *, may_move: bool) -> Array | None:
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


def _stored(array: Array, element: UniformQuantizedType) -> Array:
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


class _Lowered:
    """The module lowered for inputs of one shape, and the mapping of its values to those of the model."""

    def __init__(self, module: ModuleOp, level: str, function: str, isa: str):
        self.module = run_pipeline(module.clone(), COMPILE.passes(*STAGES[level], isa=isa))
        verify(self.module)
        self.may_move = level != "integer"
        source = module_names(module, function, integers=True)
        self.found = module_names(self.module, function, integers=True)
        self.types = {key: value.type for value, key in source.values.items()}
        self.pairs = _pairs(source, self.found)
        self.turns = Counter(source.values.values())

    def run(self, inputs: Mapping[str, Array], function: str) -> tuple[dict[str, Any], dict[str, tuple[Array, ...]]]:
        recorder = ValueRecorder(self.found, lambda value, type_: np.asarray(value))
        outputs = interpret(self.module, inputs, function=function, listeners=[recorder])
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
        placed = _channels_first(array, ranked.get_shape(), may_move=self.may_move)
        if placed is None:
            return None
        if placed.dtype.kind not in "iub":
            return placed  # also for a quantized value: the last kernel writes the result of its cast
        return real(_stored(placed, element), type_) if isinstance(element, UniformQuantizedType) else None


def inside(names: Sequence[Name]) -> list[Name]:
    """Returns the values that are neither inputs nor outputs."""
    return [name for name in names if name.origins]


class LoweredSubject(ModuleSubject):
    """`module`, float or quantized, in the interpreter at a level below the quantized one: `integer` or `loops`.

    It is lowered for the shapes of the inputs. Values without a separate kernel, such as those inside a fused one, are
    missing, and so are those with an ambiguous layout. Raises `DiagnosticError` for another level, or if an operation
    cannot be lowered to it.
    """

    def __init__(self, module: ModuleOp, level: str, name: str = "", *, function: str = ENTRY, isa: str = "generic"):
        if level not in STAGES:
            raise text_error(unknown("level", level, STAGES))
        super().__init__(module, name or f"the module at the level {level}", function=function)
        self.level = level
        self._isa = isa
        self._lowered: dict[object, _Lowered] = {}

    def values(self, inputs: Mapping[str, Array]) -> Mapping[str, tuple[Array, ...]]:
        """Computes the values by key, as defined by `Subject.values`."""
        shapes = tuple(sorted((name, value.shape) for name, value in inputs.items()))
        if shapes not in self._lowered:
            static = specialize(self.module, dict(shapes), function=self._function)
            self._lowered[shapes] = _Lowered(static, self.level, self._function, self._isa)
        outputs, values = self._lowered[shapes].run(inputs, self._function)
        return values | real_outputs(outputs, self._outputs)
