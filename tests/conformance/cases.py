"""The cases of `onnx.backend.test`, made once for a process; names as in ONNX's documentation."""

import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.loader import load_model_tests

DataSet = tuple[list[Any], list[Any]]


@dataclass(frozen=True)
class Case:
    """A model with inputs and the outputs that are expected."""

    name: str
    model: ModelProto
    data_sets: tuple[DataSet, ...]
    rtol: float
    atol: float


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


@cache
def node_cases() -> dict[str, Case]:
    """The tests of single operators, and of the definitions of operators by others (`_expanded`)."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    return {
        each.name: Case(
            each.name,
            each.model,
            tuple(([_array(x) for x in inputs], [_array(y) for y in outputs]) for inputs, outputs in each.data_sets),
            each.rtol,
            each.atol,
        )
        for each in found
    }


def _stored(path: Path) -> Any:
    return numpy_helper.to_array(onnx.load_tensor(path))


def _data_sets(directory: Path) -> tuple[DataSet, ...]:
    return tuple(
        (
            [_stored(path) for path in sorted(folder.glob("input_*.pb"))],
            [_stored(path) for path in sorted(folder.glob("output_*.pb"))],
        )
        for folder in sorted(directory.glob("test_data_set_*"))
    )


STORED_KINDS = ("simple", "pytorch-converted", "pytorch-operator")


@cache
def stored_names(kind: str) -> dict[str, Any]:
    """The tests that the package ships as files, by name."""
    return {each.name: each for each in load_model_tests(kind=kind)}


def stored_case(kind: str, name: str) -> Case:
    """One of them, read."""
    found = stored_names(kind)[name]
    directory = Path(found.model_dir)
    return Case(name, onnx.load(directory / "model.onnx"), _data_sets(directory), found.rtol, found.atol)
