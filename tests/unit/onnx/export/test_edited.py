"""An exported model that was edited is imported from its nodes; anything that is no edit leaves it the module."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.onnx.export.emission import Settings
from qmlir.onnx.metadata import keep, without_module
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text

MODULE = """
!x = !quant.uniform<i8:f32, 0.5:1>
!y = !quant.uniform<i8<-127:127>:f32, 0.75>
func.func @main(%x: tensor<4x!x> {nn.name = "x"}) -> (tensor<4x!y> {nn.name = "y"}) {
  %c = nn.constant dense<[1, 2, 3, 4]> : tensor<4xi8> -> tensor<4x!x> {origin = "c"}
  %0 = nn.add %x, %c : (tensor<4x!x>, tensor<4x!x>) -> tensor<4x!y> {STATS}
  %1 = nn.leaky_relu %0 {alpha = 0.25 : f32} : tensor<4x!y> {origin = "leaky"}
  func.return %1 : tensor<4x!y>
}
""".replace(
    "STATS", 'calib.stats = #calib.stats<min = -1.0, max = 2.0, mean = 0.5, std = 0.25, count = 8>, origin = "sum"'
)


def original() -> ModuleOp:
    return parse_module(default_environment().new_context(), MODULE, "module")


def exported() -> ModelProto:
    return qmlir.export_onnx(original())


def read(model: ModelProto | Path) -> tuple[str, str]:
    """The text of the module, and the diagnostics."""
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        module = qmlir.load(model)
    return module_text(module), "\n".join(map(str, said))


def entry(proto: object, key: str) -> object:
    (found,) = [each for each in proto.metadata_props if each.key == key]
    return found


def test_nothing_is_edited() -> None:
    assert read(exported()) == (module_text(original()), "")


def _scale(model: ModelProto) -> None:
    """The last quantization has another scale."""
    model.graph.initializer.append(numpy_helper.from_array(np.float32(0.125), "mine"))
    model.graph.node[-1].input[1] = "mine"


def _attribute(model: ModelProto) -> None:
    next(node for node in model.graph.node if node.op_type == "LeakyRelu").attribute[0].f = 0.5


def _constant(model: ModelProto) -> None:
    (tensor,) = [each for each in model.graph.initializer if each.name == "c"]
    tensor.raw_data = bytes([1, 2, 3, 5])


def _order(model: ModelProto) -> None:
    model.graph.node.insert(0, helper.make_node("Identity", ["x"], ["mine"]))


def _output(model: ModelProto) -> None:
    model.graph.node.append(helper.make_node("DequantizeLinear", ["y", "factor"], ["real"]))
    model.graph.initializer.append(numpy_helper.from_array(np.float32(2), "factor"))
    model.graph.output.append(helper.make_tensor_value_info("real", 1, [4]))


def _statistics(model: ModelProto) -> None:
    (info,) = [each for each in model.graph.value_info if any(e.key == "qmlir.max" for e in each.metadata_props)]
    entry(info, "qmlir.max").value = "7"


def _text(model: ModelProto) -> None:
    found = entry(model, "qmlir.module")
    found.value = found.value.replace("alpha = 0.25", "alpha = 0.5")


def _no_text(model: ModelProto) -> None:
    model.metadata_props.remove(entry(model, "qmlir.module"))


def _opset(model: ModelProto) -> None:
    model.opset_import[0].version = 22


EDITS = (_scale, _attribute, _constant, _order, _output, _statistics, _text, _no_text, _opset)


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_model_is_that_of_its_nodes(edit: Callable[[ModelProto], None]) -> None:
    model, plain = exported(), exported()
    edit(model)
    edit(plain)
    text, said = read(model)
    assert said == "remark: main was edited after qmlir exported it; it is imported from its nodes"
    assert text == read(without_module(plain))[0]


def test_edited_statistics_are_the_ranges_of_the_module() -> None:
    text = """func.func @main(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}) {
      %0 = nn.relu %x : tensor<4xf32>
        {calib.stats = #calib.stats<min = 0.0, max = 2.0, mean = 0.5, std = 0.25, count = 8>}
      %1 = nn.neg %0 : tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }"""
    model = qmlir.export_onnx(parse_module(default_environment().new_context(), text))
    _statistics(model)
    assert "max = 7.000000e+00, mean = 5.000000e-01" in read(model)[0]


def _inferred(model: ModelProto, path: Path) -> None:
    """Add what ONNX infers of the shapes, which the model says already."""
    onnx.save(onnx.shape_inference.infer_shapes(model), path)


def _external(model: ModelProto, path: Path) -> None:
    onnx.save(model, path, save_as_external_data=True, location="mine.data", size_threshold=0)


def _documented(model: ModelProto, path: Path) -> None:
    model.doc_string = "a model"
    model.metadata_props.add(key="author", value="who")
    onnx.save(model, path)


@pytest.mark.parametrize("store", [_inferred, _external, _documented])
def test_what_is_no_edit(store: Callable[[ModelProto, Path], None], tmp_path: Path) -> None:
    store(exported(), tmp_path / "model.onnx")
    text, said = read(tmp_path / "model.onnx")
    assert not said
    added = ' attributes {nn.description = {doc = "a model"}, nn.metadata = [["author", "who"]]}'
    assert (added in text) is (store is _documented)
    assert text.replace(added, "") == module_text(original())


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("", "'qmlir.export' is not JSON"),
        ("{}", "'qmlir.export' has no key 'version'"),
        ("[]", "must be an object"),
        ('{"version": 2}', "'qmlir.export' has no key 'digest'"),
    ],
)
def test_a_header_that_is_none(header: str, reason: str) -> None:
    model = exported()
    entry(model, "qmlir.export").value = header
    text, said = read(model)
    assert said.startswith("remark: main is imported from its nodes: ")
    assert reason in said
    assert "LeakyRelu" in text


def test_a_header_of_another_version() -> None:
    model = exported()
    entry(model, "qmlir.export").value = '{"version": 1, "form": "qdq"}'
    assert read(model)[1] == "remark: main was exported by another version of qmlir; it is imported from its nodes"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("module {", "in block definition"),
        ("func.func @main() { func.return }\n{", ""),
        ('%0 = "nn.nothing"() : () -> f32', "nn.nothing"),
        (
            '%0 = nn.constant #nn.weights<"initializers", "c", ""> : tensor<5xi8>',
            "must have 5 bytes (tensor<5xi8>), but got 4",
        ),
        ('%0 = nn.constant #nn.weights<"initializers", "d", ""> : tensor<4xi8>', "the model has no tensor 'd'"),
        ('%0 = nn.constant #nn.weights<"c.safetensors", "c", ""> : tensor<4xi8>', "the model has no tensor 'c'"),
    ],
)
def test_a_text_that_is_no_module(text: str, reason: str) -> None:
    """Whoever writes the text can write the digest: the text is read as that of any module."""
    model = exported()
    del model.metadata_props[:]
    keep(model, text, Settings())
    found, said = read(model)
    assert said.startswith("remark: main is imported from its nodes: ")
    assert reason in said
    assert "nn.leaky_relu" in found


def test_an_order_that_is_none() -> None:
    model = exported()
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    with pytest.raises(DiagnosticError, match="; sort the nodes of the graph topologically"):
        read(model)
