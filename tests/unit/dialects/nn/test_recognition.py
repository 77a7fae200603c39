"""Composites as exporters spell them: what they are recognized as, against ONNX Runtime's floats; and near misses."""

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.ir.provenance import origins_of
from qmlir.pipelines import kept_composites
from tests.unit.quantization.random_graphs import run_passes

CONSTANTS = """
  float eps = {1e-5}, float tiny = {1e-12}, float mone = {-1}, float zero = {0}, float half = {0.5}, float one = {1},
  float two = {2}, float three = {3}, float six = {6}, float sixth = {0.16666667}, float eight = {8},
  float c = {0.044715}, float k = {0.7978845608}, float sqrt2 = {1.4142135381698608}, float rsqrt2 = {0.70710677},
  float alpha = {1.702},
  float[8] g = {0.5, 1.5, -1, 2, 0.25, 1, 1, 3}, float[8] b = {0.1, -0.2, 0.3, 0, 1, 2, -3, 0.5},
  float[3,1] gc = {0.5, 1.5, -1}, float[3,1] bc = {0.1, -0.2, 0.3},
  int64[1] last = {-1}, int64[1] middle = {1}, int64[3] kept = {2, 3, 1}, int64[3] whole = {2, 3, 8}
"""

CENTERED = "m = ReduceMean<axes=[-1]>(x) d = Sub(x, m)"
VARIANCE = f"{CENTERED} s = Mul(d, d) v = ReduceMean<axes=[-1]>(s) e = Add(v, eps)"
SQUARES = "s = Mul(x, x) v = ReduceMean<axes=[-1]>(s) e = Add(v, eps)"
LESS = (
    "s = Mul(x, x) a = ReduceMean<axes=[-1]>(s) v0 = Sub(a, q) v = Max(zero, v0) e = Add(v, eps) r = Sqrt(e)"
    " y = Div(d, r)"
)

