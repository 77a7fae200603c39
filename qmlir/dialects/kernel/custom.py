"""User-written numba kernels: how a package declares one, and the operation that calls it.

The function receives NumPy arrays: the operands, followed by one array per result, which it fills in. A kernel replaces
operations of one class from any dialect. `kernel.custom` records the operation that it replaced. The interpreter
evaluates that operation, whereas compiled code calls the function, so the two can be compared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from keyword import iskeyword
from typing import Any, cast

import numpy as np
from xdsl.dialects import builtin
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
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lowering.lowering import is_unsigned, plain_element
from qmlir.dialects.quant.infer import element_type, storage_dtype
from qmlir.dialects.quant.types import CalibratedQuantizedType, StoredType
from qmlir.environment import default_environment
from qmlir.ir import evaluation
from qmlir.ir.builtin_types import as_integer, integer_list, ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.ir.interfaces import Destination, DestinationEffects, DestinationStyle
from qmlir.ir.verification import verify
from qmlir.registry.faults import one_line
from qmlir.text.elements import dense_dtype, dtype_of
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, Weights, module_text


def _always(op: Operation) -> bool:
    return True


@dataclass(frozen=True)
class CustomKernel:
    """A user-written kernel, as a package declares it in `Contribution.kernels`."""

    operation: type[Operation]
    """The class of the operations that the kernel replaces."""

    function: str
    """The function as `module:function`. numba compiles it with the signature `f(operands…, results…)`.

    Its arguments are arrays of stored integers or of floats. It must write every element of the results, must not write
    the operands, and must not raise.
    """

    fits: Callable[[Any], bool] = _always
    """Returns whether the kernel can replace the given operation, judging by its types and properties."""

    may_overwrite: Sequence[int] = ()
    """The indices of the operands whose memory the first result may share.

    The kernel must read each element of these operands only to compute the result element at the same index, before it
    writes that element.
    """

    any_strides: bool = False
    """Whether the kernel accepts non-contiguous arrays. If not, arrays are copied to row-major order if necessary."""

    relative: float = 0.0
    """The tolerance for floats, relative to the largest element of a result; 0 requires bit-identical results."""

    inputs: Callable[[Any, np.random.Generator], Sequence[Array]] | None = None
    """Generates operands for the comparison with the interpreter.

    It is needed if values over the whole range of each type would be meaningless.
    """


@cache
def _read(among: tuple[registry.Package, ...]) -> Mapping[type[Operation], Sequence[CustomKernel]]:
    # Cached per list of packages, so that a plug-in of one run does not leak into the next.
    found: dict[type[Operation], list[CustomKernel]] = {}
    for row in registry.named("kernels").values():
        kernel: CustomKernel | None = row.package.load(row.row, CustomKernel)
        if kernel is None:
            continue
        outermost = kernel.function.partition(":")[0].partition(".")[0]
        if outermost not in row.package.modules:  # the cache key of compiled programs covers package sources
            row.package.warn(f"kernel '{row.name}'", f"'{kernel.function}' is defined outside the package")
            continue
        found.setdefault(kernel.operation, []).append(kernel)
    return found


def custom_kernels() -> Mapping[type[Operation], Sequence[CustomKernel]]:
    """Returns all user-written kernels, grouped by the class of operation that they replace."""
    return _read(registry.packages())


def stored_dtype(element: Attribute) -> np.dtype[Any] | None:
    """Returns the NumPy type in which a custom kernel receives elements; `None` if it cannot receive them.

    A kernel cannot receive booleans, floats that numba does not support, or unsigned integers that are narrower than
    their NumPy type.
    """
    if isinstance(element, CalibratedQuantizedType):
        element = element.expressed_type
    dtype = storage_dtype(element) if isinstance(element, StoredType) else dense_dtype(element)
    if isinstance(element, builtin.AnyFloat):
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
    """Returns the first user-written kernel for `op`. Raises `DiagnosticError` if a kernel's `fits` fails."""
    kernels = custom_kernels().get(type(op), ())
    if not kernels or not all(map(_can_be_given, (*op.operands, *op.results))) or not _sees_itself_only(op):
        return None
    return next((each for each in kernels if _fits(each, op)), None)


def _sees_itself_only(op: Operation) -> bool:
    """Whether the regions of `op` use no value or block from outside, which cannot be passed to a function."""
    return all(
        op.is_ancestor(value.owner) and value.owner is not op
        for inner in op.walk()
        if inner is not op
        for value in inner.operands
    )


