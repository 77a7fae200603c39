"""Specializing: the same numbers as before with every size known, weights shared, and bounds on what is folded."""

from pathlib import Path

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp

import qmlir
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.shapes.ops import ExpandOp
from qmlir.environment import default_environment
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from qmlir.specialization.inputs import function_of, parse_shapes, parse_values
from qmlir.specialization.specialize import parameter_inputs, specialize
from qmlir.text.parsing import parse_module

MODELS = Path(__file__).resolve().parents[3].parent / "shared" / "models"
needs_models = pytest.mark.skipif(not MODELS.exists(), reason="the digits models are not there")

LAYOUTS = {"cnn": (3, 1, 8, 8), "mlp": (3, 64), "lstm": (8, 3, 8), "gru": (8, 3, 8)}


def module_of(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), text)


def operations(module: ModuleOp) -> list[NnOp]:
    return [op for op in module.walk() if isinstance(op, NnOp)]


def constants(module: ModuleOp) -> list[ConstantOp]:
    return [op for op in module.walk() if isinstance(op, ConstantOp)]


def bytes_of(constant: ConstantOp) -> int:
    """The identity of the bytes, in memory."""
    return constant.array.__array_interface__["data"][0]


@needs_models
@pytest.mark.parametrize("name", LAYOUTS)
def test_digits(name: str) -> None:
    module = qmlir.load(MODELS / f"digits_{name}.onnx")
    x = np.random.default_rng(0).standard_normal(LAYOUTS[name]).astype(np.float32)
    before = str(module)
    found = specialize(module, {"input": x.shape})
    verify(found)
    assert str(module) == before, "the module itself stays as it is"
    assert all(DYNAMIC_INDEX not in shape_of(value) for op in operations(found) for value in op.results)
    assert not any(op.name in ("nn.shape", "nn.expand", "nn.concat") for op in operations(found))
    np.testing.assert_array_equal(
        qmlir.interpret(found, {"input": x})["logits"], qmlir.interpret(module, {"input": x})["logits"], strict=True
    )
    assert str(specialize(found)) == str(found)


@needs_models
@pytest.mark.parametrize("name", ["cnn", "lstm"])
def test_quantized_digits(name: str) -> None:
    x = np.random.default_rng(0).standard_normal(LAYOUTS[name]).astype(np.float32)
    module = qmlir.load(MODELS / f"digits_{name}.onnx")
    quantized = qmlir.quantize(module, x if name == "cnn" else x.swapaxes(0, 1)).module
    found = specialize(quantized, {"input": x.shape})
    verify(found)
    np.testing.assert_array_equal(
        qmlir.interpret(found, {"input": x})["logits"], qmlir.interpret(quantized, {"input": x})["logits"], strict=True
    )


def test_weights_are_shared_also_in_another_shape() -> None:
    module = module_of("""
        func.func @main(%x: tensor<?x512xf32> {nn.name = "x"}) -> tensor<?x512x256xf32> {
          %w = nn.constant dense<0.5> : tensor<512x256xf32>
          %0 = nn.unsqueeze %w {axes = [0]} : (tensor<512x256xf32>) -> tensor<1x512x256xf32>
          %1 = nn.unsqueeze %x {axes = [2]} : (tensor<?x512xf32>) -> tensor<?x512x1xf32>
          %2 = nn.mul %1, %0 : (tensor<?x512x1xf32>, tensor<1x512x256xf32>) -> tensor<?x512x256xf32>
          func.return %2 : tensor<?x512x256xf32>
        }""")
    found = specialize(module, {"x": (2, 512)})
    ((before,), (after,)) = constants(module), constants(found)
    assert shape_of(after.result) == (1, 512, 256)
    assert bytes_of(before) == bytes_of(after)


@pytest.mark.parametrize("is_small", [True, False])
def test_constants_grow_within_a_bound(is_small: bool) -> None:
    """However many steps they grow in: each constant counts for the bytes of the model that it comes from."""
    bound = 16 * 4 + (1 << 16)
    count = bound // 4 if is_small else bound // 4 + 1
    module = module_of(f"""
        func.func @main() -> tensor<{count}xf32> {{
          %c = nn.constant dense<0.5> : tensor<1xf32>
          %0 = nn.expand %c {{shape = [{count}]}} : (tensor<1xf32>) -> tensor<{count}xf32>
          %1 = nn.neg %0 : tensor<{count}xf32>
          func.return %1 : tensor<{count}xf32>
        }}""")
    found = specialize(module)
    assert any(isinstance(op, ExpandOp) for op in operations(found)) is not is_small
    np.testing.assert_array_equal(qmlir.interpret(found)["output0"], np.full(count, -0.5, np.float32))


def test_what_a_parameter_needs_is_folded_at_any_size() -> None:
    module = module_of("""
        func.func @main(%x: tensor<?xf32> {nn.name = "x"}) -> tensor<?xf32> {
          %c = nn.constant dense<1> : tensor<1xi64>
          %0 = nn.expand %c {shape = [100000]} : (tensor<1xi64>) -> tensor<100000xi64>
          %1 = nn.reduce_sum %0 {axes = [0]} : (tensor<100000xi64>) -> tensor<1xi64>
          %2 = nn.expand %x, %1 : (tensor<?xf32>, tensor<1xi64>) -> tensor<?xf32>
          func.return %2 : tensor<?xf32>
        }""")
    (expand,) = operations(specialize(module, {"x": (1,)}))
    assert shape_of(expand.results[0]) == (100000,)


