"""Masks as exporters write them: the softmax takes them, what they mask is 0, and scores keep their resolution.

The graphs are those that torch (eager, SDPA with and without its guard, dynamo), Hugging Face's models, JAX and ONNX's
Attention give. The oracle is a softmax in f64 over the elements that take part.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx.parser
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.nn.attention.ops import AttentionOp
from qmlir.dialects.nn.normalization.ops import SoftmaxOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.extensions.report.explaining import explain_node
from qmlir.ir.builtin_types import element_of
from qmlir.ir.diagnostics import Diagnostic, diagnostic_handler
from qmlir.quantization.report import coverage
from qmlir.workflows.quantizing import Quantized, quantize

SAMPLES, LENGTH, WIDTH = 12, 8, 16
LOWEST = float(np.finfo(np.float32).min)

INPUTS = {
    "a": f"int64[N,{LENGTH}] a",
    "b": f"bool[N,1,{LENGTH},{LENGTH}] b",
    "f": f"float[N,1,1,{LENGTH}] f",
}
CONSTANTS = f"""
  float quarter = {{0.25}}, float zero = {{0}}, float one = {{1}}, float low = {{{LOWEST!r}}}, float e4 = {{-10000}},
  float e9 = {{1e9}}, float big = {{-1e30}}, int64[2] units = {{1, 2}}, int64[1] last = {{3}}, int64[1] k = {{1}},
  int64[2] square = {{{LENGTH}, {LENGTH}}}, int64[4] shape = {{1, 2, {LENGTH}, {LENGTH}}},
  float two = {{2}}, int64[1] first = {{0}},
  int64[5] windows = {{1, 1, 2, {LENGTH}, {LENGTH}}}, int64[2] from = {{0, 0}}, int64[2] to = {{{LENGTH}, {LENGTH}}},
  int64[2] axes = {{0, 1}}
