"""Requantization of `nn` operations: which operations rescale integers, by which ratios, and in which mode.

An operation declares the scale of its exact integers and, for a mean, the divisors. The verifier checks the property
`requantize` against them; for example, a shift requires ratios that are powers of two.
"""

import abc
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from enum import Enum, auto
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DictionaryAttr, f32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation, opt_prop_def
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic import litert
from qmlir.arithmetic.litert import Multiplier
from qmlir.arithmetic.requantization import MOST, Affine, Mode, Ties, accumulator_scale, fixed_point, power_of_two_shift
from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.decomposition import Parts, parts_given

Scales = npt.NDArray[np.float32]

HEADROOM_BITS = 28
"""The width, in bits, to which integers of operands with different scales are shifted left before rescaling.

For example, 8-bit integers are shifted left by 20 bits.
"""


def quantized_type(value: SSAValue) -> UniformQuantizedType | None:
    """Returns the quantized element type of `value`; `None` if it is not quantized."""
    type_ = ranked_tensor(value.type)
    element = None if type_ is None else type_.get_element_type()
    return element if isinstance(element, UniformQuantizedType) else None


def computes_quantized(module: Operation) -> bool:
    """Returns whether any operation in `module` has a quantized result."""
    return any(quantized_type(value) is not None for op in module.walk() for value in op.results)


def _scales(value: SSAValue) -> Scales:
    """Returns the f32 scales of a value; empty if its type has none."""
    found = quantized_type(value)
    return np.zeros(0, np.float32) if found is None else np.asarray(found.scales, np.float32)


class Accumulator(Enum):
    """How the scale of an operation's exact integers follows from the scales of its operands."""

    OPERAND = auto()
    """The scale of the first operand."""

    PRODUCT = auto()
    """The product of the scales of the first two operands."""

    COMMON = auto()
    """The common scale of both operands, to which they are rescaled if necessary."""


class Requantizing(IRDLOperation, abc.ABC):
    """An operation that may rescale exact integers to the scale of its result, and that declares how it does so."""

    ACCUMULATOR: ClassVar[Accumulator | None] = None
    """How the scale of the exact integers is determined.

    It is `None` for an operation that moves or compares integers, or that computes in floats.
    """

    LITERT: ClassVar[Multiplier | None] = None
    """How LiteRT's reference kernel computes the multiplier; `None` for an operation whose kernel was not examined."""

    LITERT_BITS: ClassVar[Sequence[int]] = (8,)
    """The widths that the formula of a `Multiplier.OWN` supports."""

    components = opt_prop_def(DictionaryAttr)
    """The element types of a composite's parts, by role; if present, the composite computes its parts in these types.

    The last part has the type of the composite's result. Constant parts are quantized to their types.
    """

    requantize = opt_prop_def(RequantizeAttr)
    """The mode in which exact integers are rescaled to the result; f32 by default."""

    @property
    def accumulator(self) -> Accumulator | None:
        """The value of `ACCUMULATOR` for the actual types; `None` for sums of blocks with different scales."""
        return None if _has_blocks(self) else self.ACCUMULATOR

    def divisors(self) -> npt.NDArray[np.int64]:
        """Returns the static divisors of a mean (empty if one is dynamic); 1 for any other operation."""
        return np.array([1])

    def has_dynamic_divisor(self) -> bool:
        """Returns whether the operation is a mean whose divisor depends on dynamic sizes."""
        return not self.divisors().size

    def litert_multiplier(self) -> Multiplier:
        """Returns how LiteRT's reference kernel computes the multiplier of this operation."""
        return self.LITERT or Multiplier.DOUBLE

    def litert_kernels(self) -> Mode:
        """Returns the set of kernels that computes the operation: XNNPACK has none for 16-bit data."""
        elements = [quantized_type(value) for value in (*self.operands[:1], *self.results)]
        is_wide = any(element is not None and element.bits == 16 for element in elements)
        return Mode.LITERT_REFERENCE if is_wide else mode_of(self)

    def litert_element(self) -> Attribute | None:
        """Returns the type that LiteRT's kernel gives its result, whatever type is declared; `None` if it rescales."""
        return None

    def verify_litert(self, mode: Mode, types: Sequence[UniformQuantizedType]) -> None:
        """Raises `VerifyException` if LiteRT's kernels don't support the types of the operands and of the result.

        They have one scale and one zero point; the method is not called for contractions.
        """

    def qlinear_bound(self, values: Sequence[Affine]) -> float | None:
        """Returns a bound on the floats that mode `qlinear` converts to integers; `None` without this mode.

        `values` are the parameters of the operands and the result. The arithmetic is that of ONNX Runtime's 8-bit
        operators (`qmlir.arithmetic.requantization`); contractions use it like any other mode. Raises `ValueError` if a
        ratio of scales overflows f32.
        """
        return None


