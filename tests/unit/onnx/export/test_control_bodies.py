"""Choices and loops on quantized values, in every form of export: valid models that give our integers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.onnx.export import check_exported
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from qmlir.text.parsing import parse_module

pytest.importorskip("onnxruntime")

STATES = [f"{sign}{bits}" for bits in (2, 4, 7, 8, 12, 16) for sign in "iu"]
"""The storage of the values that branches return and loops carry."""

WEIGHTS = ("i8", "u8", "i4")

SETTINGS: list[dict[str, Any]] = [
    {"format": form, **more}
    for form in ("qdq", "qoperator", "integer")
    for more in ({}, {"signed": True}, {"exact": True}, {"exact": False})
]

INSIDE = {
    "relu": "nn.relu @ : tensor<2x3x!s>",
    "add": "nn.add @, %outer : tensor<2x3x!s>",
    "product": "nn.matmul @, %w : (tensor<2x3x!s>, tensor<3x3x!w>) -> tensor<2x3x!s>",
    "sigmoid": "nn.sigmoid @ : tensor<2x3x!s>",
    "max": "nn.max @, %outer : tensor<2x3x!s>",
    "neg": "nn.neg @ : tensor<2x3x!s>",
}

IF = """
  %r = scf.if %b -> (tensor<2x3x!s>) {
    %then = THEN
    scf.yield %then : tensor<2x3x!s>
  } else {
    %else = ELSE
    scf.yield %else : tensor<2x3x!s>
  }"""

FOR = """
  %r = scf.for %i = %zero to %three step %one iter_args(%state = %begin) -> (tensor<2x3x!s>) {
    %next = THEN
    scf.yield %next : tensor<2x3x!s>
  }"""

NESTED = """
  %r = scf.for %i = %zero to %three step %one iter_args(%state = %begin) -> (tensor<2x3x!s>) {
    %next = THEN
    %chosen = scf.if %b -> (tensor<2x3x!s>) {
      %then = ELSE
      scf.yield %then : tensor<2x3x!s>
    } else {
      scf.yield %next : tensor<2x3x!s>
    }
    scf.yield %chosen : tensor<2x3x!s>
  }"""

WHILE = """
  %r = scf.while (%go = %c, %carried = %begin) : (tensor<i1>, tensor<2x3x!s>) -> (tensor<2x3x!s>) {
    %goes = tensor.extract %go[] : tensor<i1>
    scf.condition(%goes) %carried : tensor<2x3x!s>
  } do {
  ^bb0(%state: tensor<2x3x!s>):
    %next = THEN
    %no = nn.constant dense<false> : tensor<i1>
    scf.yield %no, %next : tensor<i1>, tensor<2x3x!s>
  }"""


def _drawn(seed: int, state: str) -> ModuleOp:
    """A choice, a loop or a choice in a loop, between products of the same type."""
    random = np.random.default_rng([31, seed])
    weight, bits = str(random.choice(WEIGHTS)), int(state[1:])
    is_signed = state[0] == "i"
    zero_point = int(random.integers(0, 1 << (bits - 1))) - (1 if is_signed else 0)
    step = 2.0 / (1 << bits)
    first, second = (INSIDE[str(random.choice(list(INSIDE)))] for _ in range(2))
    control = str(random.choice([IF, FOR, NESTED, WHILE]))
    inner = "%state" if "%state" in control else "%begin"
    numbers = random.integers(-7, 8, (3, 3)) + (8 if weight[0] == "u" else 0)
    held = weight.replace("u", "ui")
    text = f"""
