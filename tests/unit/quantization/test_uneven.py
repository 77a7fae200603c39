"""Values joined of large and small parts have 16 bits, and products round the part that they read to 8 bits."""

import inspect
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, parser

import qmlir
from qmlir.dialects.nn.elementwise.ops import MulOp
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.quantization.predicates import uneven_values
from qmlir.quantization.settings import QuantizeSettings
from qmlir.specialization.inputs import function_of
from tests.support.emitted import parsed

RANDOM = np.random.default_rng(0)


_SUM = "d = Add (c, x)"
_CELL = "f = Abs (x) kept = Mul (f, c) new = Mul (t, x) d = Add (kept, new)"
"""What becomes of the larger half."""


def _model(cell: str = _SUM) -> ModelProto:
    """The two halves of a state, as a recurrent layer of a user's own keeps them: joined, and cut again."""
    weight = ", ".join(f"{value:.6f}" for value in RANDOM.normal(0, 0.3, 64))
    return parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[2, 1, 8] state, float[1, 8] x) => (float[2, 1, 8] next)
        <float[8, 8] w = {{{weight}}}, int64 zero = {{0}}, int64 one = {{1}}, int64[1] first = {{0}}> {{
            h = Gather <axis = 0> (state, zero)
            c = Gather <axis = 0> (state, one)
            p = MatMul (h, w)
            s = Add (p, x)
            t = Tanh (s)
            {cell}
            hn = Unsqueeze (t, first)
            cn = Unsqueeze (d, first)
            next = Concat <axis = 0> (hn, cn)
        }}""")


# Next to inputs and outputs, parts that differ stay in float, unless integers are asked for.
_SETTINGS: QuantizeSettings = {"assert_all_quantized": True}


def _samples(large: float, count: int, seed: int) -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    return [
        {
            "state": (random.uniform(-1, 1, (2, 1, 8)) * np.array([1.0, large]).reshape(2, 1, 1)).astype(np.float32),
            "x": random.uniform(-1, 1, (1, 8)).astype(np.float32),
        }
        for _ in range(count)
    ]


# The ranges are 2 and 2 `large`, of which 8 bits make one type where the larger is at most 16 times the smaller.
@pytest.mark.parametrize(("large", "is_wide"), [(8.0, False), (100.0, True)])
def test_bits_follow_from_the_ranges_of_the_parts(large: float, is_wide: bool) -> None:
    model = _model()
    module = qmlir.quantize(qmlir.load(model), _samples(large, 64, 0), validate=False, **_SETTINGS).module
    assert ("i16:f32" in str(module)) is is_wide
    weights = np.array(model.graph.initializer[0].float_data, np.float64).reshape(8, 8)
    errors = list[np.ndarray]()
    for feeds in _samples(large, 16, 1):
        expected = np.tanh(feeds["state"][0].astype(np.float64) @ weights + feeds["x"])
        errors.append(qmlir.interpret(module, feeds)["next"][0] - expected)
    assert np.sqrt(np.square(errors).mean()) < 0.03  # 0.3 with 8 bits for parts that differ 100 times


@pytest.mark.parametrize(("large", "bits"), [(8.0, 8), (100.0, 16)])
def test_products_that_are_added_up_to_such_a_part_are_as_fine(large: float, bits: int) -> None:
    module = qmlir.quantize(qmlir.load(_model(_CELL)), _samples(large, 64, 0), validate=False, **_SETTINGS).module
    types = [quantized_type(op.results[0]) for op in module.walk() if isinstance(op, MulOp)]
    assert [type_ and type_.bits for type_ in types] == [bits, bits]


def test_a_rule_decides_otherwise(tmp_path: Path) -> None:
    samples = _samples(100.0, 16, 0)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[[rule]]\nuneven = true\nstorage = "i8"\n')
    assert "i16:f32" not in str(
        qmlir.quantize(qmlir.load(_model()), samples, recipe=recipe, validate=False, **_SETTINGS).module
    )
    with pytest.raises(DiagnosticError, match="have no effect"):
        qmlir.quantize(qmlir.load(_model()), _samples(1.0, 16, 0), recipe=recipe, validate=False, **_SETTINGS)


# A dense block: each layer normalizes the channels of all before it, and its own are `growth` times larger.
def _dense_block(growth: float) -> ModelProto:
    nodes, constants, channels = list[str](), list[str](), 4
    for layer in range(1, 4):
        factors = np.repeat(growth ** -np.arange(layer, dtype=np.float64), 4)
        weights = RANDOM.normal(0, growth**layer / np.sqrt(channels), (channels, 4))
        for name, array, shape in (("f", factors, f"{channels}"), ("w", weights, f"{channels}, 4")):
            constants.append(f"float[{shape}] {name}{layer} = {{{', '.join(f'{each:.6g}' for each in array.flat)}}}")
        nodes.append(f"n{layer} = Mul (x{layer - 1}, f{layer}) r{layer} = Relu (n{layer})")
        nodes.append(f"p{layer} = MatMul (r{layer}, w{layer})")
        nodes.append(f"x{layer} = Concat <axis = -1> (x{layer - 1}, p{layer})")
        channels += 4
    return parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[9, 4] x0) => (float[9, 16] x3) <{", ".join(constants)}> {{ {" ".join(nodes)} }}""")


