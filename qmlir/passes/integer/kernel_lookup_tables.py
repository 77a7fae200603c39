"""`kernel-lookup-tables`: replaces a chain of operations from one byte to another with a table of 256 bytes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects import arith, math, tensor
from xdsl.dialects.builtin import IndexType, ModuleOp, TensorType, i8
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from qmlir.analysis.operand_accesses import (
    Structured,
    computes_only,
    forget_origins_in_bodies,
    is_elementwise,
    slice_of,
)
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lowering.scalars import ArithBuilder, Scalar, extracted
from qmlir.dialects.kernel.ops import RequantizeOp
from qmlir.dialects.kernel.rows import RowReduceOp
from qmlir.ir.builtin_types import dense
from qmlir.ir.control_flow import has_uses, terminator_of
from qmlir.ir.evaluation import evaluate_in_order
from qmlir.ir.passes import count
from qmlir.ir.provenance import with_origins_of
from qmlir.ir.rewriting import apply_patterns_greedily

BYTES = np.arange(-128, 128, dtype=np.int8)
"""All bytes, in the order of the table."""

_LEAST_COST = 24
"""The minimum total cost of operations that are worth a table: about the cost of reading 16 elements one by one."""

_COSTS: Mapping[type[Operation], int] = {
    arith.ConstantOp: 0,
    arith.DivfOp: 8,
    math.SqrtOp: 8,
    math.RoundEvenOp: 1,
    tensor.ExtractOp: 16,
    RequantizeOp: 6,
}
"""The cost of vectorized operations, in units of a simple `arith` operation; others cost 1."""

_FUNCTION = 24
"""The cost of a `math` function without a machine instruction."""


def cost_of(op: Operation) -> int:
    """Returns the cost of a vectorized operation, in units of a simple one."""
    return _COSTS.get(type(op), _FUNCTION if op.dialect_name() == "math" else 1)


@dataclass(frozen=True)
class TabulatedChain:
    """The operations before `target` that depend only on `source` and constants, in order."""

    source: SSAValue
    target: SSAValue
    operations: Sequence[Operation]

    def gone(self) -> set[Operation]:
        """Returns the operations that become unused if the target is read from a table."""
        return unused_without(self.target, self.operations)

    def table(self, numbers: Array) -> npt.NDArray[np.int8] | None:
        """Evaluates the chain for each source value in `numbers`, with bytes as results; `None` if one of them is
        undefined."""
        found = self.results(numbers)
        return None if found is None else np.ascontiguousarray(found, np.int8)

    def results(self, numbers: Array) -> Array | None:
        """Evaluates the chain for each source value in `numbers`; `None` if an operation is undefined for one."""
        values: dict[SSAValue, Any] = {self.source: numbers}
        owners = dict.fromkeys(operand.owner for op in self.operations for operand in op.operands)
        outside = [each for each in owners if isinstance(each, arith.ConstantOp) and each not in self.operations]
        if not evaluate_in_order([*outside, *self.operations], values):
            return None
        found = np.asarray(values[self.target])
        return found if found.shape == numbers.shape else None


def unused_without(target: SSAValue, ops: Iterable[Operation]) -> set[Operation]:
    """Returns the operations in `ops` that become unused if the uses of `target` are replaced; `ops` is in program
    order."""
    gone: set[Operation] = set()
    for op in reversed(list(ops)):
        users = [use.operation for value in op.results if value is not target for use in value.uses]
        if op.results and all(user in gone for user in users) and (users or target in op.results):
            gone.add(op)
    return gone


def _is_part(op: Operation) -> bool:
    """Returns True if a table can replace `op`: it computes scalars from scalars, or reads a constant table."""
    if op.regions or not op.results or isinstance(op, IndexOp | RowReduceOp):
        return False
    if isinstance(op, tensor.ExtractOp):
        return isinstance(op.tensor.owner, arith.ConstantOp)
    return computes_only(op)


def chain_between(body: Block, source: SSAValue, target: SSAValue) -> TabulatedChain | None:
    """Returns the chain between two values of a body; `None` if it depends on other values."""
    operations, others = slice_of(body, target, {source})
    return TabulatedChain(source, target, operations) if not others and all(map(_is_part, operations)) else None


def chains_to_bytes(body: Block, source: Attribute) -> Iterator[TabulatedChain]:
    """Yields the chains in a body from a value of type `source` to a byte.

    The last byte of the body comes first; chains to the same byte are ordered from the first source to the last.
    """
    values: list[SSAValue] = [*body.args, *(value for op in body.ops for value in op.results)]
    known = [value for value in values if not isinstance(value.owner, arith.ConstantOp)]
    for position in reversed(range(len(known))):
        if known[position].type != i8 or isinstance(known[position], BlockArgument):
            continue
        for each in known[:position]:
            chain = chain_between(body, each, known[position]) if each.type == source else None
            if chain is not None:
                yield chain


def _best(body: Block) -> tuple[TabulatedChain, npt.NDArray[np.int8]] | None:
    """Returns the last byte of the body that is worth a table, with the table, from the first byte that it depends
    on."""
    for chain in chains_to_bytes(body, i8):
        table = chain.table(BYTES) if sum(map(cost_of, chain.gone())) >= _LEAST_COST else None
        if table is not None:
            return chain, table
    return None


def place_of(byte: Scalar) -> Scalar:
    """Returns the index of a signed byte in a table of all 256 bytes."""
    return byte.to(IndexType()) - int(BYTES[0])


def constant_for(op: Operation, array: Array, element: Attribute) -> arith.ConstantOp:
    """Returns a constant tensor of `array`, whose bytes are those of `element`, with the provenance of `op`."""
    return with_origins_of(op, arith.ConstantOp(dense(array.tobytes(), TensorType(element, array.shape))))


def replace_chain(chain: TabulatedChain, write: Callable[[Scalar], Scalar], rewriter: PatternRewriter) -> None:
    """Replaces the target of a chain with the value that `write` builds from the source; operations with other users
    stay.
    """
    *before, last = chain.operations
    rewriter.insertion_point = InsertPoint.before(last)
    rewriter.replace(last, [], [write(Scalar(chain.source, ArithBuilder(rewriter))).value])
    for each in reversed(before):
        if not has_uses(each):
            rewriter.erase(each)


class Tabulate(RewritePattern):
    """Replaces the chain that ends in the last byte worth a table."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Structured) or (best := _best(op.body.block)) is None:
            return
        chain, table = best
        constant = rewriter.insert(constant_for(op, table, i8)).result
        replace_chain(chain, lambda byte: extracted(byte.builder, constant, [place_of(byte)]), rewriter)


