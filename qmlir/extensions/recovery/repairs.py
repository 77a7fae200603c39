"""Base class of the passes that choose quantized weights from samples, layer by layer.

The passes run samples through the quantized function. A layer is *settled*, that is, its quantized weights are chosen,
when the runs reach it. It then compensates for the errors of the earlier layers, which are already settled. Weights
with several readers, such as those shared by the time steps of a recurrent layer, are settled first, in a separate run.
If the caller passes the float program, the passes also use the layer's input in that program.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import repeat
from operator import add
from typing import Any, ClassVar, Self, TypeAlias, TypeVar, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, ModuleOp, StringAttr, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.contraction.evaluate import ContractionRows, rows_of
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.dialects.quant.evaluate import dequantize
from qmlir.extensions.recovery.rounded_weights import RoundedWeight, rounded_weights
from qmlir.interpreter.interpreter import Lockstep
from qmlir.interpreter.samples import Data, Samples
from qmlir.ir.diagnostics import emit_remark, op_error
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.passes import TakesValues
from qmlir.ir.provenance import Origin, origins_of
from qmlir.quantization.report import LayerImprovement
from qmlir.quantization.retyping import REPAIRED
from qmlir.specialization.inputs import function_of

Runs: TypeAlias = Sequence[Sequence[Any]]
"""The arguments of a function for each run."""


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


# The float program is run alongside the quantized one: the inputs and results of its operations in the same runs.
#
#  The quantized program was derived from it, and corresponding operations have the same origins. Both programs advance
# together, so only those values of the float one are held that are still needed.


class FloatData:
    """The values that a float `module` computes in `runs`, to be read in program order; earlier ones are released.

    Operations with the same origins, such as the contractions in the time steps of a recurrent layer, cannot be told
    apart and are left out.
    """

    def __init__(self, module: ModuleOp, name: str, runs: Runs):
        operations = list(function_of(module, name).body.block.ops)
        known = ((op, rows_of(op)) for op in operations)
        self._rows = {op: rows for op, rows in known if rows is not None and constant_array(rows.weight) is not None}
        counts = Counter(map(origins_of, self._rows))
        self._products = {origins: op for op in self._rows if counts[origins := origins_of(op)] == 1}
        alike = Counter(map(_kind, operations))
        self._givers = {kind: op for op in operations if alike[kind := _kind(op)] == 1 and op.results}
        self._readers = {value: op for op in reversed(operations) for value in op.operands}  # the first reader
        self._left = dict.fromkeys(operations)
        self._steps = Lockstep(module, name, runs)
        self._program = iter(self._steps)
        self._at: Operation | None = None

    def of(self, origins: tuple[Origin, ...]) -> Sequence[Array] | None:
        """Returns the input of the contraction with these `origins` in each run.

        Returns `None` if there is no such contraction or its input has been released.
        """
        wanted = self._products.get(origins)
        return None if wanted is None else self._before(wanted, self._rows[wanted].data)

    def result(self, op: Operation) -> Sequence[Array] | None:
        """Returns the float result of `op` in each run; `None` if it is unknown or has been released.

        `op` is an operation of the quantized program.
        """
        value = self.value(op)
        reader = None if value is None else self._readers.get(value)
        return None if value is None or reader is None else self._before(reader, value)

    def value(self, op: Operation) -> SSAValue | None:
        """Returns the first result of the float operation that `op` was quantized from; `None` if it is unknown."""
        found = self._givers.get(_kind(op))
        return None if found is None else found.results[0]

    def _before(self, wanted: Operation, value: SSAValue) -> Sequence[Array] | None:
        """Returns `value` in each run, before `wanted` is computed; `None` if `wanted` was passed."""
        if wanted not in self._left:
            return None
        while self._at is not wanted:
            if self._at is not None:
                del self._left[self._at]
            self._at = next(self._program, wanted)  # the terminator is no step
        return self._steps.values(value)


def _kind(op: Operation) -> tuple[tuple[Origin, ...], str]:
    return origins_of(op), op.name


class RowStatistics(ABC):
    """Statistics of the rows of a layer's input that a repair needs."""

    @classmethod
    @abstractmethod
    def of(cls, rows: Array, exact: Array) -> Self:
        """Returns the statistics of a batch of float layer inputs, `[groups, rows, terms]`.

        `exact` holds the same rows in the float program, or is `rows` itself if the float program is unknown.
        """

    @abstractmethod
    def __add__(self, other: Any) -> Self:
        """Merges the statistics of two sets of rows."""

    @staticmethod
    def rows_at_once(terms: int) -> int:
        """Returns how many rows of `terms` elements to collect from short runs before calling `of`.

        Statistics that are expensive in time and memory return a large number, so that `of` is called less often.
        """
        return 0


