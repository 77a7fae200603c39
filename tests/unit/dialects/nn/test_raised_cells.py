"""Cells of LSTMs that a model spells as parts: layers of one step with the model's parameters, or a remark."""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.interpreter.interpreter import Interpreter
from qmlir.ir.diagnostics import diagnostic_handler
from qmlir.ir.signature import inputs_of
from qmlir.passmanager.manager import run_pipeline
from qmlir.workflows.calibrated import stages_of
from qmlir.workflows.profiling import profile

CELL = """
[xw@] p@ = MatMul (x@, W) [xb@] q@ = Add (p@, b) [hr@] s@ = MatMul (h, R) [sum@] g@ = Add (q@, s@)
[split@] i@, o@, f@, n@ = Split <axis = -1> (g@)
[in@] si@ = Sigmoid (i@) [out@] so@ = Sigmoid (o@) [forget@] sf@ = Sigmoid (f@) [new@] tn@ = Tanh (n@)
[kept@] k@ = Mul (sf@, c) [fresh@] w@ = Mul (si@, tn@) [cell@] c@ = Add (k@, w@)
[curve@] tc@ = Tanh (c@) [hidden@] h@ = Mul (so@, tc@)
"""
"""A step as exporters write it, all gates in one product: the one at `@` takes `h` and `c` of the one before."""

SPELLINGS = {
    "one product": CELL,
    "another order": CELL.replace("(q@, s@)", "(s@, q@)")
    .replace("(si@, tn@)", "(tn@, si@)")
    .replace("i@, o@, f@, n@ =", "f@, n@, i@, o@ ="),
    "no bias": CELL.replace("Add (p@, b)", "Identity (p@)"),
    "a layer": CELL.replace("p@ = MatMul (x@, W) [xb@] q@ = Add (p@, b)", "q@ = Gemm (x@, W, b)"),
    "layers": CELL.replace("p@ = MatMul (x@, W) [xb@] q@ = Add (p@, b)", "q@ = Gemm (x@, W, b)").replace(
        "MatMul (h, R)", "Gemm (h, R)"
    ),
    "layers without a bias": CELL.replace(
        "MatMul (x@, W) [xb@] q@ = Add (p@, b)", "Identity (x@) [xb@] q@ = Gemm (p@, W)"
    ).replace("MatMul (h, R)", "Gemm (h, R)"),
}
NEAR = {
    "function": (
        CELL.replace("so@ = Sigmoid (o@)", "so@ = Relu (o@)"),
        "its output gate must apply nn.sigmoid, but applies 'nn.relu' op (out2)",
    ),
    "function of the kept state": (
        CELL.replace("sf@ = Sigmoid (f@)", "sf@ = Relu (f@)"),
        "its forget gate must apply nn.sigmoid, but applies 'nn.relu' op (forget2)",
    ),
    "biases": (
        CELL.replace("s@ = MatMul (h, R)", "r@ = MatMul (h, R) [hb@] s@ = Add (r@, b)"),
        "'nn.add' op (xb2) and 'nn.add' op (hb2) both add a bias, but only one of them may",
    ),
    "bias of the sum": (
        CELL.replace("Add (p@, b)", "Identity (p@)").replace(
            "g@ = Add (q@, s@)", "m@ = Add (q@, s@) [sb@] g@ = Add (m@, b)"
        ),
        "'nn.add' op (sum2) is not a matmul with constant weights",
    ),
    "other user": (
        CELL.replace("tc@ = Tanh (c@)", "tc@ = Tanh (c@) [user@] u@ = Neg (tc@)"),
        "is also used by 'nn.neg' op",
    ),
    "state": (
        CELL.replace("k@ = Mul (sf@, c)", "k@ = Mul (sf@, x0)"),
        "'quant.qcast' op must be a state of type 'tensor< ... , but has type 'tensor<1x2x",
    ),
}
"""A cell that is nearly one, and why it is none; ` ... ` stands for any text."""


def _model(cell: str) -> ModelProto:
    random = np.random.default_rng(2)
    steps = [
        cell.replace("(h,", f"(h{step},").replace(", c)", f", c{step})").replace("@", str(step + 1))
        for step in range(2)
    ]
    outputs = ["h2", "c2", *(["u2"] if "u@" in cell else [])]
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> net (float[2, 3] x1, float[2, 3] x2, float[2, 2] h0, float[2, 2] c0,'
        f" float[1, 2] x0) => ({', '.join(outputs)}) {{ {''.join(steps)} }}"
    )
    shapes = {"W": (3, 8), "R": (2, 8), "b": (8,)}
    arrays = (random.normal(0, 0.7, shape).astype(np.float32) for shape in shapes.values())
    model.graph.initializer.extend(map(numpy_helper.from_array, arrays, shapes))
    return model


