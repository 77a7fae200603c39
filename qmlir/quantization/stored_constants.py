"""Constants with special stored forms: binary weights, floats of at most 8 bits, and embedding tables."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.schemes import beyond_zero
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.dialects.quant.infer import broadcast_parameters, element_type
from qmlir.dialects.quant.lower import same_integers
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import UniformFloatType, UniformQuantizedType
from qmlir.ir.builtin_types import as_dense, element_of, shape_of
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.provenance import origins_of, with_origins_of
from qmlir.quantization.retyping import UNROUNDED, is_f32
from qmlir.quantization.supports import granularity_of

# Binary weights: constants whose codes are signs, in a type that also has the code 0 between them.
#
# Binary weights use the codes `-1` and `1` of `!quant.uniform<i2<-1:1>:f32, s>`, since no integer type has exactly two
# values that are symmetric about 0. While such a constant is still in float, for training or accuracy recovery, its
# cast is marked `quant.signed`. Its floats have a magnitude of at least `s`, so that the cast never returns 0, and the
# original floats are kept in an attribute. Code that changes the floats or `s`, or chooses codes, must preserve this
# invariant.

SIGNED = "quant.signed"
"""The attribute on the quantize cast of a float constant whose codes are signs."""


def unrounded(constant: ConstantOp) -> Array:
    """Returns the floats that `constant` had before a pass chose codes for it."""
    held = constant.attributes.get(UNROUNDED)
    known = None if held is None else as_dense(held)
    return constant.array if known is None else ConstantOp(known).array


def without_zero(array: Array, type_: UniformQuantizedType) -> Array:
    """Returns `array` with elements moved away from 0, such that `type_` rounds none to code 0; signs are preserved."""
    scales, _ = broadcast_parameters(type_, array.shape)
    return beyond_zero(array, np.asarray(scales, np.float32))


def signed_constant(constant: ConstantOp, type_: UniformQuantizedType) -> Sequence[Operation]:
    """Returns a new constant with the signs of `constant`, which may have other users, and its cast to `type_`."""
    held = ConstantOp.of(without_zero(constant.array, type_), TensorType(f32, shape_of(constant.result)))
    held.attributes.update(constant.attributes)
    held.attributes[UNROUNDED] = constant.value
    held.result.name_hint = constant.result.name_hint
    cast = with_origins_of(constant, QuantizeCastOp(held.result, TensorType(type_, shape_of(held.result))))
    cast.attributes[SIGNED] = UnitAttr()
    return [held, cast]


def is_signed(value: SSAValue) -> bool:
    """Returns True if the codes of a quantized value, or of a float constant before its cast, are signs."""
    casts = [value.owner] if quantized_type(value) is not None else [use.operation for use in value.uses]
    return any(isinstance(cast, QuantizeCastOp) and SIGNED in cast.attributes for cast in casts)


def has_signs_alone(stored: Array, type_: UniformQuantizedType) -> bool:
    """Returns True if the codes `stored` are those of binary weights: the type has codes -1, 0 and 1, and none is 0."""
    is_ternary = (type_.storage_min, type_.storage_max) == (-1, 1) and not type_.zero_points.any()
    return is_ternary and bool(stored.size) and bool(stored.all())


def restore_signs(function: FuncOp) -> None:
    """Moves the floats of binary weights away from code 0, after their floats or scales have changed."""
    for constant, type_ in _signed(function):
        held = ConstantOp.of(without_zero(constant.array, type_), TensorType(f32, shape_of(constant.result)))
        constant.properties["value"] = held.value


def _signed(function: FuncOp) -> Iterator[tuple[ConstantOp, UniformQuantizedType]]:
    for cast in function.walk():
        if isinstance(cast, QuantizeCastOp) and SIGNED in cast.attributes:
            constant, type_ = cast.input.owner, quantized_type(cast.result)
            if isinstance(constant, ConstantOp) and type_ is not None and constant_array(constant.result) is not None:
                yield constant, type_


# Constants that a model stores in floats of at most 8 bits, and those among them that are requantized.


def stored_float(op: Operation) -> UniformFloatType | None:
    """Returns the low-precision float type of the constant that `op` dequantizes; `None` for other operations."""
    if not isinstance(op, DequantizeCastOp) or not isinstance(op.input.owner, ConstantOp):
        return None
    found = element_type(op.input.type)
    return found if isinstance(found, UniformFloatType) else None


def quantized_anew(module: ModuleOp) -> Mapping[str, int]:
    """Returns the number of low-precision float constants that 8-bit integers cannot represent, by format name."""
    found = (stored_float(op) for op in module.walk())
    counts = Counter(str(each.storage) for each in found if each is not None and same_integers(each) is None)
    return dict(sorted(counts.items()))


# Embedding tables: large constants whose rows are gathered by computed indices, and contractions that share them.
#
# Rows of a table are added to a residual stream of 16 bits. An 8-bit table with one scale per row takes half the memory
# of a 16-bit table. Its rows are rounded to 8 bits only once, and each layer of 8-bit contractions adds a larger error
# to the stream. The head of a decoder is often the transposed table: then it reads the same codes, with one scale per
# channel.

LARGE = 1 << 14
"""The smallest number of elements at which the memory saved by a table, here 16 KiB, is worth rescaling its rows.

