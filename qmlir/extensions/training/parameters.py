"""The parameters that training learns in a quantized function: float constants before quantize casts, and scales.

Each parameter has a name. Values that must have the same scale form a *group*, such as the operand and the result of a
move or of a relu. The scale of an accumulator is the product of the scales of its factors, and a bias has the scale of
the accumulator that it is added to, so neither has a separate scale.
"""

from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain, count

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, IntegerType, TensorType, UnitAttr, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.requantization import accumulator_scale
from qmlir.arithmetic.schemes import signs
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import CeilOp
from qmlir.dialects.nn.evaluation import uniform_of
from qmlir.dialects.nn.requantize import (
    ANY_SCALE,
    Accumulator,
    decompose,
    has_common_scale,
    quantized_type,
    scales_fault,
)
from qmlir.dialects.nn.terms import Expr
from qmlir.dialects.quant.infer import broadcast_parameters
from qmlir.dialects.quant.ops import QuantizeCastOp, StorageCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.extensions.training.choices import FIXED
from qmlir.extensions.training.fake_quantization import (
    is_bias,
    keeps_sums,
    products_of,
    straight_through,
    sums_beside,
    sums_of,
)
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.control_flow import terminator_of
from qmlir.ir.decomposition import Parts
from qmlir.ir.diagnostics import nearest_name, op_error, text_error
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.ir.signature import Port, inputs_of, outputs_of
from qmlir.quantization.outlier_channels import constant_like
from qmlir.quantization.retyping import REPAIRED, TRAINABLE, mark_parameters
from qmlir.quantization.shared_scales import Groups
from qmlir.quantization.stored_constants import SIGNED, has_signs_alone, is_signed, restore_signs, unrounded


def float_constants(function: FuncOp) -> None:
    """Replaces the integer constants of `function` by trainable float constants and casts.

    The casts reproduce integers up to 2^22 exactly; f32 represents larger ones, as of a bias, less exactly. Scales and
    biases of norms are already floats, and are trained as well.
    """
    for op in list(function.walk()):
        op.attributes.pop(REPAIRED, None)
        if not isinstance(op, ConstantOp):
            continue
        stored, element = constant_array(op.result), quantized_type(op.result)
        if stored is None or element is None or op.result.first_use is None:
            continue
        scales, zero_points = broadcast_parameters(element, stored.shape)
        real = ((stored.astype(np.float64) - zero_points) * scales).astype(np.float32)
        constant = ConstantOp.of(real, TensorType(f32, real.shape))
        cast = QuantizeCastOp(constant.result, op.result.type)
        for made in (constant, cast):
            set_origins(made, origins_of(op))
        constant.attributes[TRAINABLE] = UnitAttr()
        if has_signs_alone(stored, element):
            cast.attributes[SIGNED] = UnitAttr()
        Rewriter.replace_op(op, [constant, cast], [cast.result])
    mark_parameters(function)


def open_parts(function: FuncOp) -> None:
    """Replaces each composite that has types for its parts with these parts.

    Raises `DiagnosticError` for a composite of dynamic length.
    """
    while composites := [op for op in function.walk() if isinstance(op, NnOp) and op.components is not None]:
        for op in composites:
            parts = Parts(op)
            results = decompose(op, parts)
            assert results is not None
            if parts.is_excerpt:
                parts.discard()
                raise op_error(op, "cannot be trained with a dynamic length; fix the input shapes with --shape")
            Rewriter.replace_op(op, parts.operations, results)


@dataclass(frozen=True)
class ScaleMethod:
    """A method of learning scales: defines the parameter, and the scale as a function of the parameter."""

    suffix: str
    initial: Callable[[UniformQuantizedType], Array]
    scale: Callable[[UniformQuantizedType, Expr], Expr]
    frozen: Callable[[UniformQuantizedType, Array], Array]
    """Computes the final scale of a type from the trained parameter; the result equals that of `scale`."""

    is_positive: bool = False
    """True if the parameter must stay greater than 0."""

    keeps_powers: bool = False
    """True if every scale is a power of two."""


def _steps(element: UniformQuantizedType) -> float:
    """Returns the number of quantization steps between 0 and the threshold."""
    return float(2 ** (element.bits - (1 if element.is_signed else 0)))


def power_of_two(exponent: Expr) -> Expr:
    """Returns `2^x`, elementwise, for exponents `x`."""
    return Expr(exponent.at, exponent.at.constant(2.0, exponent.value)) ** exponent


