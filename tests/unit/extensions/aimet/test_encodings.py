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
DTYPES = {"i8": np.int8, "i16": np.int16}
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


@pytest.mark.parametrize("version", ["0.6.1", "1.0.0", "2.0.0"])
@pytest.mark.parametrize("storage", ["i8", "i16"])
def test_stored_inputs_and_outputs_are_written(tmp_path: Path, version: str, storage: str) -> None:
    ports = {"inputs_as": storage, "outputs_as": storage}
    module = qmlir.quantize(_layer(), DATA, validate=False, **ports).module
    content = qmlir.export_encodings(module, version=version).decode()
    again = _quantized(tmp_path, content, **ports).module
    written = [
        str(each) if version == "0.6.1" else str(each).replace("<-127:127>", "") for each in _types(module).values()
    ]
    assert [str(each) for each in _types(again).values()] == written
    element = _types(module)["x0"]
    integers = np.clip(np.rint(DATA / FLOAT(element.scale)) + element.zero_point, *_limits(element)).astype(
        DTYPES[storage]
    )
    found, expected = (next(iter(qmlir.interpret(each, {"x0": integers}).values())) for each in (again, module))
    np.testing.assert_array_equal(found, expected)


def _limits(element: UniformQuantizedType) -> tuple[int, int]:
    return element.storage_min, element.storage_max


def _typed(storage: str, zero_point: int) -> str:
    element = f"!quant.uniform<{storage}:f32, 5.000000e-01:{zero_point}>"
    return f"""
      func.func @main(%x: tensor<2x4xf32> {{nn.name = "x0"}}) -> tensor<2x4xf32> {{
        %0 = quant.qcast %x : tensor<2x4xf32> to tensor<2x4x{element}>
        %1 = quant.dcast %0 : tensor<2x4x{element}> to tensor<2x4xf32>
        func.return %1 : tensor<2x4xf32>
      }}"""


