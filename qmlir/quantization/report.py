"""What a quantized module computes in integers, what it leaves in float, and how far off its values are.

`coverage` reads a module: operation by operation, by provenance. `layer_errors` runs two modules on data: for every key
that both have, the error of the second. Both give data; who prints it decides how.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from qmlir import registry
from qmlir.dialects.nn.elements import Kind, kind_of
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.interpret import dequantize
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.decomposition import COMPONENTS, Parts
from qmlir.ir.interfaces import MultipliesAndAdds, Quantizable
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import inputs_of
from qmlir.profiles.keys import functions_of, is_constant
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.retyping import KEEP_FLOAT

CASTS = (QuantizeCastOp, DequantizeCastOp, StorageCastOp)

# Coverage


@dataclass(frozen=True)
class Computed:
    """The operations of one kind that stand for one place of the model: the steps of an unrolled layer are one row."""

    key: str
    """The provenance, `lstm1/forget_gate/matmul`; the name of the operation where it has none."""

    name: str
    """What computes it, `nn.matmul`."""

    elements: str
    """The element types of the data operands, `i8 x i8` or `f32 x f32`."""

    is_quantized: bool

    multiply_adds: int = 0

    count: int = 1
    """How many operations there are."""

    reason: str = ""
    """Why it is left in float, empty for what is not."""


def share(part: int, whole: int) -> float:
    """A part of a whole, from 0 to 1; nothing is all of nothing."""
    return part / whole if whole else 1.0


@dataclass(frozen=True)
class Coverage:
    """Everything that a module computes on numbers, in order. Numbers of multiply-adds are for one sample."""

    rows: tuple[Computed, ...]

    @property
    def multiply_adds(self) -> int:
        """All multiply-adds of contractions."""
        return sum(row.multiply_adds for row in self.rows)

    @property
    def integer_multiply_adds(self) -> int:
        """Those that are done in integers."""
        return sum(row.multiply_adds for row in self.rows if row.is_quantized)

    @property
    def integer_share(self) -> float:
        """The share of multiply-adds that are done in integers, from 0 to 1; 1 where there are none."""
        return share(self.integer_multiply_adds, self.multiply_adds)

    @property
    def multiply_adds_by_elements(self) -> dict[str, int]:
        """Multiply-adds by the element types that are multiplied, `i8 x i8`, the most first."""
        counts: Counter[str] = Counter()
        for row in self.rows:
            counts[row.elements] += row.multiply_adds
        return {elements: number for elements, number in counts.most_common() if number}

    @property
    def operations(self) -> int:
        """How many operations compute on numbers."""
        return sum(row.count for row in self.rows)

    @property
    def quantized_operations(self) -> int:
        """How many of them compute on quantized values."""
        return sum(row.count for row in self.rows if row.is_quantized)

    @property
    def left_in_float(self) -> tuple[Computed, ...]:
        """What is left in float, the most multiply-adds first."""
        rows = (row for row in self.rows if not row.is_quantized)
        return tuple(sorted(rows, key=lambda row: -row.multiply_adds))

    def summary(self, lines: int = 10) -> str:
        """A few lines of text: the shares, then at most so many `lines` of what is left in float."""
        products = ", ".join(
            f"{100 * share(number, self.multiply_adds):.1f}% {elements}"
            for elements, number in self.multiply_adds_by_elements.items()
        )
        text = [f"{self.quantized_operations} of {self.operations} operations compute on quantized values"]
        if products:
            text.append(f"multiply-adds: {products}")
        left = self.left_in_float
        for row in left[:lines]:
            times = f" ({row.count} times)" if row.count > 1 else ""
            text.append(f"  in float: {row.key}, {row.name}{times}: {row.reason}")
        if len(left) > lines:
            text.append(f"  and {len(left) - lines} more in float")
        return "".join(f"{line}\n" for line in text)


def key_of(op: Operation) -> str:
    """The provenance of `op`, or its name where it has none."""
    return "+".join(map(str, origins_of(op))) or op.name


def float_reasons(decisions: Iterable[Decisions]) -> dict[str, str]:
    """Why operations were left in float when types were decided, by key."""
    return {key_of(op): reason for each in decisions for op, reason in each.left_in_float.items()}


def _element(value: SSAValue) -> Attribute | None:
    type_ = ranked_tensor(value.type)
    return None if type_ is None else type_.get_element_type()


def _named(element: Attribute) -> str:
    if isinstance(element, UniformQuantizedType):
        return f"{'i' if element.is_signed else 'u'}{element.bits}"
    return str(element)


def _data_elements(op: Operation) -> list[Attribute]:
    """The element types of the float and quantized data that `op` computes on."""
    values = (
        [value for value, slot in op.operands_with_slots() if slot is not None]
        if isinstance(op, Quantizable)
        else op.operands
    )
    elements = (_element(value) for value in values)
    return [each for each in elements if each is not None and kind_of(each) in (Kind.FLOAT, Kind.QUANTIZED)]


def _reason(op: Operation) -> str:
    """Why `op` is in float, as far as it can be told from the operation."""
    if not isinstance(op, Quantizable):
        return "does not say how it is quantized"
    if not op.accepts_quantized_values():
        return "has no meaning on quantized values"
    if KEEP_FLOAT in op.attributes:
        return "the recipe leaves it in float"
    return "has values that were not seen, or are not f32"


def _parts(op: Operation) -> Iterator[Operation]:
    """The parts of a composite whose `components` say their types; otherwise the operation itself."""
    decomposition = registry.decompositions().get(type(op)) if COMPONENTS in op.properties else None
    if decomposition is None:
        yield op
        return
    parts = Parts(op)
    try:
        if decomposition(op, parts) is None:
            yield op
        for part in parts.operations:
            yield from _parts(part)
    finally:
        parts.discard()


def _computed(op: Operation, reasons: Mapping[str, str]) -> Computed | None:
    elements = _data_elements(op)
    if is_constant(op) or isinstance(op, CASTS) or op.regions or not op.results or not elements:
        return None
    is_quantized = any(kind_of(each) is Kind.QUANTIZED for each in elements)
    products = op.multiply_adds() if isinstance(op, MultipliesAndAdds) else 0
    # The bias beside the data and the weights is what is added, not multiplied.
    multiplied = elements[:2] if products else elements[:1]
    key = key_of(op)
    reason = "" if is_quantized else reasons.get(key, _reason(op))
    return Computed(key, op.name, " x ".join(map(_named, multiplied)), is_quantized, products, reason=reason)


def coverage(module: ModuleOp, reasons: Mapping[str, str] | None = None) -> Coverage:
    """What `module` computes on quantized values and what in float.

    `reasons` says by key why something is in float (`float_reasons`); what it does not say is told from the operation.
    A contraction of quantized operands multiplies integers; a composite that says the types of its parts is counted as
    those parts.
    """
    rows: dict[tuple[str, str, str, str], Computed] = {}
    for function in functions_of(module):
        for op in list(function.body.walk()):
            for part in _parts(op):
                row = _computed(part, reasons or {})
                if row is None:
                    continue
                place = (row.key, row.name, row.elements, row.reason)
                known = rows.get(place)
                if known is not None:
                    row = Computed(
                        *place[:3],
                        row.is_quantized,
                        known.multiply_adds + row.multiply_adds,
                        known.count + 1,
                        row.reason,
                    )
                rows[place] = row
    return Coverage(tuple(rows.values()))


# Errors

Array = npt.NDArray[Any]
Watch = Callable[[Operation, Sequence[Any], Sequence[Any]], None]
"""Is told of each operation that has run, with the values of its operands and of its results."""

Run = Callable[[ModuleOp, Any, Watch], object]
"""Runs a module on the inputs of one batch, and tells `Watch` of every operation: the interpreter, or any engine."""


def sqnr(signal: float, noise: float) -> float:
    """`10 log10(signal / noise)` of two sums of squares, in decibels; infinite without noise."""
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


@dataclass(frozen=True)
class Error:
    """How far the values of one key are from the reference, over all data."""

    key: str
    elements: int = 0
    signal: float = 0.0
    """The sum of the squares of the reference."""

    noise: float = 0.0
    """The sum of the squares of the differences."""

    max_abs: float = 0.0
    """The largest difference."""

    is_limited: bool = False
    """Whether the value saturates on purpose, because only a relu or a clip takes it that cuts the same off."""

    @property
    def sqnr(self) -> float:
        """The ratio of signal to quantization noise in decibels."""
        return sqnr(self.signal, self.noise)

    def with_values(self, reference: Array, found: Array) -> "Error":
        """The error with some more values."""
        exact = reference.astype(np.float64)
        difference = found.astype(np.float64) - exact
        return Error(
            self.key,
            self.elements + exact.size,
            self.signal + float((exact**2).sum()),
            self.noise + float((difference**2).sum()),
            max(self.max_abs, float(np.abs(difference).max(initial=0.0))),
            self.is_limited,
        )


@dataclass(frozen=True)
class LayerErrors:
    """The errors of a module against its reference."""

    errors: tuple[Error, ...]
    """For every key that both have, in the order in which the quantized module computes them."""

    unmatched: tuple[str, ...]
    """The keys of the reference that the quantized module has no values of the same shape for."""


Place = tuple[str, str, int]
"""Provenance, kind and number of the result: what is looked up in the other module."""


def _real(value: Any, result: SSAValue) -> Array | None:
    """A float or quantized value as the floats that it stands for."""
    element = element_type(result.type)
    if isinstance(element, UniformQuantizedType):
        return dequantize(value, element)
    return value if ranked_tensor(result.type) is not None and kind_of(element) is Kind.FLOAT else None


def _places(op: Operation, results: Sequence[Any]) -> Iterator[tuple[Place, Array]]:
    """The values that `op` gives, with their places; casts and constants give none of their own."""
    if isinstance(op, CASTS) or is_constant(op) or not origins_of(op):
        return
    for number, (result, value) in enumerate(zip(op.results, results, strict=True)):
        real = _real(value, result)
        if real is not None:
            yield (key_of(op), op.name, number), real


def _is_limited(result: SSAValue) -> bool:
    """Whether a quantized value has the type of what an operation that limits it makes of it."""
    users = [use.operation for use in result.uses]
    return bool(users) and all(
        isinstance(user, Quantizable)
        and user.quantization_slots().limits_operand
        and user.operands[0] is result
        and element_type(user.results[0].type) == element_type(result.type)
        and isinstance(element_type(result.type), UniformQuantizedType)
        for user in users
    )


def _input_name(op: Operation) -> str | None:
    """The name of the module's input that `op` quantizes."""
    value = op.input if isinstance(op, QuantizeCastOp) else None
    if not isinstance(value, BlockArgument) or not isinstance(function := value.block.parent_op(), FuncOp):
        return None
    return inputs_of(function)[value.index].name


