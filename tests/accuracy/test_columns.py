"""Columns with outliers, as transformers have them: what the default quantization makes of an encoder's two products.

The float model is in NumPy. One column of the norm, and one between the products, is 20 times larger than the others:
with one scale for all columns these have a few codes.
"""

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.interpreter.run import interpret
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import quantize_pipeline
from tests.support.emitted import parsed

WIDTH, HIDDEN, ROWS, SAMPLES = 32, 256, 8, 24

F32 = NDArray[np.float32]


def _encoder() -> tuple[str, dict[str, F32]]:
    """A block with its residual sums, as BERT has it."""
    random = np.random.default_rng(3)
    scale = np.ones(WIDTH, np.float32)
    scale[5] = 20
    up = (random.normal(size=(WIDTH, HIDDEN)) / 6).astype(np.float32)
    up[5] /= 20
    bias = np.zeros(HIDDEN, np.float32)
    bias[77] = 40
    down = (random.normal(size=(HIDDEN, WIDTH)) / 16).astype(np.float32)
    weights = {"scale": scale, "up": up, "bias": bias, "down": down}
    constants = "\n".join(
        f'%{name} = nn.constant dense<"0x{array.tobytes().hex().upper()}"> : tensor<{shape}xf32>'
        for name, array in weights.items()
        for shape in ["x".join(map(str, array.shape))]
    )
    rows = f"tensor<{ROWS}x{WIDTH}xf32>"
    wide = f"tensor<{ROWS}x{HIDDEN}xf32>"
    text = f"""
    func.func @main(%x: {rows} {{nn.name = "x"}}) -> ({rows} {{nn.name = "y"}}) {{
      {constants}
      %0 = nn.add %x, %x : {rows} {{origin = "twice"}}
      %1 = nn.rms_norm %0, %scale : ({rows}, tensor<{WIDTH}xf32>) -> {rows} {{origin = "n1"}}
      %2 = nn.matmul %1, %up : ({rows}, tensor<{WIDTH}x{HIDDEN}xf32>) -> {wide} {{origin = "up"}}
      %3 = nn.add %2, %bias : ({wide}, tensor<{HIDDEN}xf32>) -> {wide} {{origin = "bias"}}
      %4 = nn.relu %3 : {wide} {{origin = "relu"}}
      %5 = nn.matmul %4, %down : ({wide}, tensor<{HIDDEN}x{WIDTH}xf32>) -> {rows} {{origin = "down"}}
      %6 = nn.add %1, %5 : {rows} {{origin = "sum"}}
      %7 = nn.rms_norm %6 : {rows} {{origin = "n2"}}
      func.return %7 : {rows}
    }}
    """
    return text, weights


def _in_numpy(x: F32, weights: dict[str, F32]) -> NDArray[np.float64]:
    def normed(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-5)

    normal = normed(2.0 * x) * weights["scale"]
    hidden = np.maximum(normal @ weights["up"] + weights["bias"], 0)
    return normed(normal + hidden @ weights["down"])


def _sqnr(module: ModuleOp, samples: list[F32], weights: dict[str, F32]) -> float:
    exact = np.stack([_in_numpy(x, weights) for x in samples])
    found = np.stack([interpret(module, {"x": x})["y"] for x in samples])
    return float(10 * np.log10((exact**2).sum() / ((exact - found) ** 2).sum()))


@pytest.fixture(scope="module")
def samples() -> list[F32]:
    random = np.random.default_rng(4)
    return [random.normal(size=(ROWS, WIDTH)).astype(np.float32) for _ in range(SAMPLES)]


def test_few_large_columns_do_not_cost_the_others_their_codes(samples: list[F32]) -> None:
    text, weights = _encoder()
    first, held_out = samples[: SAMPLES // 2], samples[SAMPLES // 2 :]
    lowered = parsed(text)
    pipeline = quantize_pipeline({}, lowered)
    run_pipeline(lowered, pipeline.text("lower"))
    profile = qmlir.profile(lowered, [{"x": x} for x in first])
    found = dict[str, float]()
    for name, stages in {"none": (), "balance": ("balance",)}.items():
        module = lowered.clone()
        passes = pipeline.text("profile", *stages, "decide", "propagate", "raise")
        run_pipeline(module, passes, taken=profile)
        found[name] = _sqnr(module, held_out, weights)
    assert found["balance"] > found["none"] + 6
    assert found["balance"] > 35


def test_ranges_of_columns_travel_with_the_model(samples: list[F32]) -> None:
    lowered = parsed(_encoder()[0])
    pipeline = quantize_pipeline({}, lowered)
    run_pipeline(lowered, pipeline.text("lower"))
    profile = qmlir.profile(lowered, [{"x": x} for x in samples])
    from_profile = qmlir.quantize(lowered, profile=profile).module
    run_pipeline(lowered, pipeline.text("profile"), taken=profile)
    carried = qmlir.load(qmlir.export_onnx(lowered))
    again = qmlir.quantize(carried).module
    assert "largest" in str(again)
    assert str(again) == str(from_profile)
