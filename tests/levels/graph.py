"""A random quantized graph under construction: its values with the numbers that they have on one sample.

Each operation is built on quantized operands, its result types are chosen by what the operation gives in floats on the
sample, and it is computed at once, so that nothing is kept that cannot be interpreted.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    DictionaryAttr,
    FunctionType,
    IntegerType,
    ModuleOp,
    Signedness,
    StringAttr,
    TensorType,
    f32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir import registry
from qmlir.arithmetic.requantization import Mode, Ties, accumulator_scale
from qmlir.arithmetic.schemes import Grid, Scheme, Storage, parameters, scheme_names
from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.dialects.nn.attention.ops import AttentionOp
from qmlir.dialects.nn.base import Kind, NnOp, build, kind_of
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.contraction.ops import MatMulOp
from qmlir.dialects.nn.elementwise.ops import MulOp
from qmlir.dialects.nn.recurrent.ops import RecurrentOp
from qmlir.dialects.nn.requantize import decompose, may_requantize, verify_requantization
from qmlir.dialects.quant.evaluate import dequantize
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.interpreter.random_inputs import random_array
from qmlir.interpreter.run import interpret
from qmlir.interpreter.values import check_value
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.control_flow import captured
from qmlir.ir.decomposition import Parts
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.evaluation import evaluate
from qmlir.ir.signature import Port, set_ports
from tests.levels.parts import Role, has_parts, roles_of

Array = np.ndarray[Any, np.dtype[Any]]

BITS = (1, *range(1, 33), 32, *(8,) * 11)
"""Storage widths of activations and weights, most often 8."""

UP_TO_16 = (1, *range(1, 17), *(8,) * 6)
"""Those that most models have; their narrow limits are those of models, too."""

WIDE = (*range(17, 33), 31, 31, 32, 32, 32, 32)
"""Widths beyond 16 bits, most often those at which 32 bits do not hold a difference."""

ACCUMULATOR_BITS = (32, 32, 32, 24, 20)
"""Widths of sums that are kept; those that do not hold them saturate below 32 bits."""

ATTEMPTS_AT_PARTS = 4
"""So often the types of the parts of a composite are drawn before it is given up."""

OTHER_GRANULARITY = 0.08
"""How often a result has a scale for each index of an axis, or for each block."""

WITH_PARTS = 0.6
"""How often a quantized composite says the types of its parts."""

OTHER_SCALE = 0.3
"""How often a scale is not what the range asks for: most of the result then saturates, or a few steps hold it all."""

OTHER_ZERO_POINT = 0.3
"""How often narrow limits exclude the zero point, or have it at their end."""

MOST_ELEMENTS = 600
"""No value is larger: the loops of the lowest level are interpreted one by one."""

MOST_PRODUCTS = 6000
"""No contraction adds up more products."""


MOST_BITS = 62
"""Sums of products have no more bits, the sign not among them."""


class RejectedError(Exception):
    """The operation has no meaning on these operands: another one is drawn."""


@dataclass(frozen=True)
class Value:
    """One value of the graph, and what it is on the sample."""

    ssa: SSAValue
    array: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, which is known."""
        return shape_of(self.ssa)

    @property
    def element(self) -> Attribute:
        """The element type."""
        return element_of(self.ssa)

    @property
    def uniform(self) -> UniformQuantizedType | None:
        """The element type where it is quantized."""
        return self.element if isinstance(self.element, UniformQuantizedType) else None

    @property
    def has_one_scale(self) -> bool:
        """Whether it is a quantized value that contractions take: one scale for all elements."""
        found = self.uniform
        return found is not None and found.granularity is Granularity.TENSOR

    def real(self) -> Array:
        """The real values of the sample."""
        return self.array if self.uniform is None else dequantize(self.array, self.uniform)