"""
SCORES = "kt = Transpose<perm=[0,1,3,2]>(x) s0 = MatMul(x, kt) s = Mul(s0, quarter) ninf = Constant<value_float=-inf>()"
BERT = "m0 = Unsqueeze(a, units) m1 = Cast<to=1>(m0) m2 = Sub(one, m1)"
TRIANGLE = "full = Expand(low, square) above = Trilu<upper=1>(full, k)"
ATTENTION = "y, keys, values, p = Attention<scale=0.25, qk_matmul_output_mode=3"
LOWER = "ones = Expand(one, square) t0 = Trilu<upper=0>(ones)"

Keep = Callable[[Any], np.ndarray]


def _padding(given: dict[str, np.ndarray]) -> np.ndarray:
    return given["a"][:, None, None, :] == 1


def _causal(given: dict[str, np.ndarray]) -> np.ndarray:
    return np.tril(np.ones((1, 1, LENGTH, LENGTH), bool))


def _boolean(given: dict[str, np.ndarray]) -> np.ndarray:
    return given["b"]


def _added(given: dict[str, np.ndarray]) -> np.ndarray:
    return given["f"] == 0


def _causal_added(given: dict[str, np.ndarray]) -> np.ndarray:
    return _causal(given) & _added(given)


def _causal_padding(given: dict[str, np.ndarray]) -> np.ndarray:
    return _causal(given) & _padding(given)


SOFTMAX = "p = Softmax<axis=-1>(t)"
FORMS: dict[str, tuple[str, Keep]] = {
    "BERT, -10000": (f"{BERT} m = Mul(m2, e4) t = Add(s, m) {SOFTMAX}", _padding),
    "BERT, lowest": (f"{BERT} m = Mul(m2, low) t = Add(s, m) {SOFTMAX}", _padding),
    "BERT, inverted and filled": (
        f"{BERT} c = Cast<to=9>(m2) m = Where(c, low, m2) t = Add(s, m) {SOFTMAX}", _padding,
    ),
    "T2T, less 1e9": (f"{BERT} m = Mul(m2, e9) t = Sub(s, m) {SOFTMAX}", _padding),
    "decoder, triangle times padding": (
        f"{LOWER} m0 = Unsqueeze(a, units) m1 = Cast<to=1>(m0) both = Mul(t0, m1) m2 = Sub(one, both) m = Mul(m2, e4)"
        f" t = Add(s, m) {SOFTMAX}",
        _causal_padding,
    ),
    "Llama, padding where the triangle is 0": (
        f"{TRIANGLE} m0 = Unsqueeze(a, units) m1 = Cast<to=1>(m0) z = Add(above, m1) c = Equal(z, zero)"
        f" m = Where(c, low, above) t = Add(s, m) {SOFTMAX}",
        _causal_padding,
    ),
    "GPT-2, a triangle and an added mask": (
        f"{LOWER} c = Cast<to=9>(t0) w = Where(c, s, low) {BERT} m = Mul(m2, low) t = Add(w, m) {SOFTMAX}",
        _causal_padding,
    ),
    "OPT, kept above the lowest": (f"{BERT} m = Mul(m2, low) t1 = Add(s, m) t = Max(t1, low) {SOFTMAX}", _padding),
    "T5, with a position bias": (f"{BERT} m = Mul(m2, low) o = Add(position, m) t = Add(s, o) {SOFTMAX}", _padding),
    "Swin, windows of -100": (
        f"s5 = Reshape(s, windows) t5 = Add(s5, hundred) t = Reshape(t5, shape) {SOFTMAX}", _causal,
    ),
    "Whisper, a slice of a triangle": (f"m = Slice(table, from, to, axes) t = Add(s, m) {SOFTMAX}", _causal),
    "torch, masked_fill": (f"c = Not(b) t = Where(c, ninf, s) {SOFTMAX}", _boolean),
    "torch SDPA, Boolean": (f"m = Where(b, zero, ninf) t = Add(s, m) {SOFTMAX}", _boolean),
    "torch SDPA, guarded": (
        "m = Where(b, zero, ninf) t = Add(s, m) q = Softmax<axis=-1>(t) n = IsNaN(q) p = Where(n, zero, q)", _boolean,
    ),
    "torch SDPA, causal": (
        f"{LOWER} c = Equal(t0, zero) m = Where(c, ninf, zero) t = Add(s, m) {SOFTMAX}", _causal,
    ),
    "dynamo, safe softmax": (
        "m = Where(b, zero, ninf) t = Add(s, m) q = Softmax<axis=-1>(t) e = Equal(t, ninf) i = Cast<to=7>(e)"
        " r = ReduceMin(i, last) c = Cast<to=9>(r) p = Where(c, zero, q)",
        _boolean,
    ),
    "JAX": (
        "g = Expand(big, shape) t = Where(b, s, g) mx = ReduceMax(t, last) d = Sub(t, mx) e = Exp(d)"
        " r = ReduceSum(e, last) p = Div(e, r)",
        _boolean,
    ),
    "Attention, Boolean": (f"{ATTENTION}>(x, x, x, b)", _boolean),
    "Attention, causal": (f"{ATTENTION}, is_causal=1>(x, x, x)", _causal),
    "Attention, a float of the caller": (f"{ATTENTION}>(x, x, x, f)", _added),
    "Attention, causal and a float": (f"{ATTENTION}, is_causal=1>(x, x, x, f)", _causal_added),
    "a bias by position, beside padding and in one sum with it": (
        f"{BERT} m = Mul(m2, low) o = Add(alibi, m) t = Add(s, o) {SOFTMAX}", _padding,
    ),
    "a bias by position, and a float of the caller": (f"o = Add(s, alibi) t = Add(o, f) {SOFTMAX}", _added),
    "half precision, read as f32": (
        f"{BERT} c = Cast<to=9>(m2) s1 = Cast<to=10>(s) m = Where(c, lowest16, zero16) t1 = Add(s1, m)"
        f" t = Cast<to=1>(t1) {SOFTMAX}",
        _padding,
    ),
    "filled in half precision, read as f32": (
        f"n = Not(b) s1 = Cast<to=10>(s) ninf16 = Cast<to=10>(ninf) t1 = Where(n, ninf16, s1) t = Cast<to=1>(t1)"
        f" {SOFTMAX}",
        _boolean,
    ),
    "halved behind the mask": (
        f"{BERT} m = Mul(m2, low) d = Add(s, s) o = Add(d, m) t = Div(o, two) {SOFTMAX}", _padding,
    ),
    "a row that is repeated, then moved": (
        "r = Squeeze(a, first) c = Cast<to=9>(r) o = Where(c, zeros, low) m = Unsqueeze(o, axes) t = Add(s, m)"
        f" {SOFTMAX}",
        _padding,
    ),
    "a float of the caller": (f"t = Add(s, f) {SOFTMAX}", _added),
    "a float of the caller, twice": (f"f2 = Add(f, f) t = Add(s, f2) {SOFTMAX}", _added),
}  # fmt: skip


@dataclass(frozen=True)
class Model:
    """A model, its samples, and what takes part in each."""

    module: ModuleOp
    samples: dict[str, np.ndarray]
    keep: np.ndarray

    def outputs(self, module: ModuleOp) -> dict[str, np.ndarray]:
        found = [qmlir.interpret(module, self.sample(position)) for position in range(SAMPLES)]
        return {name: np.concatenate([each[name] for each in found]) for name in found[0]}

    def sample(self, position: int) -> dict[str, np.ndarray]:
        return {name: array[position : position + 1] for name, array in self.samples.items()}

    def expected(self, position: float = 0.0) -> dict[str, np.ndarray]:
        """In f64, over what takes part; a row of which nothing does is left out."""
        x = self.samples["x"].astype(np.float64)
        scores = x @ x.swapaxes(2, 3) / 4 + position
        raised = np.where(self.keep, np.exp(scores - np.where(self.keep, scores, -np.inf).max(-1, keepdims=True)), 0)
        p = raised / raised.sum(-1, keepdims=True)
        return {"p": p, "y": p @ x}


ALIBI = -0.5 * np.abs(np.subtract.outer(np.arange(LENGTH), np.arange(LENGTH))).astype(np.float32)[None, None]
"""0 where a query looks at itself, and below 0 elsewhere, as a mask is: but too little to mask."""

POSITION = np.linspace(-2, 2, LENGTH * LENGTH, dtype=np.float32).reshape(1, 1, LENGTH, LENGTH)


@cache
def model(form: str, fill: float = -10000.0, kept: int = 3) -> Model:
    body, keep = FORMS[form]
    used = [text for name, text in INPUTS.items() if re.search(rf"[(,] ?{name}[,)]", body)]
    is_attention = body.startswith(ATTENTION)
    inputs = ", ".join((f"float[N,2,{LENGTH},{WIDTH}] x", *used))
    text = (
        f'<ir_version: 10, opset_import: ["": {23 if is_attention else 18}]> g ({inputs})'
        f" => (float[N,2,{LENGTH},{WIDTH}] y, float[N,2,{LENGTH},{LENGTH}] p) <{CONSTANTS}>"
        f" {{ {body if is_attention else f'{SCORES} {body} y = MatMul(p, x)'} }}"
    )
    tables = {
        "position": POSITION,
        "alibi": ALIBI,
        "zeros": np.zeros((LENGTH, LENGTH), np.float32),
        "zero16": np.zeros((), np.float16),
        "lowest16": np.array(-65504, np.float16),
        "hundred": np.triu(np.full((1, 1, 1, LENGTH, LENGTH), -100, np.float32), 1),
        "table": np.triu(np.full((2 * LENGTH, 2 * LENGTH), -np.inf, np.float32), 1),
    }
    proto = onnx.parser.parse_model(text)
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in tables.items())
    random = np.random.default_rng(5)
    lengths = random.integers(kept, LENGTH + 1, (SAMPLES, 1))
    allowed = (random.random((SAMPLES, 1, LENGTH, LENGTH)) < 0.6) | np.eye(LENGTH, dtype=bool)
    padding = np.arange(LENGTH) < lengths
    samples = {
        "x": random.normal(size=(SAMPLES, 2, LENGTH, WIDTH)).astype(np.float32),
        "a": padding.astype(np.int64),
        "b": allowed,
        "f": np.where(padding, 0, fill).astype(np.float32)[:, None, None, :],
    }
    given = {name: array for name, array in samples.items() if name == "x" or any(name == each[-1] for each in used)}
    shapes = {name: (1, *array.shape[1:]) for name, array in given.items()}
    return Model(qmlir.load(proto, shapes=shapes), given, np.broadcast_to(keep(samples), (SAMPLES, 2, LENGTH, LENGTH)))


@cache
def quantized(form: str, fill: float = -10000.0) -> Quantized:
    own = model(form, fill)
    return quantize(own.module, own.samples, validate=False)


def _decibels(wanted: np.ndarray, found: np.ndarray) -> float:
    return float(10 * np.log10((wanted**2).sum() / ((wanted - found) ** 2).sum()))


def _check(own: Model, made: Quantized, position: Any = 0.0, rounding: float = 1e-5) -> float:
    """The softmax has the mask, floats are what they were, what is masked is 0; the decibels of the output.

    `rounding` is that of the float model; what is profiled computes in f32.
    """
    (composite,) = (op for op in made.module.walk() if isinstance(op, SoftmaxOp | AttentionOp))
    assert composite.mask is not None or (isinstance(composite, AttentionOp) and composite.is_causal.value.data)
    types = [element_of(value) for op in made.module.walk() for value in op.results if op.name.startswith("nn.")]
    assert max(float(each.scales.max()) for each in types if isinstance(each, UniformQuantizedType)) < 1
    before, after, expected = own.outputs(own.module), own.outputs(made.profiled), own.expected(position)
    for name, array in before.items():
        np.testing.assert_allclose(after[name], array, atol=rounding, rtol=0)
        np.testing.assert_allclose(array, expected[name], atol=rounding, rtol=0)
    found = own.outputs(made.module)
    assert not found["p"][~own.keep].any()
    assert found["p"][own.keep].any()
    return _decibels(before["y"], found["y"])


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    position = POSITION if "T5" in form else ALIBI if "position" in form else 0.0
    rounding = float(np.finfo(np.float16).eps) * 4 if "half precision" in form else 1e-5
    assert _check(model(form), quantized(form), position, rounding) > 30


@pytest.mark.parametrize("fill", [-np.inf, LOWEST, -65504.0, -10000.0])
def test_the_number_that_masks_does_not_matter(fill: float) -> None:
    form = "a float of the caller"
    without = quantized("BERT, -10000")
    found = _check(model(form, fill), quantized(form, fill))
    assert abs(found - _check(model("BERT, -10000"), without)) < 1e-9


def test_a_float_of_the_caller_masks_by_another_number_than_it_had() -> None:
    own, made = model("a float of the caller", -100.0), quantized("a float of the caller")
    assert _decibels(own.expected()["y"], own.outputs(made.module)["y"]) > 30


@pytest.mark.parametrize("form", ["BERT, lowest", "a float of the caller"])
def test_samples_without_padding_say_nothing_of_the_mask(form: str) -> None:
    """Where no sample was padded, the mask that a caller gives later masks all the same."""
    own, whole = model(form), model(form, kept=LENGTH)
    made = quantize(whole.module, whole.samples, validate=False)
    found = own.outputs(made.module)
    assert not found["p"][~own.keep].any()
    assert _decibels(own.expected()["y"], found["y"]) > 28


def test_a_number_that_masks_and_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """-20 does not make every probability 0. It is added in the softmax, and the scores keep their resolution."""
    form = "BERT, -20"
    body = FORMS["BERT, -10000"][0].replace("e4", "n20")
    monkeypatch.setitem(FORMS, form, (f"n20 = Constant<value_float=-20.0>() {body}", _padding))
    own = model(form)
    made = quantize(own.module, own.samples, validate=False)
    (softmax,) = (op for op in made.module.walk() if isinstance(op, SoftmaxOp))
    assert softmax.fill is not None
    assert softmax.fill.value.data == -20
    before, after, found = (own.outputs(module) for module in (own.module, made.profiled, made.module))
    assert np.array_equal(before["p"], after["p"])
    decibels = _decibels(before["y"], found["y"])
    assert decibels > 30
    assert abs(decibels - _check(model("BERT, -10000"), quantized("BERT, -10000"))) < 1


def test_rows_that_are_masked_as_a_whole() -> None:
    """0 where minus infinity masks, which gives NaN in floats; `1 / n` where a finite number does, as ONNX has it."""
    samples = {name: array.copy() for name, array in model("torch, masked_fill").samples.items()}
    samples["b"][:, :, 2] = False
    for form, wanted in (("torch, masked_fill", 0.0), ("torch SDPA, guarded", 0.0), ("JAX", 1 / LENGTH)):
        found = qmlir.interpret(quantized(form).module, {name: each[:1] for name, each in samples.items()})["p"]
        assert (found[:, :, 2] == wanted).all(), form
        np.testing.assert_allclose(found[:, :, 3].sum(-1), 1, atol=0.02)


def test_a_guard_about_other_rows_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes rows 0 that the mask leaves as they are."""
    form = "guarded by a condition of its own"
    body = (
        "t = Where(b, s, ninf) q = Softmax<axis=-1>(t) c = Greater(x, two) i = Cast<to=6>(c) r = ReduceMax(i, last)"
        " some = Cast<to=9>(r) u = Where(some, t, ninf) h = ReduceMax(u, last) g = Equal(h, ninf) p = Where(g, zero, q)"
    )
    monkeypatch.setitem(FORMS, form, (body, _boolean))
    own = model(form)
    before, after = (own.outputs(module)["p"] for module in (own.module, quantized(form).profiled))
    assert 0 < (before.max(-1) == 0).mean() < 1
    np.testing.assert_allclose(after, before, atol=1e-6)


