"""What is asked of a model before it is imported: models that are refused, each with the line that says why."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper, save

from tests.support.wrong_models import model_of, node_of, refused


def _mapped() -> NodeProto:
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("a", "c")]
    body = helper.make_graph([helper.make_node("Add", ["a", "c"], ["b"])], "body", infos, [])
    body.output.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, [2]))
    return node_of("SequenceMap", ["x", ""], body=body)


def _twice(node: NodeProto) -> ModelProto:
    node.attribute.append(node.attribute[0])
    return model_of([node])


def _referring(name: str) -> NodeProto:
    node = node_of("LeakyRelu", ["x"], **{name: 0.5})
    node.attribute[0].ClearField("f")
    node.attribute[0].ref_attr_name = "slope"
    return node


def _microsoft(op_type: str, inputs: Sequence[str], **attributes: Any) -> NodeProto:
    return node_of(op_type, inputs, domain="com.microsoft", **attributes)


def _declared(model: ModelProto, name: str, element: int) -> ModelProto:
    model.graph.value_info.append(helper.make_tensor_value_info(name, element, None))
    return model


def _two_versions(model: ModelProto) -> ModelProto:
    model.opset_import.append(helper.make_opsetid("ai.onnx", 20))
    return model


def _calls(name: str, called: str) -> FunctionProto:
    nodes = [helper.make_node(called, ["a"], [result], domain="local") for result in ("b", "c")]
    return helper.make_function("local", name, ["a"], ["b"], nodes, [helper.make_opsetid("local", 1)])


def _doubling(levels: int) -> ModelProto:
    """Each function calls the next one twice, the last one is a node: a few kilobytes that become 2^levels nodes."""
    model = model_of([node_of("f0", ["x"], domain="local")])
    model.functions.extend(_calls(f"f{level}", f"f{level + 1}") for level in range(levels))
    last = helper.make_function(
        "local", f"f{levels}", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 21)]
    )
    model.functions.append(last)
    return model


def _calling_itself() -> ModelProto:
    model = model_of([node_of("f", ["x"], domain="local")])
    model.functions.append(_calls("f", "f"))
    return model


RELU = node_of("Relu", ["x"])
ADD = node_of("Add", ["x", "w"])
PARAMETERS = [
    numpy_helper.from_array(array, name)
    for name, array in {"s": np.float32(0.5), "i": np.int8(0), "u": np.uint8(0)}.items()
]

WRONG_MODELS: dict[str, tuple[ModelProto, str]] = {
    "misspelt attribute": (
        model_of([node_of("LeakyRelu", ["x"], alfa=0.5)]),
        "LeakyRelu node 'n1': has no attribute 'alfa'; did you mean 'alpha'? (available: 'alpha')",
    ),
    "attribute of another operator": (
        model_of([node_of("Relu", ["x"], axis=1)]),
        "Relu node 'n1': has no attribute 'axis' (available: none)",
    ),
    "attribute of a newer version": (
        model_of([node_of("ReduceSumSquare", ["x"], axes=[0])]),
        "ReduceSumSquare node 'n1': has no attribute 'axes' (available: 'keepdims', 'noop_with_empty_axes')",
    ),
    "missing attribute": (
        model_of([node_of("Concat", ["x", "x"])]),
        "Concat node 'n1': missing attribute 'axis' (int)",
    ),
    "attribute of another type": (
        model_of([node_of("Concat", ["x", "x"], axis=1.0)]),
        "Concat node 'n1': attribute 'axis' must be int, but got float",
    ),
    "attribute given twice": (
        _twice(node_of("LeakyRelu", ["x"], alpha=0.5)),
        "LeakyRelu node 'n1': duplicate attribute 'alpha'",
    ),
    "attribute without a name": (
        model_of([node_of("Relu", ["x"], **{"": 1})]),
        "Relu node 'n1': has no attribute ''",
    ),
    "attribute of a function outside of one": (
        model_of([_referring("alpha")]),
        "LeakyRelu node 'n1': attribute 'alpha' refers to function attribute 'slope' outside of a function",
    ),
    "attribute that is not a text": (
        model_of([node_of("Gelu", ["x"], approximate=b"t\xff")]),
        "Gelu node 'n1': attribute 'approximate' must be UTF-8 text, but got b't\\xff'",
    ),
    "attribute of a quantized operator of ONNX Runtime": (
        model_of([_microsoft("QLinearLeakyRelu", ["x", "x", "x", "x"], alfa=0.5)]),
        "com.microsoft.QLinearLeakyRelu node 'n1': has no attribute 'alfa'; did you mean 'alpha'?",
    ),
    "too few inputs of a quantized operator of ONNX Runtime": (
        model_of([_microsoft("QLinearAdd", ["x", "x", "x"])]),
        "com.microsoft.QLinearAdd node 'n1': expected 7 to 8 inputs, but got 3",
    ),
    "types of a quantized operator of ONNX Runtime": (
        model_of([_microsoft("QLinearLeakyRelu", ["x", "x", "", "x"])]),
        "input 0 ('X') must be one of tensor(int8), tensor(uint8), but got tensor(float)",
    ),
    "too few inputs": (model_of([node_of("Where", ["x"])]), "Where node 'n1': expected 3 inputs, but got 1"),
    "no inputs": (model_of([node_of("Relu", [])]), "Relu node 'n1': expected 1 inputs, but got 0"),
    "too many inputs": (model_of([node_of("Relu", ["x", "x"])]), "Relu node 'n1': expected 1 inputs, but got 2"),
    "two inputs of one name": (
        model_of([RELU], inputs=[helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])] * 2),
        "'x' has been used as graph input names multiple times",
    ),
    "two initializers of one name": (
        model_of([ADD], initializers=[numpy_helper.from_array(np.ones(3, np.float32), "w")] * 2),
        "w initializer name is not unique",
    ),
    "zero point of another type": (
        model_of(
            [node_of("QLinearMatMul", ["q", "s", "i", "q", "s", "u", "s", "u"])],
            inputs=[helper.make_tensor_value_info("q", TensorProto.UINT8, [3, 3])],
            initializers=PARAMETERS,
        ),
        "QLinearMatMul node 'n1': inputs 'a' and 'a_zero_point' must have one type, but got tensor(uint8) "
        "and tensor(int8)",
    ),
    "shape of floats": (
        model_of([node_of("Reshape", ["x", "s"])], initializers=PARAMETERS),
        "Reshape node 'n1': input 1 ('shape') must be one of tensor(int64), but got tensor(float)",
    ),
    "shape without axes": (
        model_of([node_of("Reshape", ["x", "six"])], initializers=[numpy_helper.from_array(np.array(6), "six")]),
        "Reshape node 'n1': shape must be a vector, but got tensor<i64>",
    ),
    "declared output type": (
        model_of([node_of("Shape", ["x"])]),
        "output 'y' is declared as tensor(float), but is tensor(int64)",
    ),
    "declared type between nodes": (
        _declared(model_of([node_of("Relu", ["x"], "n0", "h"), node_of("Relu", ["h"])]), "h", TensorProto.INT64),
        "Relu node 'n0': 'h' is declared as tensor(int64), but the node returns tensor(float)",
    ),
    "dropped operator": (
        model_of([node_of("Upsample", ["x", "s"])], initializers=PARAMETERS),
        "Upsample node 'n1': operator set 21 no longer has this operator",
    ),
    "operator of a newer set": (
        model_of([node_of("Gelu", ["x"])], opset=19),
        "Gelu node 'n1': operator set 19 has no such operator, which is there from 20 on",
    ),
    "definition that ONNX gives for other inputs only": (
        model_of([_mapped()], inputs=[helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, [2])], opset=17),
        "SequenceMap node 'n1': ONNX does not define this operator for these inputs: Input 1 expected but not provided",
    ),
    "operator set in two versions": (
        _two_versions(model_of([RELU])),
        "the model imports operator set '' twice, in versions 21 and 20",
    ),
    "operator set 0": (model_of([RELU], opset=0), "the version of operator set '' must be at least 1, but got 0"),
    "old operator set, undefined input": (
        model_of([node_of("Relu", ["gone"])], opset=6),
        "Relu node 'n1': tensor 'gone' is not defined",
    ),
    "nodes out of order": (
        model_of([node_of("Relu", ["h"]), node_of("Relu", ["x"], "n0", "h")]),
        "Relu node 'n1': uses 'h', which is defined later by Relu node 'n0'; sort the nodes of the graph topologically",
    ),
    "absurd rank": (
        model_of(
            [ADD], initializers=[TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1] * 33, raw_data=bytes(4))]
        ),
        "tensor 'w' has 33 axes, more than 32",
    ),
    "absurd rank of an input": (
        model_of([RELU], inputs=[helper.make_tensor_value_info("x", TensorProto.FLOAT, [1] * 33)]),
        "input 'x' has 33 axes, more than 32",
    ),
    "absurd rank of a result": (
        model_of(
            [node_of("Unsqueeze", ["x", "axes"])],
            initializers=[numpy_helper.from_array(np.arange(70), "axes")],
        ),
        "Unsqueeze node 'n1': returns a tensor of 72 axes, more than 32",
    ),
    "list of axes of absurd length": (
        model_of(
            [node_of("Unsqueeze", ["x", "axes"])],
            inputs=[
                helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
                helper.make_tensor_value_info("axes", TensorProto.INT64, [2**32]),
            ],
        ),
        "Unsqueeze node 'n1': expected at most 32 axes, but got 4294967296 axes",
    ),
    "absurd size of an input": (
        model_of([RELU], inputs=[helper.make_tensor_value_info("x", TensorProto.FLOAT, [2**32, 2**32])]),
        "input 'x' has the shape [4294967296, 4294967296], more than 8589934592 elements",
    ),
    "functions that double": (
        _doubling(40),
        "the model has more than 1048576 nodes after inlining its functions",
    ),
    "functions that call each other": (_calling_itself(), "Cycle detected in model-local function references"),
    "unused node that is wrong": (
        model_of([RELU, node_of("Concat", ["x", "x"], "n2", "z")]),
        "Concat node 'n2': missing attribute 'axis' (int)",
    ),
}


@pytest.mark.parametrize("what", WRONG_MODELS)
def test_wrong_model(what: str, tmp_path: Path) -> None:
    model, message = WRONG_MODELS[what]
    save(model, tmp_path / "model.onnx")
    said = refused(tmp_path / "model.onnx")
    assert said.startswith("error: ")
    assert message in said


@pytest.mark.parametrize("position", ["op_type", "domain", "name", "input", "output", "attribute", "graph", "metadata"])
def test_names_that_are_no_text(position: str, tmp_path: Path) -> None:
    """`NAME` wherever a name stands, and then bytes that are no UTF-8 in its place."""
    node = node_of("Relu", ["x"])
    model = model_of([node])
    node = model.graph.node[0]
    if position == "input":
        node.input[0] = model.graph.input[0].name = "NAME"
    elif position == "output":
        node.output[0] = model.graph.output[0].name = "NAME"
    elif position == "attribute":
        node.attribute.append(helper.make_attribute("NAME", 1))
    elif position == "graph":
        model.graph.name = "NAME"
    elif position == "metadata":
        model.metadata_props.add(key="NAME", value="")
    else:
        setattr(node, position, "NAME")
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString().replace(b"NAME", b"N\xff\xfeE"))
    said = refused(path)
    assert "b'N\\xff\\xfeE' of a" in said
    assert "must be UTF-8 text" in said
