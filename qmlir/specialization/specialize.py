"""Specialization: one function for one shape of each input, with every size known."""

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import Rewriter
from xdsl.traits import Pure, SymbolTable
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.base import shapes_agree
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp, storage_element
from qmlir.dialects.nn.types import SequenceType
from qmlir.ir.builtin_types import AnyTensor, as_dense, dense, ranked_tensor, unranked_tensor
from qmlir.ir.control_flow import HandedOn, captured, handed_on
from qmlir.ir.diagnostics import op_error
from qmlir.ir.effects import erase_dead
from qmlir.ir.evaluation import evaluate, not_computed, operand_groups
from qmlir.ir.interfaces import HasParameters, InferResultTypes, ReadsShapesOnly, Replacement, SizesKnownInRun
from qmlir.ir.provenance import TENSOR, hand_on, origins_of, set_tensor_names, tensor_names
from qmlir.ir.signature import DIMS, NAME, inputs_of
from qmlir.specialization.inputs import check_known_inputs, checked_value, function_of, shape_text, static_types
from qmlir.specialization.stored_weights import stays_stored
from qmlir.text.elements import dense_dtype
from qmlir.text.weights import ExternalWeightsAttr

# Which inputs a module is specialized by: those whose values say a size, or what an operation does.
#
# Values are followed backwards from the parameters of operations, through whatever they are computed from, up to
# what follows from shapes alone: the size of an image depends on its shape, not on its elements.


def values_behind(values: Iterable[SSAValue]) -> set[SSAValue]:
    """`values`, and all values that they are computed from."""
    found: set[SSAValue] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value in found:
            continue
        found.add(value)
        if isinstance(value.owner, Operation) and not reads_shapes_only(value.owner):
            pending.extend(captured(value.owner))
    return found


def reads_shapes_only(op: Operation) -> bool:
    """Whether the results of `op` are told by the shapes of its operands."""
    return op.has_trait(ReadsShapesOnly, value_if_unregistered=False)


def _parametric(function: FuncOp) -> list[HasParameters]:
    return [op for op in function.walk() if isinstance(op, HasParameters)]


def _inputs_among(function: FuncOp, values: set[SSAValue]) -> tuple[str, ...]:
    """The names of inputs among `values` that are numbers or lists of them.

    A size that is computed from a matrix or an image is one of the data: to be compiled for each of them is of no use.
    """
    ports = inputs_of(function)
    arguments = function.body.block.args
    return tuple(
        port.name for port, argument in zip(ports, arguments, strict=True) if argument in values and _is_list(argument)
    )


def _is_list(argument: BlockArgument) -> bool:
    type_ = ranked_tensor(argument.type)
    return type_ is not None and type_.get_num_dims() <= 1


def parameter_values(function: FuncOp) -> set[SSAValue]:
    """The parameters of all operations of `function`, and the values that they are computed from."""
    return values_behind(value for op in _parametric(function) for value in op.parameter_operands())


def depends_on_data(function: FuncOp, op: Operation) -> bool:
    """Whether elements that a run gives decide what `op` computes: it is unknown when `function` is specialized.

    What a function is specialized by, shapes and the values of parameters, is no data.
    """
    parameters = parameter_values(function)
    arguments = (value for value in values_behind(op.operands) if isinstance(value, BlockArgument))
    return any(argument not in parameters or not _is_list(argument) for argument in arguments)


def parameter_inputs(module: ModuleOp, function: str = "main") -> tuple[str, ...]:
    """The inputs on whose values it depends what an operation does: sizes, axes, bounds of slices, diagonals.

    They are those to give to `specialize`: code is compiled for their values, as it is for the shapes of the others.
    """
    found = function_of(module, function)
    return _inputs_among(found, parameter_values(found))


# Types with more of their shape known: what inference gives, joined with what the value's own type says.


def is_static(type_: Attribute) -> bool:
    """Whether `type_` is a tensor of known sizes."""
    ranked = ranked_tensor(type_)
    return ranked is not None and DYNAMIC_INDEX not in ranked.get_shape()


