"""Contractions of the `kernel` dialect, with a scalar epilogue.

A contraction computes the exact sum `acc = sum (x - z_x)(w - z_w)` for each element of its result. Its region receives
this scalar and one element of each additional operand, and yields the result element. Contractions on packed operands
are defined in `packed_ops.py`. On tensors, a contraction returns a result; on memory, it writes to the operand `outs`.
Integers are signless: the operation specifies which operands are read as unsigned.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    MemRefType,
    TensorType,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.ops import YieldOp, shaped
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.interfaces import Destination, DestinationEffects, DestinationStyle, MultipliesAndAdds


class EpilogueOp(IRDLOperation, MultipliesAndAdds, DestinationStyle):
    """Sums products of a data operand `x` and a weight operand `w` exactly, and applies an epilogue to each sum.

    The additional operands `epilogue` each have an indexing map from the dimensions of the result to their own, as in
    `linalg.generic`. `schedule` is a hint for lowering to loops; it does not affect the result.
    """

    x = operand_def()
    w = operand_def()
    epilogue = var_operand_def()
    outs = opt_operand_def()

    input_unsigned = opt_prop_def(UnitAttr)
    epilogue_maps = prop_def(ArrayAttr[AffineMapAttr], default_value=ArrayAttr[AffineMapAttr](()))
    schedule = opt_prop_def(ScheduleAttr)

    body = region_def("single_block")
    result = opt_result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(RecursiveMemoryEffect(), DestinationEffects())

    @property
    def target(self) -> SSAValue:
        """The value that the operation writes: its result, or the memory `outs`."""
        value = self.outs if self.result is None else self.result
        assert value is not None
        return value

    @property
    def accumulator_type(self) -> Attribute:
        """The type of the exact sum."""
        return self.body.block.args[0].type

    @property
    def product_type(self) -> Attribute:
        """The type in which products are summed."""
        return self.accumulator_type

    def sum_shape(self) -> tuple[int, ...]:
        """Returns the shape of the result. Raises `VerifyException` if the operand shapes don't match."""
        raise NotImplementedError

    def terms(self) -> int:
        """Returns the number of products in each sum."""
        raise NotImplementedError

    def channels(self) -> int:
        """Returns the number of output channels."""
        return shaped(self.target)[0][-1]

    def multiply_adds(self) -> int:
        return math.prod(self.sum_shape()) * self.terms()

    @property
    def first_of_epilogue(self) -> int:
        """The index of the first epilogue operand."""
        return len(self.operands) - len(self.epilogue) - (self.outs is not None)

    def segments(self, epilogue: int, outs: int) -> dict[str, Attribute]:
        """Returns the property `operandSegmentSizes` for `epilogue` epilogue operands and `outs` output operands."""
        name = "operandSegmentSizes"
        *before, _, _ = integer_list(cast(DenseArrayBase[IntegerType], self.properties[name]))
        return {name: DenseArrayBase.from_list(i32, [*before, epilogue, outs])}

    def destinations(self) -> Sequence[Destination]:
        return [Destination(None if self.outs is None else len(self.operands) - 1)]

    def on_memory(self, memory: Callable[[SSAValue], SSAValue], outs: Sequence[SSAValue]) -> Operation:
        return type(self).create(
            operands=[*(memory(value) for value in self.operands if value is not self.outs), *outs],
            properties={**self.properties, **self.segments(len(self.epilogue), len(outs))},
            attributes=dict(self.attributes),
            regions=[self.detach_region(self.body)],
        )

    def may_overwrite(self, operand: int, destination: int) -> bool:
        """Allows an epilogue operand with an identity map: it is read only at the index being written."""
        first = self.first_of_epilogue
        if not first <= operand < first + len(self.epilogue):
            return False
        map_ = self.epilogue_maps.data[operand - first].data
        return map_ == AffineMap.identity(map_.num_dims)

    def verify_(self) -> None:
        if (self.result is None) == (self.outs is None):
            raise VerifyException("must either return a tensor or write to 'outs'")
        holders = TensorType if self.outs is None else MemRefType
        for value in (*self.operands, *self.results):
            if not isinstance(value.type, holders):
                raise VerifyException(
                    f"operands and results must be all tensors or all memrefs, but got '{value.type}'"
                )
        self._verify_properties()
        self._verify_operands()
        self._verify_elements()
        self._verify_epilogue()

    def _verify_properties(self) -> None:
        """Raises `VerifyException` if properties are invalid regardless of the operands."""

    def _verify_operands(self) -> None:
        shape, _ = shaped(self.target)
        if self.sum_shape() != shape:
            raise VerifyException(f"expected a result of shape {list(self.sum_shape())}, but got {list(shape)}")

    def _verify_elements(self) -> None:
        elements = [shaped(value)[1] for value in (self.x, self.w)]
        accumulator = self.product_type
        is_float = [isinstance(element, AnyFloat) for element in elements]
        if is_float[0] != is_float[1] or is_float[0] != isinstance(accumulator, AnyFloat):
            raise VerifyException(
                f"operands and accumulator must be all integers or all floats, but got {elements[0]}, "
                f"{elements[1]} and {accumulator}"
            )
        accumulators = (i32, i64)
        if not is_float[0] and accumulator not in accumulators:
            raise VerifyException(f"accumulator must be i32 or i64, but got {accumulator}")

    def _verify_epilogue(self) -> None:
        shape, element = shaped(self.target)
        if len(self.epilogue_maps) != len(self.epilogue):
            raise VerifyException(
                f"expected one map per epilogue operand, but got {len(self.epilogue)} operands and "
                f"{len(self.epilogue_maps)} maps"
            )
        for argument, value, attribute in zip(
            self.body.block.args[1:], self.epilogue, self.epilogue_maps, strict=False
        ):
            sizes, own = shaped(value)
            if argument.type != own:
                raise VerifyException(
                    f"block argument for epilogue operand '{value.type}' must have its element type, but got "
                    f"'{argument.type}'"
                )
            map_ = attribute.data
            if map_.num_symbols:
                raise VerifyException(f"map {map_} must not have symbols")
            if map_.num_dims != len(shape) or len(map_.results) != len(sizes):
                raise VerifyException(f"map {map_} must take {len(shape)} dimensions to those of '{value.type}'")
            for expression, size in zip(map_.results, sizes, strict=True):
                if isinstance(expression, AffineDimExpr) and size < shape[expression.position]:
                    raise VerifyException(
                        f"map {map_} reads out of bounds of '{value.type}' for a result of shape {list(shape)}"
                    )
        if len(self.body.block.args) != 1 + len(self.epilogue):
            raise VerifyException(
                f"the region must take the sum and {len(self.epilogue)} elements of epilogue operands"
            )
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("the region must end in kernel.yield")
        if [value.type for value in last.arguments] != [element]:
            found = ", ".join(str(value.type) for value in last.arguments)
            raise VerifyException(f"the region must yield {element}, but yields {found}")


