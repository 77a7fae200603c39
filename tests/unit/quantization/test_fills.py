"""Masks that feed no softmax: other elements are as accurate as with minus infinity, and masked ones stay masked.

The oracle is the float model. A form masks the scores `s`, `[1, 5, 20]`; an end reads the masked scores `t`. Several
stand side by side in one model, which takes less time.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx.numpy_helper
import onnx.parser
import pytest

import qmlir

SAMPLES, ROWS, WIDTH, CLASSES = 12, 5, 16, 20
LOWEST = float(np.finfo(np.float32).min)

INPUTS = {
    "b": f"bool[1,{ROWS},{CLASSES}] b",
    "a": f"int64[1,{ROWS},{CLASSES}] a",
    "f": f"float[1,{ROWS},{CLASSES}] f",
    "u": f"float[1,{ROWS},{CLASSES}] u",
}

FORMS = {
    "Where": "t = Where(b, s, fill)",
    "masked_fill": "n = Not(b) t = Where(n, fill, s)",
    "Where, of a constant in half precision": "h = Cast<to=1>(half) t = Where(b, s, h)",
    "Where, expanded": "shape = Shape(s) h = Expand(fill, shape) t = Where(b, s, h)",
    "Where, added": "m = Where(b, zero, fill) t = Add(s, m)",
    "BERT": "m0 = Cast<to=1>(a) m1 = Sub(one, m0) m = Mul(m1, fill) t = Add(s, m)",
    "T2T": "m0 = Cast<to=1>(a) m1 = Sub(one, m0) m = Mul(m1, positive) t = Sub(s, m)",
    "by products": "m0 = Cast<to=1>(b) m1 = Sub(one, m0) m = Mul(m1, fill) k = Mul(s, m0) t = Add(k, m)",
    "a float of the caller": "t = Add(s, f)",
    "filled by the caller": "s1 = Add(u, s) s2 = Sub(s1, s) t = Add(s2, s)",
    "a constant": "t = Add(s, constant)",
    "a constant of the other sign": "m = Neg(constant) t = Sub(s, m)",
    "transitions": "t = Add(s, transitions)",
    "a triangle": "o = Expand(fill, square) m = Trilu<upper=1>(o, k1) t = Add(s, m)",
    "a Boolean triangle": "t = Where(triangle, s, fill)",
    "ScatterND": "t = ScatterND(s, places, updates)",
    "ScatterElements": "t = ScatterElements<axis=2>(s, columns, elements)",
    "Pad": "s0 = Slice(s, i0, i17, i2) t = Pad(s0, pads, fill)",
    "a column": "s0 = Slice(s, i0, i17, i2) c = Expand(fill, column) t = Concat<axis=2>(s0, c)",
    "a bias": "t = Add(s, suppressed)",
    "a bias of a product": "x2 = Reshape(x, rows) s2 = Gemm(x2, w, suppressed) t = Reshape(s2, scores)",
    "two fills": "t0 = Where(b, s, fill) m = Mul(constant, two) t = Add(t0, m)",
    "two fills far apart": "t0 = Where(b, s, hundred) t = Where(triangle, t0, lowest)",
    "no lower than the lowest": "m = Where(b, zero, lowest) t0 = Add(s, m) t1 = Add(t0, m) t = Max(t1, fill)",
    "clipped": "t0 = Where(b, s, lowest) t = Clip(t0, fill)",
    "moved": "s1 = Transpose<perm=[0,2,1]>(s) b1 = Transpose<perm=[0,2,1]>(b) t0 = Where(b1, s1, fill)"
    " t = Transpose<perm=[0,2,1]>(t0)",
    "scaled": "t0 = Where(b, s, fill) t1 = Mul(t0, two) t = Div(t1, two)",
    "joined": "t0 = Where(b, s, fill) t1, t2 = Split<axis=2>(t0, halves) t = Concat<axis=2>(t2, t1)",
    "a choice": "t = If (yes) <then_branch = g1 () => (float[1,5,20] t0) { t0 = Where(b, s, fill) },"
    " else_branch = g2 () => (float[1,5,20] t3) { t3 = Identity(s) }>",
}  # fmt: skip

ENDS = {
    "": "y = Identity(t)",
    "log softmax": "y = LogSoftmax<axis=-1>(t)",
    "less the largest": "h = ReduceMax(t, last) y = Sub(t, h)",
    "cooled": "y = Div(t, two)",
    "the largest": "h = ReduceMax<keepdims=0>(t, last) y = MatMul(h, v)",
    "the three largest": "h, q = TopK(t, k3) y = MatMul(h, v3)",
    "over time": "h = ReduceMax<keepdims=0>(t, first) y = MatMul(h, w2)",
    "positive": "h = Relu(t) y = MatMul(h, w2)",
    "probabilities": "h = Sigmoid(t) y = MatMul(h, w2)",
    "the smallest": "h = ReduceMin<keepdims=0>(t, last) y = MatMul(h, v)",
    "the larger": "h0 = Max(t, two) h = Min(h0, one) y = MatMul(h, w2)",
    "twice": "h = Concat<axis=1>(t, t) y = Gather<axis=1>(h, i2)",
    "sums": "h0 = Sigmoid(t) h = ReduceSum<keepdims=0>(h0, last) y = MatMul(h, v)",
    "its place": "y = ArgMax<axis=-1>(t)",
}


def _constants(fill: float) -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    excluded = np.zeros(CLASSES, np.float32)
    excluded[[2, 11]] = fill
    masked = np.where(random.random((1, ROWS, CLASSES)) < 0.3, np.float32(fill), np.float32(0))
    return {
        "w": random.normal(size=(WIDTH, CLASSES)).astype(np.float32) / 4,
        "w2": random.normal(size=(CLASSES, 6)).astype(np.float32) / 4,
        "v": random.normal(size=(ROWS, 6)).astype(np.float32),
        "v3": random.normal(size=(3, 6)).astype(np.float32),
        "fill": np.array(fill, np.float32), "positive": np.array(-fill, np.float32),
        "half": np.array(np.clip(fill, -65504, 65504), np.float16), "lowest": np.array(LOWEST, np.float32),
        "hundred": np.array(-100, np.float32), "zero": np.zeros((), np.float32), "one": np.ones((), np.float32),
        "two": np.array(2, np.float32), "constant": masked, "suppressed": excluded,
        "transitions": np.where(masked != 0, masked, random.normal(size=masked.shape).astype(np.float32)),
        "triangle": np.tril(np.ones((1, ROWS, CLASSES), bool), CLASSES - ROWS),
        "square": np.array([1, ROWS, CLASSES]), "k1": np.array(CLASSES - ROWS),
        "places": np.array([[0, row, row + 3] for row in range(ROWS)]), "updates": np.full(ROWS, fill, np.float32),
        "columns": np.full((1, ROWS, 1), 4), "elements": np.full((1, ROWS, 1), fill, np.float32),
        "i0": np.array([0]), "i17": np.array([17]), "i2": np.array([2]), "pads": np.array([0, 0, 0, 0, 0, 3]),
        "column": np.array([1, ROWS, 3]), "rows": np.array([ROWS, WIDTH]), "scores": np.array([1, ROWS, CLASSES]),
        "halves": np.array([8, 12]), "last": np.array([2]), "first": np.array([1]), "k3": np.array([3]),
        "yes": np.array(True),
    }  # fmt: skip


def _proto(text: str, constants: dict[str, np.ndarray]) -> onnx.ModelProto:
    proto = onnx.parser.parse_model(text)
    used = {name: array for name, array in constants.items() if re.search(rf"[(,] ?{name}[,)]", text)}
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in used.items())
    return proto


def _renamed(body: str, position: int) -> str:
    """`body` with names of its own for what it computes, so that it may stand beside others in one model."""
    made = {name for names in re.findall(r"((?:\w+, )*\w+) = ", body) for name in names.split(", ")} - {
        "y",
        "then_branch",
        "else_branch",
    }
    return re.sub(r"\b\w+\b", lambda found: f"{found[0]}_{position}" if found[0] in made else found[0], body)


def _model(fill: float, *bodies: str) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model that computes outputs `y0`, `y1` … of the scores by `bodies`, each of which gives `y`; its samples."""
    random, text = np.random.default_rng(3), " ".join(bodies)
    used = [declared for name, declared in INPUTS.items() if re.search(rf"[(,] ?{name}[,)]", text)]
    inputs = ", ".join((f"float[1,{ROWS},{WIDTH}] x", *used))
    outputs = ", ".join(
        f"{'int64' if 'ArgMax' in body else 'float'}[{'d, e' if 'keepdims=0' in body else 'd, e, f'}] y{position}"
        for position, body in enumerate(bodies)
    )
    computed = " ".join(
        re.sub(r"\by\b", f"y{position}", _renamed(body, position)) for position, body in enumerate(bodies)
    )
    kept = random.random((SAMPLES, 1, ROWS, CLASSES)) < 0.7
    kept[..., 0, :] = kept[..., :, 0] = True
    samples = {
        "x": random.normal(size=(SAMPLES, 1, ROWS, WIDTH)).astype(np.float32), "b": kept, "a": kept.astype(np.int64),
        "f": np.where(kept, 0, fill).astype(np.float32),
        "u": np.where(kept, random.normal(size=kept.shape), fill).astype(np.float32),
    }  # fmt: skip
    given = {name: array for name, array in samples.items() if name == "x" or any(each[-1] == name for each in used)}
    graph = f'<ir_version: 10, opset_import: ["": 18]> g ({inputs}) => ({outputs}) {{ s = MatMul(x, w) {computed} }}'
    return _proto(graph, _constants(fill)), given