It is the smallest size that was measured: that of both tables of a small GPT, whose perplexity rises by 0.18% with
8-bit tables and by 0.23% with 16-bit tables (`python -m benchmarks.perplexity`).
"""

_RANK = 2


def is_table(value: SSAValue) -> bool:
    """Returns True if `value` is a large f32 matrix, and a gather reads some of its rows by computed indices."""
    array = constant_array(value)
    if array is None or not is_f32(value) or array.ndim != _RANK or array.size < LARGE:
        return False
    return any(isinstance(use.operation, GatherOp) and _takes_rows(use.operation, value) for use in value.uses)


def _takes_rows(op: GatherOp, table: SSAValue) -> bool:
    return op.input is table and op.position == 0 and constant_array(op.indices) is None


def tables_of(function: FuncOp) -> Iterator[SSAValue]:
    """Returns the embedding tables of `function`, in order."""
    values = dict.fromkeys(op.input for op in function.walk() if isinstance(op, GatherOp))
    return filter(is_table, values)


def readers_of_tables(function: FuncOp) -> set[Operation]:
    """Returns the operations of `function` that gather rows of an embedding table, or use such a table as weights."""
    found: set[Operation] = set()
    for table in tables_of(function):
        for use in table.uses:
            op = use.operation
            if isinstance(op, GatherOp):
                found |= {op} if _takes_rows(op, table) else set()
            elif isinstance(op, Quantizable) and (table, Slot.WEIGHT) in op.operands_with_slots():
                found.add(op)
    return found


@dataclass(frozen=True)
class StoredTable:
    """A quantized embedding table with one scale per row or block, and the operations that read it."""

    shape: tuple[int, ...]
    bits: int
    granularity: str
    """The granularity of its scales: `channel` for one scale per row, or `block:N`."""

    readers: tuple[str, ...]
    """The nodes of the model that gather its rows, or use it as the weights of a contraction."""

    def text(self) -> str:
        """Formats the table as one line."""
        scales = "a scale for each row" if self.granularity == "channel" else f"scales by {self.granularity}"
        return f"{'x'.join(map(str, self.shape))} in {self.bits} bits with {scales}, read by {', '.join(self.readers)}"


def stored_tables(module: ModuleOp) -> Iterator[StoredTable]:
    """Yields the embedding tables of a quantized module whose rows are rescaled or dequantized when they are
    gathered."""
    casts = [op for op in module.walk() if isinstance(op, DequantizeCastOp)]
    constants = ((cast.result, cast.input) for cast in casts if constant_array(cast.input) is not None)
    stored: dict[SSAValue, SSAValue] = dict(constants)
    gathers = [op for op in module.walk() if isinstance(op, GatherOp) and (op.rescales or op.input in stored)]
    for table in dict.fromkeys(stored.get(op.input, op.input) for op in gathers):
        element = element_of(table)
        if constant_array(table) is None or not isinstance(element, UniformQuantizedType):
            continue
        values = {table, *(value for value, source in stored.items() if source is table)}
        reading = (op for op in module.walk() if op not in casts and not values.isdisjoint(op.operands))
        readers = dict.fromkeys(str(origin) for op in reading for origin in origins_of(op))
        yield StoredTable(shape_of(table), element.bits, granularity_of(element), tuple(readers))
