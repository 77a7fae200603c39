"""Names of kernels that say what they compute: `conv3x3s2_28x28x128_i8`, `add_1x56x56x64_i8`, `fill_8x8_i8`."""

import re
from collections.abc import Sequence

from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Block, Operation

from qmlir.dialects.kernel.contraction import MatMulOp, WindowedOp
from qmlir.dialects.kernel.custom import CustomOp
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.packed_ops import PackedMatMulOp
from qmlir.dialects.kernel.winograd import ByAlgorithmOp
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.provenance import merged_origins
from qmlir.targets.cpu.scheduled.bufferization.destinations import destination_style
from qmlir.targets.cpu.scheduled.bufferization.slices import AnyMemRef, as_memory

_MOST_WORDS = 3
"""How many nodes or roles a name tells at most."""

_REGIONS = {"scf.for": "loop", "scf.if": "choice"}
"""What operations are called that are no word for what they compute."""

_PLAIN = ("fill", "copy")
"""What is called so whatever node of the model it belongs to."""


def kernel_name(op: Operation) -> str:
    """What `op`, on memory, computes: the operation or its roles in the model, and the shape and type of its result."""
    structure = _structure(op)
    words = structure if structure in _PLAIN else _contraction(op) or _roles(op) or structure
    parts = [re.sub(r"\W+", "_", words)]
    written = _written(op)
    if written is not None:
        shape = written.get_shape()
        if isinstance(op, WindowedOp | ByAlgorithmOp) and shape[0] == 1:
            shape = shape[1:]
        sizes = _matmul_shape(op) if isinstance(op, MatMulOp | PackedMatMulOp) else shape
        parts += ["x".join(map(str, sizes)) or "scalar"]
        parts += [str(written.get_element_type())]
    return "_".join(parts)


def _written(op: Operation) -> AnyMemRef | None:
    style = destination_style(op)
    if style is None:
        return None
    destination = style.destinations()[0].operand
    return None if destination is None else as_memory(op.operands[destination].type)


def _matmul_shape(op: MatMulOp | PackedMatMulOp) -> Sequence[int]:
    """Batches, rows, terms, columns."""
    *batches, rows, columns = shaped(op.target)[0]
    return (*batches, rows, op.terms(), columns)


def _contraction(op: Operation) -> str:
    if isinstance(op, MatMulOp | PackedMatMulOp):
        return "matmul"
    if isinstance(op, ByAlgorithmOp):
        return "winograd"
    if not isinstance(op, WindowedOp):
        return ""
    strides, dilations = integer_list(op.strides), integer_list(op.dilations)
    groups, channels = op.group_count, op.channels()
    words = "conv" if groups == 1 else "depthwise" if groups == channels else f"conv_g{groups}_"
    words += "x".join(map(str, op.window()))
    for letter, numbers in (("s", strides), ("d", dilations)):
        if set(numbers) != {1}:
            words += letter + "x".join(map(str, numbers if len(set(numbers)) > 1 else numbers[:1]))
    return words


def _snake(text: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()


def _roles(op: Operation) -> str:
    words = [_snake(origin.role.rpartition("/")[2] or origin.op_type) for origin in merged_origins(op.walk())]
    words = [word for word in dict.fromkeys(words) if word]
    return "_".join(words[:_MOST_WORDS])


def _structure(op: Operation) -> str:
    """What an operation does that stands for no node of a model."""
    if isinstance(op, CustomOp):
        return op.stands_in_for.rpartition(".")[2]
    if not isinstance(op, linalg.GenericOp):
        return _REGIONS.get(op.name) or op.name.rpartition(".")[2]
    inside = list(op.body.block.ops)[:-1]
    if not inside:
        return _movement(op, op.body.block)
    if len(inside) == 1:
        return inside[0].name.rpartition(".")[2]
    kinds = {kind.data for kind in op.iterator_types}
    return "reduce" if IteratorType.REDUCTION in kinds else "map"


def _movement(op: linalg.GenericOp, block: Block) -> str:
    last = block.last_op
    assert last is not None
    if last.operands[0].owner is not block:
        return "fill"
    return "copy" if len({attribute.data for attribute in op.indexing_maps}) == 1 else "move"
