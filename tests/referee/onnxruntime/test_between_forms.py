"""Each form of a quantized model gives each other one, with the integers of ONNX Runtime and without metadata."""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.ir.diagnostics import Diagnostic, diagnostic_handler
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession
from tests.referee.onnxruntime.exported import EXACT, FORMS
from tests.referee.onnxruntime.quantized_sheets import needs_onnxruntime

pytestmark = needs_onnxruntime

DIGITS = Path(__file__).resolve().parents[3] / "docs" / "examples"

FUSED: dict[str, Any] = {"format": "qdq"}
"""The form whose casts optimizations of ONNX Runtime fuse."""

CONTRACTIONS = ("ConvInteger", "MatMulInteger", "Conv", "Gemm", "MatMul", "QLinearConv", "QGemm", "QLinearMatMul")
_HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'


@dataclass(frozen=True)
class Net:
    """A model: its nodes in ONNX's syntax, the shape of its input `x`, and the shapes or values of its constants."""

    nodes: str
    shape: tuple[int, ...]
    constants: dict[str, Any]

    def model(self) -> ModelProto:
        random = np.random.default_rng(1)
        text = "x".join(map(str, self.shape)).replace("x", ",")
        model = parser.parse_model(f"{_HEAD}net (float[{text}] x) => (float y) {{ {self.nodes} }}")
        model.graph.output[0].type.tensor_type.ClearField("shape")
        for name, value in self.constants.items():
            array = random.normal(0, 0.5, cast(tuple[int, ...], value)) if isinstance(value, tuple) else value
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        return model


def _mlp(activation: str, **constants: Any) -> Net:
    nodes = f"a = Gemm (x, w1, b1) {activation} y = Gemm (g, w2, b2)"
    return Net(nodes, (4, 6), {"w1": (6, 8), "b1": (8,), "w2": (8, 5), "b2": (5,), **constants})


_3X3 = "<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>"
_GELU = {"half": 0.5, "one": 1.0}

NETS = {
    "residual": Net(
        f"a = Conv {_3X3} (x, w1, b1) b = Relu (a) c = Conv {_3X3} (b, w2, b2) d = Add (c, x) y = Relu (d)",
        (1, 2, 4, 4), {"w1": (2, 2, 3, 3), "b1": (2,), "w2": (2, 2, 3, 3), "b2": (2,)},
    ),
    "gemm_add": Net(
        "a = Gemm (x, w, b) y = Add (a, c)", (4, 6), {"w": (6, 5), "b": (5,), "c": (4, 5)}
    ),
    "matmul_add": Net("a = MatMul (x, w) b = Add (a, c) r = Relu (b) y = MatMul (r, v)", (4, 6),
        {"w": (6, 5), "c": (5,), "v": (5, 5)}),
    "gelu": _mlp("g = Gelu (a)"),
    "gelu_by_erf": _mlp("q = Div (a, root) e = Erf (q) p = Add (e, one) m = Mul (a, p) g = Mul (m, half)", root=2**0.5,
        **_GELU),
    "gelu_of_half": _mlp("q = Mul (a, root) e = Erf (q) p = Add (e, one) h = Mul (a, half) g = Mul (h, p)",
        root=0.5**0.5, **_GELU),
    "gelu_by_tanh": _mlp(
        "c = Pow (a, three) k = Mul (c, cubic) s = Add (a, k) u = Mul (s, root) t = Tanh (u) p = Add (t, one) "
        "h = Mul (a, half) g = Mul (h, p)", three=3.0, cubic=0.044715, root=(2 / np.pi) ** 0.5, **_GELU,
    ),
    "quick_gelu": _mlp("q = Mul (a, k) s = Sigmoid (q) g = Mul (a, s)", k=1.702),
    "swish": _mlp("s = Sigmoid (a) g = Mul (a, s)"),
    "softmax": Net("a = Gemm (x, w, b) y = Softmax (a)", (4, 6), {"w": (6, 5), "b": (5,)}),
    "pools": Net(
        f"a = Conv {_3X3} (x, w, b) p = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (a) "
        "m = MaxPool <kernel_shape = [2, 2]> (p) d = GlobalAveragePool (m) y = Flatten (d)",
        (1, 2, 6, 6), {"w": (4, 2, 3, 3), "b": (4,)},
    ),
    "concat": Net(
        f"a = Conv {_3X3} (x, w, b) r = Relu (a) c = Conv (x, v) j = Concat <axis = 1> (r, c, x) y = Conv (j, u)",
        (1, 2, 4, 4), {"w": (2, 2, 3, 3), "b": (2,), "v": (1, 2, 1, 1), "u": (3, 5, 1, 1)},
    ),
}  # fmt: skip


