"""Evaluation of operations: passes operands to the operation's evaluator.

The registry maps an operation class to its evaluator, `f(op, *operands) -> results`, with one argument for each
operand of the operation's definition: a value, `None` for an omitted optional operand, a tuple for a variadic one.
Tensors are NumPy arrays, which an evaluator must not write; a quantized one is represented by its stored integers, a
signless integer by a signed one, i1 by 0 and 1; `index` is a Python integer. An evaluator of an external package gets
the real values of quantized tensors instead, unless it is declared as `TakesStored` (`qmlir.interpreter.guarding`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, OperandDef, OptionalDef, VariadicDef
from xdsl.utils.exceptions import DiagnosticException, InterpretationError

from qmlir import registry
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.limits import out_of_memory
from qmlir.registry import in_package
from qmlir.registry.faults import one_line

Results = tuple[Any, ...]
Evaluator = Callable[..., Results]


@dataclass(frozen=True)
class RunsRegions:
    """An evaluator that runs regions or functions: `f(frame, op, *operands)`, with the `Frame` of the function."""

    function: Callable[..., Results]


@dataclass(frozen=True)
class TakesStored:
    """An evaluator of a package that takes and returns the stored integers of quantized values, not the real values.

    It may decorate the function: `@TakesStored`. Evaluators of this tree take stored integers without it.
    """

    function: Callable[..., Results]

    def __call__(self, op: Operation, *operands: Any) -> Results:
        return self.function(op, *operands)

    @property
    def __wrapped__(self) -> Callable[..., Results]:
        return self.function


@dataclass(frozen=True)
class ByOperation:
    """An evaluator that depends on types or properties; it is chosen once for an operation that runs often."""

    choose: Callable[[Any], Evaluator | RunsRegions]

    def __call__(self, op: Operation, *operands: Any) -> Results:
        chosen = self.choose(op)
        assert not isinstance(chosen, RunsRegions)  # `evaluator_of` returns these, to be called with a frame
        return chosen(op, *operands)


def operand_groups(op: IRDLOperation) -> Iterator[tuple[str, OperandDef, Sequence[SSAValue]]]:
    """Yields each operand definition of `op` with its name and values: one, none or several."""
    for name, definition in op.get_irdl_definition().operands:
        value = getattr(op, name)
        if value is None:
            yield name, definition, ()
        elif isinstance(value, SSAValue):
            yield name, definition, (value,)
        else:
            yield name, definition, tuple(value)


Layout = tuple[int | slice | None, ...]
"""For each argument of an evaluator: the index of its operand, a slice of indices, or `None`."""


def operand_layout(op: Operation) -> Layout:
    """Returns the mapping from the operands of `op` to the arguments of its evaluator."""
    if not isinstance(op, IRDLOperation):
        return tuple(range(len(op.operands)))
    layout: list[int | slice | None] = []
    place = 0
    for _, definition, values in operand_groups(op):
        if isinstance(definition, OptionalDef):
            layout.append(place if values else None)
        elif isinstance(definition, VariadicDef):
            layout.append(slice(place, place + len(values)))
        else:
            layout.append(place)
        place += len(values)
    return tuple(layout)


def arguments_by(layout: Layout, values: Sequence[Any]) -> list[Any]:
    """Returns the arguments of an evaluator from the values of the operands."""
    return [None if place is None else values[place] for place in layout]


def evaluator_of(op: Operation) -> Evaluator | RunsRegions | None:
    """Returns the evaluator of `op`; `None` if it has none."""
    evaluator = cast(Evaluator | RunsRegions | None, registry.evaluators(op.dialect_name()).get(type(op)))
    return evaluator.choose(op) if isinstance(evaluator, ByOperation) else evaluator


def evaluate(op: Operation, values: Sequence[Any]) -> Results | None:
    """Evaluates `op` on the values of its operands; returns `None` if it has no evaluator, or one that runs regions."""
    evaluator = evaluator_of(op)
    if evaluator is None or isinstance(evaluator, RunsRegions):
        return None
    return evaluator(op, *arguments_by(operand_layout(op), tuple(values)))


def evaluate_if_defined(op: Operation, values: Sequence[Any]) -> Results | None:
    """Evaluates `op` without warnings; returns `None` also if its evaluator rejects a value, such as the root of -1."""
    try:
        with np.errstate(all="ignore"):
            return evaluate(op, values)
    except InterpretationError:
        return None


def evaluate_in_order(ops: Iterable[Operation], known: dict[SSAValue, Any]) -> bool:
    """Evaluates operations on known values and adds their results to `known`.

    Returns False, and stops, at the first operation that can't be evaluated on its operands.
    """
    for op in ops:
        results = evaluate_if_defined(op, [known[operand] for operand in op.operands])
        if results is None:
            return False
        known.update(zip(op.results, results, strict=True))
    return True


def check_writable(array: npt.NDArray[Any], type_: Attribute) -> None:
    """Raises `InterpretationError` if the memory of a value of type `type_` belongs to a constant or an input."""
    if not array.flags.writeable:
        raise InterpretationError(f"cannot write to constant memory of {type_}")


def not_computed(op: Operation, error: BaseException, where: str | None = None) -> DiagnosticError:
    """Returns an error, to be raised, that the evaluator of `op` failed; it may be a package's, and raise any
    exception.

    Messages for readers are passed on unchanged; for other exceptions their type is also named. `where` is the end
    of the message; by default it names the package that raised the error, if one did.
    """
    where = in_package(error) if where is None else where
    match error:
        case DiagnosticException():
            reason = " ".join(str(error).split())
        case MemoryError():
            reason = out_of_memory(error)
        case ValueError() if not where:  # raised by NumPy for run-time sizes
            reason = f"operands of such sizes do not go together: {' '.join(str(error).split())}"
        case _:
            reason = one_line(error)
    return op_error(op, f"cannot be computed: {reason}{where}")