METHODS: Mapping[str, ScaleMethod | None] = {
    FIXED: None,
    "lsq": ScaleMethod(
        "scale",
        initial=lambda element: element.scales.astype(np.float32),
        scale=lambda _, given: given,
        frozen=lambda _, given: given,
        is_positive=True,
    ),
    "tqt": ScaleMethod(
        "log2_threshold",
        initial=lambda element: np.log2(element.scales.astype(np.float64) * _steps(element)).astype(np.float32),
        scale=lambda element, given: power_of_two(straight_through(given.apply(CeilOp), given)) * (1 / _steps(element)),
        frozen=lambda element, given: np.ldexp(np.float32(1 / _steps(element)), np.ceil(given).astype(np.int32)),
        keeps_powers=True,
    ),
}
"""The methods of learning scales, by the names that `calib.fake_quant` uses for them."""


def check_method(scales: str) -> None:
    """Raises `DiagnosticError` if `scales` is not one of `METHODS`."""
    if scales not in METHODS:
        raise text_error(
            f"scales must be one of {', '.join(METHODS)}, but got '{scales}'{nearest_name(scales, METHODS)}"
        )


def scale_groups(function: FuncOp) -> Mapping[SSAValue, Sequence[SSAValue]]:
    """Returns the groups of values of `function` that share a scale, keyed by one member of each group.

    Accumulators and biases do not belong to any group.
    """
    groups, alike = Groups(), dict[tuple[object, ...], SSAValue]()
    own: dict[SSAValue, None] = {}
    for op in function.walk():
        for position, value in enumerate(op.results):
            if quantized_type(value) is not None and not keeps_sums(value) and not is_bias(value):
                own[value] = None
                # The time steps of a recurrent layer share a role and a type.
                if origins := origins_of(op):
                    groups.join((alike.setdefault((origins, op.name, position, value.type), value), value))
        groups.join(_tied(op, own))
    for value in (value for op in function.walk() for value in op.results if is_bias(value)):
        for pair in _beside_bias(value):
            if own.keys() >= set(pair) and pair[0].type == pair[1].type:
                groups.join(pair)
    found: dict[SSAValue, list[SSAValue]] = {}
    for value in own:
        found.setdefault(groups.find(value), []).append(value)
    return found


def _tied(op: Operation, own: Container[SSAValue]) -> Sequence[SSAValue]:
    """Returns the values of `op`, among `own`, that must have the same scale."""
    if not isinstance(op, NnOp):
        return ()
    values = [value for value in (*op.operands, *op.results) if value in own]
    if op.quantization_slots().shares_parameters:
        return values
    if op.accumulator is Accumulator.OPERAND:
        return [value for value in values if value.type == op.operands[0].type]
    if op.accumulator is Accumulator.COMMON:
        operands = [value for value in op.operands if value in own]
        is_common = len(operands) == len(op.operands) and has_common_scale(op)  # for integers, whatever their limits
        return operands if is_common and len({uniform_of(value).scales.size for value in operands}) == 1 else ()
    return ()


