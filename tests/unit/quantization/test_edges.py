"""Steps next to inputs and outputs stay in float if 8 bits would lose what they compute, else they have integers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, parser
from xdsl.dialects.builtin import ModuleOp, f32

import qmlir
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.quantization.settings import QuantizeSettings
from tests.support.commands import run_command

_RANDOM = np.random.default_rng(0)
_FIRST, _LAST = (_RANDOM.normal(0, 0.4, shape).astype(np.float32) for shape in ((6, 16), (16, 3)))
_UNITS = np.array([1e-3, 1, 1e3])
_MEANS = np.array([3e4, 0.02, -7.0, 1e5, 0.5, 200.0], np.float32)
_DEVIATIONS = np.array([1e3, 1e-3, 2.0, 3e4, 0.1, 5.0], np.float32)


def _text(array: np.ndarray) -> str:
    return "{" + ", ".join(f"{value:.9g}" for value in array.reshape(-1)) + "}"


@dataclass(frozen=True)
class _Case:
    """A network between steps."""

    before: str = "n = Identity (x)"
    """What makes `n`, of deviation 1, of `x`."""

    after: str = "y = Identity (o)"
    """What makes the output `y` of what the network gives."""

    means: Sequence[float] | np.ndarray = (0.0,) * 6
    deviations: Sequence[float] | np.ndarray = (1.0,) * 6
    inputs: str = "float[1, 6] x"
    constants: str = ""
    output: str = "float[1, 3] y"

    def model(self) -> ModelProto:
        """The steps around two products with a ReLU between them."""
        return parser.parse_model(f"""
            <ir_version: 10, opset_import: ["": 21]>
            g ({self.inputs}) => ({self.output})
            <float[6, 16] first = {_text(_FIRST)}, float[16, 3] last = {_text(_LAST)}, float[6] mean = {_text(_MEANS)},
             float[6] deviation = {_text(_DEVIATIONS)}, float[6] factor = {_text(1 / _DEVIATIONS)},
             float[6] variance = {_text(_DEVIATIONS**2)}, float[6] ones = {_text(np.ones(6))} {self.constants}> {{
                {self.before}
                p = MatMul (n, first)
                r = Relu (p)
                o = MatMul (r, last)
                {self.after}
            }}""")

    def samples(self, count: int, seed: int) -> list[dict[str, np.ndarray]]:
        """Samples of uniform features: none is outside of what others had."""
        random = np.random.default_rng(seed)
        means, deviations = np.asarray(self.means), np.asarray(self.deviations)
        drawn = random.uniform(-1.7, 1.7, (count, 1, 6))
        for row, (left, right) in enumerate(product((1.7, -1.7), repeat=2)):
            drawn[row, :, :3], drawn[row, :, 3:] = left, right
        x = means + deviations * drawn
        if "float[1, 6] z" not in self.inputs:
            return [{"x": row.astype(np.float32)} for row in x]
        z = means + random.uniform(-1, 1, (count, 1, 1)) * 1e5
        return [
            {"x": (row + at - means).astype(np.float32), "z": at.astype(np.float32)}
            for row, at in zip(x, z, strict=True)
        ]


_TABLE: Mapping[str, object] = {"means": _MEANS, "deviations": _DEVIATIONS}
_INPUTS: Mapping[str, _Case] = {
    "sub_div": _Case("c = Sub (x, mean) n = Div (c, deviation)", **_TABLE),  # type: ignore[arg-type]
    "sub_mul": _Case("c = Sub (x, mean) n = Mul (c, factor)", **_TABLE),  # type: ignore[arg-type]
    "reshaped": _Case(
        "f = Reshape (x, flat) c = Sub (f, mean) d = Div (c, deviation) n = Reshape (d, row)",
        constants=", int64[1] flat = {-1}, int64[2] row = {1, 6}", **_TABLE),  # type: ignore[arg-type]
    "batch_norm": _Case("n = BatchNormalization <epsilon = 1e-12> (x, ones, z0, mean, variance)",
                        constants=", float[6] z0 = {0, 0, 0, 0, 0, 0}", **_TABLE),  # type: ignore[arg-type]
    "difference": _Case("n = Sub (x, z)", inputs="float[1, 6] x, float[1, 6] z"),
    "columns": _Case(
        "a = Slice (x, from0, to3, axis) b = Slice (x, from3, to6, axis) s = Sub (b, a) t = Sub (a, mean3) "
        "n = Concat <axis = 1> (s, t)",
        means=[1e5] * 6, constants=", int64[1] from0 = {0}, int64[1] from3 = {3}, int64[1] to3 = {3},"
        " int64[1] to6 = {6}, int64[1] axis = {1}, float[3] mean3 = {100000, 100000, 100000}"),
}  # fmt: skip
_IF = """
    {before}
    total = ReduceSum <keepdims = 0> (x)
    small = Less (total, million)
    y = If (small) <then_branch = taken () => (float[1, 3] a) {{ {then} }},
                    else_branch = other () => (float[1, 3] c) {{ c = Neg (s) }}>"""
_IF_CONSTANTS = ", float two = {2.5}, float offset = {1013.25}, float million = {1000000}"
_OUTPUTS: Mapping[str, _Case] = {
    "scale_offset": _Case(after="s = Mul (o, two) y = Add (s, offset)",
                          constants=", float two = {2.5}, float offset = {1013.25}"),
    "bias": _Case(after="y = Add (o, offset)", constants=", float[3] offset = {300, 290, -310}"),
    "bias_relu": _Case(after="b = Add (o, offset) y = Relu (b)", constants=", float[3] offset = {300, 290, 310}"),
    "units": _Case(after="s = Mul (o, units) y = Add (s, offset)",
                   constants=", float[3] units = {0.001, 1, 1000}, float[3] offset = {0.5, 300, 100000}"),
    "folded_units": _Case(
        after="d = MatMul (r, other) y = Add (d, offset)",
        constants=f", float[16, 3] other = {_text(_LAST * _UNITS)}, float[3] offset = {{0.5, 300, 100000}}"),
    "moved": _Case(after="t = Transpose <perm = [1, 0]> (o) s = Sub (t, offset) y = Transpose <perm = [1, 0]> (s)",
                   constants=", float offset = {5000}"),
    "compared": _Case(after="s = Mul (o, two) y = Add (s, offset) more = Greater (y, offset)",
                      output="float[1, 3] y, bool[1, 3] more",
                      constants=", float two = {2.5}, float offset = {1013.25}"),
    "largest": _Case(after="s = Mul (o, two) y = Add (s, offset) at = ArgMax <axis = 1> (y)",
                     output="float[1, 3] y, int64[1, 1] at", constants=", float two = {2.5}, float offset = {1013.25}"),
    "yielded": _Case(after=_IF.format(before="s = Mul (o, two) b = Add (s, offset)", then="a = Identity (b)"),
                     constants=_IF_CONSTANTS),
    "in_branch": _Case(after=_IF.format(before="s = Mul (o, two)", then="a = Add (s, offset)"),
                       constants=_IF_CONSTANTS),
    "joined": _Case(after="s = Sigmoid (o) w = Mul (o, many) y = Concat <axis = 1> (s, w)", output="float[1, 6] y",
                    constants=", float many = {10000}"),
    "exp": _Case(
        after="b = Mul (o, three) e = Exp (b) t = Mul (e, stride) s = Sigmoid (o) y = Concat <axis = 1> (s, t)",
        output="float[1, 6] y", constants=", float three = {3}, float stride = {8}"),
}  # fmt: skip
_CASES = _INPUTS | _OUTPUTS


def _expected(name: str, feeds: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The output, and what a change of the last product changes of it, element by element, by NumPy in f64."""
    x = {key: value.astype(np.float64) for key, value in feeds.items()}
    match name:
        case "difference":
            n = x["x"] - x["z"]
        case "columns":
            a, b = x["x"][:, :3], x["x"][:, 3:]
            n = np.concatenate([b - a, a - 1e5], 1)
        case _ if name in _INPUTS:
            n = (x["x"] - _MEANS) / _DEVIATIONS
        case _:
            n = x["x"]
    o = np.maximum(n @ _FIRST.astype(np.float64), 0) @ _LAST.astype(np.float64)
    match name:
        case "scale_offset" | "compared" | "largest" | "yielded" | "in_branch":
            return o * 2.5 + 1013.25, np.full(3, 2.5)
        case "bias" | "bias_relu":
            offset = np.array([300, 290, -310 if name == "bias" else 310])
            return o + offset, np.ones(3)
        case "units" | "folded_units":
            return o * _UNITS + np.array([0.5, 300, 1e5]), _UNITS
        case "moved":
            return o - 5000, np.ones(3)
        case "joined" | "exp":
            joined = 1e4 * o if name == "joined" else 8 * np.exp(3 * o)
            return np.concatenate([1 / (1 + np.exp(-o)), joined], 1), np.array([0.2] * 3 + [1e4] * 3)
        case _:
            return o, np.ones(3)