FORMS = {
    # softmax
    "softmax, plain": ("softmax", "e = Exp(x) s = ReduceSum(e, last) y = Div(e, s)"),
    "softmax, shifted": (
        "softmax",
        "m = ReduceMax<axes=[2]>(x) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, last) y = Div(e, s)",
    ),
    "softmax, along the middle, by a reciprocal": (
        "softmax",
        "m = ReduceMax<axes=[1]>(x) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, middle) r = Reciprocal(s) y = Mul(r, e)",
    ),
    "softmax, JAX": (
        "softmax",
        "m0 = ReduceMax<axes=[2], keepdims=0>(x) ninf = Constant<value_float=-inf>() m1 = Max(ninf, m0)"
        " m2 = Reshape(m1, kept) d = Sub(x, m2) e = Exp(d) s0 = ReduceSum<keepdims=0>(e, last) s1 = Reshape(s0, kept)"
        " y = Div(e, s1)",
    ),
    "softmax, JAX, sums expanded": (
        "softmax",
        "m0 = ReduceMax<axes=[2], keepdims=0>(x) m1 = Unsqueeze(m0, last) m2 = Expand(m1, whole) d = Sub(x, m2)"
        " e = Exp(d) s0 = ReduceSum<keepdims=0>(e, last) s1 = Unsqueeze(s0, last) s2 = Expand(s1, whole)"
        " y = Div(e, s2)",
    ),
    "log softmax, of a softmax": ("log_softmax", "p = Softmax<axis=-1>(x) y = Log(p)"),
    "log softmax, spelled twice": (
        "log_softmax",
        "m = ReduceMax<axes=[1]>(x) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, middle) p = Div(e, s) y = Log(p)",
    ),
    "log softmax, shifted": (
        "log_softmax",
        "m = ReduceMax<axes=[-1]>(x) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, last) l = Log(s) y = Sub(d, l)",
    ),
    "log softmax, by a sum of exponentials": ("log_softmax", "l = ReduceLogSumExp<axes=[1]>(x) y = Sub(x, l)"),
    "log softmax, less a shifted sum": (
        "log_softmax",
        "m = ReduceMax<axes=[-1]>(x) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, last) l = Log(s) t = Add(l, m)"
        " y = Sub(x, t)",
    ),
    # norms
    "layer norm, plain": ("layer_norm", f"{VARIANCE} r = Sqrt(e) y = Div(d, r)"),
    "layer norm, torch": (
        "layer_norm",
        f"{CENTERED} s = Pow(d, two) v = ReduceMean<axes=[-1]>(s) e = Add(v, eps) r = Sqrt(e) n = Div(d, r)"
        " w = Mul(n, g) y = Add(w, b)",
    ),
    "layer norm, with a scale": ("layer_norm", f"{VARIANCE} r = Sqrt(e) n = Div(d, r) y = Mul(g, n)"),
    "layer norm, with a bias": ("layer_norm", f"{VARIANCE} r = Sqrt(e) n = Div(d, r) y = Add(b, n)"),
    "layer norm, by a reciprocal": (
        "layer_norm",
        f"{VARIANCE} r = Sqrt(e) i = Reciprocal(r) n = Mul(d, i) w = Mul(n, g) y = Add(w, b)",
    ),
    "layer norm, by 1 over a root": ("layer_norm", f"{VARIANCE} r = Sqrt(e) i = Div(one, r) y = Mul(i, d)"),
    "layer norm, by a power": (
        "layer_norm",
        f"{VARIANCE} h = Constant<value_float=-0.5>() i = Pow(e, h) y = Mul(d, i)",
    ),
    "layer norm, by a root that is a power": ("layer_norm", f"{VARIANCE} r = Pow(e, half) y = Div(d, r)"),
    "layer norm, Keras": (
        "layer_norm",
        f"{VARIANCE} r = Sqrt(e) i = Reciprocal(r) f = Mul(i, g) p = Mul(x, f) q = Mul(m, f) o = Sub(b, q)"
        " y = Add(p, o)",
    ),
    "layer norm, Keras, without parameters": (
        "layer_norm",
        f"{VARIANCE} r = Sqrt(e) i = Reciprocal(r) p = Mul(x, i) q = Mul(m, i) y = Sub(p, q)",
    ),
    "layer norm, deviations computed twice": (
        "layer_norm",
        "m = ReduceMean<axes=[-1]>(x) d = Sub(x, m) d1 = Sub(x, m) d2 = Sub(x, m) s = Mul(d1, d2)"
        " v = ReduceMean<axes=[-1]>(s) e = Add(eps, v) r = Sqrt(e) n = Div(d, r) w = Mul(n, g) y = Add(w, b)",
    ),
    "layer norm, flax": (
        "layer_norm",
        "m = ReduceMean<axes=[-1]>(x) s = Mul(x, x) a = ReduceMean<axes=[-1]>(s) q = Mul(m, m) v0 = Sub(a, q)"
        " v = Max(zero, v0) e = Add(v, eps) r = Sqrt(e) i = Reciprocal(r) f = Mul(i, g) d = Sub(x, m) w = Mul(d, f)"
        " y = Add(w, b)",
    ),
    "layer norm, JAX, sums over a count": (
        "layer_norm",
        "t0 = ReduceSum<keepdims=0>(x, last) m0 = Div(t0, eight) m = Reshape(m0, kept) d = Sub(x, m) s = Mul(d, d)"
        " t1 = ReduceSum<keepdims=0>(s, last) v0 = Div(t1, eight) v = Reshape(v0, kept) e = Add(v, eps) r = Sqrt(e)"
        " n = Div(d, r) w = Mul(n, g) y = Add(w, b)",
    ),
    "layer norm, over two axes": (
        "layer_norm",
        "m = ReduceMean<axes=[1,2]>(x) d = Sub(x, m) s = Mul(d, d) v = ReduceMean<axes=[-2,-1]>(s) e = Add(v, eps)"
        " r = Sqrt(e) n = Div(d, r) w = Mul(n, g) y = Add(w, b)",
    ),
    "instance norm": ("instance_norm", f"{VARIANCE} r = Sqrt(e) n = Div(d, r) w = Mul(n, gc) y = Add(w, bc)"),
    "RMS norm, plain": ("rms_norm", f"{SQUARES} r = Sqrt(e) y = Div(x, r)"),
    "RMS norm, Llama": (
        "rms_norm",
        "s = Pow(x, two) v = ReduceMean<axes=[-1]>(s) e = Add(v, eps) r = Sqrt(e) i = Div(one, r) n = Mul(x, i)"
        " y = Mul(g, n)",
    ),
    "RMS norm, by a reciprocal": (
        "rms_norm",
        f"{SQUARES} r = Sqrt(e) i = Reciprocal(r) n = Mul(x, i) y = Mul(n, g)",
    ),
    "RMS norm, scaled first": ("rms_norm", f"{SQUARES} r = Sqrt(e) i = Reciprocal(r) f = Mul(i, g) y = Mul(f, x)"),
    "L2 norm": ("lp_norm", "n = ReduceL2<axes=[-1], keepdims=1>(x) y = Div(x, n)"),
    "L2 norm, torch": (
        "lp_norm",
        "n = ReduceL2<axes=[-1], keepdims=1>(x) a = Clip(n, tiny) w = Expand(a, whole) y = Div(x, w)",
    ),
    "L2 norm, TensorFlow": (
        "lp_norm",
        "s = Mul(x, x) t = ReduceSum(s, middle) a = Max(t, tiny) r = Sqrt(a) i = Reciprocal(r) y = Mul(x, i)",
    ),
    "L2 norm, spelled": ("lp_norm", "s = Pow(x, two) t = ReduceSum(s, last) r = Sqrt(t) y = Div(x, r)"),
    "L2 norm, with a summand": (
        "rms_norm",
        "s = ReduceSumSquare<axes=[-1]>(x) e = Add(s, eps) r = Sqrt(e) y = Div(x, r)",
    ),
    "L1 norm": ("lp_norm", "a = Abs(x) s = ReduceSum(a, last) y = Div(x, s)"),
    # functions of one value
    "GELU, torch": ("gelu", "a = Div(x, sqrt2) f = Erf(a) h = Add(f, one) p = Mul(x, h) y = Mul(p, half)"),
    "GELU, halved first": ("gelu", "a = Mul(x, rsqrt2) f = Erf(a) h = Add(one, f) p = Mul(half, x) y = Mul(p, h)"),
    "GELU, gate halved": ("gelu", "a = Mul(x, rsqrt2) f = Erf(a) h = Add(one, f) p = Mul(half, h) y = Mul(x, p)"),
    "GELU, over 2": ("gelu", "a = Div(x, sqrt2) f = Erf(a) h = Add(f, one) p = Mul(x, h) y = Div(p, two)"),
    "GELU of a product": (
        "gelu",
        "z = Mul(x, x) a = Div(z, sqrt2) f = Erf(a) h = Add(f, one) p = Mul(z, h) y = Mul(p, half)",
    ),
    "GELU, tanh, Hugging Face": (
        "gelu",
        "q = Pow(x, three) w = Mul(q, c) i = Add(x, w) a = Mul(i, k) t = Tanh(a) h = Add(t, one) p = Mul(x, half)"
        " y = Mul(p, h)",
    ),
    "GELU, tanh, JAX": (
        "gelu",
        "s = Mul(x, x) q = Mul(s, x) w = Mul(c, q) i = Add(x, w) a = Mul(k, i) t = Tanh(a) h = Add(one, t)"
        " u = Mul(half, h) y = Mul(x, u)",
    ),
    "GELU, tanh, of a layer": (
        "gelu",
        "z0 = Mul(x, alpha) z = Add(z0, three) w = Mul(c, z) s = Mul(z, w) q = Mul(z, s) i = Add(z, q) a = Mul(k, i)"
        " t = Tanh(a) h = Add(one, t) u = Mul(half, h) y = Mul(z, u)",
    ),
    "GELU, tanh, factored": (
        "gelu",
        "s = Mul(x, x) w = Mul(s, c) i = Add(w, one) z = Mul(x, k) a = Mul(z, i) t = Tanh(a) h = Add(one, t)"
        " u = Mul(x, h) y = Mul(half, u)",
    ),
    "SiLU": ("swish", "s = Sigmoid(x) y = Mul(x, s)"),
    "SiLU, by a quotient": ("swish", "n = Neg(x) e = Exp(n) d = Add(e, one) y = Div(x, d)"),
    "SiLU, by 1 over": ("swish", "n = Neg(x) e = Exp(n) d = Add(one, e) s = Div(one, d) y = Mul(s, x)"),
    "quick GELU": ("swish", "a = Mul(x, alpha) s = Sigmoid(a) y = Mul(x, s)"),
    "sigmoid": ("sigmoid", "n = Mul(x, mone) e = Exp(n) d = Add(one, e) y = Reciprocal(d)"),
    "mish": ("mish", "s = Softplus(x) t = Tanh(s) y = Mul(x, t)"),
    "mish, spelled": ("mish", "e = Exp(x) o = Add(e, one) s = Log(o) t = Tanh(s) y = Mul(t, x)"),
    "hard sigmoid": ("hard_sigmoid", "a = Add(x, three) s = Clip(a, zero, six) y = Div(s, six)"),
    "hard swish, torch": ("hard_swish", "a = Add(x, three) s = Clip(a, zero, six) p = Mul(x, s) y = Div(p, six)"),
    "hard swish, by a hard sigmoid": ("hard_swish", "s = HardSigmoid<alpha=0.16666667, beta=0.5>(x) y = Mul(x, s)"),
    "hard swish, Keras": (
        "hard_swish",
        "a = Add(x, three) r = Relu(a) s = Min(r, six) h = Mul(s, sixth) y = Mul(x, h)",
    ),
    "hard swish, gate first": ("hard_swish", "a = Add(x, three) s = Clip(a, zero, six) h = Div(s, six) y = Mul(h, x)"),
}

