"""Operations by rows on memory: what loops over a few rows compute, by the formula in NumPy."""

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.interpreter.interpreter import Interpreter
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.text.parsing import parse_module


def _loops(text: str, pipeline: str) -> ModuleOp:
    environment = default_environment()
    module = parse_module(environment.new_context(), text, "rows.mlir")
    PassManager(environment.new_context(), parse_pipeline(pipeline, environment.passes)).run(module)
    return module


def _type(shape: Sequence[int], element: str = "i32") -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def _masked(shape: Sequence[int], mask: Sequence[int], row: Sequence[int]) -> str:
    """How far each element, with what is added to it, is from the largest of its row, plus the sum of that."""
    dims = ", ".join(f"d{axis}" for axis in range(len(shape)))
    read = ", ".join("0" if size == 1 else f"d{axis}" for axis, size in enumerate(mask))
    kinds = ", ".join(['"parallel"'] * len(shape))
    row_text = ", ".join(map(str, row))
    return f"""
    #all = affine_map<({dims}) -> ({dims})>
    func.func @main(%x: {_type(shape)}, %mask: {_type(mask)}) -> ({_type(shape)}) {{
      %0 = tensor.empty() : {_type(shape)}
      %1 = linalg.generic {{indexing_maps = [#all, affine_map<({dims}) -> ({read})>, #all], iterator_types = [{kinds}]}}
          ins(%x, %mask : {_type(shape)}, {_type(mask)}) outs(%0 : {_type(shape)}) {{
      ^bb0(%a: i32, %b: i32, %o: i32):
        %s = arith.addi %a, %b : i32
        %m = kernel.row_max %s {{dims = array<i64: {row_text}>}} : i32
        %d = arith.subi %m, %s : i32
        %t = kernel.row_sum %d {{dims = array<i64: {row_text}>}} : i32
        %r = arith.addi %d, %t : i32
        linalg.yield %r : i32
      }} -> {_type(shape)}
      func.return %1 : {_type(shape)}
    }}"""


@pytest.mark.parametrize(
    ("shape", "mask", "row", "depth"),
    [
        ((2, 3, 16, 40), (2, 1, 1, 40), (3,), 2),  # a mask of keys; the last axis of rows goes whole
        ((2, 3, 16, 40), (1, 1, 16, 40), (3,), 2),  # a mask of pairs
        ((3, 64, 400), (3, 64, 400), (2,), 2),
        ((67, 300), (1, 300), (1,), 1),  # no few rows divide them: one at a time
        ((4, 1, 6, 24), (4, 1, 1, 24), (3,), 1),
        ((2, 4, 3, 5, 6), (2, 4, 3, 1, 1), (2, 3, 4), 1),  # a group of channels, and a number for each
        ((40, 64), (1, 64), (0,), 0),  # columns
        ((64, 8), (1, 8), (1,), 0),  # rows too short for a loop
    ],
)
def test_rows_with_masks(shape: Sequence[int], mask: Sequence[int], row: tuple[int, ...], depth: int) -> None:
    module = _loops(_masked(shape, mask, row), "kernel-split-rows,kernel-bufferize")
    loops = sum(isinstance(op, scf.ForOp) for op in module.walk())
    rng = np.random.default_rng(0)
    x, added = (rng.integers(-1000, 1000, sizes, np.int32) for sizes in (shape, mask))
    found = np.zeros(shape, np.int32)
    Interpreter(module).call("main", [x, added, found])
    total = x + added
    distance = total.max(axis=row, keepdims=True) - total
    assert np.array_equal(found, distance + distance.sum(axis=row, keepdims=True))
    assert loops == depth
