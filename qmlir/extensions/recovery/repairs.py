"""Base class of the passes that choose quantized weights from samples, layer by layer.

The passes run samples through the quantized function. A layer is *settled*, that is, its quantized weights are chosen,
when the runs reach it. It then compensates for the errors of the earlier layers, which are already settled. Weights
with several readers, such as those shared by the time steps of a recurrent layer, are settled first, in a separate run.
If the caller passes the float program, the passes also use the layer's input in that program.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import repeat
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, ModuleOp, StringAttr, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.contraction.evaluate import ContractionRows
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.dialects.quant.evaluate import dequantize
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.extensions.recovery.cut_points import Section
from qmlir.extensions.recovery.reference_activations import FloatData
from qmlir.extensions.recovery.rounded_weights import RoundedWeight, rounded_weights
from qmlir.interpreter.interpreter import Lockstep
from qmlir.interpreter.samples import Data, Samples
from qmlir.ir.diagnostics import emit_remark, op_error
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.passes import TakesValues
from qmlir.ir.provenance import origins_of
from qmlir.quantization.report import LayerImprovement
from qmlir.quantization.retyping import REPAIRED
from qmlir.specialization.inputs import function_of

_Seen = TypeVar("_Seen")


def _as_attribute(gain: LayerImprovement) -> DictionaryAttr:
    """Returns a gain as an entry of the attribute `quant.repaired`."""
    figures = {"before_db": gain.before_db, "after_db": gain.after_db}
    told = {name: FloatAttr(round(each, 2), f64) for name, each in figures.items() if each is not None}
    return DictionaryAttr({"pass": StringAttr(gain.repair), **told})


def mark_repaired(function: FuncOp, gains: Iterable[LayerImprovement]) -> None:
    """Records each layer's repairs: sets `quant.repaired` on the operations of `function` that read its weights."""
    told = list(gains)
    for op in function.walk():
        if not isinstance(op, Quantizable) or all(slot is not Slot.WEIGHT for _, slot in op.operands_with_slots()):
            continue
        nodes = set(_nodes_of(op))  # a composite may stand for more nodes than the contraction in it
        if own := [_as_attribute(each) for each in told if nodes.issuperset(each.nodes)]:
            op.attributes[REPAIRED] = ArrayAttr(own)


def repairs_of(op: Operation) -> tuple[LayerImprovement, ...]:
    """Returns the gains recorded on `op` by `mark_repaired`; entries that cannot be parsed are ignored."""
    return tuple(_gains_in(op.attributes.get(REPAIRED), _nodes_of(op)))


def _gains_in(entries: Attribute | None, nodes: tuple[str, ...]) -> Iterator[LayerImprovement]:
    for each in cast(ArrayAttr[Attribute], entries) if isinstance(entries, ArrayAttr) else ():
        if isinstance(each, DictionaryAttr) and isinstance(name := each.data.get("pass"), StringAttr):
            before, after = (_number(each.data.get(key)) for key in ("before_db", "after_db"))
            yield LayerImprovement(name.data, nodes, before, after)


def _number(attribute: Attribute | None) -> float | None:
    return attribute.value.data if isinstance(attribute, FloatAttr) else None


def _nodes_of(op: Operation) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.name or str(each) for each in origins_of(op))) or (op.name,)


def nodes_of(weight: RoundedWeight) -> tuple[str, ...]:
    """Returns the names of the ONNX nodes of the first operation that reads `weight`."""
    return _nodes_of(weight.readers[0][0])


def layer_of(weight: RoundedWeight) -> str:
    """Returns the name of the layer that `weight` belongs to: the names of its nodes, joined by `+`."""
    return "+".join(nodes_of(weight))


@dataclass(frozen=True)
class WeightBlock:
    """A section of the function whose weights are settled together."""

    section: Section
    weights: tuple[RoundedWeight, ...]


@dataclass(frozen=True)
class BlockData:
    """The float input of a block in each run, and the block's output in the float program, if known."""

    given: Sequence[Array]
    exact: Sequence[Array] | None
    exactly: SSAValue | None = None
    """The value of the float program whose contents `exact` holds."""


