"""Specializing: one function for one shape of each input, with every size known.

A block lists operations before their users, so one walk in its order is enough: the operands of an operation have
their last types, and are constants where they can be, before its own types are inferred and it is folded. What a
parameter says becomes the operation's own (a property, a result type), a size becomes a constant, and what is computed
from constants is computed here, within a bound (see `qmlir.specialization.folding`).
"""

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.dialects.nn.types import SequenceType
from qmlir.ir.builtin_types import AnyTensor, ranked_tensor
from qmlir.ir.control import HandedOn, handed_on
from qmlir.ir.diagnostics import op_error
from qmlir.ir.effects import erase_dead
from qmlir.ir.evaluation import operand_groups
from qmlir.ir.interfaces import HasParameters, InferResultTypes, Replacement, SizesKnownInRun
from qmlir.ir.provenance import TENSOR, hand_on, origins_of, set_tensor_names, tensor_names
from qmlir.ir.signature import DIMS, NAME, inputs_of
from qmlir.specialization.flow import parameter_inputs, parameter_values
from qmlir.specialization.folding import Folder, is_constant
from qmlir.specialization.inputs import check_known_inputs, checked_value, function_of, shape_text, static_types
from qmlir.specialization.retyping import is_open, is_static, refined, retype

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
