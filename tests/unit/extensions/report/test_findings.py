"""Warnings on hand-made models, each with one fault: it is found, and its rule changes the slot that it is about."""

import tomllib
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

import qmlir
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.quant.infer import element_type
from qmlir.environment import default_environment
from qmlir.extensions.report.model import Finding, Report
from qmlir.extensions.report.reporting import ReportOptions, collect
from qmlir.ir.provenance import origins_of
from qmlir.quantization.recipe import make_rule
from qmlir.quantization.report import key_of
from qmlir.text.parsing import parse_module
from qmlir.workflows.comparison.names import module_names

Array = Any
NAME = 'odd "*name*" [0]'
"""A node's name with everything that a recipe must escape."""


INSIDE: dict[str, Any] = {"assert_all_quantized": True}
"""Settings for which a layer is as one inside of a model: next to an output, its last sum would stay in float."""


def text_of(array: Array) -> str:
    return "[" + ", ".join(text_of(row) if np.ndim(row) else f"{row:.8e}" for row in array) + "]"


def layer(weights: Array, bias: Array | None = None, *, relu: bool = False) -> ModuleOp:
    """A fully connected layer; with a `relu` after it, and a product by the identity, which gives the output."""
    rows, columns = weights.shape
    origin = NAME.replace('"', '\\"')
    added = "" if bias is None else f"%b = nn.constant dense<{text_of(bias)}> : tensor<{rows}xf32>"
    operands, types = ("%x, %w", "") if bias is None else ("%x, %w, %b", f", tensor<{rows}xf32>")
    square, result = f"tensor<{rows}x{rows}xf32>", f"tensor<1x{rows}xf32>"
    last = (
        f"""%r = nn.relu %y : {result} {{origin = "relu"}}
      %i = nn.constant dense<{text_of(np.eye(rows))}> : {square}
      %z = nn.matmul %r, %i : ({result}, {square}) -> {result} {{origin = "head"}}"""
        if relu
        else ""
    )
    text = f"""
    func.func @main(%x: tensor<1x{columns}xf32>) -> tensor<1x{rows}xf32> {{
      %w = nn.constant dense<{text_of(weights)}> : tensor<{rows}x{columns}xf32>
      {added}
      %y = nn.fully_connected {operands} : (tensor<1x{columns}xf32>, tensor<{rows}x{columns}xf32>{types}) \
-> tensor<1x{rows}xf32> {{origin = "{origin}"}}
      {last}
      func.return {"%z" if relu else "%y"} : tensor<1x{rows}xf32>
    }}"""
    return parse_module(default_environment().new_context(), text, "test.mlir")


def samples(count: int, columns: int, seed: int = 0) -> list[Array]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=(1, columns)).astype(np.float32) for _ in range(count)]


def report_of(model: ModuleOp, data: list[Array], **settings: Any) -> tuple[ModuleOp, Report]:
    quantized = qmlir.quantize(model, data, **settings).module
    return quantized, collect(model, quantized, data, options=ReportOptions(samples=len(data), time=False))


def only(report: Report, kind: str) -> Finding:
    found = [each for each in report.findings if each.kind == kind]
    assert len(found) == 1, [each.kind for each in report.findings]
    return found[0]


def value_type(module: ModuleOp, key: str) -> Attribute | None:
    names = module_names(module)
    (value,) = (value for value, each in names.values.items() if each == key)
    return element_type(value.type)


def weight_type(module: ModuleOp) -> Attribute | None:
    (op,) = (op for op in module.walk() if "fully_connected" in op.name or "matmul" in op.name)
    owner = op.operands[1].owner
    assert isinstance(owner, ConstantOp)
    return element_type(owner.result.type)


