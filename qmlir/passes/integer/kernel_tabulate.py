"""`kernel-tabulate`: a chain of operations from one byte to another becomes a table of 256 bytes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects import arith, math, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, TensorType, i8
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import InterpretationError

from qmlir.analysis.operand_accesses import Structured, computes_only, forget_origins_in_bodies, is_inside
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.ops import RequantizeOp
from qmlir.dialects.kernel.rows import RowReduceOp
from qmlir.ir.builtin_types import dense
from qmlir.ir.evaluation import evaluate
from qmlir.ir.passes import count
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.ir.rewriting import apply_patterns_greedily

BYTES = np.arange(-128, 128, dtype=np.int8)
"""Every byte, in the order of the table."""

_LEAST_COST = 24
"""What the operations that a table saves must cost at least: about what reading 16 elements one by one costs."""

_COSTS: Mapping[type[Operation], int] = {
    arith.ConstantOp: 0,
    arith.DivfOp: 8,
    math.SqrtOp: 8,
    math.RoundEvenOp: 1,
    tensor.ExtractOp: 16,
    RequantizeOp: 6,
}
"""What operations cost on a vector, in simple ones of `arith`, which cost 1."""

_FUNCTION = 24
"""The cost of a function of `math` that no instruction computes."""


def cost_of(op: Operation) -> int:
    """What an operation costs on a vector, in simple ones."""
    return _COSTS.get(type(op), _FUNCTION if op.dialect_name() == "math" else 1)


@dataclass(frozen=True)
class TabulatedChain:
    """The operations before `target` that depend on `source` and constants alone, in their order."""

    source: SSAValue
    target: SSAValue
    operations: Sequence[Operation]

    def gone(self) -> set[Operation]:
        """The operations that are needed no more when the target comes from a table."""
        gone: set[Operation] = set()
        for op in reversed(self.operations):
            users = [use.operation for value in op.results if value is not self.target for use in value.uses]
            if all(user in gone for user in users):
                gone.add(op)
        return gone

    def table(self, numbers: Array) -> npt.NDArray[np.int8] | None:
        """The target, a byte, for each of the `numbers` of the source, `None` where an operation refuses one."""
        found = self.results(numbers)
        return None if found is None else np.ascontiguousarray(found, np.int8)

    def results(self, numbers: Array) -> Array | None:
        """The target for each of the `numbers` of the source, `None` where an operation refuses one of them."""
        values: dict[SSAValue, Any] = {self.source: numbers}
        for op in self.operations:
            try:
                with np.errstate(all="ignore"):  # among them are numbers that never occur
                    results = evaluate(op, [_value(values, operand) for operand in op.operands])
            except InterpretationError:
                return None
            if results is None:
                return None
            values.update(zip(op.results, results, strict=True))
        found = np.asarray(values[self.target])
        return found if found.shape == numbers.shape else None


def _value(values: Mapping[SSAValue, Any], operand: SSAValue) -> Any:
    """What is known of a value of the body, or of a constant tensor outside of it."""
    if operand in values:
        return values[operand]
    assert isinstance(operand.owner, arith.ConstantOp)
    (found,) = evaluate(operand.owner, ()) or (None,)
    return found


def _is_part(op: Operation) -> bool:
    """Whether a table may stand for `op`: it computes scalars from scalars, or reads a constant table."""
    if op.regions or not op.results or isinstance(op, IndexOp | RowReduceOp):
        return False
    if isinstance(op, tensor.ExtractOp):
        return isinstance(op.tensor.owner, arith.ConstantOp)
    return computes_only(op)


def chain_between(body: Block, source: SSAValue, target: SSAValue) -> TabulatedChain | None:
    """The chain between two values of a body, `None` where something else comes in."""
    wanted: set[SSAValue] = {target}
    found: list[Operation] = []
    for op in reversed(list(body.ops)):
        results = wanted & set(op.results)
        if not results:
            continue
        wanted -= results
        if not _is_part(op):
            return None
        found.append(op)
        inside = [operand for operand in op.operands if is_inside(operand, body)]
        wanted |= set(inside) - {source}
    return TabulatedChain(source, target, found[::-1]) if not wanted else None


def chains_to_bytes(body: Block, source: Attribute) -> Iterator[TabulatedChain]:
    """The chains of a body from a value of type `source` to a byte: the last byte first, and from its first source."""
    values: list[SSAValue] = [*body.args, *(value for op in body.ops for value in op.results)]
    known = [value for value in values if not isinstance(value.owner, arith.ConstantOp)]
    for place in reversed(range(len(known))):
        if known[place].type != i8 or isinstance(known[place], BlockArgument):
            continue
        for each in known[:place]:
            chain = chain_between(body, each, known[place]) if each.type == source else None
            if chain is not None:
                yield chain


def _best(body: Block) -> tuple[TabulatedChain, npt.NDArray[np.int8]] | None:
    """The last byte of the body that a table may give, from the first byte that it depends on."""
    for chain in chains_to_bytes(body, i8):
        table = chain.table(BYTES) if sum(map(cost_of, chain.gone())) >= _LEAST_COST else None
        if table is not None:
            return chain, table
    return None


def replace_chain(chain: TabulatedChain, made: Sequence[Operation], rewriter: PatternRewriter) -> None:
    """Put `made`, the last of which gives the target, in the place of a chain; what something else reads stays."""
    *before, last = chain.operations
    rewriter.replace(last, made)
    for each in reversed(before):
        if not any(value.uses for value in each.results):
            rewriter.erase(each)


class Tabulate(RewritePattern):
    """The last byte that a table may give comes from it."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Structured):
            return
        best = _best(op.body.block)
        if best is None:
            return
        chain, table = best
        constant = arith.ConstantOp(dense(table.tobytes(), TensorType(i8, table.shape)))
        set_origins(constant, origins_of(op))
        rewriter.insert(constant)
        place = arith.IndexCastOp(chain.source, IndexType())
        first = arith.ConstantOp(IntegerAttr(int(BYTES[0]), IndexType()))
        behind = arith.SubiOp(place.result, first.result)
        element = tensor.ExtractOp(constant.result, [behind.result], i8)
        replace_chain(chain, [place, first, behind, element], rewriter)


@dataclass(frozen=True)
class KernelTabulate(ModulePass):
    """Look up what a body computes from one byte and constants, where that costs more than reading a table.

    A table has the results of all 256 bytes, computed by the meanings of the operations that it stands for, so no bit
    changes. It goes from the first byte that the result depends on to the last one that depends on nothing else:
    activations between a requantization and the next, composed of as many nodes as they may be, become one table. Costs
    are estimates: a division counts as 8 additions, a table or a function as many; chains of less than 24 stay. A chain
    that some byte makes undefined stays, too.

    Buys most in the encoder of the benchmarks, which takes 1.03 times as long without it.

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

    name = "kernel-tabulate"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        statistics = apply_patterns_greedily(op, [Tabulate()], ctx)
        forget_origins_in_bodies(op)
        count("chains looked up", statistics.counts[Tabulate.__name__])
