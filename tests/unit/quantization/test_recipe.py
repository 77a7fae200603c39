"""Recipes: what rules decide, which of them are reported, and that the documentation names every key and value."""

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.calibrators import calibrator_names
from qmlir.arithmetic.schemes import Arithmetic, Storage, scheme_names
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.dialects.nn.pooling import ops as pooling
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.ir.interfaces import Slot
from qmlir.ir.provenance import Origin, origins_of, set_origins
from qmlir.passes.quantized.quant_casts import QuantInsertCasts
from qmlir.quantization.recipe import Recipe, make_rule, read_rules
from tests.unit.quantization.random_graphs import Graph, calibrate, outputs_of, run_passes, watch

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "reference" / "recipe.md"


def recipe(*tables: dict[str, Any]) -> Recipe:
    return Recipe([make_rule(table, f"rule {position}") for position, table in enumerate(tables, start=1)])


def decide(module: ModuleOp, *tables: dict[str, Any]) -> list[str]:
    """Put the casts by these rules; the remarks."""
    remarks: list[Diagnostic] = []
    with diagnostic_handler(remarks.append):
        QuantInsertCasts().insert(module, recipe(*tables))
    return [each.message for each in remarks]


def net() -> tuple[ModuleOp, list[np.ndarray]]:
    """conv0, max_pool1, relu2, conv3."""
    graph = Graph(0)
    x = graph.input(graph.array(1, 2, 4, 4))
    y = graph.add(contraction.ConvOp, x, graph.constant(graph.array(2, 2, 1, 1)), graph.constant(graph.array(2)))
    y = graph.add(activations.ReluOp, graph.add(pooling.MaxPoolOp, y, kernel=[2, 2]))
    y = graph.add(contraction.ConvOp, y, graph.constant(graph.array(3, 2, 1, 1)), None)
    module = graph.module(y)
    return calibrate(module, watch(module, graph.inputs)), graph.inputs


def types_of(module: ModuleOp) -> dict[str, UniformQuantizedType]:
    """The types of results, by operation."""
    found = {op.name: element_type(op.results[0].type) for op in module.walk() if op.results}
    return {name: type_ for name, type_ in found.items() if isinstance(type_, UniformQuantizedType)}


def _outlier() -> ModuleOp:
    """The magnitudes of 9999 numbers up to 1 and of a 4, with their statistics."""
    graph = Graph(0)
    x = graph.input(np.append(np.linspace(0, 1, 9999), 4).astype(np.float32))
    module = graph.module(graph.add(elementwise.AbsOp, x))
    return calibrate(module, watch(module, graph.inputs))


@pytest.mark.parametrize(("storage", "calibrator"), [("i5", "min_max"), ("u4", "mse"), ("i2", "mse")])
def test_few_bits_take_the_range_of_the_least_error(storage: str, calibrator: str) -> None:
    """Where no rule names a calibrator; by the bits that the value is given by the last rule."""
    wide = {"slot": "output", "storage": "i16"}
    found: list[UniformQuantizedType] = []
    for named in ({}, {"calibrator": calibrator}):
        module = _outlier()
        decide(module, wide, {"op": "abs", "slot": "output", "storage": storage, **named})
        run_passes(module, "quant-fuse-casts")
        found.append(types_of(module)["nn.abs"])
    assert found[0] == found[1]
    top = (found[0].storage_max - found[0].zero_point) * found[0].scale
    assert top == pytest.approx(4, rel=0.01) if calibrator == "min_max" else top < 2


def test_without_statistics_few_bits_take_the_whole_range() -> None:
    module = _outlier()
    for op in module.walk():
        op.attributes.pop("calib.stats", None)
    decide(module, {"slot": "output", "storage": "u4"})
    run_passes(module, "quant-fuse-casts")
    assert types_of(module)["nn.abs"].scale == pytest.approx(4 / 15)


@pytest.mark.parametrize(
    ("text", "storage"),
    [("i8", Storage(8)), ("u4", Storage(4, False)), ("i2<-1:1>", Storage(2, True, (-1, 1))), ("u1", Storage(1, False))],
)
def test_storage(text: str, storage: Storage) -> None:
    assert Storage.parse(text) == storage


