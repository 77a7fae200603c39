"""Kernels that a person wrote with numba: the operation that calls one, and what a package says of it.

A function takes NumPy arrays, the operands and then one for each result, and fills those; it stands in for operations
of one class, whichever dialect they are of. `kernel.custom` keeps in words what it computes, so that the interpreter
runs the meaning of the operation, compiled code the function, and the two can be compared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from keyword import iskeyword
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lowering.lowering import is_unsigned, plain_element
from qmlir.dialects.quant.infer import element_type, storage_dtype
from qmlir.dialects.quant.types import CalibratedQuantizedType, StoredType
from qmlir.environment import default_environment
from qmlir.ir.builtin_types import as_integer, integer_list, ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.evaluation import (
    ByOperation,
    Evaluator,
    RunsRegions,
    arguments_by,
    check_writable,
    evaluator_of,
    operand_layout,
)
from qmlir.ir.interfaces import Destination, DestinationStyle
from qmlir.ir.verification import verify
from qmlir.registry.faults import one_line
from qmlir.text.elements import dense_dtype
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text


def _always(op: Operation) -> bool:
    return True


@dataclass(frozen=True)
class CustomKernel:
    """What a package says of a kernel that a person wrote; `Contribution.kernels` names it."""

    operation: type[Operation]
    """The class of the operations that it stands in for."""

    function: str
    """`module:function`, which numba compiles: `f(operands…, results…)`, arrays of stored integers or of floats. It
    writes every element of the results, none of an operand, and raises nothing."""

    fits: Callable[[Any], bool] = _always
    """Whether it can stand in for an operation, by its types and properties."""

    may_overwrite: Sequence[int] = ()
    """The operands whose memory the first result may take over: each element is read for the same place of the result
    only, before that is written."""

    any_strides: bool = False
    """Whether it takes arrays with gaps. Otherwise all are contiguous, in row-major order, of a copy where need be."""

    relative: float = 0.0
    """How far floats may be from the meaning, as a part of the largest of a result; 0: not in one bit."""

    inputs: Callable[[Any, np.random.Generator], Sequence[Array]] | None = None
    """Operands to compare it on, where numbers over the whole range of each type would have no meaning."""


@cache
def _read(among: tuple[registry.Package, ...]) -> Mapping[type[Operation], Sequence[CustomKernel]]:
    # Kept for each list of packages, so that a plug-in of one run leaves nothing behind.
    found: dict[type[Operation], list[CustomKernel]] = {}
    for row in registry.named("kernels").values():
        kernel: CustomKernel | None = row.package.load(row.row, CustomKernel)
        if kernel is None:
            continue
        outermost = kernel.function.partition(":")[0].partition(".")[0]
        if outermost not in row.package.modules:  # compiled programs are kept under the source of the package
            row.package.warn(f"kernel '{row.name}'", f"'{kernel.function}' is defined outside the package")
            continue
        found.setdefault(kernel.operation, []).append(kernel)
    return found


def custom_kernels() -> Mapping[type[Operation], Sequence[CustomKernel]]:
    """Every kernel that a person wrote, by the class of operations that it stands in for."""
    return _read(registry.packages())


def stored_dtype(element: Attribute) -> np.dtype[Any] | None:
    """The NumPy type in which a custom kernel gets elements; `None` for those that it cannot be given.

    Those are floats that numba has not, truth values, and unsigned integers that do not fill their NumPy type.
    """
    if isinstance(element, CalibratedQuantizedType):
        element = element.expressed_type
    dtype = storage_dtype(element) if isinstance(element, StoredType) else dense_dtype(element)
    if isinstance(element, AnyFloat):
        return dtype if str(dtype) in ("float32", "float64") else None
    integer = element if isinstance(element, StoredType) else as_integer(element)
    if dtype is None or integer is None:
        return None
    bits = integer.bits if isinstance(integer, StoredType) else integer.bitwidth
    return None if bits == 1 or (is_unsigned(integer) and bits != 8 * dtype.itemsize) else dtype


def _can_be_given(value: SSAValue) -> bool:
    type_ = ranked_tensor(value.type)
    return type_ is not None and type_.has_static_shape() and stored_dtype(type_.element_type) is not None


def custom_kernel_for(op: Operation) -> CustomKernel | None:
    """The first kernel that a person wrote for operations as `op`. Raises `DiagnosticError` where asking one fails."""
    kernels = custom_kernels().get(type(op), ())
    if not kernels or not all(map(_can_be_given, (*op.operands, *op.results))) or not _sees_itself_only(op):
        return None
    return next((each for each in kernels if _fits(each, op)), None)


def _sees_itself_only(op: Operation) -> bool:
    """Whether regions of `op` use no value and no block from around it, which a function cannot be given."""
    return all(
        op.is_ancestor(value.owner) and value.owner is not op
        for inner in op.walk()
        if inner is not op
        for value in inner.operands
    )


def _fits(kernel: CustomKernel, op: Operation) -> bool:
    try:
        found = cast(object, kernel.fits(op))
    except Exception as error:  # whatever a function of another package raises, it is named
        what = f"the check of whether '{kernel.function}' applies failed: {one_line(error)}{registry.in_package(error)}"
        raise op_error(op, what) from error
    if not isinstance(found, bool | np.bool_):
        what = f"the check of whether '{kernel.function}' applies must return True or False, but returned {found!r}"
        raise op_error(op, f"{what}{registry.at_code(kernel.fits)}")
    return found is True or bool(cast(object, found))


class _ReadsAndWrites(MemoryEffect):
    """On memory reads of the operands and writes of `outs`, nothing on tensors."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        if not isinstance(op, CustomOp):
            return set()
        read = {EffectInstance(MemoryEffectKind.READ, value) for value in op.inputs if op.outs}
        return {*read, *(EffectInstance(MemoryEffectKind.WRITE, value) for value in op.outs)}