def mode_of(op: Operation) -> Mode:
    """Returns the requantization mode of `op`, f32 by default."""
    return op.requantize.mode if isinstance(op, Requantizing) and op.requantize is not None else Mode.F32


def product_scale(op: Operation, *scales: npt.ArrayLike) -> npt.NDArray[np.floating]:
    """Returns the scale of the products of `op`: in f32, or the exact f64 if a kernel of LiteRT multiplies in f64."""
    in_f64 = (Multiplier.DOUBLE, Multiplier.ROUNDED_DOUBLE, Multiplier.REDUCED)
    is_exact = (
        isinstance(op, Requantizing)
        and mode_of(op).is_litert
        and op.litert_kernels() is Mode.LITERT_REFERENCE
        and op.litert_multiplier() in in_f64
    )
    if is_exact:
        first, *others = (np.asarray(each).astype(np.float32).astype(np.float64) for each in scales)
        return first * others[0] if others else first
    return accumulator_scale(*scales)


def litert_rescaling(
    op: Operation, source: npt.ArrayLike, target: npt.ArrayLike, count: npt.ArrayLike = 1
) -> tuple[Mode, list[npt.NDArray[np.generic]]]:
    """Returns the mode and its parameters by which LiteRT's kernel of `op` rescales integers of scale `source`.

    For a mean, the integers are sums of `count` elements. Raises `ValueError` if no number expresses the ratio.
    """
    assert isinstance(op, Requantizing)
    return litert.rescaling(op.litert_multiplier(), op.litert_kernels(), source, target, count)


def _accumulator_scales(op: Requantizing) -> npt.NDArray[np.floating]:
    """Returns the scale of the exact integers, per channel if it differs: f32, or f64 as in `product_scale`."""
    first, *others = (_scales(value) for value in op.operands)
    match op.ACCUMULATOR:
        case Accumulator.PRODUCT:
            return product_scale(op, first, others[0]) if others else first
        case Accumulator.COMMON:
            return common_scale(op, *_outer(first, others[0]))
        case _:
            return first


def common_scale(op: Requantizing, left: Scales, right: Scales) -> Scales:
    """Returns the scale to which the integers of two operands are rescaled before they are added or compared.

    If the scales are equal, they stay unchanged. Otherwise, the operation must have an integer mode. In mode `shift`,
    the result is the smaller scale, because the integers of the other operand are converted to it by an exact shift. In
    a mode with a multiplier, it is `2 max(s_a 2^bits_a, s_b 2^bits_b) / 2^HEADROOM_BITS`, which agrees with
    TFLite's addition for operands of equal width, and also covers the addition of 32-bit sums and narrow operands.
    """
    if op.requantize is None or (np.all(left == right) and not op.requantize.mode.is_litert):
        return left
    if op.requantize.mode is Mode.SHIFT:
        return np.minimum(left, right)
    if op.requantize.mode.is_litert:
        return np.asarray(np.ldexp(np.maximum(left, right), 1 - headroom(op, op.operands[0])), np.float32)
    reaches = [np.ldexp(each, _bits(value)) for each, value in zip((left, right), op.operands, strict=True)]
    return np.asarray(np.ldexp(np.maximum(*reaches), 1 - HEADROOM_BITS), np.float32)


def headroom(op: Requantizing, value: SSAValue) -> int:
    """Returns the number of bits by which an operand's integers are shifted left before they are rescaled."""
    if mode_of(op).is_litert:
        return 20 if _bits(value) <= 8 else 15
    return max(HEADROOM_BITS - _bits(value), 0)


def _bits(value: SSAValue) -> int:
    element = quantized_type(value)
    assert element is not None
    return element.bits


def has_common_scale(op: Operation) -> bool:
    """Returns whether all operands of `op` have the same scales, so that none is rescaled."""
    if mode_of(op).is_litert:
        return False
    first, *others = (_scales(value) for value in op.operands)
    return all(bool(np.all(left == right)) for left, right in (_outer(first, each) for each in others))


def _has_blocks(op: Operation) -> bool:
    found = (quantized_type(value) for value in op.operands)
    return any(element is not None and element.granularity is Granularity.BLOCK for element in found)


def requantizes(op: Operation) -> bool:
    """Returns whether `op` rescales exact integers, or would do so in an integer mode."""
    return isinstance(op, Requantizing) and op.accumulator is not None and quantized_type(op.results[0]) is not None


def may_requantize(op: Requantizing) -> bool:
    """Returns whether `op`, or a part of a composite, rescales exact integers or specifies a mode."""
    return op.components is not None or requantizes(op) or is_qlinear(op) or mode_of(op).is_litert