def _fits(kernel: CustomKernel, op: Operation) -> bool:
    try:
        found = cast(object, kernel.fits(op))
    except Exception as error:  # name any exception of a package's function
        what = f"the check of whether '{kernel.function}' applies failed: {one_line(error)}{registry.in_package(error)}"
        raise op_error(op, what) from error
    if not isinstance(found, bool | np.bool_):
        what = f"the check of whether '{kernel.function}' applies must return True or False, but returned {found!r}"
        raise op_error(op, f"{what}{registry.at_code(kernel.fits)}")
    return found is True or bool(cast(object, found))


def _text_of(op: Operation) -> str:
    """Returns a module in generic form whose function contains only `op`, applied to its arguments."""
    body = Block(arg_types=[value.type for value in op.operands])
    copy = op.clone(dict(zip(op.operands, body.args, strict=True)))
    body.add_ops([copy, ReturnOp()])
    function = FuncOp("text", ([value.type for value in op.operands], []), Region(body))
    return module_text(builtin.ModuleOp([function]), PrintOptions(generic=True, aliases=False, weights=Weights.INLINE))


def _operation_in(text: str, name: str, types: Sequence[Attribute]) -> Operation:
    """Parses the operation in the text of `_text_of`. Raises `InterpretationError` if the text is invalid."""
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
    """Calls a user-written function instead of the operation that `computes` describes.

    `computes` holds the name and properties of the replaced operation, and the types of its operands and results before
    lowering to stored integers. If the operation has regions, `computes` also holds its `text`, which no pass changes.
    The function receives the operands and `outs` as arrays, which are contiguous unless the kernel accepts
    `any_strides`. It may overwrite the operands listed in `overwrites`. On tensors, the operation returns results; on
    memory, it writes to `outs`.
    """

    name = "kernel.custom"

    inputs = var_operand_def()
    outs = var_operand_def()
    function = prop_def(builtin.StringAttr)
    computes = prop_def(builtin.DictionaryAttr)
    overwrites = prop_def(
        builtin.DenseArrayBase[builtin.IntegerType], default_value=builtin.DenseArrayBase.from_list(builtin.i64, [])
    )
    any_strides = opt_prop_def(builtin.UnitAttr)
    res = var_result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$function `ins` `(` $inputs `:` type($inputs) `)` (`outs` `(` $outs^ `:` type($outs) `)`)? "
        "(`->` type($res)^)? `computes` $computes attr-dict"
    )
    traits = traits_def(DestinationEffects())

    @staticmethod
    def of(op: Operation, kernel: CustomKernel, inputs: Sequence[SSAValue]) -> "CustomOp":
        """Returns a call of `kernel` that replaces `op`; `inputs` are the operands of `op` at the integer level."""
        computes: dict[str, Attribute] = {
            "op": builtin.StringAttr(op.name),
            "operands": builtin.ArrayAttr([value.type for value in op.operands]),
            "results": builtin.ArrayAttr([value.type for value in op.results]),
        }
        if op.regions:
            computes["text"] = builtin.StringAttr(_text_of(op))
        elif op.properties:
            computes["properties"] = builtin.DictionaryAttr(dict(op.properties))
        properties: dict[str, Attribute] = {
            "function": builtin.StringAttr(kernel.function),
            "computes": builtin.DictionaryAttr(computes),
            "overwrites": builtin.DenseArrayBase.from_list(builtin.i64, list(kernel.may_overwrite)),
        }
        if kernel.any_strides:
            properties["any_strides"] = builtin.UnitAttr()
        return CustomOp.build(
            operands=[list(inputs), []],
            properties=properties,
            result_types=[[_on_integers(value.type) for value in op.results]],
        )

    def _types(self, name: str) -> Sequence[TypeAttribute]:
        found = self.computes.data.get(name)
        return cast(builtin.ArrayAttr[Any], found).data if isinstance(found, builtin.ArrayAttr) else ()

    @property
    def stands_in_for(self) -> str:
        """The name of the replaced operation."""
        name = self.computes.data.get("op")
        return name.data if isinstance(name, builtin.StringAttr) else ""

    @property
    def own_types(self) -> Sequence[TypeAttribute]:
        """The types of the operands of the replaced operation, followed by the types of its results."""
        return [*self._types("operands"), *self._types("results")]

    def operation(self) -> Operation:
        """Returns the replaced operation, with block arguments as operands.

        Raises `InterpretationError` if the operation cannot be reconstructed.
        """
        words, properties = self.stands_in_for, self.computes.data.get("properties")
        if isinstance(text := self.computes.data.get("text"), builtin.StringAttr):
            return _operation_in(text.data, words, self.own_types)
        kinds = registry.evaluators(words.partition(".")[0])
        kind = next((each for each in kinds if getattr(each, "name", "") == words), None)
        if kind is None or not issubclass(kind, Operation):
            raise InterpretationError(f"implements '{words}', which the interpreter cannot evaluate")
        block = Block(arg_types=self._types("operands"))
        op = kind.create(
            operands=list(block.args),
            result_types=self._types("results"),
            properties=dict(properties.data) if isinstance(properties, builtin.DictionaryAttr) else {},
        )
        block.add_op(op)
        return op

    def destinations(self) -> Sequence[Destination]:
        if self.res:
            return [Destination(None) for _ in self.res]
        return [Destination(len(self.inputs) + position) for position in range(len(self.outs))]

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
        holders = builtin.TensorType if self.res else builtin.MemRefType
        values = [*self.operands, *self.results]
        if any(not isinstance(value.type, holders) for value in values):
            raise VerifyException("operands and results must be all tensors or all memrefs")
        if len(values) != len(self.own_types):
            raise VerifyException(
                f"has {len(values)} operands and results, but 'computes' lists {len(self.own_types)} types"
            )
        for value, own in zip(values, self.own_types, strict=True):
            given = cast(builtin.TensorType[Attribute] | builtin.MemRefType[Attribute], value.type)
            wanted = ranked_tensor(own)
            if wanted is None or stored_dtype(wanted.element_type) is None:
                raise VerifyException(f"type '{own}' in 'computes' has no array representation")
            expected = plain_element(wanted.element_type), wanted.get_shape()
            if (given.get_element_type(), given.get_shape()) != expected:
                raise VerifyException(f"expected a value of type '{own}', but got '{given}'")


