"""What goes row by row: sums with rows in lanes, rows of bytes in turn, tables with a part for each row, a chain."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.simd.lanes import InterleaveLowOp
from qmlir.environment import default_environment
from qmlir.interpreter.interpreter import Interpreter
from qmlir.targets.cpu.loops.convert_kernel_to_loops import ConvertKernelToLoops
from qmlir.targets.cpu.scheduled.kernel_split_rows import is_exact_in_any_order
from qmlir.text.parsing import parse_module


def _loops(text: str) -> ModuleOp:
    context = default_environment().new_context()
    module = parse_module(context, text, "nest.mlir")
    ConvertKernelToLoops().apply(context, module)
    module.verify()
    return module


def _interleaves(module: ModuleOp) -> int:
    return sum(isinstance(op, InterleaveLowOp) for op in module.walk())


@pytest.mark.parametrize(("rows", "columns", "turned"), [(8, 8, True), (16, 24, True), (8, 12, False), (12, 16, False)])
@pytest.mark.parametrize("units", ["", "x1x1"])
def test_sums_with_rows_in_lanes_keep_their_order(rows: int, columns: int, turned: bool, units: str) -> None:
    """Huge and tiny terms: partial sums in any other order have other bits."""
    shape, axes = f"{rows}x{columns}{units}", "d0, d1, 0, 0" if units else "d0, d1"
    module = _loops(f"""
    func.func @main(%x: memref<{shape}xf32>, %y: memref<{rows}xf64>) {{
      linalg.generic {{
          indexing_maps = [affine_map<(d0, d1) -> ({axes})>, affine_map<(d0, d1) -> (d0)>],
          iterator_types = ["parallel", "reduction"]}}
          ins(%x : memref<{shape}xf32>) outs(%y : memref<{rows}xf64>)
          attrs = {{kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 16>}} {{
      ^bb0(%a: f32, %o: f64):
        %w = arith.extf %a : f32 to f64
        %r = arith.addf %o, %w : f64
        linalg.yield %r : f64
      }}
      func.return
    }}""")
    rng = np.random.default_rng(rows)
    x = (rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-15, 15, (rows, columns))).astype(np.float32)
    y = rng.normal(size=rows)
    expected = y.copy()
    for column in range(columns):
        expected = expected + x[:, column].astype(np.float64)
    Interpreter(module).call("main", [x.reshape(rows, columns, 1, 1) if units else x, y])
    assert y.tobytes() == expected.tobytes()
    assert bool(_interleaves(module)) == turned


@pytest.mark.parametrize("element", ["i8", "f32"])
@pytest.mark.parametrize(("columns", "lanes"), [(32, 64), (48, 64), (128, 64), (20, 64), (32, 8)])
def test_four_rows_of_bytes_in_turn(columns: int, lanes: int, element: str) -> None:
    module = _loops(f"""
    func.func @main(%x: memref<3x4x{columns}x{element}>, %y: memref<3x{columns}x4x{element}>) {{
      linalg.generic {{
          indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
          iterator_types = ["parallel", "parallel", "parallel"]}}
          ins(%x : memref<3x4x{columns}x{element}>) outs(%y : memref<3x{columns}x4x{element}>)
          attrs = {{kernel.schedule = #kernel.schedule<variant = "lanes", lanes = {lanes}>}} {{
      ^bb0(%a: {element}, %o: {element}):
        linalg.yield %a : {element}
      }}
      func.return
    }}""")
    x = np.random.default_rng(columns).integers(-128, 128, (3, 4, columns)).astype("i1" if element == "i8" else "f4")
    y = np.zeros((3, columns, 4), x.dtype)
    Interpreter(module).call("main", [x, y])
    assert np.array_equal(y, x.transpose(0, 2, 1))
    assert bool(_interleaves(module)) == (columns % 16 == 0 and lanes >= 16 and element == "i8")


def _chain(rows: int, columns: int, scale: float) -> ModuleOp:
    """A softmax of bytes, its exponential a function with many steps of its own."""
    context = default_environment().new_context()
    return parse_module(
        context,
        f"""
    #all = affine_map<(d0, d1) -> (d0, d1)>
    func.func @main(%x: tensor<{rows}x{columns}xi8>) -> tensor<{rows}x{columns}xi8> {{
      %0 = tensor.empty() : tensor<{rows}x{columns}xi8>
      %1 = linalg.generic {{indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}}
          ins(%x : tensor<{rows}x{columns}xi8>) outs(%0 : tensor<{rows}x{columns}xi8>) {{
      ^bb0(%a: i8, %o: i8):
        %scale = arith.constant {scale!r} : f32
        %w = arith.sitofp %a : i8 to f32
        %s = arith.mulf %w, %scale : f32
        %m = kernel.row_max %s {{dims = array<i64: 1>}} : f32
        %d = arith.subf %s, %m : f32
        %e = math.exp %d : f32
        %v = arith.extf %e : f32 to f64
        %t = kernel.row_sum %v {{dims = array<i64: 1>}} : f64
        %n = arith.truncf %t : f64 to f32
        %q = arith.divf %e, %n : f32
        %units = arith.constant 120.0 : f32
        %u = arith.mulf %q, %units : f32
        %whole = math.roundeven %u : f32
        %i = arith.fptosi %whole : f32 to i32
        %b = arith.trunci %i : i32 to i8
        linalg.yield %b : i8
      }} -> tensor<{rows}x{columns}xi8>
      func.return %1 : tensor<{rows}x{columns}xi8>
    }}""",
        "chain.mlir",
    )


@pytest.mark.parametrize(
    ("scale", "rows", "columns", "threads"),
    [
        *[(0.046875, 64, 512, 2), (0.046875, 640, 64, 1), (0.046875, 70, 500, 1), (0.046875, 2048, 17, 2)],
        *[(0.03, 128, 256, 2), (0.046875, 8, 4100, 1)],
        *[(0.3, 64, 512, 1), (0.3, 640, 64, 2), (0.3, 70, 500, 2), (0.3, 2048, 17, 1)],
    ],
)
def test_softmax_row_by_row(rows: int, columns: int, scale: float, threads: int) -> None:
    """Every bit: with sums that are exact in any order (the first scale) and others, whatever the sizes leave over."""
    module = _chain(rows, columns, scale)
    x = np.random.default_rng(rows).integers(-128, 128, (rows, columns), np.int8)
    x[::3] = x[::3] // 4
    (expected,) = qmlir.interpret(module, [x]).values()
    (found,) = qmlir.compile(module, threads=threads, codegen="llvm")([x]).values()
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("shape", "mask", "properties"),
    [
        ((2, 3, 96, 64), (2, 1, 1, 64), '{empty_rows = "uniform"}'),
        ((4, 40, 256), (40, 256), ""),
        ((512, 70), (512, 70), "{fill = -3.5 : f32}"),
    ],
)
def test_masked_softmax_row_by_row(shape: tuple[int, ...], mask: tuple[int, ...], properties: str) -> None:
    """Every bit, rows of which nothing takes part among them; the mask chooses bytes, and tables give what follows."""
    data, truths = ("x".join(map(str, each)) for each in (shape, mask))
    x, y = (
        f"tensor<{data}x!quant.uniform<i8:f32, 0.046875:3>>",
        f"tensor<{data}x!quant.uniform<i8:f32, 0.00390625:-128>>",
    )
    module = parse_module(
        default_environment().new_context(),
        f"""func.func @main(%x: {x}, %m: tensor<{truths}xi1>) -> {y} {{
          %0 = nn.softmax %x, %m {properties} : ({x}, tensor<{truths}xi1>) -> {y}
          func.return %0 : {y}
        }}""",
        "masked.mlir",
    )
    random = np.random.default_rng(len(shape))
    keep = random.random(mask) < 0.7
    keep[0] = False
    inputs = [random.integers(-128, 128, shape, np.int8), keep]
    (expected,) = qmlir.interpret(module, inputs).values()
    (found,) = qmlir.compile(module, codegen="llvm")(inputs).values()
    assert np.array_equal(found, expected)


def test_exactness_of_sums() -> None:
    powers = 2.0 ** np.arange(0, -20, -1, dtype=np.float32)
    assert is_exact_in_any_order(powers, 512)
    assert is_exact_in_any_order(np.array([0.0], np.float32), 1 << 40)
    fine = np.array([1.0, np.nextafter(np.float32(1), np.float32(0)) * 2.0**-21], np.float32)
    assert is_exact_in_any_order(fine, 16)
    assert not is_exact_in_any_order(fine, 1 << 9)
    assert not is_exact_in_any_order(np.array([1.0, np.inf], np.float32), 2)
    assert not is_exact_in_any_order(np.array([1e30, 1.0], np.float32), 2)
