"""Structured operations on vectors: the sums of floats, whose order is that of the lanes, and what stays on scalars."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.simd.lanes import DotAccumulateOp
from qmlir.dialects.simd.memory import LoadOp
from qmlir.environment import default_environment
from qmlir.interpreter.interpreter import Interpreter
from qmlir.targets.cpu.loops.convert_kernel_to_loops import ConvertKernelToLoops
from qmlir.text.parsing import parse_module

Array = npt.NDArray[Any]


def _loops(text: str) -> ModuleOp:
    context = default_environment().new_context()
    module = parse_module(context, text, "nest.mlir")
    ConvertKernelToLoops().apply(context, module)
    module.verify()
    return module


def _sum(size: int, term: str, total: str, body: str) -> str:
    return f"""
    func.func @main(%x: memref<{size}x{term}>, %y: memref<1x{total}>) {{
      linalg.generic {{
          indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]}}
          ins(%x : memref<{size}x{term}>) outs(%y : memref<1x{total}>)
          attrs = {{kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>}} {{
      ^bb0(%a: {term}, %o: {total}):
        {body}
        linalg.yield %r : {total}
      }}
      func.return
    }}"""


@pytest.mark.parametrize("rows", [1, 3, 4, 6, 16])
def test_sums_side_by_side_keep_their_order(rows: int) -> None:
    """Huge and tiny terms: partial sums in any other order have other bits."""
    text = f"""
    func.func @main(%x: memref<{rows}x21xf32>, %y: memref<{rows}xf64>) {{
      linalg.generic {{
          indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]}}
          ins(%x : memref<{rows}x21xf32>) outs(%y : memref<{rows}xf64>)
          attrs = {{kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>}} {{
      ^bb0(%a: f32, %o: f64):
        %w = arith.extf %a : f32 to f64
        %r = arith.addf %o, %w : f64
        linalg.yield %r : f64
      }}
      func.return
    }}"""
    rng = np.random.default_rng(rows)
    x = (rng.normal(size=(rows, 21)) * 10.0 ** rng.integers(-15, 15, (rows, 21))).astype(np.float32)
    y = rng.normal(size=rows)
    expected = y.copy()
    for column in range(21):
        expected = expected + x[:, column].astype(np.float64)
    Interpreter(_loops(text)).call("main", [x, y])
    assert y.tobytes() == expected.tobytes()


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_sum_in_its_own_type_keeps_its_order(element: str) -> None:
    module = _loops(_sum(16, element, element, f"%r = arith.addf %o, %a : {element}"))
    assert not any(isinstance(op, LoadOp) for op in module.walk())


@pytest.mark.parametrize(
    "body", ["%r = arith.subi %o, %a : i32", "%t = arith.muli %o, %o : i32\n%r = arith.addi %t, %a : i32"]
)
def test_what_is_no_sum_keeps_its_order(body: str) -> None:
    module = _loops(_sum(16, "i32", "i32", body))
    assert not any(isinstance(op, LoadOp) for op in module.walk())


_COMBINED = {
    "arith.addi": np.add.reduce, "arith.muli": np.multiply.reduce, "arith.andi": np.bitwise_and.reduce,
    "arith.ori": np.bitwise_or.reduce, "arith.xori": np.bitwise_xor.reduce, "arith.maxsi": np.maximum.reduce,
    "arith.minsi": np.minimum.reduce, "arith.maxui": np.maximum.reduce, "arith.minui": np.minimum.reduce,
}  # fmt: skip


@pytest.mark.parametrize("name", _COMBINED)
@pytest.mark.parametrize("dtype", [np.int8, np.int32])
@pytest.mark.parametrize(("common", "possible"), [(0b1010001, -1), (0, 0b1011011), (-128, -2), (0, 0)])
def test_integers_in_any_order(name: str, dtype: Any, common: int, possible: int) -> None:
    """Terms that share bits, or lack some: whatever comes in beside them shows."""
    element = f"i{8 * np.dtype(dtype).itemsize}"
    module = _loops(_sum(21, element, element, f"%r = {name} %a, %o : {element}"))
    x = (np.random.default_rng(0).integers(-128, 128, 21) & possible | common).astype(dtype)
    y = np.array([3 & possible | common], dtype)
    terms = np.append(x, y)
    expected = _COMBINED[name](terms.view(f"u{terms.itemsize}") if name.endswith("ui") else terms).astype(dtype)
    Interpreter(module).call("main", [x, y])
    assert y[0] == expected
    assert any(isinstance(op, LoadOp) for op in module.walk())


@pytest.mark.parametrize(("name", "unit"), [("maximumf", -np.inf), ("minimumf", np.inf)])
@pytest.mark.parametrize("special", [np.nan, -0.0, np.inf, -np.inf, 1.0])
def test_extremes_of_floats(name: str, unit: float, special: float) -> None:
    module = _loops(_sum(9, "f32", "f32", f"%r = arith.{name} %o, %a : f32"))
    x = np.zeros(9, np.float32)
    x[5] = special
    y = np.array([unit], np.float32)
    expected = (np.maximum if name == "maximumf" else np.minimum).reduce(x)
    Interpreter(module).call("main", [x, y])
    assert np.array_equal(y[0], expected, equal_nan=True)


@pytest.mark.parametrize("kind", ["extsi", "extui"])
@pytest.mark.parametrize(("columns", "is_dot"), [(64, True), (512, True), (200, True), (63, False)])
def test_sums_of_bytes_by_products(kind: str, columns: int, is_dot: bool) -> None:
    """Four bytes a lane, of rows with and without a rest, modulo 2^32."""
    module = _loops(f"""
    func.func @main(%x: memref<3x{columns}xi8>, %y: memref<3xi32>) {{
      linalg.generic {{
          indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]}}
          ins(%x : memref<3x{columns}xi8>) outs(%y : memref<3xi32>)
          attrs = {{kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 16, k_unroll = 4>}} {{
      ^bb0(%a: i8, %o: i32):
        %w = arith.{kind} %a : i8 to i32
        %r = arith.addi %o, %w : i32
        linalg.yield %r : i32
      }}
      func.return
    }}""")
    x = np.random.default_rng(columns).integers(-128, 128, (3, columns), np.int8)
    y = np.array([5, 2**31 - 1, -(2**31)], np.int32)
    terms = x.view(np.uint8) if kind == "extui" else x
    expected = (y.astype(np.int64) + terms.sum(1, np.int64)).astype(np.int32)
    Interpreter(module).call("main", [x, y])
    assert np.array_equal(y, expected)
    assert any(isinstance(op, DotAccumulateOp) for op in module.walk()) == is_dot


@pytest.mark.parametrize("columns", [16, 21])
def test_a_row_of_memory_at_the_number_of_the_step(columns: int) -> None:
    """What a body reads at an element of one operand and at its own place: neighbours in memory."""
    module = _loops(f"""
    func.func @main(%x: memref<3xi8>, %t: memref<5x{columns}xf32>, %y: memref<3x{columns}xf32>) {{
      linalg.generic {{
          indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]}}
          ins(%x : memref<3xi8>) outs(%y : memref<3x{columns}xf32>)
          attrs = {{kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 8>}} {{
      ^bb0(%a: i8, %o: f32):
        %row = arith.index_cast %a : i8 to index
        %place = linalg.index 1 : index
        %e = memref.load %t[%row, %place] : memref<5x{columns}xf32>
        %r = arith.addf %e, %e : f32
        linalg.yield %r : f32
      }}
      func.return
    }}""")
    x, t = np.array([4, 0, 2], np.int8), np.random.default_rng(columns).normal(size=(5, columns)).astype(np.float32)
    y = np.zeros((3, columns), np.float32)
    Interpreter(module).call("main", [x, t, y])
    assert np.array_equal(y, 2 * t[x])
    assert any(isinstance(op, LoadOp) for op in module.walk())
