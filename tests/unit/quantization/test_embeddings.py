"""Embedding tables: 8 bits with a scale for each row, and one tensor with a head that is the table, turned around."""

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

import qmlir
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.ir.builtin_types import shape_of

ROWS, WIDTH, COUNT = 256, 64, 8

HEADS = {
    "constant": "head = Identity(turned)",
    "transpose": "head = Transpose<perm = [1, 0]>(table)",
    "layer": "",
}
LOGITS = {"layer": "logits = Gemm<transB = 1>(flat, table, bias)"}


def _decoder(head: str, rows: np.ndarray) -> onnx.ModelProto:
    """Tokens and their places, a norm, and logits by a table of these `rows`; `head` is how it is written."""
    model = onnx.parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 18]>
        decode (int64[{COUNT}] tokens) => (float[{COUNT}, {ROWS}] logits) {{
            taken = Gather(table, tokens)
            placed = Gather(places, tokens)
            sum = Add(taken, placed)
            flat = LayerNormalization<axis = -1>(sum, scale)
            {HEADS[head]}
            {LOGITS.get(head, "logits = MatMul(flat, head)")}
        }}
    """)
    random = np.random.default_rng(0)
    constants = {
        "table": rows,
        "turned": np.ascontiguousarray(rows.T),
        "places": random.standard_normal((ROWS, WIDTH)).astype(np.float32),
        "scale": random.uniform(0.5, 2, WIDTH).astype(np.float32),
        "bias": random.standard_normal(ROWS).astype(np.float32),
    }
    for name, array in constants.items():
        if any(name in node.input for node in model.graph.node):
            model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model


def _rows() -> np.ndarray:
    """Rows of very different sizes, as rare and common words have."""
    random = np.random.default_rng(1)
    sizes = np.exp(random.uniform(-3, 1, (ROWS, 1)))
    return (sizes * random.standard_normal((ROWS, WIDTH))).astype(np.float32)


def _samples() -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(2)
    return [{"tokens": random.integers(0, ROWS, COUNT)} for _ in range(8)]


def _tables(module: object) -> list[ConstantOp]:
    """The constants as large as the table."""
    sizes = ({ROWS, WIDTH},)
    return [op for op in module.walk() if isinstance(op, ConstantOp) and set(shape_of(op.result)) in sizes]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("settings", [{}, {"weights": "i4", "granularity": "block:32", "weight_scheme": "asymmetric"}])
def test_a_head_reads_the_codes_of_the_table(head: str, settings: dict[str, str]) -> None:
    model = _decoder(head, _rows())
    quantized = qmlir.quantize(qmlir.load(model), _samples(), validate=False, **settings).module
    takes, positions = [op for op in quantized.walk() if isinstance(op, GatherOp)]
    assert len(_tables(quantized)) == len([takes, positions])
    assert takes.input.type == _tables(quantized)[0].result.type
    assert "x!quant.uniform<i8<-127:127>:f32:0, {" in str(takes.input.type)
    (product,) = (op for op in quantized.walk() if isinstance(op, MatMulOp) or op.name == "nn.fully_connected")
    assert product.operands[1] is takes.input
    written = [each for each in qmlir.export_onnx(quantized).graph.initializer if set(each.dims) == {ROWS, WIDTH}]
    assert len(written) == len([takes, positions])
    (sample,) = _samples()[:1]
    exact = qmlir.interpret(qmlir.load(model), sample)["logits"]
    found = qmlir.interpret(quantized, sample)["logits"]
    assert np.abs(found - exact).max() < 0.02 * np.abs(exact).max()


def _with(model: onnx.ModelProto, name: str, array: np.ndarray) -> onnx.ModelProto:
    """The model with another initializer."""
    (tensor,) = (each for each in model.graph.initializer if each.name == name)
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), name))
    return model


def test_a_zero_of_another_sign_is_another_tensor() -> None:
    rows = _rows()
    rows[3, 5] = 0.0
    turned = rows.T.copy()
    turned[5, 3] = -0.0
    model = _with(_decoder("constant", rows), "turned", turned)
    quantized = qmlir.quantize(qmlir.load(model), _samples(), validate=False).module
    assert len(_tables(quantized)) == len(("table", "turned", "places"))


def test_an_infinite_row_saturates_in_the_type_of_the_rows() -> None:
    rows = _rows()
    rows[7] = -np.inf
    model = _with(_decoder("constant", _rows()), "table", rows)
    quantized = qmlir.quantize(qmlir.load(model), [{"tokens": np.arange(COUNT) + 8}], validate=False).module
    takes, positions = (op for op in quantized.walk() if isinstance(op, GatherOp))
    assert "!quant.uniform<i16:f32, " in str(takes.input.type)
    assert "!quant.uniform<i8<-127:127>:f32:0, " in str(positions.input.type)
