"""Specializes a function for one shape of each input, so that every size is known."""

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, cast

import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue, Use
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import Pure, SymbolTable
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array, integer_limits
from qmlir.dialects.nn.base import shapes_agree
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp, storage_element
from qmlir.dialects.nn.contraction.ops import ConvOp, FullyConnectedOp, MatMulOp
from qmlir.dialects.nn.indexing.ops import GatherOp
from qmlir.dialects.nn.types import SequenceType
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformFloatType, UniformQuantizedType, UniformType
from qmlir.ir.builtin_types import AnyTensor, as_dense, dense, element_of, ranked_tensor, shape_of, unranked_tensor
from qmlir.ir.control_flow import ForwardedValue, captured, forwarded, reached
from qmlir.ir.diagnostics import op_error
from qmlir.ir.effects import erase_dead
from qmlir.ir.evaluation import evaluate, not_computed, operand_groups
from qmlir.ir.interfaces import DataDependentShape, HasParameters, InferResultTypes, ReadsShapesOnly, Replacement
from qmlir.ir.provenance import TENSOR, hand_on, origins_of, set_tensor_names, tensor_names
from qmlir.ir.signature import DIMS, NAME, inputs_of
from qmlir.specialization.inputs import check_known_inputs, checked_value, function_of, shape_text, static_types
from qmlir.text.elements import dense_dtype
from qmlir.text.weights import ExternalWeightsAttr

# The inputs whose values a module is specialized for: those that determine a size or a parameter of an operation.
#
# A backward slice from the parameters of operations finds them. The slice stops at operations that read only shapes:
# the size of an image depends on its shape, not on its elements.


def values_behind(values: Iterable[SSAValue]) -> set[SSAValue]:
    """Returns `values` and all values that they are computed from (their backward slice)."""

    def before(value: SSAValue) -> Iterable[SSAValue]:
        owner = value.owner
        return captured(owner) if isinstance(owner, Operation) and not reads_shapes_only(owner) else ()

    return set(reached(values, before))


def reads_shapes_only(op: Operation) -> bool:
    """Returns True if the results of `op` depend only on the shapes of its operands."""
    return op.has_trait(ReadsShapesOnly, value_if_unregistered=False)


def _is_list(argument: BlockArgument) -> bool:
    type_ = ranked_tensor(argument.type)
    return type_ is not None and type_.get_num_dims() <= 1


def parameter_values(function: FuncOp) -> set[SSAValue]:
    """Returns the parameters of all operations of `function`, and the values that they are computed from."""
    parametric = (op for op in function.walk() if isinstance(op, HasParameters))
    return values_behind(value for op in parametric for value in op.parameter_operands())


def depends_on_data(function: FuncOp, op: Operation) -> bool:
    """Returns True if the operands of `op` depend on the data, so that they are unknown when `function` is specialized.

    Shapes and the values of parameters are known then, so they don't count as data.
    """
    parameters = parameter_values(function)
    arguments = (value for value in values_behind(op.operands) if isinstance(value, BlockArgument))
    return any(argument not in parameters or not _is_list(argument) for argument in arguments)


def parameter_inputs(module: builtin.ModuleOp, function: str = "main") -> tuple[str, ...]:
    """Returns the inputs whose values are parameters of operations: sizes, axes, bounds of slices, diagonals.

    `specialize` needs the values of these inputs, because code is compiled for them as it is for the shapes of other
    inputs. They are scalars or 1-D tensors. A size that is computed from a matrix or an image depends on the data: code
    compiled for one such size would be useless for the next one.
    """
    found = function_of(module, function)
    values, ports = parameter_values(found), zip(inputs_of(found), found.body.block.args, strict=True)
    return tuple(port.name for port, argument in ports if argument in values and _is_list(argument))


# Type refinement: joins an inferred type with the type that a value already has.


