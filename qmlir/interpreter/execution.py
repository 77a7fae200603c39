"""Compares the modules before and after a pass by running both on the same inputs.

`Execution` keeps inputs and outputs between the passes of a pipeline, so that each module runs only once per draw of
inputs unless results differ. Inputs that the user doesn't pass are random.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp

from qmlir.dialects.nn.base import shapes_agree
from qmlir.interpreter.archives import arrays_of, whole
from qmlir.interpreter.differences import changed_output
from qmlir.interpreter.random_inputs import Draw, random_inputs
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError, op_error, text_error, unknown
from qmlir.ir.passes import Preservation
from qmlir.ir.signature import MAIN, inputs_of

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

    @property
    def draw(self) -> Draw:
        """The kind of the draw; successive draws cycle through all kinds."""
        return _draw_of(self.number)


def _draw_of(number: int) -> Draw:
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
                inputs_are = "" if run.draw is Draw.SPREAD else f" (inputs: {run.draw})"
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
    return not isinstance(type_, TensorType | MemRefType) or shapes_agree(type_.get_shape(), np.shape(value))