NEAR_MISSES = {
    "another axis": ("softmax", "e = Exp(x) s = ReduceSum(e, middle) t = ReduceSum(s, last) y = Div(e, t)"),
    "another value": ("softmax", "e = Exp(x) f = Exp(e) s = ReduceSum(f, last) y = Div(e, s)"),
    "shifted along another axis": (
        "log_softmax",
        "m = ReduceMax<axes=[1]>(x) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, last) l = Log(s) y = Sub(x, l)",
    ),
    "no deviation": (
        "layer_norm",
        f"{CENTERED} s = Mul(x, d) v = ReduceMean<axes=[-1]>(s) e = Add(v, eps) r = Sqrt(e) y = Div(d, r)",
    ),
    "variance along another axis": (
        "layer_norm",
        f"{CENTERED} s = Mul(d, d) v = ReduceMean<axes=[1]>(s) e = Add(v, eps) r = Sqrt(e) y = Div(d, r)",
    ),
    "mean along two axes": (
        "layer_norm",
        "m = ReduceMean<axes=[1,2]>(x) d = Sub(x, m) s = Mul(d, d) v = ReduceMean<axes=[-1]>(s) e = Add(v, eps)"
        " r = Sqrt(e) y = Div(d, r)",
    ),
    "no root": ("layer_norm", f"{VARIANCE} y = Div(d, e)"),
    "a sum over another count": (
        "layer_norm",
        "t0 = ReduceSum(x, last) m = Div(t0, six) d = Sub(x, m) s = Mul(d, d) v = ReduceMean<axes=[-1]>(s)"
        " e = Add(v, eps) r = Sqrt(e) y = Div(d, r)",
    ),
    "another summand than a number": (
        "layer_norm",
        f"{CENTERED} s = Mul(d, d) v = ReduceMean<axes=[-1]>(s) e = Add(v, g) r = Sqrt(e) y = Div(d, r)",
    ),
    "an added mean": (
        "layer_norm",
        f"{VARIANCE} r = Sqrt(e) i = Reciprocal(r) p = Mul(x, i) q = Mul(m, i) y = Add(p, q)",
    ),
    "another scale of the mean": (
        "layer_norm",
        f"{VARIANCE} r = Sqrt(e) i = Reciprocal(r) f = Mul(i, g) p = Mul(x, f) q = Mul(m, i) y = Sub(p, q)",
    ),
    "a mean that is not divided": (
        "layer_norm",
        f"{VARIANCE} r = Sqrt(e) i = Reciprocal(r) p = Mul(x, i) y = Sub(p, m)",
    ),
    "a mean times the data": (
        "layer_norm",
        f"{VARIANCE} r = Sqrt(e) i = Reciprocal(r) p = Mul(x, i) q = Mul(m, i) t = Mul(q, x) y = Sub(p, t)",
    ),
    "squares less another power of the mean": ("layer_norm", f"{CENTERED} q = Pow(m, three) {LESS}"),
    "squares less the mean": ("layer_norm", f"{CENTERED} q = Identity(m) {LESS}"),
    "squares less another value's mean": (
        "layer_norm",
        f"{CENTERED} z = Mul(x, half) w = Sin(z) n = ReduceMean<axes=[-1]>(w) q = Mul(n, n) {LESS}",
    ),
    "a norm along two axes": ("lp_norm", "n = ReduceL2<axes=[1,2]>(x) y = Div(x, n)"),
    "a norm that is limited from above": ("lp_norm", "n = ReduceL2<axes=[-1]>(x) a = Min(n, six) y = Div(x, a)"),
    "another slope in a GELU": ("gelu", "a = Div(x, two) f = Erf(a) h = Add(f, one) p = Mul(x, h) y = Mul(p, half)"),
    "another coefficient in a GELU": (
        "gelu",
        "q = Pow(x, three) w = Mul(q, half) i = Add(x, w) a = Mul(i, k) t = Tanh(a) h = Add(t, one)"
        " p = Mul(x, half) y = Mul(p, h)",
    ),
    "another factor in a GELU": ("gelu", "a = Div(x, sqrt2) f = Erf(a) h = Add(f, one) p = Mul(x, h) y = Mul(p, two)"),
    "another value in a SiLU": ("swish", "s = Sigmoid(x) z = Abs(x) y = Mul(z, s)"),
    "another bound in a hard swish": (
        "hard_swish",
        "a = Add(x, three) s = Clip(a, one, six) p = Mul(x, s) y = Div(p, six)",
    ),
    "another slope in a hard swish": (
        "hard_swish",
        "a = Add(x, two) s = Clip(a, zero, six) p = Mul(x, s) y = Div(p, six)",
    ),
}

