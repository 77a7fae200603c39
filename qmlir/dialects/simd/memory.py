"""The operations of `simd` between memory and registers.

Places are contiguous along the innermost axis and need no alignment. A vector may run past the end of a row into the
next one; that it stays inside the memory, or inside the slack after it, is the task of the pass that makes the loop.
"""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, VectorType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.simd.base import AnyVector, SimdOp, bits_of, check_place, element_of, is_signless, lanes_of
from qmlir.ir.builtin_types import memref_type

GROUP_BITS = 32
"""The bits that `simd.load_group_splat` repeats: one lane of the sums of `simd.dot_accumulate`."""


class PlaceLoadOp(SimdOp):
    """A vector made of what stands at a place in memory."""

    memory = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    result = result_def(VectorType)

    assembly_format: ClassVar[str | None] = "$memory `[` $indices `]` attr-dict `:` type($memory) `to` type($result)"
    traits = traits_def(MemoryReadEffect())

    def __init__(self, memory: SSAValue, indices: Sequence[SSAValue], result_type: AnyVector):
        super().__init__(operands=[memory, *indices], result_types=[result_type])

    def verify_(self) -> None:
        check_place(self.memory, self.indices, element_of(self.result))


@irdl_op_definition
class LoadOp(PlaceLoadOp):
    """Consecutive elements from a place on."""

    name = "simd.load"


@irdl_op_definition
class LoadPartialOp(SimdOp):
    """The first `count` elements from a place on, 0 in the lanes after them; nothing else is read.

    A count of 0 or less reads nothing, one of more than the lanes reads all of them.
    """

    name = "simd.load_partial"

    memory = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    count = operand_def(IndexType)
    result = result_def(VectorType)

    assembly_format = "$memory `[` $indices `]` `,` $count attr-dict `:` type($memory) `to` type($result)"
    traits = traits_def(MemoryReadEffect())

    def __init__(self, memory: SSAValue, indices: Sequence[SSAValue], count: SSAValue, result_type: AnyVector):
        super().__init__(operands=[memory, *indices, count], result_types=[result_type])

    def verify_(self) -> None:
        check_place(self.memory, self.indices, element_of(self.result))


@irdl_op_definition
class LoadGroupSplatOp(PlaceLoadOp):
    """The 32 bits at a place (four elements of i8, two of i16, one of i32), repeated in the whole vector."""

    name = "simd.load_group_splat"

    def verify_(self) -> None:
        super().verify_()
        element = element_of(self.result)
        if not is_signless(element, 8, 16, 32):
            raise VerifyException(f"elements must be i8, i16 or i32, but got {element}")
        if bits_of(element) * lanes_of(self.result) % GROUP_BITS:
            raise VerifyException(f"result must be a multiple of {GROUP_BITS} bits, but got '{self.result.type}'")


@irdl_op_definition
class StoreOp(SimdOp):
    """Write all lanes, one after the other from a place on."""

    name = "simd.store"

    vector = operand_def(VectorType)
    memory = operand_def(MemRefType)
    indices = var_operand_def(IndexType)

    assembly_format = "$vector `,` $memory `[` $indices `]` attr-dict `:` type($vector) `,` type($memory)"
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, vector: SSAValue, memory: SSAValue, indices: Sequence[SSAValue]):
        super().__init__(operands=[vector, memory, *indices])

    def verify_(self) -> None:
        check_place(self.memory, self.indices, element_of(self.vector))


@irdl_op_definition
class StorePartialOp(SimdOp):
    """Write the first `count` lanes from a place on, and nothing after them."""

    name = "simd.store_partial"

    vector = operand_def(VectorType)
    memory = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    count = operand_def(IndexType)

    assembly_format = "$vector `,` $memory `[` $indices `]` `,` $count attr-dict `:` type($vector) `,` type($memory)"
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, vector: SSAValue, memory: SSAValue, indices: Sequence[SSAValue], count: SSAValue):
        super().__init__(operands=[vector, memory, *indices, count])

    def verify_(self) -> None:
        check_place(self.memory, self.indices, element_of(self.vector))


@irdl_op_definition
class PrefetchOp(SimdOp):
    """Ask for the cache line of a place of a memory of one axis, which may lie after its end: changes no value.

    `level` is that of the cache that it shall come into, 1 the nearest, 2 or 3.
    """

    name = "simd.prefetch"

    memory = operand_def(MemRefType)
    index = operand_def(IndexType)
    level = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$memory `[` $index `]` attr-dict `:` type($memory)"
    # It writes nothing; the effect keeps it although it has no result.
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, memory: SSAValue, index: SSAValue, level: int = 1):
        super().__init__(operands=[memory, index], properties={"level": IntegerAttr(level, i64)})

    def verify_(self) -> None:
        check_place(self.memory, [self.index], None)
        if self.level.value.data not in (1, 2, 3):
            raise VerifyException(f"cache level must be 1, 2 or 3, but got {self.level.value.data}")


@irdl_op_definition
class GatherOp(SimdOp):
    """The elements of a table of one axis at the places that the lanes of `places` give.

    The places are integers of 32 bits or `index`, read as signed; each must lie inside the table.
    """

    name = "simd.gather"

    table = operand_def(MemRefType)
    places = operand_def(VectorType)
    result = result_def(VectorType)

    assembly_format = "$table `[` $places `]` attr-dict `:` type($table) `,` type($places) `to` type($result)"
    traits = traits_def(MemoryReadEffect())

    def __init__(self, table: SSAValue, places: SSAValue, result_type: AnyVector):
        super().__init__(operands=[table, places], result_types=[result_type])

    def verify_(self) -> None:
        check_place(self.table, [self.places], element_of(self.result))
        element = element_of(self.places)
        if not isinstance(element, IndexType) and not is_signless(element, 32, 64):
            raise VerifyException(f"indices must be i32, i64 or index, but got {element}")
        if lanes_of(self.places) != lanes_of(self.result):
            raise VerifyException(
                f"result must have one lane per index, but got '{self.places.type}' and '{self.result.type}'"
            )


BYTE_VALUES = 256
"""The elements of a table that `simd.look_up` reads: one for each byte."""


@irdl_op_definition
class LookUpOp(SimdOp):
    """The bytes of a table of 256 at the places that the lanes of `places` give, read as unsigned bytes.

    It is `simd.gather` for the one kind of table that registers hold: a processor that permutes bytes of several
    registers by a register needs no memory for it.
    """

    name = "simd.look_up"

    table = operand_def(MemRefType)
    places = operand_def(VectorType)
    result = result_def(VectorType)

    assembly_format = "$table `[` $places `]` attr-dict `:` type($table) `,` type($places) `to` type($result)"
    traits = traits_def(MemoryReadEffect())

    def __init__(self, table: SSAValue, places: SSAValue):
        super().__init__(operands=[table, places], result_types=[places.type])

    def verify_(self) -> None:
        check_place(self.table, [self.places], element_of(self.result))
        if self.result.type != self.places.type or not is_signless(element_of(self.places), 8):
            raise VerifyException(
                f"result must have one byte per index, but got '{self.places.type}' and '{self.result.type}'"
            )
        if not is_byte_table(self.table):
            raise VerifyException(f"table must have {BYTE_VALUES} bytes, but got '{self.table.type}'")


def is_byte_table(table: SSAValue) -> bool:
    """Whether a table has a byte for each byte."""
    type_ = memref_type(table)
    return type_ is not None and type_.get_shape() == (BYTE_VALUES,) and is_signless(type_.get_element_type(), 8)
