"""Importing attention and recurrent layers: layouts, sizes that only the run tells, attributes that are wrong."""

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper, parser

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.runtimes.onnx_runtime import OrtOptions, OrtSession

RNG = np.random.default_rng(0)


def _model(opset: int, text: str) -> ModelProto:
    return parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]> g {text}')


def _run(model: ModelProto, *inputs: np.ndarray) -> list[np.ndarray]:
    return list(qmlir.interpret(qmlir.load(model), inputs).values())


def _normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def _attention(width: str, sizes: str = "B,S") -> ModelProto:
    return _model(
        23,
        f"(float[{sizes},8] q, float[B,T,{width}] k, float[B,T,{width}] v) => (float[B,S,8] y) "
        "{ y = Attention<q_num_heads=4, kv_num_heads=2>(q, k, v) }",
    )


def test_heads_side_by_side_with_open_sizes() -> None:
    q, k, v = _normal(2, 3, 8), _normal(2, 5, 4), _normal(2, 5, 4)
    (found,) = _run(_attention("4"), q, k, v)
    closed = _model(
        23,
        "(float[2,4,3,2] q, float[2,2,5,2] k, float[2,2,5,2] v) => (float[2,4,3,2] y) { y = Attention(q, k, v) }",
    )
    heads = [x.reshape(*x.shape[:2], -1, 2).transpose(0, 2, 1, 3) for x in (q, k, v)]
    (wanted,) = _run(closed, *heads)
    assert found.tobytes() == np.ascontiguousarray(wanted.transpose(0, 2, 1, 3)).tobytes()


def test_a_cache_of_open_sizes() -> None:
    """Each sequence goes on at its own place; what comes after the last row is at the first one again."""
    model = _model(
        24,
        "(float[B,H,P,2] cache, float[B,H,S,2] rows, int64[B] start) => (float[B,H,P,2] y) "
        '{ y = TensorScatter<mode = "circular">(cache, rows, start) }',
    )
    cache, rows = _normal(2, 3, 4, 2), _normal(2, 3, 2, 2)
    (found,) = _run(model, cache, rows, np.array([3, 1]))
    wanted = cache.copy()
    wanted[0][:, [3, 0]], wanted[1][:, [1, 2]] = rows
    assert np.array_equal(found, wanted)


def test_heads_that_do_not_divide() -> None:
    with pytest.raises(DiagnosticError, match="expected 2 heads of one size, but got tensor"):
        qmlir.load(_attention("5"))


def test_heads_that_nobody_counts() -> None:
    text = "(float[B,S,8] q) => (float[B,S,8] y) { y = Attention(q, q, q) }"
    with pytest.raises(DiagnosticError, match="Attention node 'y': requires the number of heads of"):
        qmlir.load(_model(23, text))


@pytest.mark.parametrize("mask_type", ["int32", "uint8", "float16", "double"])
def test_masks_of_numbers_are_added(mask_type: str) -> None:
    dtype = {"float": np.float32, "double": np.float64}.get(mask_type, mask_type)
    q, mask = np.zeros((1, 1, 1, 1), np.float32), np.array([[0, 1]], dtype)
    k, v = np.zeros((1, 1, 2, 1), np.float32), np.array([[[[0], [1]]]], np.float32)
    text = f"(float[1,1,1,1] q, float[1,1,2,1] k, float[1,1,2,1] v, {mask_type}[1,2] m) => (float[1,1,1,1] y)"
    (found,) = _run(_model(23, text + " { y = Attention(q, k, v, m) }"), q, k, v, mask)
    np.testing.assert_allclose(found, [[[[np.e / (1 + np.e)]]]], rtol=1e-6)


LAYERS = {"RNN": (1, 1), "GRU": (3, 1), "LSTM": (4, 2)}


@pytest.mark.parametrize("op_type", LAYERS)
def test_batch_first(op_type: str) -> None:
    """`layout = 1` differs in nothing but the order of the axes; sizes of batch and time are open."""
    gates, count = LAYERS[op_type]
    x, w, r, h = _normal(5, 2, 3), _normal(2, 4 * gates, 3), _normal(2, 4 * gates, 4), _normal(2, 2, 4)
    states = ", ".join(["h"] * count)
    outputs = ", ".join(["y", "y_h", "y_c"][: count + 1])
    attributes = 'direction="bidirectional", hidden_size=4'

    def layer(layout: int) -> ModelProto:
        axes, state = ("T,B", "2,B") if layout == 0 else ("B,T", "B,2")
        all_of_them = "T,2,B" if layout == 0 else "B,T,2"
        types = f"float[{axes},3] x, float[2,{4 * gates},3] w, float[2,{4 * gates},4] r, float[{state},4] h"
        results = ", ".join(
            [f"float[{all_of_them},4] y", f"float[{state},4] y_h", f"float[{state},4] y_c"][: count + 1]
        )
        node = f"{outputs} = {op_type}<{attributes}, layout={layout}>(x, w, r, , , {states})"
        return _model(14, f"({types}) => ({results}) {{ {node} }}")

    wanted = _run(layer(0), x, w, r, h)
    found = _run(layer(1), x.swapaxes(0, 1).copy(), w, r, h.swapaxes(0, 1).copy())
    orders = [(2, 0, 1, 3), (1, 0, 2), (1, 0, 2)]
    for ours, theirs, order in zip(found, wanted, orders, strict=False):
        assert ours.tobytes() == np.ascontiguousarray(theirs.transpose(order)).tobytes()