def _is_name(text: str) -> bool:
    """Whether emitted code may import an object of this name."""
    return text.isidentifier() and not iskeyword(text)


def called_kernel(op: CustomOp) -> tuple[CustomKernel, Operation]:
    """Returns the declaration of the function that `op` calls, and the operation that it replaces.

    A module is untrusted data: it may only call a function that an installed package or a plug-in declares for
    operations of this class. Raises `DiagnosticError` for any other function.
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
    assert own is not None  # ensured by `custom_kernel_for`
    return builtin.TensorType(plain_element(own.element_type), own.get_shape())


def as_stored(array: Array, own: Attribute) -> Array:
    """Reinterprets an array of the integer level, where integers are signed, as type `own`, without copying."""
    dtype = stored_dtype(element_type(own))
    assert dtype is not None
    return array if array.dtype == dtype else array.view(dtype)


def _choose(op: CustomOp) -> evaluation.Evaluator | evaluation.RegionEvaluator:
    original = op.operation()
    evaluator = evaluation.evaluator_of(original)
    if evaluator is None:
        raise InterpretationError(f"implements '{original.name}', which the interpreter cannot evaluate")
    if isinstance(evaluator, evaluation.RegionEvaluator):
        function = evaluator.function

        def run(frame: Any, op: CustomOp, inputs: Sequence[Array], outs: Sequence[Array]) -> tuple[Array, ...]:
            return _computed(original, partial(function, frame), op, inputs, outs)

        return evaluation.RegionEvaluator(run)
    return partial(_computed, original, evaluator)


def _computed(
    original: Operation, evaluator: evaluation.Evaluator, op: CustomOp, inputs: Sequence[Array], outs: Sequence[Array]
) -> tuple[Array, ...]:
    """Computes the results of `op` by the evaluator of the operation that it replaces."""
    layout, types, count = evaluation.operand_layout(original), op.own_types, len(original.operands)
    given = [as_stored(array, own) for array, own in zip(inputs, types[:count], strict=True)]
    results = evaluator(original, *evaluation.arguments_by(layout, given))
    elements = [plain_element(element_type(own)) for own in types[count:]]
    found = [_as_signless(original, each, element) for each, element in zip(results, elements, strict=True)]
    if not outs:
        return tuple(found)
    for value, out, each in zip(op.outs, outs, found, strict=True):
        evaluation.check_writable(out, value.type)
        out[...] = each
    return ()


def _as_signless(op: Operation, array: Any, element: Attribute) -> Array:
    dtype = dtype_of(element)
    values = np.asarray(array)
    if values.dtype == dtype:
        return values
    if values.dtype.kind not in "iu" or dtype.kind != "i" or values.dtype.itemsize != dtype.itemsize:
        raise InterpretationError(
            f"the interpreter's result of '{op.name}' must have dtype {dtype}, but has {values.dtype}"
        )
    return values.view(dtype)


EVALUATORS: dict[type[Operation], evaluation.Evaluator | evaluation.RegionEvaluator] = {
    CustomOp: evaluation.ByOperation(_choose)
}
