"""The `simd` operations that transfer data between memory and registers.

Accesses are contiguous along the innermost axis and need no alignment. A vector may extend past the end of a row into
the next row. The pass that creates the loop must ensure that it stays within the memory or the slack after it.
"""

from abc import ABC
from collections.abc import Sequence
from itertools import product
from operator import mul
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, IntegerType, MemRefType, VectorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.simd.base import (
    AnyVector,
    SimdOp,
    bits_of,
    check_place,
    element_of,
    is_signless,
    lanes_of,
    register_of,
    tile_of,
    vector_of,
)
from qmlir.ir.builtin_types import memref_type

GROUP_BITS = 32
"""The width in bits that `simd.load_group_splat` repeats: one accumulator lane of `simd.dot_accumulate`."""


Strides: TypeAlias = DenseArrayBase[IntegerType]
"""The distances in memory between neighbors along each axis of a register tile, in elements."""


def _properties(strides: Sequence[int]) -> dict[str, Attribute]:
    return {"strides": DenseArrayBase.from_list(i64, strides)} if strides else {}


class TileTransferOp(SimdOp):
    """An operation that transfers a register, or a register tile, to or from memory that starts at an index.

    The registers of a tile are `strides` elements apart along each axis of the tile.
    """

    strides = opt_prop_def(Strides)

    def _check_strides(self, value: SSAValue) -> None:
        given = 0 if self.strides is None else len(self.strides)
        if given != len(tile_of(value)):
            raise VerifyException(f"expected {len(tile_of(value))} strides for '{value.type}', but got {given}")

    def offsets(self, value: SSAValue) -> list[int]:
        """Returns the distance of each register of the tile `value` from the first one, in elements, row-major."""
        strides = () if self.strides is None else self.strides.get_values()
        places = product(*(range(size) for size in tile_of(value)))
        return [sum(map(mul, place, strides)) for place in places]


class PlaceLoadOp(TileTransferOp):
    """An operation that loads a register or a register tile starting at an index in memory."""

    memory = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    result = result_def(VectorType)

    assembly_format: ClassVar[str | None] = "$memory `[` $indices `]` attr-dict `:` type($memory) `to` type($result)"
    traits = traits_def(MemoryReadEffect())

    def __init__(
        self, memory: SSAValue, indices: Sequence[SSAValue], result_type: AnyVector, strides: Sequence[int] = ()
    ):
        super().__init__([memory, *indices], [result_type], _properties(strides))

    def verify_(self) -> None:
        check_place(self.memory, self.indices, element_of(self.result))
        self._check_strides(self.result)


@irdl_op_definition
class LoadOp(PlaceLoadOp):
    """Loads consecutive elements starting at an index."""

    name = "simd.load"


