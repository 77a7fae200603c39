"""Which inputs a module is specialized by: those whose values say a size, or what an operation does.

Values are followed backwards from the parameters of operations, through whatever they are computed from, up to what
follows from shapes alone: the size of an image depends on its shape, not on its elements.
"""

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.control import captured
from qmlir.ir.interfaces import HasParameters, ReadsShapesOnly
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import function_of


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
