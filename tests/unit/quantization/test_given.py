"""Results of a model in a part of their fixed range: 16 bits there, by what was recorded; nowhere else."""

import numpy as np
import onnx.parser
import pytest

import qmlir

Array = np.ndarray

WIDE, NARROW = "!quant.uniform<i16:f32, 1.52587890625e-05:-32768>", "!quant.uniform<i8:f32, 3.906250e-03:-128>"
"""The types of a sigmoid: its range in 65536 and in 256 steps."""


def _model(body: str, shape: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : 17]>
        boxes (float[N, 4] x) => (float[{shape}] y) {{ {body} }}
    """)


def _samples(spread: float, seed: int = 0) -> dict[str, Array]:
    return {"x": (spread * np.random.default_rng(seed).standard_normal((64, 4))).astype(np.float32)}


# A sigmoid of +-1.1 lies between .25 and .75. Of 256 normal numbers the largest is 2.9.
@pytest.mark.parametrize(
    ("body", "shape", "spread", "is_wide"),
    [
        ("y = Sigmoid (x)", "N, 4", 0.1, True),
        ("y = Sigmoid (x)", "N, 4", 1.0, False),
        ("s = Sigmoid (x) y = Transpose <perm = [1, 0]> (s)", "4, N", 0.1, True),
        ("s = Sigmoid (x) y = Add (s, x)", "N, 4", 0.1, False),
        ("y = Softmax <axis = -1> (x)", "N, 4", 0.1, False),
    ],
    ids=["narrow", "wide", "moved", "read inside", "a softmax"],
)
def test_bits_follow_from_what_was_recorded(body: str, shape: str, spread: float, is_wide: bool) -> None:
    text = str(qmlir.quantize(qmlir.load(_model(body, shape)), _samples(spread), validate=False).module)
    assert (WIDE in text) is is_wide
    assert (NARROW in text) is not is_wide


def test_numbers_near_the_middle_keep_their_differences() -> None:
    """The operand has a step of R / 255, of which the sigmoid makes at most a quarter; its own steps are no larger."""
    samples = _samples(0.1)
    quantized = qmlir.quantize(qmlir.load(_model("y = Sigmoid (x)", "N, 4"), shapes={"x": (64, 4)}), [samples]).module
    exact = 1 / (1 + np.exp(-samples["x"].astype(np.float64)))
    step = (samples["x"].max() - samples["x"].min()) / 255
    found = qmlir.interpret(quantized, samples)["y"]
    assert np.abs(found - exact).max() < step / 8 + 2**-16
    assert np.array_equal(qmlir.compile(quantized, codegen="llvm")(samples)["y"], found)
