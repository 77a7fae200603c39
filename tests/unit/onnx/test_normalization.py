"""Importing softmax and normalizations: older operator sets, mixed types, sizes that only the run tells."""

import ml_dtypes
import numpy as np
import pytest
from onnx import ModelProto, parser
from onnx.reference import ReferenceEvaluator

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.quantization.profiles.keys import keyed_values

RNG = np.random.default_rng(0)


def _run(text: str, *inputs: np.ndarray) -> np.ndarray:
    """The first output of a model."""
    return next(iter(qmlir.interpret(qmlir.load(_model(text)), inputs).values()))


def _model(text: str) -> ModelProto:
    """A model from `opset| text`."""
    opset, _, graph = text.partition("|")
    return parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]> g {graph}')


def _error(text: str) -> str:
    with pytest.raises(DiagnosticError) as error:
        qmlir.load(_model(text))
    return str(error.value)


@pytest.mark.parametrize("sizes", ["N,3,D", "2,3,D", "N,3,4", "N,M,D", "2,3,4"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax_over_trailing_axes(axis: int, sizes: str) -> None:
    x = RNG.standard_normal((2, 3, 4)).astype(np.float32)
    found = _run(f"11| (float[{sizes}] x) => (float[{sizes}] y) {{ y = Softmax<axis={axis}>(x) }}", x)
    raised = np.exp(x.astype(np.float64))
    wanted = raised / raised.sum(axis=tuple(range(axis, 3)), keepdims=True)
    assert found.shape == x.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_softmax_over_one_axis_of_many_needs_no_reshape() -> None:
    module = qmlir.load(_model("9| (float[N,1000,1,1] x) => (float[N,1000,1,1] y) { y = Softmax(x) }"))
    text = str(module)
    assert "nn.reshape" not in text
    assert "axis = 1" in text


def test_softmax_axis_out_of_range() -> None:
    assert "axis 1 is out of range for rank 1" in _error("7| (float[4] x) => (float[4] y) { y = Softmax(x) }")


BATCH_NORM = "(x, s, b, m, v)"


def test_batch_norm_of_mixed_types() -> None:
    x = RNG.standard_normal((2, 3, 4)).astype(np.float16)
    s, b = (RNG.standard_normal(3).astype(ml_dtypes.bfloat16) for _ in range(2))
    m = RNG.standard_normal(3).astype(np.float32)
    v = np.abs(RNG.standard_normal(3)).astype(np.float32)
    types = "float16[2,3,4] x, bfloat16[3] s, bfloat16[3] b, float[3] m, float[3] v"
    found = _run(f"15| ({types}) => (float16[2,3,4] y) {{ y = BatchNormalization{BATCH_NORM} }}", x, s, b, m, v)
    wide = [each.astype(np.float64).reshape(-1, 1) for each in (s, b, m, v)]
    wanted = (x.astype(np.float64) - wide[2]) / np.sqrt(wide[3] + 1e-5) * wide[0] + wide[1]
    assert found.dtype == np.float16
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=1e-3, atol=1e-3)


def test_batch_norm_of_one_axis_has_one_channel() -> None:
    x = np.array([1, 2, 5], np.float32)
    s, b, m, v = (np.array([each], np.float32) for each in (2, 1, 1, 4))
    types = "float[N] x, float[1] s, float[1] b, float[1] m, float[1] v"
    found = _run(f"9| ({types}) => (float[N] y) {{ y = BatchNormalization<epsilon=0.0>{BATCH_NORM} }}", x, s, b, m, v)
    assert found.tolist() == [1, 2, 5]


def _statistics(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the variance of each channel of a batch, in f64."""
    axes = tuple(axis for axis in range(x.ndim) if axis != 1)
    return x.mean(axes, np.float64), x.var(axes, np.float64)


@pytest.mark.parametrize(
    ("opset", "shape", "dtypes"),
    [
        (14, (4, 3), "fffff"),
        (15, (2, 3, 4, 5), "fffff"),
        (15, (2, 3, 4), "effff"),
        (14, (2, 3, 4), "eeeff"),
        (15, (2, 3, 4), "ddddd"),
    ],
)
def test_batch_norm_in_training(opset: int, shape: tuple[int, ...], dtypes: str) -> None:
    """Of a batch's own statistics, in f32 at least; ONNX's reference takes them in f16, so floats of it are wide."""
    x, s, b, m = (RNG.standard_normal(each).astype(t) for each, t in zip((shape, 3, 3, 3), dtypes, strict=False))
    v = RNG.random(3).astype(dtypes[4])
    names = {"e": "float16", "f": "float", "d": "double"}
    sizes = ",".join(map(str, shape))
    inputs = ", ".join(
        f"{names[t]}[{size}] {name}" for t, size, name in zip(dtypes, (sizes, 3, 3, 3, 3), "xsbmv", strict=True)
    )
    outputs = f"{names[dtypes[0]]}[{sizes}] y, {names[dtypes[3]]}[3] rm, {names[dtypes[4]]}[3] rv"
    attributes = "training_mode=1, momentum=0.75, epsilon=0.01"
    model = _model(f"{opset}| ({inputs}) => ({outputs}) {{ y, rm, rv = BatchNormalization<{attributes}>{BATCH_NORM} }}")
    found = qmlir.interpret(qmlir.load(model), [x, s, b, m, v])
    wide = {name: each.astype(np.float64) for name, each in zip("xsbmv", (x, s, b, m, v), strict=True)}
    expected = ReferenceEvaluator(model).run(None, wide)
    bound = 2e-3 if "e" in dtypes else 1e-5
    for (name, array), wanted, dtype in zip(found.items(), expected, [dtypes[0], *dtypes[3:]], strict=True):
        assert array.dtype == np.dtype(dtype), name
        np.testing.assert_allclose(array.astype(np.float64), wanted, rtol=bound, atol=bound, err_msg=name)


def test_batch_norm_in_training_before_14_has_five_outputs() -> None:
    """The running statistics, then those of the batch; the reference evaluator has one output there, so by hand."""
    x, s, b, m, v = (RNG.standard_normal(each).astype(np.float32) for each in ((2, 3, 4), 3, 3, 3, 3))
    types = "float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v"
    outputs = "float[2,3,4] y, float[3] rm, float[3] rv, float[3] sm, float[3] sv"
    text = f"9| ({types}) => ({outputs}) {{ y, rm, rv, sm, sv = BatchNormalization<momentum=0.75>{BATCH_NORM} }}"
    found = qmlir.interpret(qmlir.load(_model(text)), [x, s, b, m, v])
    mean, variance = _statistics(x)
    y = (x - mean[:, None]) / np.sqrt(variance[:, None] + 1e-5) * s[:, None] + b[:, None]
    wanted = [y, 0.75 * m + 0.25 * mean, 0.75 * v + 0.25 * variance, mean, variance]
    for (name, array), each in zip(found.items(), wanted, strict=True):
        np.testing.assert_allclose(array, each, rtol=1e-5, atol=1e-5, err_msg=name)


def test_batch_norm_in_training_with_parameters_for_each_element() -> None:
    x, s, b, m, v = (RNG.standard_normal(each).astype(np.float32) for each in ((5, 2, 3), *[(2, 3)] * 4))
    types = "float[5,2,3] x, float[2,3] s, float[2,3] b, float[2,3] m, float[2,3] v"
    outputs = "float[5,2,3] y, float[2,3] rm, float[2,3] rv, float[2,3] sm, float[2,3] sv"
    text = f"7| ({types}) => ({outputs}) {{ y, rm, rv, sm, sv = BatchNormalization<spatial=0>{BATCH_NORM} }}"
    found = qmlir.interpret(qmlir.load(_model(text)), [x, s, b, m, v])
    mean, variance = x.mean(0, np.float64), x.var(0, np.float64)
    np.testing.assert_allclose(found["y"], (x - mean) / np.sqrt(variance + 1e-5) * s + b, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["rv"], np.float32(0.9) * v + np.float32(0.1) * variance, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["sm"], mean, rtol=1e-5, atol=1e-6)


def test_a_model_in_training_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    types = "float[2,3] x, float[3] s, float[3] b, float[3] m, float[3] v"
    text = f"15| ({types}) => (float[2,3] y) {{ y = BatchNormalization<training_mode=MODE>{BATCH_NORM} }}"
    qmlir.load(_model(text.replace("MODE", "0")))
    assert not caplog.messages
    qmlir.load(_model(text.replace("MODE", "1")))
    (message,) = caplog.messages
    assert "normalizes by the mean and the variance of each batch ('y')" in message
    assert "--strip-training, or strip_training=True, reads it as it is at inference" in message


def test_a_stripped_model_normalizes_by_the_running_statistics(caplog: pytest.LogCaptureFixture) -> None:
    types = "float[2,3] x, float[3] s, float[3] b, float[3] m, float[3] v"
    outputs = "float[2,3] y, float[3] rm, float[3] rv"
    text = (
        f"15| ({types}) => ({outputs}) {{ y, rm, rv = BatchNormalization<training_mode=1, epsilon=0.5>{BATCH_NORM} }}"
    )
    module = qmlir.load(_model(text), strip_training=True)
    assert not [each for each in caplog.records if each.levelname == "WARNING"]
    x, s, b, m, v = (RNG.random(each).astype(np.float32) for each in ((2, 3), 3, 3, 3, 3))
    found = qmlir.interpret(module, [x, s, b, m, v])
    np.testing.assert_allclose(found["y"], (x - m) / np.sqrt(v + 0.5) * s + b, rtol=1e-6)
    assert np.array_equal(found["rm"], m)
    assert np.array_equal(found["rv"], v)


def test_the_values_of_training_are_told_apart() -> None:
    """Each has a key of its own in a profile, and so a range of its own."""
    types = "float[8,3] x, float[3] s, float[3] b, float[3] m, float[3] v"
    outputs = "float[8,3] y, float[3] rm, float[3] rv"
    text = f"15| ({types}) => ({outputs}) {{ y, rm, rv = BatchNormalization<training_mode=1>{BATCH_NORM} }}"
    keys = [each.key for each in keyed_values(qmlir.load(_model(text))) if not each.is_constant]
    assert len(keys) == len(set(keys))


def test_batch_norm_with_outputs_of_another_mode() -> None:
    types = "float[2,3] x, float[3] s, float[3] b, float[3] m, float[3] v"
    outputs = "float[2,3] y, float[3] z, float[3] w"
    text = f"15| ({types}) => ({outputs}) {{ y, z, w = BatchNormalization{BATCH_NORM} }}"
    assert "output 'z' is not supported (only the first 1)" in _error(text)
    text = f"9| ({types}) => (float[2,3] y, float[3] z) {{ y, z = BatchNormalization{BATCH_NORM} }}"
    assert "BatchNormalization:9) has output size 2 not in allowed output sizes" in _error(text)


def test_group_norm_of_18_is_refused() -> None:
    """It had one scale and one bias for each group, and 21 dropped it for one that has them for each channel."""
    types = "(float[N,4,3] x, float[2] s, float[2] b) => (float[N,4,3] y)"
    text = f"18| {types} {{ y = GroupNormalization<num_groups=2>(x, s, b) }}"
    assert "GroupNormalization node 'y': operator set 18 no longer has this operator" in _error(text)


def test_layer_norm_in_another_precision() -> None:
    """The first stage of f64 is computed in f32, as `stash_type` is by default; 11 asks for f64."""
    x = np.array([[1e8, 1e8 + 1]])
    s = np.ones(2)
    text = "17| (double[1,2] x, double[2] s) => (double[1,2] y) {{ y = LayerNormalization<stash_type={}>(x, s) }}"
    assert _run(text.format(1), x, s).tolist() == [[0, 0]]
    np.testing.assert_allclose(_run(text.format(11), x, s), [[-1, 1]], rtol=1e-4)


def test_rms_norm_gives_the_type_of_the_scale() -> None:
    x = np.array([[3, -3]], np.float16)
    s = np.array([2, 1], np.float32)
    text = "23| (float16[1,2] x, float[2] s) => (float[1,2] y) { y = RMSNormalization<epsilon=0.0>(x, s) }"
    found = _run(text, x, s)
    assert found.dtype == np.float32
    assert found.tolist() == [[2, -1]]
