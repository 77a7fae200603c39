"""Encodings of AIMET: read as given parameters, by the formula of its specification, and written from types.

By the specification, an integer `q` from 0 to `2^bitwidth - 1` has the real value `(q + offset) * scale`; version 2.0
has the parameters of ONNX's QuantizeLinear.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.ir.diagnostics import DiagnosticError
from tests.support.nets import Net

FLOAT = np.float32
DATA = np.random.default_rng(0).normal(size=(16, 4)).astype(FLOAT)


def _layer() -> Any:
    """`x0` times the weight `c0`, plus the bias `c1`: the output `Gemm0`."""
    net, rng = Net(), np.random.default_rng(1)
    weight, bias = (net.constant(rng.normal(size=shape).astype(FLOAT)) for shape in ((3, 4), (3,)))
    name = net.node("Gemm", net.input(DATA, ["batch", 4]), weight, bias, transB=1)
    net.nodes[0].name = "layer"
    return net.model(name)


def _quantized(folder: Path, content: Any, **settings: Any) -> Any:
    path = folder / "model.encodings"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return qmlir.quantize(_layer(), settings.pop("data", None), recipe=path, validate=False, **settings)


def _types(module: ModuleOp) -> dict[str, UniformQuantizedType]:
    """The types of the data, the weights and the result of the layer."""
    (layer,) = (op for op in module.walk() if op.name == "nn.fully_connected")
    values = {"x0": layer.operands[0], "c0": layer.operands[1], "Gemm0": layer.results[0]}
    return {name: element_of(value) for name, value in values.items()}


def _one(bits: int, offset: int, scale: float, *, low: int = 0) -> dict[str, Any]:
    high = (1 << bits) - 1 - low
    return {
        "bitwidth": bits, "dtype": "int", "is_symmetric": "False", "offset": offset, "scale": scale,
        "min": offset * scale, "max": (high + offset) * scale,
    }  # fmt: skip


OLD = {
    "version": "0.6.1",
    "activation_encodings": {"x0": [_one(8, -114, 0.0185)], "Gemm0": [_one(16, -30000, 0.0005)]},
    "param_encodings": {"c0": [_one(8, -127, scale, low=1) for scale in (0.01, 0.02, 0.03)]},
}


def _listed(name: str, bits: int, scale: list[float], offset: list[int]) -> dict[str, Any]:
    kind = "PER_TENSOR" if len(scale) == 1 else "PER_CHANNEL"
    return {
        "name": name,
        "enc_type": kind,
        "dtype": "INT",
        "bw": bits,
        "is_sym": False,
        "scale": scale,
        "offset": offset,
    }


LISTS = {
    "version": "1.0.0",
    "activation_encodings": [_listed("x0", 8, [0.0185], [-114]), _listed("Gemm0", 16, [0.0005], [-30000])],
    "param_encodings": [_listed("c0", 4, [0.1, 0.2, 0.3], [-8, -8, -8])],
}
ONNX = {
    "version": "2.0.0",
    "encodings": [
        {"name": "x0", "output_dtype": "uint8", "y_scale": 0.0185, "y_zero_point": 114},
        {"name": "Gemm0", "output_dtype": "uint16", "y_scale": 0.0005, "y_zero_point": 30000},
        {"name": "c0", "output_dtype": "int4", "y_scale": [0.1, 0.2, 0.3], "axis": 0},
    ],
}


@pytest.mark.parametrize("content", [OLD, LISTS, ONNX], ids=["0.6.1", "1.0.0", "2.0.0"])
def test_types_have_the_real_values_of_the_encodings(tmp_path: Path, content: Any) -> None:
    found = _types(_quantized(tmp_path, content).module)
    for name, bits, offset, scale in (("x0", 8, -114, 0.0185), ("Gemm0", 16, -30000, 0.0005)):
        low, high = (
            (limit - found[name].zero_point) * found[name].scale
            for limit in (found[name].storage_min, found[name].storage_max)
        )
        assert found[name].bits == bits
        assert (low, high) == (offset * float(FLOAT(scale)), ((1 << bits) - 1 + offset) * float(FLOAT(scale)))
    scales = [0.01, 0.02, 0.03] if content is OLD else [0.1, 0.2, 0.3]
    assert list(found["c0"].scales) == [float(FLOAT(scale)) for scale in scales]
    assert not found["c0"].zero_points.any()
    limits = found["c0"].storage_min, found["c0"].storage_max
    assert limits == ((-127, 127) if content is OLD else (-8, 7))


@pytest.mark.parametrize("version", ["0.6.1", "1.0.0", "2.0.0"])
@pytest.mark.parametrize("weights", ["i8", "i4"])
@pytest.mark.parametrize("scheme", ["asymmetric", "symmetric"])
def test_written_encodings_give_the_types_again(tmp_path: Path, version: str, weights: str, scheme: str) -> None:
    module = qmlir.quantize(_layer(), DATA, weights=weights, scheme=scheme, validate=False).module
    content = qmlir.export_encodings(module, version=version).decode()
    found, expected = _types(_quantized(tmp_path, content).module), _types(module)
    for name, element in expected.items():
        assert np.array_equal(found[name].scales, element.scales), name
        assert np.array_equal(found[name].zero_points, element.zero_points), name
        assert found[name].bits == element.bits


def test_written_numbers(tmp_path: Path) -> None:
    """The numbers of `OLD` again, from the module with its types."""
    module = _quantized(tmp_path, OLD).module
    found = json.loads(qmlir.export_encodings(module, version="0.6.1"))
    assert list(found["activation_encodings"]) == ["x0", "Gemm0"]
    (data,) = found["activation_encodings"]["x0"]
    assert (data["bitwidth"], data["offset"], data["scale"]) == (8, -114, float(FLOAT(0.0185)))
    assert (data["min"], data["max"]) == (-114 * float(FLOAT(0.0185)), 141 * float(FLOAT(0.0185)))
    assert [(each["offset"], each["is_symmetric"]) for each in found["param_encodings"]["c0"]] == [(-127, "True")] * 3


def test_names_without_a_value_are_listed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    more = {**OLD, "activation_encodings": {**OLD["activation_encodings"], "fused": [_one(8, 0, 0.1)]}}
    _quantized(tmp_path, more)
    assert "1 of 4 optional rules have no effect, as the model has no value: fused" in caplog.text


def test_a_value_without_an_encoding_needs_samples(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fewer = {**OLD, "activation_encodings": {"x0": OLD["activation_encodings"]["x0"]}}
    _quantized(tmp_path, fewer)
    assert "has no profile entry for value 'layer/bias_add'" in caplog.text
    found = _types(_quantized(tmp_path, fewer, data=DATA).module)
    assert (found["x0"].scale, found["Gemm0"].bits) == (float(FLOAT(0.0185)), 8)


def test_floats_stay_floats(tmp_path: Path) -> None:
    content = {**OLD, "param_encodings": {"c0": [{"bitwidth": 16, "dtype": "float"}]}}
    module = _quantized(tmp_path, content).module
    (product,) = (op for op in module.walk() if op.name == "nn.matmul")
    assert [str(element_of(value)) for value in (*product.operands, *product.results)] == ["f32", "f32", "f32"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": "3.0.0"}, "encodings of version 3.0.0 are not supported"),
        ({"activation_encodings": {"x0": [{**_one(8, 0, 0.1), "offset": 3}]}}, "x0.0.offset' must be at most 0"),
        ({"activation_encodings": {"x0": [_one(8, 0, -1.0)]}}, "x0.0.scale' must be above 0, but got -1.0"),
        ({"activation_encodings": {"x0": [_one(8, 0.5, 1.0)]}}, "x0.0.offset' must be a whole number"),
        ({"activation_encodings": {"x0": []}}, "x0' must be a list of encodings"),
    ],
)
def test_faults_name_the_key(tmp_path: Path, change: Any, message: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        _quantized(tmp_path, {**OLD, **change})
    assert message in str(raised.value)
