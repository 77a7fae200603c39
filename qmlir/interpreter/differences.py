"""Compares the outputs of two modules on the same inputs, and finds the first difference.

The result names the first output that differs, with the index of the element and both values, and the first
intermediate tensor that differs. Intermediate values are matched by provenance, even if passes have replaced the
operations. `Execution` compares the modules before and after each pass of a pipeline.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import shapes_agree
from qmlir.dialects.quant.types import StoredType
from qmlir.interpreter.archives import arrays_of, whole
from qmlir.interpreter.interpreter import Listener
from qmlir.interpreter.random_inputs import Draw, random_inputs
from qmlir.interpreter.run import interpret
from qmlir.ir.builtin_types import as_integer, tensor_or_memref
from qmlir.ir.diagnostics import DiagnosticError, op_error, text_error, unknown
from qmlir.ir.passes import Preservation
from qmlir.ir.provenance import origins_of, tensor_names
from qmlir.ir.signature import MAIN, inputs_of

_ROUNDINGS = 8
"""The number of rounding errors that are tolerated if the float type (f16, say) is coarser than the tolerance."""


@dataclass(frozen=True)
class Difference:
    """An element that differs or, if `position` is `None`, two values that can't be compared elementwise."""

    position: tuple[int, ...] | None
    before: str
    after: str

    def __str__(self) -> str:
        where = "" if self.position is None else f"at {list(self.position)} "
        return f"{where}was {self.before}, is {self.after}"


@dataclass(frozen=True)
class OutputDifference:
    """An output that differs, and the first intermediate value that differs, if known."""

    output: str
    difference: Difference
    first: str = ""
    first_difference: Difference | None = None
    op: Operation | None = None
    """The operation of the second module that computes the first value that differs."""

    def __str__(self) -> str:
        text = f"output '{self.output}' {self.difference}"
        if self.first_difference is not None:
            text += f"; the first value that differs is '{self.first}': {self.first_difference}"
        return text


def _is_float(array: Array) -> bool:
    return bool(np.issubdtype(array.dtype, np.floating)) or array.dtype == ml_dtypes.bfloat16


def _bits(array: Array) -> Array:
    """Returns the bits of an array of numbers, so that 0 and -0 differ."""
    if array.dtype == np.bool_ or array.dtype.kind in "OUSc":
        return array
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)


def _apart(before: Array, after: Array, relative: float) -> npt.NDArray[np.bool_]:
    """Returns a mask of floats that differ by more than `relative` times the largest finite magnitude of the tensor."""
    resolution = float(cast(Any, ml_dtypes.finfo(before.dtype)).eps)
    left, right = before.astype(np.float64), after.astype(np.float64)
    finite = np.abs(left[np.isfinite(left)])
    bound = max(relative, _ROUNDINGS * resolution) * (float(finite.max()) if finite.size else 0.0)
    with np.errstate(invalid="ignore"):
        is_near = (np.abs(left - right) <= bound) | (left == right) | (np.isnan(left) & np.isnan(right))
    return ~is_near


def difference_of(before: Any, after: Any, preservation: Preservation) -> Difference | None:
    """Returns the first element that differs by more than `preservation` allows, or `None` if there is none.

    If bits are compared, signed and unsigned integers of the same width are equal if their bits are equal. All NaNs are
    equal, because their bits depend on the CPU instructions.
    """
    if isinstance(before, Sequence) or isinstance(after, Sequence):
        olds, news = _tensors(before), _tensors(after)
        if len(olds) != len(news):
            return Difference(None, f"{len(olds)} tensors", f"{len(news)} tensors")
        found = (difference_of(one, other, preservation) for one, other in zip(olds, news, strict=True))
        return next((each for each in found if each is not None), None)
    old, new = np.asarray(before), np.asarray(after)
    if old.shape != new.shape or old.dtype.itemsize != new.dtype.itemsize or _is_float(old) != _is_float(new):
        return Difference(None, f"{old.dtype}{list(old.shape)}", f"{new.dtype}{list(new.shape)}")
    if preservation.relative and _is_float(old):
        differs = _apart(old, new, preservation.relative)
    else:
        differs = np.asarray(_bits(old) != _bits(new))
        if _is_float(old):
            differs &= ~(np.isnan(old) & np.isnan(new))
    if not differs.any():
        return None
    position = tuple(int(index) for index in np.unravel_index(int(differs.reshape(-1).argmax()), old.shape))
    return Difference(position, _shown(old[position], new[position]), _shown(new[position], old[position]))