def is_static(type_: Attribute) -> bool:
    """Returns True if `type_` is a tensor type with a static shape."""
    ranked = ranked_tensor(type_)
    return ranked is not None and builtin.DYNAMIC_INDEX not in ranked.get_shape()


def is_open(type_: Attribute) -> bool:
    """Returns True if `type_` is an unranked tensor type, a tensor type with a dynamic size, or a sequence type."""
    if isinstance(type_, SequenceType) or unranked_tensor(type_) is not None:
        return True
    return ranked_tensor(type_) is not None and not is_static(type_)


def retype(value: SSAValue, type_: Attribute) -> SSAValue:
    """Returns `value` if it has type `type_`; otherwise replaces it with a new value of this type."""
    return value if value.type == type_ else Rewriter.replace_value_with_new_type(value, type_)


def shaped(type_: Attribute, shape: Sequence[int]) -> AnyTensor:
    """Returns the tensor type with shape `shape` and the element type of `type_`."""
    ranked = ranked_tensor(type_)
    assert ranked is not None
    return builtin.TensorType(ranked.get_element_type(), list(shape))


def refined(type_: Attribute, inferred: Attribute) -> Attribute | None:
    """Returns `type_` with its dynamic sizes replaced by those of `inferred`, or `None` if the two contradict.

    The element type is kept: quantization chose it, so it doesn't follow from the operands.
    """
    if isinstance(type_, SequenceType) and isinstance(inferred, SequenceType):
        tensors = refined(type_.tensors, inferred.tensors)
        return None if tensors is None else SequenceType(tensors)
    mine, other = ranked_tensor(type_), ranked_tensor(inferred)
    if other is None:
        return type_
    if mine is None:
        return inferred
    if not shapes_agree(mine.get_shape(), other.get_shape()):
        return None
    sizes = [
        known if size == builtin.DYNAMIC_INDEX else size
        for size, known in zip(other.get_shape(), mine.get_shape(), strict=True)
    ]
    return shaped(type_, sizes)


# Constant folding: an operation on constants is replaced by the constants that its evaluator computes.
#
# `MAX_GROWTH` bounds how much constants may grow. A result that only reshapes a constant shares its bytes.

MAX_GROWTH = 16
"""The maximum size of a folded constant, as a multiple of the model's constants that it was computed from, ..."""

FREE_BYTES = 1 << 16
"""... plus this number of bytes."""


def is_constant(value: SSAValue) -> bool:
    """Returns True if `value` is a constant whose elements are in memory, not in an external file."""
    return isinstance(value.owner, ConstantOp) and not isinstance(value.owner.value, ExternalWeightsAttr)


def _bytes(types: Iterable[AnyTensor]) -> int:
    """Returns the size in bytes of constants with these static types."""
    return sum(
        math.prod(type_.get_shape()) * dtype.itemsize
        for type_ in types
        if (dtype := dense_dtype(storage_element(type_.get_element_type()))) is not None
    )


def _constant_types(op: Operation) -> list[AnyTensor] | None:
    """Returns the result types, or `None` if one of them is not a tensor of numbers."""
    types = [type_ for each in op.result_types if (type_ := ranked_tensor(each)) is not None]
    is_held = all(dense_dtype(storage_element(type_.get_element_type())) is not None for type_ in types)
    return types if is_held and len(types) == len(op.results) else None


def _arguments(op: Operation) -> list[Array]:
    """Returns the operands for the evaluator of `op`; if it reads only their shapes, their elements are arbitrary."""
    if reads_shapes_only(op):
        types = [ranked_tensor(value.type) for value in op.operands]
        # The elements are not read, so one is broadcast to the whole shape.
        return [np.broadcast_to(np.int8(0), type_.get_shape()) for type_ in types if type_ is not None]
    arrays = [constant_array(value) for value in op.operands]
    return [array for array in arrays if array is not None]