_Seen = TypeVar("_Seen", bound=RowStatistics)


@dataclass(frozen=True)
class RepairsWeights(TakesValues):
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
    def repair(self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Runs) -> None:
        """Corrects `weights`, or the biases of their layers, for the inputs that the layers receive in `runs`.

        `runs` holds the arguments of the function for each run.
        """

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
        runs: Runs,
        statistics: type[_Seen],
        settle: Callable[[RoundedWeight, _Seen], Sequence[Operation]],
    ) -> None:
        """Calls `settle` for each of `weights` with the `statistics` of all its rows, in program order.

        `settle` returns the constants that it changed; the later layers are computed with these.
        """
        shared = [each for each in weights if len(each.readers) > 1]
        for weight, seen in self.seen(module, shared, runs, statistics):
            settle(weight, seen)
        single = {each.readers[0][0]: each for each in weights if len(each.readers) == 1}
        steps = Lockstep(module, self.function, runs)
        exact = None if self.floats is None or not single else FloatData(self.floats, self.function, runs)
        for reader in steps if single else ():
            if (weight := single.get(reader)) is not None:
                known = None if exact is None else exact.of(origins_of(reader))
                for changed in settle(weight, _of_all(statistics, steps, weight.rows, known)):
                    steps.again(changed)

    def settled_biases(self, weights: Sequence[RoundedWeight]) -> None:
        """Tells later passes that the biases of `weights` were settled in turn with them.

        Weights with several readers are settled before the other layers change, and those changes shift their means
        again. So nothing is recorded if there are any.
        """
        if self.biases is not None and all(len(each.readers) == 1 for each in weights):
            self.biases.update(bias.op for each in weights if (bias := each.bias) is not None)

    def seen(
        self, module: ModuleOp, weights: Sequence[RoundedWeight], runs: Runs, statistics: type[_Seen]
    ) -> Sequence[tuple[RoundedWeight, _Seen]]:
        """Returns each of `weights` that is read, with the `statistics` of all its rows in the unchanged function."""
        readers = {reader: (weight, rows) for weight in weights for reader, rows in weight.readers}
        found: dict[Operation, tuple[RoundedWeight, _Seen]] = {}
        steps = Lockstep(module, self.function, runs)
        for reader in steps if readers else ():
            if reader in readers:
                weight, rows = readers[reader]
                seen = _of_all(statistics, steps, rows)
                found[weight.op] = weight, found[weight.op][1] + seen if weight.op in found else seen
        return list(found.values())


def _of_all(
    statistics: type[_Seen], steps: Lockstep, rows: ContractionRows, exact: Sequence[Array] | None = None
) -> _Seen:
    """Returns the statistics of the rows of all runs; `exact` holds the data of the float program."""
    element, runs = quantized_type(rows.data), steps.values(rows.data)
    data = (each if element is None else dequantize(each, element) for each in runs)
    return statistics_of(statistics, rows, data, exact)


def statistics_of(
    statistics: type[_Seen], rows: ContractionRows, data: Iterable[Array], exact: Iterable[Array] | None = None
) -> _Seen:
    """Returns the statistics of the rows made from `data`, the float layer input of each run.

    `exact` is the layer input of each run in the float program.
    """
    known = repeat(None) if exact is None else exact
    laid_out = (
        (rows.of_data(each), None if other is None else rows.of_data(other))
        for each, other in zip(data, known, strict=False)
    )
    return reduce(add, (statistics.of(*each) for each in _joined(laid_out, statistics.rows_at_once)))


def _joined(
    runs: Iterable[tuple[Array, Array | None]], rows_at_once: Callable[[int], int]
) -> Iterator[tuple[Array, Array]]:
    """Yields the rows of the runs, with short runs joined up to `rows_at_once` rows.

    If the rows of the float program are unknown, the second array of each pair is the first one.
    """
    group: list[tuple[Array, Array | None]] = []
    count = 0
    for run in runs:
        _, own, terms = run[0].shape
        if group and count + own > rows_at_once(terms):
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