def _decibels(module: ModuleOp, name: str, columns: slice = slice(None)) -> float:
    """The SQNR of the output about the mean of each element, in units of the last product."""
    got, wanted, units = list[np.ndarray](), list[np.ndarray](), np.ones(1)
    for feeds in _CASES[name].samples(24, 1):
        value, units = _expected(name, feeds)
        wanted.append((value / units)[0, columns])
        got.append((qmlir.interpret(module, feeds)["y"] / units)[0, columns])
    signal = np.square(np.stack(wanted) - np.stack(wanted).mean(0)).sum()
    return float(10 * np.log10(signal / np.square(np.stack(got) - np.stack(wanted)).sum()))


def _quantized(name: str, settings: QuantizeSettings | None = None) -> ModuleOp:
    case = _CASES[name]
    return qmlir.quantize(qmlir.load(case.model()), case.samples(64, 0), validate=False, **(settings or {})).module


# In 8 bits all of these have between -10 and 13 dB. Of the three parts of `exp` that differ most only one is looked at.
@pytest.mark.parametrize("name", _CASES)
def test_what_integers_would_lose_stays_in_float(name: str) -> None:
    module = _quantized(name)
    assert _decibels(module, name, slice(3)) > 22
    products = [op for op in module.walk() if op.name in ("nn.matmul", "nn.fully_connected")]
    assert len(products) >= 2
    for op in products:  # which are on integers all the same
        assert isinstance(element_of(op.operands[0]), UniformQuantizedType)