def again(model: ModuleOp, data: list[Array], recipe: str, folder: Path, **settings: Any) -> ModuleOp:
    """The model, quantized with the rule that a finding names."""
    for number, table in enumerate(tomllib.loads(recipe)["rule"]):
        make_rule(table, f"rule {number}")
    path = folder / "recipe.toml"
    path.write_text(recipe, encoding="utf-8")
    return qmlir.quantize(model, data, recipe=path, **settings).module


def test_a_range_ruled_by_an_outlier(tmp_path: Path) -> None:
    model = layer(np.eye(8, dtype=np.float32), relu=True)
    data = samples(500, 8)
    data[3][0, 2] = 400.0
    quantized, report = report_of(model, data, calibrator="min_max")
    found = [each for each in report.findings if each.kind == "outlier"]
    names = {report.nodes[number].name for each in found for number in each.nodes}
    assert names == {"input0", "relu"}  # the sums before the relu have its type
    for each, (slot, node) in zip(found, (("input", NAME), ("output", "relu")), strict=True):
        (rule,) = tomllib.loads(each.recipe)["rule"]
        assert rule["slot"] == slot
        assert rule["origin"] == escape(node)
        assert "400" in each.text
        changed = again(model, data, each.recipe, tmp_path, calibrator="min_max")
        key = report.nodes[each.nodes[0]].name
        before, after = value_type(quantized, key), value_type(changed, key)
        assert after.scale < before.scale / 10  # type: ignore[union-attr]


def test_normal_values_have_no_outlier() -> None:
    _, report = report_of(layer(np.eye(8, dtype=np.float32)), samples(500, 8))
    assert [each.kind for each in report.findings] == []


def test_a_channel_that_the_scale_of_others_kills(tmp_path: Path) -> None:
    weights = np.ones((4, 8), np.float32)
    weights[2] = 1e-4  # half a step is 1/254
    model, data = layer(weights), samples(4, 8)
    quantized, report = report_of(model, data, granularity="tensor")
    found = only(report, "dead channel")
    assert "channel 2 " in found.text
    changed = again(model, data, found.recipe, tmp_path, granularity="tensor")
    assert weight_type(quantized).scales.size == 1  # type: ignore[union-attr]
    assert weight_type(changed).scales.size == 4  # type: ignore[union-attr]
    uneven = only(report, "uneven channels")
    assert uneven.recipe == found.recipe


def test_a_channel_that_is_dead_in_the_model() -> None:
    weights = np.random.default_rng(1).normal(size=(4, 8)).astype(np.float32)
    weights[1] = 0
    _, report = report_of(layer(weights), samples(4, 8))
    found = only(report, "dead channel")
    assert found.recipe == ""
    assert "No rule helps" in found.text


def test_a_channel_whose_values_are_lost(tmp_path: Path) -> None:
    weights = np.eye(4, dtype=np.float32) * np.array([[1], [1], [1e-5], [1]], np.float32)
    model, data = layer(weights), samples(50, 4)
    quantized, report = report_of(model, data, **INSIDE)
    found = only(report, "dead channel")
    assert found.text.startswith("Channel 2 of ")
    changed = again(model, data, found.recipe, tmp_path, **INSIDE)
    assert value_type(quantized, NAME).bits == 8  # type: ignore[union-attr]
    assert value_type(changed, NAME).bits == 16  # type: ignore[union-attr]


def test_a_bias_near_its_limit(tmp_path: Path) -> None:
    weights = np.ones((2, 4), np.float32)
    weights[1] = 1e-5
    model, data = layer(weights, np.array([0.5, 1.0], np.float32)), samples(20, 4)
    quantized, report = report_of(model, data, **INSIDE)
    found = only(report, "bias")
    assert "channel 1 " in found.text
    changed = again(model, data, found.recipe, tmp_path, **INSIDE)
    assert weight_type(quantized).scales.size == 2  # type: ignore[union-attr]
    assert weight_type(changed).scales.size == 1  # type: ignore[union-attr]