def _outputs(model: Any, samples: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    runs = [{name: array[position] for name, array in samples.items()} for position in range(SAMPLES)]
    found = [qmlir.interpret(model, run) for run in runs]
    return {name: np.stack([each[name] for each in found]) for name in found[0]}


def _decibels(wanted: np.ndarray, found: np.ndarray) -> float:
    noise = (wanted.astype(np.float64) - found) ** 2
    return float(10 * np.log10((wanted.astype(np.float64) ** 2).sum() / noise.sum()))


def _check(proto: onnx.ModelProto, samples: dict[str, np.ndarray], names: Sequence[str] = (), **options: Any) -> None:
    """What takes part has the accuracy that minus infinity gives, what is masked is the fill, and the largest wins."""
    module = qmlir.load(proto)
    made = qmlir.quantize(module, samples, validate=False, **options)
    outputs = zip(_outputs(module, samples).values(), _outputs(made, samples).values(), strict=True)
    for position, (wanted, found) in enumerate(outputs):
        named = names[position] if names else position
        if wanted.dtype == np.int64:
            assert (wanted == found).mean() > 0.95, named
            continue
        takes_part = np.abs(wanted) < 50
        assert _decibels(wanted[takes_part], found[takes_part]) > 33, named
        np.testing.assert_allclose(found[~takes_part], wanted[~takes_part], rtol=1e-3, err_msg=str(named))
        assert (wanted.argmax(-1) == found.argmax(-1)).mean() > 0.9, named


FILLS = (-1e4, -1e9, -65504.0, LOWEST, 1e9, -100.0)


def _possible(fill: float) -> list[str]:
    """The forms that a fill may have: twice the lowest number is infinite, and a lower bound is one only below 0."""
    impossible = "lowest|clipped" if fill > 0 else "two fills$" if fill == LOWEST else "$^"
    return [form for form in FORMS if not re.search(impossible, form)]


@pytest.mark.parametrize("fill", [-1e4, LOWEST])
def test_forms(fill: float) -> None:
    forms = _possible(fill)
    _check(*_model(fill, *(f"{FORMS[form]} y = Identity(t)" for form in forms)), forms)


@pytest.mark.sweep
@pytest.mark.parametrize(("form", "fill"), [(form, fill) for fill in FILLS for form in _possible(fill)])
def test_all_fills_in_all_forms(form: str, fill: float) -> None:
    _check(*_model(fill, f"{FORMS[form]} y = Identity(t)"))


def test_ends() -> None:
    ends = [end for end in ENDS if end != "the smallest"]
    _check(*_model(-1e4, *(f"{FORMS['Where']} {ENDS[end]}" for end in ends)), ends)
    _check(*_model(1e9, f"{FORMS['Where']} {ENDS['the smallest']}"))


@pytest.mark.parametrize(
    "options",
    [
        {"activations": "i16"}, {"scheme": "symmetric_pow2", "weight_scheme": "symmetric_pow2"},
        {"granularity": "tensor"}, {"keep_composites": ()}, {"calibrator": "percentile"}, {"effort": 1},
    ],
    ids=str,
)  # fmt: skip
def test_options(options: dict[str, Any]) -> None:
    _check(*_model(-1e4, f"{FORMS['BERT']} {ENDS['log softmax']}"), **options)


def test_samples_without_padding_say_nothing_of_the_fill() -> None:
    """The mask that a caller gives later masks all the same: what it adds is known from the model."""
    proto, samples = _model(-1e9, *(f"{FORMS[form]} y = Identity(t)" for form in ("Where", "BERT")))
    unmasked = {name: np.ones_like(array) if name in "ab" else array for name, array in samples.items()}
    made = qmlir.quantize(qmlir.load(proto), unmasked, validate=False)
    found = _outputs(made, samples)
    for name, wanted in _outputs(qmlir.load(proto), samples).items():
        assert _decibels(wanted[wanted > -50], found[name][wanted > -50]) > 33, name
        assert (found[name][wanted < -50] < -1e8).all(), name


LOOPS = {
    "unrolled": "y = Scan<num_scan_inputs=1, body = g1 (float[1,7] alpha, float[1,7] e) => (float[1,7] out)"
    " { c = Reshape(alpha, upright) a = Add(c, moves) m = ReduceMax(a, i0) out = Add(m, e) }>(begin, s3)",
    "of any length": "y = Loop<body = g1 (int64 i, bool c0, float[1,7] alpha) => (bool c1, float[1,7] out) {"
    " c1 = Identity(c0) e = Gather(s3, i) c = Reshape(alpha, upright) a = Add(c, moves) m = ReduceMax(a, i0)"
    " out = Add(m, e) }>(n, yes, begin)",
}


@pytest.mark.parametrize("fill", [-1e4, -100.0])
@pytest.mark.parametrize("kind", LOOPS)
def test_loops(kind: str, fill: float) -> None:
    """The best path through transitions, some of which are forbidden, from one state on: a CRF's decoder."""
    random = np.random.default_rng(0)
    moves = random.normal(size=(7, 7)).astype(np.float32)
    moves[random.random((7, 7)) < 0.3] = moves[:, 0] = fill
    begin = np.full((1, 7), fill, np.float32)
    begin[0, 0] = 0
    count = ", int64 n" if kind == "of any length" else ""
    proto = _proto(
        f'<ir_version: 10, opset_import: ["": 18]> g (float[6,{WIDTH}] x{count}) => (float[1,7] y) {{'
        f" s = MatMul(x, w) s3 = Reshape(s, steps) {LOOPS[kind]} }}",
        {
            "w": random.normal(size=(WIDTH, 7)).astype(np.float32) / 4, "moves": moves, "begin": begin,
            "steps": np.array([6, 1, 7]), "upright": np.array([7, 1]), "i0": np.array([0]), "yes": np.array(True),
        },
    )  # fmt: skip
    samples = {"x": random.normal(size=(SAMPLES, 6, WIDTH)).astype(np.float32)}
    _check(proto, samples | ({"n": random.integers(2, 7, SAMPLES)} if count else {}))


def test_compiled() -> None:
    proto, samples = _model(-1e9, *(f"{FORMS['Where']} {ENDS[end]}" for end in ("log softmax", "over time")))
    made = qmlir.quantize(qmlir.load(proto), samples, validate=False)
    program = qmlir.compile(made, codegen="llvm")
    for position in range(3):
        run = {name: array[position] for name, array in samples.items()}
        wanted, found = qmlir.interpret(made, run), program(run)
        assert all(np.array_equal(found[name], array) for name, array in wanted.items())


@pytest.mark.parametrize(
    "body",
    [
        "o = Constant<value_float=300.0>() y = Add(s, o)",
        "y = Add(s, outlier)",
        "y = Add(s, positions)",
        "y = Concat<axis=1>(token, s)",
        "l = Mul(s, o) y = Concat<axis=1>(s, l)",
        "y = Where(b, s, zero)",
    ],
)
def test_what_is_no_mask(body: str) -> None:
    """Offsets, outliers, positions and constants of many numbers are data: the integers hold them as before."""
    random = np.random.default_rng(7)
    body = body.replace("l = Mul", "o = Constant<value_float=1000.0>() l = Mul")
    outlier = random.normal(size=CLASSES).astype(np.float32)
    outlier[3] = 90
    proto, samples = _model(-1e9, body)
    constants = {
        "outlier": outlier,
        "positions": np.arange(ROWS * CLASSES, dtype=np.float32).reshape(1, ROWS, CLASSES),
        "token": 30 * random.normal(size=(1, 1, CLASSES)).astype(np.float32),
    }
    used = [each for each in constants if f"{each}" in body]
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(constants[each], each) for each in used)
    reasons = qmlir.quantize(qmlir.load(proto), samples, validate=False).float_reasons.values()
    assert not [each for each in reasons if "mask" in each]  # what stays in float is a step next to the output


def test_the_summary_names_the_fill() -> None:
    proto, samples = _model(-1e9, f"{FORMS['Where']} y = Identity(t)")
    assert "it has a mask fill of -1e+09" in qmlir.quantize(qmlir.load(proto), samples, validate=False).text()
