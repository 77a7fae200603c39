"""Equalized networks of random layers give what the float networks give, and have weights that are alike."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction.ops import ConvOp
from qmlir.interpreter.run import interpret
from qmlir.passmanager.manager import run_pipeline
from qmlir.text.printing import module_text

_BETWEEN = ("Relu", "LeakyRelu", "PRelu", "MaxPool", "AveragePool", "Clip", "Sigmoid", "")


def _network(seed: int) -> ModelProto:
    """Convolutions, some of them grouped or depthwise, with what may stand between them."""
    random = np.random.default_rng(seed)
    channels, value = [4], "x"
    nodes: list[NodeProto] = []
    constants: list[TensorProto] = []

    def constant(name: str, array: Array) -> str:
        constants.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    for at in range(5):
        given, groups = channels[-1], int(random.choice([1, 2, channels[-1]]))
        taken = given if groups == given else int(random.choice([4, 8]))
        sizes = np.exp(2 * random.standard_normal((taken, 1, 1, 1)))
        weight = constant(f"w{at}", sizes * random.standard_normal((taken, given // groups, 1, 1)))
        bias = [constant(f"b{at}", random.standard_normal(taken))] if random.integers(2) else []
        nodes.append(helper.make_node("Conv", [value, weight, *bias], [f"c{at}"], name=f"conv{at}", group=groups))
        value, kind = f"c{at}", str(random.choice(_BETWEEN))
        if kind:
            more = [constant(f"s{at}", random.uniform(0.1, 0.9, (taken, 1, 1)))] if kind == "PRelu" else []
            options: dict[str, Any] = {"kernel_shape": [1, 2], "pads": [0, 0, 0, 1]} if kind.endswith("Pool") else {}
            if kind == "Clip":
                more = [constant(f"l{at}", np.array(0.0)), constant(f"h{at}", np.array(1.0))]
            nodes.append(helper.make_node(kind, [value, *more], [f"a{at}"], **options))
            value = f"a{at}"
        channels.append(taken)
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4, 3, 5])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, None)], constants,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("before", ["", "nn-decompose,canonicalize,"])
def test_outputs_of_random_networks_are_equal_to_rounding(before: str) -> None:
    changed = 0
    for seed in range(12):
        model = qmlir.load(_network(seed))
        equalized = model.clone()
        run_pipeline(equalized, f"{before}canonicalize")
        plain = module_text(equalized)
        run_pipeline(equalized, "nn-equalize")
        changed += module_text(equalized) != plain
        samples = {"x": np.random.default_rng(seed).standard_normal((2, 4, 3, 5)).astype(np.float32)}
        wanted, found = (next(iter(interpret(each, samples).values())) for each in (model, equalized))
        assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max(), seed
    assert changed >= 6


def test_weights_on_both_sides_have_the_mean_of_their_sizes() -> None:
    random = np.random.default_rng(0)
    first, last = (random.standard_normal(shape).astype(np.float32) for shape in ((6, 3, 1, 1), (5, 6, 1, 1)))
    nodes = [
        helper.make_node(*each)
        for each in (("Conv", ["x", "w"], ["c"]), ("Relu", ["c"], ["r"]), ("Conv", ["r", "v"], ["y"]))
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5, 2, 2])],
        [numpy_helper.from_array(first, "w"), numpy_helper.from_array(last, "v")],
    )  # fmt: skip
    module = qmlir.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    run_pipeline(module, "nn-equalize")
    given, taken = (constant_array(op.weight) for op in module.walk() if isinstance(op, ConvOp))
    assert given is not None
    assert taken is not None
    expected = np.sqrt(np.abs(first).max((1, 2, 3)) * np.abs(last).max((0, 2, 3)))
    np.testing.assert_allclose(np.abs(given).max((1, 2, 3)), expected, rtol=1e-3)
    np.testing.assert_allclose(np.abs(taken).max((0, 2, 3)), expected, rtol=1e-3)
