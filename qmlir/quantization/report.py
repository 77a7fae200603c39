"""Coverage: the operations that a quantized module computes in integers, and those in float with the reasons."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, f32, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from qmlir.dialects.nn.base import Kind, kind_of, plain_type
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.dynamic.ops import STORAGES, DynamicQuantizeOp
from qmlir.dialects.nn.elementwise.ops import ComparisonOp
from qmlir.dialects.nn.normalization.ops import SoftmaxOp
from qmlir.dialects.nn.recurrent.ops import DynamicLstmOp
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import UniformFloatType, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, element_or_self, ranked_tensor, shape_of
from qmlir.ir.control_flow import reached, read_only_by
from qmlir.ir.decomposition import COMPONENTS
from qmlir.ir.diagnostics import printable
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import MultipliesAndAdds, NumericallyDiscontinuous, Quantizable
from qmlir.ir.provenance import origins_of
from qmlir.quantization.casts import fusion_refusal
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.masks import mask_arithmetic
from qmlir.quantization.profiles.keys import functions_of, is_constant
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.retyping import DYNAMIC_ROLE, KEEP_FLOAT, slots_of, trial_parts
from qmlir.text.tables import Readable, counted

# Float arithmetic for operations that compare values, or compute scales from them.
#
# Trees compare elements with thresholds. An ONNX fallback node may compare or sort elements by unknown rules, for
# example the scores and boxes of a detector. Dynamic quantization computes scales from elements. Quantizing the
# operands of these operations does not speed up any contraction. A scale that is computed at run time multiplies the
# integers of a contraction, so it should be as exact as a scale in a type.

REASON = FloatCause.EXACT_READER.reason()
AS_REQUESTED = FloatCause.FLOAT_ACTIVATIONS.reason()
DYNAMIC = FloatCause.DYNAMIC_SCALE.reason()


def read_exactly(function: FuncOp) -> Set[Operation]:
    """Returns the operations, except for contractions, whose results only operations that need exact floats read.

    Those are trees, fallback nodes, and operations that compute dynamic scales.
    """
    return read_only_by(
        function,
        lambda use: _is_reader(use.operation),
        lambda op: isinstance(op, Quantizable) and not isinstance(op, MultipliesAndAdds) and not _is_reader(op),
    )


def scales_dynamically(function: FuncOp) -> Set[Operation]:
    """Returns the operations that compute with scales of dynamic quantization, including products with constants."""
    scales: set[SSAValue] = {op.scale for op in function.walk() if isinstance(op, DynamicQuantizeOp)}
    found = set[Operation]()
    for op in function.walk():
        if not isinstance(op, Quantizable) or scales.isdisjoint(op.operands):
            continue
        found.add(op)
        makers = (value.owner for value in op.operands if value not in scales)
        if all(isinstance(maker, Operation) and is_constant(maker) for maker in makers):
            scales.update(op.results)
    return found


def _is_reader(op: Operation) -> bool:
    return op.has_trait(NumericallyDiscontinuous, value_if_unregistered=False)


# Branches and loops that depend on comparisons of quantized values. Near its threshold, such a comparison may differ
# from that in the float model. Then the quantized model takes another branch, and its error is not small.


def branch_remarks(function: FuncOp, quantized: Collection[Operation]) -> list[tuple[Operation, str]]:
    """Returns a remark on each comparison that controls a branch or loop and depends on quantized values."""
    remark = (
        "decides a branch or a loop from quantized values, so the model may take another branch or number of "
        "iterations than in float"
    )
    known = set(quantized)
    comparisons = _deciding_comparisons(function)
    return [(op, remark) for op in comparisons if not known.isdisjoint((op, *(each.owner for each in op.operands)))]


def _deciding_comparisons(function: FuncOp) -> Iterator[ComparisonOp]:
    """Yields the comparisons that conditions of `function` are computed from, each once."""
    conditions = [op.operands[0] for op in function.walk() if isinstance(op, scf.IfOp | scf.ConditionOp)]

    def before(value: SSAValue) -> Iterable[SSAValue]:
        op = value.owner
        operands = op.operands if isinstance(op, Operation) and not isinstance(op, ComparisonOp) else ()
        return [each for each in operands if element_or_self(each.type) == i1]

    return (value.owner for value in reached(conditions, before) if isinstance(value.owner, ComparisonOp))


# Coverage: the operations of a quantized module that compute in integers or in float, by provenance.
#
# A coverage is data, which its users format. `qmlir.workflows.comparison` reports the accuracy of the values.

CASTS = (QuantizeCastOp, DequantizeCastOp, StorageCastOp)

_COST = {"multiply-add": (1, 2, 4), "element": (64, 64, 128)}
"""The time of one multiply-add, and of one element of a result, for 8 bits, wider integers and float, in units of an
8-bit multiply-add. Measured on one core with AVX512-VNNI: 450 and 107 G multiply-adds per second, 13 µs and 29 µs for a
chain of five functions of 24,576 elements; the other entries are interpolated. It estimates fractions, not seconds."""


@dataclass(frozen=True)
class Computed:
    """A row of a coverage: the operations of one kind with the same provenance."""

    key: str
    """The provenance of the operations, such as `lstm1/forget_gate/matmul`; their name if they have no provenance."""

    name: str
    """The name of the operations, such as `nn.matmul`."""

    elements: str
    """The element types of the data operands, such as `i8 x i8` or `f32 x f32`."""

    is_quantized: bool
    """True if the operations compute on quantized values."""

    multiply_adds: int = 0
    """Number of multiply-adds for one sample."""

    count: int = 1
    """Number of operations, such as the steps of an unrolled layer."""

    reason: str = ""
    """The reason why the operations are in float; empty if they are quantized."""

    cost: int = 0
    """Estimated time, in units of an 8-bit multiply-add."""

    has_stored_weights: bool = False
    """True if the operations compute in float by weights that are stored as integers."""

    is_dynamic: bool = False
    """True if the operations are contractions whose data is quantized at run time."""


@dataclass(frozen=True)
class LayerImprovement:
    """The effect of an accuracy recovery pass on one layer."""

    repair: str
    """Name of the pass."""

    nodes: tuple[str, ...]
    """The nodes of the model that the layer stands for."""

    before_db: float | None = None
    """SQNR of the layer before the pass in dB, as measured by the pass; `None` if the pass does not measure it."""

    after_db: float | None = None
    """SQNR of the layer after the pass in dB; infinite if no error is left."""

    @property
    def layer(self) -> str:
        """The names of the nodes, joined by `+`."""
        return "+".join(self.nodes)

    @property
    def gain_db(self) -> float | None:
        """The gain in dB; `None` if the pass does not measure it."""
        return None if self.before_db is None or self.after_db is None else self.after_db - self.before_db


def share(part: int, whole: int) -> float:
    """Returns `part / whole`, or 1 if both are 0."""
    return part / whole if whole else 1.0


@dataclass(frozen=True, repr=False)
class Coverage(Readable):
    """The operations of a module that compute on numbers, quantized or not. Multiply-adds are for one sample."""

    rows: tuple[Computed, ...]
    """The operations in program order, with their types and cost, and the reasons for those in float."""

    masked: int = 0
    """Number of softmaxes with a mask. Operations that only compute a mask are not in `rows`."""

    @property
    def multiply_adds(self) -> int:
        """Number of multiply-adds in all contractions."""
        return sum(row.multiply_adds for row in self.rows)

    @property
    def integer_multiply_adds(self) -> int:
        """Number of multiply-adds that are computed in integers."""
        return sum(row.multiply_adds for row in self.rows if row.is_quantized)

    @property
    def integer_share(self) -> float:
        """Fraction of multiply-adds that are computed in integers, in [0, 1]; 1 if there are no multiply-adds."""
        return share(self.integer_multiply_adds, self.multiply_adds)

    @property
    def integer_cost_share(self) -> float:
        """Fraction of the estimated time that is spent on quantized values, in [0, 1]."""
        return share(sum(row.cost for row in self.rows if row.is_quantized), self.cost)

    @property
    def cost(self) -> int:
        """Estimated time of all operations, in units of an 8-bit multiply-add."""
        return sum(row.cost for row in self.rows)

    @property
    def multiply_adds_by_elements(self) -> dict[str, int]:
        """Number of multiply-adds by the element types of the operands, such as `i8 x i8`, in descending order."""
        counts: Counter[str] = Counter()
        for row in self.rows:
            counts[row.elements] += row.multiply_adds
        return {elements: number for elements, number in counts.most_common() if number}

    @property
    def operations(self) -> int:
        """Number of operations that compute on numbers."""
        return sum(row.count for row in self.rows)

    @property
    def quantized_operations(self) -> int:
        """Number of operations that compute on quantized values."""
        return sum(row.count for row in self.rows if row.is_quantized)

    @property
    def left_in_float(self) -> tuple[Computed, ...]:
        """The operations in float, in descending order of estimated time."""
        rows = (row for row in self.rows if not row.is_quantized)
        return tuple(sorted(rows, key=lambda row: -row.cost))

    def text(self, lines: int = 10) -> str:
        """Formats the coverage.

        Args:
            lines: Maximum number of operations in float to list.

        Returns:
            The fractions, then the operations in float with the reasons.
        """
        parts = self.multiply_adds_by_elements.items()
        products = ", ".join(f"{100 * share(number, self.multiply_adds):.1f}% {elements}" for elements, number in parts)
        text = [f"{self.quantized_operations} of {self.operations} operations compute on quantized values"]
        if products:
            text.append(f"multiply-adds: {products}")
        if self.masked:
            softmaxes = f"{self.masked} softmax{'es' if self.masked > 1 else ''}"
            text.append(f"masks of {softmaxes} are excluded from calibration ranges")
        if dynamic := sum(row.count for row in self.rows if row.is_dynamic):
            text.append(f"{counted(dynamic, 'contraction')} of data that is quantized at run time")
        left = [row for row in self.left_in_float if row.reason != AS_REQUESTED]
        if asked := [row for row in self.left_in_float if row.reason == AS_REQUESTED]:
            stored = sum(row.count for row in asked if row.has_stored_weights)
            weights = f", {stored} of them by weights that are stored as integers" if stored else ""
            text.append(f"{counted(sum(row.count for row in asked), 'operation')} in f32, as requested{weights}")
        if left:
            text.append(f"estimated time: {100 * self.integer_cost_share:.1f}% on quantized values")
        for row in left[:lines]:
            times = f" ({row.count} times)" if row.count > 1 else ""
            part = f"{100 * share(row.cost, self.cost):.1f}% of the time"
            text.append(f"  not quantized: {row.key}, {row.name}{times}, {part}: {row.reason}")
        if len(left) > lines:
            text.append(f"  and {len(left) - lines} more that are not quantized")
        return "".join(f"{printable(line)}\n" for line in text)


def key_of(op: Operation) -> str:
    """Returns the provenance of `op`, or its name if it has none."""
    return "+".join(map(str, origins_of(op))) or op.name


def _of_dynamic(op: Operation) -> str | None:
    """Returns the key of the contraction of dynamically quantized data that `op` computes, or `None`."""
    suffix, keys = f"/{DYNAMIC_ROLE}", [str(origin) for origin in origins_of(op)]
    is_part = bool(keys) and all(key.endswith(suffix) for key in keys)
    return "+".join(key.removesuffix(suffix) for key in keys) if is_part else None


def float_reasons(decisions: Iterable[Decisions]) -> dict[str, str]:
    """Returns the reasons why operations were left in float, by the key of the operation and by its node.

    The node is needed if the parts of a node are raised to a composite afterwards.
    """
    found: dict[str, str] = {}
    nodes: dict[str, str] = {}
    for each in decisions:
        for op, reason in each.left_in_float.items():
            found[key_of(op)] = reason
            for origin in origins_of(op):
                nodes.setdefault(origin.name, reason)
    return nodes | found


@dataclass(frozen=True)
class WidenedValues:
    """The values that a built-in rule widened to a given number of bits."""

    cause: str
    """The subject of the rule, such as `residual streams`."""

    bits: int
    """Number of bits of the widened values."""

    values: int
    """Number of widened values."""

    def text(self) -> str:
        """Formats the rule as one line of the summary.

        Returns:
            The bits, the rule, and the number of values.
        """
        return f"{self.bits} bits: {self.cause} ({counted(self.values, 'value')})"


def widened(recipe: Recipe, decisions: Iterable[Decisions]) -> tuple[WidenedValues, ...]:
    """Returns the values that built-in rules widened, in descending order of the number of values per rule."""
    counts: Counter[tuple[str, int]] = Counter()
    for each in decisions:
        for value, type_ in each.values.items():
            reason = each.reasons.get(value)
            cause = "" if reason is None else recipe.widened(reason.op, reason.slot)
            if cause and reason is not None and reason.choice is not None and reason.choice.storage.bits == type_.bits:
                counts[cause, type_.bits] += 1
    return tuple(WidenedValues(cause, bits, values) for (cause, bits), values in counts.most_common())


def element_text(element: Attribute) -> str:
    """Formats an element type for tables: `i8` for stored 8-bit integers, `f32` for a profiled float."""
    if isinstance(element, UniformQuantizedType):
        return f"{'i' if element.is_signed else 'u'}{element.bits}"
    return str(element.storage if isinstance(element, UniformFloatType) else plain_type(element))


_DYNAMIC_DATA = UniformQuantizedType.per_tensor(STORAGES["u8"], f32, 1.0)
"""The type of the data of `nn.dynamic_lstm` after it was quantized."""


def _data_elements(op: Operation) -> list[Attribute]:
    """Returns the element types of the float and quantized data that `op` reads."""
    positions = slots_of(op) if isinstance(op, Quantizable) else range(len(op.operands))
    if isinstance(op, DynamicLstmOp):
        return [_DYNAMIC_DATA, element_of(op.weight)]
    types = (ranked_tensor(op.operands[position].type) for position in positions)
    elements = (type_.get_element_type() for type_ in types if type_ is not None)
    return [each for each in elements if kind_of(each) in (Kind.FLOAT, Kind.QUANTIZED)]


def _stored_weights(op: Operation) -> dict[int, Attribute]:
    """Returns the types of the constants of a float operation that are dequantized, by position in its data."""
    values = [value for value, slot in op.operands_with_slots() if slot] if isinstance(op, Quantizable) else []
    casts = {at: value.owner for at, value in enumerate(values) if isinstance(value.owner, DequantizeCastOp)}
    return {at: element_of(cast.input) for at, cast in casts.items() if isinstance(cast.input.owner, ConstantOp)}


def _reason(op: Operation) -> str:
    """Returns why `op` is in float, as far as the operation alone tells."""
    if not isinstance(op, Quantizable):
        return FloatCause.NOT_QUANTIZABLE.reason()
    if not op.accepts_quantized_values():
        return op.float_reason()
    if KEEP_FLOAT in op.attributes:
        return FloatCause.EXCLUDED.reason()
    return FloatCause.NO_SAMPLE.reason()


def _unfused(op: Operation) -> str | None:
    """Returns why an operation that computes on integers only if fused with casts is not fused."""
    is_candidate = isinstance(op, Quantizable) and not op.accepts_quantized_values()
    return fusion_refusal(op) if is_candidate else None


def _parts(op: Operation) -> Iterator[tuple[Operation, int]]:
    """Yields the parts of a composite with types in `components`, or the operation itself, and how often each runs."""
    with trial_parts(op) if COMPONENTS in op.properties else nullcontext() as parts:
        if parts is None:
            yield op, 1
            return
        steps = max(shape_of(op.operands[0])[0], 1) if parts.is_excerpt else 1  # a dynamic length counts as one step
        repeated = {role for role, number in Counter(parts.roles).items() if parts.is_excerpt and number > 1}
        seen: set[str] = set()
        for role, part in zip(parts.roles, parts.operations, strict=True):
            if role not in repeated or role not in seen:
                yield from ((each, count * (steps if role in repeated else 1)) for each, count in _parts(part))
            seen.add(role)


def _computed(op: Operation, reasons: Mapping[str, str], times: int) -> Computed | None:
    elements = _data_elements(op)
    if is_constant(op) or isinstance(op, CASTS) or op.regions or not op.results or not elements:
        return None
    is_quantized = any(kind_of(each) is Kind.QUANTIZED for each in elements)
    products = op.multiply_adds() if isinstance(op, MultipliesAndAdds) else 0
    # After the data and the weights comes the bias, which is added, not multiplied.
    multiplied = elements[:2] if products else elements[:1]
    dynamic = key_of(op) if isinstance(op, DynamicLstmOp) else _of_dynamic(op)
    if dynamic is not None and not products:
        return None
    key = dynamic or key_of(op)
    told = (reasons[each] for each in (key, *map(str, origins_of(op))) if each in reasons)
    reason = "" if is_quantized else _unfused(op) or next(told, None) or _reason(op)
    stored = _stored_weights(op)
    kinds = " x ".join(element_text(stored.get(at, each)) for at, each in enumerate(multiplied))
    cost = _cost(op, multiplied, products)
    return Computed(
        key,
        op.name,
        kinds,
        is_quantized,
        times * products,
        times,
        reason,
        times * cost,
        has_stored_weights=bool(stored),
        is_dynamic=dynamic is not None,
    )


def _joined(one: Computed, other: Computed) -> Computed:
    sums = {name: getattr(one, name) + getattr(other, name) for name in ("multiply_adds", "count", "cost")}
    return replace(one, **sums)


def _cost(op: Operation, elements: Iterable[Attribute], products: int) -> int:
    """Returns the estimated time; an unknown size counts as 1."""
    bits = [each.bits for each in elements if isinstance(each, UniformQuantizedType)]
    column = 2 if not bits else 1 if max(bits) > 8 else 0
    sizes = (shape_of(result) for result in op.results if ranked_tensor(result.type) is not None)
    count = sum(prod(max(size, 1) for size in shape) for shape in sizes)
    return products * _COST["multiply-add"][column] + count * _COST["element"][column]


def coverage(module: ModuleOp, reasons: Mapping[str, str] | None = None) -> Coverage:
    """Returns the operations that `module` computes on quantized values, and those that it computes in float.

    `reasons` maps keys to the reasons why operations are in float (see `float_reasons`); for other operations the
    reason is derived from the operation. A contraction counts as integer if its operands are quantized. A composite
    with types for its parts is counted as these parts. Operations that quantize data at run time, or rescale the sums
    of such data, count as part of their contraction.
    """
    rows: dict[tuple[str, str, str, str], Computed] = {}
    masked = 0
    for function in functions_of(module):
        masking = mask_arithmetic(function)
        for op in list(function.body.walk()):
            masked += isinstance(op, SoftmaxOp) and op.mask is not None
            for part, times in _parts(op) if op not in masking else ():
                row = _computed(part, reasons or {}, times)
                if row is not None:
                    key = (row.key, row.name, row.elements, row.reason)
                    rows[key] = _joined(rows[key], row) if key in rows else row
    dynamic = {row.key for row in rows.values() if row.is_dynamic}  # whose last operation has the same key
    return Coverage(tuple(row for row in rows.values() if row.is_dynamic or row.key not in dynamic), masked)