def _beside_bias(bias: SSAValue) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yields pairs of factors of the accumulators that one bias is added to: its single scale ties them."""
    first, *others = [products_of(sums).operands[:2] for use in bias.uses if (sums := sums_of(use)) is not None]
    for each in others:
        yield from zip(first, each, strict=True)


class _Names:
    """Assigns a unique name to each value, derived from its node.

    The names differ from those of inputs and outputs, since training programs take and return values by name.
    """

    def __init__(self, function: FuncOp, taken: Iterable[str] = ()):
        self._inputs = [port.name for port in inputs_of(function)]
        self._taken = {*self._inputs, *(port.name for port in outputs_of(function)), *taken}

    def of(self, value: SSAValue, suffix: str = "") -> str:
        """Returns the name of the input or node that defines `value`, with the first free number if it is taken."""
        op = value.owner
        assert isinstance(op, Operation)
        name = "+".join(map(str, origins_of(op)))
        if not name and isinstance(op, QuantizeCastOp) and isinstance(op.input, BlockArgument):
            name = self._inputs[op.input.index]
        name = f"{name or value.name_hint or op.name}{suffix}"
        numbered = chain([name], (f"{name}#{number}" for number in count(1)))
        free = next(each for each in numbered if each not in self._taken)
        self._taken.add(free)
        return free


@dataclass(frozen=True)
class LearnedParameter:
    """A parameter that training learns: its name, which derives from its node, and its initial value."""

    name: str
    initial: Array
    values: Sequence[SSAValue]
    """A float constant, or the quantized values whose scale is learned."""

    method: ScaleMethod | None = None
    """How the scale is learned; `None` for a constant."""

    def scales(self, array: Array) -> Array:
        """Returns the scales that all `values` have if `array` is the value of the parameter."""
        assert self.method is not None
        return self.method.frozen(uniform_of(self.values[0]), array)


def parameters_of(function: FuncOp, scales: str = FIXED) -> Iterator[LearnedParameter]:
    """Yields the trainable parameters: marked constants, and scales if the method `scales` learns them."""
    names, method = _Names(function), METHODS[scales]
    for op in function.walk():
        if isinstance(op, ConstantOp) and TRAINABLE in op.attributes and constant_array(op.result) is not None:
            begun = unrounded(op) if is_signed(op.result) else op.array
            yield LearnedParameter(names.of(op.result), begun, [op.result])
    if method is not None:
        for value, members in scale_groups(function).items():
            initial = method.initial(uniform_of(members[0]))  # their widths may differ; `scales` reads the first one's
            yield LearnedParameter(names.of(value, f".{method.suffix}"), initial, members, method)


def is_chosen(name: str, only: Sequence[str]) -> bool:
    """Returns true if a pattern of `only` matches the parameter `name`, or if there are no patterns."""
    return not only or any(fnmatchcase(name, pattern) for pattern in only)


def _learned_scales(function: FuncOp, scales: str, only: Sequence[str]) -> list[LearnedParameter]:
    return [each for each in parameters_of(function, scales) if each.method is not None and is_chosen(each.name, only)]


def begin_scales(function: FuncOp, scales: str, only: Sequence[str] = ()) -> None:
    """Sets the scales that correspond to the initial parameters: `tqt` rounds each scale up to a power of two."""
    learned = _learned_scales(function, scales, only)
    set_scales(function, {value: each.scales(each.initial) for each in learned for value in each.values})


@contextmanager
def marked_scales(function: FuncOp, scales: str, only: Sequence[str] = ()) -> Generator[None]:
    """Marks operations whose results get arbitrary scales from training with `ANY_SCALE`, inside the `with` block.

    This includes accumulators whose factors get such scales. If the method keeps scales that are powers of two, no
    operation is marked.
    """
    method = METHODS[scales]
    learned = [] if method is None or method.keeps_powers else _learned_scales(function, scales, only)
    moving = {value for each in learned for value in each.values}
    marked: list[Operation] = []
    for op in function.walk():
        if any(map(keeps_sums, op.results)) and not moving.isdisjoint(op.operands):
            moving.update(op.results)
        if not moving.isdisjoint(op.results):
            op.attributes[ANY_SCALE] = UnitAttr()
            marked.append(op)
    try:
        yield
    finally:
        for op in marked:
            op.attributes.pop(ANY_SCALE, None)


def check_modes(function: FuncOp) -> None:
    """Raises `DiagnosticError` if the requantization mode of an operation does not support trained scales."""
    for op in function.walk():
        if isinstance(op, NnOp) and op.requantize is not None and (fault := scales_fault(op, op.requantize.mode)):
            raise op_error(op, fault)


@dataclass(frozen=True)
class LearnedWeight:
    """A trained and quantized constant, and its scale."""

    name: str
    element: UniformQuantizedType
    is_signed: bool
    """True if its codes are signs (-1 and 1)."""

    scale: LearnedParameter | None
    """The parameter that determines its scale; `None` if the scale is not learned."""

    def codes(self, parameters: Mapping[str, Array]) -> tuple[Array, Array]:
        """Returns the codes, without the zero point, as f32, and the scales in a shape that broadcasts to them."""
        array = parameters[self.name]
        scales = self.element.scales
        if self.scale is not None and self.scale.name in parameters:
            scales = self.scale.scales(parameters[self.scale.name])
        parts, zeros = broadcast_parameters(self.element.with_scales(scales), array.shape)
        if self.is_signed:
            return signs(array).astype(np.float32), np.asarray(parts, np.float32)
        low, high = self.element.storage_min - zeros, self.element.storage_max - zeros
        steps = np.asarray(parts, np.float32)
        return np.clip(np.rint(array / steps), low, high).astype(np.float32), steps


def weights_of(function: FuncOp, scales: str = FIXED) -> Iterator[LearnedWeight]:
    """Yields the trainable constants of `function` that are quantized to a single type; biases are left out."""
    known = list(parameters_of(function, scales))
    by_value = {value: each for each in known if each.method is not None for value in each.values}
    for each in known:
        casts = [use.operation for use in each.values[0].uses if isinstance(use.operation, QuantizeCastOp)]
        types = {quantized_type(cast.result) for cast in casts}
        element = types.pop() if len(types) == 1 else None
        if each.method is None and element is not None and not is_bias(casts[0].result):
            yield LearnedWeight(each.name, element, is_signed(casts[0].result), by_value.get(casts[0].result))


def watch(function: FuncOp, scales: str = FIXED) -> Mapping[str, SSAValue]:
    """Adds the stored integers of every quantized value to the outputs of `function`.

    Returns the values by the names of their outputs, which derive from their nodes. Biases are left out, because
    accumulators include them. Outputs never take the name of a parameter, including the parameters of scales for the
    method `scales`.
    """
    names = _Names(function, [parameter.name for parameter in parameters_of(function, scales)])
    watched = {
        names.of(value): value
        for op in function.walk()
        for value in op.results
        if quantized_type(value) is not None and not is_bias(value)
    }
    returned = terminator_of(function.body.block)
    casts = [
        StorageCastOp(value, TensorType(IntegerType(uniform_of(value).bits), shape_of(value)))
        for value in watched.values()
    ]
    Rewriter.insert_op(casts, InsertPoint.before(returned))
    ports = [*outputs_of(function), *(Port(name, each.result.type) for name, each in zip(watched, casts, strict=True))]
    returned.operands = [*returned.operands, *(each.result for each in casts)]
    function.update_function_type()
    function.res_attrs = ArrayAttr(port.attributes() for port in ports)
    return watched


def set_parameters(function: FuncOp, found: Mapping[str, Array], scales: str = FIXED) -> None:
    """Sets the constants and scales of `function` to the trained parameters `found`, by name."""
    scales_of: dict[SSAValue, Array] = {}
    for parameter in list(parameters_of(function, scales)):
        array = found.get(parameter.name)
        if array is None:
            continue
        if parameter.method is None:
            constant = parameter.values[0].owner
            assert isinstance(constant, ConstantOp)
            Rewriter.replace_op(constant, constant_like(constant.result, array.astype(np.float32)))
        else:
            scales_of.update(dict.fromkeys(parameter.values, parameter.scales(array)))
    set_scales(function, scales_of)
    restore_signs(function)


def set_scales(function: FuncOp, found: Mapping[SSAValue, Array]) -> None:
    """Sets the scales of values of `function`; accumulators and their addends follow the scales of their factors."""
    # A value that gets another type is replaced, so this holds operations and indices.
    sums = [op for op in function.walk() if any(map(keeps_sums, op.results))]
    biases = [
        (value.owner, beside.owner)
        for op in function.walk()
        for value in op.results
        if (beside := sums_beside(value)) is not None
    ]
    for value, scales in found.items():
        _set_scales(value, scales)
    for op in sums:
        assert isinstance(op, NnOp)
        for position in range(len(op.results)):
            _set_scales(op.results[position], _scales_of_sums(op, sums, op.results[position]))
    for op, beside in biases:
        assert isinstance(op, Operation)
        assert isinstance(beside, NnOp)
        _set_scales(op.results[0], _scales_of_sums(beside, sums, op.results[0]))


def _set_scales(value: SSAValue, scales: Array) -> None:
    element = uniform_of(value)
    if not np.array_equal(scales, element.scales):
        Rewriter.replace_value_with_new_type(value, TensorType(element.with_scales(scales), shape_of(value)))


def _scales_of_sums(op: NnOp, sums: Sequence[object], value: SSAValue) -> Array:
    """Returns the scales of the accumulator of `op`, in the shape that `value` requires.

    They are the products of the scales of its factors, or those of the accumulators that it adds.
    """
    if op.accumulator is Accumulator.PRODUCT:
        factors = (uniform_of(operand).scales for operand in op.operands[:2])
        return np.resize(accumulator_scale(*factors), uniform_of(value).scales.shape)
    source = next((operand for operand in op.operands if operand.owner in sums), op.operands[0])
    return np.asarray(uniform_of(source).scales)
