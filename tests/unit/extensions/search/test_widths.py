"""Layers of other widths: the rules that make them, and the types that come of it."""

from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

import qmlir
from qmlir.dialects.quant.types import StoredType
from qmlir.extensions.search.choices import Width
from qmlir.extensions.search.widths import LayerwiseModel
from qmlir.ir.builtin_types import element_of
from qmlir.ir.provenance import origins_of
from qmlir.pipelines import QuantizeOptions
from qmlir.quantization import decisions
from qmlir.quantization.recipe import read_rules
from qmlir.quantization.recipe_text import RecipeText
from qmlir.quantization.report import coverage
from qmlir.quantization.retyping import refusal
from qmlir.workflows.quantizing import quantize
from tests.support.classifiers import classifier, samples


def profiled() -> ModuleOp:
    return quantize(qmlir.load(classifier()), {"x": samples()[0]}, validate=False).profiled


def products(module: ModuleOp) -> dict[str, str]:
    """What each layer multiplies."""
    return {row.key.partition("/")[0]: row.elements for row in coverage(module).rows if row.multiply_adds}


def test_the_layers_are_the_nodes_that_decide_something() -> None:
    layers = LayerwiseModel(profiled(), QuantizeOptions()).layers
    assert {name: layer.weights for name, layer in layers.items()} == {"fine": 8, "coarse[0]": 4}
    assert all(layer.may_be(width) for layer in layers.values() for width in Width)


@pytest.mark.parametrize(
    ("widths", "expected"),
    [
        ({}, {"fine": "i8 x i8", "coarse[0]": "i8 x i8"}),
        ({"fine": Width.NARROW}, {"fine": "i8 x i4", "coarse[0]": "i8 x i8"}),
        # What `coarse` takes is what `fine` gives.
        ({"fine": Width.WIDE}, {"fine": "i16 x i16", "coarse[0]": "i16 x i8"}),
        ({"coarse[0]": Width.WIDE}, {"fine": "i8 x i8", "coarse[0]": "i8 x i16"}),
        ({"fine": Width.FLOAT}, {"fine": "f32 x f32", "coarse[0]": "i8 x i8"}),
    ],
)
def test_a_width_is_that_of_one_layer(widths: dict[str, Width], expected: dict[str, str], tmp_path: Path) -> None:
    layered = LayerwiseModel(profiled(), QuantizeOptions(granularity="channel"))
    assert products(layered.quantized(widths)) == expected
    # The recipe alone does the same, from the model.
    path = tmp_path / "recipe.toml"
    path.write_text(layered.recipe_text(widths))
    again = qmlir.quantize(qmlir.load(classifier()), {"x": samples()[0]}, recipe=path).module
    assert products(again) == expected


def test_what_is_narrow_keeps_the_form_of_its_limits(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(LayerwiseModel(profiled(), QuantizeOptions()).recipe_text({"fine": Width.NARROW}))
    (rule,) = read_rules(path)
    assert (rule.settings["storage"].bits, rule.settings["storage"].limits) == (4, (-7, 7))
    path.write_text(
        LayerwiseModel(profiled(), QuantizeOptions(weights="u8", weight_scheme="asymmetric")).recipe_text(
            {"fine": Width.NARROW}
        )
    )
    (rule,) = read_rules(path)
    assert (rule.settings["storage"].is_signed, rule.settings["storage"].limits) == (False, None)


def test_rules_of_the_user_come_first_and_stay(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[[rule]]\norigin = "coarse*"\nslot = "weight"\nstorage = "i6"\n')
    layered = LayerwiseModel(profiled(), QuantizeOptions(recipe=RecipeText.of(own) or ""))
    assert products(layered.quantized({})) == {"fine": "i8 x i8", "coarse[0]": "i8 x i6"}
    assert layered.recipe_text({"coarse[0]": Width.NARROW}).startswith(own.read_text())
    assert products(layered.quantized({"coarse[0]": Width.NARROW})) == {"fine": "i8 x i8", "coarse[0]": "i8 x i4"}


def test_a_layer_that_does_not_take_16_bits_is_left_in_float(monkeypatch: pytest.MonkeyPatch) -> None:
    """No operation of ours refuses them today, one of another package may."""

    def refuses(op: Operation, operands: list[Attribute], results: list[Attribute]) -> str | None:
        is_wide = any("i16" in str(type_) for type_ in (*operands, *results))
        is_coarse = any(origin.name == "coarse[0]" for origin in origins_of(op))
        return "takes no 16 bits" if is_wide and is_coarse else refusal(op, operands, results)

    monkeypatch.setattr(decisions, "refusal", refuses)
    layered = LayerwiseModel(profiled(), QuantizeOptions())
    wanted = {"fine": Width.WIDE, "coarse[0]": Width.WIDE}
    found = layered.supported(wanted)
    assert found == {"fine": Width.WIDE, "coarse[0]": Width.FLOAT}
    assert products(layered.quantized(found)) == {"fine": "i16 x i16", "coarse[0]": "f32 x f32"}


def test_a_layer_of_open_length_decides_by_its_parts() -> None:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> net (float[time, 1, 3] x, float[1, 2, 3] w, float[1, 2, 2] r) => (y)'
        " { [rnn1] y, h = RNN <hidden_size = 2> (x, w, r) }"
    )
    random, shapes = np.random.default_rng(0), {"x": (4, 1, 3), "w": (1, 2, 3), "r": (1, 2, 2)}
    given = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    data = [{"x": given.pop("x")}]
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in given.items())
    del model.graph.input[1:]
    layered = LayerwiseModel(quantize(qmlir.load(model), data, validate=False).profiled, QuantizeOptions())
    assert [*layered.layers] == ["rnn1"]
    (layer,) = (op for op in layered.quantized({"rnn1": Width.NARROW}).walk() if op.name == "nn.rnn")
    assert [bits_of(each) for each in layer.operands] == [8, 4, 4]


def bits_of(value: SSAValue) -> int:
    element = element_of(value)
    assert isinstance(element, StoredType)
    return element.bits