def is_open(type_: Attribute) -> bool:
    """Whether `type_` is a tensor of which a size is not known, or a sequence."""
    if isinstance(type_, SequenceType) or unranked_tensor(type_) is not None:
        return True
    return ranked_tensor(type_) is not None and not is_static(type_)


def retype(value: SSAValue, type_: Attribute) -> SSAValue:
    """`value` with another type: a new value where it is another one."""
    return value if value.type == type_ else Rewriter.replace_value_with_new_type(value, type_)


def shaped(type_: Attribute, shape: Sequence[int]) -> AnyTensor:
    """The tensor type of `shape` with the elements of the ranked tensor `type_`."""
    ranked = ranked_tensor(type_)
    assert ranked is not None
    return TensorType(ranked.get_element_type(), list(shape))


def refined(type_: Attribute, inferred: Attribute) -> Attribute | None:
    """`type_` with the sizes that `inferred` knows, `None` where they contradict each other.

    The elements stay: what quantization decided of them does not follow from the operands.
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
        known if size == DYNAMIC_INDEX else size
        for size, known in zip(other.get_shape(), mine.get_shape(), strict=True)
    ]
    return shaped(type_, sizes)


# Constant folding by evaluators: an operation on constants becomes the constants that its evaluator computes.
#
# Constants may grow on the way, but not without bound: see `MAX_GROWTH`. What only changes the shape of a constant
# shares its bytes.

MAX_GROWTH = 16
"""How many times the bytes of the constants that it comes from a folded constant may have..."""

FREE_BYTES = 1 << 16
"""...and how many more in any case."""


def is_constant(value: SSAValue) -> bool:
    """Whether `value` is a constant that is in memory."""
    return isinstance(value.owner, ConstantOp) and not isinstance(value.owner.value, ExternalWeightsAttr)


def _bytes(types: Iterable[AnyTensor]) -> int:
    """The bytes that constants of static `types` take."""
    return sum(
        math.prod(type_.get_shape()) * dtype.itemsize
        for type_ in types
        if (dtype := dense_dtype(storage_element(type_.get_element_type()))) is not None
    )


def _constant_types(op: Operation) -> list[AnyTensor] | None:
    """The result types, `None` where one is not a tensor of numbers."""
    types = [type_ for each in op.result_types if (type_ := ranked_tensor(each)) is not None]
    is_held = all(dense_dtype(storage_element(type_.get_element_type())) is not None for type_ in types)
    return types if is_held and len(types) == len(op.results) else None


def _arguments(op: Operation) -> list[Array]:
    """The values of the operands, as far as the meaning of `op` looks at them."""
    if reads_shapes_only(op):
        types = [ranked_tensor(value.type) for value in op.operands]
        # One element stands for all, whatever their number: it is not read.
        return [np.broadcast_to(np.int8(0), type_.get_shape()) for type_ in types if type_ is not None]
    arrays = [constant_array(value) for value in op.operands]
    return [array for array in arrays if array is not None]


def _is_known(op: Operation) -> bool:
    """Whether all that the meaning of `op` looks at is known."""
    if not op.operands or op.regions or not op.has_trait(Pure, value_if_unregistered=False):
        return False
    if reads_shapes_only(op):
        return all(is_static(value.type) for value in op.operands)
    return all(map(is_constant, op.operands))


class Folder:
    """Folds operations in the order of their block; knows how much of the model each constant comes from."""

    def __init__(self) -> None:
        self._sources: dict[SSAValue, int] = {}

    def fold(self, op: Operation, *, always: bool) -> list[ConstantOp] | None:
        """The constants that the results of `op` are, `None` where they are not known, or would be too large.

        `always` is for what must be known, however large it is, and then an operation that cannot be computed is an
        error. Where the size of a result is known only when it is computed, it is computed; the type of the result is
        refined, also where it is too large for a constant.
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
        """The bytes of the model's own constants that the constant `value` comes from."""
        type_ = ranked_tensor(value.type)
        own = 0 if type_ is None else _bytes([type_])
        return self._sources.get(value, own)

    @staticmethod
    def _evaluated(op: Operation, *, must: bool) -> Sequence[Array] | None:
        try:
            # What IEEE gives for a division by 0 or an overflow is the answer.
            with np.errstate(all="ignore"):
                return evaluate(op, _arguments(op))
        except Exception as error:  # a meaning may be anybody's code
            if not must:  # running the operation reports it
                return None
            raise not_computed(op, error) from error

    @staticmethod
    def _constant(op: Operation, value: Array, type_: AnyTensor) -> ConstantOp:
        """The constant of `value`, over the bytes of an operand where it is the same elements in the same order."""
        for operand in op.operands:
            array = constant_array(operand)
            if array is None or array.nbytes != value.nbytes or array.dtype != value.dtype:
                continue
            if value.flags.c_contiguous and np.may_share_memory(array, value):
                held = as_dense(cast(ConstantOp, operand.owner).value)
                if held is not None and len(held.data.data) == value.nbytes:
                    element = storage_element(type_.get_element_type())
                    return ConstantOp(dense(held.data.data, TensorType(element, value.shape)), type_)
        return ConstantOp.of(np.ascontiguousarray(value), type_)


