"""Trained models, quantized by ONNX Runtime's own tools in every form that these have, imported and compiled.

ONNX Runtime runs them without optimizations, exactly: as their unsigned twins. Every node with integers gives them out,
so that each is compared and not the last ones only. In the forms with operators on integers, and in the dynamic ones,
all are equal. In QDQ form ONNX Runtime adds floats up, in an order of its own, and rounds each real value to f32 before
it divides; we add up integers and round once. At a tie, or next to one, that gives the other neighbour: a layer that is
given the same integers is one step off at most. The same difference is between ONNX Runtime without its optimizations
and with them, which put operators on integers in the place of the casts.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper

import qmlir
from qmlir.extensions.bench.peers import FORMS, PeerForm, modern, quantize
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from tests.referee.onnxruntime.quantized_sheets import needs_onnxruntime
from tests.referee.onnxruntime.test_digits import MODELS, digits_input
from tests.support.sampled import sampled
from tests.support.unsigned_twins import run_exactly, unsigned_twin

pytestmark = [*needs_onnxruntime, pytest.mark.skipif(not MODELS.is_dir(), reason="the trained models are not here")]

Arrays = dict[str, np.ndarray]

SAMPLES, IMAGES = 64, 200
STATIC = [form for form in FORMS.values() if form.activations and not form.is_dynamic and not form.is_exact]
QDQ = [form.name for form in STATIC if not form.has_operators]
OPERATORS = [form.name for form in STATIC if form.has_operators]
DYNAMIC = [form.name for form in FORMS.values() if form.is_dynamic]
INTEGERS = ("QuantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "ConvInteger", "QGemm")

MOST_DIFFERENT = 0.01
"""The share of the integers of a layer that a tie may move."""

# Of an LSTM or a GRU, whose gates both compute in f32: a rounding may move one integer behind it by a step.
AFTER_FLOATS = 5e-3


def _images(model: str, count: int) -> np.ndarray:
    values = digits_input(model)
    return values[:count] if model in ("digits_mlp", "digits_cnn") else np.ascontiguousarray(values[:, :count])


def _quantized(folder: Path, model: str, form: PeerForm, per_channel: bool) -> ModelProto:
    """The model in that form; its integers are outputs, too."""
    source, target = folder / "float.onnx", folder / "quantized.onnx"
    onnx.save(modern(onnx.load(MODELS / f"{model}.onnx")), source)
    quantize(source, target, form, [{"input": _images(model, SAMPLES)}], per_channel=per_channel)
    found = onnx.load(target)
    given = {each.name for each in found.graph.output}
    for node in found.graph.node:
        if node.op_type in INTEGERS or node.op_type.startswith("QLinear"):
            names = [name for name in node.output if name and name not in given]
            found.graph.output.extend(map(helper.make_empty_tensor_value_info, names))
    return found


def _found(model: ModelProto, inputs: Arrays) -> Arrays:
    """What the program gives; its integers are those of the interpreter."""
    module = qmlir.load(model)
    found, interpreted = qmlir.compile(module, codegen="llvm")(inputs), qmlir.interpret(module, inputs)
    for name, array in interpreted.items():
        if array.dtype.kind in "iu":
            np.testing.assert_array_equal(found[name], array, err_msg=name)
    return found


def _assert_one_step(found: np.ndarray, wanted: np.ndarray, name: str) -> None:
    assert found.dtype == wanted.dtype, name
    steps = np.abs(found.astype(np.int64) - wanted.astype(np.int64))
    assert steps.max() <= 1, name
    assert np.mean(steps > 0) < MOST_DIFFERENT, name


def _given(model: ModelProto, integers: Arrays) -> ModelProto:
    """The model whose layers take the integers of the layers before them as inputs."""
    cut = ModelProto()
    cut.CopyFrom(model)
    made = {node.output[0] for node in cut.graph.node if node.op_type == "QuantizeLinear"}
    for name in sorted(made & set(integers)):
        element = helper.np_dtype_to_tensor_dtype(integers[name].dtype)
        cut.graph.input.append(helper.make_tensor_value_info(f"given:{name}", element, integers[name].shape))
    for node in cut.graph.node:
        for position, name in enumerate(node.input):
            if name in made:
                node.input[position] = f"given:{name}"
    return cut


@pytest.mark.parametrize(
    ("model", "form", "per_channel"), sampled(["digits_mlp", "digits_cnn"], OPERATORS, [False, True])
)
def test_operators_on_integers(model: str, form: str, per_channel: bool, tmp_path: Path) -> None:
    quantized, inputs = _quantized(tmp_path, model, FORMS[form], per_channel), {"input": _images(model, IMAGES)}
    wanted, found = run_exactly(quantized, inputs), _found(quantized, inputs)
    assert len(wanted) > 3
    for name, expected in wanted.items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name)


@pytest.mark.parametrize(("model", "form", "per_channel"), sampled(["digits_mlp", "digits_cnn"], QDQ, [False, True]))
def test_operations_between_casts(model: str, form: str, per_channel: bool, tmp_path: Path) -> None:
    quantized, inputs = _quantized(tmp_path, model, FORMS[form], per_channel), {"input": _images(model, IMAGES)}
    wanted = run_exactly(quantized, inputs)
    integers = {name: array for name, array in wanted.items() if array.dtype.kind in "iu"}
    assert len(integers) > 3
    by_layer = _given(quantized, integers)
    module = qmlir.load(by_layer)
    floats = [op.name for op in module.walk() if op.name in ("quant.qcast", "quant.dcast")]
    assert floats == ["quant.qcast", "quant.dcast"], "of the input and of the logits"
    found = _found(by_layer, {**inputs, **{f"given:{name}": array for name, array in integers.items()}})
    for name, expected in integers.items():
        _assert_one_step(found[name], expected, name)
    whole = qmlir.interpret(qmlir.load(quantized), inputs)
    _assert_one_step(whole["logits_QuantizeLinear_Output"], wanted["logits_QuantizeLinear_Output"], "logits")


@pytest.mark.parametrize(
    ("model", "form", "per_channel"),
    sampled(["digits_mlp", "digits_cnn", "digits_lstm", "digits_gru"], DYNAMIC, [False, True]),
)
def test_dynamic(model: str, form: str, per_channel: bool, tmp_path: Path) -> None:
    quantized, inputs = _quantized(tmp_path, model, FORMS[form], per_channel), {"input": _images(model, IMAGES)}
    wanted, found = run_exactly(quantized, inputs), _found(quantized, inputs)
    for name, expected in wanted.items():
        array: Any = found[name]
        assert array.dtype == expected.dtype, name
        if model in ("digits_mlp", "digits_cnn") and array.dtype.kind in "iu":
            np.testing.assert_array_equal(array, expected, err_msg=name)
        elif array.dtype.kind == "f":
            bound = AFTER_FLOATS if model in ("digits_lstm", "digits_gru") else 1e-6
            np.testing.assert_allclose(array, expected, rtol=0, atol=bound * np.abs(expected).max(), err_msg=name)


@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
@pytest.mark.parametrize("form", DYNAMIC)
def test_a_dynamic_lstm_leaves_as_it_came(form: str, per_channel: bool, tmp_path: Path) -> None:
    """In every session, the exported model gives the very floats of the model that came in.

    With its weights signed, they are those of the model itself, which saturates on CPUs without VNNI. By default the
    weights are unsigned, and the floats are those of the model's unsigned twin, which saturates nowhere.
    """
    quantized = _quantized(tmp_path, "digits_lstm", FORMS[form], per_channel)
    inputs = {"input": _images("digits_lstm", IMAGES)}
    module = qmlir.load(quantized)
    for exported, original in (
        (qmlir.export_onnx(module, exact=False), quantized),
        (qmlir.export_onnx(module), unsigned_twin(quantized)),
    ):
        assert "DynamicQuantizeLSTM" in [node.op_type for node in exported.graph.node]
        for options in (OrtOptions(optimization="none"), OrtOptions(), OrtOptions(is_exact=True)):
            wanted = OrtSession(original.SerializeToString(), options)(inputs, ["logits"])
            found = OrtSession(exported.SerializeToString(), options)(inputs, ["logits"])
            np.testing.assert_array_equal(found["logits"], wanted["logits"])
