"""Operations of `simd` on registers: dot products, conversions, comparisons, lane permutations."""

from collections.abc import Sequence
from enum import StrEnum
from math import prod
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, StringAttr, UnitAttr, VectorType, f32, i1, i8, i16, i32, i64
from xdsl.dialects.vector import BroadcastOp, ExtractOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AtLeast,
    RangeOf,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.simd.base import (
    AnyVector,
    SimdOp,
    as_vector,
    bits_of,
    element_of,
    is_signless,
    is_tile,
    lanes_of,
    register_of,
    tile_of,
    vector,
    vector_of,
)
from qmlir.ir.builtin_types import integer_list

SAME_VECTOR = VarConstraint("T", base(VectorType[Attribute]))
"""The common vector type of all operands and results that use this constraint."""


class LaneOperation(SimdOp):
    """An operation on registers, without effects."""

    traits = traits_def(Pure())


class Signs(StrEnum):
    """The signedness of the bytes of `simd.dot_accumulate`: the first letter is for `x`, the second for `w`."""

    US = "us"
    SS = "ss"


@irdl_op_definition
class DotAccumulateOp(LaneOperation):
    """Multiplies groups of elements, and adds the products of each group to one lane of the accumulator, modulo 2^32.

    A group has 32 bits. It consists of four bytes, interpreted according to `signs` (`us`: `x` unsigned, `w` signed;
    `ss`: both signed), or of two signed 16-bit integers.
    """

    name = "simd.dot_accumulate"

    accumulator = operand_def(VectorType)
    x = operand_def(VectorType)
    w = operand_def(VectorType)
    signs = prop_def(StringAttr, default_value=StringAttr(Signs.SS.value))
    result = result_def(VectorType)

    assembly_format = (
        "$accumulator `,` $x `,` $w attr-dict `:` type($accumulator) `,` type($x) `,` type($w) `->` type($result)"
    )

    def __init__(self, accumulator: SSAValue, x: SSAValue, w: SSAValue, signs: Signs | str = Signs.SS):
        super().__init__([accumulator, x, w], [accumulator.type], {"signs": StringAttr(Signs(signs).value)})

    @property
    def group(self) -> int:
        """The number of elements that are summed into one lane of the accumulator."""
        return lanes_of(self.x) // lanes_of(self.accumulator)

    @property
    def kind(self) -> str:
        """The kind of products, by instruction name: `dot_us` and `dot_ss` for bytes, `dot_pairs` for 16 bits."""
        return "dot_pairs" if self.group == 2 else f"dot_{self.signs.data}"

    def verify_(self) -> None:
        if self.result.type != self.accumulator.type or element_of(self.accumulator) != i32:
            raise VerifyException(
                "accumulator and result must have the same i32 vector type, but got accumulator "
                f"'{self.accumulator.type}'"
            )
        if self.x.type != self.w.type or not is_signless(element_of(self.x), 8, 16):
            raise VerifyException(f"operands must be vectors of i8 or i16, but got '{self.x.type}' and '{self.w.type}'")
        bits = lanes_of(self.x) * bits_of(element_of(self.x))
        if bits != lanes_of(self.accumulator) * 32 or tile_of(self.x) != tile_of(self.accumulator):
            raise VerifyException(
                f"operands must have 32 bits per lane of the accumulator, but got '{self.x.type}' for "
                f"'{self.accumulator.type}'"
            )
        if self.signs.data not in tuple(Signs):
            raise VerifyException(f"signs must be one of {', '.join(Signs)}, but got {self.signs.data}")
        if self.signs.data != Signs.SS and bits_of(element_of(self.x)) != 8:
            raise VerifyException(f"16-bit operands must be signed, but got signs {self.signs.data}")


