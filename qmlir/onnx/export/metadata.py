"""Keys and values in `metadata_props` for data without a field in ONNX.

The model stores the text of its module, and each value its recorded statistics.
"""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from onnx import ModelProto
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute

from qmlir.dialects.calib.types import StatsAttr

PREFIX = "qmlir."

EXPORT = "qmlir.export"
"""Model: the settings of the export, the version of these keys, and the digest of the model, as JSON."""

MODULE = "qmlir.module"
"""Model: the text of the module, whose large constants are tensors of the model."""

PRODUCER = "qmlir.producer"
"""Model: an empty entry means that the module names no producer."""

STATISTICS = {name: f"qmlir.{name}" for name in ("min", "max", "mean", "std", "count")}
"""Value: its recorded statistics, as decimal numbers; the module has all of them in `calib.stats`."""


def entries(proto: Any) -> dict[str, str]:
    """Returns the metadata of a model, graph, node, tensor or value."""
    return {each.key: each.value for each in proto.metadata_props}


def write(proto: Any, pairs: Mapping[str, str]) -> None:
    """Adds metadata to a model, graph, node, tensor or value."""
    for key, value in pairs.items():
        proto.metadata_props.add(key=key, value=value)


def without_module(model: ModelProto) -> ModelProto:
    """Returns a copy of a model without the text of its module, for people to read."""
    found = ModelProto()
    found.CopyFrom(model)
    del found.metadata_props[:]
    write(found, {key: value for key, value in entries(model).items() if key not in (EXPORT, MODULE)})
    return found


def stats_of(attribute: Attribute | None, place: int) -> StatsAttr | None:
    """Returns the statistics of result number `place` from the attribute of its operation, or `None`."""
    if isinstance(attribute, ArrayAttr):
        found = list(cast(ArrayAttr[Attribute], attribute))
        attribute = found[place] if place < len(found) else None
    elif place:
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