def _text_of(op: Operation) -> str:
    """A module in which `op` stands alone, on the arguments of a function, in the generic form."""
    body = Block(arg_types=[value.type for value in op.operands])
    copy = op.clone(dict(zip(op.operands, body.args, strict=True)))
    body.add_ops([copy, ReturnOp()])
    function = FuncOp("text", ([value.type for value in op.operands], []), Region(body))
    return module_text(ModuleOp([function]), PrintOptions(generic=True, aliases=False, weights=Weights.INLINE))


def _operation_in(text: str, name: str, types: Sequence[Attribute]) -> Operation:
    """The operation in the words of `_text_of`. Raises `InterpretationError` for other words."""
    try:
        module = parse_module(default_environment().new_context(), text, "computes")
        verify(module)
    except DiagnosticError as error:
        raise InterpretationError(
            f"implements '{name}', whose text cannot be parsed: {error.diagnostic.message}"
        ) from error
    function = module.body.block.first_op
    op = function.body.block.first_op if isinstance(function, FuncOp) and not function.is_declaration else None
    if op is None or op.name != name or [*op.operand_types, *op.result_types] != list(types):
        raise InterpretationError(f"implements '{name}', but its text contains a different operation")
    return op


@irdl_op_definition
class CustomOp(IRDLOperation, DestinationStyle):
    """A call of a function that a person wrote, in the place of an operation that `computes` keeps in words.

    `computes` has the operation's name, the types of its operands and results before there were stored integers, and
    its properties; of one with regions its `text`, which no pass changes. The function gets the operands and `outs` as
    arrays, contiguous ones unless it takes `any_strides`, and may write over the operands that `overwrites` names. On
    tensors there are results, on memory `outs`.
    """

    name = "kernel.custom"

    inputs = var_operand_def()
    outs = var_operand_def()
    function = prop_def(StringAttr)
    computes = prop_def(DictionaryAttr)
    overwrites = prop_def(DenseArrayBase[IntegerType], default_value=DenseArrayBase.from_list(i64, []))
    any_strides = opt_prop_def(UnitAttr)
    res = var_result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$function `ins` `(` $inputs `:` type($inputs) `)` (`outs` `(` $outs^ `:` type($outs) `)`)? "
        "(`->` type($res)^)? `computes` $computes attr-dict"
    )
    traits = traits_def(_ReadsAndWrites())

    @staticmethod
    def of(op: Operation, kernel: CustomKernel, inputs: Sequence[SSAValue]) -> "CustomOp":
        """The call of `kernel` in the place of `op`, whose operands are `inputs` at the integer level."""
        computes: dict[str, Attribute] = {
            "op": StringAttr(op.name),
            "operands": ArrayAttr([value.type for value in op.operands]),
            "results": ArrayAttr([value.type for value in op.results]),
        }
        if op.regions:
            computes["text"] = StringAttr(_text_of(op))
        elif op.properties:
            computes["properties"] = DictionaryAttr(dict(op.properties))
        properties: dict[str, Attribute] = {
            "function": StringAttr(kernel.function),
            "computes": DictionaryAttr(computes),
            "overwrites": DenseArrayBase.from_list(i64, list(kernel.may_overwrite)),
        }
        if kernel.any_strides:
            properties["any_strides"] = UnitAttr()
        return CustomOp.build(
            operands=[list(inputs), []],
            properties=properties,
            result_types=[[_on_integers(value.type) for value in op.results]],
        )

    def _types(self, name: str) -> Sequence[TypeAttribute]:
        found = self.computes.data.get(name)
        return cast(ArrayAttr[Any], found).data if isinstance(found, ArrayAttr) else ()

    @property
    def stands_in_for(self) -> str:
        """The name of the operation that it stands in for."""
        name = self.computes.data.get("op")
        return name.data if isinstance(name, StringAttr) else ""

    @property
    def own_types(self) -> Sequence[TypeAttribute]:
        """The types of the operands and then of the results of the operation that it stands in for."""
        return [*self._types("operands"), *self._types("results")]

    def operation(self) -> Operation:
        """The operation that it stands in for, on arguments of a block. Raises `InterpretationError` for none."""
        words, properties = self.stands_in_for, self.computes.data.get("properties")
        if isinstance(text := self.computes.data.get("text"), StringAttr):
            return _operation_in(text.data, words, self.own_types)
        kinds = registry.evaluators(words.partition(".")[0])
        kind = next((each for each in kinds if getattr(each, "name", "") == words), None)
        if kind is None or not issubclass(kind, Operation):
            raise InterpretationError(f"implements '{words}', which the interpreter cannot evaluate")
        block = Block(arg_types=self._types("operands"))
        op = kind.create(
            operands=list(block.args),
            result_types=self._types("results"),
            properties=dict(properties.data) if isinstance(properties, DictionaryAttr) else {},
        )
        block.add_op(op)
        return op

    def destinations(self) -> Sequence[Destination]:
        if self.res:
            return [Destination(None) for _ in self.res]
        return [Destination(len(self.inputs) + place) for place in range(len(self.outs))]

    def on_memory(self, memory: Callable[[SSAValue], SSAValue], outs: Sequence[SSAValue]) -> Operation:
        return CustomOp.build(
            operands=[[memory(value) for value in self.inputs], list(outs)],
            properties={key: value for key, value in self.properties.items() if key != "operandSegmentSizes"},
            attributes=dict(self.attributes),
            result_types=[[]],
        )

    def may_overwrite(self, operand: int, destination: int) -> bool:
        return destination == 0 and operand in integer_list(self.overwrites)

    def verify_(self) -> None:
        module, _, function = self.function.data.partition(":")
        if not all(map(_is_name, (*module.split("."), function))):
            raise VerifyException(f"function must be spelled module:function, but got {self.function}")
        if bool(self.res) == bool(self.outs):
            raise VerifyException("must either return tensors or write to 'outs'")
        holders = TensorType if self.res else MemRefType
        values = [*self.operands, *self.results]
        if any(not isinstance(value.type, holders) for value in values):
            raise VerifyException("operands and results must be all tensors or all memrefs")
        if len(values) != len(self.own_types):
            raise VerifyException(
                f"has {len(values)} operands and results, but 'computes' lists {len(self.own_types)} types"
            )
        for value, own in zip(values, self.own_types, strict=True):
            given = cast(TensorType[Attribute] | MemRefType[Attribute], value.type)
            wanted = ranked_tensor(own)
            if wanted is None or stored_dtype(wanted.element_type) is None:
                raise VerifyException(f"type '{own}' in 'computes' has no array representation")
            expected = plain_element(wanted.element_type), wanted.get_shape()
            if (given.get_element_type(), given.get_shape()) != expected:
                raise VerifyException(f"expected a value of type '{own}', but got '{given}'")