def test_a_row_that_minus_infinity_masks_is_0_beside_another_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    form = "guarded, two masks"
    body = (
        "m = Where(b, zero, ninf) o = Add(s, f) t = Add(o, m) q = Softmax<axis=-1>(t) n = IsNaN(q)"
        " p = Where(n, zero, q)"
    )
    monkeypatch.setitem(FORMS, form, (body, lambda given: _boolean(given) & _added(given)))
    own = model(form)
    samples = {name: array[:1].copy() for name, array in own.samples.items()}
    samples["b"][:, :, 2] = False
    assert not qmlir.interpret(quantized(form).module, samples)["p"][:, :, 2].any()


@pytest.mark.parametrize("form", ["Llama, padding where the triangle is 0", "torch SDPA, guarded"])
def test_compiled(form: str) -> None:
    own, made = model(form), quantized(form)
    program = qmlir.compile(made.module, codegen="llvm")
    for position in range(3):
        wanted = qmlir.interpret(made.module, own.sample(position))
        found = program(own.sample(position))
        assert all(np.array_equal(found[name], array) for name, array in wanted.items())


@pytest.mark.parametrize("form", ["torch, masked_fill", "torch SDPA, causal"])
def test_by_parts(form: str) -> None:
    """Taken apart before values are profiled, a mask is known where it is certain: a Boolean, or a constant."""
    own = model(form)
    made = qmlir.quantize(own.module, own.samples, keep_composites=()).module
    assert not any(isinstance(op, SoftmaxOp) for op in made.walk())
    found = own.outputs(made)
    assert not found["p"][~own.keep].any()
    assert _decibels(own.expected()["y"], found["y"]) > 20


