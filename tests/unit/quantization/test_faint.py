"""Probabilities of many elements: 16 bits where 8 lose them, by what was recorded; nowhere else."""

from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import qmlir

SIZE = 8


def _attention(rows: int, spread: float, *, seed: int = 0) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """The values that one query of each row mixes, by scores of this standard deviation."""
    model = onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : 17]>
        mix (float[N, 4, {rows}] scores, float[N, {rows}, {SIZE}] values) => (float[N, 4, {SIZE}] mixed) {{
            weights = Softmax <axis = -1> (scores)
            mixed = MatMul (weights, values)
        }}
    """)
    random = np.random.default_rng(seed)
    arrays = {
        "scores": spread * random.standard_normal((8, 4, rows)),
        "values": random.standard_normal((8, rows, SIZE)),
    }
    return model, {name: array.astype(np.float32) for name, array in arrays.items()}


def _mixed(arrays: dict[str, np.ndarray]) -> np.ndarray:
    raised = np.exp(arrays["scores"].astype(np.float64))
    return raised / raised.sum(-1, keepdims=True) @ arrays["values"]


def _sqnr(found: np.ndarray, expected: np.ndarray) -> float:
    return 10 * np.log10((expected**2).sum() / ((found - expected) ** 2).sum())


# Rounding to 1/256 has the mean square 1.3e-6, 30 dB below 0.0013: below a root mean square of 0.036.
@pytest.mark.parametrize(
    ("rows", "spread", "is_wide"),
    [(16, 0.5, False), (24, 0.0, False), (32, 0.0, True), (300, 0.5, True), (300, 6.0, False)],
    ids=["few", "just enough", "just too many", "many", "many, one of them large"],
)
def test_bits_follow_from_what_was_recorded(rows: int, spread: float, is_wide: bool) -> None:
    model, arrays = _attention(rows, spread)
    text = str(qmlir.quantize(qmlir.load(model), arrays).module)
    assert ("!quant.uniform<i16:f32, 1.52587890625e-05:-32768>" in text) is is_wide
    assert ("!quant.uniform<i8:f32, 3.906250e-03:-128>" in text) is not is_wide


def test_an_even_mixture_of_many_keeps_its_numbers() -> None:
    model, arrays = _attention(1500, 0.5)
    shapes = {name: (1, *array.shape[1:]) for name, array in arrays.items()}
    loaded = qmlir.load(model, shapes=shapes)
    quantized = qmlir.quantize(loaded, arrays).module
    _, held = _attention(1500, 0.5, seed=1)
    singles = [{name: array[position : position + 1] for name, array in held.items()} for position in range(8)]
    found = np.concatenate([qmlir.interpret(quantized, each)["mixed"] for each in singles])
    assert _sqnr(found, _mixed(held)) > 25  # in 8 bits nothing is left: below 0 dB
    assert np.array_equal(qmlir.compile(quantized, codegen="llvm")(singles[0])["mixed"], found[:1])


def test_a_rule_has_the_last_word(tmp_path: Path) -> None:
    model, arrays = _attention(300, 0.5)
    recipe = tmp_path / "narrow.toml"
    recipe.write_text('[[rule]]\nfaint = true\nstorage = "i8"\n')
    quantized = qmlir.quantize(qmlir.load(model), arrays, recipe=recipe).module
    assert "i16" not in str(quantized)