class Unchanged(RewritePattern):
    """Replaces an operation that returns every byte of its input unchanged, such as a change of scale, with its input.

    Such an operation on a cache of keys takes as long as the product by them.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GenericOp, rewriter: PatternRewriter, /) -> None:
        maps, block = [each.data for each in op.indexing_maps.data], op.body.block
        if not is_elementwise(op) or len(op.results) != 1 or len(op.inputs) != 1 or maps[0] != maps[1]:
            return
        if op.inputs[0].type != op.results[0].type or block.args[0].type != i8 or block.args[1].uses:
            return
        chain = chain_between(block, block.args[0], terminator_of(block).operands[0])
        table = None if chain is None else chain.table(BYTES)
        if table is not None and np.array_equal(table, BYTES):
            rewriter.replace(op, [], [op.inputs[0]])


@dataclass(frozen=True)
class KernelLookupTables(ModulePass):
    """Replaces a computation of a byte from another byte and constants with a table if it costs more than a table
    lookup, and removes it if it changes no byte.

    The table holds the results for all 256 bytes, computed by the semantics of the operations that it replaces, so the
    result is bit-identical. A table spans the longest possible chain, from the first byte that the result depends on to
    the last byte that depends on nothing else. For example, all activations between two requantizations become one
    table, regardless of the number of nodes. Costs are estimates in units of one addition: a division costs 8, a table
    lookup 16 and a `math` function 24. Chains that cost less than 24, or are undefined for some byte, are left
    unchanged.

    Of the benchmark models, the encoder benefits most: it takes 1.03 times as long without this pass.

    Before:

    ```mlir
    func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
      %0 = tensor.empty() : tensor<4xi8>
      %1 = linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%x : tensor<4xi8>) outs(%0 : tensor<4xi8>) {
      ^bb0(%a: i8, %o: i8):
        %2 = arith.sitofp %a : i8 to f32
        %3 = math.cosh %2 : f32
        %4 = arith.constant 1.000000e+00 : f32
        %5 = arith.minimumf %3, %4 : f32
        %6 = arith.fptosi %5 : f32 to i8
        linalg.yield %6 : i8
      } -> tensor<4xi8>
      func.return %1 : tensor<4xi8>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
      %0 = tensor.empty() : tensor<4xi8>
      %table = arith.constant dense<1> : tensor<256xi8>
      %1 = linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%x : tensor<4xi8>) outs(%0 : tensor<4xi8>) {
      ^bb0(%a: i8, %o: i8):
        %2 = arith.index_cast %a : i8 to index
        %3 = arith.constant -128 : index
        %4 = arith.subi %2, %3 : index
        %5 = tensor.extract %table[%4] : tensor<256xi8>
        linalg.yield %5 : i8
      } -> tensor<4xi8>
      func.return %1 : tensor<4xi8>
    }
    ```
    """

    name = "kernel-lookup-tables"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        statistics = apply_patterns_greedily(op, [Unchanged(), Tabulate()], ctx)
        forget_origins_in_bodies(op)
        count("chains looked up", statistics.counts[Tabulate.__name__])
        count("operations that change no byte", statistics.counts[Unchanged.__name__])