def _near_miss(
    monkeypatch: pytest.MonkeyPatch, body: str, samples: dict[str, np.ndarray] | None = None
) -> tuple[bool, list[str]]:
    """Whether a softmax has a mask, and what is said of it."""
    monkeypatch.setitem(FORMS, body, (body, _padding))
    own = model(body)
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        made = quantize(own.module, own.samples | (samples or {}), validate=False)
    (softmax,) = (op for op in made.module.walk() if isinstance(op, SoftmaxOp))
    return softmax.mask is not None, [each.message for each in said if " as data: " in each.message]


def test_what_is_no_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that only look like one stay numbers; where something selects and still counts, a remark says so."""
    fills = "n20 = Constant<value_float=-20.0>() n40 = Constant<value_float=-40.0>()"
    padding = model("BERT, lowest").samples["a"]
    assert _near_miss(monkeypatch, f"{BERT} m = Mul(m2, e4) t = Add(s, m) {SOFTMAX}", {"a": 2 * padding}) == (False, [])
    assert _near_miss(monkeypatch, f"{BERT} m = Mul(m2, one) t = Add(s, m) {SOFTMAX}") == (False, [])
    assert _near_miss(monkeypatch, f"{fills} {BERT} m = Mul(m2, n40) t = Add(s, m) {SOFTMAX}") == (True, [])
    is_masked, said = _near_miss(monkeypatch, f"{fills} t = Where(b, s, n20) {SOFTMAX}")
    assert not is_masked
    assert len(said) == 1
    wanted = r"treats the mask 'nn.where' op \(t\) as data: scores differ by up to 1\d\.\d*, so adding -20"
    assert re.search(wanted, said[0])


@pytest.mark.parametrize(("name", "pass_name"), [("p", "nn-recognize-masks"), ("t", "dce")])
def test_a_masked_softmax_is_explained(name: str, pass_name: str) -> None:
    """By the passes that quantized it; a sum that is gone, too."""
    form = "T5, with a position bias"
    found = explain_node(name, model(form).module, quantized(form).profile, quantized=quantized(form).module)
    assert found.is_reproduced
    assert pass_name in {change.pass_name for change in found.quantize_changes}


def test_coverage_tells_of_masks_and_counts_no_arithmetic_of_theirs() -> None:
    found = coverage(quantized("T5, with a position bias").module)
    assert found.masked == 1
    assert "masks of 1 softmax are excluded from calibration ranges\n" in found.text()
    assert not found.left_in_float
    own = model("BERT, lowest")
    qmlir.quantize(own.module, own.samples, assert_all_quantized=True)


OPEN = f"""<ir_version: 8, opset_import: ["": 18]>
g (float[N,2,T,{WIDTH}] x, int64[N,T] a) => (float[N,2,T,{WIDTH}] y, float[N,2,T,T] p) <{CONSTANTS}> {{
  {SCORES} {BERT} m = Mul(m2, low) sizes = Shape<start=2>(s) full = Expand(low, sizes) above = Trilu<upper=1>(full, k)
  both = Add(above, m) c = Max(both, low) t = Add(s, c) {SOFTMAX} y = MatMul(p, x)
}}"""


def test_open_sizes() -> None:
    """A decoder of any batch and length: its triangle is computed, and what it masks at a new length is 0."""
    module, random = qmlir.load(onnx.parser.parse_model(OPEN)), np.random.default_rng(1)

    def sample(length: int) -> dict[str, np.ndarray]:
        padding = np.arange(length)[None] < random.integers(3, length + 1)
        x = random.normal(size=(1, 2, length, WIDTH)).astype(np.float32)
        return {"x": x, "a": padding.astype(np.int64)}

    made = qmlir.quantize(module, [sample(length) for length in (8, 12) * 10]).module
    for length in (8, 20):
        wanted: list[np.ndarray] = []
        found: list[np.ndarray] = []
        for given in (sample(length) for _ in range(6)):
            ours = qmlir.interpret(made, given)
            keep = np.tril(np.ones((length, length), bool)) & (given["a"] == 1)[:, None, None]
            assert not ours["p"][~np.broadcast_to(keep, ours["p"].shape)].any()
            wanted.append(qmlir.interpret(module, given)["y"])
            found.append(ours["y"])
        assert _decibels(np.stack(wanted), np.stack(found)) > 30


REPEATED = f"""<ir_version: 8, opset_import: ["": 18]>
g (float[N,2,T,{WIDTH}] x, bool[T,T] b) => (float[N,2,T,T] p) <{CONSTANTS}> {{
  {SCORES} n = Shape<start=0, end=1>(s) sides = Shape<start=2>(s) sizes = Concat<axis=0>(n, sides)
  zeros = Expand(zero, sizes) m0 = Where(b, zeros, low) m = Unsqueeze(m0, k) t = Add(s, m) {SOFTMAX}
}}"""


def test_a_mask_of_open_sizes_is_repeated_before_it_is_moved() -> None:
    """The mask of one sample is filled into zeros of all samples, which then get an axis of heads."""
    module, random = qmlir.load(onnx.parser.parse_model(REPEATED)), np.random.default_rng(1)

    def sample(length: int) -> dict[str, np.ndarray]:
        x = random.normal(size=(3, 2, length, WIDTH)).astype(np.float32)
        return {"x": x, "b": np.tril(np.ones((length, length), bool))}

    made = qmlir.quantize(module, [sample(length) for length in (8, 12)]).module
    (softmax,) = (op for op in made.walk() if isinstance(op, SoftmaxOp))
    assert softmax.mask is not None
    given = sample(9)
    wanted, found = (qmlir.interpret(each, given)["p"] for each in (module, made))
    assert not found[~np.broadcast_to(given["b"], found.shape)].any()
    np.testing.assert_allclose(found, wanted, atol=0.05)
