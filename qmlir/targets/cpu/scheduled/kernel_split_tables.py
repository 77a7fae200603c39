"""`kernel-split-tables`: splits 65,536-byte lookup tables with few steps into 256-byte tables that fit in registers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp, i8, i16
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qmlir.analysis.operand_accesses import Structured
from qmlir.dialects.kernel.contraction import EpilogueOp
from qmlir.dialects.kernel.lowering.scalars import Scalar, extracted
from qmlir.dialects.simd.memory import BYTE_VALUES
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.passes import count
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.passes.integer.kernel_lookup_tables import (
    TabulatedChain,
    chains_to_bytes,
    constant_for,
    cost_of,
    place_of,
    replace_chain,
)
from qmlir.targets.cpu.host import resolved_isa
from qmlir.targets.cpu.isa import instruction_set

_NUMBERS = np.arange(-(1 << 15), 1 << 15, dtype=np.int16)
"""All 16-bit integers, in table order."""

_NEVER = BYTE_VALUES - 1
"""The largest byte."""

_SLOW = 8
"""The lowest cost of an operation that a table saves; the tables themselves need about as many cheap operations."""

_LEAST_COST = 16
"""The lowest total cost of the saved operations: that of reading a table that is not in registers."""

_MOST_LIMITS = {True: 8, False: 3}
"""The most limits per group, in a contraction's epilogue (which looks up a full register of bytes) and elsewhere.

A loop that also has 32-bit elements looks up only 16 at a time, and four limits take as long as a table in memory
(Zen 4, `docs/lab/models.md`).
"""

Table = npt.NDArray[np.int8]


@dataclass(frozen=True)
class SplitTable:
    """A table split by the upper byte of its index: the first entry of each group of 256, and limits of the lower byte.

    An entry is the first one of its group plus `direction` times the number of limits that its lower byte exceeds.
    """

    first: Table
    limits: Sequence[npt.NDArray[np.uint8]]
    direction: int

    @classmethod
    def of(cls, table: Table, most: int) -> "SplitTable | None":
        """Splits a table of 65,536 entries; `None` if a group isn't monotonic, or has more than `most` steps."""
        groups = table.astype(np.int16).reshape(BYTE_VALUES, BYTE_VALUES)
        steps = np.diff(groups, axis=1)
        direction = 1 if (steps >= 0).all() else -1
        moves = steps * direction
        wanted = int(moves.sum(axis=1).max())
        if (moves < 0).any() or wanted > most:
            return None
        limits = np.full((wanted, BYTE_VALUES), _NEVER, np.uint8)
        for group, each in enumerate(moves):
            positions = np.repeat(np.arange(len(each)), each)
            limits[: len(positions), group] = positions
        return cls(np.ascontiguousarray(groups[:, 0], np.int8), list(limits), direction)

    def whole(self) -> Table:
        """Reconstructs the whole table from the parts."""
        lower = np.arange(BYTE_VALUES, dtype=np.uint8)
        found = np.broadcast_to(self.first.astype(np.int16)[:, None], (BYTE_VALUES, BYTE_VALUES))
        for limits in self.limits:
            found = found + self.direction * (lower > limits[:, None])
        return found.astype(np.int8).reshape(-1)


def _is_slow(op: Operation) -> bool:
    """Returns true if `op` is expensive and isn't a lookup in a 256-byte table."""
    type_ = ranked_tensor(op.tensor.type) if isinstance(op, tensor.ExtractOp) else None
    return cost_of(op) >= _SLOW and (type_ is None or type_.get_shape() != (BYTE_VALUES,))


def _best(op: Structured) -> tuple[TabulatedChain, SplitTable] | None:
    """Returns the last chain of a body from one 16-bit integer to a byte whose table can be split; `None` if none."""
    most = _MOST_LIMITS[isinstance(op, EpilogueOp)]
    for chain in chains_to_bytes(op.body.block, i16):
        if sum(cost_of(each) for each in chain.gone() if _is_slow(each)) < _LEAST_COST:
            continue
        table = chain.table(_NUMBERS)
        split = None if table is None else SplitTable.of(table, most)
        if split is not None:
            assert np.array_equal(split.whole(), cast(Table, table))  # for all indices
            return chain, split
    return None


