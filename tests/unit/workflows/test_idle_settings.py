"""Settings without an effect are told: an empty `keep` with a target, rules for tables, ranges that samples replace."""

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.ir.diagnostics import Diagnostic, diagnostic_handler

RNG = np.random.default_rng(0)

EMBEDDING = """
    <ir_version: 10, opset_import: ["" : 21]>
    net (int64[n, 4] ids) => (float[n, 4, 8] y) { e = Gather (table, ids) y = MatMul (e, w) }"""


def _embedding() -> ModuleOp:
    model = parser.parse_model(EMBEDDING)
    for name, shape in (("table", (1024, 32)), ("w", (32, 8))):
        model.graph.initializer.append(numpy_helper.from_array(RNG.standard_normal(shape).astype(np.float32), name))
    return qmlir.load(model)


IDS = {"ids": RNG.integers(0, 1024, (16, 4))}


def _said(module: ModuleOp, data: Any, **settings: Any) -> list[str]:
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        qmlir.quantize(module, data, validate=False, **settings)
    return [each.message for each in said if "no effect" in each.message]


@pytest.mark.parametrize(("storage", "is_idle"), [("i4", False), ("i8", False), ("i16", True)])
def test_rules_for_a_table_whose_rows_have_eight_bits(storage: str, is_idle: bool) -> None:
    """Fewer bits are a type of its own, as many are those of the rows, more are not used."""
    said = _said(_embedding(), IDS, recipe=[{"embedding": True, "storage": storage}])
    assert ["are read as 8-bit values" in each for each in said] == [True] * is_idle
    assert _said(_embedding(), IDS, weights=storage) == []


def test_a_granularity_for_a_table_that_has_the_type_of_its_rows() -> None:
    (message,) = _said(_embedding(), IDS, recipe=[{"embedding": True, "storage": "i8", "granularity": "channel"}])
    assert "'embedding = true' has no effect" in message
    rules = [
        {"embedding": True, "storage": "i8", "granularity": "channel"},
        {"op": "gather", "slot": "output", "storage": "i16"},
    ]
    assert _said(_embedding(), IDS, recipe=rules) == []


def _products() -> Any:
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> net (float[n, 8] x) => (float[n, 8] y) '
        "{ z = MatMul (x, w) y = Softmax (z) }"
    )
    model.graph.initializer.append(numpy_helper.from_array(RNG.standard_normal((8, 8)).astype(np.float32), "w"))
    return model


X = {"x": RNG.standard_normal((16, 8)).astype(np.float32)}


def test_an_empty_keep_with_a_target() -> None:
    module = qmlir.load(_products())
    (message,) = _said(module, X, device="cpu", keep_composites=[])
    assert message.startswith(
        "an empty 'keep_composites' has no effect: the target cpu says which composites stay whole"
    )
    made = [
        str(qmlir.quantize(module, X, validate=False, device="cpu", **more).module)
        for more in ({}, {"keep_composites": []})
    ]
    assert made[0] == made[1]
    for settings in ({}, {"keep_composites": []}, {"device": "cpu"}, {"device": "cpu", "keep_composites": ["softmax"]}):
        assert _said(module, X, **settings) == []


def test_ranges_that_samples_replace() -> None:
    model = _products()
    entry = [helper.make_tensor_value_info("z", 1, ["n", 8])]
    for key, value in (("qmlir.min", "-50"), ("qmlir.max", "50")):
        entry[0].metadata_props.add(key=key, value=value)
    model.graph.value_info.extend(entry)
    assert _said(qmlir.load(model), X) == [
        "the ranges that the model carries for 1 value have no effect: those of the samples replace them; help: pass "
        "--keep-annotations (keep_annotations=True) to keep them"
    ]
    assert _said(qmlir.load(_products()), X) == []
    (message,) = _said(qmlir.load(model), X, keep_annotations=True, activations="f32")
    assert message == "--keep-annotations (keep_annotations) has no effect: no setting quantizes by ranges"
