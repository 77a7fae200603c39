"""`quant-adaround`: learns how to round weights from the error of the layer's output after its activation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import F64
from qmlir.dialects.nn.activations.ops import LeakyReluOp, ReluOp
from qmlir.dialects.nn.elementwise.ops import ClipOp
from qmlir.extensions.recovery import weight_rounding as rounding
from qmlir.extensions.recovery.block_programs import (
    BlockData,
    BlockError,
    RunGroups,
    WeightBlock,
    batch_axis,
    blocks,
    error_weights,
)
from qmlir.extensions.recovery.quant_correct_bias import correct_bias, settled_bias
from qmlir.extensions.recovery.quant_gptq import SecondMoments, aims
from qmlir.extensions.recovery.repairs import FloatData, RepairsWeights, RowStatistics, Runs
from qmlir.extensions.recovery.rounded_weights import RoundedWeight
from qmlir.extensions.recovery.weight_rounding import CodeGrid, HessianLoss, PiecewiseLinear, SampleLoss
from qmlir.interpreter.interpreter import Lockstep
from qmlir.ir.diagnostics import DiagnosticError, emit_remark, op_error
from qmlir.ir.passes import MEANING, Preservation, count
from qmlir.specialization.inputs import function_of

_MOST = 1 << 14
"""The maximum number of rows of a layer's input that are kept. Measured on a ResNet-8 with 4-bit weights and 96 images:
4,096 rows overfit (25.4 dB), 32,768 reach 25.9 dB.
"""

_MULTIPLY_ADDS = 2e12
"""The limit on multiply-adds over all steps of one layer, a few minutes on one core; large layers get fewer steps."""

_FEWEST = 100
"""The minimum number of steps; a layer that would get fewer is left unchanged."""

_TOWARDS = 0.3
"""The starting point of each code of a block: this fraction of the way from its current value to its float weight,
limited to one step. A code that compensates for others is not always adjacent to its float weight, so each code may
move from its current value to the next code towards that weight.
"""

_LEAST = 1e-6
"""The smallest relative error reduction that counts as an improvement; a different summation order changes the error by
less.
"""


def activation_behind(weight: RoundedWeight) -> PiecewiseLinear | None:
    """Returns the activation that is the only reader of the layer's output after the bias.

    Returns `None` if there is no such activation, if its kind is not supported, or if the weights have several readers.
    """
    if len(weight.readers) > 1:
        return None
    users = [use.operation for use in weight.readers[0][0].results[0].uses]
    if weight.bias is not None and len(users) == 1:  # the sum with the bias
        users = [use.operation for use in users[0].results[0].uses]
    match users:
        case [ReluOp()]:
            return PiecewiseLinear(low=0.0)
        case [LeakyReluOp() as op]:
            return PiecewiseLinear(low=0.0, slope=op.alpha.value.data)
        case [ClipOp() as op]:
            low = -math.inf if op.minimum is None else op.minimum.value.data
            return PiecewiseLinear(low, math.inf if op.maximum is None else op.maximum.value.data)
        case _:
            return None


@dataclass(frozen=True)
class SubsampledRows(RowStatistics):
    """At most `_MOST` equally spaced rows of the quantized and the float program, and moments of all rows."""

    moments: SecondMoments
    pieces: tuple[tuple[Array, Array], ...]
    distance: int = 1

    @classmethod
    def of(cls, rows: Array, exact: Array) -> Self:
        """Keeps equally spaced rows, and the second moments of all rows."""
        return cls(SecondMoments.of(rows, exact), ((rows, exact),)).limited()

    @staticmethod
    def rows_at_once(terms: int) -> int:
        """Returns the number of rows for which computing second moments pays."""
        return SecondMoments.rows_at_once(terms)

    def __add__(self, other: Self) -> Self:
        distance = max(self.distance, other.distance)
        pieces = (*self._thinned(distance), *other._thinned(distance))
        return type(self)(self.moments + other.moments, pieces, distance).limited()

    def limited(self) -> Self:
        """Returns these statistics with rows dropped evenly until at most `_MOST` are left."""
        distance = self.distance
        while sum(-(-rows.shape[1] * self.distance // distance) for rows, _ in self.pieces) > _MOST:
            distance *= 2
        return type(self)(self.moments, self._thinned(distance), distance)

    def _thinned(self, distance: int) -> tuple[tuple[Array, Array], ...]:
        if distance == self.distance:
            return self.pieces
        stride = distance // self.distance
        return tuple((rows[:, ::stride].copy(), exact[:, ::stride].copy()) for rows, exact in self.pieces)

    def joined(self) -> tuple[Array, Array]:
        """Returns the kept rows of the quantized and of the float program, each `[groups, rows, terms]`."""
        rows, exact = zip(*self.pieces, strict=True)
        return np.concatenate(rows, 1), np.concatenate(exact, 1)


@dataclass(frozen=True)
class QuantAdaRound(RepairsWeights):
    """Learns whether to round each weight up or down from the error of the layer's output (AdaRound).

    If the only reader of the layer is an `nn.relu`, `nn.leaky_relu` or `nn.clip`, the error is measured after that
    activation, so values that it clips may be wrong. Otherwise it is the error of the accumulator. `steps` steps of
    gradient descent minimize the error on the layer's inputs in the quantized program for the samples in `data`, after
    the codes of the earlier layers have been chosen (Nagel et al., Up or Down?, ICML 2020). Then coordinate descent
    chooses each code again given the others. A channel keeps its previous codes if they have a smaller error, so the
    pass is meant to run after `quant-gptq`; the other options are the same as in that pass. Layers that are too large
    for 100 steps within a few minutes are left unchanged.

    With `blocks`, the codes of all layers of a block are learned together from the error of the block's output against
    the float program (Li et al., BRECQ, ICLR 2021), so that one layer may compensate for another. A block lies between
    two values through which all data flows and has at least two and at most `blocks` layers: a residual block, or some
    layers of a chain. Values inside a block are rounded as in the final program, and the rounding passes gradients
    through. Each code may move one step towards its float weight. A block keeps its previous codes if they have a
    smaller error, and layers outside blocks are left unchanged, so this mode is meant to run after `quant-adaround`
    without `blocks`.

    With `weighted`, each element of a block's output is weighted by the squared gradient, in the float program, of the
    model's output error, where the error of each model output is relative to its mean square (BRECQ, equation 10; here
    the mean over the elements of the outputs is estimated with random signs from a fixed seed). The weights have a mean
    of 1. This requires that the caller passes the float program.

    Weights must still be float constants (`quant-assign-types{float_constants}`). They become their dequantized codes,
    and keep their original values in `quant.unrounded`.

    Before (run with `data="tests/filecheck/extensions/recovery/Inputs/alike.npy"`):

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    !w = !quant.uniform<i4:f32, 0.5>
    !s = !quant.uniform<i32:f32, 0.125>
    func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32> {
      %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
      %w = nn.constant dense<[[0.7, 0.6]]> : tensor<1x2xf32> {nn.trainable}
      %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
      %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "fc"}
      %3 = nn.relu %2 : tensor<?x1x!s>
      %4 = quant.dcast %3 : tensor<?x1x!s> to tensor<?x1xf32>
      func.return %4 : tensor<?x1xf32>
    }
    ```

    After:

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    !w = !quant.uniform<i4:f32, 0.5>
    !s = !quant.uniform<i32:f32, 0.125>
    func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32> {
      %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
      %w = nn.constant dense<[[1.0, 0.5]]> : tensor<1x2xf32>
          {nn.trainable, quant.unrounded = dense<[[0.7, 0.6]]> : tensor<1x2xf32>}
      %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
      %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "fc"}
      %3 = nn.relu %2 : tensor<?x1x!s>
      %4 = quant.dcast %3 : tensor<?x1x!s> to tensor<?x1xf32>
      func.return %4 : tensor<?x1xf32>
    }
    ```
    """

    name = "quant-adaround"
    preserves: ClassVar[Preservation] = MEANING

    bits: int = 8
    blocks: int = 0
    weighted: bool = False
    steps: int = rounding.STEPS
    damping: float = rounding.DAMPING
    sweeps: int = rounding.SWEEPS
    floats_share: float = rounding.FLOATS_SHARE

    def repair(self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Runs) -> None:
        """Chooses the codes of `weights`."""
        function = function_of(module, self.function)
        if self.blocks < 0:
            raise op_error(function, f"blocks must be >= 0 (0 rounds layer by layer), but got {self.blocks}")
        if self.weighted and not self.blocks:
            raise op_error(function, "'weighted' requires blocks >= 2, but got blocks=0")
        if self.weighted and self.floats is None:
            raise op_error(function, "'weighted' requires the float program, whose gradients it uses")
        narrow = [each for each in weights if each.element.bits <= self.bits]
        if self.blocks:
            self._settle_blocks(module, self._blocks(function, narrow), runs)
        else:
            self.in_turn(module, narrow, runs, SubsampledRows, self._settle)
            self.settled_biases(narrow)

    def _blocks(self, function: FuncOp, weights: Sequence[RoundedWeight]) -> list[WeightBlock]:
        """Returns the blocks whose weights are settled together; weights with several readers belong to none."""
        single = {each.readers[0][0]: each for each in weights if len(each.readers) == 1}

        def layers(operations: Sequence[Operation]) -> list[RoundedWeight]:
            return [single[op] for op in operations if op in single]

        found = blocks(function, self.blocks, lambda each: len(layers(each)))
        return [WeightBlock(each, tuple(layers(each.operations))) for each in found]

    def _settle_blocks(self, module: ModuleOp, blocks: Sequence[WeightBlock], runs: Runs) -> None:
        """Chooses the codes of each block in program order; the later layers are computed with these."""
        begun = {block.section.operations[0]: block for block in blocks}
        steps = Lockstep(module, self.function, runs)
        floats = None if self.floats is None or not begun else FloatData(self.floats, self.function, runs)
        for op in steps if begun else ():
            if (block := begun.get(op)) is not None:
                for changed in self._settle_block(runs, block, BlockData.of(block, steps, floats)):
                    steps.again(changed)

    def _settle_block(self, runs: Runs, block: WeightBlock, data: BlockData) -> Sequence[Operation]:
        is_known = data.exact is not None
        if self.weighted and not is_known:
            _unweighted(block, "the float program does not have the output of the block")
        weighted = partial(self._error_weights, runs, block, data) if self.weighted and is_known else None
        try:
            error = BlockError.of(block, data, _unrounded, weighted)
        except DiagnosticError as failed:
            return _left(block, failed.diagnostic.message)
        if error is None:
            return _left(block, "the runs have different shapes")
        weights, work = error.simulated.weights, error.simulated.multiply_adds
        steps = min(self.steps, int(_MULTIPLY_ADDS / max(work, 1)))
        if steps < min(self.steps, _FEWEST):
            return _left(block, f"a block of this size would get only {steps} steps (minimum {_FEWEST})")
        grids = [stacked(each.grid()) for each in weights]
        floats = _unrounded(weights)
        known = [grid.nearest(each.rows.of_weights(each.array)) for each, grid in zip(weights, grids, strict=True)]
        pairs = zip(known, floats, strict=True)
        begun = [one + _TOWARDS * np.clip(each - one, -1, 1) for one, each in pairs]
        wanted = [each * grid.steps for each, grid in zip(begun, grids, strict=True)]
        before = error.of_codes(known)
        found = rounding.adaround_together(wanted, grids, error.gradients, before, steps=steps)
        after = error.of_codes(found)
        if not after < before * (1 - _LEAST):
            return ()
        for weight, grid, codes in zip(weights, grids, found, strict=True):
            weight.set(weight.rows.to_weights(codes * grid.steps))
            count("weights")
            what = "weights of its block are rounded to minimize the error of the block's output"
            self.tell(weight, what, before, after, error.signal)
        return [each.op for each in weights]

    def _error_weights(
        self, runs: Runs, block: WeightBlock, data: BlockData, groups: RunGroups, shape: Sequence[int]
    ) -> Sequence[Array] | None:
        """Returns the weight of each element of the block's output, batch by batch; `None` if it cannot be computed."""
        assert self.floats is not None
        assert data.exactly is not None
        value, arguments = data.exactly, function_of(self.floats, self.function).body.block.args
        columns = [(batch_axis(each), [run[at] for run in runs]) for at, each in enumerate(arguments)]
        if groups.size > 1 and any(
            axis is None or len({each.shape for each in column}) > 1 for axis, column in columns
        ):
            return _unweighted(block, "the runs cannot be batched in the float program")
        batches = list(zip(*(groups.joined(column, axis) for axis, column in columns), strict=True))
        try:
            found = error_weights(self.floats, self.function, value, batches, shape)
        except DiagnosticError as failed:
            return _unweighted(block, failed.diagnostic.message)
        return _unweighted(block, "the gradients of the outputs are 0 or not finite") if found is None else found

    def _settle(self, weight: RoundedWeight, seen: SubsampledRows) -> Sequence[Operation]:
        grid = stacked(weight.grid())
        own = list(aims(weight, seen.moments, damping=self.damping, share=self.floats_share))
        wanted, moments = np.stack([each for each, _, _ in own]), np.stack([each for _, each, _ in own])
        known = grid.nearest(weight.rows.of_weights(weight.array))
        activation = activation_behind(weight)
        if activation is None:
            objective: rounding.Objective = HessianLoss(wanted, moments)
        else:
            objective = self._by_rows(weight, seen, activation)
        steps = min(self.steps, int(_MULTIPLY_ADDS / objective.multiply_adds))
        if steps < min(self.steps, _FEWEST):
            text = f"a layer of this size would get only {steps} steps (minimum {_FEWEST})"
            emit_remark(weight.readers[0][0], f"weights are not rounded by learning: {text}")
            return settled_bias(weight, seen.moments.means, self.gained)
        learned = rounding.adaround(wanted, known, grid, objective, steps=steps)
        settled = [
            rounding.descend(*each, sweeps=self.sweeps)
            for each in zip(wanted, learned, weight.grid(), moments, strict=True)
        ]
        found = rounding.best_of((known, learned, np.stack(settled)), grid, objective)
        tried = (known, found, np.zeros_like(found))
        before, after, signal = (float(objective.errors(each * grid.steps).sum()) for each in tried)
        if not after < before * (1 - _LEAST):
            return settled_bias(weight, seen.moments.means, self.gained)
        weight.set(weight.rows.to_weights(found * grid.steps))
        count("weights")
        what = "of its accumulator" if activation is None else "after its activation"
        self.tell(weight, f"weights are rounded to minimize the error {what}", before, after, signal)
        return [weight.op, *correct_bias(weight, seen.moments.means)]

    def _by_rows(self, weight: RoundedWeight, seen: SubsampledRows, activation: PiecewiseLinear) -> SampleLoss:
        """Returns the error after the activation.

        The bias compensates for the mean of the error before the activation, whatever the codes are.
        """
        rows, exact = seen.joined()
        unrounded, bias = weight.rows.of_weights(weight.unrounded).astype(np.float64), weight.bias
        weights = unrounded.astype(np.float32).swapaxes(1, 2)
        if bias is None:
            added = np.zeros((len(unrounded), 1, unrounded.shape[1]), np.float32)
        else:
            means = seen.moments.means
            mean, exact_mean = (each[:, None].astype(np.float32) for each in (means.mean, means.exact_mean))
            added = exact_mean @ weights + bias.unrounded.reshape(len(unrounded), 1, -1)
            rows, exact = rows - mean, exact - exact_mean
        wanted = rows + np.float32(self.floats_share) * (exact - rows)
        return SampleLoss(rows, wanted @ weights + added, added, activation)


def _left(block: WeightBlock, why: str) -> Sequence[Operation]:
    """Changes nothing and reports why."""
    emit_remark(block.weights[0].readers[0][0], f"weights of its block are not rounded together: {why}")
    return ()


def _unweighted(block: WeightBlock, why: str) -> None:
    """Weights all elements of the block's output equally and reports why."""
    emit_remark(block.weights[0].readers[0][0], f"errors of its block are not weighted: {why}")


def _unrounded(weights: Sequence[RoundedWeight]) -> list[F64]:
    """Returns the original weights, in quantization steps of the codes."""
    grids = (stacked(each.grid()) for each in weights)
    return [each.rows.of_weights(each.unrounded) / grid.steps for each, grid in zip(weights, grids, strict=True)]


def stacked(grids: Sequence[CodeGrid]) -> CodeGrid:
    """Stacks the grids of all groups into one of shape `[groups, channels, terms]`."""
    parts = zip(*((one.steps, one.low, one.high) for one in grids), strict=True)
    return CodeGrid(*map(np.stack, parts), is_signed=grids[0].is_signed)