@pytest.mark.parametrize(
    "settings",
    [
        {"granularity": "tensor"},
        {"scheme": "symmetric_pow2", "weight_scheme": "symmetric_pow2"},
        {"activations": "u8"},
        {"activations": "i16", "weights": "i16"},
    ],
)
@pytest.mark.parametrize("name", ["sub_div", "scale_offset"])
def test_so_it_is_in_all_schemes(name: str, settings: QuantizeSettings) -> None:
    assert _decibels(_quantized(name, settings), name) > 22


@pytest.mark.parametrize("emitter", ["numba", "llvm"])
@pytest.mark.parametrize("name", ["batch_norm", "bias", "joined", "units"])
def test_compiled_code_gives_the_same_numbers(name: str, emitter: str) -> None:
    module = _quantized(name)
    program = qmlir.compile(module, codegen=emitter)
    for feeds in _CASES[name].samples(4, 1):
        np.testing.assert_array_equal(program(feeds)["y"], qmlir.interpret(module, feeds)["y"])


def _in_float(module: ModuleOp) -> list[str]:
    """The operations that compute on floats alone."""
    kinds = ("nn.add", "nn.sub", "nn.mul", "nn.div", "nn.concat", "nn.transpose")
    operations = (op for op in module.walk() if op.name in kinds)
    return [op.name for op in operations if not isinstance(element_of(op.results[0]), UniformQuantizedType)]


@pytest.mark.parametrize("name", ["scale_offset", "bias", "bias_relu", "moved"])
@pytest.mark.parametrize(
    "settings",
    [
        {"assert_all_quantized": True},
        {"recipe": {"rule": [{"edge": True, "quantize": True}]}},
        {
            "recipe": {
                "rule": [{"op": "[as][du][db]", "storage": "i16", "slot": "output"}, {"op": "*", "quantize": True}]
            }
        },
    ],
)
def test_integers_that_are_asked_for_have_16_bits(name: str, settings: QuantizeSettings) -> None:
    module = _quantized(name, settings)
    assert _in_float(module) == []
    assert _decibels(module, name) > 22