def test_functions_of_the_layer_are_left_out() -> None:
    text = "(float[T,B,3] x, float[1,2,3] w, float[1,2,2] r) => (float[T,1,B,2] y) { y = RNN<activations=%s>(x, w, r) }"
    assert "activations" not in str(qmlir.load(_model(14, text % '["tanh"]')))
    assert 'activations = ["Softsign"]' in str(qmlir.load(_model(14, text % '["softsign"]')))
    with pytest.raises(
        DiagnosticError, match=r"RNN node 'y': activation must be one of \['Relu', .*\], but got 'Gelu'"
    ):
        qmlir.load(_model(14, text % '["Gelu"]'))


def test_lengths_beyond_the_sequence() -> None:
    text = "(float[T,1,3] x, float[1,2,3] w, float[1,2,2] r, int32[1] n) => (float[T,1,1,2] y)"
    model = _model(14, text + " { y = RNN<hidden_size=2>(x, w, r, , n) }")
    with pytest.raises(DiagnosticError, match=r"sequence length must be in \[0, 4\], but got 5"):
        _run(model, _normal(4, 1, 3), _normal(1, 2, 3), _normal(1, 2, 2), np.array([5], np.int32))


def _recurrent(op_type: str, gates: int, direction: str, more: str = "") -> ModelProto:
    """A layer between a ReLU and a product, so that all of it has integers, of any length."""
    ways = 2 if direction == "bidirectional" else 1
    layer = f'z, h = {op_type} <hidden_size = 4, direction = "{direction}"> (a, w, r, b{more})'
    lengths = ", int32[2] lengths" if more else ""
    text = f"(float[length, 2, 3] x{lengths}) => (float[p, q, s, t] y, float[u, v, o] last)"
    model = _model(17, f"{text} {{ a = Relu (x) {layer} y = MatMul (z, m) last = Relu (h) }}")
    shapes = {"w": (4 * gates, 3), "r": (4 * gates, 4), "b": (8 * gates,)}
    for name, shape in shapes.items():
        model.graph.initializer.append(numpy_helper.from_array(_normal(ways, *shape) / 2, name))
    model.graph.initializer.append(numpy_helper.from_array(_normal(4, 3), "m"))
    return model


@pytest.mark.parametrize(
    ("op_type", "gates", "direction"),
    [("LSTM", 4, "bidirectional"), ("GRU", 3, "bidirectional"), ("RNN", 1, "forward"), ("RNN", 1, "reverse")],
)
def test_a_quantized_layer_of_any_length_is_exported(op_type: str, gates: int, direction: str) -> None:
    """As a Loop over its steps, which computes the same integers at every length, of a single step too."""
    samples = [{"x": _normal(5, 2, 3)} for _ in range(8)]
    module = qmlir.quantize(_recurrent(op_type, gates, direction), samples, validate=False).module
    model = qmlir.export_onnx(module, exact=True)
    assert "Loop" in {node.op_type for node in model.graph.node}
    for options in (OrtOptions(optimization="none"), OrtOptions()):
        session = OrtSession(model.SerializeToString(), options)
        for length in (5, 2, 1, 9):
            x = {"x": _normal(length, 2, 3)}
            expected, found = qmlir.interpret(module, x), session(x)
            for name, array in expected.items():
                np.testing.assert_array_equal(found[name], array)


def test_a_quantized_layer_of_any_length_with_lengths_is_refused() -> None:
    """The error says what to do, and the advice is followed here."""
    samples = [{"x": _normal(5, 2, 3), "lengths": np.int32([5, 3])} for _ in range(8)]
    source = _recurrent("LSTM", 4, "forward", ", lengths")
    with pytest.raises(DiagnosticError, match=r"cannot be written for any length: .*; help: .* by --exclude"):
        qmlir.export_onnx(qmlir.quantize(source, samples, validate=False).module)
    left = qmlir.quantize(source, samples, validate=False, exclude="LSTM").module
    fixed = qmlir.load(source, shapes={"x": (5, 2, 3)})
    for module in (left, qmlir.quantize(fixed, samples, validate=False).module):
        session = OrtSession(qmlir.export_onnx(module).SerializeToString(), OrtOptions(optimization="none"))
        np.testing.assert_allclose(session(samples[0])["y"], qmlir.interpret(module, samples[0])["y"], atol=1e-5)