# Specializing: one function for one shape of each input, with every size known.
#
# A block lists operations before their users, so one walk in its order is enough: the operands of an operation have
# their last types, and are constants where they can be, before its own types are inferred and it is folded. What a
# parameter says becomes the operation's own (a property, a result type), a size becomes a constant, and what is
# computed from constants is computed here, within a bound (see `qmlir.specialization.specialize`).

Shapes = Mapping[str, Sequence[int]]
Values = Mapping[str, Any]


def specialize(
    module: ModuleOp, shapes: Shapes | None = None, values: Values | None = None, *, function: str = "main"
) -> ModuleOp:
    """A clone of `module` whose `function` takes inputs of `shapes`, and knows the inputs of `values`.

    `shapes` gives the sizes of inputs by name; an input that is not named has the sizes of its type, or those that
    another input has under the same name. The inputs of `values` become constants (stored integers for a quantized
    one) and are no inputs any more; those of `parameter_inputs(module)` must be among them. Weights are shared with
    `module`, not copied. Functions that it calls become functions for the sizes that they are called with; others stay.

    Raises `DiagnosticError` for what does not fit the inputs, for sizes that contradict each other, and, naming the
    operation, for a size that depends on the data: how many elements are not 0, a shape computed from activations.
    """
    clone = module.clone()
    specialize_function(clone, shapes or {}, values or {}, function)
    return clone


def specialize_function(
    module: ModuleOp, shapes: Shapes, values: Values, name: str = "main", *, keeps_dynamic: bool = False
) -> None:
    """Specialize a function in place, as `specialize` does.

    With `keeps_dynamic`, a size in `shapes` may be `DYNAMIC_INDEX`: it stays dynamic, and so do the sizes that follow
    from it.
    """
    function = function_of(module, name)
    if len(function.body.blocks) > 1:
        raise op_error(function, "must have a single block to be specialized")
    erase_dead(function.body)  # what nothing uses needs no sizes
    _check_parameters(module, function, values)
    given = _given_values(function, values)
    types = static_types(function, _all_shapes(function, shapes, given), keeps_dynamic=keeps_dynamic)
    needed = parameter_values(function)
    _set_arguments(function, types, given)
    _specialize_body(function, needed, keeps_dynamic=keeps_dynamic)


def _specialize_body(function: FuncOp, needed: set[SSAValue] | None = None, *, keeps_dynamic: bool = False) -> None:
    """Specialize what is in a function whose arguments have their types."""
    specializer = _Specializer(parameter_values(function) if needed is None else needed, keeps_dynamic)
    specializer.run(function)
    erase_dead(function.body)
    for op in () if keeps_dynamic else function.body.walk():
        _check_closed(op, specializer.late)
    _set_signature(function)


