"""`nn-tie-embeddings`: makes matrix products with a transposed embedding table read the table itself."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import BoolAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.movement.ops import TransposeOp
from qmlir.ir.control_flow import has_uses
from qmlir.ir.passes import count
from qmlir.ir.provenance import hand_on
from qmlir.quantization.embeddings import tables_of


@dataclass(frozen=True)
class NnTieEmbeddings(ModulePass):
    """Makes a matrix product with the transpose of an embedding table read the table, with `transpose_b`.

    The output layer of a decoder often uses the transpose of its token table as weights. Exporters write these weights
    as a second constant, or as a transpose of the table. This pass restores the single tensor of the trained model, so
    that both uses also share a single quantized type. Small constants are left unchanged
    (`qmlir.quantization.embeddings`).

    Before:

    ```mlir
    func.func @main(%tokens: tensor<?xi64>) -> tensor<?x4096xf32> {
      %table = nn.constant dense<0.5> : tensor<4096x4xf32>
      %0 = nn.gather %table, %tokens : (tensor<4096x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
      %head = nn.constant dense<0.5> : tensor<4x4096xf32>
      %1 = nn.matmul %0, %head : (tensor<?x4xf32>, tensor<4x4096xf32>) -> tensor<?x4096xf32>
      func.return %1 : tensor<?x4096xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%tokens: tensor<?xi64>) -> tensor<?x4096xf32> {
      %table = nn.constant dense<0.5> : tensor<4096x4xf32>
      %0 = nn.gather %table, %tokens : (tensor<4096x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
      %1 = nn.matmul %0, %table {transpose_b = true}
          : (tensor<?x4xf32>, tensor<4096x4xf32>) -> tensor<?x4096xf32>
      func.return %1 : tensor<?x4096xf32>
    }
    ```
    """

    name = "nn-tie-embeddings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp):
                for table in list(tables_of(function)):
                    for product in list(_products_with(function, table)):
                        _share(product, table)


def _products_with(function: FuncOp, table: SSAValue) -> Iterator[MatMulOp]:
    """Yields the matrix products with the transpose of `table` in its block."""
    array = constant_array(table)
    assert array is not None
    for op in function.walk():
        if isinstance(op, MatMulOp) and not op.is_rhs_transposed and op.parent is table.owner.parent:
            made, own = op.rhs.owner, constant_array(op.rhs)
            is_transpose = isinstance(made, TransposeOp) and made.input is table and made.order == (1, 0)
            if is_transpose or (own is not None and _is_same(own, array.T)):
                yield op


def _is_same(array: Array, other: Array) -> bool:
    """Returns True if two arrays are bit-identical, including signs of zeros."""
    if array.shape != other.shape or array.dtype != other.dtype:
        return False
    bits = np.dtype(f"u{array.itemsize}")
    return bool((array.view(bits) == other.view(bits)).all())


def _share(product: MatMulOp, table: SSAValue) -> None:
    old, owner = product.rhs.owner, table.owner
    assert isinstance(old, Operation)
    assert isinstance(owner, Operation)
    if not owner.is_before_in_block(product):
        block = product.parent
        assert block is not None
        owner.detach()
        Rewriter.insert_op(owner, InsertPoint.at_start(block))
    product.operands[1] = table
    product.transpose_b = BoolAttr.from_bool(True)
    hand_on((old,), owner)
    if not has_uses(old):
        Rewriter.erase_op(old)
    count("tables shared")