# The parts of the last value that a layer reads have 1, 3 and 9, or 1, 6 and 36 times the size of the first.
@pytest.mark.parametrize(("growth", "bits"), [(3.0, 8), (6.0, 16)])
def test_parts_that_layers_join_one_by_one_have_16_bits_if_a_constant_levels_them(growth: float, bits: int) -> None:
    model = _dense_block(growth)
    samples = [{"x0": RANDOM.uniform(-1, 1, (9, 4)).astype(np.float32)} for _ in range(32)]
    quantized = qmlir.quantize(model, samples, validate=False)
    factors = [op for op in quantized.module.walk() if isinstance(op, MulOp)]
    assert quantized_type(factors[-1].lhs).bits == bits
    found, wanted = (
        np.stack([qmlir.interpret(each, sample)["x3"][:, 12:] for sample in samples])
        for each in (quantized, qmlir.load(model))
    )
    assert 10 * np.log10(np.square(wanted).sum() / np.square(found - wanted).sum()) > 25  # with 8 bits at 6: 18.0


@pytest.mark.parametrize(("factor", "matters"), [(16.0, True), (15.0, False)])
def test_a_small_part_matters_from_a_quarter_of_the_largest_on(factor: float, matters: bool) -> None:
    """Parts of 1, 8 and 64, joined one by one: constants scale the last two to 64, and the first to 16 or less."""
    first, second, last = (f"!quant.calibrated<f32<0.0:{end}.0>>" for end in (1, 8, 64))
    module = parsed(f"""
        func.func @main(%1: tensor<1x1x{first}>, %2: tensor<1x1x{second}>, %3: tensor<1x1x{last}>) -> tensor<1x3xf32> {{
          %4 = nn.concat %1, %2 {{axis = 1}} : (tensor<1x1x{first}>, tensor<1x1x{second}>) -> tensor<1x2x{second}>
          %5 = nn.concat %4, %3 {{axis = 1}} : (tensor<1x2x{second}>, tensor<1x1x{last}>) -> tensor<1x3x{last}>
          %6 = nn.constant dense<[[{factor}, 8.0, 1.0]]> : tensor<1x3xf32>
          %7 = nn.mul %5, %6 : (tensor<1x3x{last}>, tensor<1x3xf32>) -> tensor<1x3xf32>
          func.return %7 : tensor<1x3xf32>
        }}""")
    (joined,) = (op.lhs for op in module.walk() if isinstance(op, MulOp))
    assert (joined in uneven_values(function_of(module, "main"))) is matters


def test_a_long_chain_of_joins() -> None:
    """The first part of 200 is 32 times smaller than the last one, and a constant levels them."""
    x, y = (f"!quant.calibrated<f32<-{end}.0:{end}.0>>" for end in (1, 32))
    joins = [
        f"%{position} = nn.concat %{position - 1}, %x {{axis = 1}} : "
        f"(tensor<1x{position - 1}x{x}>, tensor<1x1x{x}>) -> tensor<1x{position}x{x}>"
        for position in range(2, 200)
    ]
    factors = ", ".join(["32.0"] * 199 + ["1.0"])
    module = parsed(f"""
        func.func @main(%1: tensor<1x1x{x}>, %x: tensor<1x1x{x}>, %y: tensor<1x1x{y}>) -> tensor<1x200xf32> {{
          {" ".join(joins)}
          %joined = nn.concat %199, %y {{axis = 1}} : (tensor<1x199x{x}>, tensor<1x1x{y}>) -> tensor<1x200x{y}>
          %k = nn.constant dense<[[{factors}]]> : tensor<1x200xf32>
          %levelled = nn.mul %joined, %k : (tensor<1x200x{y}>, tensor<1x200xf32>) -> tensor<1x200xf32>
          func.return %levelled : tensor<1x200xf32>
        }}""")
    (joined,) = (op.lhs for op in module.walk() if isinstance(op, MulOp))
    known = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 100)
    try:
        assert joined in uneven_values(function_of(module, "main"))
    finally:
        sys.setrecursionlimit(known)
