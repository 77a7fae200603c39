"""The report on a quantized module: multiply-adds by hand, what is left in float and why."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Operation

from qmlir import registry
from qmlir.environment import default_environment
from qmlir.ir.decomposition import Parts
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import MultipliesAndAdds
from qmlir.ir.verification import verify
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.report import coverage, float_reasons
from qmlir.text.parsing import parse_module
from qmlir.tools import qmlir_cli

I8 = "!quant.uniform<i8:f32, 0.5>"


def parsed(body: str, arguments: str = "", results: str = "") -> Any:
    text = f"func.func @main({arguments}) {f'-> {results} ' if results else ''}{{\n{body}\n}}"
    module = parse_module(default_environment().new_context(), text, "text")
    verify(module)
    return module


def only(module: Any) -> Operation:
    """The one operation of a function beside its return."""
    op = module.body.block.first_op.body.block.first_op
    assert op is not None
    return op


# What is multiplied, by hand.
PRODUCTS = [
    ("nn.matmul %a, %b : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>", "2x3x4 4x5", 2 * 3 * 5 * 4),
    ("nn.matmul %a, %b : (tensor<4xf32>, tensor<4x5xf32>) -> tensor<5xf32>", "4 4x5", 20),
    # The batch is not known, and counts as one sample.
    ("nn.matmul %a, %b : (tensor<?x4xf32>, tensor<4x5xf32>) -> tensor<?x5xf32>", "?x4 4x5", 20),
    ("nn.matmul %a, %b : (tensor<3x?xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>", "3x? 4x5", 60),
    (
        "nn.matmul %a, %b {transpose_b = true} : (tensor<3x?xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>",
        "3x? 5x4", 60,
    ),
    ("nn.fully_connected %a, %b : (tensor<2x4xf32>, tensor<5x4xf32>) -> tensor<2x5xf32>", "2x4 5x4", 40),
    # 3x3 windows in 6x6 give 4x4 places; each of 8 channels sums 3 x 9 products.
    (
        "nn.conv %a, %b : (tensor<?x3x6x6xf32>, tensor<8x3x3x3xf32>) -> tensor<?x8x4x4xf32>",
        "?x3x6x6 8x3x3x3", 16 * 8 * 27,
    ),
    # Depthwise: each channel sums 9.
    (
        "nn.conv %a, %b {groups = 4 : i64} : (tensor<1x4x6x6xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x4x4xf32>",
        "1x4x6x6 4x1x3x3", 16 * 4 * 9,
    ),
    # Every one of 4x5x5 elements adds 2 kernels of 3x3.
    (
        "nn.conv_transpose %a, %b : (tensor<1x4x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x2x7x7xf32>",
        "1x4x5x5 4x2x3x3", 4 * 25 * 2 * 9,
    ),
    (
        'nn.einsum %a, %b {equation = "bij,bjk->bik"} : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>',
        "2x3x4 2x4x5", 2 * 3 * 4 * 5,
    ),
    (
        'nn.einsum %a, %b {equation = "...i,i"} : (tensor<6x7x4xf32>, tensor<4xf32>) -> tensor<6x7xf32>',
        "6x7x4 4", 6 * 7 * 4,
    ),
    ('nn.einsum %a {equation = "ii->i"} : (tensor<4x4xf32>) -> tensor<4xf32>', "4x4", 0),
]  # fmt: skip


@pytest.mark.parametrize(("text", "shapes", "wanted"), PRODUCTS)
def test_multiply_adds(text: str, shapes: str, wanted: int) -> None:
    arguments = ", ".join(f"%{name}: tensor<{shape}xf32>" for name, shape in zip("ab", shapes.split(), strict=False))
    module = parsed(f"%0 = {text}\nfunc.return", arguments)
    op = only(module)
    assert isinstance(op, MultipliesAndAdds)
    assert op.multiply_adds() == wanted
    assert coverage(module).multiply_adds == wanted


RECURRENT = [
    # 3 steps, width 4, 5 units: each gate has 3 x 5 x (4 + 5) products for each sample.
    ("rnn", 1, "", 1),
    ("gru", 3, "", 1),
    ("gru", 3, ", linear_before_reset = true", 1),
    ("lstm", 4, "", 1),
    ("lstm", 4, ', direction = "bidirectional"', 2),
    ("lstm", 4, ", input_forget = true", 1),
]


def recurrent(kind: str, gates: int, properties: str, ways: int, batch: int) -> Any:
    """A module with one layer."""
    types = [f"tensor<{ways}x{gates * 5}x4xf32>", f"tensor<{ways}x{gates * 5}x5xf32>"]
    states = [f"tensor<{ways}x{batch}x5xf32>"] * (2 if kind == "lstm" else 1)
    results = [f"tensor<3x{ways}x{batch}x5xf32>", *states]
    names = ", ".join(f"%r{number}" for number in range(len(results)))
    return parsed(
        f"{names} = nn.{kind} %x, %w, %r {{hidden_size = 5 : i64{properties}}} : (tensor<3x{batch}x4xf32>, "
        f"{', '.join(types)}) -> ({', '.join(results)})\nfunc.return",
        f"%x: tensor<3x{batch}x4xf32>, %w: {types[0]}, %r: {types[1]}",
    )


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(("kind", "gates", "properties", "ways"), RECURRENT)
def test_multiply_adds_of_recurrent_layers(kind: str, gates: int, properties: str, ways: int, batch: int) -> None:
    op = only(recurrent(kind, gates, properties, ways, batch))
    assert isinstance(op, MultipliesAndAdds)
    computed = gates - ("input_forget" in properties)
    assert op.multiply_adds() == ways * 3 * batch * computed * 5 * (4 + 5)


@pytest.mark.parametrize(("kind", "gates", "properties", "ways"), RECURRENT)
def test_the_parts_of_a_recurrent_layer_have_as_many(kind: str, gates: int, properties: str, ways: int) -> None:
    op = only(recurrent(kind, gates, properties, ways, 1))
    assert isinstance(op, MultipliesAndAdds)
    parts = Parts(op)
    assert registry.decompositions()[type(op)](op, parts) is not None
    counted = [part.multiply_adds() for part in parts.operations if isinstance(part, MultipliesAndAdds)]
    parts.discard()
    assert sum(counted) == op.multiply_adds()


MIXED = f"""
  %w = nn.constant dense<1> : tensor<2x4xi8> -> tensor<2x4x{I8}> {{origin = "w"}}
  %v = nn.constant dense<1.0> : tensor<3x2xf32> {{origin = "v"}}
  %0 = quant.qcast %x : tensor<?x4xf32> to tensor<?x4x{I8}>
  %1 = nn.fully_connected %0, %w : (tensor<?x4x{I8}>, tensor<2x4x{I8}>) -> tensor<?x2x{I8}> {{origin = "fc1"}}
  %2 = quant.dcast %1 {{origin = "fc1"}} : tensor<?x2x{I8}> to tensor<?x2xf32>
  %3 = nn.fully_connected %2, %v : (tensor<?x2xf32>, tensor<3x2xf32>) -> tensor<?x3xf32> {{origin = "fc2"}}
  %4 = nn.relu %3 : tensor<?x3xf32> {{origin = "act"}}
  %5 = nn.relu %4 : tensor<?x3xf32> {{origin = "act"}}
  func.return %5 : tensor<?x3xf32>
