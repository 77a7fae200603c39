"""Fake quantization: the arithmetic of the integer program on floats that hold its integers, with gradients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from xdsl.dialects.builtin import BoolAttr, FloatAttr, IntegerAttr, TensorType, f32, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import Mode, Ties
from qmlir.dialects.calib.ops import RowNormOp as IntegerRowNormOp
from qmlir.dialects.calib.ops import StraightThroughOp
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import (
    BiasedContractionOp,
    ContractionOp,
    ConvTransposeOp,
    EinsumOp,
    MatMulOp,
    WindowedContractionOp,
)
from qmlir.dialects.nn.elementwise.ops import (
    AddOp,
    CastOp,
    ClipOp,
    ComparisonOp,
    EqualOp,
    FloorOp,
    MaxOp,
    MinOp,
    MulOp,
    RoundOp,
    SignOp,
    WhereOp,
)
from qmlir.dialects.nn.expansion.ops import TileOp
from qmlir.dialects.nn.normalization import ops
from qmlir.dialects.nn.normalization.ops import RowNormOp
from qmlir.dialects.nn.pooling.ops import AveragePoolOp, GlobalAveragePoolOp
from qmlir.dialects.nn.reduction.ops import ArgExtremeOp, ReduceMeanOp, ReduceSumOp
from qmlir.dialects.nn.requantize import REQUANTIZE, Accumulator, quantized_type, ratios
from qmlir.dialects.nn.result_shapes import covered_elements
from qmlir.dialects.nn.terms import Site, Term
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.interfaces import volume
from qmlir.quantization.signed_weights import SIGNED

# What rounds and passes gradients on, in operations of `nn`: the nearest integers, and the signs of binary weights.


def straight_through(hard: Term, soft: Term) -> Term:
    """`hard`, with the gradient of `soft`."""
    op = StraightThroughOp.create(operands=[hard.value, soft.value], result_types=[hard.value.type])
    return Term(hard.at, hard.at.append(op).result)


def rounded(term: Term, ties: Ties = Ties.EVEN) -> Term:
    """The nearest integers; gradients pass."""
    return straight_through(term.apply(RoundOp) if ties is Ties.EVEN else (term + 0.5).apply(FloorOp), term)


def signs_of(real: Term, scale: Term) -> Term:
    """The codes -1 and 1 of binary weights `scale * sign(real)`, 1 of 0.

    The gradient of each weight passes to `real` as it is (Courbariaux et al., BinaryConnect, 2015), and that of the
    scale is the sum of those beside their signs.
    """
    at = real.at
    hard = (real.apply(SignOp) * 2.0 + 1.0).apply(MinOp, 1.0).apply(MaxOp, -1.0)
    fixed = straight_through(scale, Term(at, at.constant(np.ones(shape_of(scale.value)), real.value)))
    return straight_through(hard, real / fixed)


# A norm of rows of integers, on floats that hold them: the numbers of its root are made of the scale in each run.


def simulated_rows(at: Site, op: ops.RowNormOp, integers: Term, scale: SSAValue) -> Term:
    """What `op` makes of integers `q - z` of one `scale`, in f32, before it is quantized.

    The steps are those of `qmlir.dialects.nn.normalization.evaluate`.
    """
    sizes = shape_of(op.operands[0])
    first, grouped = op.first_axis if isinstance(op, ops.TrailingNormOp) else 2, sizes
    parameters = [Term(at, value) for value in op.operands[1:]]
    if isinstance(op, ops.ScaledChannelNormOp):
        batch, channels, *image = sizes
        if isinstance(op, ops.GroupNormOp) and (groups := op.groups.value.data) != channels:
            grouped = (batch, groups, channels // groups, *image)
        parameters = [Term(at, at.reshaped(each.value, [channels, *(1 for _ in image)])) for each in parameters]
    rows = IntegerRowNormOp.create(
        operands=[_shaped(at, integers.value, grouped), scale],
        result_types=[TensorType(f32, grouped)],
        properties={
            "axis": IntegerAttr(first, i64), "bits": IntegerAttr(op.row_bounds().bits, i64),
            "epsilon": op.epsilon, "centred": BoolAttr.from_bool(op.IS_CENTRED),
        },
    )  # fmt: skip
    found = Term(at, _shaped(at, at.append(rows).result, sizes))
    for operation, parameter in zip((MulOp, AddOp), parameters, strict=False):  # the scale, then the bias
        found = found.apply(operation, parameter)
    return found


def _shaped(at: Site, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
    return value if shape_of(value) == tuple(sizes) else at.reshaped(value, sizes)


# Quantized values as floats that hold their integers: the arithmetic of the integer program, in operations of `nn`.
#
# A value of scale `s` and zero point `z` becomes the floats `q - z`, exact, beside its scale, which is a value: it
# may be learned. The formulas are those of `qmlir.dialects.nn.quantized_evaluators`, step by step, so that every
# integer is the one that the quantized module computes; a zero may have a sign here until it is dequantized. Where
# the formula depends on which scales are the same, both are computed, and the scales of the run choose. Rounding
# passes gradients on (`calib.straight_through`), and a clip those of what lies inside after rounding: the gradient
# of a scale is then that of LSQ (Esser et al., 2020), and of the logarithm of a threshold that of TQT (Jain et al.,
# 2019).
#
# Sums of products are exact in f32 while they are below 2^24, and are computed in f64 elsewhere.

EXACT_IN_F32 = 1 << 24
"""Up to here f32 holds every integer."""

SOFT = "quant.soft"
"""On the cast of a constant whose rounding is learned: it holds codes, without the zero point, floats among them."""

Scales = Mapping[SSAValue, SSAValue]
"""The f32 scales of quantized values that have some of their own: one number, or one for each index of an axis."""


def keeps_sums(value: SSAValue) -> bool:
    """Whether a value is an accumulator, or one that was moved: its integers are exact sums, of their scale."""
    op, element = value.owner, quantized_type(value)
    if not isinstance(op, NnOp) or element is None or element.bits < 32 or np.any(element.zero_points):
        return False
    if op.quantization_slots().shares_parameters:
        return any(keeps_sums(operand) for operand in op.operands)
    return op.accumulator is not None and bool(np.all(ratios(op) == 1))


def is_bias(value: SSAValue) -> bool:
    """Whether all users add `value` to sums, to whose scale it is quantized."""
    return sums_beside(value) is not None


def sums_beside(value: SSAValue) -> SSAValue | None:
    """The first sums that `value` is added to, where all its users do that, and its own scale is free to be theirs."""
    found = [sums_of(use) for use in value.uses]
    return None if None in found or not _is_cast(value) else next(iter(found), None)


def _is_cast(value: SSAValue) -> bool:
    """Return `True` for a constant or a value that was quantized, which may have been moved, and not computed with."""
    op = value.owner
    if isinstance(op, NnOp) and op.quantization_slots().shares_parameters:
        return any(map(_is_cast, op.operands))
    return isinstance(op, ConstantOp | QuantizeCastOp)


def sums_of(use: Use) -> SSAValue | None:
    """The sums that an operand is added to; `None` where it is none."""
    op = use.operation
    if isinstance(op, BiasedContractionOp):
        is_bias = op.bias is not None and use.index == list(op.operands).index(op.bias)
        return op.result if is_bias and not _has_blocks(op.weight) else None
    if not isinstance(op, AddOp):
        return None
    own, other = op.operands[use.index], op.operands[1 - use.index]
    return other if keeps_sums(other) and _are_alike(own, other) else None


def _has_blocks(value: SSAValue) -> bool:
    element = quantized_type(value)
    return element is not None and element.granularity is Granularity.BLOCK


def products_of(sums: SSAValue) -> Operation:
    """The operation whose sums `sums` are, before they were moved or added to."""
    op = sums.owner
    assert isinstance(op, NnOp)
    source = next((operand for operand in op.operands if keeps_sums(operand)), None)
    return op if op.accumulator is Accumulator.PRODUCT or source is None else products_of(source)


def _are_alike(one: SSAValue, other: SSAValue) -> bool:
    """Whether two values have the same scales and widths, along whichever axes."""
    first, second = quantized_type(one), quantized_type(other)
    return (
        first is not None
        and second is not None
        and first.bits == second.bits
        and np.array_equal(first.scales.reshape(-1), second.scales.reshape(-1))
    )


@dataclass(frozen=True)
class Simulated:
    """The integers `q - z` of a quantized value, in floats, and the scale of each: one, or one an index of an axis."""

    integers: SSAValue
    scale: SSAValue
    element: UniformQuantizedType

    def floats(self, at: Site, element: Attribute) -> Term:
        """The integers in floats of type `element`."""
        return as_type(Term(at, self.integers), element)

    def beside(self, at: Site) -> Term:
        """The scale in a shape that broadcasts to the integers."""
        return beside(Term(at, self.scale), self.element, len(shape_of(self.integers)))

    def real(self, at: Site) -> Term:
        """What the values stand for, as `quant.dcast` computes it: an integer 0 has no sign, a float may have one."""
        return self.beside(at) * (self.floats(at, f32) + 0.0)

    def stored(self, at: Site) -> Term:
        """The integers that memory holds, with the zero point."""
        zero_points = np.asarray(self.element.zero_points, np.float64)
        if not zero_points.any():
            return Term(at, self.integers)
        numbers = Term(at, at.constant(zero_points, self.integers))
        rank = len(shape_of(self.integers))
        return Term(at, self.integers) + (numbers if zero_points.size == 1 else beside(numbers, self.element, rank))

    def largest(self) -> int:
        """The largest magnitude of the integers."""
        low, high = centred_limits(self.element)
        return int(max(np.abs(low).max(), np.abs(high).max()))


def centred_limits(element: UniformQuantizedType) -> tuple[Array, Array]:
    """The limits of `q - z`."""
    zero_points = np.asarray(element.zero_points, np.float64)
    return element.storage_min - zero_points, element.storage_max - zero_points


def beside(numbers: Term, element: UniformQuantizedType, rank: int) -> Term:
    """Numbers of an element type, one, or one for each index of an axis or block, as they broadcast to `rank` axes."""
    match element.granularity:
        case Granularity.TENSOR:
            return numbers
        case Granularity.AXIS:
            return along(numbers, element.axis, rank)
        case Granularity.BLOCK:
            return _of_blocks(numbers, dict(zip(element.axes, element.block_sizes, strict=True)))


def _of_blocks(numbers: Term, block_sizes: Mapping[int, int]) -> Term:
    """Numbers of blocks, each as often as its block is long along each axis."""
    at, counts = numbers.at, shape_of(numbers.value)
    sizes = [block_sizes.get(axis, 1) for axis in range(len(counts))]
    if all(size == 1 for size in sizes):
        return numbers
    pairs = list(zip(counts, sizes, strict=True))
    parted = at.reshaped(numbers.value, [each for count, _ in pairs for each in (count, 1)])
    repeated = at.expanded_to(parted, [each for pair in pairs for each in pair])
    return Term(at, at.reshaped(repeated, [count * size for count, size in pairs]))


def along(numbers: Term, axis: int, rank: int) -> Term:
    """A list of numbers in a shape that broadcasts to `rank` axes, one for each index of `axis`."""
    sizes = [1] * rank
    sizes[axis] = shape_of(numbers.value)[0]
    return Term(numbers.at, numbers.at.reshaped(numbers.value, sizes))


def as_type(term: Term, element: Attribute) -> Term:
    """`term` in another float type."""
    if element_of(term.value) == element:
        return term
    cast = term.at.add(CastOp, term.value, result_types=[TensorType(element, shape_of(term.value))])
    return Term(term.at, cast.result)


def _saturated(term: Term, element: UniformQuantizedType) -> Term:
    """Whole numbers inside the limits of `q - z`; gradients pass where they are.

    One clip where there is one pair of limits. Those of weights by channels are a max and a min, which pass half of the
    gradient at a limit: half of what was rounded to it lies outside.
    """
    low, high = centred_limits(element)
    kind = f32 if element.bits <= 16 else f64  # f32 does not hold limits of 32 bits
    term = as_type(term, kind)
    is_one = np.all(low == low.flat[0]) and np.all(high == high.flat[0])
    if low.size == 1 or (element.bits > 16 and is_one):
        least, most = (FloatAttr(float(each.flat[0]), kind) for each in (low, high))
        clip = ClipOp.create(
            operands=[term.value], result_types=[term.value.type], properties={"minimum": least, "maximum": most}
        )
        return Term(term.at, term.at.append(clip).result)
    rank = len(shape_of(term.value))
    limits = [Term(term.at, term.at.constant(each.flat[0] if is_one else each, term.value)) for each in (low, high)]
    least, most = limits if is_one else [beside(each, element, rank) for each in limits]
    return term.apply(MaxOp, least).apply(MinOp, most)


def _chosen(left: Term, right: Term, equal: Term, other: Term) -> Term:
    """`equal` where `left` and `right` are the same number, `other` elsewhere."""
    is_equal = left.at.add(EqualOp, left.value, right.value).result
    return Term(left.at, left.at.add(WhereOp, is_equal, equal.value, other.value).result)


def _summed_axes(at: Site, op: ContractionOp, element: UniformQuantizedType) -> tuple[int, int]:
    """The axis of the data and that of the weights along which weights of type `element` have blocks.

    Raises `DiagnosticError` for weights that have them along several, or in groups.
    """
    match op:
        case MatMulOp():
            left, right = len(shape_of(op.lhs)), len(shape_of(op.rhs))
            axes = (left - 1, right - 1 if op.is_rhs_transposed or right == 1 else right - 2)
        case ConvTransposeOp():
            axes = (1, 0)
        case _:
            axes = (1, 1)
    channels = op.quantization_slots().weight_channel_axis
    blocked = [axis for axis in element.axes if axis != channels]
    if blocked != [axes[1]]:
        named = " and ".join(map(str, blocked))
        raise at.error(
            f"cannot be trained: weights must be quantized in blocks along axis {axes[1]} only, but have blocks "
            f"along {named}"
        )
    if isinstance(op, WindowedContractionOp) and op.group_count > 1:
        raise at.error(f"cannot be trained: block-wise weights require one group, but got {op.group_count}")
    return axes


def _terms(op: ContractionOp) -> int:
    """How many products a sum of `op` has at most."""
    if isinstance(op, ConvTransposeOp):  # of which some have fewer, by their places between the strides
        weight = shape_of(op.weight)
        return volume(weight) // (weight[1] * op.group_count)
    return op.multiply_adds() // max(volume(shape_of(op.results[0])), 1)


@dataclass(frozen=True)
class _Sums:
    """The exact integers of an operation."""

    integers: Term
    scale: Term
    """In a shape that broadcasts to them."""

    count: Array = field(default_factory=lambda: np.ones((), np.int64))
    """What a mean divides by."""

    largest: int | None = None
    """A bound of the magnitude of the integers, where one is known."""


@dataclass
class Simulation:
    """Rewrites operations on quantized values, in their order; `scales` has those of values that are no accumulator."""

    scales: Scales
    found: dict[SSAValue, Simulated] = field(default_factory=dict[SSAValue, Simulated])
    replaced: list[Operation] = field(default_factory=list[Operation])

    def take(self, op: Operation) -> None:
        """Put what computes on floats before `op`, if that has quantized values."""
        if not any(quantized_type(value) is not None for value in (*op.operands, *op.results)):
            return
        at = Site(op, lambda made: Rewriter.insert_op(made, InsertPoint.before(op)))
        match op:
            case QuantizeCastOp():
                if SOFT in op.attributes:
                    self._keep(op.result, Term(at, op.input))
                elif SIGNED in op.attributes:
                    self._keep(op.result, signs_of(Term(at, op.input), self._own_scale(at, op.result)))
                elif not is_bias(op.result):
                    self._keep(op.result, self._quantized(Term(at, op.input), op.result))
            case DequantizeCastOp():
                op.result.replace_all_uses_with(self.found[op.input].real(at).value)
            case StorageCastOp() if op.input in self.found:
                stored = self.found[op.input].stored(at)
                kind = TensorType(element_of(op.result), shape_of(op.result))
                op.result.replace_all_uses_with(at.add(CastOp, stored.value, result_types=[kind]).result)
            case ConstantOp():
                self._constant(at, op)
            case NnOp():
                self._compute(at, op)
            case StorageCastOp():
                raise at.error(
                    "cannot be trained: it reads plain integers, which have no gradient; pass a model in QDQ form"
                )
            case _:
                raise at.error("cannot be trained: it has no float counterpart")
        self.replaced.append(op)

    def finish(self) -> None:
        """Take away what was rewritten."""
        for op in reversed(self.replaced):
            Rewriter.erase_op(op)

    # Values

    def _keep(
        self, value: SSAValue, integers: Term, scale: SSAValue | None = None, largest: int = EXACT_IN_F32
    ) -> None:
        """Take `integers`, of a magnitude of at most `largest`, for `value`."""
        element = quantized_type(value)
        assert element is not None
        integers = as_type(integers, f32 if element.bits <= 16 or largest < EXACT_IN_F32 else f64)
        integers.value.name_hint = value.name_hint
        self.found[value] = Simulated(integers.value, self.scales[value] if scale is None else scale, element)

    def _own_scale(self, at: Site, value: SSAValue) -> Term:
        element = quantized_type(value)
        assert element is not None
        return beside(Term(at, self.scales[value]), element, len(shape_of(value)))

    def _quantized(self, real: Term, value: SSAValue) -> Term:
        """The integers that `quant.qcast` makes of `real`."""
        element = quantized_type(value)
        assert element is not None
        return _saturated(rounded(real / self._own_scale(real.at, value)), element)

    def _constant(self, at: Site, op: ConstantOp) -> None:
        stored, element = constant_array(op.result), quantized_type(op.result)
        if stored is None or element is None:
            raise at.error("cannot be trained: its elements must be constant")
        if is_bias(op.result):
            return
        _, zero_points = broadcast_parameters(element, stored.shape)
        like, dtype = (f32, np.float32) if element.bits <= 16 else (f64, np.float64)
        held = ConstantOp.of((stored.astype(np.int64) - zero_points).astype(dtype), TensorType(like, stored.shape))
        self._keep(op.result, Term(at, at.append(held).result))

    # Operations

    def _compute(self, at: Site, op: NnOp) -> None:
        attribute = op.requantize
        mode, ties = (Mode.F32, Ties.EVEN) if attribute is None else (attribute.mode, attribute.ties)
        if mode not in (Mode.F32, Mode.SHIFT) or ties is Ties.AWAY:
            named = f"{mode}:{ties}" if mode is Mode.SHIFT else mode
            raise at.error(f"cannot be trained: requantization must be f32, shift:even or shift:up, but got {named}")
        if op.quantization_slots().shares_parameters:
            self._move(at, op)
        elif isinstance(op, RowNormOp):
            data = self.found[op.operands[0]]
            normalized = simulated_rows(at, op, data.floats(at, f32), data.scale)
            self._keep(op.results[0], self._quantized(normalized, op.results[0]))
        elif isinstance(op, ContractionOp) and _has_blocks(op.operands[1]):
            self._sum_blocks(at, op)
        elif isinstance(op, ComparisonOp | ArgExtremeOp):
            self._through_reals(at, op, f64)
        elif op.accumulator is None:
            self._through_reals(at, op, f32)
        elif op.accumulator is Accumulator.COMMON and not self._is_common(op):
            if mode is Mode.SHIFT:
                self._through_reals(at, op, f64, ties)
            else:
                self._by_scales(at, op)
        else:
            self._rescale(op, self._sums(at, op), mode, ties)

    def _cloned(self, at: Site, op: NnOp, operands: Sequence[SSAValue | None], element: Attribute) -> Operation:
        """`op` on other operands, without those that are `None`, and with float results of a type."""
        kept = [value for value in operands if value is not None]
        properties = {name: each for name, each in op.properties.items() if name != REQUANTIZE}
        if len(kept) < len(operands) and "operandSegmentSizes" in properties:
            raise at.error("cannot be trained: its optional operands are not supported")
        types = [
            result.type if quantized_type(result) is None else TensorType(element, shape_of(result))
            for result in op.results
        ]
        made = type(op).create(operands=kept, result_types=types, properties=properties, attributes=dict(op.attributes))
        at.insert(made)
        for old, new in zip(op.results, made.results, strict=True):
            if quantized_type(old) is None:
                old.replace_all_uses_with(new)
        return made

    def _integers(self, at: Site, op: NnOp, element: Attribute) -> list[SSAValue | None]:
        """The operands, those that are quantized as integers in floats of type `element`."""
        return [self.found[value].floats(at, element).value if value in self.found else value for value in op.operands]

    def _widest(self, op: NnOp) -> Attribute:
        widths = {element_of(self.found[value].integers) for value in op.operands if value in self.found}
        return f64 if f64 in widths else f32

    def _move(self, at: Site, op: NnOp) -> None:
        """Movement, pools of the largest, choice: the integers go where the values go."""
        element = self._widest(op)
        made = self._cloned(at, op, self._integers(at, op, element), element)
        first = next(self.found[value] for value in op.operands if value in self.found)
        for old, new in zip(op.results, made.results, strict=True):
            kind = quantized_type(old)
            if kind is None:
                continue
            if kind.granularity is not Granularity.TENSOR and shape_of(first.scale) != (len(kind.scales),):
                raise at.error("cannot be trained: it moves slices with separate quantization parameters")
            self._keep(old, Term(at, new), first.scale)

    def _by_scales(self, at: Site, op: NnOp) -> None:
        """A sum, difference or extremum of two operands: of integers if both have the same scale in a run."""
        known = [self.found[value] for value in op.operands]
        self._through_reals(at, op, f32)
        if any(each.element.granularity is not Granularity.TENSOR for each in known):
            return
        result = op.results[0]
        by_reals = self.found[result]
        self._rescale(op, self._sums(at, op), Mode.F32, Ties.EVEN)
        left, right = (Term(at, each.scale) for each in known)
        chosen = _chosen(left, right, Term(at, self.found[result].integers), Term(at, by_reals.integers))
        self._keep(result, chosen, by_reals.scale)

    def _through_reals(self, at: Site, op: NnOp, element: Attribute, ties: Ties = Ties.EVEN) -> None:
        operands: list[SSAValue | None] = []
        for value in op.operands:
            known = self.found.get(value)
            if known is None:
                operands.append(value)
            elif element is f32:
                operands.append(known.real(at).value)
            else:  # the product of a scale of 24 bits and an integer of 29 is exact
                operands.append((as_type(known.beside(at), f64) * known.floats(at, f64)).value)
        made = self._cloned(at, op, operands, element)
        for old, new in zip(op.results, made.results, strict=True):
            if quantized_type(old) is None:
                continue
            kind = quantized_type(old)
            assert kind is not None
            held = self.scales.get(old)
            if held is None:  # an accumulator of sums whose scales are no longer the same: it has that of the first
                held = next(self.found[value].scale for value in op.operands if keeps_sums(value))
            scale = as_type(beside(Term(at, held), kind, len(shape_of(old))), element)
            self._keep(old, _saturated(rounded(Term(at, new) / scale, ties), kind), held)

    def _is_common(self, op: NnOp) -> bool:
        # A bias has the scale of all sums that it is added to; those of the steps of a recurrent layer are many values.
        if any(map(is_bias, op.operands)):
            return True
        scales = {self.found[value].scale for value in op.operands if value in self.found}
        return len(scales) == 1

    def _sums(self, at: Site, op: NnOp) -> _Sums:
        for value in op.operands:
            if op.accumulator is Accumulator.COMMON and value not in self.found:
                self._take_bias(at, op, value)
        rank, known = len(shape_of(op.results[0])), [self.found.get(value) for value in op.operands]
        if op.accumulator is not Accumulator.PRODUCT:
            operand = next(each for each in known if each is not None)
            if (
                operand.element.granularity is not Granularity.TENSOR
                and not isinstance(op, BiasedContractionOp)
                and shape_of(op.results[0]) != shape_of(op.operands[0])
            ):
                raise at.error("cannot be trained: it adds values with separate quantization parameters")
            if isinstance(op, AveragePoolOp | GlobalAveragePoolOp | ReduceMeanOp):
                return self._sums_of_mean(at, op, operand)
            if isinstance(op, ClipOp):  # its bounds are those of the result
                return _Sums(operand.floats(at, self._widest(op)), operand.beside(at))
            is_wide = isinstance(op, ReduceSumOp) or any(each is not None and each.element.bits > 16 for each in known)
            element = f64 if is_wide else self._widest(op)
            made = self._cloned(at, op, self._integers(at, op, element), element)
            return _Sums(Term(at, made.results[0]), operand.beside(at))
        if isinstance(op, EinsumOp):
            raise at.error("cannot be trained in float; exclude it with --exclude")
        x, w = (each for each in known[:2] if each is not None)
        terms = 1
        if isinstance(op, ContractionOp):
            terms = _terms(op)
        largest = terms * x.largest() * w.largest()
        element = f32 if largest < EXACT_IN_F32 else f64
        operands: list[SSAValue | None] = [each.floats(at, element).value for each in (x, w)]
        made = self._cloned(at, op, operands, element)
        sums = Term(at, made.results[0])
        if not isinstance(op, ContractionOp):
            return _Sums(sums, x.beside(at) * w.beside(at))
        scale = Term(at, x.scale) * Term(at, w.scale)
        if isinstance(op, ConvTransposeOp) and shape_of(scale.value) and op.group_count > 1:
            repeats = op.output_channels() // shape_of(scale.value)[0]
            if repeats > 1:
                scale = Term(at, at.add(TileOp, scale.value, repeats=[repeats]).result)
        if isinstance(op, BiasedContractionOp) and op.bias is not None:
            sums = as_type(sums, f64) + self._laid(op, as_type(self._bias(at, op.bias, scale), f64), rank)
            return _Sums(sums, self._laid(op, scale, rank))
        return _Sums(sums, self._laid(op, scale, rank), largest=largest)

    def _sum_blocks(self, at: Site, op: ContractionOp) -> None:
        """The exact sum of each block by its scale, added up in f32 in the order of the blocks; the bias comes last."""
        x, w = (self.found[value] for value in op.operands[:2])
        data_axis, axis = _summed_axes(at, op, w.element)
        size = dict(zip(w.element.axes, w.element.block_sizes, strict=True))[axis]
        length = shape_of(w.integers)[axis]
        like = f32 if _terms(op) * size // length * x.largest() * w.largest() < EXACT_IN_F32 else f64
        integers, weights = (each.floats(at, like).value for each in (x, w))
        scales, rank = w.beside(at).value, len(shape_of(op.results[0]))
        parts: list[Term] = []
        for start in range(0, length, size):
            factors = [
                at.sliced(integers, data_axis, start, start + size),
                at.sliced(weights, axis, start, start + size),
            ]
            sums = Term(at, self._cloned(at, op, factors, like).results[0])
            scale = Term(at, x.scale) * self._of_channels(op, Term(at, at.sliced(scales, axis, start, start + 1)), rank)
            parts.append(scale * as_type(sums, f32))
        total = reduce(Term.__add__, parts)
        if isinstance(op, BiasedContractionOp) and op.bias is not None:
            total = total + self._of_channels(op, self.found[op.bias].real(at), rank)
        element = quantized_type(op.results[0])
        assert element is not None
        self._keep(op.results[0], _saturated(rounded(total / self._own_scale(at, op.results[0])), element))

    def _of_channels(self, op: ContractionOp, numbers: Term, rank: int) -> Term:
        """Numbers that differ by output channels alone, in the layout of weights or of a bias, beside the result."""
        at, shape = numbers.at, shape_of(numbers.value)
        if isinstance(op, MatMulOp):
            turned = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
            return (
                Term(at, at.transposed(numbers.value, turned)) if op.is_rhs_transposed and len(shape) > 1 else numbers
            )
        return self._laid(op, Term(at, at.reshaped(numbers.value, [volume(shape)])), rank)

    @staticmethod
    def _laid(op: ContractionOp, numbers: Term, rank: int) -> Term:
        """One number, or one for each channel, in a shape that broadcasts to the result."""
        if not shape_of(numbers.value):
            return numbers
        axis = op.quantization_slots().result_channel_axis
        assert axis is not None
        return along(numbers, axis, rank)

    def _take_bias(self, at: Site, op: NnOp, bias: SSAValue) -> None:
        """The integers of a bias that `op` adds to sums."""
        sums, element = next(self.found[value] for value in op.operands if value in self.found), quantized_type(bias)
        assert element is not None
        scale = beside(Term(at, sums.scale), element, len(shape_of(bias)))
        self._keep(bias, self._bias(at, bias, scale), sums.scale)

    def _bias(self, at: Site, bias: SSAValue, scale: Term) -> Term:
        """The integers of a bias in steps of the sums, which broadcast to it."""
        element = quantized_type(bias)
        assert element is not None
        if isinstance(bias.owner, QuantizeCastOp):
            quotient = Term(at, bias.owner.input) / scale
            return _saturated(as_type(rounded(quotient), f64), element)
        stored = constant_array(bias)
        assert stored is not None
        held = ConstantOp.of(stored.astype(np.float64), TensorType(f64, stored.shape))
        return Term(at, at.append(held).result)

    def _sums_of_mean(self, at: Site, op: NnOp, operand: Simulated) -> _Sums:
        """The mean in f64, times its count, is the exact sum but for an error far below 1/2."""
        made = self._cloned(at, op, self._integers(at, op, f64), f64)
        mean = Term(at, made.results[0])
        count = op.divisors()
        if isinstance(op, AveragePoolOp) and count.size > 1:
            sizes = shape_of(op.data)[2:]
            count = covered_elements(op.windows, op.counts(sizes), sizes, bool(op.count_include_pad.value.data))
        if count.size != 1 and not isinstance(op, AveragePoolOp):
            raise at.error(
                "cannot be trained: its mean depends on dynamic dimensions; fix the input shapes with --shape"
            )
        count = count.reshape(()) if count.size == 1 else count
        total = mean * Term(at, at.constant(count, mean.value))
        return _Sums(rounded(total), Term(at, operand.scale), np.asarray(count))

    def _rescale(self, op: NnOp, given: _Sums, mode: Mode, ties: Ties) -> None:
        """The integers of the result of exact sums."""
        sums, scale, count, result = given.integers, given.scale, given.count, op.results[0]
        at = sums.at
        element = quantized_type(result)
        assert element is not None
        if result not in self.scales:  # an accumulator: its scale is that of the sums
            flat = scale
            if element.granularity is not Granularity.TENSOR:
                flat = Term(at, at.reshaped(scale.value, [len(element.scales)]))
            if given.largest is not None and given.largest <= min(-element.storage_min, element.storage_max):
                self._keep(result, sums, flat.value, given.largest)
            else:
                self._keep(result, _saturated(as_type(sums, f64), element), flat.value)
            return
        target = self._own_scale(at, result)
        if count.size > 1 or count != 1:
            target = target * Term(at, at.constant(count.astype(np.float32), target.value))
        integers = sums
        if scale.value is not target.value:  # a multiplier of 1 keeps the integers
            multiplier, kind = scale / target, f64 if mode is Mode.SHIFT else f32
            integers = rounded(as_type(sums, kind) * as_type(multiplier, kind), ties)
            if mode is Mode.F32 and element.bits > 16:  # equal scales keep integers that f32 does not hold
                one = Term(at, at.constant(1.0, multiplier.value))
                integers = _chosen(multiplier, one, as_type(sums, f64), as_type(integers, f64))
        integers = _saturated(integers, element)
        if isinstance(op, ClipOp):
            integers = self._between(op, integers)
        self._keep(result, integers)

    def _between(self, op: ClipOp, integers: Term) -> Term:
        """The bounds of a clip, quantized to the type of the result."""
        for bound, limit in ((op.minimum, MaxOp), (op.maximum, MinOp)):
            if bound is not None:
                at = integers.at
                real = Term(at, at.constant(bound.value.data, self.scales[op.result]))
                element = quantized_type(op.result)
                assert element is not None
                number = _saturated(rounded(real / self._own_scale(at, op.result)), element)
                integers = integers.apply(limit, as_type(number, element_of(integers.value)))
        return integers