def has_litert_kernel(op: Operation) -> bool:
    """Returns whether the arithmetic of LiteRT's kernel for the quantized operation `op` is known."""
    return isinstance(op, Requantizing) and op.LITERT is not None and quantized_type(op.results[0]) is not None


def _outer(left: Scales, right: Scales) -> tuple[Scales, Scales]:
    """Reshapes two arrays of scales to broadcast: elementwise along one common axis, otherwise as an outer product."""
    if left.ndim and right.ndim and left.shape != right.shape:
        return left.reshape(-1, 1), right.reshape(1, -1)
    return left, right


def ratios(op: Requantizing) -> npt.NDArray[np.float64]:
    """Returns all ratios by which `op` rescales, as f64, for `qmlir.arithmetic.requantization.requantize`."""
    source, target = _outer(_accumulator_scales(op), _scales(op.results[0]))
    targets = accumulator_scale(target[..., None], op.divisors())
    return np.asarray(source[..., None].astype(np.float64) / targets.astype(np.float64))


def _operand_ratios(op: Requantizing) -> list[npt.NDArray[np.float64]]:
    """Returns the ratios that rescale each operand to the common scale; empty if none is rescaled."""
    if op.ACCUMULATOR is not Accumulator.COMMON or has_common_scale(op):
        return []
    sides = _outer(*map(_scales, op.operands))
    reach = common_scale(op, *sides).astype(np.float64)
    return [np.asarray(side.astype(np.float64) / reach) for side in sides]


def verify_requantization(op: Operation) -> None:
    """Raises `VerifyException` if `op` has a mode but does not requantize, or if the mode cannot express its ratios."""
    if not isinstance(op, Requantizing) or (attribute := op.requantize) is None:
        return
    if attribute.mode is Mode.QLINEAR:
        _verify_qlinear(op)
        return
    if attribute.mode is Mode.F64:
        raise VerifyException(f"requantization mode '{Mode.F64}' is for kernels only")
    if attribute.mode.is_litert and op.components is None and not has_litert_kernel(op):
        raise VerifyException(f"does not support requantization mode '{attribute.mode}'")
    if attribute.mode.is_litert and (element := op.litert_element()) not in (None, quantized_type(op.results[0])):
        raise VerifyException(f"requantization mode '{attribute.mode}' keeps the type '{element}' of the operand")
    if attribute.mode.is_litert and op.components is None and op.LITERT not in _OF_WEIGHTS:
        widths = op.LITERT_BITS if op.LITERT is Multiplier.OWN else (8, 16)
        values = [value for value in (*op.operands, *op.results) if quantized_type(value) is not None]
        op.verify_litert(attribute.mode, [_single(value, attribute.mode, widths) for value in values])
    if attribute.mode.is_litert and (op.LITERT is Multiplier.OWN or quantized_type(op.operands[0]) is None):
        return
    if not may_requantize(op):
        raise VerifyException("'requantize' requires integers with one scale to rescale")
    if op.components is not None:
        with temporary_parts(op) as parts:
            decompose(op, parts)
            verify_parts(parts, verify_requantization)
    elif attribute.mode is not Mode.F32:
        _verify_mode(op, attribute.mode)


_OF_WEIGHTS = (Multiplier.DOUBLE, Multiplier.ROUNDED_DOUBLE, Multiplier.SINGLE_PRODUCT)
"""The multipliers of contractions, whose weights may have a scale for each channel."""


ANY_SCALE = "quant.any_scale"
"""A temporary attribute, set while modes are chosen, of an operation whose results may get any scale by training."""


def scales_fault(op: Operation, mode: Mode) -> str | None:
    """Returns why `mode` cannot express the scales that training may produce for `op`; `None` if it can."""
    giving = [op, *(value.op for value in op.operands if isinstance(value, OpResult))]
    if mode is not Mode.SHIFT or not any(ANY_SCALE in each.attributes for each in giving):
        return None
    return (
        f"requantization mode '{mode}' needs scales that stay powers of two, but training learns them; pass "
        'scales="tqt" or requantize="f32"'
    )


def set_requantization(op: Requantizing, mode: Mode, ties: Ties) -> str | None:
    """Sets the mode of `op`; `ties` applies to shifts only. Returns why this is impossible, or `None` on success."""
    if (fault := scales_fault(op, mode)) is not None:
        return fault
    has_integers = op.components is not None or requantizes(op) or (mode.is_litert and has_litert_kernel(op))
    attribute = RequantizeAttr.of(mode, ties if mode is Mode.SHIFT else None)
    op.requantize = None if mode is Mode.F32 or not has_integers else attribute
    try:
        verify_requantization(op)
    except VerifyException as error:
        return str(error)
    return None