"""


def test_what_is_in_integers_and_what_is_not() -> None:
    module = parsed(MIXED, "%x: tensor<?x4xf32>", "tensor<?x3xf32>")
    found = coverage(module, {"fc2": "a rule of the recipe excludes it"})
    assert [(row.key, row.name, row.elements, row.is_quantized, row.count) for row in found.rows] == [
        ("fc1", "nn.fully_connected", "i8 x i8", True, 1),
        ("fc2", "nn.fully_connected", "f32 x f32", False, 1),
        ("act", "nn.relu", "f32", False, 2),
    ]
    assert (found.multiply_adds, found.integer_multiply_adds) == (4 * 2 + 2 * 3, 4 * 2)
    assert found.integer_share == 8 / 14
    assert found.multiply_adds_by_elements == {"i8 x i8": 8, "f32 x f32": 6}
    # A multiply-add costs 1 in 8 bits and 4 in float, an element of a result 64 and 128; open sizes count as 1.
    costs = [8 + 64 * 2, 4 * 6 + 128 * 3, 128 * (3 + 3)]
    assert [row.cost for row in found.rows] == costs
    assert found.integer_cost_share == costs[0] / sum(costs)
    assert [row.key for row in found.left_in_float] == ["act", "fc2"]  # by time, not by multiply-adds
    assert found.text(lines=1) == (
        "1 of 4 operations compute on quantized values\n"
        "multiply-adds: 57.1% i8 x i8, 42.9% f32 x f32\n"
        "estimated time: 10.4% on quantized values\n"
        "  not quantized: act, nn.relu (2 times), 58.5% of the time: "
        f"{FloatCause.NO_SAMPLE.reason()}\n"
        "  and 1 more that are not quantized\n"
    )


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("nn.hardmax", "%x : tensor<2x2xf32>", "it has no integer kernel"),
        ("nn.einsum", '%x, %x, %x {equation = "ij,ij,ij->ij"} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>)'
         " -> tensor<2x2xf32>", "at most 2 quantized operands are supported, but it has 3"),
    ],
)  # fmt: skip
def test_a_reason_that_nobody_gave(name: str, text: str, reason: str) -> None:
    module = parsed(f"%0 = {name} {text}\nfunc.return", "%x: tensor<2x2xf32>")
    (row,) = coverage(module).left_in_float
    assert (row.key, row.reason) == (name, reason)
    assert float_reasons([Decisions((), left_in_float={only(module): "because"})]) == {name: "because"}


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (40000, "has no integer arithmetic: sums of 32 bits hold at most 32768 elements of 16 bits, but "
         "rows have 40000; "
         "set 'components' to quantize its parts separately"),
        (8, "an adjacent op is in float, so an integer norm would only add casts"),
    ],
)  # fmt: skip
def test_a_norm_says_why_it_is_in_float(size: int, reason: str) -> None:
    """Between casts its rows are too long; beside a float there is nothing to compute on."""
    x, f = f"tensor<1x{size}x!quant.uniform<i16:f32, 0.5>>", f"tensor<1x{size}xf32>"
    end = f"%2 = quant.qcast %1 : {f} to {x}\n" if size > 8 else ""
    module = parsed(f"%0 = quant.dcast %x : {x} to {f}\n%1 = nn.rms_norm %0 : {f}\n{end}func.return", f"%x: {x}")
    assert [(row.name, row.reason) for row in coverage(module).left_in_float] == [("nn.rms_norm", reason)]


def test_a_module_without_products_lacks_none() -> None:
    assert coverage(parsed("func.return")).integer_share == 1.0
    assert coverage(parsed("func.return")).text() == "0 of 0 operations compute on quantized values\n"


FLOAT = """
  %w = nn.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32> {origin = "w"}
  %0 = nn.fully_connected %x, %w : (tensor<?x1xf32>, tensor<2x1xf32>) -> tensor<?x2xf32> {origin = "fc1"}
  %1 = nn.relu %0 : tensor<?x2xf32> {origin = "act"}
  %2 = nn.sigmoid %1 : tensor<?x2xf32> {origin = "end"}
  func.return %2 : tensor<?x2xf32>
"""


def test_the_command_says_what_is_in_integers(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(
        'func.func @main(%x: tensor<?x1xf32> {nn.name = "x"}) -> tensor<?x2xf32> {' + FLOAT + "}"
    )
    np.save(tmp_path / "x.npy", np.array([[1.0], [-2.0]], np.float32))
    arguments = ["quantize", str(tmp_path / "model.mlir"), "--data", str(tmp_path / "x.npy"), "-o"]
    out = io.StringIO()
    assert qmlir_cli.main([*arguments, str(tmp_path / "q.mlir")], stdout=out, stderr=io.StringIO()) == 0
    assert out.getvalue().startswith("3 of 3 operations compute on quantized values\nmultiply-adds: 100.0% i8 x i8\n")
