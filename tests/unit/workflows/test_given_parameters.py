"""Models that are quantized in part: what has parameters keeps them, and only the rest is profiled."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.nn.activations.ops import GeluOp
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.quant.ops import CastOperation
from qmlir.environment import default_environment
from qmlir.ir.builtin_types import element_of
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline

ENVIRONMENT = default_environment()
RANDOM = np.random.default_rng(0)
SAMPLES = [{"x": RANDOM.standard_normal((4, 8)).astype(np.float32)} for _ in range(6)]


@pytest.fixture(scope="module")
def quantized() -> ModuleOp:
    """A Gelu and a HardSwish between two products, with the types of all their parts."""
    weights = {"w": RANDOM.standard_normal((8, 6)), "v": RANDOM.standard_normal((6, 5))}
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["a"], "first"),
            helper.make_node("Gelu", ["a"], ["g"], "gelu"),
            helper.make_node("HardSwish", ["g"], ["n"], "swish"),
            helper.make_node("MatMul", ["n", "v"], ["y"], "second"),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 5])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return qmlir.quantize(qmlir.load(model), SAMPLES, keep_composites=["softmax"]).module


def _run(module: ModuleOp, pipeline: str) -> ModuleOp:
    changed = module.clone()
    PassManager(ENVIRONMENT.new_context(), parse_pipeline(pipeline, ENVIRONMENT.passes)).run(changed)
    return changed


def _composites(module: ModuleOp) -> list[NnOp]:
    return [op for op in module.walk() if isinstance(op, NnOp) and op.components is not None]


def _without_metadata(model: ModelProto) -> ModelProto:
    stripped = ModelProto()
    stripped.CopyFrom(model)

    def strip(message: Any) -> Iterator[Any]:
        for field, value in message.ListFields():
            if field.name == "metadata_props":
                message.ClearField("metadata_props")
            elif field.message_type is not None:
                for each in value if field.is_repeated else [value]:
                    yield from strip(each)
        yield message

    list(strip(stripped))
    return stripped


def _outputs(module: ModuleOp) -> list[Any]:
    return [array for sample in SAMPLES for array in qmlir.interpret(module, sample).values()]


def test_an_export_keeps_the_parameters_of_the_parts(quantized: ModuleOp) -> None:
    """As a property of the composite with the metadata, and on the nodes of the parts without."""
    assert [op.name for op in _composites(quantized)] == ["nn.gelu", "nn.hard_swish"]
    for functions in (False, True):
        exported = qmlir.export_onnx(quantized, functions=functions)
        assert str(qmlir.load(exported)) == str(quantized)
        bare = qmlir.load(_without_metadata(exported))
        assert not _composites(bare)
        for found, wanted in zip(_outputs(bare), _outputs(quantized), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_only_parts_without_parameters_are_profiled(quantized: ModuleOp) -> None:
    module = quantized.clone()
    (gelu,) = (op for op in module.walk() if isinstance(op, GeluOp))
    del gelu.properties["components"]
    opened = _run(module, "quant-dequantize-composites")
    profiled = qmlir.profile(opened, SAMPLES, passes="nn-decompose")
    seen = {key for key in profiled.values if key not in ("x", "y") and not key.startswith("quant.")}
    assert seen == {"gelu/argument", "gelu/erf", "gelu/gate", "gelu/half"}
    again = qmlir.quantize(opened, SAMPLES, keep_composites=["softmax"]).module
    for op, other in zip(_composites(quantized), _composites(again), strict=True):
        assert op.components is not None
        assert other.components is not None
        assert set(op.components.data) == set(other.components.data)
        assert [element_of(value) for value in (*op.operands, *op.results)] == [
            element_of(value) for value in (*other.operands, *other.results)
        ]
    kept = [op.components for op in (*_composites(quantized), *_composites(again)) if op.name == "nn.hard_swish"]
    assert kept[0] == kept[1]


def test_nothing_is_left_to_profile(quantized: ModuleOp) -> None:
    profiled = qmlir.profile(quantized, SAMPLES)
    assert not profiled.values
    assert profiled.samples == len(SAMPLES)
    again = qmlir.quantize(quantized, SAMPLES, keep_composites=["gelu", "hard_swish"]).module
    assert [op.name for op in again.walk() if isinstance(op, CastOperation)] == ["quant.qcast", "quant.dcast"]
    for found, wanted in zip(_outputs(again), _outputs(quantized), strict=True):
        np.testing.assert_array_equal(found, wanted)