def divides_by_dynamic_size(op: Requantizing) -> bool:
    """Returns whether `op`, or a part of a composite, is a mean whose divisor depends on dynamic sizes."""
    if op.components is None:
        return op.has_dynamic_divisor()
    with temporary_parts(op) as parts:
        decompose(op, parts)
        return any(isinstance(part, Requantizing) and part.has_dynamic_divisor() for part in parts.operations)


QLINEAR = RequantizeAttr.of(Mode.QLINEAR)


def is_qlinear(op: Operation) -> bool:
    """Returns whether `op` computes in mode `qlinear`."""
    return isinstance(op, Requantizing) and op.requantize == QLINEAR


def affine(element: UniformQuantizedType) -> Affine:
    """Returns the scale and the zero point of a per-tensor quantized type."""
    return Affine(np.float32(element.scale), element.zero_point)


def unsigned_offset(element: UniformQuantizedType) -> int:
    """Returns the difference between a stored integer and the signed one that LiteRT stores instead: 128 for bytes.

    A kernel that rounds stored integers rounds ties by the sign of the latter.
    """
    return 0 if element.is_signed else 1 << (element.bits - 1)


def _verify_qlinear(op: Requantizing) -> None:
    """Verifies that `op` supports the mode, and that its floats stay in the range that every machine converts
    identically."""
    values = [affine(_single(value, Mode.QLINEAR, (8,))) for value in (*op.operands, *op.results)]
    try:
        bound = op.qlinear_bound(values)
    except ValueError as error:
        raise VerifyException(f"cannot requantize in mode '{Mode.QLINEAR}': {error}") from error
    if bound is None:
        without = (Mode.QLINEAR, Mode.F64)
        has_kernel = has_litert_kernel(op)
        others = ", ".join(each for each in Mode if each not in without and (has_kernel or not each.is_litert))
        raise VerifyException(f"does not support requantization mode '{Mode.QLINEAR}' (available: {others})")
    if not bound < MOST:
        raise VerifyException(
            f"the ratio of its scales takes results beyond 32 bits in requantization mode '{Mode.QLINEAR}'"
        )


def _single(value: SSAValue, mode: Mode, widths: Sequence[int]) -> UniformQuantizedType:
    element = quantized_type(value)
    if (
        element is None
        or element.granularity is not Granularity.TENSOR
        or element.expressed != f32
        or element.bits not in widths
    ):
        bits = " or ".join(map(str, widths))
        raise VerifyException(
            f"requantization mode '{mode}' requires f32 values quantized to {bits} bits with one scale, but got "
            f"'{value.type}'"
        )
    return element


def verify_parts(parts: Parts, verify: Callable[[Operation], None]) -> None:
    """Calls `verify` on each part; the messages of its `VerifyException` then also name the part."""
    for role, part in zip(parts.roles, parts.operations, strict=True):
        try:
            verify(part)
        except VerifyException as error:
            raise VerifyException(f"part '{role}' {error}") from error


def _verify_mode(op: Requantizing, mode: Mode) -> None:
    if mode is not Mode.SHIFT and op.ACCUMULATOR is Accumulator.COMMON and not has_common_scale(op):
        for value in op.operands:
            element = quantized_type(value)
            if element is not None and element.bits > 31 and np.any(element.zero_points):
                raise VerifyException(
                    f"operands of different scales must have fewer than 32 bits or zero point 0, but got '{element}'"
                )
    try:
        for found in (ratios(op), *_operand_ratios(op)):
            if mode is Mode.SHIFT:
                power_of_two_shift(found)
            else:
                fixed_point(found)
    except ValueError as error:
        raise VerifyException(f"cannot requantize in mode '{mode}': {error}") from error


@contextmanager
def temporary_parts(composite: Operation, *, may_be_excerpt: bool = True) -> Generator[Parts]:
    """A context with parts of a composite, which are erased at its end."""
    parts = Parts(composite, may_be_excerpt=may_be_excerpt)
    try:
        yield parts
    finally:
        parts.discard()


def decompose(composite: Operation, parts: Parts) -> Sequence[SSAValue] | None:
    """Returns the results of a composite, computed by its `parts`, which inherit its requantization mode.

    Returns `None` if the composite has no decomposition.
    """
    results = parts_given(composite, parts)
    if results is not None:
        hand_on_requantization(composite, parts.operations)
    return results


def hand_on_requantization(composite: Operation, parts: Iterable[Operation]) -> None:
    """Passes the requantization mode of a composite on to its parts."""
    attribute = composite.properties.get(REQUANTIZE)
    for part in parts:
        if isinstance(attribute, RequantizeAttr) and isinstance(part, Requantizing) and may_requantize(part):
            part.requantize = attribute


REQUANTIZE = "requantize"
"""The name of the property that holds the requantization mode."""
