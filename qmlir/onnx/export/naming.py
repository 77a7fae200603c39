"""Names of exported tensors, and keys of `metadata_props` for data without a field in ONNX."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np
from onnx import ModelProto
from xdsl.dialects.builtin import ArrayAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue

from qmlir.analysis.symbols import first_free
from qmlir.dialects.calib.types import StatsAttr
from qmlir.ir.provenance import origins_of, tensor_name
from qmlir.ir.signature import Port


class ValueNames:
    """A set of unique names."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = set(reserved)

    def take(self, *wishes: str) -> str:
        """Adds and returns the first of `wishes` that is unused, or else the first one with a numeric suffix."""
        first = next((wish for wish in wishes if wish), "value")
        for wish in wishes:
            if wish and wish not in self._taken:
                self._taken.add(wish)
                return wish
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
    function: FuncOp, inputs: Iterable[Port], outputs: Iterable[Port], nested: Iterable[SSAValue] = ()
) -> tuple[dict[SSAValue, str], ValueNames]:
    """Returns a unique name for each value of a function, and the set of these names.

    A returned value gets the name of its output. `nested` contains values inside regions, which also get unique names.
    """
    ports, results = list(inputs), list(outputs)
    names = ValueNames([port.name for port in (*ports, *results)])
    found: dict[SSAValue, str] = {
        argument: port.name for argument, port in zip(function.body.block.args, ports, strict=True)
    }
    terminator = function.body.block.last_op
    assert isinstance(terminator, ReturnOp)
    used = set(found.values())
    for value, port in zip(terminator.operands, results, strict=True):
        if not isinstance(value, BlockArgument) and value not in found and port.name not in used:
            found[value] = port.name
            used.add(port.name)
    # Components of a node may ask for the name of its output tensor; a value with this name in the model has priority.
    rest = [result for op in function.body.block.ops for result in op.results if result not in found]
    for value in sorted(rest, key=lambda value: not tensor_name(value)):
        found[value] = names.take(*_wishes(value))
    for value in nested:
        found[value] = names.take(*_wishes(value))
    return found, names


_NO_NAME = re.compile(r"[^A-Za-z0-9_$.-]+")


def hint_of(name: str) -> str | None:
    """Returns the name hint in the IR for an imported tensor, or `None` if its name can't be used as one."""
    hint = _NO_NAME.sub("_", name).strip("_.-")
    return hint if SSAValue.is_valid_name(hint) and not hint.isdecimal() else None


# Keys and values in `metadata_props` for data without a field in ONNX.
#
# The model stores the text of its module, and each value its recorded statistics.

PREFIX = "qmlir."

EXPORT = "qmlir.export"
"""Key on a model: the export settings, the version of this metadata, and the digest of the model, as JSON."""

MODULE = "qmlir.module"
"""Key on a model: the text of the module, which refers to tensors of the model for large constants."""

PRODUCER = "qmlir.producer"
"""Key on a model: an empty entry means that the module names no producer."""

STATISTICS = {name: f"qmlir.{name}" for name in ("min", "max", "mean", "std", "count")}
"""Keys on a value: its recorded statistics, as decimal numbers; the module has all statistics in `calib.stats`."""


def entries(proto: Any) -> dict[str, str]:
    """Returns the metadata of a model, graph, node, tensor or value."""
    return {each.key: each.value for each in proto.metadata_props}


def write(proto: Any, pairs: Mapping[str, str]) -> None:
    """Adds metadata to a model, graph, node, tensor or value."""
    for key, value in pairs.items():
        proto.metadata_props.add(key=key, value=value)


def without_module(model: ModelProto) -> ModelProto:
    """Returns a copy of a model without the text of its module, which is easier to read."""
    found = ModelProto()
    found.CopyFrom(model)
    del found.metadata_props[:]
    write(found, {key: value for key, value in entries(model).items() if key not in (EXPORT, MODULE)})
    return found


def stats_of(attribute: Attribute | None, position: int) -> StatsAttr | None:
    """Returns the statistics of the result at index `position` from the attribute of its operation, or `None`."""
    if isinstance(attribute, ArrayAttr):
        found = list(cast(ArrayAttr[Attribute], attribute))
        attribute = found[position] if position < len(found) else None
    elif position:
        return None
    return attribute if isinstance(attribute, StatsAttr) else None


def statistics_of(stats: StatsAttr | None) -> dict[str, str]:
    """Returns the metadata entries for the statistics of a value."""
    if stats is None:
        return {}
    summary = stats.summary
    numbers = (summary.minimum, summary.maximum, summary.mean, summary.deviation)
    texts = [np.format_float_positional(number, trim="-") for number in numbers]
    return dict(zip(STATISTICS.values(), [*texts, str(summary.count)], strict=True))
