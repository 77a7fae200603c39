"""QONNX's quantizers, imported, against the executor of the project qonnx: every element equal.

Each model has one quantizer with random parameters. Half of its data lies half-way between two integers, for which the
rounding mode and the order of the f32 steps decide. Compiled programs run a sample of the models.
"""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import qmlir
from tests.support.sampled import of_families

onnx_exec = pytest.importorskip("qonnx.core.onnx_exec", reason="qonnx is not installed: pip install -e '.[referees]'")
modelwrapper = pytest.importorskip("qonnx.core.modelwrapper")

pytestmark = pytest.mark.referee

FLOAT = np.float32
DOMAIN = "qonnx.custom_op.general"
ROUNDINGS = ("ROUND", "HALF_EVEN", "CEIL", "FLOOR", "UP", "DOWN", "HALF_UP", "HALF_DOWN")
SHAPES = ((7,), (3, 5), (2, 3, 4), (2, 3, 3, 2), (1, 2, 2, 2, 2))


def one_node(
    op_type: str, data: np.ndarray, inputs: list[Any], version: int, is_constant: bool, **attributes: Any
) -> ModelProto:
    """A model of one quantizer on the input `x`, or on the constant `w` to which the input is added."""
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, data.shape) for name in ("x", "y", "q")]
    held = [numpy_helper.from_array(np.asarray(each), f"p{index}") for index, each in enumerate(inputs)]
    names = ["w" if is_constant else "x", *(each.name for each in held)]
    nodes = [helper.make_node(op_type, names, ["q"], name="quantizer", domain=DOMAIN, **attributes)]
    nodes.append(
        helper.make_node("Add", ["q", "x"], ["y"]) if is_constant else helper.make_node("Identity", ["q"], ["y"])
    )
    initializers = [*held, numpy_helper.from_array(data, "w")] if is_constant else held
    graph = helper.make_graph(nodes, "quantizer", info[:1], info[1:2], initializers, value_info=info[2:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def executed(model: ModelProto, data: np.ndarray) -> np.ndarray:
    """The output by the executor of qonnx."""
    with np.errstate(all="ignore"):
        return onnx_exec.execute_onnx(modelwrapper.ModelWrapper(model), {"x": data})["y"]


def broadcasting(rng: np.random.Generator, shape: tuple[int, ...], draw: Any) -> np.ndarray:
    """Parameters from `draw(shape)`: for the whole tensor, for each index of an axis, or of two axes."""
    kept = rng.choice(len(shape), size=rng.choice([0, 0, 1, 1, 1, 2]) % (len(shape) + 1), replace=False)
    sizes = [size if axis in kept else 1 for axis, size in enumerate(shape)]
    return draw(() if rng.random() < 0.5 and not len(kept) else sizes).astype(FLOAT)


def scales(rng: np.random.Generator, shape: Any) -> np.ndarray:
    odd = rng.choice([1, 3, 5, 7], shape) * 2.0 ** rng.integers(-6, 2, shape)
    return np.asarray(odd if rng.random() < 0.6 else rng.uniform(0.01, 2.0, shape))


def values(rng: np.random.Generator, shape: tuple[int, ...], scale: np.ndarray, reach: float) -> np.ndarray:
    """Half of them at multiples of half a scale; some far outside of the range."""
    halves = rng.integers(-int(2 * reach), int(2 * reach) + 1, shape) * 0.5 * scale.astype(np.float64)
    others = rng.uniform(-reach, reach, shape) * scale
    return np.where(rng.random(shape) < 0.5, halves, others).astype(FLOAT)


def quant(rng: np.random.Generator) -> tuple[ModelProto, np.ndarray]:
    shape = SHAPES[rng.integers(len(SHAPES))]
    bits, is_signed, is_narrow = int(rng.integers(1, 9)), bool(rng.random() < 0.6), bool(rng.random() < 0.5)
    scale = broadcasting(rng, shape, lambda sizes: scales(rng, sizes))
    kind = rng.choice(["none", "none", "whole", "fraction"])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    draw = {
        "none": lambda sizes: np.zeros(sizes),
        "whole": lambda sizes: rng.integers(low, high + 1, sizes),
        "fraction": lambda sizes: rng.integers(low, high + 1, sizes) + 0.25,
    }[kind]
    zero_point = broadcasting(rng, shape, lambda sizes: np.asarray(draw(sizes)))
    data = values(rng, shape, scale, 1.5 * 2**bits)
    inputs = [scale, zero_point, FLOAT(bits + (0.5 if rng.random() < 0.05 else 0))]
    mode = ROUNDINGS[rng.integers(len(ROUNDINGS))] if rng.random() < 0.6 else "ROUND"
    attributes = {"signed": int(is_signed), "narrow": int(is_narrow), "rounding_mode": mode}
    return one_node("Quant", data, inputs, int(rng.integers(1, 3)), rng.random() < 0.3, **attributes), data


def bipolar_quant(rng: np.random.Generator) -> tuple[ModelProto, np.ndarray]:
    shape = SHAPES[rng.integers(len(SHAPES))]
    scale = broadcasting(rng, shape, lambda sizes: scales(rng, sizes))
    data = values(rng, shape, scale, 1.0)
    return one_node("BipolarQuant", data, [scale], 1, rng.random() < 0.3), data


def trunc(rng: np.random.Generator) -> tuple[ModelProto, np.ndarray]:
    shape, version = SHAPES[rng.integers(len(SHAPES))], int(rng.integers(1, 3))
    scale, dropped = scales(rng, ()).astype(FLOAT), int(rng.integers(0, 4))
    zero_point = FLOAT(rng.choice([0, 0, 8, 3]))
    data = ((rng.integers(-128, 128, shape) - zero_point) * scale).astype(FLOAT)
    mode = {"rounding_mode": ROUNDINGS[rng.integers(len(ROUNDINGS))]}
    if version == 1:
        return one_node("Trunc", data, [scale, zero_point, FLOAT(8), FLOAT(8 - dropped)], 1, False, **mode), data
    flags = {"signed": int(rng.integers(2)), "narrow": int(rng.integers(2))}
    inputs = [scale, zero_point, FLOAT(8), FLOAT(scale * 2**dropped), FLOAT(rng.integers(2, 9))]
    return one_node("Trunc", data, inputs, 2, False, **mode, **flags), data


def float_quant(rng: np.random.Generator) -> tuple[ModelProto, np.ndarray]:
    shape = SHAPES[rng.integers(len(SHAPES))]
    formats = [(4, 3, 7, 448), (5, 2, 15, 57344), (2, 1, 1, 6), (3, 2, 3, 28), (2, 3, 1, 7.5), (3, 4, 3, 15.5)]
    exponent, mantissa, bias, most = formats[rng.integers(len(formats))]
    scale = scales(rng, ()).astype(FLOAT)
    data = (rng.standard_normal(shape) * np.exp2(rng.uniform(-12, 3, shape)) * most * scale / 8).astype(FLOAT)
    inputs = [scale, FLOAT(exponent), FLOAT(mantissa), FLOAT(bias), FLOAT(most)]
    flags = {"has_inf": 0, "has_nan": 0, "has_subnormal": 1, "saturation": 1, "rounding_mode": "ROUND"}
    return one_node("FloatQuant", data, inputs, 1, rng.random() < 0.3, **flags), data


def multi_threshold(rng: np.random.Generator) -> tuple[ModelProto, np.ndarray]:
    shape = SHAPES[1:4][rng.integers(3)]
    layout = {2: ["", "NC"], 3: ["", "NWC", "NCW"], 4: ["", "NCHW", "NHWC"]}[len(shape)]
    layout = layout[rng.integers(len(layout))]
    axis = (layout or {2: "NC", 3: "NWC", 4: "NCHW"}[len(shape)]).index("C")
    steps = int(rng.integers(1, 20))
    thresholds = np.sort(rng.integers(-8, 9, (rng.choice([1, shape[axis]]), steps)) / 4, axis=1).astype(FLOAT)
    data = (rng.integers(-10, 11, shape) / 4).astype(FLOAT)
    scale, bias = rng.choice([1.0, 0.5, 0.3]), rng.choice([0.0, -1.0, -4.0, 0.7])
    attributes = {"out_dtype": "FLOAT32", "out_scale": scale, "out_bias": bias, "data_layout": layout}
    return one_node("MultiThreshold", data, [thresholds], 1, False, **attributes), data


FAMILIES = {quant: 300, bipolar_quant: 40, trunc: 100, float_quant: 60, multi_threshold: 80}


@pytest.mark.parametrize(("family", "seed"), of_families(FAMILIES))
def test_every_element_equals_the_executor_of_qonnx(family: Any, seed: int) -> None:
    model, data = family(np.random.default_rng([seed, len(family.__name__)]))
    expected = executed(model, data)
    module = qmlir.load(model)
    np.testing.assert_array_equal(qmlir.interpret(module, {"x": data})["y"], expected)
    if seed % 10 == 0:
        np.testing.assert_array_equal(qmlir.compile(module)({"x": data})["y"], expected)
