"""Elements taken and written by index: indices from either end, of every type, known and computed."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from qmlir.interpreter.random_inputs import random_inputs
from qmlir.interpreter.run import interpret
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.specialization.inputs import function_of
from tests.support.emitted import parsed
from tests.unit.dialects.nn.lower.driver import check, lowered, module_of, tensor

ELEMENTS = ["f32", "bf16", "i1", "i4", "ui16", "!quant.uniform<u8:f32, 0.5:3>"]

TAKEN = [
    ("nn.gather", [4, 3], [2, 2], [2, 2, 3]),
    ("nn.gather {axis = -1}", [2, 3], [], [2]),
    ("nn.gather {axis = 1}", [2, 3, 2], [1], [2, 1, 2]),
    ("nn.gather", [4], [0], [0]),
    ("nn.gather_elements {axis = 1}", [3, 4], [2, 5], [2, 5]),
    ("nn.gather_elements {axis = -2}", [3, 4], [1, 4], [1, 4]),
    ("nn.gather_nd", [3, 4, 2], [2, 2], [2, 2]),
    ("nn.gather_nd", [3, 4], [2, 3, 2], [2, 3]),
    ("nn.gather_nd {batch_dims = 1}", [2, 3, 4], [2, 2, 1], [2, 2, 4]),
]


@pytest.mark.parametrize("index", ["i64", "i32", "ui8"])
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("operation", "data", "indices", "result"), TAKEN)
def test_taking(
    operation: str, data: list[int], indices: list[int], result: list[int], element: str, index: str
) -> None:
    check(operation, [tensor(data, element), tensor(indices, index)], [tensor(result, element)], seeds=(0,))


ROWS = "!quant.uniform<i8:f32:0, {0.5:1, 0.25, 2.0:-3, 0.5}>"
COLUMNS = "!quant.uniform<u8:f32:1, {0.5, 0.0625, 1.0}>"
BYTES = "!quant.uniform<u8:f32:0, {0.5:200, 0.25:200, 1.0:200, 2.0:200}>"
BLOCKS = "!quant.uniform<i4:f32:{0:2, 1:1}, {{0.5, 0.25}, {0.125:1, 4.0:-2}}>"


TENSOR = "!quant.uniform<i3:f32, 0.5:-1>"
HALVES = "!quant.uniform<u8:f16:0, {0.5:1, 0.25, 2.0:255, 0.0625}>"
TERNARY = "!quant.uniform<i2<-1:1>:f32:0, {0.5, 0.25, 2.0, 0.5}>"
FOURS = "!quant.uniform<i4:f32:{0:1, 1:2}, {{0.5:-8, 0.25}, {0.125:1, 4.0:-2}}>"


def _gather_of_reals(axis: int, data: str, indices: str, shape: list[int], constant: str = "") -> str:
    """A gather of dequantized integers; `constant` is the text of a table that is no argument."""
    element = "f16" if ":f16" in data else "f32"
    plain, result = data.replace(data[data.index("!") : -1], element), tensor(shape, element)
    table = f"%0 = nn.constant {constant} -> {data}" if constant else ""
    given = f"%i: {indices}" if constant else f"%0: {data}, %i: {indices}"
    return f"""func.func @main({given}) -> {result} {{
      {table}
      %r = quant.dcast %0 : {data} to {plain}
      %g = nn.gather %r, %i {{axis = {axis}}} : ({plain}, {indices}) -> {result}
      func.return %g : {result}
    }}"""


def _is_kept(text: str) -> ModuleOp:
    """Returns the lowered module of `text`, which computes the same numbers."""
    module = parsed(text)
    made = lowered(module)
    for seed in range(3):
        inputs = random_inputs(function_of(module, "main"), seed)
        found = [next(iter(interpret(each, inputs).values())) for each in (module, made)]
        assert np.array_equal(*found)
    return made


@pytest.mark.parametrize(
    ("axis", "data", "indices", "result"),
    [
        (0, f"tensor<4x2x{ROWS}>", "tensor<2x3xi64>", [2, 3, 2]),
        (0, f"tensor<4x{ROWS}>", "tensor<ui8>", []),
        (1, f"tensor<2x3x2x{COLUMNS}>", "tensor<2xi64>", [2, 2, 2]),
        (0, f"tensor<2x3x{COLUMNS}>", "tensor<4xi32>", [4, 3]),
        (-1, f"tensor<4x5x{TENSOR}>", "tensor<3xi64>", [4, 3]),
        (0, "tensor<4x2x!quant.uniform<u8:f32, 0.5:200>>", "tensor<3xi64>", [3, 2]),
        (0, "tensor<4x2x!quant.uniform<u4:f32, 0.5:9>>", "tensor<3xi64>", [3, 2]),
        (0, f"tensor<4x2x{HALVES}>", "tensor<3xi64>", [3, 2]),
        (0, f"tensor<4x2x{BLOCKS}>", "tensor<3xi64>", [3, 2]),
        (0, f"tensor<4x2x{ROWS}>", "tensor<0xi64>", [0, 2]),
    ],
)
def test_integers_become_floats_after_they_are_gathered(axis: int, data: str, indices: str, result: list[int]) -> None:
    made = _is_kept(_gather_of_reals(axis, data, indices, result))
    shapes = [shape_of(value) for op in made.walk() if isinstance(op, GenericOp) for value in op.results]
    assert 0 in result or [list(each) for each in shapes] == [result]


@pytest.mark.parametrize(
    ("stored", "element", "rows", "parts"),
    [
        ("i2", TERNARY, 4, 4),
        ("i3", TENSOR, 4, 2),
        ("i4", FOURS, 2, 2),
        ("ui4", "!quant.uniform<u4:f32:0, {0.5:15, 0.25, 2.0:3, 0.5}>", 4, 2),
        ("ui4", "!quant.uniform<u4:f32:1, {0.5:15, 0.25, 2.0:3, 0.5}>", 4, 2),
        ("ui4", "!quant.uniform<u4:f32:0, {0.5:9, 0.25:9, 2.0:9, 0.5:9}>", 4, 2),
        ("i8", ROWS, 4, 1),
    ],
)
@pytest.mark.parametrize("rescales", [False, True])
def test_constant_tables_of_few_bits_are_packed(
    stored: str, element: str, rows: int, parts: int, rescales: bool
) -> None:
    """A program holds two codes of 3 or 4 bits in a byte, or four of 2."""
    low, high = {"i2": (-1, 1), "i3": (-4, 3), "i4": (-8, 7), "ui4": (0, 15), "i8": (-128, 127)}[stored]
    numbers = np.random.default_rng(0).integers(low, high + 1, (rows, 4)).tolist()
    table, data = f"dense<{numbers}> : {tensor([rows, 4], stored)}", tensor([rows, 4], element)
    if not rescales:
        made = _is_kept(_gather_of_reals(0, data, "tensor<3xi64>", [3, 4], table))
    elif element is TENSOR or ":1," in element:
        pytest.skip("a gather of slices that share their parameters moves integers")
    else:
        call = (
            "nn.gather",
            [f"{table} -> {data}", "tensor<3xi64>"],
            [tensor([3, 4], "!quant.uniform<i16:f32, 0.25:7>")],
        )
        check(*call, seeds=(0, 1))
        made = lowered(module_of(*call))
    constants = (op for op in made.walk() if op.name == "arith.constant")
    assert tensor([rows, 4 // parts], "i8") in [str(op.results[0].type) for op in constants]


@pytest.mark.parametrize("mode", ["f32", "single_round", "double_round", "shift, even"])
@pytest.mark.parametrize(
    ("operation", "data", "indices", "result"),
    [
        ("nn.gather", f"tensor<4x2x{ROWS}>", "tensor<2x3xi64>", [2, 3, 2]),
        ("nn.gather", f"tensor<4x2x{ROWS}>", "dense<[1, -1, 0]> : tensor<3xi64>", [3, 2]),
        ("nn.gather", f"tensor<4x{ROWS}>", "tensor<ui8>", []),
        ("nn.gather", f"tensor<4x2x{BYTES}>", "tensor<3xi64>", [3, 2]),
        ("nn.gather {axis = -2}", f"tensor<2x3x2x{COLUMNS}>", "tensor<4xi32>", [2, 4, 2]),
        ("nn.gather", f"tensor<4x2x{BLOCKS}>", "tensor<3xi64>", [3, 2]),
        ("nn.gather", f"tensor<4x2x{ROWS}>", "dense<> : tensor<0xi64>", [0, 2]),
    ],
)
def test_slices_with_parameters_of_their_own(
    operation: str, data: str, indices: str, result: list[int], mode: str
) -> None:
    name, _, properties = operation.partition(" {")
    given = ", ".join(filter(None, [f"requantize = #kernel.requantize<{mode}>", properties.rstrip("}")]))
    check(f"{name} {{{given}}}", [data, indices], [tensor(result, "!quant.uniform<i16:f32, 0.25:7>")], seeds=(0,))


@pytest.mark.parametrize(
    ("operation", "indices", "result"),
    [
        ("nn.gather {axis = 1}", "dense<[3, -1, 0]> : tensor<3xi64>", [3, 3]),
        ("nn.gather {axis = 1}", "dense<[[0, 2]]> : tensor<1x2xi32>", [3, 1, 2]),
        ("nn.gather", "dense<-1> : tensor<i64>", [4]),
        ("nn.gather_elements", "dense<[[-1, 2]]> : tensor<1x2xi64>", [1, 2]),
        ("nn.gather_nd", "dense<[[-1, 2], [0, -4]]> : tensor<2x2xi64>", [2]),
    ],
)
def test_known_indices(operation: str, indices: str, result: list[int]) -> None:
    check(operation, ["tensor<3x4xi8>", indices], [tensor(result, "i8")])


def test_known_indices_at_equal_steps_are_a_slice() -> None:
    module = module_of("nn.gather", ["tensor<5x2xi8>", "dense<[0, 2, 4]> : tensor<3xi64>"], ["tensor<3x2xi8>"])
    assert not any(isinstance(op, GenericOp) for op in lowered(module).walk())


def test_a_known_index_out_of_range() -> None:
    module = module_of("nn.gather", ["tensor<5xi8>", "dense<[0, 5]> : tensor<2xi64>"], ["tensor<2xi8>"])
    with pytest.raises(DiagnosticError, match=r"'nn\.gather' op index 5 is out of range for 5 elements"):
        lowered(module)


def test_indices_count_from_the_end() -> None:
    indices = np.array([[-1, -3], [-2, 0]])
    check("nn.gather", ["tensor<3xf32>", "tensor<2x2xi64>"], ["tensor<2x2xf32>"], given={"input1": indices})
    check("nn.gather_elements", ["tensor<3x2xf32>", "tensor<2x2xi64>"], ["tensor<2x2xf32>"], given={"input1": indices})
    check("nn.gather_nd", ["tensor<3x3xf32>", "tensor<2x2xi64>"], ["tensor<2xf32>"], given={"input1": indices})
    operands = ["tensor<3x2xf32>", "tensor<2x2xi64>", "tensor<2x2xf32>"]
    check("nn.scatter_elements", operands, ["tensor<3x2xf32>"], given={"input1": indices})
    operands = ["tensor<3x3xf32>", "tensor<2x2xi64>", "tensor<2xf32>"]
    check("nn.scatter_nd", operands, ["tensor<3x3xf32>"], given={"input1": indices})


FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}

WRITTEN = [
    ('nn.scatter_elements {axis = 1, reduction = "%s"}', [3, 4], [2, 6], [2, 6]),
    ('nn.scatter_elements {axis = -2, reduction = "%s"}', [2, 2], [5, 1], [5, 1]),
    ('nn.scatter_nd {reduction = "%s"}', [2, 3], [4, 1], [4, 3]),
    ('nn.scatter_nd {reduction = "%s"}', [2, 2, 2], [2, 3, 3], [2, 3]),
    ('nn.scatter_nd {reduction = "%s"}', [3], [0, 1], [0]),
]


@pytest.mark.parametrize(
    ("element", "reduction"),
    [
        *product((*FLOATS, "i1", "i8", "ui8", "i64"), ("none", "add", "mul", "min", "max")),
        # sums and products of quantized values need a rescale
        *product(("!quant.uniform<u8:f32, 0.5:3>",), ("none", "min", "max")),
    ],
)
@pytest.mark.parametrize(("operation", "data", "indices", "updates"), WRITTEN)
def test_writing(
    operation: str, data: list[int], indices: list[int], updates: list[int], element: str, reduction: str
) -> None:
    operands = [tensor(data, element), tensor(indices, "i64"), tensor(updates, element)]
    given = {}
    if element in FLOATS:
        random = np.random.default_rng(3)
        shapes = {"input0": data, "input2": updates}
        values = np.array([0.0, -0.0, 1.5, -40.0, np.inf, -np.inf])
        given = {name: random.choice(values, shape).astype(FLOATS[element]) for name, shape in shapes.items()}
        given["input0"].flat[0] = np.nan
    check(operation % reduction, operands, [tensor(data, element)], given=given)


def test_the_last_update_stays_whatever_the_layout_of_the_operands() -> None:
    indices, updates = np.zeros((3, 4, 1), np.int64, order="F"), np.arange(12.0).reshape(3, 4).copy(order="F")
    indices[2, 3] = 1
    operands = ["tensor<2xf64>", "tensor<3x4x1xi64>", "tensor<3x4xf64>"]
    check("nn.scatter_nd", operands, ["tensor<2xf64>"], given={"input1": indices, "input2": updates})


@pytest.mark.parametrize(
    ("operation", "indices", "index", "result"),
    [
        ("nn.one_hot {depth = 4}", [3], "i64", [3, 4]),
        ("nn.one_hot {depth = 3, axis = 0}", [2, 2], "i8", [3, 2, 2]),
        ("nn.one_hot {depth = 3, axis = 1}", [2, 2], "ui8", [2, 3, 2]),
        ("nn.one_hot {depth = 2}", [], "i32", [2]),
        ("nn.one_hot {depth = 0}", [2], "i32", [2, 0]),
        ("nn.one_hot {depth = 5}", [30], "f32", [30, 5]),
        ("nn.one_hot {depth = 5}", [30], "bf16", [30, 5]),
    ],
)
@pytest.mark.parametrize("element", ["f32", "i1", "i64", "!quant.uniform<i8:f32, 0.5>"])
def test_one_hot(operation: str, indices: list[int], index: str, result: list[int], element: str) -> None:
    check(operation, [tensor(indices, index), f"tensor<2x{element}>"], [tensor(result, element)])


def test_one_hot_of_what_is_no_index() -> None:
    given = {"input0": np.array([np.nan, np.inf, -np.inf, 3e38, -0.9, 2.9, -3.9, -4.0, 3.0], np.float32)}
    check("nn.one_hot {depth = 3}", ["tensor<9xf32>", "tensor<2xi8>"], ["tensor<9x3xi8>"], given=given)