def _own_callee(callee: FuncOp, call: CallOp) -> FuncOp:
    """The function `callee` for `call` alone: itself if `call` is its only caller, otherwise a private copy."""
    module = callee.parent_op()
    assert isinstance(module, ModuleOp)
    others = (op for op in module.walk() if isinstance(op, CallOp) and op is not call)
    if callee.sym_visibility == StringAttr("private") and all(other.callee != call.callee for other in others):
        return callee
    taken = {op.sym_name.data for op in module.ops if isinstance(op, FuncOp)}
    name = next(name for number in count(1) if (name := f"{callee.sym_name.data}_{number}") not in taken)
    copy = callee.clone()
    copy.sym_name = StringAttr(name)
    copy.sym_visibility = StringAttr("private")
    module.body.block.insert_op_before(copy, callee)
    call.callee = SymbolRefAttr(name)
    return copy


def _check_parameters(module: ModuleOp, function: FuncOp, values: Values) -> None:
    missing = [name for name in parameter_inputs(module, function.sym_name.data) if name not in values]
    if missing:
        names = ", ".join(f"'{name}'" for name in missing)
        raise op_error(
            function,
            f"computes sizes or other parameters from the input{'s' if len(missing) > 1 else ''} {names}: "
            "a specialized module is made for a value of each",
        )


# Inputs


def _given_values(function: FuncOp, values: Values) -> dict[str, Array]:
    check_known_inputs(function, values)
    return {
        port.name: checked_value(function, port, values[port.name])
        for port in inputs_of(function)
        if port.name in values
    }


def _all_shapes(function: FuncOp, shapes: Shapes, given: Mapping[str, Array]) -> Shapes:
    for name, array in given.items():
        if name in shapes and tuple(shapes[name]) != array.shape:
            wanted = shape_text(shapes[name])
            raise op_error(function, f"input '{name}' must have shape {wanted}, but got {shape_text(array.shape)}")
    return {**shapes, **{name: array.shape for name, array in given.items()}}


def _set_arguments(function: FuncOp, types: Sequence[AnyTensor], given: Mapping[str, Array]) -> None:
    """Give the arguments their types, and put constants in the place of those whose values are given."""
    block = function.body.block
    ports = inputs_of(function)
    attributes = [dict(each.data) for each in function.arg_attrs or [DictionaryAttr({})] * len(ports)]
    first = block.first_op
    for place, (port, type_) in reversed(list(enumerate(zip(ports, types, strict=True)))):
        argument = retype(block.args[place], type_)
        if port.name not in given:
            attributes[place] = _without_sizes(attributes[place])
            if given:  # a place is not a name any more
                attributes[place][NAME] = StringAttr(port.name)
            continue
        constant = ConstantOp.of(np.ascontiguousarray(given[port.name]), type_)
        constant.result.name_hint = argument.name_hint
        if first is None:
            block.add_op(constant)
        else:
            block.insert_op_before(constant, first)
        first = constant
        argument.replace_all_uses_with(constant.result)
        block.erase_arg(block.args[place])
        del attributes[place]
    if any(attributes):
        function.arg_attrs = ArrayAttr(DictionaryAttr(each) for each in attributes)
    else:
        function.arg_attrs = None


