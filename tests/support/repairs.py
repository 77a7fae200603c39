"""Models of two layers whose weights are repaired, and what tests of repairs ask of them."""

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.dialects.quant.evaluate import dequantize
from qmlir.dialects.quant.evaluate import quantize as to_codes
from qmlir.extensions.recovery.repairing import EFFORTS
from qmlir.extensions.recovery.rounded_weights import RoundedWeight
from qmlir.quantization.settings import QuantizeSettings
from qmlir.workflows.calibrated import stages_of
from qmlir.workflows.profiling import profile


def two_layers(bias: str = "b", last: str = "v") -> ModuleOp:
    """Two layers of four; the second one may add the bias of the first, or read its weights."""
    random = np.random.default_rng(5)
    weights = [", ".join(f"{each:.4f}" for each in random.normal(size=16)) for _ in range(2)]
    return qmlir.load(
        parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[1, 4] x) => (float[1, 4] y)
        <float[4, 4] w = {{{weights[0]}}}, float[4, 4] v = {{{weights[1]}}}, float[4] b = {{0.1, 0.2, -0.3, 0.4}},
         float[4] c = {{0.3, -0.2, 0.1, 0.5}}> {{
            [first] h = Gemm (x, w, b)
            [last] y = Gemm (h, {last}, {bias})
        }}""")
    )


def samples_of_four(count: int = 64) -> Array:
    """Rows of four numbers, which those models take."""
    return (np.random.default_rng(6).normal(size=(count, 4)) + 1).astype(np.float32)


def stored_weights(module: ModuleOp) -> list[Array]:
    """The stored weights."""
    constants = (op for op in module.walk() if isinstance(op, ConstantOp) and quantized_type(op.result) is not None)
    return [each.array for each in constants if each.array.ndim == 2]


def decided_by(model: ModuleOp, recipe: Sequence[Mapping[str, str]] = ()) -> ModuleOp:
    """Such a model with its types, and weights of 3 bits that are not rounded yet."""
    settings: QuantizeSettings = {"weights": "i3", "recipe": {"rule": list(recipe)}} if recipe else {"weights": "i3"}
    run = stages_of(settings, model, repair=EFFORTS[2])
    module = model.clone()
    run(module, "target", "lower")
    run(module, "profile", "mask", "balance", taken=profile(module, {"x": samples_of_four()}))
    run(module, "decide", "propagate")
    return module


def data_of(samples: Array, weight: RoundedWeight) -> Array:
    """The data of a product as it is in the quantized program."""
    element = quantized_type(weight.rows.data)
    assert element is not None
    return dequantize(to_codes(samples, element), element)