def _sample(seed: int) -> dict[str, np.ndarray]:
    random, shapes = np.random.default_rng(seed), {"x1": (2, 3), "x2": (2, 3), "h0": (2, 2), "c0": (2, 2), "x0": (1, 2)}
    return {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


@cache
def _profiled(cell: str) -> ModuleOp:
    module = qmlir.load(_model(cell))
    run = stages_of({}, module)
    run(module, "target", "lower")
    taken = profile(module, [_sample(seed) for seed in range(4)])
    run(module, "profile", "mask", "balance", taken=taken)
    return module


def _quantized(cell: str, granularity: str = "tensor") -> ModuleOp:
    """The model with types for its operations, each by itself."""
    passes = f"quant-assign-types{{granularity={granularity}}},quant-propagate-types,canonicalize,cse,dce"
    return run_pipeline(_profiled(cell).clone(), passes)


def _outputs(module: ModuleOp, samples: Iterable[Mapping[str, np.ndarray]]) -> list[tuple[np.ndarray, ...]]:
    interpreter = Interpreter(module)
    names = [port.name for port in inputs_of(interpreter.function("main"))]
    return [interpreter.call("main", [sample[name] for name in names]) for sample in samples]


def _raised(module: ModuleOp) -> tuple[ModuleOp, list[str]]:
    said: list[str] = []
    with diagnostic_handler(lambda each: said.append(each.message)):
        raised = run_pipeline(module.clone(), "nn-raise,canonicalize,cse,dce")
    return raised, [each for each in said if "nn.lstm" in each or "nn.gru" in each]


@pytest.mark.parametrize("granularity", ["tensor", "channel"])
@pytest.mark.parametrize("name", SPELLINGS)
def test_a_cell_becomes_a_layer_of_one_step(name: str, granularity: str, tmp_path: Path) -> None:
    """Also that of a model with quantize and dequantize nodes, as other tools write them."""
    module = _quantized(SPELLINGS[name], granularity)
    qmlir.export_onnx(module, tmp_path / "foreign.onnx")
    for each in (module, qmlir.load(tmp_path / "foreign.onnx")):
        raised, said = _raised(each)
        assert not said
        names = [op.name for op in raised.walk()]
        assert names.count("nn.lstm") == 2
        assert not {"nn.matmul", "nn.fully_connected", "nn.sigmoid", "nn.split"} & set(names)
        wanted, found = (_outputs(one, map(_sample, range(5, 8))) for one in (each, raised))
        assert [len(one) for one in found] == [len(one) for one in wanted] == [2] * 3
        assert all(map(np.array_equal, chain(*found), chain(*wanted)))


@pytest.mark.parametrize("name", NEAR)
def test_a_cell_that_is_nearly_one_stays_and_a_remark_says_why(name: str) -> None:
    cell, reason = NEAR[name]
    module = _quantized(cell)
    raised, said = _raised(module)
    assert sum(op.name == "nn.lstm" for op in raised.walk()) == ("u@" in cell)  # nothing uses it in the first step
    parts = ["looks like a cell of nn.lstm, but is not raised", *reason.split(" ... ")]
    assert any(all(part in each for part in parts) for each in said), said


def test_a_cell_of_a_gru_is_named() -> None:
    cell = """
[z@] z@ = Sigmoid (x1) [n@] n@ = Tanh (x2) [one@] a@ = Sub (one, z@) [new@] e@ = Mul (a@, n@) [old@] d@ = Mul (z@, k)
[state@] y = Add (e@, d@)
"""
    text = cell.replace("@", "1")
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> net (float[2, 2] x1, float[2, 2] x2, float[2, 2] k) => (y)'
        f" <float one = {{1}}> {{ {text} }}"
    )
    data = [{name: np.full((2, 2), number, np.float32) for name in ("x1", "x2", "k")} for number in (-1.0, 1.0)]
    said: list[str] = []
    with diagnostic_handler(lambda each: said.append(each.message)):
        qmlir.quantize(qmlir.load(model), data)
    assert any("'nn.add' op (state1) looks like a cell of nn.gru, but is not raised" in each for each in said)
