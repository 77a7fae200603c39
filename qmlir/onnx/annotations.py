"""Reads the ranges of a model's tensors from value metadata and quantization annotations.

The metadata keys are `qmlir.min` and `qmlir.max`, and optionally `qmlir.mean`, `.std` and `.count`. Annotations of the
ONNX standard contain a tensor's scale and zero point; those of QONNX contain the type of its integers. Invalid ranges
are ignored with a warning.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np
from onnx import GraphProto, TensorAnnotation, TensorProto, numpy_helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import integer_limits
from qmlir.arithmetic.statistics import Summary
from qmlir.dialects.calib.types import StatsAttr
from qmlir.ir.diagnostics import Diagnostic, Severity, emit
from qmlir.onnx.export import naming
from qmlir.quantization.profiles.keys import has_parameters, keyed_values, tensor_of
from qmlir.quantization.profiles.statistics import attach, observed, set_ranges

_SCALE, _ZERO_POINT, _DATATYPE = "SCALE_TENSOR", "ZERO_POINT_TENSOR", "finn_datatype"

_NAMED_LIMITS: Mapping[str, tuple[int, int]] = {"BINARY": (0, 1), "BIPOLAR": (-1, 1), "TERNARY": (-1, 1)}
"""The smallest and largest values of QONNX types whose names have no bit width."""


@dataclass(frozen=True)
class _TensorRange:
    minimum: float
    maximum: float
    statistics: StatsAttr | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.minimum) and isfinite(self.maximum) and self.minimum <= self.maximum):
            raise ValueError(f"[{self.minimum}, {self.maximum}] is not a valid range")


def _of_metadata(said: Mapping[str, str]) -> _TensorRange | None:
    """Returns the range in the metadata of a value, or `None`. Raises `ValueError` or `VerifyException` if invalid."""
    low, high, mean, deviation, count = (said.get(key) for key in naming.STATISTICS.values())
    if low is None and high is None:
        return None
    if low is None or high is None:
        raise ValueError("it defines only one end of a range")
    numbers = float(low), float(high)
    if mean is None or deviation is None or count is None:
        return _TensorRange(*numbers)
    known = _TensorRange(*numbers)
    attribute = StatsAttr.of(Summary(int(count), *numbers, float(mean), float(deviation)))
    return _TensorRange(known.minimum, known.maximum, attribute)


def _of_annotation(annotation: TensorAnnotation, tensors: Mapping[str, TensorProto]) -> _TensorRange | None:
    """Returns the range of the annotated type. Raises `ValueError` or `KeyError` if the annotation is invalid."""
    said = {each.key: each.value for each in annotation.quant_parameter_tensor_names}
    if _DATATYPE in said:
        return _of_datatype(said[_DATATYPE])
    if not {_SCALE, _ZERO_POINT} & said.keys():
        return None
    if missing := {_SCALE, _ZERO_POINT} - said.keys():
        raise ValueError(f"it has no {missing.pop()}")
    scale, zero_point = (numpy_helper.to_array(tensors[said[key]]) for key in (_SCALE, _ZERO_POINT))
    if scale.size != 1 or zero_point.size != 1 or zero_point.dtype.kind not in "iu":
        raise ValueError("its scale must be a single number and its zero point a single integer")
    limits = np.iinfo(zero_point.dtype)
    low, high = (float(scale.item()) * (int(end) - int(zero_point.item())) for end in (limits.min, limits.max))
    return _TensorRange(low, high)


def _of_datatype(name: str) -> _TensorRange | None:
    if name in _NAMED_LIMITS:
        return _TensorRange(*_NAMED_LIMITS[name])
    found = re.fullmatch(r"(U?)INT(\d{1,2})", name)
    return None if found is None else _TensorRange(*integer_limits(int(found[2]), is_signed=not found[1]))


def _found(graph: GraphProto) -> Iterator[tuple[str, _TensorRange]]:
    """Yields the ranges of tensors; those from metadata come last and win."""
    tensors = {each.name: each for each in graph.initializer}
    for annotation in graph.quantization_annotation:
        try:
            found = _of_annotation(annotation, tensors)
        except (ValueError, KeyError) as error:
            _warn(f"ignoring the annotation of '{annotation.tensor_name}': {error}")
            continue
        if found is not None:
            yield annotation.tensor_name, found
    for info in (*graph.input, *graph.value_info, *graph.output):
        try:
            found = _of_metadata(naming.entries(info))
        except (ValueError, VerifyException) as error:
            _warn(f"ignoring the statistics of '{info.name}': {error}")
            continue
        if found is not None:
            yield info.name, found


def _warn(message: str) -> None:
    emit(Diagnostic(Severity.WARNING, message))


def take_ranges(graph: GraphProto, module: ModuleOp) -> None:
    """Attaches the ranges that `graph` stores for its tensors to the float values of the imported module."""
    ranges = dict(_found(graph))
    if not ranges:
        return
    values = {
        each.value: ranges[name]
        for each in keyed_values(module)
        if (name := tensor_of(each)) in ranges
        and not each.is_constant
        and not has_parameters(each.value)
        and observed(each.value) is None
    }
    for value, each in values.items():
        if each.statistics is not None:
            attach(value, each.statistics)
    set_ranges(module, {value: (each.minimum, each.maximum) for value, each in values.items()})