def zero_point_type(zero_points: Iterable[int]) -> IntegerType:
    """Returns the type of zero points: i32, or i64 if one does not fit (possible for unsigned 32-bit operands)."""
    return i32 if all(-(1 << 31) <= each < 1 << 31 for each in zero_points) else i64


def _zero_point(number: int) -> IntegerAttr:
    return IntegerAttr(number, zero_point_type([number]))


class ContractionOp(EpilogueOp):
    """Sums `(x - z_x)(w - z_w)`; `weight_zero_points` holds one zero point per output channel if they differ.

    `input_total` states that the `|x - z_x|` of each sum add up to at most this number, as those of probabilities do.
    Zero points are signed 32-bit integers, or 64-bit integers if an unsigned 32-bit operand has a larger zero point.
    """

    x = operand_def()
    w = operand_def()
    weight_zero_points = opt_operand_def()
    epilogue = var_operand_def()
    outs = opt_operand_def()

    input_zero_point = prop_def(IntegerAttr, default_value=IntegerAttr(0, i32))
    weight_zero_point = prop_def(IntegerAttr, default_value=IntegerAttr(0, i32))
    weight_unsigned = opt_prop_def(UnitAttr)
    input_total = opt_prop_def(IntegerAttr)

    assembly_format: ClassVar[str | None] = (
        "`ins` `(` $x `,` $w `:` type($x) `,` type($w) `)` "
        "(`weight_zero_points` `(` $weight_zero_points^ `:` type($weight_zero_points) `)`)? "
        "(`epilogue` `(` $epilogue^ `:` type($epilogue) `)`)? "
        "(`outs` `(` $outs^ `:` type($outs) `)`)? (`->` type($result)^)? attr-dict-with-keyword $body"
    )

    def __init__(
        self,
        x: SSAValue,
        w: SSAValue,
        body: Region,
        *,
        result_type: Attribute | None = None,
        outs: SSAValue | None = None,
        epilogue: Sequence[tuple[SSAValue, AffineMap]] = (),
        weight_zero_points: SSAValue | None = None,
        zero_points: tuple[int, int] = (0, 0),
        unsigned: tuple[bool, bool] = (False, False),
        properties: Mapping[str, Attribute] | None = None,
    ):
        own: dict[str, Attribute] = {
            **(properties or {}),
            "input_zero_point": _zero_point(zero_points[0]),
            "weight_zero_point": _zero_point(zero_points[1]),
            "epilogue_maps": ArrayAttr([AffineMapAttr(map_) for _, map_ in epilogue]),
        }
        for name, flag in zip(("input_unsigned", "weight_unsigned"), unsigned, strict=True):
            if flag:
                own[name] = UnitAttr()
        super().__init__(
            operands=[
                x,
                w,
                [] if weight_zero_points is None else weight_zero_points,
                [value for value, _ in epilogue],
                [] if outs is None else outs,
            ],
            properties=own,
            regions=[body],
            result_types=[[] if result_type is None else [result_type]],
        )

    def _verify_properties(self) -> None:
        super()._verify_properties()
        if self.input_total is not None and self.input_total.value.data < 0:
            raise VerifyException(f"input_total must be >= 0, but got {self.input_total.value.data}")

    def _verify_operands(self) -> None:
        super()._verify_operands()
        if self.weight_zero_points is not None:
            sizes, element = shaped(self.weight_zero_points)
            if sizes != (self.channels(),) or element not in (i32, i64):
                raise VerifyException(
                    f"expected {self.channels()} weight zero points of i32 or i64, but got "
                    f"'{self.weight_zero_points.type}'"
                )


