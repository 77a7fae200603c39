"""Reading of LiteRT files: found by suffix, and malformed files are one line."""

from pathlib import Path

import numpy as np
import pytest

import qmlir
from qmlir.extensions.litert import files
from qmlir.extensions.litert.flatbuffer import FileBuffer, MalformedError
from qmlir.ir.diagnostics import DiagnosticError
from tests.support.litert_cases import CASES
from tests.support.litert_models import LiteCall, LiteValue, lite_model

MODELS = [
    CASES[name](np.random.default_rng(1)).model for name in ("CONV_2D", "SPLIT", "SQUEEZE", "STRIDED_SLICE", "ADD")
]
HOSTILE = (0, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000)


def _mutated(random: np.random.Generator) -> bytes:
    """Returns a model that is truncated, or has a few random bytes or words."""
    data = bytearray(MODELS[random.integers(len(MODELS))])
    kind = random.integers(3)
    if kind == 0:
        return bytes(data[: random.integers(len(data))])
    for _ in range(random.integers(1, 6)):
        place = int(random.integers(len(data) - 4))
        if kind == 1:
            data[place] = random.integers(256)
        else:
            number = (*HOSTILE, len(data), int(random.integers(1 << 32)))[random.integers(7)]
            data[place : place + 4] = number.to_bytes(4, "little")
    return bytes(data)


def _read_mutants(tmp_path: Path, seed: int, count: int) -> None:
    random, messages = np.random.default_rng(seed), list[str]()
    for _ in range(count):
        path = tmp_path / "model.tflite"
        path.write_bytes(_mutated(random))
        try:
            qmlir.load(path)
        except DiagnosticError as error:
            messages.append(str(error))
    assert count // 2 < len(messages) < count
    assert [message for message in messages if "\n" in message] == []


def test_mutated_files_are_models_or_one_line(tmp_path: Path) -> None:
    _read_mutants(tmp_path, 0, 500)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1, 11))
def test_many_mutated_files_are_models_or_one_line(tmp_path: Path, seed: int) -> None:
    _read_mutants(tmp_path, seed, 500)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a LiteRT model: bytes 4 to 7"),
        (b"\x89HDF\r\n\x1a\n" * 4, "is not a LiteRT model but a model of Keras"),
        (b"\x10\x00\x00\x00TFL3", "is not a LiteRT model: offset 16 is outside the file"),
        (b"\x08\x00\x00\x00TFL3\xff\xff\xff\x7f", "is not a LiteRT model: offset "),
    ],
)
def test_other_files_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(content)
    with pytest.raises(DiagnosticError, match=message):
        qmlir.load(path)


def test_vectors_that_overlap_are_rejected() -> None:
    """A file of n bytes can have n tensors, each with the same list of n inputs, which would take n^2 steps to read."""
    buffer = FileBuffer(np.full(1 << 12, (1 << 12) - 1, np.int32).tobytes())
    for _ in range(16):  # 4 times the number of elements that can be without overlap
        assert buffer.vector(0, 4) == (4, (1 << 12) - 1)
    with pytest.raises(MalformedError, match="its vectors overlap"):
        buffer.vector(0, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (LiteCall("CUSTOM Detect", [0], [1]), r"operator 0 \(CUSTOM Detect\) is not supported \(available: ABS, ADD"),
        (LiteCall("SVDF", [0], [1]), r"operator 0 \(SVDF\) is not supported"),
        (LiteCall("ABS", [1], [0]), "tensor 't1' is used before it is computed"),
        (LiteCall("ADD", [0], [1]), "ADD 't1': missing input 1"),
        (
            LiteCall("ADD", [0, 0], [1], "SoftmaxOptions", {"beta": 1.0}),
            "its options are SoftmaxOptions, which have no",
        ),
        (LiteCall("ADD", [0, 0], [1], "AddOptions", {"fused_activation_function": 4}), "activation 4 is not supported"),
        (LiteCall("ABS", [0], [7]), r"is not a LiteRT model: tensors \[7\] are not among its 2 tensors"),
    ],
)
def test_operators_are_named(tmp_path: Path, call: LiteCall, message: str) -> None:
    path = tmp_path / "model.tflite"
    values = [LiteValue((2, 3), "float32"), LiteValue((2, 3), "float32")]
    path.write_bytes(lite_model(values, [call], [0], [1]))
    with pytest.raises(DiagnosticError, match=message):
        qmlir.load(path)