@pytest.mark.parametrize("text", ["i0", "i33", "int8", "8", "i8<3:2>", "i8<-129:0>", "u4<-1:3>", ""])
def test_no_storage(text: str) -> None:
    with pytest.raises(ValueError, match=r"storage|limits"):
        Storage.parse(text)


def test_the_last_rule_that_sets_a_field_decides_it() -> None:
    module, _ = net()
    decide(module, {"storage": "u8", "slot": "output"}, {"op": "conv", "scheme": "symmetric", "slot": "output"})
    run_passes(module, "quant-fuse-casts")
    found = types_of(module)
    assert (found["nn.conv"].is_signed, found["nn.conv"].zero_point) == (False, 128)
    assert (found["nn.relu"].is_signed, found["nn.relu"].zero_point) == (False, 0)


def test_an_operation_stays_in_float_where_a_rule_says_so() -> None:
    module, inputs = net()
    decide(module, {"op": "relu", "quantize": False})
    before = outputs_of(module, inputs)
    run_passes(module, "quant-fuse-casts,quant-propagate-types,quant-assign-types")
    assert "nn.relu" not in types_of(module)
    assert "nn.max_pool" in types_of(module)
    assert np.abs(before[0] - outputs_of(module, inputs)[0]).max() < 0.1


def test_quantize_true_takes_an_operation_back() -> None:
    module, _ = net()
    decide(module, {"quantize": False}, {"op": "relu", "quantize": True})
    run_passes(module, "quant-fuse-casts")
    assert set(types_of(module)) == {"quant.qcast", "nn.relu"}


def test_a_rule_that_others_overrule_is_reported() -> None:
    """The pool moves what the convolution gives, whose rules decide; the relu's decide for what only it sees."""
    module, _ = net()
    with pytest.raises(DiagnosticError, match=r"these rules of the recipe have no effect: rule 1$"):
        decide(module, {"op": "max_pool", "storage": "u8"})


def test_a_rule_names_a_part_of_two_layers_by_one_of_them() -> None:
    graph = Graph(0)
    part = graph.add(activations.TanhOp, graph.input(graph.array(2))).owner
    set_origins(part, [Origin("a", role="hidden/rounded"), Origin("b", role="backward/hidden/rounded")])
    named = [
        recipe({"origin": origin, "storage": "i8"}).names_part(part, Slot.OUTPUT)
        for origin in ("a/hidden/rounded", "b/backward/hidden/rounded", "a/*")
    ]
    assert named == [True, True, False]


MODULES = {
    "conv0": Origin("node_conv0", "Conv", module="layers.0.conv"),
    "max_pool1": Origin("/layers/layers.0/pool/MaxPool", "MaxPool"),
    "relu2": Origin("relu2", "Relu"),
    "conv3": Origin("/layers/layers.1/conv/Conv", "Conv"),
}
"""Nodes whose module is in their metadata, or in their name; `relu2` is in none."""


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("layers.0", {"conv0", "max_pool1"}),
        ("layers.*.conv", {"conv0", "conv3"}),
        ("layers.0.conv", {"conv0"}),
        ("layers", {"conv0", "max_pool1", "conv3"}),
        ("conv", set()),
        ("*", set(MODULES)),
    ],
)
def test_a_module_matches_everything_inside_it(pattern: str, expected: set[str]) -> None:
    module, _ = net()
    ops = {name: next(op for op in module.walk() if name in map(str, origins_of(op))) for name in MODULES}
    for name, op in ops.items():
        set_origins(op, [MODULES[name]])
    rule = make_rule({"module": pattern, "quantize": False}, "rule 1")
    assert {name for name, op in ops.items() if rule.matches(op, Slot.OUTPUT, set())} == expected


def test_a_module_that_does_not_exist_is_an_error() -> None:
    module, _ = net()
    for op in [op for op in module.walk() if "conv3" in map(str, origins_of(op))]:
        set_origins(op, [MODULES["conv3"]])
    with pytest.raises(DiagnosticError, match=r"have no effect: rule 1; did you mean 'layers.1'\?"):
        decide(module, {"module": "layer.1", "quantize": False})