# The deviation of an image is a quarter of its range, in all of its channels.
@pytest.mark.parametrize("after", ["y = Identity (o)", "s = Mul (o, two) y = Add (s, two)"])
def test_what_loses_nothing_has_integers(after: str) -> None:
    case = _Case(
        "c = Sub (x, half) n = Div (c, quarter)", after, [0.5] * 6, [0.29] * 6,
        constants=", float half = {0.5}, float quarter = {0.25}, float two = {2}",
    )  # fmt: skip
    module = qmlir.quantize(qmlir.load(case.model()), case.samples(64, 0), validate=False).module
    assert _in_float(module) == []
    assert not any("i16:f32" in str(value.type) for op in module.walk() for value in op.results)


def test_a_join_for_outputs_that_loses_nothing_has_one_type() -> None:
    case = _Case(after="s = Tanh (o) t = Neg (s) y = Concat <axis = 1> (s, t)", output="float[1, 6] y")
    module = qmlir.quantize(qmlir.load(case.model()), case.samples(64, 0), validate=False).module
    assert _in_float(module) == []


def test_the_summary_names_the_steps_and_their_loss() -> None:
    case = _CASES["scale_offset"]
    text = str(qmlir.quantize(qmlir.load(case.model()), case.samples(64, 0), validate=False))
    assert "nn.add" in text
    assert "whose variation would have an SQNR of" in text


def test_the_recipe_of_a_run_decides_the_same(tmp_path: Path) -> None:
    model, data = tmp_path / "model.onnx", tmp_path / "data.npz"
    case = _CASES["scale_offset"]
    model.write_bytes(case.model().SerializeToString())
    np.savez(data, x=np.stack([feeds["x"] for feeds in case.samples(32, 0)]))
    common = ["quantize", str(model), "--data", str(data), "--no-validate", "--quiet"]
    assert run_command(["qmlir", *common, "-o", str(tmp_path / "first")], "").code == 0
    again = ["--recipe", str(tmp_path / "first" / "recipe.toml"), "-o", str(tmp_path / "second")]
    assert run_command(["qmlir", *common, *again], "").code == 0
    first, second = ((tmp_path / name / "model.q.mlir").read_text() for name in ("first", "second"))
    assert first == second


# As exporters fold a scaler: the weights of a column are divided by its deviation, and its mean goes into the bias. In
# 16 bits, columns that differ by 1e7 have nothing left: the product and its bias stay in float.
@pytest.mark.parametrize(("ratio", "means", "bits"), [(1.0, 0.0, 8), (1000.0, 0.0, 16), (1e7, 0.0, 32), (1e7, 5.0, 32)])
def test_the_input_of_a_layer_with_a_folded_scaler_is_fine(ratio: float, means: float, bits: int) -> None:
    deviations = ratio ** np.linspace(0, 1, 6).astype(np.float32)
    case = _Case(
        "m = MatMul (x, folded) n = Identity (x)", "y = MatMul (q, last)",
        deviations=deviations, means=means * deviations,
        constants=f", float[6, 16] folded = {_text(_FIRST / deviations[:, None])}"
        f", float[16] shift = {_text(-means * _FIRST.sum(0))}",
    )  # fmt: skip
    model = case.model()
    del model.graph.node[1:5]
    model.graph.node.insert(1, parser.parse_node("s = Add (m, shift)"))
    model.graph.node.insert(2, parser.parse_node("q = Relu (s)"))
    module = qmlir.quantize(qmlir.load(model), case.samples(64, 0), validate=False).module
    first, second = (op for op in module.walk() if op.name in ("nn.matmul", "nn.fully_connected"))
    element = element_of(first.operands[0])
    assert (element.bits if isinstance(element, UniformQuantizedType) else element) == (f32 if bits == 32 else bits)
    assert isinstance(element_of(second.operands[0]), UniformQuantizedType)
    got, wanted = list[np.ndarray](), list[np.ndarray]()
    for feeds in case.samples(24, 1):
        exact = np.maximum((feeds["x"] / deviations.astype(np.float64) - means) @ _FIRST, 0) @ _LAST
        wanted.append(exact)
        got.append(qmlir.interpret(module, feeds)["y"])
    errors = np.stack(got) - np.stack(wanted)
    assert 10 * np.log10(np.square(np.stack(wanted)).sum() / np.square(errors).sum()) > 25
