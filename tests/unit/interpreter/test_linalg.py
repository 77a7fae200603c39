"""Structured operations against NumPy, and the two ways of running a body against each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.interpreter.upstream import linalg
from qmlir.text.parsing import parse_module

MATMUL = """
func.func @main(%a: tensor<?x?xi8>, %b: tensor<?x?xi8>, %c: tensor<?x?xi32>) -> tensor<?x?xi32> {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : tensor<?x?xi8>, tensor<?x?xi8>) outs(%c : tensor<?x?xi32>) {
  ^bb0(%x: i8, %y: i8, %z: i32):
    %0 = arith.extsi %x : i8 to i32
    %1 = arith.extsi %y : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %z, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<?x?xi32>
  func.return %0 : tensor<?x?xi32>
}
"""

CONVOLUTION = """
func.func @main(%x: tensor<1x2x7x6xf32>, %w: tensor<3x2x2x3xf32>, %y: tensor<1x3x3x2xf32>) -> tensor<1x3x3x2xf32> {
  %0 = linalg.conv_2d_nchw_fchw {strides = dense<[2, 1]> : tensor<2xi64>, dilations = dense<[1, 2]> : tensor<2xi64>}
      ins(%x, %w : tensor<1x2x7x6xf32>, tensor<3x2x2x3xf32>) outs(%y : tensor<1x3x3x2xf32>) -> tensor<1x3x3x2xf32>
  func.return %0 : tensor<1x3x3x2xf32>
}
"""

# Comparisons, a choice, indices, a function, conversions and a captured value, with two outputs.
MIXED = """
func.func @main(%x: tensor<4x3xf32>, %s: tensor<4xf32>, %i: tensor<3x4xi8>) -> (tensor<4xf32>, tensor<3x4xi8>) {
  %limit = arith.constant 1.0 : f32
  %0:2 = linalg.generic {
    indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>, affine_map<(i, k) -> (k, i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%x : tensor<4x3xf32>) outs(%s, %i : tensor<4xf32>, tensor<3x4xi8>) {
  ^bb0(%a: f32, %b: f32, %c: i8):
    %row = linalg.index 0 : index
    %column = linalg.index 1 : index
    %sum = arith.addi %row, %column : index
    %n = arith.index_cast %sum : index to i8
    %f = arith.sitofp %n : i8 to f32
    %e = math.exp %a : f32
    %d = math.fma %e, %f, %b : f32
    %is_large = arith.cmpf ogt, %d, %limit : f32
    %chosen = arith.select %is_large, %d, %limit : f32
    %m = arith.muli %n, %c : i8
    %o = arith.select %is_large, %m, %n : i8
    linalg.yield %chosen, %o : f32, i8
  } -> tensor<4xf32>, tensor<3x4xi8>
  func.return %0#0, %0#1 : tensor<4xf32>, tensor<3x4xi8>
}
"""


def _run(text: str, *inputs: np.ndarray) -> list[np.ndarray]:
    return list(interpret(parse_module(default_environment().new_context(), text), inputs).values())


@pytest.fixture(params=["arrays", "points"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test on arrays, and again point by point."""
    if request.param == "points":
        monkeypatch.setattr(linalg._Nest, "_runs_on_arrays", lambda nest: False)
    return request.param


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 1, 1), (2, 0, 3), (0, 2, 3), (2, 3, 0)])
def test_matmul(shape: tuple[int, int, int]) -> None:
    rows, columns, inner = shape
    generator = np.random.default_rng(0)
    a = generator.integers(-128, 128, (rows, inner), np.int8)
    b = generator.integers(-128, 128, (inner, columns), np.int8)
    c = generator.integers(-9, 9, (rows, columns), np.int32)
    (found,) = _run(MATMUL, a, b, c)
    np.testing.assert_array_equal(found, a.astype(np.int32) @ b.astype(np.int32) + c, strict=True)


@pytest.mark.usefixtures("way")
def test_convolution() -> None:
    generator = np.random.default_rng(0)
    x = generator.integers(-9, 9, (1, 2, 7, 6)).astype(np.float32)
    w = generator.integers(-9, 9, (3, 2, 2, 3)).astype(np.float32)
    y = generator.integers(-9, 9, (1, 3, 3, 2)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(x[0], (2, 5), (1, 2))[:, ::2, :, :, ::2]
    (found,) = _run(CONVOLUTION, x, w, y)
    np.testing.assert_array_equal(found, np.einsum("chwij,fcij->fhw", windows, w)[None] + y, strict=True)


@given(st.integers(0, 2**32))
def test_both_ways_give_the_same_bits(seed: int) -> None:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(4, 3)).astype(np.float32)
    s = generator.normal(size=4).astype(np.float32)
    i = generator.integers(-128, 128, (3, 4), np.int8)
    on_arrays = _run(MIXED, x, s, i)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linalg._Nest, "_runs_on_arrays", lambda nest: False)
        by_points = _run(MIXED, x, s, i)
    for a, b in zip(on_arrays, by_points, strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