def test_sums_near_their_limit(tmp_path: Path) -> None:
    model = layer(np.ones((1, 4), np.float32))
    data = samples(20, 4)
    quantized, report = report_of(model, data, activations="i16", weights="i16")
    found = only(report, "accumulator")
    changed = again(model, data, found.recipe, tmp_path, activations="i16", weights="i16")
    assert weight_type(quantized).bits == 16  # type: ignore[union-attr]
    assert weight_type(changed).bits == 8  # type: ignore[union-attr]


def test_clipped_values(tmp_path: Path) -> None:
    model = layer(np.eye(8, dtype=np.float32))
    data = samples(100, 8)
    narrow = 'slot = "output"\ncalibrator = { name = "percentile", percent = 80.0 }\n'
    recipe = tmp_path / "narrow.toml"
    recipe.write_text(f"[[rule]]\n{narrow}")
    quantized = qmlir.quantize(model, data, recipe=recipe).module
    report = collect(model, quantized, data, options=ReportOptions(samples=100, time=False))
    found = only(report, "clipped")
    changed = again(model, data, f"[[rule]]\n{narrow}\n{found.recipe}", tmp_path)
    assert value_type(changed, NAME).scale > value_type(quantized, NAME).scale  # type: ignore[union-attr]
    (node,) = (each for each in report.nodes if each.name == NAME)
    flat = np.concatenate(data).reshape(-1)
    type_: Any = value_type(quantized, NAME)
    low, high = (type_.scale * (end - type_.zero_point) for end in (-128.5, 127.5))
    assert node.clipped == pytest.approx(((flat < low) | (flat > high)).mean())


def test_few_bits_clip_on_purpose() -> None:
    model = layer(np.eye(8, dtype=np.float32))
    _, report = report_of(model, samples(500, 8), activations="i4")
    (node,) = (each for each in report.nodes if each.name == NAME)
    assert node.clipped is not None
    assert 0.01 < node.clipped < 0.0625  # more than 8 bits may, and less than 16 levels may
    assert "clipped" not in {each.kind for each in report.findings}


def test_saturation_on_other_runtimes(tmp_path: Path) -> None:
    model, data = layer(np.ones((2, 4), np.float32)), samples(20, 4)
    quantized, report = report_of(model, data)
    found = only(report, "saturation elsewhere")
    changed = again(model, data, found.recipe, tmp_path)
    assert (weight_type(quantized).storage_max, weight_type(changed).storage_max) == (127, 64)  # type: ignore[union-attr]
    _, after = collect(model, changed, data, options=ReportOptions(samples=4, time=False)), changed
    assert 255 * 2 * weight_type(after).storage_max < 2**15  # type: ignore[union-attr]


def test_seven_bits_do_not_saturate() -> None:
    model, data = layer(np.ones((2, 4), np.float32)), samples(20, 4)
    _, report = report_of(model, data, weights="i8<-64:64>")
    assert not [each for each in report.findings if each.kind == "saturation elsewhere"]


def test_a_layer_left_in_float(tmp_path: Path) -> None:
    model, data = layer(np.eye(4, dtype=np.float32), relu=True), samples(20, 4)
    kept = '[[rule]]\norigin = "relu"\nquantize = false\n'
    recipe = tmp_path / "kept.toml"
    recipe.write_text(kept)
    quantized = qmlir.quantize(model, data, recipe=recipe).module
    report = collect(model, quantized, data, options=ReportOptions(samples=4, time=False))
    found = only(report, "in float")
    changed = again(model, data, f"{kept}\n{found.recipe}", tmp_path)
    is_quantized = [
        next(hasattr(element_type(op.results[0].type), "scales") for op in module.walk() if key_of(op) == "relu")
        for module in (quantized, changed)
    ]
    assert is_quantized == [False, True]


def test_origins_of_the_odd_name() -> None:
    (op,) = (op for op in layer(np.eye(2, dtype=np.float32)).walk() if "fully_connected" in op.name)
    assert [str(each) for each in origins_of(op)] == [NAME]