KEEP = ",".join(kept_composites())
LOWER = f"canonicalize,cse,nn-recognize{{keep={KEEP}}},canonicalize,dce"


def model_of(body: str, outputs: str = "float[2,3,8] y", shape: str = "2,3,8") -> onnx.ModelProto:
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float[{shape}] x) => ({outputs}) <{CONSTANTS}> {{ {body} }}'
    model = onnx.parser.parse_model(text)
    for number, node in enumerate(model.graph.node):
        node.name = f"n{number}"
    return model


def data(seed: int = 0) -> np.ndarray:
    """Rows around means of their own, half of them so small that the summands of roots count."""
    random = np.random.default_rng(seed)
    sizes = np.array([4.0, 0.003, 1.0]).reshape(1, 3, 1)
    return ((random.standard_normal((2, 3, 8)) + random.uniform(-0.5, 0.5, (2, 3, 1))) * sizes).astype(np.float32)


def reference(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(["y"], {"x": x})[0])


def operations(module: ModuleOp) -> list[NnOp]:
    return [op for op in module.walk() if isinstance(op, NnOp) and not isinstance(op, ConstantOp)]


@pytest.mark.parametrize("form", FORMS)
def test_a_spelled_composite_is_recognized(form: str) -> None:
    kind, body = FORMS[form]
    model = model_of(body)
    module = run_passes(qmlir.load(model), LOWER)
    found = operations(module)
    before = {"GELU of a product": ["nn.mul"], "GELU, tanh, of a layer": ["nn.mul", "nn.add"]}.get(form, [])
    names = [op.name for op in found if op.name not in before]
    assert names == [f"nn.{kind}"]
    nodes = [node.name for node in model.graph.node if node.op_type not in ("Constant", "Expand")]
    assert {origin.name for op in found for origin in origins_of(op)} >= set(nodes)
    x = data()
    expected, computed = reference(model, x), qmlir.interpret(module, {"x": x})["y"]
    np.testing.assert_allclose(computed, expected, rtol=2e-5, atol=2e-6)