def _is_known(op: Operation) -> bool:
    """Returns True if everything that the evaluator of `op` reads (elements or shapes) is known."""
    if not op.operands or op.regions or not op.has_trait(Pure, value_if_unregistered=False):
        return False
    if reads_shapes_only(op):
        return all(is_static(value.type) for value in op.operands)
    return all(map(is_constant, op.operands))


class Folder:
    """Folds operations in block order, and tracks the size of the model's constants that each result comes from."""

    def __init__(self) -> None:
        self._sources: dict[SSAValue, int] = {}

    def fold(self, op: Operation, *, always: bool) -> list[ConstantOp] | None:
        """Returns constants for the results of `op`, or `None` if they are unknown or too large.

        `always` is for results that must be known: it ignores the limit, and an operation that can't be evaluated is
        an error. A result of dynamic size is evaluated to find its size; its type is refined even if it is too large to
        become a constant.
        """
        types = _constant_types(op)
        if types is None or not _is_known(op) or (not always and stays_stored(op)):
            return None
        source = sum(self._source(value) for value in op.operands if is_constant(value))
        limit = MAX_GROWTH * source + FREE_BYTES
        is_open = not all(map(is_static, types))
        if not always and not is_open and _bytes(types) > limit:
            return None
        values = self._evaluated(op, must=always or is_open)
        if values is None:
            return None
        if is_open:
            for result, value in zip(tuple(op.results), values, strict=True):
                retype(result, shaped(result.type, value.shape))
            types = _constant_types(op) or types
            if not always and _bytes(types) > limit:
                return None
        constants = [self._constant(op, value, type_) for value, type_ in zip(values, types, strict=True)]
        for constant in constants:
            self._sources[constant.result] = source
        return constants

    def _source(self, value: SSAValue) -> int:
        """Returns the size in bytes of the model's constants that the constant `value` was computed from."""
        type_ = ranked_tensor(value.type)
        own = 0 if type_ is None else _bytes([type_])
        return self._sources.get(value, own)

    @staticmethod
    def _evaluated(op: Operation, *, must: bool) -> Sequence[Array] | None:
        try:
            # The IEEE result of a division by 0 or an overflow is the correct result.
            with np.errstate(all="ignore"):
                return evaluate(op, _arguments(op))
        except Exception as error:  # packages may supply evaluators, which can raise anything
            if not must:  # running the operation reports it
                return None
            raise not_computed(op, error) from error

    @staticmethod
    def _constant(op: Operation, value: Array, type_: AnyTensor) -> ConstantOp:
        """Returns a constant with `value`; shares the bytes of an operand with the same elements in the same order."""
        for operand in op.operands:
            array = constant_array(operand)
            if array is None or array.nbytes != value.nbytes or array.dtype != value.dtype:
                continue
            if value.flags.c_contiguous and np.may_share_memory(array, value):
                held = as_dense(cast(ConstantOp, operand.owner).value)
                if held is not None and len(held.data.data) == value.nbytes:
                    element = storage_element(type_.get_element_type())
                    return ConstantOp(dense(held.data.data, builtin.TensorType(element, value.shape)), type_)
        return ConstantOp.of(np.ascontiguousarray(value), type_)


# Specialization: one function for one static shape of each input.
#
# Operations precede their users in a block, so one walk in block order is enough: before an operation is visited, its
# operands have their final types and are constants if they can be. The walk turns parameters into properties or result
# types of their operations, turns sizes into constants, and folds operations on constants within a bound.

Shapes = Mapping[str, Sequence[int]]
Values = Mapping[str, Any]


def specialize(
    module: builtin.ModuleOp, shapes: Shapes | None = None, values: Values | None = None, *, function: str = "main"
) -> builtin.ModuleOp:
    """Returns a clone of `module` whose `function` takes inputs of static `shapes`, with the inputs in `values` fixed.

    `shapes` maps names of inputs to their sizes. An input that isn't named has the sizes of its type, or those that
    another input has for dimensions of the same name. The inputs in `values` are replaced with constants (stored
    integers for a quantized input); they must include `parameter_inputs(module)`. The clone shares the weights of
    `module`. Called functions are specialized for the sizes of their calls; other functions are unchanged.

    Raises `DiagnosticError` for shapes or values that don't match the inputs, for contradicting sizes, and for a size
    that depends on the data (a count of nonzero elements, a shape computed from activations); it names the operation.
    """
    clone = module.clone()
    specialize_function(clone, shapes or {}, values or {}, function)
    return clone


