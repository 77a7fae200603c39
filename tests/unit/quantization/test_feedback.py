"""Values that are fed back have 16 bits, however a model spells its recurrence, and no others have because of them."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper, parser

import qmlir
from qmlir.dialects.nn.requantize import quantized_type

Array = np.ndarray

WORDS, SIZE, TOKENS = 256, 8, 12
STEPS = {"loop": 12, "unrolled": 5}
STATE = {"prim": f"float[{WORDS}, {SIZE}]", "gru": f"float[1, {WORDS}, {SIZE}]"}


def _exact(random: np.random.Generator, *shape: int) -> Array:
    """Random rows that symmetric 8 bits hold as they are: multiples of the 127th part of their largest number."""
    rows = random.normal(0, 0.8, shape)
    steps = np.abs(rows).max(-1, keepdims=True) / 127
    return np.round(rows / steps) * steps


def _weights() -> dict[str, Array]:
    """The weights of a cell as one layer (`W`, `R`), and by gate; 8 bits lose nothing of them."""
    random = np.random.default_rng(0)
    table, head = _exact(random, TOKENS, SIZE), _exact(random, TOKENS, SIZE).T
    inner, outer = (_exact(random, 3, SIZE, SIZE) for _ in range(2))
    found = {"table": table, "head": head, "one": np.ones(()), "W": inner, "R": outer}
    found = {name: array.reshape(1, -1, SIZE) if name in "WR" else array for name, array in found.items()}
    for position, gate in enumerate("zrn"):
        found |= {f"w{gate}": inner[position].T, f"u{gate}": outer[position].T}
    return {name: array.astype(np.float32) for name, array in found.items()}


_PRIMITIVES = """
    xz_ = MatMul (e_, wz) sz_ = MatMul (STATE, uz) az_ = Add (xz_, sz_) z_ = Sigmoid (az_)
    xr_ = MatMul (e_, wr) sr_ = MatMul (STATE, ur) ar_ = Add (xr_, sr_) r_ = Sigmoid (ar_)
    rh_ = Mul (r_, STATE) xn_ = MatMul (e_, wn) sn_ = MatMul (rh_, un) an_ = Add (xn_, sn_) n_ = Tanh (an_)
    c_ = Sub (one, z_) new_ = Mul (c_, n_) kept_ = Mul (z_, STATE) h_ = Add (new_, kept_) f_ = Identity (h_)"""

_LAYER = f"""
    x_ = Unsqueeze (e_, first) y_, h_ = GRU <hidden_size = {SIZE}> (x_, W, R, , , STATE) f_ = Squeeze (h_, first)"""


def _cell(form: str, token: str, state: str, mark: str = "") -> str:
    """One step of a GRU from `token` and `state` to the state `h` and the scores `l`, with names that end in `mark`."""
    cell = _PRIMITIVES if form == "prim" else _LAYER
    text = f"e_ = Gather <axis = 0> (table, TOKEN) {cell} l_ = MatMul (f_, head)"
    return (
        text.replace("_ ", f"{mark} ")
        .replace("_,", f"{mark},")
        .replace("_)", f"{mark})")
        .replace("TOKEN", token)
        .replace("STATE", state)
    )


def _model(text: str) -> ModelProto:
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    bodies = [each.g for node in model.graph.node for each in node.attribute]
    names = {name for graph in (model.graph, *bodies) for node in graph.node for name in node.input}
    constants = {**_weights(), "first": np.array([0]), "gamma": np.ones(SIZE, np.float32)}
    model.graph.initializer.extend(numpy_helper.from_array(constants[name], name) for name in names & constants.keys())
    return model


def _greedy(spelling: str, form: str) -> ModelProto:
    """A decoder that reads the token that it picked in the step before."""
    inputs, outputs = f"int64[{WORDS}] t0, {STATE[form]} h0", f"int64[{STEPS[spelling]}, {WORDS}] tokens"
    if spelling == "loop":
        return _model(f"""
            net ({inputs}) => ({outputs}) <int64 steps = {{{STEPS[spelling]}}}, bool yes = {{1}}> {{
              last, end, tokens = Loop (steps, yes, t0, h0) <
                body = step (int64 i, bool go, int64[{WORDS}] tin, {STATE[form]} hin) => (goes, t, h, out) {{
                  goes = Identity (go) {_cell(form, "tin", "hin")}
                  t = ArgMax <axis = 1, keepdims = 0> (l) out = Identity (t) }}> }}""")
    steps = [
        f"""{_cell(form, f"t{place}", f"h{place}", str(place + 1))}
            t{place + 1} = ArgMax <axis = 1, keepdims = 0> (l{place + 1}) o{place} = Unsqueeze (t{place + 1}, first)"""
        for place in range(STEPS[spelling])
    ]
    rows = ", ".join(f"o{place}" for place in range(STEPS[spelling]))
    return _model(f"net ({inputs}) => ({outputs}) {{ {' '.join(steps)} tokens = Concat <axis = 0> ({rows}) }}")


def _samples(form: str, seed: int) -> dict[str, Array]:
    random = np.random.default_rng(seed)
    state = random.uniform(-1, 1, (WORDS, SIZE)).astype(np.float32)
    return {"t0": random.integers(0, TOKENS, WORDS), "h0": state if form == "prim" else state[None]}


def _quantized(model: ModelProto, samples: Any, **settings: Any) -> Any:
    return qmlir.quantize(qmlir.load(model), samples, validate=False, assert_all_quantized=True, **settings)


@pytest.mark.parametrize("spelling", ["loop", "unrolled"])
@pytest.mark.parametrize("form", ["prim", "gru"])
def test_a_greedy_decoder_picks_the_tokens_of_the_float_model(spelling: str, form: str) -> None:
    """0.95 of the words are equal; with 8 bits for the values that are fed back 0.85 would be, unrolled 0.92."""
    model, feeds = _greedy(spelling, form), _samples(form, 3)
    quantized = _quantized(model, [_samples(form, 1)])
    assert "16 bits: values that are fed back" in str(quantized)
    found, expected = (qmlir.interpret(each, feeds)["tokens"] for each in (quantized, qmlir.load(model)))
    assert (found == expected).all(0).mean() > 0.94


@pytest.mark.parametrize(("begin", "steps"), [("Sub (x, x)", 200), ("Neg (x)", 199)])
def test_small_steps_add_up_in_a_loop(begin: str, steps: int) -> None:
    """In 8 bits a step of 0.01 would be 1.3 of those of the type, and rounded to 1; the loop begins in 16 bits, too."""
    model = _model(f"""
        net (float[4] x) => (float[4] y) <int64 steps = {{200}}, bool yes = {{1}}> {{
          s0 = {begin} y = Loop (steps, yes, s0) <
            body = step (int64 i, bool go, float[4] s) => (goes, next) {{
              goes = Identity (go) next = Add (s, x) }}> }}""")
    feeds = {"x": np.full(4, 0.01, np.float32)}
    found = qmlir.interpret(_quantized(model, [feeds]), feeds)["y"]
    np.testing.assert_allclose(found, steps * 0.01, rtol=0.01)


@pytest.mark.parametrize("form", ["prim", "gru"])
def test_a_state_that_the_caller_feeds_back(form: str) -> None:
    """Its input and its output have 16 bits without being named, and so have the scores that the caller picks from."""
    model = _model(f"""
        net (int64[{WORDS}] t0, {STATE[form]} h0) => (float[{WORDS}, {TOKENS}] l1, {STATE[form]} h1) {{
          {_cell(form, "t0", "h0", "1")} }}""")
    module = _quantized(model, [_samples(form, 1)]).module
    casts = [
        type_.bits for op in module.walk() if op.name == "quant.qcast" and (type_ := quantized_type(op.results[0]))
    ]
    back = [
        type_.bits for op in module.walk() if op.name == "quant.dcast" and (type_ := quantized_type(op.operands[0]))
    ]
    assert (casts, back) == ([16], [16, 16])


_TWINS = "a = MatMul (x, wz) b = Tanh (a) c = Neg (x) d = MatMul (c, wz) e = Tanh (d) z = Add (b, e)"
_FILTER = "a = MatMul (x, wz) b = Tanh (a) c = MatMul (b, wr) d = Tanh (c) e = MatMul (d, wz) z = Tanh (e)"
_SKIP = "a = MatMul (x, wz) b = Tanh (a) z = Add (x, b)"
_TWICE = "a = MatMul (x, wz) b = Tanh (a) c = MatMul (b, wz) z = Tanh (c)"
_NORM = "m{0} = MatMul (x{0}, wz) t{0} = Tanh (m{0}) s{0} = Add (x{0}, t{0}) x{1} = LayerNormalization (s{0}, gamma)"
_STREAM = f"x0 = Tanh (x) {' '.join(_NORM.format(position, position + 1) for position in range(3))} z = Identity (x3)"
_STACK = """last, z = Loop (steps, yes, x) <body = step (int64 i, bool go, float[4, 8] s) => (goes, t, out) {
    goes = Identity (go) t = Identity (s) a = MatMul (s, wz) out = Tanh (a) }>"""


@pytest.mark.parametrize(
    ("body", "given", "taken"),
    [
        pytest.param(_TWINS, (4, 8), (4, 8), id="twins"),
        pytest.param(_FILTER, (4, 8), (4, 8), id="filter"),
        pytest.param(_SKIP, (4, 8), (4, 8), id="skip"),
        pytest.param(_TWICE, (4, 8), (4, 8), id="twice"),
        pytest.param(_STREAM, (4, 8), (4, 8), id="stream"),
        pytest.param("z, h = GRU <hidden_size = 8> (x, W, R)", (3, 4, 8), (3, 1, 4, 8), id="layer"),
        pytest.param(_STACK, (4, 8), (3, 4, 8), id="stack"),
    ],
)
def test_no_feedback(body: str, given: tuple[int, ...], taken: tuple[int, ...]) -> None:
    """Products share weights without being steps, layers have rules of their own, and loops may only move values."""
    model = _model(
        f"net (float{[*given]} x) => (float{[*taken]} z) <int64 steps = {{3}}, bool yes = {{1}}> {{ {body} }}"
    )
    sample = {"x": np.random.default_rng(1).uniform(-1, 1, given).astype(np.float32)}
    assert "fed back" not in str(qmlir.quantize(qmlir.load(model), [sample], validate=False))