def _without_sizes(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """The attributes of an input or output without the names of its sizes."""
    return {name: value for name, value in attributes.items() if name != DIMS}


def _set_signature(function: FuncOp) -> None:
    """Let the function's type say what its arguments and results are now."""
    block = function.body.block
    results = block.last_op.operand_types if isinstance(block.last_op, ReturnOp) else ()
    function.function_type = FunctionType.from_lists([argument.type for argument in block.args], results)
    if function.res_attrs:
        function.res_attrs = ArrayAttr(DictionaryAttr(_without_sizes(each.data)) for each in function.res_attrs)


# Operations


class _Specializer:
    """One walk over a function. `needed` are the values that a parameter is, or is computed from."""

    def __init__(self, needed: set[SSAValue], keeps_dynamic: bool):
        self.needed = needed
        self.keeps_dynamic = keeps_dynamic
        self.folder = Folder()
        self.late: set[SSAValue] = set()
        """The values whose sizes are known in a run only: of islands, and of what takes these."""

    def run(self, function: FuncOp) -> None:
        self.late.update(argument for argument in function.body.block.args if is_open(argument.type))
        for op in list(function.body.block.ops):
            self._visit(op)

    def _visit(self, op: Operation) -> None:
        if isinstance(op, CallOp):
            self._call(op)
            return
        if any(handed_on(op)):
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
        """Note the results whose sizes the operands do not tell."""
        if op.has_trait(SizesKnownInRun, value_if_unregistered=False) or not self.late.isdisjoint(op.operands):
            self.late.update(result for result in op.results if is_open(result.type))

    def _call(self, op: CallOp) -> None:
        """Let a call whose operands have other sizes now call a function that is made for them."""
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(callee, FuncOp) or len(callee.body.blocks) != 1:
            return
        types = [type_ for each in op.operand_types if (type_ := ranked_tensor(each)) is not None]
        is_same = tuple(callee.function_type.inputs) == tuple(op.operand_types)
        is_late = not self.late.isdisjoint(op.operands)
        if is_same and is_late:  # made for such operands already: a run tells the sizes of the results, too
            self.late.update(result for result in op.results if is_open(result.type))
        if is_same or len(types) != len(op.operands) or not (is_late or all(map(is_static, types))):
            return
        function = _own_callee(callee, op)
        _set_arguments(function, types, {})
        function.function_type = FunctionType.from_lists(types, function.function_type.outputs.data)
        _specialize_body(function)
        for result, type_ in zip(tuple(op.results), function.function_type.outputs, strict=True):
            self._follow(result, retype(result, type_))
        self.late.update(result for result in op.results if is_open(result.type))

    def _control(self, op: Operation) -> None:
        """Specialize what is in a choice or a loop, for the sizes of what enters it; these stay from step to step."""
        visited = {op.parent_block()}
        for block in [block for region in op.regions for block in region.blocks]:
            self._hand_on(op, lambda each, into=block: each.taken.owner is into and each.user.parent_block() in visited)
            visited.add(block)
            for inner in list(block.ops):
                self._visit(inner)
        self._hand_on(op, lambda _: True)

    def _hand_on(self, op: Operation, is_now: Callable[[HandedOn], bool]) -> None:
        """Give what values become the sizes of the values, where `is_now` says so."""
        for place in range(len(list(handed_on(op)))):
            each = list(handed_on(op))[place]  # a new type makes a new value
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
        """Give the results of `op` the types that follow from its operands."""
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
        """Let `new` be needed where `old` was."""
        if old in self.needed:
            self.needed.add(new)

    def _replace(self, op: Operation, replacement: Replacement) -> None:
        block = op.parent
        assert block is not None
        names = tensor_names(op) if TENSOR in op.attributes else ()
        for made in replacement.operations:
            block.insert_op_before(made, op)
            if not origins_of(made):
                hand_on((op,), made)
            made.location = op.location
        for place, (old, new) in enumerate(zip(tuple(op.results), replacement.values, strict=True)):
            self._follow(old, new)
            if isinstance(new, OpResult) and new.op in replacement.operations:
                new.name_hint = new.name_hint or old.name_hint
                if place < len(names) and len(new.op.results) == 1:
                    set_tensor_names(new.op, [names[place]])
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()


def _by_parameters(op: HasParameters) -> Replacement | None:
    try:
        return op.specialized(constant_array)
    except VerifyException as error:
        raise op_error(op, str(error)) from error


def _check_parameters_known(op: HasParameters) -> None:
    """Raise where a parameter is known only when the model runs."""
    unknown = {value for value in op.parameter_operands() if not is_constant(value)}
    if unknown and isinstance(op, IRDLOperation):
        names = [f"'{name}'" for name, _, values in operand_groups(op) if not unknown.isdisjoint(values)]
        raise op_error(
            op, f"computes its operand {' and '.join(names)} from the data, but it must be known at compile time"
        )


def _check_closed(op: Operation, late: Container[SSAValue]) -> None:
    """Raise where a size of a result is not known, or where a call does not fit the function any more.

    The sizes of the results `late` are known in a run only.
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