def _looked_up(source: Scalar, tables: Sequence[SSAValue], direction: int) -> Scalar:
    """Creates lookups: the first entry of the group of `source`, moved by the limits that its lower byte exceeds."""
    lower, position = source.to(i8, unsigned=True), place_of((source >> 8).to(i8))
    first, *limits = tables
    found = extracted(source.builder, first, [position])
    for limit in limits:
        is_exceeded = lower > extracted(source.builder, limit, [position])
        # -1 if true, as vector comparisons produce it
        less = is_exceeded.made(is_exceeded.value, unsigned=False).to(i8)
        found = found - less if direction > 0 else found + less
    return found


class SplitTables(RewritePattern):
    """Replaces the last suitable chain of a body with lookups in a split table."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        best = _best(op) if isinstance(op, Structured) else None
        if best is None:
            return
        chain, split = best
        tables = rewriter.insert([constant_for(op, each, i8) for each in (split.first, *split.limits)])
        values = [table.result for table in tables]
        replace_chain(chain, lambda source: _looked_up(source, values, split.direction), rewriter)


@dataclass(frozen=True)
class KernelSplitTables(ModulePass):
    """Replaces computations of a byte from a 16-bit integer with lookups in 256-byte tables, indexed by the upper byte.

    A table of 65,536 bytes evicts all other data from the L1 cache, and is read one element at a time. If the function
    rises or falls slowly, like a sigmoid, each group of 256 consecutive entries has few different values. So one table
    holds the first entry of each group. The other tables hold limits: each lower byte above a limit increases the entry
    by one, or decreases it by one. A 256-byte table fits in four registers, and a full register of indices is looked up
    at a time; the pass does nothing if `isa` doesn't support such lookups. The tables are computed from all 65,536
    results of the replaced operations and compared with them, so results stay bit-identical. A chain of operations is
    not replaced if it is cheap, undefined for some input, not monotonic within a group, or has too many steps.

    Without this pass, the LSTM of the benchmarks takes 1.24 times as long.

    Before (run with `isa=avx512-vnni`):

    ```mlir
    func.func @main(%x: tensor<4xi16>) -> tensor<4xi8> {
      %0 = tensor.empty() : tensor<4xi8>
      %1 = linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%x : tensor<4xi16>) outs(%0 : tensor<4xi8>) {
      ^bb0(%a: i16, %o: i8):
        %2 = arith.constant 255 : i16
        %3 = arith.andi %a, %2 : i16
        %4 = arith.sitofp %3 : i16 to f32
        %5 = arith.constant 1.000000e+02 : f32
        %6 = arith.divf %4, %5 : f32
        %7 = math.sqrt %6 : f32
        %8 = arith.constant 1.000000e+00 : f32
        %9 = arith.minimumf %7, %8 : f32
        %10 = arith.fptosi %9 : f32 to i8
        linalg.yield %10 : i8
      } -> tensor<4xi8>
      func.return %1 : tensor<4xi8>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4xi16>) -> tensor<4xi8> {
      %0 = tensor.empty() : tensor<4xi8>
      %first = arith.constant dense<0> : tensor<256xi8>
      %limits = arith.constant dense<99> : tensor<256xi8>
      %1 = linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%x : tensor<4xi16>) outs(%0 : tensor<4xi8>) {
      ^bb0(%a: i16, %o: i8):
        %2 = arith.trunci %a : i16 to i8
        %3 = arith.constant 8 : i16
        %4 = arith.shrsi %a, %3 : i16
        %5 = arith.trunci %4 : i16 to i8
        %6 = arith.index_cast %5 : i8 to index
        %7 = arith.constant -128 : index
        %8 = arith.subi %6, %7 : index
        %9 = tensor.extract %first[%8] : tensor<256xi8>
        %10 = tensor.extract %limits[%8] : tensor<256xi8>
        %11 = arith.cmpi ugt, %2, %10 : i8
        %12 = arith.extsi %11 : i1 to i8
        %13 = arith.subi %9, %12 : i8
        linalg.yield %13 : i8
      } -> tensor<4xi8>
      func.return %1 : tensor<4xi8>
    }
    ```
    """

    name = "kernel-split-tables"

    isa: str = "generic"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if instruction_set(resolved_isa(self.isa)).table_bytes:
            statistics = apply_patterns_greedily(op, [SplitTables()], ctx, folding=False)
            count("tables split", statistics.counts[SplitTables.__name__])