def specialize_function(
    module: builtin.ModuleOp, shapes: Shapes, values: Values, name: str = "main", *, keeps_dynamic: bool = False
) -> None:
    """Specializes a function in place, like `specialize`.

    With `keeps_dynamic`, a size in `shapes` may be `DYNAMIC_INDEX`: it stays dynamic, as do sizes that depend on it.
    """
    function = function_of(module, name)
    if len(function.body.blocks) > 1:
        raise op_error(function, "must have a single block to be specialized")
    erase_dead(function.body)  # unused operations need no sizes
    _check_parameters(module, function, values)
    check_known_inputs(function, values)
    ports = [port for port in inputs_of(function) if port.name in values]
    given = {port.name: checked_value(function, port, values[port.name]) for port in ports}
    types = static_types(function, _all_shapes(function, shapes, given), keeps_dynamic=keeps_dynamic)
    needed = parameter_values(function)
    _set_arguments(function, types, given)
    _specialize_body(function, needed, keeps_dynamic=keeps_dynamic)


def _specialize_body(function: FuncOp, needed: set[SSAValue] | None = None, *, keeps_dynamic: bool = False) -> None:
    """Specializes the body of a function whose arguments already have their static types."""
    specializer = _Specializer(parameter_values(function) if needed is None else needed, keeps_dynamic)
    specializer.run(function)
    erase_dead(function.body)
    for op in () if keeps_dynamic else function.body.walk():
        _check_closed(op, specializer.late)
    _set_signature(function)


def _own_callee(callee: FuncOp, call: CallOp) -> FuncOp:
    """Returns a function that only `call` calls: `callee` itself if it has no other caller, else a private copy."""
    module = callee.parent_op()
    assert isinstance(module, builtin.ModuleOp)
    others = (op for op in module.walk() if isinstance(op, CallOp) and op is not call)
    if callee.sym_visibility == builtin.StringAttr("private") and all(other.callee != call.callee for other in others):
        return callee
    taken = {op.sym_name.data for op in module.ops if isinstance(op, FuncOp)}
    name = next(name for number in count(1) if (name := f"{callee.sym_name.data}_{number}") not in taken)
    copy = callee.clone()
    copy.sym_name = builtin.StringAttr(name)
    copy.sym_visibility = builtin.StringAttr("private")
    module.body.block.insert_op_before(copy, callee)
    call.callee = builtin.SymbolRefAttr(name)
    return copy


def _check_parameters(module: builtin.ModuleOp, function: FuncOp, values: Values) -> None:
    missing = [name for name in parameter_inputs(module, function.sym_name.data) if name not in values]
    if missing:
        names = ", ".join(f"'{name}'" for name in missing)
        raise op_error(
            function,
            f"computes sizes or other parameters from the input{'s' if len(missing) > 1 else ''} {names}: "
            "a specialized module is made for a value of each",
        )


# Inputs


def _all_shapes(function: FuncOp, shapes: Shapes, given: Mapping[str, Array]) -> Shapes:
    for name, array in given.items():
        if name in shapes and tuple(shapes[name]) != array.shape:
            wanted = shape_text(shapes[name])
            raise op_error(function, f"input '{name}' must have shape {wanted}, but got {shape_text(array.shape)}")
    return {**shapes, **{name: array.shape for name, array in given.items()}}