def test_sharing_a_type_against_a_rule_is_told() -> None:
    """A rule decides for one operation, and not for another that shares its type with an earlier one."""
    graph = Graph(0)
    x, y = graph.input(graph.array(2, 2)), graph.input(graph.array(2, 2))
    shared, alone = graph.add(elementwise.AbsOp, y), graph.add(elementwise.AbsOp, x)
    joined = graph.add(movement.ConcatOp, [graph.add(activations.TanhOp, x), shared], axis=0)
    module = graph.module(joined, alone)
    calibrate(module, watch(module, graph.inputs))
    remarks = decide(module, {"op": "abs", "slot": "output", "storage": "i16"})
    assert remarks == ["'nn.abs' op (abs0) shares its type with 'nn.tanh' op (tanh2), whose rules apply"]
    run_passes(module, "quant-fuse-casts")
    found = {
        op.attributes["origin"].data: element_type(op.results[0].type) for op in module.walk() if op.name == "nn.abs"
    }  # pyright: ignore
    assert {name: type_.bits for name, type_ in found.items()} == {"abs0": 8, "abs1": 16}


@pytest.mark.parametrize("granularity", ["tensor", "channel"])
def test_weights_are_calibrated_row_by_row(granularity: str) -> None:
    """One outlier among thousands: a percentile leaves it out, in its own row only."""
    graph = Graph(0)
    weights = graph.random.uniform(-1, 1, (2, 20000)).astype(np.float32)
    weights[0, 0] = 50.0
    module = graph.module(
        graph.add(contraction.FullyConnectedOp, graph.input(graph.array(1, 20000)), graph.constant(weights))
    )
    calibrate(module, watch(module, graph.inputs))
    calibrator = {"name": "percentile", "percent": 99.9}
    decide(module, {"slot": "weight", "granularity": granularity, "calibrator": calibrator})
    (scales,) = [
        element_type(op.results[0].type).scales.reshape(-1)  # pyright: ignore
        for op in module.walk()
        if op.name == "nn.constant" and isinstance(element_type(op.results[0].type), UniformQuantizedType)
    ]
    assert scales.size == (2 if granularity == "channel" else 1)
    assert scales.max() * 127 < 1.2


def test_wrong_values_name_the_file_and_the_rule(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    for text, message in [
        ("storage = 8", "storage must be a string, but got 8"),
        ("quantize = 'no'", "quantize must be true or false, but got 'no'"),
        ("origin = 3\nstorage = 'i8'", "origin must be a string, but got 3"),
        (
            "granularity = 'block:0'",
            "unknown granularity 'block:0' (available: tensor, channel, block:N, block:N:f16, block:N:bf16, "
            "block:N:k6)",
        ),
        ("granularity = 'block:20:k6'", "the block size of 'block:20:k6' must divide 256, the terms of a super-block"),
        ("granularity = 'block:256:k6'", "must divide 256, the terms of a super-block, and be smaller"),
        ("rule = 'tflite'", "unknown rule 'tflite' (available: onnxruntime, glow)"),
        ("calibrator = 3", "calibrator must be a name, or a table with a name and options, but got 3"),
    ]:
        path.write_text(f"[[rule]]\nstorage = 'i8'\n[[rule]]\n{text}\n")
        with pytest.raises(DiagnosticError) as error:
            read_rules(path)
        assert f"'{path}', rule 2" in str(error.value)
        assert message in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["rule = 3", "rule = [3]", "[rule]\nstorage = 'i8'"])
def test_rules_are_an_array_of_tables(text: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(DiagnosticError) as error:
        read_rules(path)
    assert f"'{path}': rule must be a list of tables, each written [[rule]]" in str(error.value)


def test_the_document_names_every_key_and_value() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    table = "\n".join(re.findall(r"^\| `.*", text, re.MULTILINE))
    kinds = (*scheme_names(), *Arithmetic, *Slot, *calibrator_names(), "tensor", "channel", "block:N")
    for name in (*kinds, "quantize", "origin", "op"):
        assert f"`{name}`" in table


def test_the_document_shows_its_recipe() -> None:
    shown = re.findall(r"```toml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    example = DOCUMENT.parents[1] / "examples" / "quantization.toml"
    assert tomllib.loads(example.read_text(encoding="utf-8")) in map(tomllib.loads, shown)