@dataclass
class _Comparison:
    """What is known so far: errors by place, and the values of the reference in the batch that goes on."""

    errors: dict[Place, Error] = field(default_factory=dict[Place, Error])
    seen: dict[Place, None] = field(default_factory=dict[Place, None])
    expected: defaultdict[Place, list[Array]] = field(default_factory=lambda: defaultdict[Place, list[Array]](list))
    turns: Counter[Place] = field(default_factory=Counter[Place])

    def begin(self) -> None:
        self.expected.clear()
        self.turns.clear()

    def on_reference(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        for place, value in _places(op, results):
            self.seen[place] = None
            self.expected[place].append(value)

    def on_quantized(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        name = _input_name(op)
        if name is not None:
            self._add((name, "", 0), operands[0], _real(results[0], op.results[0]), op.results[0])
        for place, value in _places(op, results):
            turn = self.turns[place]
            self.turns[place] += 1
            if turn < len(self.expected[place]):
                self._add(place, self.expected[place][turn], value, op.results[place[2]])

    def _add(self, place: Place, reference: Array, found: Array | None, result: SSAValue) -> None:
        if found is not None and reference.shape == found.shape:
            known = self.errors.get(place) or Error(place[0], is_limited=_is_limited(result))
            self.errors[place] = known.with_values(reference, found)

    def done(self) -> LayerErrors:
        kinds: defaultdict[str, set[str]] = defaultdict(set)
        for key, kind, _ in (*self.seen, *self.errors):
            kinds[key].add(kind)

        def text(place: Place) -> str:
            key, kind, number = place
            # As keys of profiles: the kind where one key has several, the number of the result but the first.
            return f"{key}{f':{kind}' if len(kinds[key]) > 1 and kind else ''}{f'#{number}' if number else ''}"

        errors = (replace(each, key=text(place)) for place, each in self.errors.items())
        return LayerErrors(tuple(errors), tuple(text(place) for place in self.seen if place not in self.errors))


def layer_errors(reference: ModuleOp, quantized: ModuleOp, batches: Iterable[Any], run: Run) -> LayerErrors:
    """The error of every value of `quantized` against `reference`, a float module, on the same data.

    Values are those of operations of one kind with the same provenance, so a key names one place of the model in both;
    of an unrolled layer, step by step. Lower both alike to see parts, `fc1/matmul`; what only one has is not compared.
    The inputs are there too, by name, with what quantizing them costs. `run` runs one of `batches`; the values of one
    batch of the reference are held at a time.
    """
    comparison = _Comparison()
    for batch in batches:
        comparison.begin()
        run(reference, batch, comparison.on_reference)
        run(quantized, batch, comparison.on_quantized)
    return comparison.done()
