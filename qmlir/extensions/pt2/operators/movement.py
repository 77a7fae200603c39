"""Operators that move, select or create elements, and arithmetic on sizes."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, i64
from xdsl.ir import SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.movement import ops
from qmlir.dialects.nn.resizing.ops import CUBIC, LINEAR, NEAREST, ResizeOp
from qmlir.dialects.nn.shapes import ops as shapes
from qmlir.extensions.pt2.node import END, AtenNode, Importer, Integer
from qmlir.formats.types import shape_fault
from qmlir.ir.builtin_types import element_of, shape_of


def _identity(node: AtenNode) -> SSAValue:
    name = next(iter(node.arguments), "self")
    if node.attribute("train", False) and node.number("p", 0):
        raise node.unsupported("drops elements in training; export the model in eval()")
    return node.any_tensor(name)


# Shapes.


def _reshaped(node: AtenNode, value: SSAValue, requested: Sequence[Integer] | None) -> SSAValue:
    """Reshapes to the declared shape; dynamic sizes are copied from equal ones, inferred, or computed at run time."""
    declared = node.declared()
    before, after = shape_of(value), declared.shape
    if before == after and after.count(DYNAMIC_INDEX) <= 1:
        return value
    if after.count(DYNAMIC_INDEX) <= 1:
        return node.reshaped(value, after)
    own = next(iter(node.sizes.values()), ())
    target: list[Integer] = []
    for axis, size in enumerate(after):
        if size != DYNAMIC_INDEX:
            target.append(size)
        elif axis < len(own) and own[axis] == declared.sizes[axis]:
            target.append(0)
        elif -1 not in target:
            target.append(-1)
        elif requested is not None:
            target = [-1 if each == DYNAMIC_INDEX else each for each in requested]
            break
        else:
            raise node.unsupported(f"cannot infer the sizes {list(after)} of {value.type}")
    if 0 in after:
        raise node.unsupported(f"cannot reshape {value.type} to {list(after)}")
    return node.reshaped(value, after, node.vector(target))


def _view(node: AtenNode) -> SSAValue:
    name = "size" if "size" in node.arguments else "shape"
    if "dtype" in node.arguments:
        raise node.unsupported("cannot reinterpret elements as another type")
    return _reshaped(node, node.any_tensor(), node.size_list(name))


def _as_declared(node: AtenNode) -> SSAValue:
    return _reshaped(node, node.any_tensor(), None)


def _squeeze(node: AtenNode) -> SSAValue:
    value = node.any_tensor()
    shape = shape_of(value)
    found = node.arguments.get("dim")
    given = range(len(shape)) if found is None else node.axes("dim", len(shape))
    axes = [axis for axis in given if shape[axis] == 1]
    return node.add(ops.SqueezeOp, value, axes=axes).result if axes else value


def _unsqueeze(node: AtenNode) -> SSAValue:
    value = node.any_tensor()
    return node.add(ops.UnsqueezeOp, value, axes=[node.axis(rank=len(shape_of(value)) + 1)]).result


def _permuted(node: AtenNode, order: Sequence[int]) -> SSAValue:
    return node.add(ops.TransposeOp, node.any_tensor(), permutation=list(order)).result


def _transpose(node: AtenNode, first: str, second: str) -> SSAValue:
    order = list(range(len(shape_of(node.any_tensor()))))
    left, right = node.axis(first, rank=len(order)), node.axis(second, rank=len(order))
    order[left], order[right] = order[right], order[left]
    return _permuted(node, order) if left != right else node.any_tensor()


def _movedim(node: AtenNode) -> SSAValue:
    rank = len(node.shape())
    sources, targets = node.axes("source", rank), node.axes("destination", rank)
    rest = iter(axis for axis in range(rank) if axis not in sources)
    placed = dict(zip(targets, sources, strict=False))
    return _permuted(node, [placed[axis] if axis in placed else next(rest) for axis in range(rank)])


def _permute(node: AtenNode) -> SSAValue:
    rank = len(node.shape())
    return _permuted(node, [node.in_rank(each, rank) for each in node.integers("dims")])


def _expand(node: AtenNode) -> SSAValue:
    value, sizes = node.any_tensor(), node.size_list("size")
    shape = shape_of(value)
    shift = len(sizes) - len(shape)
    if shift < 0:
        raise node.error(f"cannot expand {value.type} to {len(sizes)} axes")
    wanted = [
        (1 if axis >= shift and shape[axis - shift] == DYNAMIC_INDEX else shape[axis - shift])
        if size == -1 and axis >= shift else size
        for axis, size in enumerate(sizes)
    ]  # fmt: skip
    if all(
        isinstance(each, int) and (axis >= shift and each in (1, shape[axis - shift]))
        for axis, each in enumerate(wanted)
    ):
        return value
    return node.expanded(value, wanted)


def _expand_as(node: AtenNode) -> SSAValue:
    other = node.any_tensor("other")
    return node.expanded(node.any_tensor(), [node.size(other, axis) for axis in range(len(shape_of(other)))])


def _repeat(node: AtenNode) -> SSAValue:
    value, repeats = node.any_tensor(), node.size_list("repeats")
    added = len(repeats) - len(shape_of(value))
    if added > 0:
        value = node.add(ops.UnsqueezeOp, value, axes=list(range(added))).result
    known = all(isinstance(each, int) for each in repeats)
    return node.add(shapes.TileOp, value, repeats=list(repeats) if known else node.vector(repeats)).result


# Parts.


def _sliced(node: AtenNode, value: SSAValue, axis: int, start: Integer, end: Integer, step: int = 1) -> SSAValue:
    known = isinstance(start, int) and isinstance(end, int)
    bounds = ([start], [end]) if known else (node.vector([start]), node.vector([end]))
    return node.add(ops.SliceOp, value, starts=bounds[0], ends=bounds[1], axes=[axis], steps=[step]).result


def _bound(node: AtenNode, name: str, default: int) -> Integer:
    found = node.attribute(name, default)
    if not isinstance(found, int | SSAValue):
        raise node.error(f"argument '{name}' must be an integer, but got {found}")
    return cast(Integer, found)


def _slice(node: AtenNode) -> SSAValue:
    start, end, step = _bound(node, "start", 0), _bound(node, "end", END), node.index("step", 1)
    if start == 0 and end == END and step == 1:
        return node.any_tensor()
    return _sliced(node, node.any_tensor(), node.axis("dim", 0), start, end, step)


def _narrow(node: AtenNode) -> SSAValue:
    start, length = node.index("start"), node.index("length")
    return _sliced(node, node.any_tensor(), node.axis(), start, start + length)


def _select(node: AtenNode) -> SSAValue:
    """One index of an axis, without the axis."""
    axis, index = node.axis(), _bound(node, "index", 0)
    if isinstance(index, int):
        part = _sliced(node, node.any_tensor(), axis, index, END if index == -1 else index + 1)
        return node.add(ops.SqueezeOp, part, axes=[axis]).result
    position = node.reshaped(index, ())
    return node.add(indexing.GatherOp, node.any_tensor(), position, axis=axis).result


def _parts(node: AtenNode, axis: int, sizes: Sequence[int] | None, count: int) -> Sequence[SSAValue]:
    value = node.any_tensor()
    if count == 1:
        return [value]
    return node.add(ops.SplitOp, value, split=sizes, axis=axis, results=count).results


def _split(node: AtenNode) -> Sequence[SSAValue]:
    """Parts of a size, or of the given sizes."""
    axis, found = node.axis("dim", 0), node.attribute("split_sizes", node.attribute("split_size", None))
    if isinstance(found, list):
        sizes = node.integers("split_sizes" if node.has_attribute("split_sizes") else "split_size")
        return _parts(node, axis, sizes, len(sizes))
    return _equal_parts(node, axis, node.index("split_size"))


def _equal_parts(node: AtenNode, axis: int, size: int) -> Sequence[SSAValue]:
    total = node.shape()[axis] if node.inputs else 0
    if total == DYNAMIC_INDEX or size < 1:
        raise node.unsupported(f"cannot split axis {axis} of {node.any_tensor().type} into parts of {size}")
    sizes = [min(size, total - start) for start in range(0, total, size)]
    return _parts(node, axis, sizes, len(sizes))


def _chunk(node: AtenNode) -> Sequence[SSAValue]:
    axis, chunks = node.axis("dim", 0), node.index("chunks")
    if chunks < 1:
        raise node.error(f"chunks must be at least 1, but got {chunks}")
    return _equal_parts(node, axis, -(-node.shape()[axis] // chunks))


def _unbind(node: AtenNode) -> Sequence[SSAValue]:
    axis = node.axis("dim", 0)
    count = node.shape()[axis]
    if count == DYNAMIC_INDEX:
        raise node.unsupported(f"axis {axis} of {node.any_tensor().type} must be static")
    parts = _parts(node, axis, [1] * count, count)
    return [node.add(ops.SqueezeOp, part, axes=[axis]).result for part in parts]


def _cat(node: AtenNode) -> SSAValue:
    parts = [node.cast(each, node.element) for each in node.tensors("tensors") if shape_of(each) != (0,)]
    if not parts:
        raise node.error("has no tensors")
    axis = node.axis("dim", 0, rank=len(shape_of(parts[0])))
    return parts[0] if len(parts) == 1 else node.add(ops.ConcatOp, parts, axis=axis).result


def _stack(node: AtenNode) -> SSAValue:
    parts = [node.cast(each, node.element) for each in node.tensors("tensors")]
    axis = node.axis("dim", 0, rank=len(shape_of(parts[0])) + 1)
    parts = [node.add(ops.UnsqueezeOp, each, axes=[axis]).result for each in parts]
    return node.add(ops.ConcatOp, parts, axis=axis).result


def _flip(node: AtenNode) -> SSAValue:
    axes = node.axes("dims", len(node.shape()))
    count = len(axes)
    bounds: dict[str, Any] = {"starts": [-1] * count, "ends": [-END] * count, "axes": axes, "steps": [-1] * count}
    return node.add(ops.SliceOp, node.any_tensor(), **bounds).result


def _roll(node: AtenNode) -> SSAValue:
    value = node.any_tensor()
    shifts, axes = node.integers("shifts"), node.integers("dims", [])
    if len(shifts) != len(axes):
        raise node.unsupported("requires one axis for each shift")
    for shift, given in zip(shifts, axes, strict=True):
        axis = node.in_rank(given, len(shape_of(value)))
        size = shape_of(value)[axis]
        if size == DYNAMIC_INDEX:
            raise node.unsupported(f"axis {axis} must be static, but got {value.type}")
        if size and (cut := -shift % size):
            parts = [_sliced(node, value, axis, cut, END), _sliced(node, value, axis, 0, cut)]
            value = node.add(ops.ConcatOp, parts, axis=axis).result
    return value


# Indices.


def _embedding(node: AtenNode) -> SSAValue:
    return node.add(indexing.GatherOp, node.tensor("weight"), node.tensor("indices"), axis=0).result


def _index_select(node: AtenNode) -> SSAValue:
    return node.add(indexing.GatherOp, node.any_tensor(), node.tensor("index"), axis=node.axis()).result


def _gather(node: AtenNode) -> SSAValue:
    return node.add(indexing.GatherElementsOp, node.any_tensor(), node.tensor("index"), axis=node.axis()).result


def _index(node: AtenNode) -> SSAValue:
    """Indexing by one tensor of integers along one axis."""
    found = node.arguments.get("indices")
    given = cast(list[Any], found) if isinstance(found, list) else []
    tensors = [(axis, cast(SSAValue, each)) for axis, each in enumerate(given) if isinstance(each, SSAValue)]
    if len(tensors) != 1 or element_of(tensors[0][1]) != i64:
        raise node.unsupported("supports one tensor of i64 indices")
    axis, indices = tensors[0]
    return node.add(indexing.GatherOp, node.any_tensor(), indices, axis=axis).result


# Padding and resizing.


def _pad(node: AtenNode, mode: str | None = None, name: str = "pad") -> SSAValue:
    value = node.any_tensor() if "self" in node.arguments else node.any_tensor("input")
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    kind = node.text("mode", "constant") if mode is None else mode
    pads, rank = node.integers(name if name in node.arguments else "padding"), len(shape_of(value))
    if kind not in modes or len(pads) % 2 or len(pads) > 2 * rank:
        raise node.error(f"cannot pad {value.type} by {pads} in mode '{kind}'")
    count = len(pads) // 2
    # PyTorch lists the paddings of the last axis first.
    befores = [0] * (rank - count) + pads[::2][::-1]
    afters = [0] * (rank - count) + pads[1::2][::-1]
    number = node.number("value", 0) if kind == "constant" else 0
    value = node.graph.plain(value)
    fill = node.filled(number, element_of(value)) if number else None
    return node.add(shapes.PadOp, value, fill, pads=[*befores, *afters], mode=modes[kind]).result


def _resize(node: AtenNode, mode: str, *, nearest: str = "floor") -> SSAValue:
    value = node.tensor("input" if "input" in node.arguments else "self")
    rank = len(shape_of(value))
    corners = node.flag("align_corners")
    transformation = "asymmetric" if mode == NEAREST else "align_corners" if corners else "pytorch_half_pixel"
    properties: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": transformation}
    properties |= {"nearest_mode": nearest} if mode == NEAREST else {}
    given = node.attribute("scale_factors", None)
    factors = cast(list[Any], given) if isinstance(given, list) else []
    if len(factors) == rank - 2 and all(isinstance(each, float | int) for each in factors):
        properties["scales"] = [1.0, 1.0, *map(float, factors)]
    else:
        sizes = node.declared().shape
        if len(sizes) != rank or DYNAMIC_INDEX in sizes[2:] or DYNAMIC_INDEX in shape_of(value)[:2]:
            raise node.unsupported(f"requires scale factors or static sizes, but got {list(sizes)}")
        properties["sizes"] = list(sizes)
    if mode == CUBIC:
        properties["cubic_coeff_a"] = -0.75
    return node.add(ResizeOp, value, **properties).result


def _pixel_shuffle(node: AtenNode) -> SSAValue:
    return node.add(ops.DepthToSpaceOp, node.any_tensor(), block_size=node.index("upscale_factor"), mode="CRD").result


# New tensors.


def _filled(node: AtenNode, number: float | None, *, name: str = "size") -> SSAValue:
    value = node.filled(node.number("fill_value") if number is None else number, node.element)
    sizes = node.size_list(name)
    return node.expanded(value, sizes) if sizes else value


def _filled_like(node: AtenNode, number: float | None) -> SSAValue:
    other = node.any_tensor()
    value = node.filled(node.number("fill_value") if number is None else number, node.element)
    rank = len(shape_of(other))
    return node.expanded(value, [node.size(other, axis) for axis in range(rank)]) if rank else value


def _arange(node: AtenNode) -> SSAValue:
    start, end, step = (node.attribute(*each) for each in (("start", 0), ("end", None), ("step", 1)))
    if all(isinstance(each, int | float) for each in (start, end, step)):
        if not step or abs((end - start) / step) > 2**24:
            raise node.error(f"cannot make a range from {start} to {end} in steps of {step}")
        found = cast(Array, np.arange(start, end, step))
        return node.add_constant(found.astype(node.graph.dtype_of(node.element)), node.element)
    given = [cast(Any, each) for each in (start, end, step) if isinstance(each, int | SSAValue)]
    bounds = [node.vector([each]) for each in given]
    if len(bounds) != 3:
        raise node.unsupported("a range with a dynamic end must have integers")
    hint = TensorType(i64, node.declared().shape)
    return node.cast(node.add(shapes.RangeOp, *bounds, result_types=[hint]).result, node.element)


def _scalar_tensor(node: AtenNode) -> SSAValue:
    return node.filled(node.number("s"), node.element)


def _eye(node: AtenNode) -> SSAValue:
    rows = node.index("n")
    sizes = rows, node.index("m", rows)
    if (fault := shape_fault(sizes)) is not None:
        raise node.error(f"returns a tensor of {fault}")
    return node.add_constant(np.eye(*sizes, dtype=node.graph.dtype_of(node.element)), node.element)


def _triangle(node: AtenNode, *, upper: bool) -> SSAValue:
    return node.add(shapes.TriluOp, node.any_tensor(), k=node.index("diagonal", 0), upper=upper).result


# Sizes: integers that are known, or vectors of one element.


def _sym_size(node: AtenNode) -> Integer:
    value = node.any_tensor()
    return node.size(value, node.axis(rank=len(shape_of(value))))


def _sym_numel(node: AtenNode) -> Integer:
    sizes = shape_of(node.any_tensor())
    if DYNAMIC_INDEX not in sizes:
        return math.prod(sizes)
    return node.reshaped(node.add(shapes.SizeOp, node.any_tensor()).result, (1,))


def _integers(node: AtenNode, known: Callable[[int, int], int], operation: type[Any]) -> Integer:
    """Arithmetic on two sizes."""
    found = list(node.arguments.values())
    if len(found) != 2 or not all(isinstance(each, int | SSAValue) for each in found):
        raise node.error("requires two integers")
    left, right = cast(list[Integer], found)
    if isinstance(left, int) and isinstance(right, int):
        if not right and operation in (elementwise.DivOp, elementwise.ModOp):
            raise node.error("divides by 0")
        return known(left, right)
    return node.add(operation, node.vector([left]), node.vector([right])).result


def _floor_divided(left: int, right: int) -> int:
    return left // right


SIZES: Mapping[str, Any] = {
    "aten.sym_size.int": _sym_size,
    "aten.sym_numel.default": _sym_numel,
    "_operator.add": partial(_integers, known=operator.add, operation=elementwise.AddOp),
    "_operator.sub": partial(_integers, known=operator.sub, operation=elementwise.SubOp),
    "_operator.mul": partial(_integers, known=operator.mul, operation=elementwise.MulOp),
    "_operator.floordiv": partial(_integers, known=_floor_divided, operation=elementwise.DivOp),
    "_operator.mod": partial(_integers, known=operator.mod, operation=elementwise.ModOp),
}
"""The importers of operators on sizes, which are not negative."""

_VIEWS: dict[str, Importer] = {
    **dict.fromkeys(("view", "reshape", "_unsafe_view"), _view),
    **dict.fromkeys(("flatten", "unflatten"), _as_declared),
    **dict.fromkeys(("contiguous", "detach", "alias", "dropout", "feature_dropout", "alpha_dropout"), _identity),
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "permute": _permute,
    "movedim": _movedim,
    "transpose": partial(_transpose, first="dim0", second="dim1"),
    "swapaxes": partial(_transpose, first="axis0", second="axis1"),
    "t": lambda node: _permuted(node, range(len(node.shape()))[::-1]),
    "numpy_T": lambda node: _permuted(node, range(len(node.shape()))[::-1]),
    "mT": lambda node: _permuted(node, [*range(len(node.shape()) - 2), len(node.shape()) - 1, len(node.shape()) - 2]),
    "expand": _expand,
    "expand_as": _expand_as,
    "slice": _slice,
    "narrow": _narrow,
    "select": _select,
    **dict.fromkeys(("split", "split_with_sizes"), _split),
    "chunk": _chunk,
    "unbind": _unbind,
}

_COPIES: dict[str, Importer] = {
    **dict.fromkeys(("clone", "lift_fresh_copy", "identity"), _identity),
    "repeat": _repeat,
    **dict.fromkeys(("cat", "concat"), _cat),
    "stack": _stack,
    "flip": _flip,
    "roll": _roll,
    "embedding": _embedding,
    "index_select": _index_select,
    "gather": _gather,
    "index": _index,
    "pad": _pad,
    "constant_pad_nd": partial(_pad, mode="constant"),
    **{f"reflection_pad{rank}d": partial(_pad, mode="reflect", name="padding") for rank in (1, 2, 3)},
    **{f"replication_pad{rank}d": partial(_pad, mode="replicate", name="padding") for rank in (1, 2, 3)},
    **{f"upsample_nearest{rank}d": partial(_resize, mode=NEAREST) for rank in (1, 2, 3)},
    **{f"upsample_{name}": partial(_resize, mode=LINEAR) for name in ("linear1d", "bilinear2d", "trilinear3d")},
    "upsample_bicubic2d": partial(_resize, mode=CUBIC),
    "pixel_shuffle": _pixel_shuffle,
    "full": partial(_filled, number=None),
    "zeros": partial(_filled, number=0),
    "ones": partial(_filled, number=1),
    "new_full": partial(_filled, number=None),
    "new_zeros": partial(_filled, number=0),
    "new_ones": partial(_filled, number=1),
    "full_like": partial(_filled_like, number=None),
    "zeros_like": partial(_filled_like, number=0),
    "ones_like": partial(_filled_like, number=1),
    "arange": _arange,
    "eye": _eye,
    "scalar_tensor": _scalar_tensor,
    "triu": partial(_triangle, upper=True),
    "tril": partial(_triangle, upper=False),
}

VIEWS = frozenset(f"aten.{name}" for name in _VIEWS)
"""The operators whose result shares the memory of their first argument."""

OPERATORS: Mapping[str, Importer] = {**_VIEWS, **_COPIES}
"""The importer of each ATen operator of this family, without its namespace."""