@irdl_op_definition
class MatMulOp(ContractionOp):
    """Multiplies matrices `x` of shape `[…, M, K]` and `w` of shape `[…, N, K]`; the result has shape `[…, M, N]`.

    The batch axes of `w` are a prefix of those of `x`; along the remaining batch axes of `x`, the same matrix is used.
    For example, in grouped-query attention, queries `[B, Hk, G, S, D]` are multiplied by keys `[B, Hk, T, D]`. If `w`
    has shape `[N, K]`, all batches use the same matrix.
    """

    name = "kernel.matmul"

    def terms(self) -> int:
        return shaped(self.x)[0][-1]

    def sum_shape(self) -> tuple[int, ...]:
        x, w = list(shaped(self.x)[0]), list(shaped(self.w)[0])
        if not 2 <= len(w) <= len(x):
            raise VerifyException(f"expected x of rank >= 2 and w of rank 2 up to that of x, but got {x} and {w}")
        if w[:-2] != x[: len(w) - 2]:
            raise VerifyException(f"the batch dimensions of w ({w[:-2]}) must be the first ones of x ({x[:-2]})")
        if x[-1] != w[-1]:
            raise VerifyException(f"x and w must have the same number of terms, but got {x[-1]} and {w[-1]}")
        return (*x[:-1], w[-2])


class WindowedOp(EpilogueOp):
    """Common base of channels-last convolutions of a padded input `x` of shape `[N, spatial…, C]` to `[N, …, O]`."""

    strides = prop_def(DenseArrayBase[IntegerType])
    dilations = prop_def(DenseArrayBase[IntegerType])
    groups = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))

    @staticmethod
    def windows(strides: Sequence[int], dilations: Sequence[int], groups: int = 1) -> dict[str, Attribute]:
        """Returns the properties that convolutions have in addition to those of other contractions."""
        return {
            "strides": DenseArrayBase.from_list(i64, strides),
            "dilations": DenseArrayBase.from_list(i64, dilations),
            "groups": IntegerAttr(groups, i64),
        }

    @property
    def group_count(self) -> int:
        """The number of channel groups."""
        return self.groups.value.data

    def window(self) -> tuple[int, ...]:
        """Returns the number of kernel taps along each spatial axis."""
        raise NotImplementedError

    def positions(self) -> tuple[int, ...]:
        """Returns the number of window positions in `x` along each spatial axis."""
        axes = zip(shaped(self.x)[0][1:-1], self.window(), self._strides, self._dilations, strict=True)
        return tuple(max((size - (taps - 1) * dilation - 1) // stride + 1, 0) for size, taps, stride, dilation in axes)

    @property
    def _strides(self) -> tuple[int, ...]:
        return tuple(integer_list(self.strides))

    @property
    def _dilations(self) -> tuple[int, ...]:
        return tuple(integer_list(self.dilations))

    def _verify_properties(self) -> None:
        super()._verify_properties()
        strides, dilations = list(self._strides), list(self._dilations)
        spatial = len(shaped(self.x)[0]) - 2
        if len(strides) != len(dilations):
            raise VerifyException(f"expected {spatial} strides and dilations, but got {strides} and {dilations}")
        if min(*strides, *dilations, self.group_count) < 1:
            raise VerifyException("strides, dilations and groups must be >= 1")


@irdl_op_definition
class ConvOp(WindowedOp, ContractionOp):
    """Convolves the padded input `x` `[N, spatial…, C]` with `w` `[O, taps…, C / groups]` to `[N, …, O]`."""

    name = "kernel.conv"

    def window(self) -> tuple[int, ...]:
        return shaped(self.w)[0][1:-1]

    def terms(self) -> int:
        return math.prod(shaped(self.w)[0][1:])

    def sum_shape(self) -> tuple[int, ...]:
        x, w = list(shaped(self.x)[0]), list(shaped(self.w)[0])
        strides, dilations = list(self._strides), list(self._dilations)
        if len(x) < 3 or len(w) != len(x):
            raise VerifyException(f"x and w must have the same rank, at least 3, but got {x} and {w}")
        if {len(strides), len(dilations)} != {len(x) - 2}:
            raise VerifyException(f"expected {len(x) - 2} strides and dilations, but got {strides} and {dilations}")
        if x[-1] != w[-1] * self.group_count or w[0] % self.group_count:
            raise VerifyException(
                f"expected {self.group_count * w[-1]} input channels, and output channels divisible by "
                f"{self.group_count} groups, but got {x[-1]} and {w[0]}"
            )
        return (x[0], *self.positions(), w[0])