PARAMETERS = """
    (float[N, M] x, int64[2] sizes, int64 k, float[2] unused, int64[L] lengths) => (y, t)
    <int64[1] last = {-1}, int64[1] axis = {0}> {
        n = Shape <end = 1> (x)
        all = Concat <axis = 0> (n, sizes)
        r = Reshape (x, all)
        longest = ReduceMax <keepdims = 1> (lengths)
        s = Slice (r, axis, longest, axis)
        t = Trilu (x, k)
        y = Mul (s, unused)
    }"""


def test_inputs_that_say_what_is_computed() -> None:
    module = qmlir.load(parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g {PARAMETERS}'))
    assert parameter_inputs(module) == ("sizes", "k", "lengths")
    inputs = {
        "x": np.arange(24, dtype=np.float32).reshape(4, 6),
        "sizes": np.array([3, 2]),
        "k": np.array(1),
        "unused": np.array([1, -1], np.float32),
        "lengths": np.array([1, 3, 2]),
    }
    values = {name: inputs[name] for name in parameter_inputs(module)}
    found = specialize(module, {"x": (4, 6)}, values)
    data = {name: value for name, value in inputs.items() if name not in values}
    results, expected = qmlir.interpret(found, data), qmlir.interpret(module, inputs)
    np.testing.assert_array_equal(results["y"], inputs["x"].reshape(4, 3, 2)[:3] * [1, -1])
    np.testing.assert_array_equal(results["t"], np.triu(inputs["x"], 1))
    for name, value in expected.items():
        np.testing.assert_array_equal(results[name], value, strict=True)


def test_inputs_without_names_keep_those_that_they_had() -> None:
    module = module_of("""
        func.func @main(%sizes: tensor<2xi64>, %x: tensor<?xf32>) -> tensor<?x?xf32> {
          %0 = nn.reshape %x, %sizes : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
          func.return %0 : tensor<?x?xf32>
        }""")
    found = specialize(module, {"input1": (6,)}, {"input0": np.array([2, -1])})
    result = qmlir.interpret(found, {"input1": np.arange(6, dtype=np.float32)})["output0"]
    np.testing.assert_array_equal(result, np.arange(6, dtype=np.float32).reshape(2, 3), strict=True)


@pytest.mark.parametrize(
    ("shapes", "values", "message"),
    [
        ({"x": (2,)}, {"sizes": np.zeros(2, np.int32)}, "input 'sizes' must be int64, but got int32"),
        ({"x": (2,)}, {"sizes": np.zeros(3, np.int64)}, "input 'sizes' must have shape 2, but got 3"),
        ({"x": (2,), "sizes": (1,)}, {"sizes": np.zeros(2, np.int64)}, "input 'sizes' must have shape 1, but got 2"),
        ({"x": (2,)}, {"size": np.zeros(2, np.int64)}, "from the input 'sizes'"),
        (
            {"x": (3,)},
            {"sizes": np.array([2, -1])},
            r"cannot reshape \[3\] \(3 elements\): 3 is not divisible by the product of the known output sizes, 2",
        ),
        ({"x": (3,)}, {"sizes": np.array([-1, -1])}, r"sizes must be >= 0, with at most one -1, but got \[-1, -1\]"),
    ],
)
def test_what_does_not_fit(shapes: dict, values: dict, message: str) -> None:
    module = module_of("""
        func.func @main(%sizes: tensor<2xi64> {nn.name = "sizes"}, %x: tensor<?xf32> {nn.name = "x"})
            -> tensor<?x?xf32> {
          %0 = nn.reshape %x, %sizes : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
          func.return %0 : tensor<?x?xf32>
        }""")
    with pytest.raises(DiagnosticError, match=message):
        specialize(module, shapes, values)


def test_options() -> None:
    assert parse_shapes(["a=b=1x3", "s=scalar"]) == {"a=b": (1, 3), "s": ()}
    function = function_of(
        module_of("""
            func.func @main(%k: tensor<i64> {nn.name = "k"}, %e: tensor<?xi64> {nn.name = "e"},
                            %s: tensor<?xf32> {nn.name = "s"}, %m: tensor<?x?xf32> {nn.name = "m"}) {
              func.return
            }"""),
        "main",
    )
    found = parse_values(function, ["k=3", "e=9223372036854775807x-1", "s=0.5x2"])
    np.testing.assert_array_equal(found["k"], np.array(3), strict=True)
    np.testing.assert_array_equal(found["e"], np.array([2**63 - 1, -1]), strict=True)
    np.testing.assert_array_equal(found["s"], np.array([0.5, 2], np.float32), strict=True)
    for entries, message in (
        (["k=one"], "invalid value 'k=one': expected NAME=NUMBERxNUMBER, such as axes=2x-1"),
        (["k=1", "k=2"], "duplicate value for 'k'"),
        (["k=1x2"], "input 'k' is a scalar and takes one number, but got 2"),
        (["m=1"], r"input 'm' must be a scalar or a vector to be set here, but got type tensor<\?x\?xf32>"),
        (["z=1"], "has no input 'z'"),
    ):
        with pytest.raises(DiagnosticError, match=message):
            parse_values(function, entries)
    for entry in ("x=3xa", "3x4", "=3x4"):
        with pytest.raises(
            DiagnosticError, match=f"invalid shape '{entry}': expected NAME=SIZExSIZE, such as image=1x3x224x224"
        ):
            parse_shapes([entry])
    with pytest.raises(DiagnosticError, match=r"unknown function 'man'; did you mean 'main'\? \(available: main\)"):
        function_of(module_of("func.func @main() { func.return }"), "man")
