"""Embedding tables: large constants whose rows are gathered by computed indices, and contractions that share them.

Rows of a table are added to a residual stream of 16 bits. An 8-bit table with one scale per row takes half the memory
of a 16-bit table. Its rows are rounded to 8 bits only once, and each layer of 8-bit contractions adds a larger error to
the stream. The head of a decoder is often the transposed table: then it reads the same codes, with one scale per
channel.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.provenance import origins_of
from qmlir.quantization.retyping import is_f32
from qmlir.quantization.supports import granularity_of

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
    """Yields the embedding tables of a quantized module whose rows are rescaled when they are gathered."""
    gathers = (op for op in module.walk() if isinstance(op, GatherOp) and op.rescales)
    for table in dict.fromkeys(op.input for op in gathers if constant_array(op.input) is not None):
        element = element_of(table)
        assert isinstance(element, UniformQuantizedType)
        reading = (op for op in module.walk() if table in op.operands)
        readers = dict.fromkeys(str(origin) for op in reading for origin in origins_of(op))
        yield StoredTable(shape_of(table), element.bits, granularity_of(element), tuple(readers))
