"""What rounding costs, against the Fisher information by its formula."""

import itertools

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import qmlir
from qmlir.arithmetic.schemes import F64
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.extensions.search.choices import Width
from qmlir.extensions.search.sensitivity import divergences, rounded, score_gradients, signs_of_passes
from qmlir.extensions.search.widths import LayerwiseModel
from qmlir.extensions.training.differentiating import Place
from qmlir.pipelines import QuantizeOptions
from qmlir.workflows.evaluating import Batches
from qmlir.workflows.quantizing import quantize

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(6, 5)).astype(np.float32)
W = RANDOM.normal(size=(4, 5)).astype(np.float32)


def _layered(*tail: str) -> tuple[LayerwiseModel, Batches]:
    """A layer of four classes, and what comes after it."""
    names = ["h", *(f"t{position}" for position in range(len(tail)))]
    names[-1] = "y"
    nodes = [helper.make_node("Gemm", ["x", "w"], names[:1], "layer", transB=1)]
    nodes += [
        helper.make_node(op, [before], [after], op) for op, before, after in zip(tail, names, names[1:], strict=False)
    ]
    shapes = (("x", [None, 5]), ("y", [None, 4]))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes)
    graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(W, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    module = qmlir.load(model)
    profiled = quantize(module, {"x": X}, validate=False).profiled
    return LayerwiseModel(profiled, QuantizeOptions(granularity="channel")), Batches(module, {"x": X}, size=1)


def _weights(layered: LayerwiseModel) -> dict[Place, UniformQuantizedType]:
    """The weights alone, in 4 bits."""
    (decisions,) = layered.decisions({"layer": Width.NARROW})
    return {**decisions.constants}


def _softmax(scores: F64) -> F64:
    powers = np.exp(scores)
    return powers / powers.sum()


def test_all_signs_together_are_the_fisher_information() -> None:
    scores = np.array([0.3, -1.0, 2.0, 0.1])
    chances = _softmax(scores)
    patterns = list(itertools.product([-1.0, 1.0], repeat=4))
    found = [score_gradients(scores[None], np.asarray([signs]))[0] for signs in patterns]
    fisher = np.diag(chances) - np.outer(chances, chances)
    np.testing.assert_allclose(np.mean([np.outer(each, each) for each in found], axis=0), fisher, atol=1e-12)
    # By the classes themselves the gradients of `log p` are `1 / p`; a class that has no chance has none.
    sure = np.array([0.25, 0.75, 0.0])
    of_classes = [score_gradients(sure[None], np.asarray([signs[:3]]))[0] for signs in patterns]
    np.testing.assert_allclose(
        np.mean([np.outer(each, each) for each in of_classes], axis=0), np.diag([4, 4 / 3, 0]), atol=1e-12
    )


def test_two_passes_are_exact_where_two_classes_have_all_the_chance() -> None:
    scores = np.array([[-60.0, 0.3, -60.0, 1.0, -60.0]])
    chances = _softmax(scores[0])
    fisher = np.diag(chances) - np.outer(chances, chances)
    for seed in range(8):
        passes = signs_of_passes(scores, np.random.default_rng(seed))
        found = [score_gradients(scores, signs)[0] for signs in passes]
        np.testing.assert_allclose(np.mean([np.outer(each, each) for each in found], axis=0), fisher, atol=1e-12)


def test_the_signs_of_every_other_class_are_turned_over() -> None:
    scores = np.array([[3.0, 1.0, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0]])  # of equal ones the first comes first
    one, other = signs_of_passes(scores, np.random.default_rng(0))
    np.testing.assert_array_equal(other * one, [[1, 1, -1, -1], [1, -1, 1, -1]])


@pytest.mark.parametrize("tail", [(), ("Softmax",)])
def test_weights_of_one_layer(tail: tuple[str, ...]) -> None:
    layered, batches = _layered(*tail)
    found = divergences(layered.decided, "y", batches, [{}, _weights(layered)])
    scales = np.abs(W).max(axis=1, keepdims=True).astype(np.float64) / 7
    error = np.clip(np.rint(W / scales), -7, 7) * scales - W
    expected = 0.0
    for position, x in enumerate(X.astype(np.float64)):
        chances, change = _softmax(W @ x), error @ x
        signs = np.random.default_rng([0, position]).choice([-1.0, 1.0], (1, 4))[0]
        turned = signs.copy()
        turned[np.argsort(-chances)[[1, 3]]] *= -1
        for each in (signs, turned):
            expected += (each * np.sqrt(chances) * (change - chances @ change)).sum() ** 2 / 4
    np.testing.assert_allclose(found, [[0, 0], [0, expected / len(X)]], rtol=1e-4, atol=1e-12)


def test_what_is_rounded_twice_counts_as_the_sum_of_both() -> None:
    layered, batches = _layered("Relu")
    (decisions,) = layered.decisions({"layer": Width.NARROW})
    both = rounded(decisions)
    weights = _weights(layered)
    values = {position: type_ for position, type_ in both.items() if position not in weights}
    g = divergences(layered.decided, "y", batches, [weights, values, both])
    np.testing.assert_allclose(g[2, 2], g[0, 0] + g[1, 1] + 2 * g[0, 1], rtol=1e-9)


def test_what_is_on_the_grid_is_not_rounded_again() -> None:
    (plain,), (clamped,) = (_layered(*tail)[0].decisions({}) for tail in ((), ("Relu",)))
    # The operand of the ReLU has the type of its result: the same places but for that, which is not one.
    assert len(clamped.values) == len(plain.values) + 1
    assert len(rounded(clamped)) == len(rounded(plain))