class Graph:
    """The graph: a block that grows, the values that can be used, and the inputs."""

    def __init__(self, seed: int, scheme: Scheme | None = None, bits: Sequence[int] = UP_TO_16) -> None:
        self.bits = bits
        self.random = np.random.default_rng(seed)
        schemes = [Scheme.parse(name) for name in scheme_names()]
        self.scheme = scheme or schemes[int(self.random.integers(len(schemes)))]
        self.mode, self.ties = Mode.F32, self.pick(list(Ties))
        if self.chance(0.4):
            # The others are for some operations alone, or for kernels.
            modes = [Mode.F32, Mode.SINGLE_ROUND, Mode.DOUBLE_ROUND, Mode.SHIFT]
            self.mode = self.pick([each for each in modes if each is not Mode.SHIFT or self.scheme.is_power_of_two])
        self.block = self.entry = Block()
        self.values: list[Value] = []
        self._inputs: list[Value] = []
        self._names = 0

    # --- Drawing ------------------------------------------------------------------------------------------------------

    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`."""
        return int(self.random.integers(low, high, endpoint=True))

    def chance(self, probability: float) -> bool:
        """Whether something that happens so often happens."""
        return bool(self.random.random() < probability)

    def pick(self, choices: Sequence[Any]) -> Any:
        """One of the choices."""
        if not choices:
            raise RejectedError("nothing to choose from")
        return choices[self.integer(0, len(choices) - 1)]

    def axis(self, value: Value) -> int:
        """An axis of `value`, counted from the front or the back."""
        if not value.shape:
            raise RejectedError("a scalar has no axes")
        rank = len(value.shape)
        return self.integer(-rank, rank - 1)

    def storage(self, bits: int | None = None) -> Storage:
        """Stored integers, sometimes with narrower limits."""
        chosen = bits or self.pick(self.bits)
        storage = Storage(chosen, self.chance(0.6))
        if chosen > 2 and self.chance(0.15):
            low, high = storage.minimum, storage.maximum
            if self.bits is UP_TO_16:
                return Storage(chosen, storage.is_signed, (low + 1, high))
            narrow = [(low + 1, high), (low, high - 1), (low + 2, high - self.integer(0, (high - low) // 4))]
            return Storage(chosen, storage.is_signed, self.pick(narrow))
        return storage

    def shape(self, rank: int, most: int = 5) -> tuple[int, ...]:
        """Odd sizes, 1 among them."""
        return tuple(self.integer(1, most) for _ in range(rank))

    # --- Types --------------------------------------------------------------------------------------------------------

    def uniform(self, low: Any, high: Any, storage: Storage, axis: int | None = None) -> UniformQuantizedType:
        """The type for a range, or a range for each index of `axis`, in the scheme of the graph."""
        if self.chance(OTHER_SCALE):
            factor = float(self.random.choice([0.02, 0.3, 0.7, 1.4, 8.0]))
            low, high = np.multiply(low, factor), np.multiply(high, factor)
        chosen = parameters(np.float64(low), np.float64(high), Grid(storage, self.scheme))
        integer = IntegerType(storage.bits, Signedness.SIGNED if storage.is_signed else Signedness.UNSIGNED)
        limits, zero_points = (storage.minimum, storage.maximum), chosen.zero_points
        if self._excludes_zero_points(storage) and self.chance(OTHER_ZERO_POINT):
            widest = Storage(storage.bits, storage.is_signed)  # narrow limits may exclude the zero point
            zero_points = np.full_like(zero_points, self.pick([widest.minimum, widest.maximum]))
        if axis is None:
            return UniformQuantizedType.per_tensor(integer, f32, float(chosen.scales), int(zero_points), limits)
        return UniformQuantizedType.per_axis(integer, f32, axis, chosen.scales, zero_points, limits)

    def _excludes_zero_points(self, storage: Storage) -> bool:
        """Whether a type of `storage` may have a zero point outside of its limits."""
        return storage.limits is not None and self.bits is not UP_TO_16 and not self.scheme.is_symmetric

    def symmetric(self, reach: float, bits: int) -> UniformQuantizedType:
        """A type with zero point 0 for numbers up to `reach`."""
        storage = IntegerType(bits, Signedness.SIGNED)
        return UniformQuantizedType.per_tensor(storage, f32, float(np.float32(reach / (1 << (bits - 1)))), 0)

    def result_type(self, real: Array, bits: int | None = None) -> UniformQuantizedType:
        """The type that a value with these numbers has, sometimes with parameters for each index of an axis, or block.

        Raises `RejectedError` where they give no scale.
        """
        finite = np.where(np.isfinite(real), real, 0.0)
        axis = self.integer(0, real.ndim - 1) if real.ndim and self.chance(OTHER_GRANULARITY) else None
        kept = None if axis is None else tuple(each for each in range(real.ndim) if each != axis)
        low, high = (
            np.minimum(finite.min(axis=kept, initial=0.0), 0.0),
            np.maximum(finite.max(axis=kept, initial=0.0), 0.0),
        )
        if np.max(high - low) < 1e-20 or np.max(high - low) > 1e20:
            raise RejectedError("too small or too large a range")
        try:
            element = self.uniform(low, high, self.storage(bits), axis)
        except ValueError as error:
            raise RejectedError(str(error)) from error
        return element if axis is None or self.chance(0.7) else self.in_blocks(element, real.shape, axis)

    def in_blocks(self, element: UniformQuantizedType, shape: Sequence[int], axis: int) -> UniformQuantizedType:
        """A type like `element`, which has parameters for each index of `axis`, with blocks along that and another."""
        other = self.integer(0, len(shape) - 1)
        size = self.pick([size for size in range(1, shape[other] + 1) if shape[other] % size == 0])
        counts = [1] * len(shape)
        counts[axis] = shape[axis]
        scales, zeros = (each.reshape(counts) for each in (element.scales, element.zero_points))
        blocks = {axis: 1}
        if other != axis:
            blocks[other] = size
            scales, zeros = (np.repeat(each, shape[other] // size, other) for each in (scales, zeros))
            scales = scales * self.random.choice([0.5, 1.0, 2.0], scales.shape)
        storage, limits = (
            IntegerType(element.bits, element.storage.signedness),
            (element.storage_min, element.storage_max),
        )
        return UniformQuantizedType.per_block(storage, f32, blocks, scales.astype(np.float32), zeros, limits)

    # --- Values -------------------------------------------------------------------------------------------------------

    def keep(self, op: Operation, results: Sequence[Any]) -> tuple[Value, ...]:
        """Insert `op`, which has computed `results`, under a name of its own."""
        op.attributes["origin"] = StringAttr(f"{op.name.partition('.')[2]}{self._names}")
        self._names += 1
        self.block.add_op(op)
        found = tuple(Value(ssa, array) for ssa, array in zip(op.results, results, strict=True))
        self.values += found
        return found

    def input(self, element: Attribute, shape: Sequence[int], array: Array | None = None) -> Value:
        """A new input: anything that its type holds, unless it is given."""
        array = random_array(self.random, element, shape, None) if array is None else array
        value = Value(self.entry.insert_arg(TensorType(element, shape), len(self.entry.args)), array)
        self._inputs.append(value)
        self.values.append(value)
        return value

    def carried(self, arguments: Sequence[SSAValue], arrays: Sequence[Array]) -> list[Value]:
        """The arguments of the region that is built, with what they are on the sample in the first step."""
        found = [Value(argument, array) for argument, array in zip(arguments, arrays, strict=True)]
        self.values += found
        return found

    @contextmanager
    def inside(self, block: Block) -> Iterator[Block]:
        """Build in `block`, the one of a region: its values end with it, and inputs are those of the function.

        Where its operations are rejected, so is the operation that has the region.
        """
        outside, known = self.block, list(self.values)
        self.block = block
        try:
            yield block
        except RejectedError:
            for op in reversed(list(block.ops)):
                op.drop_all_references()
            raise
        finally:
            self.block = outside
            self.values = [*known, *(each for each in self._inputs if each not in known)]

    def keep_region(self, op: Operation, result: int = 0) -> Value:
        """Insert an operation with regions, computed by the interpreter; its result of this number."""
        arrays = {value.ssa: value.array for value in self.values}
        block, mapping, given = Block(), dict[SSAValue, SSAValue](), dict[str, Array]()

        def take(value: SSAValue) -> None:
            if value in mapping:
                return
            if value in arrays:
                given[f"x{len(given)}"] = arrays[value]
                mapping[value] = block.insert_arg(value.type, len(block.args))
                return
            owner = value.owner
            assert isinstance(owner, Operation)
            for operand in owner.operands:
                take(operand)
            block.add_op(owner.clone(mapping))

        for value in captured(op):
            take(value)
        copy = op.clone(mapping)
        block.add_ops([copy, ReturnOp(*copy.results)])
        types = FunctionType.from_lists(block.arg_types, list(op.result_types))
        function = FuncOp("main", types, Region(block))
        set_ports(
            function,
            [Port(name, value.type) for name, value in zip(given, block.args, strict=True)],
            [Port(f"y{position}", type_) for position, type_ in enumerate(op.result_types)],
        )
        try:
            found = interpret(ModuleOp([function]), given)
        except DiagnosticError as error:
            for each in reversed([*op.walk()]):
                each.drop_all_references()
            raise RejectedError(error.diagnostic.message) from error
        return self.keep(op, list(found.values()))[result]

    def constant(self, element: Attribute, shape: Sequence[int], array: Array | None = None) -> Value:
        """A constant: stored integers over the whole range of the type, unless they are given."""
        stored = random_array(self.random, element, shape, None) if array is None else array
        op = ConstantOp.of(stored, TensorType(element, shape))
        self.block.add_op(op)
        return Value(op.result, stored)

    def plain_constant(self, array: Array) -> Value:
        """Indices, lengths, or floats."""
        element = IntegerType(8 * array.itemsize) if array.dtype.kind == "i" else f32
        return self.constant(element, array.shape, array)

    def weights(self, shape: Sequence[int], axis: int, summed: Sequence[int], group: int = 0) -> Value:
        """Constant weights with one scale, one for each index of `axis`, or one for each block of a `summed` axis.

        Blocks of the first axis divide a `group` of it.
        """
        storage = self.storage()
        kind = self.random.random()
        if kind < 0.45:
            return self.constant(self.uniform(-self._spread(), self._spread(), storage), shape)
        if kind < 0.85 or not summed:
            reach = [self._spread() for _ in range(shape[axis])]
            return self.constant(self.uniform(np.negative(reach), reach, storage, axis), shape)
        along = self.pick([each for each in summed if shape[each] > 1])
        terms = shape[along] if along or not group else group
        block = self.pick([size for size in range(1, terms + 1) if terms % size == 0])
        counts = [shape[along] // block if position == along else 1 for position in range(len(shape))]
        blocks = {along: block}
        if axis != along:
            counts[axis], blocks[axis] = shape[axis], 1
        scales = np.array([self._spread() for _ in range(math.prod(counts))]).astype(np.float32).reshape(counts)
        integer = IntegerType(storage.bits, Signedness.SIGNED if storage.is_signed else Signedness.UNSIGNED)
        return self.constant(UniformQuantizedType.per_block(integer, f32, blocks, scales / storage.levels), shape)

    def _spread(self) -> float:
        return float(np.exp(self.random.uniform(-3, 2)))

    def like(self, value: Value, shape: Sequence[int]) -> Value:
        """Another value of the same type: one that is there, a constant, or an input."""
        element = value.element
        known = [each for each in self.values if each.shape == tuple(shape) and each.element == element]
        if known and self.chance(0.6):
            return self.pick(known)
        make = self.constant if self.chance(0.5) else self.input
        return make(element, shape)

    # --- Operations ---------------------------------------------------------------------------------------------------

    def add(
        self,
        kind: type[NnOp],
        operands: Sequence[Any],
        properties: Mapping[str, Any] | None = None,
        *,
        results: int = 1,
        result_types: Sequence[Any] | None = None,
        bits: int | None = None,
        element: UniformQuantizedType | None = None,
    ) -> Value:
        """Insert an operation, quantized results in types of `bits`, or in `element`; its first result.

        Operands are values, lists of them, or `None`. Raises `RejectedError` where the operation has no meaning on
        them.
        """
        try:
            op = _built(kind, _ssa(operands), properties, results, result_types)
        except VerifyException as error:
            raise RejectedError(str(error)) from error
        try:
            self._choose_types(op, operands, properties, results, element, bits)
            self._choose_parts(op, operands, properties, results)
            self._choose_requantization(op)
            op.verify_()
            if _has_wide_products(op):
                raise RejectedError("products that 64 bits do not hold")
            arrays = [value.array for operand in operands for value in _flat(operand)]
            with np.errstate(all="ignore"):
                found = evaluate(op, arrays)
            if found is None or any(array.size > MOST_ELEMENTS for array in found):
                raise RejectedError("too large, or nobody says what it computes")
            for array, result in zip(found, op.results, strict=True):
                check_value(array, result.type)
        except (VerifyException, InterpretationError, ValueError) as error:
            op.erase(safe_erase=False)
            raise RejectedError(str(error)) from error
        except RejectedError:
            op.erase(safe_erase=False)
            raise
        return self.keep(op, found)[0]

    def _choose_types(
        self,
        op: NnOp,
        operands: Sequence[Any],
        properties: Mapping[str, Any] | None,
        results: int,
        element: UniformQuantizedType | None,
        bits: int | None,
    ) -> None:
        if not any(kind_of(element_of(value)) is Kind.QUANTIZED for value in op.data_operands()):
            return
        is_open = [kind_of(element_of(result)) is Kind.FLOAT for result in op.results]
        if not any(is_open):
            return
        with _twin(type(op), operands, properties, results) as (twin, reals):
            found = evaluate(twin, reals)
        if found is None:
            raise RejectedError("nobody says what it computes")
        for position, (result, real) in enumerate(zip(tuple(op.results), found, strict=True)):
            if is_open[position]:
                if np.isnan(real).any():
                    raise RejectedError("gives no number")
                chosen = element or self.result_type(real, bits)
                if isinstance(op, RecurrentOp) and position == 1:  # all steps, and the last of them
                    chosen = element_of(op.results[0])
                if isinstance(op, AttentionOp) and position in (1, 2):  # keys and values as they are
                    chosen = element_of(op.operands[position])
                Rewriter.replace_value_with_new_type(result, TensorType(chosen, shape_of(result)))

    def _choose_parts(self, op: NnOp, operands: Sequence[Any], properties: Any, results: int) -> None:
        """Let a composite say the types of its parts: those that must, always."""
        must = _refusal(op) is not None  # a bias of another type than the accumulator; a composite of parts alone
        if not has_parts(op) or not (must or self.chance(WITH_PARTS)):
            return
        optional: list[str] = []
        if isinstance(op, RecurrentOp):  # each direction may round its state
            optional = [f"{prefix}hidden/rounded" for prefix in ("", "backward/")[: op.directions] if self.chance(0.4)]
        with _twin(type(op), operands, properties, results) as (twin, reals):
            roles = roles_of(op, twin, dict(zip(twin.operands, reals, strict=True)), optional)
        if not roles:
            return
        for _ in range(ATTEMPTS_AT_PARTS):
            types = {role.name: element for role in roles if (element := self._type_of_part(role)) is not None}
            for role in roles:
                types |= {name: types[role.name] for name in role.alike if role.name in types}
            op.components = DictionaryAttr(types) if types or must else None
            if (fault := _refusal(op)) is None:
                return
        raise RejectedError(str(fault))

    def _type_of_part(self, role: Role) -> Attribute | None:
        if role.given is not None:
            return role.given
        if role.is_sum and self.chance(0.4):
            return None
        bits = self.pick([32, 24, 16]) if role.is_sum and self.chance(0.3) else None
        real = role.real if role.real.any() else np.array([-1.0, 1.0])
        return self.result_type(real, bits)

    def _choose_requantization(self, op: NnOp) -> None:
        """Let `op` requantize as the graph does, where its scales allow that."""
        if self.mode is Mode.F32 or not may_requantize(op):
            return
        op.requantize = RequantizeAttr.of(self.mode, self.ties if self.mode is Mode.SHIFT else None)
        try:
            verify_requantization(op)
        except VerifyException:
            op.requantize = None

    def dequantized(self, value: Value) -> Value:
        """`value` as floats."""
        op = DequantizeCastOp(value.ssa, TensorType(f32, value.shape))
        return self.keep(op, [value.real()])[0]

    def quantized(self, value: Value, element: UniformQuantizedType | None = None) -> Value:
        """The floats of `value` in a type of their own, or in `element`."""
        chosen = element or self.result_type(value.array)
        op = QuantizeCastOp(value.ssa, TensorType(chosen, value.shape))
        found = evaluate(op, [value.array])
        assert found is not None
        return self.keep(op, found)[0]

    def accumulator(
        self, data: Value, weight: Value, axis: int, bits: int = 32, repeats: int = 1
    ) -> UniformQuantizedType | None:
        """The type of the exact sums of products, its channels along `axis`; `None` where weights have blocks."""
        x, w = data.uniform, weight.uniform
        if x is None or w is None or w.granularity is Granularity.BLOCK:
            return None
        scales, storage = accumulator_scale(x.scales, w.scales), IntegerType(bits, Signedness.SIGNED)
        if w.granularity is Granularity.TENSOR:
            return UniformQuantizedType.per_tensor(storage, f32, float(scales))
        return UniformQuantizedType.per_axis(storage, f32, axis, np.tile(scales, repeats))

    # --- The module ---------------------------------------------------------------------------------------------------

    def sample(self) -> dict[str, Array]:
        """The inputs that the graph was built on, by the names that they have in the module."""
        return {f"x{position}": value.array for position, value in enumerate(self._inputs)}

    def module(self) -> ModuleOp:
        """The function: it returns every value that nothing uses, some of them as floats."""
        unused = [value for value in self.values if not any(value.ssa.uses) and isinstance(value.ssa.owner, Operation)]
        outputs = [
            self.dequantized(value) if value.uniform is not None and self.chance(0.4) else value for value in unused
        ]
        self.block.add_op(ReturnOp(*(value.ssa for value in outputs)))
        types = FunctionType.from_lists(
            [argument.type for argument in self.block.args], [value.ssa.type for value in outputs]
        )
        function = FuncOp("main", types, Region(self.block))
        set_ports(
            function,
            [Port(f"x{position}", argument.type) for position, argument in enumerate(self.block.args)],
            [Port(f"y{position}", value.ssa.type) for position, value in enumerate(outputs)],
        )
        return ModuleOp([function])


def _flat(operand: Any) -> list[Value]:
    if operand is None:
        return []
    return list(operand) if isinstance(operand, list | tuple) else [operand]


def _ssa(operands: Sequence[Any]) -> list[Any]:
    return [[each.ssa for each in value] if isinstance(value, list) else value and value.ssa for value in operands]


def _refusal(op: NnOp) -> VerifyException | None:
    """Why `op` does not verify."""
    try:
        op.verify_()
    except VerifyException as error:
        return error
    return None


def _has_wide_products(op: Operation) -> bool:
    """Whether sums of products of `op`, or of one of its parts, may exceed 64 bits: levels below reject it."""
    parts = Parts(op)
    try:
        if type(op) in registry.decompositions() and decompose(op, parts) is not None:
            return any(map(_has_wide_products, parts.operations))
    finally:
        parts.discard()
    if not isinstance(op, MulOp | MatMulOp):
        return False
    elements = [element_of(value) for value in op.operands]
    terms = shape_of(op.operands[0])[-1] if isinstance(op, MatMulOp) else 1
    bits = [each.bits for each in elements if isinstance(each, UniformQuantizedType)]
    return len(bits) == len(elements) and sum(bits) + (terms - 1).bit_length() > MOST_BITS


def _built(kind: type[NnOp], operands: Sequence[Any], properties: Any, results: int, types: Any = None) -> NnOp:
    return build(kind, operands, properties, results=results, result_types=types)


@contextmanager
def _twin(
    kind: type[NnOp], operands: Sequence[Any], properties: Any, results: int
) -> Iterator[tuple[NnOp, list[Array]]]:
    """The operation on the real values of its operands, and these in order."""
    block = Block()
    reals: list[Array] = []

    def twin(value: Value) -> SSAValue:
        real = value.real()
        reals.append(real)
        element = value.element if value.uniform is None else f32
        if isinstance(value.ssa.owner, ConstantOp):
            constant = ConstantOp.of(np.ascontiguousarray(real), TensorType(element, value.shape))
            block.add_op(constant)
            return constant.result
        return block.insert_arg(TensorType(element, value.shape), len(block.args))

    twins = [
        None if value is None else [twin(each) for each in value] if isinstance(value, list) else twin(value)
        for value in operands
    ]
    op = _built(kind, twins, properties, results)
    try:
        with np.errstate(all="ignore"):
            yield op, reals
    finally:
        op.erase(safe_erase=False)
