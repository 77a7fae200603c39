"""Evaluation of single operations: finds an operation's evaluator and calls it with the values of the operands.

The registry maps an operation class to its evaluator, `f(op, *operands) -> results`, with one argument for each operand
of the operation's definition: a value, `None` for an omitted optional operand, or a tuple for a variadic operand.
Tensors are NumPy arrays, which an evaluator must not modify. A quantized tensor is represented by its stored integers,
a signless integer by a signed one, an i1 by 0 or 1, and an `index` by a Python integer. An evaluator of an external
package receives the real values of quantized tensors instead, unless it is declared as `TakesStored`
(`qmlir.interpreter.guarding`).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
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
class RegionEvaluator:
    """An evaluator that runs regions or functions: `f(frame, op, *operands)`, with the running function's `Frame`."""

    function: Callable[..., Results]


@dataclass(frozen=True)
class TakesStored:
    """A package's evaluator that takes and returns stored integers instead of real values for quantized tensors.

    It can be used as a decorator: `@TakesStored`. Evaluators of qmlir itself take stored integers without it.
    """

    function: Callable[..., Results]

    def __call__(self, op: Operation, *operands: Any) -> Results:
        return self.function(op, *operands)

    @property
    def __wrapped__(self) -> Callable[..., Results]:
        return self.function


@dataclass(frozen=True)
class Together:
    """An evaluator that computes several runs at once: `function(op, runs)`, with the arguments of each run.

    It returns the results of each run, which are bit-identical to those of this run alone.
    """

    function: Callable[[Any, Sequence[Sequence[Any]]], Sequence[Results]]

    def __call__(self, op: Operation, *operands: Any) -> Results:
        (results,) = self.function(op, [operands])
        return results


def apart(
    key: Callable[[Sequence[Any]], Hashable], function: Callable[[Any, Sequence[Sequence[Any]]], Sequence[Results]]
) -> Callable[[Any, Sequence[Sequence[Any]]], Sequence[Results]]:
    """Returns a `function` for `Together` that computes only runs with equal keys at once."""

    def evaluate(op: Any, runs: Sequence[Sequence[Any]]) -> Sequence[Results]:
        groups: dict[Hashable, list[int]] = {}
        for number, run in enumerate(runs):
            groups.setdefault(key(run), []).append(number)
        found: dict[int, Results] = {}
        for numbers in groups.values():
            found.update(zip(numbers, function(op, [runs[number] for number in numbers]), strict=True))
        return [found[number] for number in range(len(runs))]

    return evaluate


@dataclass(frozen=True)
class ByOperation:
    """An evaluator that depends on the operation's types or properties, so that it is selected once per operation."""

    choose: Callable[[Any], Evaluator | RegionEvaluator]

    def __call__(self, op: Operation, *operands: Any) -> Results:
        chosen = self.choose(op)
        assert not isinstance(chosen, RegionEvaluator)  # `evaluator_of` returns these, to be called with a frame
        return chosen(op, *operands)


def operand_groups(op: IRDLOperation) -> Iterator[tuple[str, OperandDef, Sequence[SSAValue]]]:
    """Yields the name, the definition and the values of each operand in the definition of `op`."""
    for name, definition in op.get_irdl_definition().operands:
        value = getattr(op, name)
        if value is None:
            yield name, definition, ()
        elif isinstance(value, SSAValue):
            yield name, definition, (value,)
        else:
            yield name, definition, tuple(value)


Layout = tuple[int | slice | None, ...]
"""For each argument of an evaluator: the index of the operand, a slice of operands (variadic), or `None` (omitted)."""


def operand_layout(op: Operation) -> Layout:
    """Returns the layout that maps the operands of `op` to the arguments of its evaluator."""
    if not isinstance(op, IRDLOperation):
        return tuple(range(len(op.operands)))
    layout: list[int | slice | None] = []
    position = 0
    for _, definition, values in operand_groups(op):
        if isinstance(definition, OptionalDef):
            layout.append(position if values else None)
        elif isinstance(definition, VariadicDef):
            layout.append(slice(position, position + len(values)))
        else:
            layout.append(position)
        position += len(values)
    return tuple(layout)


def arguments_by(layout: Layout, values: Sequence[Any]) -> list[Any]:
    """Returns the arguments of an evaluator, given the values of the operands."""
    return [None if position is None else values[position] for position in layout]


def evaluator_of(op: Operation) -> Evaluator | RegionEvaluator | None:
    """Returns the evaluator of `op`; `None` if it has none."""
    evaluator = cast(Evaluator | RegionEvaluator | None, registry.evaluators(op.dialect_name()).get(type(op)))
    while isinstance(evaluator, ByOperation):
        evaluator = evaluator.choose(op)  # which may be one by operation again
    return evaluator


def evaluate(op: Operation, values: Sequence[Any]) -> Results | None:
    """Evaluates `op` on the values of its operands; returns `None` if it has no evaluator, or one that runs regions."""
    evaluator = evaluator_of(op)
    if evaluator is None or isinstance(evaluator, RegionEvaluator):
        return None
    return evaluator(op, *arguments_by(operand_layout(op), tuple(values)))


def evaluate_if_defined(op: Operation, values: Sequence[Any]) -> Results | None:
    """Evaluates `op` like `evaluate`, but without warnings, and returns `None` if the evaluator rejects a value."""
    try:
        with np.errstate(all="ignore"):
            return evaluate(op, values)
    except InterpretationError:
        return None


def evaluate_in_order(ops: Iterable[Operation], known: dict[SSAValue, Any]) -> bool:
    """Evaluates `ops` in order on the values in `known`, and adds their results to `known`.

    Stops and returns False at the first operation that can't be evaluated.
    """
    for op in ops:
        results = evaluate_if_defined(op, [known[operand] for operand in op.operands])
        if results is None:
            return False
        known.update(zip(op.results, results, strict=True))
    return True


def check_writable(array: npt.NDArray[Any], type_: Attribute) -> None:
    """Raises `InterpretationError` if the array (of type `type_`) is read-only memory of a constant or an input."""
    if not array.flags.writeable:
        raise InterpretationError(f"cannot write to constant memory of {type_}")


def not_computed(op: Operation, error: BaseException, where: str | None = None) -> DiagnosticError:
    """Returns an error, to be raised, about the exception `error` in the evaluator of `op`, which may be a package's.

    Messages that are intended for users are passed on unchanged; for other exceptions, the message also names their
    type. `where` is the end of the message; by default it names the package that raised the exception, if one did.
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
