"""`BlockBuilder`: a block under construction, its constants, and the known elements of small integer tensors."""

import math
import re
from collections.abc import Hashable, Sequence
from copy import copy
from itertools import takewhile
from typing import Any, Self, TypeVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import FOLD_LIMIT, constant_array, folded_constants
from qmlir.dialects.nn.constant.ops import ConstantOp, storage_element
from qmlir.dialects.nn.elementwise.ops import CastOp
from qmlir.dialects.nn.island.ops import OnnxIslandOp
from qmlir.dialects.nn.movement.ops import MovementOp
from qmlir.dialects.nn.sequence.ops import SequenceOp
from qmlir.dialects.quant.ops import CastOperation, StorageCastOp
from qmlir.dialects.quant.types import StoredType, UniformFloatType
from qmlir.formats.constant_shapes import Known, known_results
from qmlir.ir.builtin_types import AnyTensor, element_of, ranked_tensor, shape_of, tensor
from qmlir.ir.control_flow import has_uses
from qmlir.ir.diagnostics import text_error
from qmlir.ir.provenance import Origin, hand_on, origins_of, set_origins
from qmlir.text.elements import dense_dtype

OperationT = TypeVar("OperationT", bound=Operation)


class BlockBuilder:
    """Adds operations to the end of `block`."""

    def __init__(self, block: Block):
        self.block = block
        self._known: dict[SSAValue, Known] = {}
        self._plain: dict[SSAValue, SSAValue] = {}
        self._stored: dict[tuple[SSAValue, StoredType | UniformFloatType], SSAValue] = {}
        self._moved: dict[Hashable, Sequence[SSAValue]] = {}

    def inside(self, block: Block) -> Self:
        """Returns a builder for a block nested in this one, which inherits all known values."""
        builder = copy(self)
        builder.block = block
        builder._known, builder._plain, builder._stored = dict(self._known), dict(self._plain), dict(self._stored)
        builder._moved = dict(self._moved)
        return builder

    def append(self, op: OperationT, origins: Sequence[Origin]) -> OperationT:
        """Adds `op` with the provenance `origins`."""
        set_origins(op, origins)
        self.block.add_op(op)
        return op

    # Constants

    def constant_value(self, value: SSAValue) -> Array | None:
        """Returns the stored elements of a constant, or `None` for any other value."""
        return constant_array(value)

    def known_integers(self, value: SSAValue) -> Known | None:
        """Returns the elements of an integer vector or scalar (`None` for unknown ones), or `None` for other values."""
        if value in self._known:
            return self._known[value]
        type_ = ranked_tensor(value.type)
        if type_ is None or not isinstance(type_.get_element_type(), IntegerType):
            return None
        if 0 in type_.get_shape():
            return ()
        if math.prod(type_.get_shape()) > FOLD_LIMIT:
            return None
        array = constant_array(value)
        return None if array is None else tuple(int(number) for number in array.reshape(-1))

    # Quantized values

    def plain(self, value: SSAValue) -> SSAValue:
        """Returns `value` or, if it is quantized, its stored integers as a plain tensor."""
        element = element_of(value)
        if not isinstance(element, StoredType | UniformFloatType):
            return value
        if value not in self._plain:
            origins = origins_of(value.owner) if isinstance(value.owner, Operation) else ()
            shape = shape_of(value)
            held = IntegerType(element.bits) if isinstance(element, StoredType) else element.storage
            stored = StorageCastOp(value, TensorType(held, shape))
            result: SSAValue = self.append(stored, origins).result
            if isinstance(element, StoredType) and not element.is_signed:
                unsigned = CastOp.create(operands=[result], result_types=[TensorType(element.storage, shape)])
                result = self.append(unsigned, origins).result
            self._plain[value] = result
        return self._plain[value]

    def stored(self, value: SSAValue, element: StoredType | UniformFloatType, origins: Sequence[Origin]) -> SSAValue:
        """Returns the stored elements of `value` reinterpreted as a quantized value of type `element`.

        If `value` is a constant, the result is a constant that shares its bytes. If a cast is needed, `origins` is its
        provenance.
        """
        if element_of(value) == element:
            return value
        key = value, element
        if key not in self._stored:
            self._stored[key] = self._as_stored(value, element, origins)
        return self._stored[key]

    def _as_stored(
        self, value: SSAValue, element: StoredType | UniformFloatType, origins: Sequence[Origin]
    ) -> SSAValue:
        shape, owner = shape_of(value), value.owner
        if isinstance(owner, Operation):
            origins = origins_of(owner)
        if isinstance(owner, ConstantOp) and element_of(value) == storage_element(element):
            constant = self.append(
                ConstantOp.create(properties=owner.properties, result_types=[TensorType(element, shape)]), origins
            ).result
            constant.name_hint = value.name_hint
            return constant
        value = self.plain(value)
        signless = IntegerType(element.bits) if isinstance(element, StoredType) else element.storage
        if element_of(value) != signless:
            value = self.append(
                CastOp.create(operands=[value], result_types=[TensorType(signless, shape)]), origins
            ).result
        return self.append(StorageCastOp(value, TensorType(element, shape)), origins).result

    # After a node

    def settle(self, first: Operation | None, values: Sequence[SSAValue | None]) -> list[SSAValue | None]:
        """Folds `first` and later operations if their operands are small constants or their results are known integers.

        Equal data-movement operations on one constant are merged, so that weights used by several nodes remain a single
        constant. Returns the values that replace `values`.
        """
        op = first
        moved: dict[SSAValue, SSAValue] = {}
        while op is not None:
            following = op.next_op
            movement = _movement(op)
            if (same := self._moved.get(movement)) is not None:
                for result, constant in zip(op.results, same, strict=True):
                    if isinstance(constant.owner, Operation):
                        hand_on((op,), constant.owner)
                    result.replace_all_uses_with(constant)
                    moved[result] = constant
                Rewriter.erase_op(op)
                op = following
                continue
            constants: Sequence[ConstantOp | None] | None = folded_constants(op) if isinstance(op, NnOp) else None
            if constants is None:
                self._known.update(known_results(op, self.known_integers))
                constants = [self._known_constant(result) for result in op.results]
            for result, constant in zip(op.results, constants, strict=True):
                if constant is not None:
                    set_origins(constant, origins_of(op))
                    self.block.insert_op_before(constant, op)
                    result.replace_all_uses_with(constant.result)
                    moved[result] = constant.result
            if constants and None not in constants:
                if movement is not None:
                    self._moved[movement] = [moved[result] for result in op.results]
                Rewriter.erase_op(op)
            op = following
        return [None if value is None else moved.get(value, value) for value in values]

    def _known_constant(self, result: SSAValue) -> ConstantOp | None:
        """Returns a constant for a result whose integers are all known, or `None`."""
        known = self._known.get(result)
        if known is None or None in known or DYNAMIC_INDEX in shape_of(result):
            return None
        array = np.array(known, dtype=self.dtype_of(element_of(result))).reshape(shape_of(result))
        return ConstantOp.of(array, tensor(result.type))

    def drop_after(self, last: Operation | None) -> None:
        """Erases all operations after `last`, which an importer added before it rejected its node."""
        dropped = list(takewhile(lambda op: op is not last, reversed(list(self.block.ops))))
        values = {result for op in dropped for result in op.results}
        self._known = {value: known for value, known in self._known.items() if value not in values}
        self._plain = {value: plain for value, plain in self._plain.items() if values.isdisjoint((value, plain))}
        self._stored = {key: stored for key, stored in self._stored.items() if values.isdisjoint((key[0], stored))}
        self._moved = {key: made for key, made in self._moved.items() if values.isdisjoint(made)}
        for op in dropped:
            Rewriter.erase_op(op)

    def refine(self, value: SSAValue, declared: AnyTensor) -> SSAValue:
        """Returns `value` with unknown sizes taken from `declared`, or unchanged if the two types are incompatible."""
        found = ranked_tensor(value.type)
        if found is None or not isinstance(value.owner, Operation) or len(found.get_shape()) != declared.get_num_dims():
            return value
        sizes = [
            known if size == DYNAMIC_INDEX else size
            for size, known in zip(found.get_shape(), declared.get_shape(), strict=True)
        ]
        if tuple(sizes) == found.get_shape():
            return value
        return Rewriter.replace_value_with_new_type(value, TensorType(found.get_element_type(), sizes))

    def sweep(self) -> None:
        """Erases operations whose results are unused."""
        for op in reversed(list(self.block.ops)):
            is_swept = isinstance(op, NnOp | SequenceOp | OnnxIslandOp | CastOperation)
            if is_swept and not has_uses(op):
                Rewriter.erase_op(op)

    @staticmethod
    def dtype_of(element: Attribute) -> np.dtype[Any]:
        """Returns the NumPy type of an element type. Raises `DiagnosticError` if it has none."""
        dtype = dense_dtype(element)
        if dtype is None:
            raise text_error(f"a constant must contain numbers, but got elements of type {element}")
        return dtype


def _movement(op: Operation) -> Hashable:
    """Returns a key that is equal for movements with equal results; `None` for any other operation."""
    if not isinstance(op, MovementOp):
        return None
    return op.name, tuple(op.operands), tuple(op.result_types), frozenset(op.properties.items())


_NO_NAME = re.compile(r"[^A-Za-z0-9_$.-]+")


def suggest_name(value: SSAValue, name: str) -> None:
    """Sets the name hint of a value to its name in the model if the IR syntax allows it; a later call overrides it."""
    hint = _NO_NAME.sub("_", name).strip("_.-")
    if SSAValue.is_valid_name(hint) and not hint.isdecimal():
        value.name_hint = hint
