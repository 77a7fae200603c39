"""A model divided between the device and the CPU gives the bits that the interpreter gives on the whole."""

from pathlib import Path

import numpy as np
import onnx.helper
import pytest
from qmlir_fxp.dialect.block import ConvBlockOp
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.dialects.func import FuncOp

import qmlir
from qmlir.environment import default_environment
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.target import find_target
from qmlir.targets.heterogeneous import HybridProgram
from qmlir.targets.lowering import emit_for, lower_for
from qmlir.workflows.partitioning import partition

EXAMPLES = Path(__file__).parents[4] / "docs" / "examples"


@pytest.fixture(scope="module")
def quantized() -> ModuleOp:
    model = qmlir.load(EXAMPLES / "digits_cnn.onnx", shapes={"input": (1, 1, 8, 8)})
    samples = np.load(EXAMPLES / "digits_samples.npz")["input"]
    return qmlir.quantize(model, {"input": samples}, device="fxp,cpu").module


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    return np.load(EXAMPLES / "digits_test.npz")["input"]


def _device_parts(module: ModuleOp) -> list[ModuleOp]:
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp) and "_fxp_" in op.sym_name.data]
    return [ModuleOp([function.clone()], attributes=dict(module.attributes)) for function in functions]


def test_the_device_gets_its_blocks_with_the_types_of_their_parts(quantized: ModuleOp) -> None:
    blocks = [op for op in quantized.walk() if isinstance(op, ConvBlockOp)]
    assert len(blocks) == 4  # stem, pw, r1, down: the depthwise ones are none
    for block in blocks:
        assert block.components is not None
        assert str(block.components.data["correlation"]).startswith("!quant.uniform<i24")
        assert str(block.components.data["sum"]).startswith("!quant.uniform<i16")
        assert str(block.weight.type).count("!quant.uniform<i4") == 1


def test_divided_it_computes_the_same(quantized: ModuleOp, images: np.ndarray) -> None:
    program = qmlir.compile(quantized, device="fxp,cpu")
    assert isinstance(program, HybridProgram)
    assert {step.target for step in program.steps} == {"fxp", "cpu"}
    for image in images[:8]:
        expected = qmlir.interpret(quantized, {"input": image[None]})
        found = program({"input": image[None]})
        np.testing.assert_array_equal(found["logits"], expected["logits"], strict=True)


def test_it_still_knows_the_digits(quantized: ModuleOp, images: np.ndarray) -> None:
    model = qmlir.load(EXAMPLES / "digits_cnn.onnx", shapes={"input": (1, 1, 8, 8)})
    same = 0
    for image in images[:40]:
        floats, integers = (qmlir.interpret(each, [image[None]])["logits"] for each in (model, quantized))
        same += int(floats.argmax() == integers.argmax())
    assert same >= 38  # weights of 4 bits that nobody trained for cost an image or two of 40


def test_no_float_on_the_device(quantized: ModuleOp) -> None:
    parts = _device_parts(partition(quantized, "fxp,cpu").module)
    assert len(parts) >= 2
    for part in parts:
        lowered = lower_for(find_target("fxp"), part)
        elements = {type_.get_element_type() for op in lowered.walk() for type_ in op.result_types}
        assert elements
        assert not any(isinstance(element, AnyFloat) for element in elements)
        environment = default_environment()
        PassManager(environment.new_context(), parse_pipeline("verify-integer-only", environment.passes)).run(lowered)


def test_the_text_of_a_program(quantized: ModuleOp) -> None:
    parts = _device_parts(partition(quantized, "fxp,cpu").module)
    text = emit_for(find_target("fxp"), lower_for(find_target("fxp"), parts[0]))
    assert isinstance(text, str)
    lines = text.splitlines()
    assert lines[0] == ".part main_fxp_0"
    assert {line.split()[0] for line in lines[1:]} == {"in", "data", "corr", "bias", "shift", "limit", "out"}
    correlation = next(line for line in lines if line.startswith("corr"))
    assert "i24 1x16x8x8 r0 r1 pads=1,1,1,1" in correlation
    assert "/stem/stem.0/Conv" in correlation


def test_the_block_as_an_onnx_operator(tmp_path: Path) -> None:
    weight = np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3) / 8
    node = onnx.helper.make_node(
        "ConvBlock", ["x", "w", "b"], ["y"], name="block1", domain="com.fxp", pads=[1, 1, 1, 1], maximum=6.0
    )
    graph = onnx.helper.make_graph(
        [node],
        "blocks",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 2, 4, 4])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 1, 4, 4])],
        [onnx.numpy_helper.from_array(weight, "w"), onnx.numpy_helper.from_array(np.ones(1, np.float32), "b")],
    )
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.fxp", 1)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10), tmp_path / "block.onnx")
    module = qmlir.load(tmp_path / "block.onnx")
    (block,) = (op for op in module.walk() if isinstance(op, ConvBlockOp))
    assert block.maximum is not None
    qmlir.export_onnx(module, tmp_path / "again.onnx")
    (again,) = onnx.load(tmp_path / "again.onnx").graph.node
    assert (again.domain, again.op_type) == ("com.fxp", "ConvBlock")
    assert str(qmlir.load(tmp_path / "again.onnx")) == str(module)


def test_qmlir_does_not_know_it() -> None:
    sources = list(Path(qmlir.__file__).parent.rglob("*.py"))
    assert len(sources) > 100
    assert [path for path in sources if "fxp" in path.read_text(encoding="utf-8")] == []