!s = !quant.uniform<{state}:f32, {step}:{zero_point}>
!w = !quant.uniform<{weight}:f32, 0.125:{8 if weight[0] == "u" else 0}>
func.func @main(%x: tensor<2x3xf32>, %c: tensor<i1>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {{
  %w = nn.constant dense<{numbers.tolist()}> : tensor<3x3x{held}> -> tensor<3x3x!w>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %b = tensor.extract %c[] : tensor<i1>
  %outer = quant.qcast %x : tensor<2x3xf32> to tensor<2x3x!s>
  %begin = nn.matmul %outer, %w : (tensor<2x3x!s>, tensor<3x3x!w>) -> tensor<2x3x!s>
  {control.replace("THEN", first.replace("@", inner)).replace("ELSE", second.replace("@", inner))}
  %after = nn.matmul %r, %w : (tensor<2x3x!s>, tensor<3x3x!w>) -> tensor<2x3x!s>
  %y = quant.dcast %after : tensor<2x3x!s> to tensor<2x3xf32>
  %z = quant.dcast %r : tensor<2x3x!s> to tensor<2x3xf32>
  func.return %y, %z : tensor<2x3xf32>, tensor<2x3xf32>
}}"""
    return parse_module(default_environment().new_context(), text)


def _check(seed: int, state: str, settings: dict[str, Any]) -> None:
    """Sessions with optimizations and without them give our integers; `exact = False` promises a valid model only."""
    module = _drawn(seed, state)
    model = qmlir.export_onnx(module, **settings)
    for optimization in ("none", "all"):
        session = OrtSession(model.SerializeToString(), OrtOptions(optimization=optimization, is_exact=True))
        x = np.random.default_rng(seed).uniform(-1.2, 1.2, (2, 3)).astype(np.float32)
        for chosen in (True, False):
            inputs = [x, np.array(chosen)]
            names = [port.name for port in model.graph.input]
            found = session(dict(zip(names, inputs, strict=True)))
            if settings.get("exact") is False:
                continue
            for name, array in qmlir.interpret(module, inputs).items():
                assert np.array_equal(found[name], array), (seed, state, settings, optimization)


@pytest.mark.parametrize("seed", range(len(STATES)))
def test_quantized_bodies(seed: int) -> None:
    for settings in SETTINGS[seed % 3 :: 3]:
        _check(seed, STATES[seed], settings)


@pytest.mark.sweep
@pytest.mark.parametrize("state", STATES)
def test_many_quantized_bodies(state: str) -> None:
    for seed in range(100, 130):
        for settings in SETTINGS:
            _check(seed, state, settings)


def test_operator_sets_of_branches_are_imported() -> None:
    """A QGemm of ONNX Runtime, and nothing of that domain outside of the branch."""
    text = """
!u = !quant.uniform<u8:f32, 0.02:128>
!w = !quant.uniform<i8:f32, 0.03>
func.func @main(%x: tensor<2x3x!u>, %c: tensor<i1>) -> tensor<2x3x!u> {
  %w = nn.constant dense<[[1, 2, 3], [-4, 5, -6], [7, -8, 9]]> : tensor<3x3xi8> -> tensor<3x3x!w>
  %b = tensor.extract %c[] : tensor<i1>
  %r = scf.if %b -> (tensor<2x3x!u>) {
    %0 = nn.fully_connected %x, %w : (tensor<2x3x!u>, tensor<3x3x!w>) -> tensor<2x3x!u>
    scf.yield %0 : tensor<2x3x!u>
  } else {
    scf.yield %x : tensor<2x3x!u>
  }
  func.return %r : tensor<2x3x!u>
}"""
    module = parse_module(default_environment().new_context(), text)
    model = qmlir.export_onnx(module, format="qoperator")
    assert {node.domain for node in model.graph.node} == {""}
    assert "com.microsoft" in {each.domain for each in model.opset_import}


def _invalid() -> ModelProto:
    """A Relu of integers where a float is declared."""
    ports = [helper.make_tensor_value_info(name, kind, [2]) for name, kind in (("x", TensorProto.INT8), ("y", 1))]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ports[:1], ports[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def test_an_invalid_model_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qmlir.onnx.export.export_model", lambda *arguments, **settings: _invalid(), raising=False)
    path = tmp_path / "m.onnx"
    path.write_bytes(b"older")
    with pytest.raises(DiagnosticError, match="the exported model is invalid and was not written: Inference"):
        qmlir.export_onnx(_drawn(0, "i8"), path)
    assert [each.name for each in tmp_path.iterdir()] == ["m.onnx"]
    assert path.read_bytes() == b"older"


def test_large_models_are_checked_without_their_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qmlir.onnx.checking.LARGEST_CHECKED_WHOLE", 0)
    monkeypatch.setattr("qmlir.onnx.checking._KEPT_BYTES", 0)
    model = qmlir.export_onnx(_drawn(0, "i8"))
    assert check_exported(model) is None
    model.graph.node[0].op_type = "Reluu"
    with pytest.raises(DiagnosticError, match="the exported model is invalid and was not written:"):
        check_exported(model)
