"""Metadata of an exported model is taken up where it agrees with the graph, and never trusted over it."""

from collections.abc import Callable

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper

import qmlir
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
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


def exported() -> ModelProto:
    return qmlir.export_onnx(parse_module(default_environment().new_context(), MODULE, "module"))


def read(model: ModelProto) -> tuple[str, str]:
    """The text of the module, and what was warned of."""
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        module = qmlir.load(model)
    return module_text(module), "\n".join(map(str, said))


def entry(proto: object, key: str) -> object:
    (found,) = [each for each in proto.metadata_props if each.key == key]
    return found


def first(model: ModelProto, name: str) -> object:
    """The first node of the operation of that origin."""
    return next(
        node
        for node in model.graph.node
        if any(each.key == "qmlir.attribute.origin" and each.value == f'"{name}"' for each in node.metadata_props)
    )


def test_nothing_is_edited() -> None:
    text, said = read(exported())
    assert "nn.leaky_relu" in text
    assert "i8<-127:127>" in text
    assert "calib.stats" in text
    assert not said


def _scale(model: ModelProto) -> None:
    """The last quantization has another scale."""
    node = model.graph.node[-1]
    tensor = next(each for each in model.graph.initializer if each.name == node.input[1])
    copy = numpy_helper.from_array(np.float32(0.125), "mine")
    assert tensor.dims == copy.dims
    model.graph.initializer.append(copy)
    node.input[1] = "mine"


def _attribute(model: ModelProto) -> None:
    node = next(node for node in model.graph.node if node.op_type == "LeakyRelu")
    node.attribute[0].f = 0.5


def _property(model: ModelProto) -> None:
    entry(first(model, "leaky"), "qmlir.property.alpha").value = "0.5 : f32"


def _operation(model: ModelProto) -> None:
    entry(first(model, "leaky"), "qmlir.operation").value = "nn.elu"


def _nonsense(model: ModelProto) -> None:
    entry(first(model, "leaky"), "qmlir.property.alpha").value = "]["


def _operands(model: ModelProto) -> None:
    entry(first(model, "leaky"), "qmlir.operands").value = "7"


@pytest.mark.parametrize("edit", [_scale, _attribute, _property, _operation, _nonsense, _operands])
def test_the_graph_decides(edit: Callable[[ModelProto], None]) -> None:
    model = exported()
    edit(model)
    text, said = read(model)
    assert "nn.add" in text  # what was not edited is the operation that it was
    assert "calib.stats" in text
    assert 'origin = "sum"' in text
    assert "main: ignoring metadata that does not match the graph:" in said
    stripped = exported()
    edit(stripped)
    for node in stripped.graph.node:
        del node.metadata_props[:]
    del stripped.metadata_props[:]
    x = np.array([-120, -3, 5, 100], np.int8)
    assert [array.tolist() for array in qmlir.interpret(qmlir.load(model), [x]).values()] == [
        array.tolist() for array in qmlir.interpret(qmlir.load(stripped), [x]).values()
    ]


def test_edited_statistics_are_left_out() -> None:
    model = exported()
    (info,) = [each for each in model.graph.value_info if any(e.key == "qmlir.max" for e in each.metadata_props)]
    entry(info, "qmlir.max").value = "7"
    text, said = read(model)
    assert "calib.stats" not in text
    assert "nn.add" in text
    assert "the statistics of" in said


def test_an_edited_type_is_left_out() -> None:
    model = exported()
    entry(model.graph.output[0], "qmlir.type").value = "tensor<4x!quant.uniform<i8:f32, 3.0>>"
    text, said = read(model)
    assert "3.000000e+00" not in text
    assert "nn.add" in text
    assert "leaky" in said


def test_a_constant_beyond_its_type() -> None:
    model = exported()
    tensor = next(each for each in model.graph.initializer if each.name == "c")
    info = next(each for each in model.graph.value_info if each.name == "c")
    entry(info, "qmlir.type").value = "tensor<4x!quant.uniform<i8<-2:2>:f32, 0.5:1>>"
    text, said = read(model)
    assert "main: ignoring metadata that does not match the graph: c (tensor 'c'" in said
    assert "<-2:2>" not in text
    assert tensor.dims == [4]


def test_a_node_that_somebody_added() -> None:
    model = exported()
    graph = model.graph
    graph.node.append(helper.make_node("Identity", ["y"], ["other"], "mine"))
    graph.node.append(helper.make_node("DequantizeLinear", ["y", "factor"], ["real"], "mine2"))
    graph.initializer.append(numpy_helper.from_array(np.float32(2), "factor"))
    graph.output.append(helper.make_tensor_value_info("real", 1, [4]))
    text, said = read(model)
    assert "nn.leaky_relu" in text
    assert "quant.dcast" in text
    assert "the function" in said  # its outputs are others


@pytest.mark.parametrize("header", ["", "{}", "[]", '{"form": "other"}', '{"form": "qdq", "opset": 22}'])
def test_a_header_of_another_version(header: str) -> None:
    model = exported()
    entry(model, "qmlir.export").value = header
    text, said = read(model)
    assert "main: ignoring its metadata, whose version is unsupported" in said
    assert "LeakyRelu" in text  # as any other model


def test_an_order_that_is_none() -> None:
    model = exported()
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    with pytest.raises(DiagnosticError, match="; sort the nodes of the graph topologically"):
        read(model)