@irdl_op_definition
class MultiplyPairsOp(LaneOperation):
    """Multiplies unsigned bytes by signed bytes, and adds adjacent products with saturation to 16 bits."""

    name = "simd.multiply_pairs"

    x = operand_def(VectorType)
    w = operand_def(VectorType)
    result = result_def(VectorType)

    assembly_format = "$x `,` $w attr-dict `:` type($x) `,` type($w) `->` type($result)"

    def __init__(self, x: SSAValue, w: SSAValue):
        super().__init__(operands=[x, w], result_types=[vector(lanes_of(x) // 2, i16, tile_of(x))])

    def verify_(self) -> None:
        if self.x.type != self.w.type or element_of(self.x) != i8 or lanes_of(self.x) % 2:
            raise VerifyException(
                f"operands must be vectors of an even number of i8, but got '{self.x.type}' and '{self.w.type}'"
            )
        expected = vector(lanes_of(self.x) // 2, i16, tile_of(self.x))
        if self.result.type != expected:
            raise VerifyException(f"result must be '{expected}', but got '{self.result.type}'")


class Conversion(StrEnum):
    """The lanewise conversions of `arith`, and the reinterpretation of the bits of a vector (`bitcast`)."""

    EXTSI = "extsi"
    EXTUI = "extui"
    TRUNCI = "trunci"
    SITOFP = "sitofp"
    UITOFP = "uitofp"
    FPTOSI = "fptosi"
    FPTOUI = "fptoui"
    EXTF = "extf"
    TRUNCF = "truncf"
    INDEX_CAST = "index_cast"
    BITCAST = "bitcast"


@irdl_op_definition
class ConvertOp(LaneOperation):
    """Converts each lane like the `arith` operation of the same name; `bitcast` may change the number of lanes."""

    name = "simd.convert"

    value = operand_def(VectorType)
    kind = prop_def(StringAttr)
    result = result_def(VectorType)

    assembly_format = "$value attr-dict `:` type($value) `to` type($result)"

    ARITH: ClassVar[dict[Conversion, type[Operation]]] = {
        Conversion(operation.name.removeprefix("arith.")): operation
        for operation in (
            arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.SIToFPOp, arith.UIToFPOp, arith.FPToSIOp,
            arith.FPToUIOp, arith.ExtFOp, arith.TruncFOp, arith.IndexCastOp, arith.BitcastOp,
        )
    }  # fmt: skip
    """The scalar operation that converts each lane."""

    def __init__(self, value: SSAValue, kind: Conversion | str, result_type: AnyVector):
        super().__init__([value], [result_type], {"kind": StringAttr(Conversion(kind).value)})

    def verify_(self) -> None:
        kind = self.kind.data
        if kind not in tuple(Conversion):
            raise VerifyException(f"kind must be one of {', '.join(Conversion)}, but got {kind}")
        source, target = vector_of(self.value), vector_of(self.result)
        widths = bits_of(source.get_element_type()), bits_of(target.get_element_type())
        if kind == Conversion.BITCAST:
            bits = [width * each.get_shape()[-1] for width, each in zip(widths, (source, target), strict=True)]
            if bits[0] != bits[1] or tile_of(self.value) != tile_of(self.result):
                raise VerifyException(f"total number of bits must not change, but got '{source}' and '{target}'")
            return
        if source.get_shape() != target.get_shape():
            raise VerifyException(f"number of lanes must not change, but got '{source}' and '{target}'")
        is_float = tuple(isinstance(each.get_element_type(), AnyFloat) for each in (source, target))
        # For each kind: whether operand and result are floats, and how the width changes.
        takes, gives, change = _CONVERTED[Conversion(kind)]
        growth = (widths[1] > widths[0]) - (widths[1] < widths[0])
        if is_float != (takes, gives) or (change and growth != change):
            raise VerifyException(f"{kind} cannot convert {source} to {target}")


_CONVERTED: dict[Conversion, tuple[bool, bool, int]] = {
    Conversion.EXTSI: (False, False, 1),
    Conversion.EXTUI: (False, False, 1),
    Conversion.TRUNCI: (False, False, -1),
    Conversion.SITOFP: (False, True, 0),
    Conversion.UITOFP: (False, True, 0),
    Conversion.FPTOSI: (True, False, 0),
    Conversion.FPTOUI: (True, False, 0),
    Conversion.EXTF: (True, True, 1),
    Conversion.TRUNCF: (True, True, -1),
    Conversion.INDEX_CAST: (False, False, 0),
}


@irdl_op_definition
class RoundToIntOp(LaneOperation):
    """Rounds floats to 32-bit integers, ties to even. Every lane that is stored must be in the range of i32."""

    name = "simd.round_to_int"

    value = operand_def(VectorType)
    result = result_def(VectorType)

    assembly_format = "$value attr-dict `:` type($value) `to` type($result)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[vector(lanes_of(value), i32, tile_of(value))])

    def verify_(self) -> None:
        expected = vector(lanes_of(self.value), i32, tile_of(self.value))
        if element_of(self.value) != f32 or self.result.type != expected:
            raise VerifyException(f"expected f32 and i32 vectors, but got '{self.value.type}' and '{self.result.type}'")


@irdl_op_definition
class NarrowOp(LaneOperation):
    """Converts signed integers to a narrower type, with saturation.

    They saturate to the signed range of the narrower type or, with `unsigned`, to its unsigned range. The lanes of
    several vectors of the same type are concatenated.
    """

    name = "simd.narrow"

    values = var_operand_def(RangeOf(SAME_VECTOR).of_length(AtLeast(1)))
    unsigned = opt_prop_def(UnitAttr)
    result = result_def(VectorType)

    assembly_format = "$values attr-dict `:` type($values) `to` type($result)"

    def __init__(self, values: Sequence[SSAValue], element: Attribute, *, unsigned: bool = False):
        result_type = vector(sum(map(lanes_of, values)), element, tile_of(values[0]))
        super().__init__(values, [result_type], {"unsigned": UnitAttr()} if unsigned else {})

    def verify_(self) -> None:
        source, target = element_of(self.values[0]), element_of(self.result)
        if not is_signless(source) or not is_signless(target) or bits_of(target) >= bits_of(source):
            raise VerifyException(f"expected a conversion to narrower integers, but got '{source}' and '{target}'")
        is_same = tile_of(self.values[0]) == tile_of(self.result)
        if sum(map(lanes_of, self.values)) != lanes_of(self.result) or not is_same:
            found = " and ".join(str(type_) for type_ in (*self.values.types, self.result.type))
            raise VerifyException(f"number of lanes must not change, but got {found}")


@irdl_op_definition
class CompareOp(LaneOperation):
    """Compares each lane, with a predicate of `arith.cmpi` for integers or of `arith.cmpf` for floats."""

    name = "simd.compare"

    lhs = operand_def(SAME_VECTOR)
    rhs = operand_def(SAME_VECTOR)
    predicate = prop_def(StringAttr)
    result = result_def(VectorType)

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"

    def __init__(self, predicate: str, lhs: SSAValue, rhs: SSAValue):
        result_type = vector(lanes_of(lhs), i1, tile_of(lhs))
        super().__init__([lhs, rhs], [result_type], {"predicate": StringAttr(predicate)})

    def verify_(self) -> None:
        if self.result.type != vector(lanes_of(self.lhs), i1, tile_of(self.lhs)):
            raise VerifyException(f"result must have one i1 per lane, but got '{self.result.type}'")
        is_float = isinstance(element_of(self.lhs), AnyFloat)
        accepted = arith.CMPF_COMPARISON_OPERATIONS if is_float else arith.CMPI_COMPARISON_OPERATIONS
        if self.predicate.data not in accepted:
            raise VerifyException(
                f"predicate on {element_of(self.lhs)} must be one of {', '.join(accepted)}, but got "
                f"{self.predicate.data}"
            )


@irdl_op_definition
class SelectOp(LaneOperation):
    """Selects each lane from `lhs` if the condition is true, and from `rhs` otherwise."""

    name = "simd.select"

    condition = operand_def(VectorType)
    lhs = operand_def(SAME_VECTOR)
    rhs = operand_def(SAME_VECTOR)
    result = result_def(SAME_VECTOR)

    assembly_format = "$condition `,` $lhs `,` $rhs attr-dict `:` type($condition) `,` type($result)"

    def __init__(self, condition: SSAValue, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[condition, lhs, rhs], result_types=[lhs.type])

    def verify_(self) -> None:
        if self.condition.type != vector(lanes_of(self.lhs), i1, tile_of(self.lhs)):
            raise VerifyException(f"condition must have one i1 per lane, but got '{self.condition.type}'")


class InterleaveOp(LaneOperation):
    """Interleaves one half of each block of two vectors; without `block`, the whole vector is one block."""

    lhs = operand_def(SAME_VECTOR)
    rhs = operand_def(SAME_VECTOR)
    block = opt_prop_def(IntegerAttr)
    result = result_def(SAME_VECTOR)

    assembly_format: ClassVar[str | None] = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, block: int | None = None):
        super().__init__([lhs, rhs], [lhs.type], {} if block is None else {"block": IntegerAttr(block, i64)})

    @property
    def block_lanes(self) -> int:
        """The number of lanes of a block."""
        return lanes_of(self.lhs) if self.block is None else self.block.value.data

    def verify_(self) -> None:
        block, lanes = self.block_lanes, lanes_of(self.lhs)
        if block < 2 or block % 2 or lanes % block:
            raise VerifyException(f"block must be even and divide the number of lanes ({lanes}), but got {block}")


@irdl_op_definition
class InterleaveLowOp(InterleaveOp):
    """Interleaves the first halves of two vectors or of their blocks: `a0 b0 a1 b1 …`."""

    name = "simd.interleave_low"


@irdl_op_definition
class InterleaveHighOp(InterleaveOp):
    """Interleaves the second halves of two vectors or of their blocks."""

    name = "simd.interleave_high"


@irdl_op_definition
class ReduceAddOp(LaneOperation):
    """Sums all lanes by repeatedly adding the two halves: integers modulo 2^N, floats with rounding in each step."""

    name = "simd.reduce_add"

    value = operand_def(VectorType)
    result = result_def()

    assembly_format = "$value attr-dict `:` type($value) `to` type($result)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[element_of(value)])

    def verify_(self) -> None:
        if self.result.type != element_of(self.value):
            raise VerifyException(f"result must be {element_of(self.value)}, but got '{self.result.type}'")
        (lanes,) = register_of(self.value).get_shape()
        if lanes & (lanes - 1):
            raise VerifyException(f"number of lanes must be a power of two, but got {lanes}")


@irdl_op_definition
class StackOp(LaneOperation):
    """Stacks registers, or tiles of the same shape, to a register tile in row-major order. It moves no data."""

    name = "simd.stack"

    values = var_operand_def(RangeOf(SAME_VECTOR).of_length(AtLeast(1)))
    result = result_def(VectorType)

    assembly_format = "$values attr-dict `:` type($values) `to` type($result)"

    def __init__(self, values: Sequence[SSAValue], shape: Sequence[int]):
        element, lanes, tile = element_of(values[0]), lanes_of(values[0]), tile_of(values[0])
        super().__init__(operands=values, result_types=[vector(lanes, element, (*shape, *tile))])

    def verify_(self) -> None:
        own, whole = vector_of(self.values[0]).get_shape(), vector_of(self.result).get_shape()
        leading, inner = whole[: len(whole) - len(own)], whole[len(whole) - len(own) :]
        same = element_of(self.values[0]) == element_of(self.result)
        if inner != own or not leading or prod(leading) != len(self.values) or not same:
            raise VerifyException(
                f"result must hold {len(self.values)} vectors of type '{self.values[0].type}', but got "
                f"'{self.result.type}'"
            )


@irdl_op_definition
class TransposeOp(LaneOperation):
    """Swaps the first two axes of a register tile. It moves no data."""

    name = "simd.transpose"

    value = operand_def(VectorType)
    result = result_def(VectorType)

    assembly_format = "$value attr-dict `:` type($value) `to` type($result)"

    def __init__(self, value: SSAValue):
        rows, columns, *inner = tile_of(value)
        super().__init__([value], [vector(lanes_of(value), element_of(value), (columns, rows, *inner))])

    def verify_(self) -> None:
        rows, columns, *inner = (*tile_of(self.value), 0, 0)[:2] + tile_of(self.value)[2:]
        expected = vector(lanes_of(self.value), element_of(self.value), (columns, rows, *inner))
        if len(tile_of(self.value)) < 2 or self.result.type != expected:
            raise VerifyException(
                f"expected a tile and its transpose, but got '{self.value.type}' and '{self.result.type}'"
            )


def tile_places(tile: Sequence[int]) -> list[int]:
    """Returns the places of a tile's registers in the order in which code computes them: row after row.

    The last axes are the rows, so that registers of different vectors that share a row follow each other.
    """
    inner = prod(tile[1:])
    return sorted(range(prod(tile)), key=lambda place: place % inner)


def moved_places(op: Operation) -> list[int] | None:
    """Returns the places of the registers of the result among those of the operands; `None` unless `op` moves them."""
    match op:
        case StackOp():
            return list(range(prod(tile_of(op.result))))
        case TransposeOp():
            return _numbers(op.value).swapaxes(0, 1).ravel().tolist()
        case ExtractOp() if is_tile(op.vector) and not op.dynamic_position:
            position = integer_list(op.static_position)
            is_inside = len(position) <= len(tile_of(op.vector))
            return _numbers(op.vector)[tuple(position)].ravel().tolist() if is_inside else None
        case BroadcastOp() if as_vector(op.source.type) is not None:
            return np.broadcast_to(_numbers(op.source), tile_of(op.vector)).ravel().tolist()
        case _:
            return None


def _numbers(value: SSAValue) -> npt.NDArray[np.int64]:
    return np.arange(prod(tile_of(value))).reshape(tile_of(value))


def register_type(value: SSAValue) -> Attribute:
    """Returns the type of a register of a tile; the type of any other value."""
    return vector(lanes_of(value), element_of(value)) if is_tile(value) else value.type