def test_quantized_operators_without_arithmetic_are_named(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    values = [LiteValue((2,), "int8", 0.5), LiteValue((2,), "int8", 0.5)]
    path.write_bytes(lite_model(values, [LiteCall("EXP", [0], [1])], [0], [1]))
    with pytest.raises(DiagnosticError, match="EXP 't1': is not supported on quantized INT8"):
        qmlir.load(path)


def _not_found(_name: str) -> None:
    return None


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(MODELS[0])
    monkeypatch.setattr(files, "find_spec", _not_found)
    with pytest.raises(DiagnosticError, match=r"run pip install 'qmlir\[litert\]'"):
        qmlir.load(path)


def test_options_of_other_formats_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(MODELS[0])
    with pytest.raises(DiagnosticError, match="cut_inputs and cut_outputs require an ONNX model"):
        qmlir.load(path, cut_inputs=["t0"])
    with pytest.raises(DiagnosticError, match="must be one of litert-reference, litert-xnnpack, float, but got 'f32'"):
        qmlir.load(path, requantize="f32")
    with pytest.raises(DiagnosticError, match="requantize requires a LiteRT model"):
        qmlir.load("docs/examples/digits.onnxtxt", requantize="litert-reference")


def test_weights_of_4_bits_require_the_reference_kernels(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(CASES["CONV_2D i4"](np.random.default_rng(1)).model)
    qmlir.load(path)
    with pytest.raises(DiagnosticError, match="weights of 4 bits have no known arithmetic in XNNPACK"):
        qmlir.load(path, requantize="litert-xnnpack")


def test_outputs_have_their_declared_shapes(tmp_path: Path) -> None:
    values = [LiteValue((2, 3), "float32"), LiteValue((3, 2), "float32")]
    path = tmp_path / "model.tflite"
    path.write_bytes(lite_model(values, [LiteCall("ABS", [0], [1])], [0], [1]))
    with pytest.raises(DiagnosticError, match=r"'t1' is declared as \[3, 2\], but has shape \[2, 3\]"):
        qmlir.load(path)


@pytest.mark.parametrize("operator", ["VAR_HANDLE", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
def test_state_is_rejected_with_a_reason(tmp_path: Path, operator: str) -> None:
    values = [LiteValue((2,), "float32"), LiteValue((2,), "float32")]
    path = tmp_path / "model.tflite"
    path.write_bytes(lite_model(values, [LiteCall(operator, [0], [1])], [0], [1]))
    with pytest.raises(DiagnosticError, match=rf"\({operator}\) is not supported: it keeps state between calls"):
        qmlir.load(path)


@pytest.mark.parametrize(("operator", "slopes"), [("PRELU", 1), ("LEAKY_RELU", 0)])
def test_scales_without_a_multiplier_are_rejected_on_import(tmp_path: Path, operator: str, slopes: int) -> None:
    values = [
        LiteValue((1, 1, 2), "int8", 2.0**29),
        LiteValue((1, 1, 2), "int8", 1.0),
        LiteValue((1, 1, 2), "int8", 1.0),
    ]
    values[1].data = np.ones((1, 1, 2), np.int8)
    options = "" if slopes else "LeakyReluOptions"
    path = tmp_path / "model.tflite"
    call = LiteCall(operator, [0, 1][: 1 + slopes], [2], options, {} if slopes else {"alpha": 0.5})
    path.write_bytes(lite_model(values, [call], [0], [2]))
    with pytest.raises(DiagnosticError, match=rf"{operator} 't2': .*requires ratios of scales < 2\^29, but got 5.36"):
        qmlir.load(path)