@pytest.mark.parametrize(
    ("storage", "zero_point", "read", "zero_point_read"),
    [
        ("i8<-127:127>", 5, "i8<-127:127>", 5), ("u8<10:100>", 15, "i8<-118:-28>", -113), ("i8", 5, "i8", 5),
        ("i4<-3:5>", 0, "i4<-3:5>", 0), ("u8<1:255>", 9, "i8<-127:127>", -119), ("i2<-1:1>", 0, "i2<-1:1>", 0),
    ],
)  # fmt: skip
def test_limits_are_written_by_version_0_6_1(
    tmp_path: Path, storage: str, zero_point: int, read: str, zero_point_read: int
) -> None:
    path = tmp_path / "typed.mlir"
    path.write_text(_typed(storage, zero_point))
    content = json.loads(qmlir.export_encodings(path, version="0.6.1"))
    (encoding,) = content["activation_encodings"]["x0"]
    low, high = (
        (int(each) for each in storage.partition("<")[2].strip(">").split(":")) if "<" in storage else (-128, 127)
    )
    assert (encoding["min"], encoding["max"]) == ((low - zero_point) * 0.5, (high - zero_point) * 0.5)
    element = _types(_quantized(tmp_path, {**OLD, **content, "param_encodings": {}}, data=DATA).module)["x0"]
    assert (str(element.storage), element.zero_point) == (read.partition("<")[0], zero_point_read)
    assert str(element).startswith(f"!quant.uniform<{read}:f32")
    for version in ("1.0.0", "2.0.0") if "<" in storage else ():
        with pytest.raises(DiagnosticError, match=r"tensor 'x0' has integers from .* pass version=\"0\.6\.1\""):
            qmlir.export_encodings(path, version=version)


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
        ({"x0": [{**_one(8, 0, 0.1), "offset": 3}]}, "x0.0.offset' must be at most 0"),
        ({"x0": [{**_one(8, 0, 0.1), "offset": -256}]}, "x0.0.offset' must be at least -255 for 8 bits"),
        ({"x0": [_one(8, 0, -1.0)]}, "x0.0.scale' must be above 0, but got -1.0"),
        ({"x0": [_one(8, 0.5, 1.0)]}, "x0.0.offset' must be a whole number"),
        ({"x0": []}, "x0' must be a list of encodings"),
        ({"x0": [{**_one(8, -127, 1e-300), "max": 1e300}]}, "x0.0.max' must be from -1.27e-298 to 1.28e-298"),
        ({"x0": [{**_one(8, -127, 0.5), "min": 3.0, "max": 3.0}]}, "x0.0.max' must be at least one scale from"),
        ({"x0": [_one(8, -127, 0.5), _one(4, -7, 0.5)]}, "x0.1' must have the bitwidth and the dtype of the first"),
        ({"x0": [_one(8, -127, 0.5), {"bitwidth": 8, "dtype": "float"}]}, "x0.1' must have the bitwidth and the dtype"),
        ({"x0": [_one(8, -127, 0.5), _one(8, -127, 0.5, low=9)]}, "x0.1' must have the limits by min and max of"),
        ({"": [_one(8, 0, 0.1)]}, "has an empty name"),
        ({"c0": [_one(8, 0, 0.1)]}, "'param_encodings.c0' encodes tensor 'c0' again, with other parameters"),
    ],
)
def test_faults_name_the_key(tmp_path: Path, change: Any, message: str) -> None:
    change = change if "version" in change else {"activation_encodings": change}
    with pytest.raises(DiagnosticError) as raised:
        _quantized(tmp_path, {**OLD, **change})
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale": []}, "0.scale' must be a list of one number"),
        ({"offset": []}, "0.offset' must be a list of one number"),
        ({"scale": [0.1, 0.2], "offset": [0, 0]}, "0.scale' must be a list of one number"),
        ({"scale": [], "enc_type": "PER_CHANNEL"}, "0.scale' must be a list of one or more numbers"),
        ({"scale": [0.1, 0.2], "enc_type": "PER_CHANNEL"}, "must have equal lengths, but got 2 and 1"),
        ({"offset": [3]}, "0.offset.0' must be at most 0"),
        ({"name": ""}, "'activation_encodings.0' has an empty name"),
        ({"name": "Gemm0"}, "'activation_encodings.1' encodes tensor 'Gemm0' again"),
    ],
)
def test_faults_of_lists_name_the_key(tmp_path: Path, change: Any, message: str) -> None:
    first, *others = LISTS["activation_encodings"]
    with pytest.raises(DiagnosticError) as raised:
        _quantized(tmp_path, {**LISTS, "activation_encodings": [{**first, **change}, *others]})
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_zero_point": []}, "0.y_zero_point' must be an integer from 0 to 255, but got a list"),
        ({"y_zero_point": [1]}, "0.y_zero_point' must be an integer from 0 to 255, but got a list"),
        ({"y_zero_point": 256}, "0.y_zero_point' must be an integer from 0 to 255, but got 256"),
        ({"y_scale": [0.1, 0.2], "y_zero_point": [1]}, "must have equal lengths, but got 2 and 1"),
        ({"y_scale": [0.1, 0.2]}, "0.y_zero_point' must be a list"),
        ({"y_scale": [], "y_zero_point": None}, "0.y_scale' must be a list of one or more numbers"),
        *(
            ({"output_dtype": dtype}, "0.output_dtype' must be an integer or float type, such as int8, but got")
            for dtype in ("8", "int0", "uint0", "uint33", "intfloat8", "int8 ", "int\u0668", "int" + "9" * 9999)
        ),
    ],
)  # fmt: skip
def test_faults_of_version_2_name_the_key(tmp_path: Path, change: Any, message: str) -> None:
    first, *others = ONNX["encodings"]
    with pytest.raises(DiagnosticError) as raised:
        _quantized(tmp_path, {**ONNX, "encodings": [{**first, **change}, *others]})
    assert message in str(raised.value)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn"])
def test_floats_of_version_2_stay_floats(tmp_path: Path, dtype: str) -> None:
    *others, weights = ONNX["encodings"]
    module = _quantized(tmp_path, {**ONNX, "encodings": [*others, {**weights, "output_dtype": dtype}]}).module
    (product,) = (op for op in module.walk() if op.name == "nn.matmul")
    assert [str(element_of(value)) for value in (*product.operands, *product.results)] == ["f32", "f32", "f32"]
