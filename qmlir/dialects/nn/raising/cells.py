"""Raises quantized recurrent cells that are spelled as primitive operations to recurrent layers of one step.

Exporters unroll a layer, or write out its cell: two matrix products, which all gates may share, their sum, and the
functions of the gates. The columns of a product, of a sum and of a function are independent, so separate columns for a
gate hold the same integers. From these columns, the parts of the layer are rebuilt with the types of the model. The
layer's decomposition must consist of exactly these parts; otherwise the cell is left unchanged, with a reason.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.nn.activations.ops import HardSigmoidOp, ReluOp, SigmoidOp, SoftsignOp, TanhOp
from qmlir.dialects.nn.base import NnOp, build
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import FullyConnectedOp, MatMulOp
from qmlir.dialects.nn.decomposition import set_element
from qmlir.dialects.nn.elementwise.ops import AddOp, ClipOp, MulOp, SubOp, UnaryOp
from qmlir.dialects.nn.movement.ops import ReshapeOp, SliceOp, SplitOp
from qmlir.dialects.nn.raising.groups import Raised, fault_of, other_user
from qmlir.dialects.nn.raising.spellings import defining_op
from qmlir.dialects.nn.raising.unification import CompositeMismatchError, constant_of, element_of_whole
from qmlir.dialects.nn.recurrent.ops import LstmOp
from qmlir.dialects.nn.requantize import decompose
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Parts
from qmlir.ir.provenance import describe, merged_origins, set_origins, set_tensor_names, tensor_names

GATES = ("input_gate", "output_gate", "forget_gate", "cell_gate")
"""The names of the gates, in the order of their weights in a layer."""

_FUNCTIONS = (SigmoidOp, TanhOp, HardSigmoidOp, ReluOp, SoftsignOp, ClipOp)
"""The operations that may be the function of a gate."""


def _with(op: Operation, *kinds: type[Operation]) -> tuple[SSAValue, SSAValue] | None:
    """Returns the first operand of `op` that is defined by an operation of these kinds, and the other operand."""
    for value, other in (op.operands, op.operands[::-1]):
        if isinstance(defining_op(value), kinds):
            return value, other
    return None


def _named(value: SSAValue) -> str:
    op = defining_op(value)
    return "an argument" if op is None else describe(op)


@dataclass
class _Made:
    """The operations created to compare a layer with a cell, most of which are erased afterwards."""

    operations: list[Operation] = field(default_factory=list[Operation])
    _parts: dict[Operation, tuple[NnOp, ...]] = field(default_factory=dict[Operation, tuple[NnOp, ...]])

    def add(self, op: Operation) -> None:
        """Registers a created operation."""
        self.operations.append(op)

    def parts_of(self, op: NnOp) -> tuple[NnOp, ...]:
        """Returns the parts of a composite of the cell, with their types."""
        if op not in self._parts:
            parts = Parts(op)
            if decompose(op, parts) is None:
                raise CompositeMismatchError(f"'components' of {describe(op)} {parts.missing_type()}")
            self.operations += parts.operations
            self._parts[op] = tuple(part for part in parts.operations if isinstance(part, NnOp))
        return self._parts[op]

    def erase(self, kept: Collection[Operation] = ()) -> None:
        """Erases all created operations except for `kept`."""
        for op in reversed(self.operations):
            if op not in kept:
                op.erase(safe_erase=False)


@dataclass(frozen=True)
class _Product:
    """A product of rows with constant weights, and an optional bias."""

    data: SSAValue
    weight: ConstantOp
    is_turned: bool
    """Whether the weights are `[K, N]`."""

    inner: tuple[Operation, ...]
    """The operations of the model that compute the product; the last one defines its value."""

    parts: tuple[NnOp, ...]
    """The product and, with a bias, the sum: `inner`, or the parts of a fully connected layer."""

    bias: ConstantOp | None = None

    @staticmethod
    def of(value: SSAValue, made: _Made) -> "_Product":
        """Matches the product that defines `value`; created parts are added to `made`. Raises `CompositeMismatchError`
        otherwise."""
        op = defining_op(value)
        if isinstance(op, FullyConnectedOp):
            weight, bias = constant_of(op.weight), None if op.bias is None else constant_of(op.bias)
            if weight is not None and (op.bias is None or bias is not None):
                parts = made.parts_of(op)
                if tuple(map(type, parts)) == (MatMulOp, AddOp)[: 1 + (bias is not None)]:
                    return _Product(op.operands[0], weight, False, (op,), parts, bias)
        if isinstance(op, AddOp):
            for inner, other in (op.operands, op.operands[::-1]):
                bias, product = constant_of(other), defining_op(inner)
                if bias is not None and isinstance(product, MatMulOp):
                    return replace(_Product.of(inner, made), inner=(product, op), parts=(product, op), bias=bias)
        if isinstance(op, MatMulOp):
            weight = constant_of(op.rhs)
            if weight is not None and len(shape_of(op.rhs)) == 2:
                return _Product(op.lhs, weight, not op.is_rhs_transposed, (op,), (op,))
        raise CompositeMismatchError(f"{_named(value)} is not a matmul with constant weights")

    @property
    def op(self) -> Operation:
        """The operation that defines the value of the product."""
        return self.inner[-1]

    @property
    def rows(self) -> Any:
        """The weights as `[N, K]`."""
        return self.weight.array.T if self.is_turned else self.weight.array


@dataclass(frozen=True)
class _Gate:
    """The function of a gate, the sum whose columns it reads, and the index of the first column."""

    function: UnaryOp
    total: AddOp
    start: int
    moved: tuple[Operation, ...]

    @staticmethod
    def of(name: str, function: Operation | None, wanted: type[UnaryOp]) -> "_Gate":
        role = name.replace("_", " ")
        if not isinstance(function, wanted):
            found = "nothing" if function is None else describe(function)
            raise CompositeMismatchError(f"its {role} must apply {wanted.name}, but applies {found}")
        value, start, moved = function.input, 0, tuple[Operation, ...]()
        piece = defining_op(value)
        if isinstance(piece, SplitOp | SliceOp):
            value, start, moved = piece.operands[0], _first_column(piece, cast(OpResult, value)), (piece,)
        total = defining_op(value)
        if not isinstance(total, AddOp):
            raise CompositeMismatchError(f"its {role} must read the sum of two matmuls, but reads {_named(value)}")
        return _Gate(function, total, start, moved)


def _first_column(piece: SplitOp | SliceOp, value: OpResult) -> int:
    rank = len(shape_of(piece.operands[0]))
    if isinstance(piece, SplitOp):
        if piece.axis.value.data % rank == rank - 1 and piece.is_known("split"):
            return sum(shape_of(each)[-1] for each in piece.results[: value.index])
    elif all(piece.is_known(name) for name in piece.PARAMETERS):
        starts, _, axes, steps = piece.bounds()
        if len(axes) == 1 and axes[0] % rank == rank - 1 and steps[0] == 1:
            return int(starts[0]) % shape_of(piece.operands[0])[-1]
    raise CompositeMismatchError(f"{describe(piece)} does not select columns of the gate sums")


@dataclass
class LstmCell:
    """An LSTM cell: the last operations that compute its states, and its gates."""

    root: MulOp
    curve: TanhOp
    cell: AddOp
    kept: MulOp
    fresh: MulOp
    before: SSAValue
    gates: dict[str, _Gate]
    made: _Made = field(default_factory=_Made)
    types: dict[str, Attribute] = field(default_factory=dict[str, Attribute])

    @staticmethod
    def of(root: Operation) -> "LstmCell | None":
        """Matches the quantized cell whose output is `root`; `None` if `root` is not the end of a cell.

        Raises `CompositeMismatchError` if a cell matches only in part.
        """
        if not isinstance(root, MulOp) or not isinstance(element_of(root.result), UniformQuantizedType):
            return None
        found = _with(root, TanhOp)
        curve = None if found is None else defining_op(found[0])
        cell = defining_op(curve.input) if isinstance(curve, TanhOp) else None
        if found is None or not isinstance(curve, TanhOp) or not isinstance(cell, AddOp):
            return None
        terms = [op for op in map(defining_op, cell.operands) if isinstance(op, MulOp)]
        fresh = next((op for op in terms if _with(op, TanhOp) is not None), None)
        kept = next((op for op in terms if op is not fresh), None)
        if fresh is None or kept is None or len(terms) != 2:
            return None
        new, into = _with(fresh, TanhOp) or fresh.operands
        gated = _with(kept, SigmoidOp) or _with(kept, *_FUNCTIONS)
        if gated is None:
            return None
        functions = dict(zip(GATES, map(defining_op, (into, found[1], gated[0], new)), strict=True))
        gates = {
            name: _Gate.of(name, each, TanhOp if name == "cell_gate" else SigmoidOp) for name, each in functions.items()
        }
        for op in (root, curve, cell, kept, fresh, *(gate.function for gate in gates.values())):
            if shape_of(op.results[0]) != shape_of(root.result):
                raise CompositeMismatchError(
                    f"{describe(op)} must have the shape of a state ('{root.result.type}'), but has type "
                    f"'{op.results[0].type}'"
                )
        return LstmCell(root, curve, cell, kept, fresh, gated[1], gates)

    @property
    def hidden(self) -> int:
        """The number of elements in a state."""
        return shape_of(self.root.result)[-1]

    def _add(
        self, op: Any, role: str, like: NnOp, cut: Callable[[Attribute], Attribute] = lambda each: each
    ) -> SSAValue:
        """Adds `op` to the layer, with the type and the requantization of `like`, its counterpart in the cell.

        If `like` has the columns of several gates, `cut` maps its type to the type of one gate's columns.
        """
        element = cut(element_of(like.results[0]))
        set_element(op, element)
        if not isinstance(op, ConstantOp):
            op.requantize = like.requantize
        self.made.add(op)
        self.types[role] = element
        return op.results[0]

    def _piece(self, element: Attribute, start: int, axis: int) -> Attribute:
        """Returns the type of this cell's columns from `start` on, along `axis` if they have separate scales."""
        if not isinstance(element, UniformQuantizedType) or element.granularity is Granularity.BLOCK:
            raise CompositeMismatchError(f"one of its parts has the unsupported type '{element}'")
        if element.granularity is Granularity.TENSOR:
            return element
        own = slice(start, start + self.hidden)
        scales, zeros = np.asarray(element.scales)[own], element.zero_points[own]
        limits, expressed = (element.storage_min, element.storage_max), element.expressed_type
        assert expressed is not None
        return UniformQuantizedType.per_axis(element.storage, expressed, axis, scales, zeros, limits)

    def _constant(self, role: str, source: ConstantOp, array: Any, start: int) -> SSAValue:
        def cut(element: Attribute) -> Attribute:
            return self._piece(element, start, 0)

        piece = np.ascontiguousarray(array[start : start + self.hidden])
        element = cut(element_of(source.result))
        return self._add(ConstantOp.of(piece, TensorType(cast(Any, element), piece.shape)), role, source, cut)

    def _step(self, value: SSAValue) -> SSAValue:
        """Reshapes `[N, H]` to `[1, N, H]`."""
        shape = shape_of(value)
        if len(shape) == 3 and shape[0] == 1:
            return value
        if len(shape) != 2:
            raise CompositeMismatchError(f"{_named(value)} must have one row per sequence, but has type '{value.type}'")
        reshaped = ReshapeOp(value, (1, *shape))
        self.made.add(reshaped)
        return reshaped.result

    def _products(self, gate: _Gate) -> tuple[_Product, _Product]:
        """Returns the product of the input, which may have a bias, and that of the state."""
        first, second = (_Product.of(value, self.made) for value in gate.total.operands)
        if first.bias is not None and second.bias is not None:
            raise CompositeMismatchError(
                f"{describe(first.op)} and {describe(second.op)} both add a bias, but only one of them may"
            )
        if second.bias is not None or (first.bias is None and first.data is self.state):
            first, second = second, first
        if self.data not in (None, first.data) or self.state not in (None, second.data):
            raise CompositeMismatchError(f"{describe(gate.total)} reads other values than the other gates")
        columns = {shape_of(gate.total.result)[-1], *(each.rows.shape[0] for each in (first, second))}
        if len(columns) > 1 or (first.bias is not None and {first.bias.array.size} != columns):
            raise CompositeMismatchError(
                f"{describe(gate.total)} must add two matmuls and a bias with the same number of columns"
            )
        if second.rows.shape[1] != self.hidden:
            width = second.rows.shape[1]
            raise CompositeMismatchError(
                f"{describe(second.op)} must multiply states of {self.hidden} elements, but multiplies {width}"
            )
        self.data, self.state = first.data, second.data
        return first, second

    data: SSAValue | None = None
    state: SSAValue | None = None

    def _activated(self, name: str, operands: dict[str, list[SSAValue]]) -> SSAValue:
        """Builds the parts of a gate; collects the layer's constants in `operands`."""
        gate = self.gates[name]
        first, second = self._products(gate)
        assert self.data is not None
        assert self.state is not None
        data, state = operands.setdefault("data", [self._step(self.data), self._step(self.state)])
        weight = self._constant(f"{name}/input_weight", first.weight, first.rows, gate.start)
        recurrence = self._constant(f"{name}/recurrence_weight", second.weight, second.rows, gate.start)
        operands.setdefault("weight", []).append(weight)
        operands.setdefault("recurrence", []).append(recurrence)

        def cut(element: Attribute) -> Attribute:
            return self._piece(element, gate.start, 2)

        taken = self._add(MatMulOp(data, weight, True), f"{name}/input_matmul", first.parts[0], cut)
        if first.bias is not None:
            bias = self._constant(f"{name}/bias", first.bias, first.bias.array.reshape(-1), gate.start)
            operands.setdefault("bias", []).append(bias)
            taken = self._add(AddOp(taken, bias), f"{name}/bias_add", first.parts[1], cut)
        read = self._add(MatMulOp(state, recurrence, True), f"{name}/recurrence_matmul", second.parts[0], cut)
        total = self._add(AddOp(taken, read), f"{name}/sum", gate.total, cut)
        kind = type(gate.function)
        return self._add(build(kind, [total]), f"{name}/{kind.name.partition('.')[2]}", gate.function)

    def _whole(self, pieces: Sequence[SSAValue], *, has_zeros: bool = False) -> SSAValue:
        """Concatenates the constants of the gates to that of a layer, `[1, 4 * H, …]`; a bias is followed by zeros for
        the
        state."""
        constants = [cast(ConstantOp, defining_op(piece)) for piece in pieces]
        array = np.concatenate([each.array for each in constants])[None]
        array = np.concatenate([array, np.zeros_like(array)], axis=1) if has_zeros else array
        element = element_of_whole({element_of(piece) for piece in pieces}, array.shape)
        if element is None:
            raise CompositeMismatchError(f"the constants of its gates have different types (one is '{pieces[0].type}')")
        made = ConstantOp.of(array, TensorType(cast(Any, element), array.shape))
        set_origins(made, (origin for origin in merged_origins(constants) if not origin.role))
        self.made.add(made)
        return made.result

    def inside(self) -> Iterator[Operation]:
        """Yields the operations of the cell, except for its constants."""
        for gate in self.gates.values():
            yield from (gate.function, *gate.moved, gate.total)
            for value in gate.total.operands:
                yield from _Product.of(value, self.made).inner
        yield from (self.kept, self.fresh, self.cell, self.curve, self.root)

    def _other_user(self) -> str | None:
        inside = set(self.inside())
        for op in inside - {self.root, self.cell}:
            if (user := other_user(op.results, inside)) is not None:
                return f"{describe(op)} is also used by {describe(user)}"
        return None

    def raised(self) -> Raised:
        """Returns the replacement of the cell with a layer.

        Raises `CompositeMismatchError` if the cell and the layer differ; the cell is then left unchanged.
        """
        try:
            if (fault := self._other_user()) is not None:
                raise CompositeMismatchError(fault)
            found = self._in_place(self._layer())
        except (CompositeMismatchError, VerifyException) as error:
            self.made.erase()
            raise CompositeMismatchError(str(error)) from error
        self.made.erase(found.made)
        return found

    def _layer(self) -> LstmOp:
        operands: dict[str, list[SSAValue]] = {}
        into, out, forget, new = (self._activated(name, operands) for name in GATES)
        for value in filter(None, (self.before, self.state)):
            if shape_of(value) != shape_of(self.root.result):
                raise CompositeMismatchError(
                    f"{_named(value)} must be a state of type '{self.root.result.type}', but has type '{value.type}'"
                )
        before = self._step(self.before)
        kept = self._add(MulOp(forget, before), "cell/forget_mul", self.kept)
        fresh = self._add(MulOp(into, new), "cell/input_mul", self.fresh)
        cell = self._add(AddOp(kept, fresh), "cell/sum", self.cell)
        curve = self._add(TanhOp(cell), "hidden/tanh", self.curve)
        output = self._add(MulOp(out, curve), "hidden/product", self.root)
        weight, recurrence = self._whole(operands["weight"]), self._whole(operands["recurrence"])
        bias = self._whole(operands["bias"], has_zeros=True) if "bias" in operands else None
        data, state = operands["data"]
        layer = build(LstmOp, [data, weight, recurrence, bias, None, state, before], {"hidden_size": self.hidden})
        self.made.add(layer)
        for result, value in zip(tuple(layer.results), (output, output, cell), strict=True):
            Rewriter.replace_value_with_new_type(result, TensorType(cast(Any, element_of(value)), shape_of(result)))
        layer.requantize = self.root.requantize
        inner = {role: type_ for role, type_ in self.types.items() if role not in ("cell/sum", "hidden/product")}
        if (fault := fault_of(layer, inner, {1: output, 2: cell})) is not None:
            raise CompositeMismatchError(fault)
        return layer

    def _in_place(self, layer: LstmOp) -> Raised:
        block = self.cell.parent
        assert block is not None
        group = sorted(dict.fromkeys(self.inside()), key=block.get_operation_index)
        set_origins(layer, merged_origins(group))
        after: list[NnOp] = []
        for old, new in ((self.root, layer.last_hidden), (self.cell, layer.last_cell)):
            back = ReshapeOp(new, shape_of(old.result))
            self.made.add(back)
            set_origins(back, merged_origins([old]))
            set_tensor_names(back, tensor_names(old))
            after.append(back)
        used = set(map(defining_op, layer.operands))
        before = [op for op in self.made.operations if op in used and isinstance(op, NnOp)]
        values = [op.results[0] for op in after]
        return Raised.of(layer, before, [self.root.result, self.cell.result], group, after, values)


def looks_like_gru(root: Operation) -> bool:
    """Returns whether `root` combines a state and a tanh as a GRU does: `(1 - z) * n + z * h`, or `n + z * (h - n)`."""
    if not isinstance(root, AddOp) or not isinstance(element_of(root.result), UniformQuantizedType):
        return False
    terms = [op for op in map(defining_op, root.operands) if isinstance(op, MulOp)]
    for term in terms:
        rest = _with(term, SubOp)
        if rest is None:
            continue
        difference = cast(SubOp, defining_op(rest[0]))
        if isinstance(defining_op(rest[1]), TanhOp) and any(
            difference.rhs in op.operands for op in terms if op is not term
        ):
            return isinstance(defining_op(difference.rhs), _FUNCTIONS)
        if difference.rhs in root.operands and isinstance(defining_op(difference.rhs), TanhOp):
            return isinstance(defining_op(rest[1]), _FUNCTIONS)
    return False