def _tensors(value: Any) -> Sequence[Any]:
    return cast(Sequence[Any], value) if isinstance(value, Sequence) else (value,)


def _shown(value: Any, other: Any) -> str:
    """Returns the text of `value`, with enough digits to distinguish it from `other`."""
    short = str(value)
    return short if short != str(other) else f"{value!r} (bits {_bits(np.asarray(value)).item():#x})"


@dataclass(frozen=True)
class TracedValue:
    """A value of a run: its operation, its elements, and the width of its integers in bits (`None` for floats)."""

    op: Operation
    array: Array
    bits: int | None


def _width(type_: Attribute) -> int | None:
    shaped = tensor_or_memref(type_)
    if shaped is None:
        return None
    element = shaped.get_element_type()
    if isinstance(element, StoredType):
        return element.bits
    integer = as_integer(element)
    return None if integer is None else integer.width.data


class Trace(Listener):
    """The values of a run by their names in the model, in execution order.

    The name of an operation without provenance is the operation name with a running number. Values inside regions are
    not recorded.
    """

    def __init__(self) -> None:
        self.values: dict[str, TracedValue] = {}
        self._numbers: Counter[str] = Counter()

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of operations without provenance, by operation name."""
        return self._numbers

    def on_results(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        if not isinstance(op.parent_op(), FuncOp):
            return
        key = "+".join(map(str, origins_of(op)))
        if not key:
            key = f"{op.name}[{self._numbers[op.name]}]"
            self._numbers[op.name] += 1
        if not op.results and origins_of(op) and operands and isinstance(operands[-1], np.ndarray):
            self._keep(key, op, op.operands[-1].type, operands[-1])  # on memory, a kernel writes its last operand
        for position, (name, result) in enumerate(zip(tensor_names(op), results, strict=True)):
            self._keep(name or (f"{key}#{position}" if position else key), op, op.results[position].type, result)

    def _keep(self, name: str, op: Operation, type_: Attribute, value: Any) -> None:
        # The last operation with a name computes the value of the model, and determines its position in the order.
        self.values.pop(name, None)
        # A copy, because memory may be overwritten later.
        if isinstance(value, np.ndarray):
            self.values[name] = TracedValue(op, cast(Array, value).copy(), _width(type_))


def _first_inside(before: Trace, after: Trace, preservation: Preservation) -> tuple[str, Operation, Difference] | None:
    for name, old in before.values.items():
        new = after.values.get(name)
        if new is None:
            continue
        if name.endswith("]") and before.counts.get(old.op.name) != after.counts.get(new.op.name):
            continue  # running numbers don't identify operations if passes added or removed some of this kind
        difference = _difference_inside(old, new, preservation)
        # A value of another type or layout may hold the same numbers in another form: this is no difference.
        if difference is not None and difference.position is not None:
            return name, new.op, difference
    return None


def _difference_inside(old: TracedValue, new: TracedValue, preservation: Preservation) -> Difference | None:
    """Returns the first element that differs in the bits of its type; a 4-bit integer is stored in 8."""
    if old.bits is None or old.bits != new.bits or old.array.shape != new.array.shape:
        return difference_of(old.array, new.array, preservation)
    mask = np.int64(-1 if old.bits >= 64 else (1 << old.bits) - 1)
    left, right = (np.asarray(each.array.astype(np.int64)) & mask for each in (old, new))
    difference = difference_of(left, right, preservation)
    position = None if difference is None else difference.position
    if position is None:
        return difference
    before, after = old.array[position], new.array[position]
    return Difference(position, _shown(before, after), _shown(after, before))


def changed_output(
    before: ModuleOp,
    after: ModuleOp,
    inputs: Mapping[str, Any],
    preservation: Preservation,
    *,
    function: str = "main",
    known: Mapping[str, Any] | None = None,
) -> tuple[OutputDifference | None, dict[str, Any]]:
    """Runs `function` of both modules on `inputs`; returns the first output that differs, if any, and the new outputs.

    `known` are the outputs of the first module, if the caller already has them. If an output differs, both modules run
    again to compare intermediate values. Raises `DiagnosticError` if a module fails to run.
    """
    expected = interpret(before, inputs, function=function) if known is None else known
    found = interpret(after, inputs, function=function)
    changed = first_changed(expected, found, preservation)
    if changed is None:
        return None, found
    traces = Trace(), Trace()
    for module, trace in zip((before, after), traces, strict=True):
        interpret(module, inputs, function=function, listeners=[trace])
    first = _first_inside(*traces, preservation)
    if first is not None:
        name, op, difference = first
        changed = OutputDifference(changed.output, changed.difference, name, difference, op)
    return changed, found


def first_changed(
    expected: Mapping[str, Any], found: Mapping[str, Any], preservation: Preservation
) -> OutputDifference | None:
    """Returns the first output whose elements or NumPy type differ, or that only one of the modules has."""
    for name in (*expected, *(name for name in found if name not in expected)):
        if name not in expected or name not in found:
            here, there = ("there", "gone") if name in expected else ("not there", "there")
            return OutputDifference(name, Difference(None, here, there))
        old, new = expected[name], found[name]
        difference = difference_of(old, new, preservation)
        if difference is None and (types := _type_text(old)) != _type_text(new):
            difference = Difference(None, types, _type_text(new))
        if difference is not None:
            return OutputDifference(name, difference)
    return None


def _type_text(value: Any) -> str:
    """Returns the NumPy type of an array, or the types in a list of arrays, as text."""
    return ", ".join(sorted({str(np.asarray(each).dtype) for each in _tensors(value)}))


# The modules before and after each pass. Inputs and outputs are kept between the passes, so that each module runs only
# once per draw of inputs unless results differ. Inputs that the user doesn't pass are random.

EVERY_FUNCTION = "*"
"""The value that selects every public function, in an option that takes function names."""

Values = dict[str, Any]

DRAWS = len(Draw)
"""The default number of random inputs that are drawn for each function."""


def inputs_in(path: Path) -> Values:
    """Returns the arrays of an `.npz` file by name. Raises `DiagnosticError` for any other file."""
    if path.suffix != ".npz":
        raise text_error(f"cannot read '{path}': named inputs must be in an .npz file")
    return {name: whole(rows) for name, rows in arrays_of(path).items()}


def _public_functions(module: ModuleOp) -> dict[str, FuncOp]:
    functions = (op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration)
    return {op.sym_name.data: op for op in functions if op.sym_visibility in (None, StringAttr("public"))}


@dataclass
class _Run:
    """A run of a function: the inputs of one draw and the outputs."""

    function: str
    number: int
    inputs: Values
    outputs: Values


def _draw_of(number: int) -> Draw:
    """Returns the kind of a draw; successive draws cycle through all kinds."""
    kinds = list(Draw)
    return kinds[number % len(kinds)]


class Execution:
    """Runs functions of a module before and after each pass, on `draws` random draws of inputs.

    `given` contains inputs by name, which are used for every function. The first draw must run without an error. Later
    draws, such as range ends and zeros, are skipped if a function rejects them.
    """

    def __init__(
        self,
        given: Mapping[str, Any] | None = None,
        *,
        seed: int = 0,
        functions: Sequence[str] = (),
        draws: int | None = None,
    ):
        self._given = dict(given or {})
        self._seed = seed
        self._chosen = tuple(functions)
        self._draws = DRAWS if draws is None else draws
        self._runs: list[_Run] = []

    def prepare(self, module: ModuleOp) -> None:
        """Runs `module` before a pass, unless its outputs are cached. Raises `DiagnosticError` if it fails."""
        if self._runs:
            return
        functions = _public_functions(module)
        for name in self._names(functions):
            given = self._given_for(functions)
            is_given = all(port.name in given for port in inputs_of(functions[name]))
            for number in range(1 if is_given else self._draws):
                inputs = self._drawn(functions[name], number, given)
                outputs = _computed(module, name, inputs, must=not number)
                if outputs is not None:
                    self._runs.append(_Run(name, number, inputs, outputs))

    def _drawn(self, function: FuncOp, number: int, given: Values) -> Values:
        return random_inputs(function, self._seed + number, given, _draw_of(number))

    def forget(self) -> None:
        """Drops the cached outputs, because the module's results have changed."""
        self._runs.clear()

    def check(self, before: ModuleOp, after: ModuleOp, preservation: Preservation) -> None:
        """Raises `DiagnosticError`, with the first output, element and operation, if results of the modules differ.

        If `after` takes inputs of different sizes (because a pass made sizes static, for example), both modules run on
        inputs of these sizes.
        """
        functions = _public_functions(after)
        for run in list(self._runs):
            name = run.function
            if name not in functions:
                raise op_error(after, f"no longer has a public function '@{name}'")
            inputs, known = self._fitting(functions[name], run), run.outputs
            if inputs is not run.inputs:
                anew = _computed(before, name, inputs, must=not run.number)
                if anew is None:
                    self._runs.remove(run)
                    continue
                known = anew
            changed, found = changed_output(before, after, inputs, preservation, function=name, known=known)
            if changed is not None:
                draw = _draw_of(run.number)
                inputs_are = "" if draw is Draw.SPREAD else f" (inputs: {draw})"
                raise op_error(changed.op or functions[name], f"changes a value: in @{name} {changed}{inputs_are}")
            run.inputs, run.outputs = inputs, found

    def _names(self, functions: Mapping[str, FuncOp]) -> list[str]:
        names = list(self._chosen) or ([MAIN] if MAIN in functions else [EVERY_FUNCTION])
        if EVERY_FUNCTION in names:
            names = list(functions)
        if not names:
            raise text_error("nothing to run: the module has no public function with a body")
        for name in names:
            if name not in functions:
                raise text_error(unknown("public function", name, functions))
        return names

    def _given_for(self, functions: Mapping[str, FuncOp]) -> Values:
        """Returns the given inputs. Raises `DiagnosticError` if one isn't an input of any function that runs."""
        names = {port.name for function in functions.values() for port in inputs_of(function)}
        for name in self._given:
            if name not in names:
                raise text_error(unknown("input", name, sorted(names)))
        return self._given

    def _fitting(self, function: FuncOp, run: _Run) -> Values:
        """Returns the inputs of a run; redraws those whose sizes don't match `function`."""
        inputs = run.inputs
        kept = {
            port.name: inputs[port.name]
            for port in inputs_of(function)
            if port.name in inputs and (port.name in self._given or _fits(port.type, inputs[port.name]))
        }
        return inputs if len(kept) == len(inputs) else self._drawn(function, run.number, kept)


def _computed(module: ModuleOp, name: str, inputs: Values, *, must: bool) -> Values | None:
    """Returns the outputs of a function. If it fails, returns `None`, or raises `DiagnosticError` with `must`."""
    try:
        return interpret(module, inputs, function=name)
    except DiagnosticError:
        if must:
            raise
        return None


def _fits(type_: Any, value: Any) -> bool:
    shaped = tensor_or_memref(type_)
    return shaped is None or shapes_agree(shaped.get_shape(), np.shape(value))