def _block_data(block: WeightBlock, steps: Lockstep, floats: FloatData | None) -> BlockData:
    """Returns the data of a block that `steps` has just reached."""
    start = block.section.start
    last = next(
        op for op in reversed(block.section.operations) if not isinstance(op, QuantizeCastOp | DequantizeCastOp)
    )
    element, stored = quantized_type(start), steps.values(start)
    given = stored if element is None else [dequantize(each, element) for each in stored]
    return BlockData(given, *((None, None) if floats is None else (floats.result(last), floats.value(last))))


@dataclass(frozen=True)
class RepairsWeights(TakesValues, Generic[_Seen]):
    """A pass that chooses quantized weights by running samples, read from the file or folder `data`."""

    data: str = ""
    function: str = "main"

    VALUES: ClassVar[tuple[str, ...]] = ("samples", "floats", "gained", "biases")
    samples: ClassVar[Data | None] = None
    """Samples that the caller has in memory, used instead of the file."""

    floats: ClassVar[ModuleOp | None] = None
    """The float program that the quantized one was derived from; corresponding contractions have the same origins."""

    gained: ClassVar[Callable[[LayerImprovement], None] | None] = None
    """A callback that receives the gain of each layer that the pass changes."""

    biases: ClassVar[set[Operation] | None] = None
    """The bias constants settled by the previous pass, shared by the passes of one pipeline. A settled bias already
    compensates for the mean error of its layer with the final codes of the earlier layers, so `quant-correct-bias` has
    nothing left to correct.
    """

    def tell(self, weight: RoundedWeight, what: str, before: float, after: float, signal: float) -> None:
        """Reports how `weight` was changed, and by how many decibels the error of its layer decreased.

        `what` names the change. `before` and `after` are squared errors; `signal` is the squared error that the layer
        would have if these weights were 0.
        """
        text = f"error reduced by {_decibels(before, after):.1f} dB" if after > 0 else "no error left"
        emit_remark(weight.readers[0][0], f"{what}: {text}")
        if self.gained is not None:
            figures = (_decibels(signal, before), _decibels(signal, after)) if signal > 0 else (None, None)
            self.gained(LayerImprovement(self.name, nodes_of(weight), *figures))

    def weights(self, function: FuncOp) -> list[RoundedWeight]:
        """Returns the weights that the pass may change."""
        return [each for each in rounded_weights(function) if each.may_be_repaired(self.name)]

    @abstractmethod
    def see(self, rows: Array, exact: Array) -> _Seen:
        """Reduces a batch of float layer inputs, `[groups, rows, terms]`, to the statistics that the repair needs.

        `exact` holds the same rows in the float program, or is `rows` itself if the float program is unknown.
        """

    def rows_at_once(self, terms: int) -> int:
        """Returns how many rows of `terms` elements to collect from short runs before calling `see`.

        A pass whose statistics are expensive in time and memory returns a large number, so that `see` is called less
        often.
        """
        return 0

    @abstractmethod
    def add(self, one: _Seen, other: _Seen) -> _Seen:
        """Merges the statistics of two sets of rows."""

    @abstractmethod
    def repair(self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Sequence[Sequence[Any]]) -> None:
        """Settles `weights` using their inputs in `runs`, which holds the arguments of the function for each run."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = function_of(op, self.function)
        data = self.data if self.samples is None else self.samples
        if isinstance(data, str) and not data:
            raise op_error(function, f"{self.name} requires samples; pass data, a file or a folder of arrays")
        weights = self.weights(function)
        if not weights:
            return
        if self.biases is not None:
            self.biases.clear()
        self.repair(op, weights, [run.arguments for run in Samples(function, data)])

    def in_turn(
        self,
        module: ModuleOp,
        weights: Sequence[RoundedWeight],
        runs: Sequence[Sequence[Any]],
        settle: Callable[[RoundedWeight, _Seen], Sequence[Operation]],
    ) -> None:
        """Calls `settle` for each of `weights` with the statistics of all its rows, in program order.

        `settle` returns the constants that it changed; the later layers are computed with these.
        """
        shared = [each for each in weights if len(each.readers) > 1]
        for weight, seen in self.seen(module, shared, runs):
            settle(weight, seen)
        single = {each.readers[0][0]: each for each in weights if len(each.readers) == 1}
        steps = Lockstep(module, self.function, runs)
        exact = None if self.floats is None or not single else FloatData(self.floats, self.function, runs)
        for reader in steps if single else ():
            if (weight := single.get(reader)) is not None:
                known = None if exact is None else exact.of(origins_of(reader))
                for changed in settle(weight, self._of_all(steps, weight.rows, known)):
                    steps.again(changed)

    def settled_biases(self, weights: Sequence[RoundedWeight]) -> None:
        """Tells later passes that the biases of `weights` were settled in turn with them.

        Weights with several readers are settled before the other layers change, and those changes shift their means
        again. So nothing is recorded if there are any.
        """
        if self.biases is not None and all(len(each.readers) == 1 for each in weights):
            self.biases.update(bias.op for each in weights if (bias := each.bias) is not None)

    def blocks_in_turn(
        self,
        module: ModuleOp,
        blocks: Sequence[WeightBlock],
        runs: Sequence[Sequence[Any]],
        settle: Callable[[WeightBlock, BlockData], Sequence[Operation]],
    ) -> None:
        """Calls `settle` for each of `blocks` with its data, in program order.

        `settle` returns the constants that it changed; the later layers are computed with these.
        """
        begun = {block.section.operations[0]: block for block in blocks}
        steps = Lockstep(module, self.function, runs)
        floats = None if self.floats is None or not begun else FloatData(self.floats, self.function, runs)
        for op in steps if begun else ():
            if (block := begun.get(op)) is not None:
                for changed in settle(block, _block_data(block, steps, floats)):
                    steps.again(changed)

    def seen(
        self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Sequence[Sequence[Any]]
    ) -> Sequence[tuple[RoundedWeight, _Seen]]:
        """Returns each of `weights` that is read, with the statistics of all its rows in the unchanged function."""
        readers = {reader: (weight, rows) for weight in weights for reader, rows in weight.readers}
        found: dict[Operation, tuple[RoundedWeight, _Seen]] = {}
        steps = Lockstep(module, self.function, runs)
        for reader in steps if readers else ():
            if reader in readers:
                weight, rows = readers[reader]
                seen = self._of_all(steps, rows)
                found[weight.op] = weight, self.add(found[weight.op][1], seen) if weight.op in found else seen
        return list(found.values())

    def _of_all(self, steps: Lockstep, rows: ContractionRows, exact: Sequence[Array] | None = None) -> _Seen:
        """Returns the statistics of the rows of all runs; `exact` holds the data of the float program."""
        element, runs = quantized_type(rows.data), steps.values(rows.data)
        return self.of_runs(rows, (each if element is None else dequantize(each, element) for each in runs), exact)

    def of_runs(self, rows: ContractionRows, data: Iterable[Array], exact: Iterable[Array] | None = None) -> _Seen:
        """Returns the statistics of the rows made from `data`, the float layer input of each run.

        `exact` is the layer input of each run in the float program.
        """
        known = repeat(None) if exact is None else exact
        laid_out = (
            (rows.of_data(each), None if other is None else rows.of_data(other))
            for each, other in zip(data, known, strict=False)
        )
        return reduce(self.add, (self.see(*each) for each in self._joined(laid_out)))

    def _joined(self, runs: Iterable[tuple[Array, Array | None]]) -> Iterator[tuple[Array, Array]]:
        """Yields the rows of the runs, with short runs joined up to `rows_at_once` rows.

        If the rows of the float program are unknown, the second array of each pair is the first one.
        """
        group: list[tuple[Array, Array | None]] = []
        count = 0
        for run in runs:
            _, own, terms = run[0].shape
            if group and count + own > self.rows_at_once(terms):
                yield _of_group(group)
                group, count = [], 0
            group.append(run)
            count += own
        yield _of_group(group)


def _of_group(group: Sequence[tuple[Array, Array | None]]) -> tuple[Array, Array]:
    found = group[0][0] if len(group) == 1 else np.concatenate([rows for rows, _ in group], 1)
    known = [exact for _, exact in group if exact is not None]
    if not known:
        return found, found
    return found, known[0] if len(known) == 1 else np.concatenate(known, 1)


def _decibels(signal: float, noise: float) -> float:
    """Returns by how many dB `noise` is below `signal` (nonzero); infinity if `noise` is 0."""
    return 10 * math.log10(signal / noise) if noise > 0 else math.inf