def _is_name(text: str) -> bool:
    """Whether emitted code may import something of this name."""
    return text.isidentifier() and not iskeyword(text)


def called_kernel(op: CustomOp) -> tuple[CustomKernel, Operation]:
    """What a package says of the function that `op` calls, and the operation that it stands in for.

    A module is data: a function that runs because a module names it is one that an installed package or a plug-in gives
    for such operations. Raises `DiagnosticError` for any other.
    """
    try:
        original = op.operation()
    except InterpretationError as error:
        raise op_error(op, str(error)) from error
    called = [each for each in custom_kernels().get(type(original), ()) if each.function == op.function.data]
    if not called:
        message = f"calls '{op.function.data}' for '{original.name}', but no package lists it in `Contribution.kernels`"
        raise op_error(op, message)
    fitting = next((each for each in called if _fits(each, original)), None)
    if fitting is None:
        raise op_error(op, f"calls '{op.function.data}' for a '{original.name}' that the kernel does not support")
    return fitting, original


def _on_integers(type_: Attribute) -> Attribute:
    own = ranked_tensor(type_)
    assert own is not None  # `custom_kernel_for` has seen to it
    return TensorType(plain_element(own.element_type), own.get_shape())


def as_stored(array: Array, own: Attribute) -> Array:
    """An array of the integer level, where integers have a sign, as one of the type `own`; it shares the memory."""
    dtype = stored_dtype(element_type(own))
    assert dtype is not None
    return array if array.dtype == dtype else array.view(dtype)