@irdl_op_definition
class LoadPartialOp(SimdOp):
    """Loads `count` elements starting at an index into the first lanes, and 0 into the remaining lanes.

    No other elements are read. If the count is 0 or less, nothing is read; if it exceeds the number of lanes, all lanes
    are loaded.
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
        register_of(self.result)
        check_place(self.memory, self.indices, element_of(self.result))


@irdl_op_definition
class LoadGroupSplatOp(PlaceLoadOp):
    """Loads 32 bits (four i8 elements, two i16 or one i32), and repeats them across the whole vector."""

    name = "simd.load_group_splat"

    def verify_(self) -> None:
        super().verify_()
        element = element_of(self.result)
        if not is_signless(element, 8, 16, 32):
            raise VerifyException(f"elements must be i8, i16 or i32, but got {element}")
        if bits_of(element) * lanes_of(self.result) % GROUP_BITS:
            raise VerifyException(f"result must be a multiple of {GROUP_BITS} bits, but got '{self.result.type}'")


@irdl_op_definition
class StoreOp(TileTransferOp):
    """Stores all lanes to consecutive elements starting at an index."""

    name = "simd.store"

    vector = operand_def(VectorType)
    memory = operand_def(MemRefType)
    indices = var_operand_def(IndexType)

    assembly_format = "$vector `,` $memory `[` $indices `]` attr-dict `:` type($vector) `,` type($memory)"
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, vector: SSAValue, memory: SSAValue, indices: Sequence[SSAValue], strides: Sequence[int] = ()):
        super().__init__([vector, memory, *indices], (), _properties(strides))

    def verify_(self) -> None:
        check_place(self.memory, self.indices, element_of(self.vector))
        self._check_strides(self.vector)


@irdl_op_definition
class StorePartialOp(SimdOp):
    """Stores the first `count` lanes to consecutive elements starting at an index, and writes nothing after them."""

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
        register_of(self.vector)
        check_place(self.memory, self.indices, element_of(self.vector))


@irdl_op_definition
class PrefetchOp(SimdOp):
    """Prefetches the cache line of an index in 1-D memory, which may be out of bounds; has no effect on values.

    `level` is the cache level to prefetch into, from 1 (the nearest) to 3.
    """

    name = "simd.prefetch"

    memory = operand_def(MemRefType)
    index = operand_def(IndexType)
    level = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))

    assembly_format = "$memory `[` $index `]` attr-dict `:` type($memory)"
    # It writes nothing; the effect keeps it alive although it has no result.
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, memory: SSAValue, index: SSAValue, level: int = 1):
        super().__init__(operands=[memory, index], properties={"level": IntegerAttr(level, i64)})

    def verify_(self) -> None:
        check_place(self.memory, [self.index], None)
        if self.level.value.data not in (1, 2, 3):
            raise VerifyException(f"cache level must be 1, 2 or 3, but got {self.level.value.data}")


class TableOp(SimdOp, ABC):
    """Reads the elements of a 1-D table at the indices in the lanes of `positions`."""

    table = operand_def(MemRefType)
    positions = operand_def(VectorType)
    result = result_def(VectorType)

    assembly_format = "$table `[` $positions `]` attr-dict `:` type($table) `,` type($positions) `to` type($result)"
    traits = traits_def(MemoryReadEffect())

    def verify_(self) -> None:
        check_place(self.table, [self.positions], element_of(self.result))


@irdl_op_definition
class GatherOp(TableOp):
    """Gathers the elements of a 1-D table at the indices in the lanes of `positions`.

    The indices are 32-bit integers or `index`, interpreted as signed. Each must be in bounds.
    """

    name = "simd.gather"

    def __init__(self, table: SSAValue, positions: SSAValue, result_type: AnyVector):
        super().__init__(operands=[table, positions], result_types=[result_type])

    def verify_(self) -> None:
        super().verify_()
        element = element_of(self.positions)
        if not isinstance(element, IndexType) and not is_signless(element, 32, 64):
            raise VerifyException(f"indices must be i32, i64 or index, but got {element}")
        if vector_of(self.positions).get_shape() != vector_of(self.result).get_shape():
            raise VerifyException(
                f"result must have one lane per index, but got '{self.positions.type}' and '{self.result.type}'"
            )


BYTE_VALUES = 256
"""The number of entries of a table for `simd.look_up`: one for each byte value."""


@irdl_op_definition
class LookUpOp(TableOp):
    """Looks up each lane of `positions`, interpreted as an unsigned byte, in a table of 256 bytes.

    This is a `simd.gather` for the one kind of table that fits in registers. CPUs that can permute the bytes of several
    registers by another register need no memory access for it.
    """

    name = "simd.look_up"

    def __init__(self, table: SSAValue, positions: SSAValue):
        super().__init__(operands=[table, positions], result_types=[positions.type])

    def verify_(self) -> None:
        super().verify_()
        if self.result.type != self.positions.type or not is_signless(element_of(self.positions), 8):
            raise VerifyException(
                f"result must have one byte per index, but got '{self.positions.type}' and '{self.result.type}'"
            )
        if not is_byte_table(self.table):
            raise VerifyException(f"table must have {BYTE_VALUES} bytes, but got '{self.table.type}'")


def is_byte_table(table: SSAValue) -> bool:
    """Returns whether a table has one byte for each byte value."""
    type_ = memref_type(table)
    return type_ is not None and type_.get_shape() == (BYTE_VALUES,) and is_signless(type_.get_element_type(), 8)
