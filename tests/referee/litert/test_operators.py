"""Random models of one operator: LiteRT's two sets of kernels compute the integers of the interpreter."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from tests.support.litert_cases import CASES, FLOAT_CASES, LiteCase

pytestmark = pytest.mark.referee

litert: Any = pytest.importorskip("ai_edge_litert.interpreter")

KERNELS = {"litert-reference": "BUILTIN_REF", "litert-xnnpack": "AUTO"}

UNDEFINED = {
    ("SUM", "litert-reference"): "the kernel reads signed integers as unsigned ones",
    ("ELU", "litert-reference"): "there is no such kernel",
    ("CONV_2D i4", "litert-xnnpack"): "it is rejected: XNNPACK leaves some of them to another kernel",
    ("DEPTHWISE_CONV_2D i4", "litert-xnnpack"): "it is rejected: XNNPACK leaves some of them to another kernel",
    ("DEPTHWISE_CONV_2D dynamic", "litert-xnnpack"): "it is left to a kernel whose order of sums is not known",
}
"""Operators that have no arithmetic to compare with, with the reason."""


def _run(case: LiteCase, kernels: str) -> list[Any]:
    """Returns the outputs of LiteRT."""
    resolver = litert.OpResolverType[kernels]
    interpreter = litert.Interpreter(
        model_content=case.model, num_threads=1, experimental_op_resolver_type=resolver
    )  # fmt: skip
    interpreter.allocate_tensors()
    for port, array in zip(interpreter.get_input_details(), case.inputs, strict=True):
        interpreter.set_tensor(port["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(port["index"]) for port in interpreter.get_output_details()]


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("name", CASES)
def test_an_operator_computes_the_integers_of_litert(tmp_path: Path, name: str, kernels: str) -> None:
    if (reason := UNDEFINED.get((name, kernels))) is not None:
        pytest.skip(reason)
    for seed in range(20):
        case = CASES[name](np.random.default_rng([seed, len(name)]))
        wanted = _run(case, KERNELS[kernels])
        path = tmp_path / "model.tflite"
        path.write_bytes(case.model)
        found = qmlir.interpret(qmlir.load(path, requantize=kernels), case.inputs)
        for value, expected in zip(found.values(), wanted, strict=True):
            assert np.array_equal(value, expected), f"seed {seed}"


@pytest.mark.parametrize("name", FLOAT_CASES)
def test_a_float_operator_computes_the_numbers_of_litert(tmp_path: Path, name: str) -> None:
    case = FLOAT_CASES[name](np.random.default_rng(len(name)))
    path = tmp_path / "model.tflite"
    path.write_bytes(case.model)
    found = qmlir.interpret(qmlir.load(path), case.inputs)
    for value, expected in zip(found.values(), _run(case, "AUTO"), strict=True):
        assert (value.dtype, value.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(value, expected, 1e-5, 1e-6)
