"""Quantizing for targets, end to end: defaults and limits from their descriptions, reasons, and equal numbers."""

from collections.abc import Iterator

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.target.attributes import TARGETS, targets_of
from qmlir.environment import plugins
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, diagnostic_handler
from qmlir.quantization.report import coverage
from qmlir.text.printing import module_text

_RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def _plugged() -> Iterator[None]:
    with plugins(["tests.support.targets:CONTRIBUTION"]):
        yield


def _constant(name: str, *shape: int) -> TensorProto:
    return numpy_helper.from_array(_RNG.normal(size=shape).astype(np.float32), name)


@pytest.fixture(scope="module")
def model() -> ModuleOp:
    """Two layers with biases, and a softmax, which the device has not."""
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], "fc1", transB=1),
        helper.make_node("Relu", ["h"], ["r"], "relu1"),
        helper.make_node("Gemm", ["r", "w2", "b2"], ["s"], "fc2", transB=1),
        helper.make_node("Softmax", ["s"], ["y"], "prob"),
    ]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size]) for name, size in (("x", 8), ("y", 3))]
    constants = [_constant("w1", 6, 8), _constant("b1", 6), _constant("w2", 3, 6), _constant("b2", 3)]
    graph = helper.make_graph(nodes, "net", ports[:1], ports[1:], constants)
    return qmlir.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


@pytest.fixture(scope="module")
def data() -> dict[str, np.ndarray]:
    return {"x": _RNG.uniform(-1, 1, (32, 8)).astype(np.float32)}


def _without_targets(module: ModuleOp) -> str:
    module.attributes.pop(TARGETS, None)
    return module_text(module)


def test_the_cpu_by_name_is_what_nobody_named(model: ModuleOp, data: dict[str, np.ndarray]) -> None:
    named = qmlir.quantize(model, data, device="cpu").module
    assert [each.name for each in targets_of(named)] == ["cpu"]
    assert _without_targets(named) == module_text(qmlir.quantize(model, data).module)


def test_the_device_decides_and_the_host_takes_the_rest(model: ModuleOp, data: dict[str, np.ndarray]) -> None:
    quantized = qmlir.quantize(model, data, device=["toy", "cpu"]).module
    text = module_text(quantized)
    assert [each.name for each in targets_of(quantized)] == ["toy", "cpu"]
    assert "#kernel.requantize<shift, even>" in text
    assert "!quant.uniform<i4:f32:" in text
    assert "!quant.uniform<i16:f32, " in text
    assert "nn.softmax" in text
    assert not coverage(quantized).left_in_float


def test_a_device_alone_leaves_in_float_what_it_does_not_compute(model: ModuleOp, data: dict[str, np.ndarray]) -> None:
    quantized = qmlir.quantize(model, data, device="toy").module
    assert "nn.exp" not in module_text(quantized)
    left = coverage(quantized).left_in_float
    assert {row.key for row in left} == {"prob"}


def test_what_is_said_wins_where_the_target_has_it(model: ModuleOp, data: dict[str, np.ndarray]) -> None:
    narrow = module_text(qmlir.quantize(model, data, device="toy,cpu", activations="i8<-100:100>").module)
    assert "!quant.uniform<i8<-100:100>:f32, " in narrow
    with pytest.raises(
        DiagnosticError, match=r"weight storage i8 \(by the option weights=i8\), but target 'toy' supports i4"
    ):
        qmlir.quantize(model, data, device="toy", weights="i8")
    remarks: list[Diagnostic] = []
    with diagnostic_handler(remarks.append):
        qmlir.quantize(model, data, device="toy,cpu", weights="i8")
    texts = [str(each) for each in remarks if each.severity is Severity.REMARK]
    assert any("is assigned to target 'cpu': its rules ask for weight storage i8" in text for text in texts)


def test_a_module_that_names_its_targets_needs_no_setting(model: ModuleOp, data: dict[str, np.ndarray]) -> None:
    marked = model.clone()
    marked.attributes[TARGETS] = qmlir.quantize(model, data, device="toy,cpu").module.attributes[TARGETS]
    asked = qmlir.quantize(model, data, device="toy,cpu")
    assert module_text(qmlir.quantize(marked, data).module) == module_text(asked.module)


def test_passes_that_a_target_wants_run_for_it_alone(model: ModuleOp, data: dict[str, np.ndarray]) -> None:
    assert "origin = " not in module_text(qmlir.quantize(model, data, device="staged,cpu").module)
    assert "origin = " in module_text(qmlir.quantize(model, data, device="toy,cpu").module)
    message = r"target 'misplaced': unknown pipeline point 'quantize.decided.before'; did you mean 'quantize.decide"
    with pytest.raises(DiagnosticError, match=message):
        qmlir.quantize(model, data, device="misplaced")


def test_programs_of_both_compute_what_the_interpreter_computes(model: ModuleOp, data: dict[str, np.ndarray]) -> None:
    quantized = qmlir.quantize(model, data, device="toy,cpu").module
    inputs = {"x": data["x"][:1]}
    expected = qmlir.interpret(quantized, inputs)
    for target in ("cpu", "toy,cpu"):
        found = qmlir.compile(quantized, device=target, codegen="llvm")(inputs)
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            assert array.tobytes() == found[name].tobytes(), name


def test_a_device_of_products_has_them_apart_and_changes_no_number(
    model: ModuleOp, data: dict[str, np.ndarray]
) -> None:
    """What the preferred device computes of a layer stays apart for it; the types are those that the host decides."""
    apart, whole = (qmlir.quantize(model, data, device=target).module for target in ("products,cpu", "cpu,products"))
    (report,) = qmlir.partition(apart).reports
    assert [(part.target, part.operations) for part in report.parts] == [("products", 1), ("products", 1)]
    stays = {each.node: each.reason for each in report.stays if each.operation == "nn.add"}
    assert stays == dict.fromkeys(("fc1/bias_add", "fc2/bias_add"), "target 'products' does not support it")
    assert " nn.fully_connected " not in module_text(apart)
    assert " nn.matmul " not in module_text(whole)
    found, expected = (qmlir.interpret(each, data) for each in (qmlir.partition(apart).module, whole))
    assert found["y"].tobytes() == expected["y"].tobytes()


def test_unknown_names(model: ModuleOp, data: dict[str, np.ndarray]) -> None:
    for call in (lambda: qmlir.quantize(model, data, device="cpx").module, lambda: qmlir.compile(model, device="cpx")):
        with pytest.raises(DiagnosticError, match=r"unknown target 'cpx'; did you mean 'cpu'\? \(available: "):
            call()
