"""What is joined to larger values keeps a type of its own where others read it, too, and is rescaled at the join."""

import numpy as np
import pytest
from onnx import ModelProto, parser
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import qmlir
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.quantization.settings import QuantizeSettings

_WEIGHTS = np.random.default_rng(0).normal(0, 0.4, (3, 8, 8)).astype(np.float32)
_JOINS = {
    "concat": "j = Concat <axis = 1> (p, q)",
    "where": "j = Where (c, p, q)",
    "scatter": "j = ScatterElements <axis = 1> (p, i, q)",
    "moved": "r = Transpose <perm = [1, 0]> (p) s = Transpose <perm = [1, 0]> (q) j = Concat <axis = 1> (r, s)",
}
"""How a small and a large value become one."""


def _model(join: str, readers: str, *, is_read_first: bool = False) -> ModelProto:
    """The readers are computed after the join, or before it."""
    nodes = [f"{join} y = Abs (j)", readers]
    columns = 16 if "Concat" in join else 8
    numbers = [", ".join(f"{value:.6f}" for value in each.reshape(-1)) for each in _WEIGHTS]
    return parser.parse_model(f"""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[8, 8] x, float[8, 8] large) => (float[8, 8] z, float[8, {columns}] y)
        <float[8, 8] wp = {{{numbers[0]}}}, float[8, 8] wq = {{{numbers[1]}}}, float[8, 8] wz = {{{numbers[2]}}},
         bool[8, 8] c = {{{", ".join("10"[row % 2] for row in range(64))}}},
         int64[8, 8] i = {{{", ".join(str(column) for _ in range(8) for column in (7, 2, 5, 0, 3, 1, 4, 6))}}},
         int64 axis = {{0}}> {{
            p = MatMul (x, wp)
            q = MatMul (large, wq)
            {" ".join(nodes[::-1] if is_read_first else nodes)}
        }}""")


_OTHER = "z = MatMul (p, wz)"
_NONE = "z = MatMul (x, wz)"


def _samples(ratio: float, count: int, seed: int) -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    drawn = [random.uniform(-1, 1, (2, 8, 8)).astype(np.float32) for _ in range(count)]
    return [{"x": x, "large": (ratio * large).astype(np.float32)} for x, large in drawn]


def _decibels(module: ModuleOp, ratio: float) -> float:
    """The SQNR of `z`, which reads the small value alone, over new samples."""
    signal = noise = 0.0
    for feeds in _samples(ratio, 8, 1):
        expected = feeds["x"].astype(np.float64) @ _WEIGHTS[0] @ _WEIGHTS[2]
        signal += float(np.square(expected).sum())
        noise += float(np.square(qmlir.interpret(module, feeds)["z"] - expected).sum())
    return 10 * float(np.log10(signal / noise))


def _types(module: ModuleOp) -> set[UniformQuantizedType]:
    """The types of what is given to operations that join, and of what they give."""
    names = ("nn.concat", "nn.where", "nn.scatter_elements")
    joins = [op for op in module.walk() if op.name in names]
    assert joins
    elements = [element_of(value) for op in joins for value in (*op.operands, *op.results)]
    return {each for each in elements if isinstance(each, UniformQuantizedType)}


def _quantized(join: str, readers: str, ratio: float, settings: QuantizeSettings | None = None) -> ModuleOp:
    model = qmlir.load(_model(_JOINS[join], readers))
    return qmlir.quantize(model, _samples(ratio, 32, 0), validate=False, **(settings or {})).module


# Alone, `z` has 32 dB. In the range of a value that is 6 times larger it has 22.
@pytest.mark.parametrize("ratio", [6.0, 4096.0, 65536.0])
@pytest.mark.parametrize("join", _JOINS)
def test_other_readers_of_a_part_lose_nothing(join: str, ratio: float) -> None:
    module = _quantized(join, _OTHER, ratio)
    assert _decibels(module, ratio) > 31
    assert len(_types(module)) == 1  # integers of one type are joined


def test_so_it_is_if_they_are_computed_before_the_join() -> None:
    model = qmlir.load(_model(_JOINS["concat"], _OTHER, is_read_first=True))
    assert _decibels(qmlir.quantize(model, _samples(6.0, 32, 0), validate=False).module, 6.0) > 31


@pytest.mark.parametrize("settings", [{"activations": "i16"}, {"scheme": "symmetric_pow2"}, {"granularity": "tensor"}])
def test_so_it_is_in_all_schemes(settings: QuantizeSettings) -> None:
    assert _decibels(_quantized("concat", _OTHER, 64.0, settings), 64.0) > 27


@pytest.mark.parametrize("emitter", ["numba", "llvm"])
@pytest.mark.parametrize("join", _JOINS)
def test_compiled_code_gives_the_same_integers(join: str, emitter: str) -> None:
    module = _quantized(join, _OTHER, 6.0)
    program = qmlir.compile(module, codegen=emitter)
    for feeds in _samples(6.0, 2, 1):
        expected = qmlir.interpret(module, feeds)
        for name, found in program(feeds).items():
            np.testing.assert_array_equal(found, expected[name])


# A part that only the join reads is written in the type of the whole, and so is one of about its range: rescaling would
# round twice.
@pytest.mark.parametrize(("ratio", "readers"), [(1.2, _OTHER), (6.0, _NONE)])
def test_a_rescale_that_gains_nothing_is_none(ratio: float, readers: str) -> None:
    module = _quantized("concat", readers, ratio)
    (join,) = [op for op in module.walk() if op.name == "nn.concat"]
    assert [value.owner.name for value in join.operands if isinstance(value.owner, Operation)] == ["nn.matmul"] * 2