@cache
def quantized(name: str) -> tuple[ModuleOp, dict[str, np.ndarray]]:
    """The quantized model, and inputs that calibrated nothing."""
    if name == "digits_cnn":
        data = np.load(DIGITS / "digits_samples.npz")["input"].astype(np.float32)
        module = qmlir.load(DIGITS / "digits_cnn.onnx", shapes={"input": (1, 1, 8, 8)})
        return qmlir.quantize(module, data[:64], validate=False, progress=None).module, {"input": data[64:65]}
    random, net = np.random.default_rng(0), NETS[name]
    samples = random.normal(size=(9, *net.shape)).astype(np.float32)
    found = qmlir.quantize(net.model(), [{"x": x} for x in samples[:8]], validate=False, progress=None)
    return found.module, {"x": samples[8]}


def without_metadata(model: ModelProto) -> ModelProto:
    found = onnx.load_model_from_string(model.SerializeToString())
    graph = found.graph
    for proto in (found, graph, *graph.node, *graph.initializer, *graph.input, *graph.output, *graph.value_info):
        del proto.metadata_props[:]
    return found


def operators(model: ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def check_each_form(name: str, source: dict[str, Any]) -> None:
    """In every form the integers are equal, and each contraction is written as it is from the module.

    A sum of 32 bits that is added to something has no quantized operator: it is one of integers in every form.
    """
    module, inputs = quantized(name)
    model = without_metadata(qmlir.export_onnx(module, **source))
    (expected,) = OrtSession(model.SerializeToString(), EXACT)(inputs).values()
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        found = qmlir.load(model)
    assert not said
    (ours,) = qmlir.interpret(found, inputs).values()
    np.testing.assert_array_equal(np.asarray(ours), expected)
    for target, options in ((FUSED, OrtOptions()), *((each, EXACT) for each in FORMS)):
        exported = qmlir.export_onnx(found, **target)
        (theirs,) = OrtSession(exported.SerializeToString(), options)(inputs).values()
        np.testing.assert_array_equal(theirs, expected, err_msg=str(target))
        wanted = operators(qmlir.export_onnx(module, **target))
        assert [operators(exported)[each] for each in CONTRACTIONS] == [wanted[each] for each in CONTRACTIONS], target


@pytest.mark.parametrize("source", FORMS, ids=lambda each: each["format"])
@pytest.mark.parametrize("name", NETS)
def test_each_form_gives_each(name: str, source: dict[str, Any]) -> None:
    check_each_form(name, source)


@pytest.mark.parametrize("source", FORMS, ids=lambda each: each["format"])
def test_digits_in_each_form(source: dict[str, Any]) -> None:
    check_each_form("digits_cnn", source)


@pytest.mark.parametrize("target", FORMS, ids=lambda each: each["format"])
@pytest.mark.parametrize("source", FORMS, ids=lambda each: each["format"])
@pytest.mark.parametrize("name", ["residual", "pools"])
def test_with_metadata_a_form_is_that_of_the_module(name: str, source: dict[str, Any], target: dict[str, Any]) -> None:
    module, inputs = quantized(name)
    exported = qmlir.export_onnx(qmlir.load(qmlir.export_onnx(module, **source)), **target)
    assert operators(exported) == operators(qmlir.export_onnx(module, **target))
    first, second = (
        list(OrtSession(model.SerializeToString(), EXACT)(inputs).values())
        for model in (qmlir.export_onnx(module, **source), exported)
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("source", FORMS[:2], ids=lambda each: each["format"])
@pytest.mark.parametrize("name", ["gelu", "matmul_add", "residual"])
def test_scales_that_a_model_states_are_those_of_the_module(name: str, source: dict[str, Any]) -> None:
    """Every value between the layers has a cast, or an operator with its scale, from which the weights follow."""
    module, _ = quantized(name)
    again = qmlir.export_onnx(qmlir.load(without_metadata(qmlir.export_onnx(module, **source))), **source)
    assert operators(again) == operators(qmlir.export_onnx(module, **source))
