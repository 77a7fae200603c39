"""Names of exported tensors, and name hints of imported ones."""

import re
from collections.abc import Iterable, Sequence

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, OpResult, SSAValue

from qmlir.analysis.symbols import first_free
from qmlir.ir.provenance import origins_of, tensor_name
from qmlir.ir.signature import Port


class ValueNames:
    """A set of unique names."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = set(reserved)

    def take(self, *wishes: str) -> str:
        """Adds and returns the first of `wishes` that is unused, or else the first one with a numeric suffix."""
        first = next(filter(None, wishes), "value")
        found = next((wish for wish in wishes if wish and wish not in self._taken), None)
        if found is None:
            found = f"{first}.{first_free(lambda number: f'{first}.{number}' in self._taken, 1)}"
        self._taken.add(found)
        return found


def _wishes(value: SSAValue) -> list[str]:
    """Returns possible names of a value, best first."""
    if not isinstance(value, OpResult):
        return [value.name_hint or "", "value"]
    op = value.op
    part = "_".join(str(origin) for origin in origins_of(op)[:1])
    return [tensor_name(value), value.name_hint or "", part, op.name.rpartition(".")[2]]


def names_of(
    function: FuncOp, inputs: Sequence[Port], outputs: Sequence[Port], nested: Iterable[SSAValue]
) -> tuple[dict[SSAValue, str], ValueNames]:
    """Returns a unique name for each value of a function, and the set of these names.

    A returned value gets the name of its output. `nested` contains values inside regions, which also get unique names.
    """
    names = ValueNames([port.name for port in (*inputs, *outputs)])
    found: dict[SSAValue, str] = {}
    for argument, port in zip(function.body.block.args, inputs, strict=True):
        found[argument] = port.name
    terminator = function.body.block.last_op
    assert isinstance(terminator, ReturnOp)
    used = set(found.values())
    for value, port in zip(terminator.operands, outputs, strict=True):
        if not isinstance(value, BlockArgument) and value not in found and port.name not in used:
            found[value] = port.name
            used.add(port.name)
    # Components of a node may ask for the name of its output tensor; a value with this name in the model has priority.
    rest = [result for op in function.body.block.ops for result in op.results if result not in found]
    for value in (*sorted(rest, key=lambda value: not tensor_name(value)), *nested):
        found[value] = names.take(*_wishes(value))
    return found, names


_NO_NAME = re.compile(r"[^A-Za-z0-9_$.-]+")


def hint_of(name: str) -> str | None:
    """Returns the name hint in the IR for an imported tensor, or `None` if its name can't be used as one."""
    hint = _NO_NAME.sub("_", name).strip("_.-")
    return hint if SSAValue.is_valid_name(hint) and not hint.isdecimal() else None