def _set_arguments(function: FuncOp, types: Sequence[AnyTensor], given: Mapping[str, Array]) -> None:
    """Sets the types of the arguments, and replaces those in `given` with constants."""
    block = function.body.block
    ports = inputs_of(function)
    attributes = [dict(each.data) for each in function.arg_attrs or [builtin.DictionaryAttr({})] * len(ports)]
    for position, (port, type_) in reversed(list(enumerate(zip(ports, types, strict=True)))):
        argument = retype(block.args[position], type_)
        if port.name not in given:
            attributes[position] = _without_sizes(attributes[position])
            if given:  # the positions of arguments change, so positional names are no longer valid
                attributes[position][NAME] = builtin.StringAttr(port.name)
            continue
        constant = ConstantOp.of(np.ascontiguousarray(given[port.name]), type_)
        constant.result.name_hint = argument.name_hint
        Rewriter.insert_op(constant, InsertPoint.at_start(block))
        argument.replace_all_uses_with(constant.result)
        block.erase_arg(block.args[position])
        del attributes[position]
    if any(attributes):
        function.arg_attrs = builtin.ArrayAttr(builtin.DictionaryAttr(each) for each in attributes)
    else:
        function.arg_attrs = None


def _without_sizes(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """Returns the attributes of an input or output without the names of its dimensions."""
    return {name: value for name, value in attributes.items() if name != DIMS}


def _set_signature(function: FuncOp) -> None:
    """Updates the function type from the types of its arguments and results."""
    function.update_function_type()
    if function.res_attrs:
        function.res_attrs = builtin.ArrayAttr(
            builtin.DictionaryAttr(_without_sizes(each.data)) for each in function.res_attrs
        )


# Operations


class _Specializer:
    """One walk over a function. `needed` are the parameters and the values that they are computed from."""

    def __init__(self, needed: set[SSAValue], keeps_dynamic: bool):
        self.needed = needed
        self.keeps_dynamic = keeps_dynamic
        self.folder = Folder()
        self.late: set[SSAValue] = set()
        """Values whose sizes are known only at run time: results of fallback nodes, and values computed from them."""

    def run(self, function: FuncOp) -> None:
        self.late.update(argument for argument in function.body.block.args if is_open(argument.type))
        for op in list(function.body.block.ops):
            self._visit(op)

    def _visit(self, op: Operation) -> None:
        if isinstance(op, CallOp):
            self._call(op)
            return
        if any(forwarded(op)):
            self._control(op)
            return
        if isinstance(op, HasParameters):
            replacement = _by_parameters(op)
            if replacement is not None:
                self._replace(op, replacement)
                for made in replacement.operations:
                    self._visit(made)
                return
            if not self.keeps_dynamic and self.late.isdisjoint(op.operands):
                _check_parameters_known(op)
        self._infer(op)
        self._note_late(op)
        always = any(result in self.needed for result in op.results)
        constants = self.folder.fold(op, always=always)
        if constants is not None:
            self._replace(op, Replacement(constants, [constant.result for constant in constants]))

    def _note_late(self, op: Operation) -> None:
        """Records the results whose sizes don't follow from the operands."""
        if op.has_trait(DataDependentShape, value_if_unregistered=False) or not self.late.isdisjoint(op.operands):
            self.late.update(result for result in op.results if is_open(result.type))

    def _call(self, op: CallOp) -> None:
        """Redirects a call whose operand sizes have changed to a function specialized for them."""
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(callee, FuncOp) or len(callee.body.blocks) != 1:
            return
        types = [type_ for each in op.operand_types if (type_ := ranked_tensor(each)) is not None]
        is_same = tuple(callee.function_type.inputs) == tuple(op.operand_types)
        is_late = not self.late.isdisjoint(op.operands)
        if is_same and is_late:  # already specialized for these operands; result sizes are known only at run time
            self.late.update(result for result in op.results if is_open(result.type))
        if is_same or len(types) != len(op.operands) or not (is_late or all(map(is_static, types))):
            return
        function = _own_callee(callee, op)
        _set_arguments(function, types, {})
        function.function_type = builtin.FunctionType.from_lists(types, function.function_type.outputs.data)
        _specialize_body(function)
        for result, type_ in zip(tuple(op.results), function.function_type.outputs, strict=True):
            self._follow(result, retype(result, type_))
        self.late.update(result for result in op.results if is_open(result.type))

    def _control(self, op: Operation) -> None:
        """Specializes the regions of a conditional or a loop; loop-carried values keep their sizes over iterations."""
        visited = {op.parent_block()}
        for block in [block for region in op.regions for block in region.blocks]:
            self._hand_on(op, lambda each, into=block: each.taken.owner is into and each.user.parent_block() in visited)
            visited.add(block)
            for inner in list(block.ops):
                self._visit(inner)
        self._hand_on(op, lambda _: True)

    def _hand_on(self, op: Operation, is_now: Callable[[ForwardedValue], bool]) -> None:
        """Propagates sizes to the block arguments and results that values are forwarded to, if `is_now` allows it."""
        for position in range(len(list(forwarded(op)))):
            each = list(forwarded(op))[position]  # listed again: retyping replaces a value
            if not is_now(each):
                continue
            type_ = refined(each.taken.type, each.given.type)
            if type_ is None or type_ != each.given.type:
                raise op_error(
                    op,
                    f"passes {each.given.type} to the next iteration as {each.taken.type}, but its shape must "
                    "not change",
                )
            taken = retype(each.taken, type_)
            self._follow(each.taken, taken)
            if each.given in self.late and is_open(type_):
                self.late.add(taken)

    def _infer(self, op: Operation) -> None:
        """Refines the result types of `op` by those inferred from its operands."""
        if not isinstance(op, InferResultTypes):
            return
        try:
            inferred = op.infer_result_types()
        except VerifyException as error:
            raise op_error(op, str(error)) from error
        for result, type_ in zip(tuple(op.results), inferred, strict=True):
            found = refined(result.type, type_)
            if found is None:
                raise op_error(op, f"must have a result of type {type_}, as its operands imply, but got {result.type}")
            self._follow(result, retype(result, found))

    def _follow(self, old: SSAValue, new: SSAValue) -> None:
        """Marks `new`, which replaces `old`, as needed if `old` was."""
        if old in self.needed:
            self.needed.add(new)

    def _replace(self, op: Operation, replacement: Replacement) -> None:
        names = tensor_names(op) if TENSOR in op.attributes else ()
        for made in replacement.operations:
            Rewriter.insert_op(made, InsertPoint.before(op))
            if not origins_of(made):
                hand_on((op,), made)
            made.location = op.location
        for position, (old, new) in enumerate(zip(tuple(op.results), replacement.values, strict=True)):
            self._follow(old, new)
            if isinstance(new, OpResult) and new.op in replacement.operations:
                new.name_hint = new.name_hint or old.name_hint
                if position < len(names) and len(new.op.results) == 1:
                    set_tensor_names(new.op, [names[position]])
            old.replace_all_uses_with(new)
        Rewriter.erase_op(op)


def _by_parameters(op: HasParameters) -> Replacement | None:
    try:
        return op.specialized(constant_array)
    except VerifyException as error:
        raise op_error(op, str(error)) from error


def _check_parameters_known(op: HasParameters) -> None:
    """Raises `DiagnosticError` if a parameter is known only at run time."""
    unknown = {value for value in op.parameter_operands() if not is_constant(value)}
    if unknown and isinstance(op, IRDLOperation):
        names = [f"'{name}'" for name, _, values in operand_groups(op) if not unknown.isdisjoint(values)]
        raise op_error(
            op, f"computes its operand {' and '.join(names)} from the data, but it must be known at compile time"
        )


def _check_closed(op: Operation, late: Container[SSAValue]) -> None:
    """Raises `DiagnosticError` if a result has a dynamic size, or if a call no longer matches its callee.

    The results in `late` are exempt: their sizes are known only at run time.
    """
    callee = SymbolTable.lookup_symbol(op, op.callee) if isinstance(op, CallOp) else None
    if isinstance(callee, FuncOp) and tuple(callee.function_type.inputs) != tuple(op.operand_types):
        raise op_error(op, f"calls @{callee.sym_name.data}, which was specialized for other sizes; inline it first")
    for result in op.results:
        if result in late:
            continue
        if isinstance(result.type, SequenceType):
            raise op_error(op, f"returns {result.type}, but compiled functions must return tensors")
        if is_open(result.type):
            raise op_error(
                op, f"returns {result.type}, whose size depends on the data but must be known at compile time"
            )


# Weights that stay in their storage type and are dequantized inside the loops that use them.

_LEAST, _BYTE = 8, 4
"""The smallest block size for which loops convert weights, and the maximum number of weights in a byte."""

_FEWEST = 4096
"""The minimum number of low-precision float weights that stay stored in contractions with more than one row.

Fewer weights take at most 16 KB as f32, which is no more than the code that converts them: 144 windows of 3x3 take
156 us in f32 and 197 us in f8E4M3 (28x28, a Xeon with AVX512-VNNI).
"""


def stays_stored(op: Operation) -> bool:
    """Returns True if `op` dequantizes constant weights that loops should convert to floats each time they run.

    This holds for low-precision floats (8 bits or fewer) as weights of a contraction: they take a quarter or an eighth
    of the memory of f32. It also holds for integer weights that are multiplied by a single row, since such a
    contraction is memory-bound: 1x2048x2048 with 4-bit weights (block size 32) takes 193 us, compared with 292 us in
    f32 (Zen 4); with cold caches, 280 and 606 us. With more rows, each weight is used more often, and converting once
    to f32 is faster. A table of integers stays stored if only rows are gathered from it.
    """
    if not isinstance(op, DequantizeCastOp) or not isinstance(op.input.owner, ConstantOp) or not op.result.uses:
        return False
    type_, shape = element_type(op.input.type), shape_of(op.input)
    uses = [use for use in op.result.uses if not isinstance(use.operation, GatherOp) or use.index]
    if isinstance(type_, UniformQuantizedType) and not uses:
        return True
    if element_of(op.result) != builtin.f32:
        return False
    if isinstance(type_, UniformFloatType):
        is_large = math.prod(shape) >= _FEWEST
        return all((is_large and _is_weight(use)) or _is_row(use, type_, shape) for use in op.result.uses)
    if not isinstance(type_, UniformQuantizedType) or not _is_byte(type_):
        return False
    return all(_is_row(use, type_, shape) for use in uses)


def _is_byte(type_: UniformQuantizedType) -> bool:
    """Returns True if a signed byte holds every stored value minus its zero point."""
    low, high = integer_limits(8)
    lowest, highest = type_.storage_min - np.max(type_.zero_points), type_.storage_max - np.min(type_.zero_points)
    return bool(low <= lowest and highest <= high)


def _is_weight(use: Use) -> bool:
    """Returns True if the use is the weight operand of a contraction."""
    return use.index == 1 and isinstance(use.operation, ConvOp | FullyConnectedOp | MatMulOp)


def _is_row(use: Use, type_: UniformType, shape: tuple[int, ...]) -> bool:
    """Returns True if a single row is multiplied by these weights, and loops can sum them block by block."""
    op = use.operation
    if not _is_weight(use) or not isinstance(op, MatMulOp | FullyConnectedOp) or len(shape) != 2:
        return False
    axis = 1 if isinstance(op, FullyConnectedOp) or op.is_rhs_transposed else 0
    row = shape_of(op.operands[0])
    blocks = dict(zip(type_.axes, type_.block_sizes, strict=True))
    block = shape[axis] if type_.granularity is Granularity.TENSOR else blocks.get(axis, shape[axis])
    return len(row) > 1 and math.prod(row[:-1]) == 1 and block >= _LEAST and block % _BYTE == 0