def _choose(op: CustomOp) -> Evaluator | RunsRegions:
    original = op.operation()
    evaluator = evaluator_of(original)
    if evaluator is None:
        raise InterpretationError(f"implements '{original.name}', which the interpreter cannot evaluate")
    if isinstance(evaluator, RunsRegions):
        function = evaluator.function

        def run(frame: Any, op: CustomOp, inputs: Sequence[Array], outs: Sequence[Array]) -> tuple[Array, ...]:
            return _computed(original, partial(function, frame), op, inputs, outs)

        return RunsRegions(run)
    return partial(_computed, original, evaluator)


def _computed(
    original: Operation, evaluator: Evaluator, op: CustomOp, inputs: Sequence[Array], outs: Sequence[Array]
) -> tuple[Array, ...]:
    """What `op` computes, by the evaluator of the operation that it stands in for."""
    layout, types, count = operand_layout(original), op.own_types, len(original.operands)
    given = [as_stored(array, own) for array, own in zip(inputs, types[:count], strict=True)]
    results = evaluator(original, *arguments_by(layout, given))
    elements = [plain_element(element_type(own)) for own in types[count:]]
    found = [_as_signless(original, each, element) for each, element in zip(results, elements, strict=True)]
    if not outs:
        return tuple(found)
    for value, out, each in zip(op.outs, outs, found, strict=True):
        check_writable(out, value.type)
        out[...] = each
    return ()


def _as_signless(op: Operation, array: Any, element: Attribute) -> Array:
    dtype = dense_dtype(element)
    assert dtype is not None
    values = np.asarray(array)
    if values.dtype == dtype:
        return values
    if values.dtype.kind not in "iu" or dtype.kind != "i" or values.dtype.itemsize != dtype.itemsize:
        raise InterpretationError(
            f"the interpreter's result of '{op.name}' must have dtype {dtype}, but has {values.dtype}"
        )
    return values.view(dtype)


EVALUATORS: dict[type[Operation], Evaluator | RunsRegions] = {CustomOp: ByOperation(_choose)}