CHANNELS = {
    "ConvNeXt": "m = ReduceMean<axes=[1]>(x) d = Sub(x, m) s = Mul(d, d) v = ReduceMean<axes=[1]>(s) e = Add(v, eps)"
    " r = Sqrt(e) n = Div(d, r) w = Mul(n, gc) y = Add(w, bc)",
    "flax": "m = ReduceMean<axes=[1]>(x) s = Mul(x, x) a = ReduceMean<axes=[1]>(s) q = Mul(m, m) v0 = Sub(a, q)"
    " v = Max(zero, v0) e = Add(v, eps) r = Sqrt(e) i = Reciprocal(r) f = Mul(i, gc) d = Sub(x, m) w = Mul(d, f)"
    " y = Add(w, bc)",
    "without parameters": "m = ReduceMean<axes=[0,1]>(x) d = Sub(x, m) s = Mul(d, d) v = ReduceMean<axes=[0,1]>(s)"
    " e = Add(v, eps) r = Sqrt(e) y = Div(d, r)",
}


@pytest.mark.parametrize("form", CHANNELS)
def test_a_layer_norm_of_other_axes_than_the_last(form: str) -> None:
    model = model_of(CHANNELS[form])
    module = run_passes(qmlir.load(model), LOWER)
    assert [op.name for op in operations(module)] == ["nn.transpose", "nn.layer_norm", "nn.transpose"]
    x = data()
    np.testing.assert_allclose(qmlir.interpret(module, {"x": x})["y"], reference(model, x), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("form", NEAR_MISSES)
def test_a_near_miss_stays_as_it_is(form: str) -> None:
    kind, body = NEAR_MISSES[form]
    model = model_of(body)
    module = run_passes(qmlir.load(model), LOWER)
    assert f"nn.{kind}" not in {op.name for op in operations(module)}
    x = data()
    np.testing.assert_allclose(qmlir.interpret(module, {"x": x})["y"], reference(model, x), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("form", ["softmax, shifted", "layer norm, torch", "GELU, torch", "L2 norm, torch"])
def test_a_value_inside_that_is_used_elsewhere(form: str) -> None:
    kind, body = FORMS[form]
    inner = body.split(" = ")[0]
    shape = "float[2,3,8]" if form.startswith("GELU") else "float[2,3,1]"
    model = model_of(body, f"float[2,3,8] y, {shape} {inner}")
    module = run_passes(qmlir.load(model), LOWER)
    other, composite = operations(module)
    assert composite.name == f"nn.{kind}"
    names = [{origin.name for origin in origins_of(op)} for op in (other, composite)]
    assert names[0] == {"n0"}
    assert not names[0] & names[1]
    x = data()
    np.testing.assert_allclose(qmlir.interpret(module, {"x": x})["y"], reference(model, x), rtol=2e-5, atol=2e-6)


def test_two_norms_of_one_tensor_share_their_statistics() -> None:
    body = f"{VARIANCE} r = Sqrt(e) n = Div(d, r) w = Mul(n, g) y = Add(w, b) z = Mul(n, b)"
    module = run_passes(qmlir.load(model_of(body, "float[2,3,8] y, float[2,3,8] z")), LOWER)
    assert [op.name for op in operations(module)] == ["nn.layer_norm", "nn.layer_norm"]
    nodes = [origin.name for op in operations(module) for origin in origins_of(op)]
    assert len(nodes) == len(set(nodes)) == 10


@pytest.mark.parametrize("form", ["layer norm, plain", "instance norm", "L2 norm, torch", "L2 norm, TensorFlow"])
def test_what_was_recognized_can_be_exported(form: str, tmp_path: Path) -> None:
    module, x = run_passes(qmlir.load(model_of(FORMS[form][1])), LOWER), data()
    qmlir.export_onnx(module, tmp_path / "found.onnx")
    found = reference(onnx.load(tmp_path / "found.onnx"), x)
    np.testing.assert_allclose(found, reference(model_of(FORMS[form][1]), x), rtol=2e-5, atol=2e-6)


def test_rows_that_do_not_stand_beside_their_sums() -> None:
    # The sums of rows, broadcast along the rows: they stand beside columns.
    model = model_of("e = Exp(x) s = ReduceSum<keepdims=0>(e, last) y = Div(e, s)", "float[8,8] y", "8,8")
    assert [op.name for op in operations(run_passes(qmlir.load(model), LOWER))] == ["nn.exp", "nn.reduce_sum", "nn.div"]


def test_what_becomes_parts_again_stays_as_it_is_spelled() -> None:
    module = qmlir.load(model_of(FORMS["softmax, plain"][1]))
    names = [op.name for op in operations(run_passes(module, "canonicalize,cse,nn-recognize{keep=gelu}"))]
    assert names == ["nn.exp", "nn.reduce_sum", "nn.div"]


WHOLE = (
    "softmax, JAX", "softmax, plain", "log softmax, shifted", "layer norm, torch", "layer norm, Keras",
    "RMS norm, Llama", "L2 norm, torch", "GELU, torch", "GELU, tanh, JAX", "SiLU, by a quotient", "hard swish, torch",
    "mish, spelled",
)  # fmt: skip


PARTS = ("softmax, JAX", "layer norm, torch", "L2 norm, TensorFlow", "SiLU, by a quotient")


def _together(forms: Sequence[str]) -> onnx.ModelProto:
    """One model that computes each of `forms` of its input, names of values made different."""
    names = "|".join(re.findall(r"(\w+) = \{", CONSTANTS)) + "|x"
    renamed = [
        re.sub(rf"\b(?!(?:{names})\b)([a-z]\w?)\b(?![<=](?!=)|s=|ims=)", rf"\1_{position}", FORMS[form][1])
        for position, form in enumerate(forms)
    ]
    return model_of(" ".join(renamed), ", ".join(f"float[2,3,8] y_{position}" for position in range(len(forms))))


@pytest.mark.parametrize(("keep", "least"), [(kept_composites(), 38.0), ((), None)], ids=["whole", "parts"])
def test_quantized_samples_go_through_interpreter_and_program_alike(keep: tuple[str, ...], least: float | None) -> None:
    forms = WHOLE if keep else PARTS
    module = qmlir.load(_together(forms))
    random = np.random.default_rng(3)
    samples = random.normal(0.3, 1.5, (64, 3, 8)).astype(np.float32)
    quantized = qmlir.quantize(module, {"x": samples}, keep_composites=keep).module
    program = qmlir.compile(quantized, codegen="llvm")
    signal, noise = defaultdict(float), defaultdict(float)
    for first in range(0, 64, 8):
        x = {"x": samples[first : first + 2]}
        expected, found, computed = qmlir.interpret(module, x), qmlir.interpret(quantized, x), program(x)
        for name, value in expected.items():
            assert np.array_equal(found[name], computed[name]), name
            signal[name] += float((value.astype(np.float64) ** 2).sum())
            noise[name] += float(((value - found[name]).astype(np.float64) ** 2).sum())
    ratios = {
        form: 10 * np.log10(signal[f"y_{position}"] / max(noise[f"y_{position}"], 1e-9))
        for position, form in enumerate(forms)
    }
    assert least is None or min(ratios.values()) > least, ratios
