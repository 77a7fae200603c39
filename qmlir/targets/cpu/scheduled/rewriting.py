"""Rewrites a function from tensors to memrefs, as decided by the alias analysis and buffer placement."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf
from xdsl.dialects import tensor as tensor_dialect
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import CallOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike

from qmlir.analysis.symbols import symbols_of, unique_name
from qmlir.dialects.kernel.attributes import SCHEDULE, ScheduleAttr
from qmlir.dialects.kernel.contraction import EpilogueOp
from qmlir.dialects.kernel.ops import ReshapeOp, YieldOp, shaped
from qmlir.dialects.kernel.rows import MapsElements, RowAxes, RowFusionOp, RowStep
from qmlir.dialects.kernel.variants import SCALAR
from qmlir.dialects.simd.base import bits_of
from qmlir.ir.builtin_types import as_dense, tensor
from qmlir.ir.diagnostics import op_error
from qmlir.ir.passes import count
from qmlir.ir.provenance import hand_on
from qmlir.ir.signature import RESULT
from qmlir.targets.cpu.isa.base import ALIGNMENT
from qmlir.targets.cpu.loops.emitter import memory_of
from qmlir.targets.cpu.scheduled.aliases import (
    Aliases,
    Placement,
    destination_style,
    has_tensors,
    is_contiguous,
    is_tensor,
    is_tensor_type,
    reshaped_type,
    results_written,
    subview,
)

# Constants become `memref.global`s; equal constants share one global, which is named after the first value.

_DEFAULT_NAME = "constant"


class Globals:
    """Creates the globals for a module's constants, before its functions."""

    def __init__(self, module: ModuleOp):
        self._module = module
        self._names = symbols_of(module)
        self._known: dict[Attribute, memref.GlobalOp] = {}

    def of(self, constant: Operation) -> memref.GetGlobalOp:
        """Returns the global of a constant tensor. Raises `DiagnosticError` if its elements are not dense."""
        result = constant.results[0]
        value = constant.get_attr_or_prop("value")
        dense = as_dense(value) if value is not None else None
        if dense is None or not constant.has_trait(ConstantLike, value_if_unregistered=False):
            raise op_error(constant, f"must have dense elements, but got {value}")
        declared = self._known.get(dense)
        if declared is None:
            declared = self._known[dense] = self._declare(result, dense)
        return memref.GetGlobalOp(declared.sym_name.data, declared.type)

    def _declare(self, value: SSAValue, elements: Attribute) -> memref.GlobalOp:
        type_ = tensor(value.type)
        hint = re.sub(r"\W", "_", value.name_hint or "") or _DEFAULT_NAME
        name = unique_name(hint if not hint[0].isdigit() else f"{_DEFAULT_NAME}_{hint}", self._names)
        declared = memref.GlobalOp.get(
            StringAttr(name),
            MemRefType(type_.get_element_type(), type_.get_shape()),
            elements,
            constant=UnitAttr(),
            alignment=ALIGNMENT,
        )
        last = next(reversed(self._known.values()), None)
        start = InsertPoint.at_start(self._module.body.block) if last is None else InsertPoint.after(last)
        Rewriter.insert_op(declared, start)
        return declared


# Lowering of `kernel.row_fusion` to loops over rows: its operations process a few rows at a time in scratch memory.

Axes: TypeAlias = Sequence[RowAxes]
"""For each axis of an operand, the row axes that the axis covers; empty if it covers none."""

NEAR_BYTES = 24 << 10
"""The maximum size of the rows processed together, in bytes: three quarters of the L1 cache of the measured CPUs."""

SIDE_BY_SIDE = 8
"""The number of rows whose float sums run side by side.

If it divides the number of rows, at least this number of rows is processed together if they fit in scratch memory.
"""

MOST_SCRATCH = 64 << 10
"""The maximum size of scratch memory, in bytes; it is on the stack."""

PRODUCT_BYTES = 128 << 10
"""The maximum size of the rows processed together if matmuls are among the operations, which reread their weights.

With 24, 96 and 192 KB, fused attention takes 0.93, 0.90 and 0.90 times as long as three separate operations for 512
tokens; with 24, 128 and 256 KB, 1.00, 0.95 and 0.94 times as long for 1024 tokens (`docs/lab/transformers.md`).
"""

MOST_PRODUCT_SCRATCH = 512 << 10
"""The maximum size of scratch memory with matmuls, in bytes. Longer rows are processed fewer at a time."""


def _begins(steps: Sequence[RowStep]) -> dict[SSAValue, SSAValue]:
    """Returns, for each tensor that steps process by rows, the tensor that its memory begins with."""
    begins: dict[SSAValue, SSAValue] = {}
    for step in steps:
        found = [begins.setdefault(value, value) for value, map_ in step.operands if step.is_by_rows(value, map_)]
        is_new = isinstance(step.op, MapsElements)
        for result in step.op.results:
            begins[result] = result if is_new else found[-1]
    return begins


def _has_products(ops: Iterable[Operation]) -> bool:
    return any(isinstance(op, MapsElements) for op in ops)


def _row_bytes(ops: Sequence[Operation], rows: Sequence[int]) -> tuple[int, int, bool]:
    """Returns the size of a row of all tensors, that of its scratch memory, and True if matmuls write all results."""
    steps = [step for op in ops if (step := RowStep.of(op, rows)) is not None]
    begins, all_rows = _begins(steps), math.prod(rows)

    def bytes_of_a_row(value: SSAValue) -> int:
        shape, element = shaped(value)
        return math.prod(shape) * bits_of(element) // 8 // all_rows

    def is_used_outside(value: SSAValue) -> bool:
        return any(not any(op.is_ancestor(use.operation) for op in ops) for use in value.uses)

    sizes = {value: bytes_of_a_row(value) for value in begins.values()}
    written = [step.op.results[0] for step in steps if step.op.results]
    kept = {begins[value] for value in written if is_used_outside(value)}
    inside = {begins[value] for value in written} - kept
    return (
        sum(sizes.values()),
        sum(map(sizes.__getitem__, inside)),
        all(isinstance(value.owner, MapsElements) for value in kept),
    )


def fitting_rows(ops: Sequence[Operation], rows: Sequence[int]) -> int:
    """Returns the number of rows that fit in scratch memory together."""
    return (MOST_PRODUCT_SCRATCH if _has_products(ops) else MOST_SCRATCH) // max(1, _row_bytes(ops, rows)[1])


def rows_together(ops: Sequence[Operation], rows: Sequence[int]) -> int:
    """Returns the number of rows along the last axis to process together.

    It divides the number of rows, except with matmuls if no suitable divisor exists: then the last iteration repeats
    some rows of the one before it. Returns 0 if that is all rows, or if the scratch memory for these rows would be too
    large.
    """
    size, _, is_new = _row_bytes(ops, rows)
    has_products, fitting, last = _has_products(ops), fitting_rows(ops, rows), rows[-1]
    most = min(last, max(SIDE_BY_SIDE, (PRODUCT_BYTES if has_products else NEAR_BYTES) // max(1, size)))
    if has_products:
        most = min(most, fitting)
    count = max(
        (each for each in range(1, most + 1) if last % each == 0),
        key=lambda each: (each % SIDE_BY_SIDE == 0, each),
        default=0,
    )
    # Rows can be repeated unless their results replace something that is read: matmuls write new tensors.
    if has_products and is_new and count % SIDE_BY_SIDE and SIDE_BY_SIDE <= most < last:
        count = min(range(SIDE_BY_SIDE, most + 1, SIDE_BY_SIDE), key=lambda each: (-(-last // each) * each, -each))
    return count if count <= fitting and count < math.prod(rows) else 0


class _Loops:
    """Creates loops over rows before an operation, with `together` rows per iteration along the last axis."""

    def __init__(self, rows: Sequence[int], together: int, before: Operation, *, is_threaded: bool):
        self._rows = rows
        self._sizes = (*(1 for _ in rows[:-1]), together)
        self._positions: list[SSAValue | int] = []
        self._views: dict[tuple[SSAValue, tuple[RowAxes, ...]], SSAValue] = {}
        self.builder = Builder(InsertPoint.before(before))
        axes = list(zip(rows, self._sizes, strict=True))
        numbers = {
            number: self.builder.insert(arith.ConstantOp(IntegerAttr(number, IndexType()))).result
            for number in dict.fromkeys(each for size, step in axes if size != step for each in (0, size, step))
        }
        for size, step in axes:
            if size == step:
                self._positions.append(0)
                continue
            block = Block(arg_types=[IndexType()])
            end = scf.YieldOp()
            block.add_op(end)
            loop = scf.ForOp(numbers[0], numbers[size], numbers[step], [], block)
            if is_threaded:
                loop.attributes[SCHEDULE] = ScheduleAttr.of(SCALAR, threads=True)
            self.builder.insert(loop)
            self.builder = Builder(InsertPoint.before(end))
            first: SSAValue = block.args[0]
            if size % step:
                latest = self.builder.insert(arith.ConstantOp(IntegerAttr(size - step, IndexType())))
                first = self.builder.insert(arith.MinSIOp(first, latest)).result
            self._positions.append(first)

    def _taken(self, axes: Axes, shape: Sequence[int]) -> list[int]:
        """Returns the sizes of the part of a memref for the rows of one iteration."""
        pairs = zip(axes, shape, strict=True)
        return [math.prod(self._sizes[each] for each in own) if own else size for own, size in pairs]

    def _position(self, axes: RowAxes) -> SSAValue | int:
        """Returns the linear index of the first row of an iteration along `axes`."""
        position: SSAValue | int = 0
        for axis in axes:
            step = self._positions[axis]
            if isinstance(position, SSAValue):
                size = self.builder.insert(arith.ConstantOp(IntegerAttr(self._rows[axis], IndexType())))
                position = self.builder.insert(arith.MuliOp(position, size)).result
                position = (
                    self.builder.insert(arith.AddiOp(position, step)).result if isinstance(step, SSAValue) else position
                )
            else:
                position = step
        return position

    def scratch(self, value: SSAValue, axes: Axes) -> SSAValue:
        """Allocates scratch memory for the rows of one iteration."""
        type_ = memory_of(value)
        sizes = self._taken(axes, type_.get_shape())
        made = self.builder.insert(memref.AllocaOp.get(type_.get_element_type(), ALIGNMENT, sizes)).memref
        made.name_hint = value.name_hint
        return made

    def view(self, value: SSAValue, axes: Axes) -> SSAValue:
        """Returns a view of a memref for the rows of one iteration."""
        if not any(axes):
            return value
        key = (value, tuple(axes))
        if key not in self._views:
            type_ = memory_of(value)
            offsets = [self._position(each) for each in axes]
            sizes, ones = self._taken(axes, type_.get_shape()), [1] * len(axes)
            result: MemRefType[Attribute] = memref.SubviewOp.infer_result_type(type_, offsets, sizes, ones)
            self._views[key] = self.builder.insert(memref.SubviewOp.get(value, offsets, sizes, ones, result)).result
            self._views[key].name_hint = value.name_hint
        return self._views[key]


def _rows_first(value: SSAValue, rows: Sequence[int]) -> Axes:
    """Returns the row axis of each axis of a result that is written by rows."""
    numbers = iter(range(len(rows)))
    positions = (None if size == 1 else next(numbers, None) for size in shaped(value)[0])
    return [() if position is None else (position,) for position in positions]


def _known(axes: Sequence[RowAxes | None]) -> Axes:
    """Returns the row axes of an operand; each axis of the operand must have some, or none."""
    assert None not in axes
    return [each for each in axes if each is not None]


def _schedule_of(op: Operation) -> ScheduleAttr | None:
    found = op.schedule if isinstance(op, EpilogueOp) else op.attributes.get(SCHEDULE)
    return found if isinstance(found, ScheduleAttr) else None


def _inside_loops(op: Operation) -> None:
    """Removes threading from the schedule of `op`, since threads divide the loops around it."""
    found = _schedule_of(op)
    if found is None or not found.threads:
        return
    alone = found.for_one_thread()
    if isinstance(op, EpilogueOp):
        op.schedule = alone
    elif alone is None:
        op.attributes.pop(SCHEDULE)
    else:
        op.attributes[SCHEDULE] = alone


def write_row_loops(ops: Sequence[Operation], rows: Sequence[int], together: int, before: Operation) -> None:
    """Moves operations on memrefs into loops over `together` rows; allocations among them become scratch memory.

    If threads divide one of the operations, they divide the loops instead.
    """
    steps = {op: step for op in ops if (step := RowStep.of(op, rows)) is not None}
    is_threaded = any(schedule.threads for op in steps if (schedule := _schedule_of(op)) is not None)
    written = dict.fromkeys(step.target for step in steps.values())
    for op in ops:
        # The window operand of a pooling op is never read or written; it only has sizes, which are the same for all
        # rows.
        if isinstance(op, memref.AllocOp) and op.memref not in written:
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(before))
    loops = _Loops(rows, together, before, is_threaded=is_threaded)
    scratch = {value: loops.scratch(value, _rows_first(value, rows)) for value in written if value.owner in ops}
    along = {op: [_known(step.row_axes(map_)) for _, map_ in step.operands] for op, step in steps.items()}
    for op in ops:
        if isinstance(op, memref.AllocOp | YieldOp):
            continue
        tables = [each for each in op.walk() if isinstance(each, memref.LoadOp) and each.memref in written]
        positions = [(op, position, axes) for position, axes in enumerate(along.get(op, ()))]
        positions += [(table, 0, _rows_first(table.memref, rows)) for table in tables]
        for user, position, axes in positions:
            value = user.operands[position]
            user.operands[position] = scratch.get(value) or loops.view(value, axes)
        _inside_loops(op)
        op.detach()
        loops.builder.insert(op)


# The rewriter visits operations in order. Each one is replaced with an operation on memrefs, after any allocations and
# copies that it needs. Memory allocated inside a loop or a branch is hoisted out of it, except scratch memory of rows.


def memory_for(type_: Attribute) -> MemRefType[Attribute]:
    """Returns the contiguous memref type for a tensor type."""
    found = tensor(type_)
    return MemRefType(found.get_element_type(), found.get_shape())


def allocation(type_: MemRefType[Attribute]) -> memref.AllocOp:
    """Creates an aligned `memref.alloc`."""
    return memref.AllocOp.build(
        operands=[[], []], result_types=[type_], properties={"alignment": IntegerAttr(ALIGNMENT, i64)}
    )


def copy_of(source: SSAValue, destination: SSAValue) -> linalg.GenericOp:
    """Creates an operation that copies `source` to `destination`."""
    type_ = memory_of(source)
    rank, element = type_.get_num_dims(), type_.get_element_type()
    block = Block(arg_types=[element, element])
    block.add_op(linalg.YieldOp(block.args[0]))
    maps = [AffineMapAttr(AffineMap.identity(rank))] * 2
    kinds = [IteratorTypeAttr(IteratorType.PARALLEL)] * rank
    return linalg.GenericOp([source], [destination], Region(block), maps, kinds)


class BufferRewriter:
    """Rewrites one function from tensors to memrefs."""

    def __init__(self, aliases: Aliases, placement: Placement, constants: Globals):
        self._function = aliases.function
        self._aliases = aliases
        self._placement = placement
        self._globals = constants
        self._memory: dict[SSAValue, SSAValue] = {}
        self._results: list[SSAValue] = []

    # --- The function -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        function, block = self._function, self._function.body.block
        type_: FunctionType = function.function_type
        old = list(block.args)
        for argument in old:
            new = block.insert_arg(memory_for(argument.type) if is_tensor(argument) else argument.type, len(block.args))
            new.name_hint = argument.name_hint
            if is_tensor(argument):
                self._memory[argument] = new
            else:
                argument.replace_all_uses_with(new)
        # Results become additional last arguments: the caller passes their memory, and a value is computed there
        # directly if `Placement` says so.
        for result in type_.outputs:
            if is_tensor_type(result):
                self._results.append(block.insert_arg(memory_for(result), len(block.args)))
        self._visit_block(block)
        for argument in old:
            block.erase_arg(argument)
        self._set_signature()

    def _set_signature(self) -> None:
        function = self._function
        type_: FunctionType = function.function_type
        arguments = _entries(function.arg_attrs, len(type_.inputs))
        results = list(zip(type_.outputs, _entries(function.res_attrs, len(type_.outputs)), strict=True))
        memory = [DictionaryAttr({RESULT: UnitAttr(), **entry.data}) for each, entry in results if is_tensor_type(each)]
        others = [(each, entry) for each, entry in results if not is_tensor_type(each)]
        function.function_type = FunctionType.from_lists(
            [argument.type for argument in function.body.block.args], [each for each, _ in others]
        )
        function.arg_attrs = ArrayAttr([*arguments, *memory])
        function.res_attrs = ArrayAttr([entry for _, entry in others]) if any(e.data for _, e in others) else None

    # --- Operations ---------------------------------------------------------------------------------------------------

    def _visit_block(self, block: Block) -> None:
        # Erase at the end, in reverse order: `Aliases` and `Placement` identify values by the old operations, and an
        # operation can only be erased after its users.
        replaced = [op for op in list(block.ops) if self._visit(op)]
        for op in reversed(replaced):
            Rewriter.erase_op(op)

    def _visit(self, op: Operation) -> bool:
        """Rewrites `op` to memrefs; returns true if the old operation must be erased."""
        match op:
            case tensor_dialect.EmptyOp():
                self._memory[op.tensor] = self._buffer(op.tensor, op)
            # A slice is a view, never a copy. If an operation would overwrite elements that the slice still reads,
            # `Aliases` has given that operation separate memory.
            case tensor_dialect.ExtractSliceOp():
                shape = tensor(op.result.type).get_shape()
                view = self._insert(subview(self._memory[op.source], op, shape), op)
                self._memory[op.result] = self._named(view, op.result)
            case tensor_dialect.InsertSliceOp():
                self._visit_insertion(op)
            case tensor_dialect.ExtractOp():
                load = memref.LoadOp.get(self._memory[op.tensor], op.indices)
                op.result.replace_all_uses_with(self._insert(load, op))
            case tensor_dialect.InsertOp():
                whole = self._written(op, 0)
                self._insert_all([memref.StoreOp.get(op.scalar, whole, op.indices)], op)
                self._memory[op.result] = whole
            case ReshapeOp() if is_tensor(op.result):
                self._memory[op.result] = self._named(self._reshaped(op), op.result)
            case scf.ForOp():
                return self._visit_loop(op)
            case RowFusionOp():
                self._visit_rows(op)
            case scf.WhileOp():
                return self._visit_while(op)
            case scf.ConditionOp():
                self._insert_all([scf.ConditionOp(op.condition, *(v for v in op.args if not is_tensor(v)))], op)
            case scf.IfOp():
                return self._visit_choice(op)
            case CallOp() if has_tensors(op):
                self._visit_call(op)
            case ReturnOp():
                self._visit_return(op)
            case scf.YieldOp() | YieldOp():
                self._visit_yield(op)
            case _:
                return self._visit_other(op)
        return True

    def _visit_other(self, op: Operation) -> bool:
        style = destination_style(op)
        if style is not None and has_tensors(op):
            self._visit_captures(op)
            outs = [self._written(op, number) for number in range(len(op.results))]
            new = style.on_memory(lambda value: self._memory.get(value, value), outs)
            self._insert_all([new], op)
            new.location = op.location
            self._memory.update(zip(op.results, outs, strict=True))
            return True
        if any(map(is_tensor, op.results)) and op.has_trait(ConstantLike, value_if_unregistered=False):
            get = self._globals.of(op)
            self._memory[op.results[0]] = self._named(self._insert(get, self._top(op)), op.results[0])
            return True
        if any(map(is_tensor, op.results)) or (op.regions and any(map(has_tensors, op.walk()))):
            raise op_error(
                op,
                "cannot be bufferized: expected an operation in destination-passing style, a slice, a reshape, "
                "scf.for, scf.while, scf.if or a call",
            )
        for position, operand in enumerate(op.operands):
            if is_tensor(operand):  # an expectation, which only reads tensors
                op.operands[position] = self._memory[operand]
        return False

    def _visit_captures(self, op: Operation) -> None:
        """Rewrites reads of captured tensors in the regions of a structured operation."""
        for region in op.regions:
            for inner in list(region.walk()):
                if isinstance(inner, tensor_dialect.ExtractOp):
                    load = memref.LoadOp.get(self._memory[inner.tensor], inner.indices)
                    inner.result.replace_all_uses_with(self._insert(load, inner))
                    Rewriter.erase_op(inner)
                elif has_tensors(inner):
                    raise op_error(
                        inner, "is not allowed in the body of a structured operation; only tensor.extract is"
                    )

    def _visit_insertion(self, op: tensor_dialect.InsertSliceOp) -> None:
        whole = self._written(op, 0)
        self._memory[op.result] = whole
        # The source was computed directly in its slice: nothing to copy.
        if self._placement.in_slices.get(self._aliases.storage(op.source)) is op:
            return
        shape = tensor(op.source.type).get_shape()
        self._copy(self._memory[op.source], self._insert(subview(whole, op, shape), op), op)

    def _reshaped(self, op: ReshapeOp) -> SSAValue:
        source = self._memory[op.source]
        # Memory with gaps can't be reshaped: its elements are not contiguous.
        if not is_contiguous(memory_of(source)):
            own = self._allocate(memory_for(op.source.type), op)
            self._copy(source, own, op)
            source = own
        shape = tensor(op.result.type).get_shape()
        return self._insert(ReshapeOp(source, reshaped_type(memory_of(source), shape)), op)

    def _visit_call(self, op: CallOp) -> None:
        outs = {result: self._buffer(result, op) for result in op.results if is_tensor(result)}
        arguments = [self._memory.get(value, value) for value in op.arguments]
        scalars = [result.type for result in op.results if not is_tensor(result)]
        self._replace_scalars(op, CallOp(op.callee, [*arguments, *outs.values()], scalars))
        self._memory |= outs

    def _visit_return(self, op: ReturnOp) -> None:
        tensors = [value for value in op.operands if is_tensor(value)]
        for number, (value, memory) in enumerate(zip(tensors, self._results, strict=True)):
            # Only one value is computed in the memory of a result, and never a function argument: a value that is
            # returned twice, or an argument that is returned, is copied.
            if self._placement.in_results.get(self._aliases.storage_under_shapes(value)) != number:
                self._copy(self._memory[value], memory, op)
        self._insert_all([ReturnOp(*(value for value in op.operands if not is_tensor(value)))], op)

    # --- Loops and choices --------------------------------------------------------------------------------------------

    def _visit_loop(self, op: scf.ForOp) -> bool:
        # A loop on memrefs carries no tensors: each iteration finds the tensor where the previous one left it, in the
        # memory that already holds the initial value, or that it was copied to.
        block = op.body.block
        carried = [number for number, result in enumerate(op.results) if is_tensor(result)]
        for number in carried:
            memory = self._written(op, number)
            self._memory[block.args[1 + number]] = self._memory[op.results[number]] = memory
        self._visit_block(block)
        if not carried:
            return False
        for number in reversed(carried):
            block.erase_arg(block.args[1 + number])
        scalars = [value for value in op.iter_args if not is_tensor(value)]
        loop = scf.ForOp(op.lb, op.ub, op.step, scalars, op.detach_region(op.body))
        self._replace_scalars(op, loop)
        return True

    def _visit_while(self, op: scf.WhileOp) -> bool:
        before, after = op.before_region.block, op.after_region.block
        for argument, value in zip(before.args, op.arguments, strict=True):
            if is_tensor(argument):
                self._memory[argument] = self._buffer(argument, op)
                self._copy(self._memory[value], self._memory[argument], op)
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        forwarded = list(zip(condition.args, after.args, op.results, strict=True))
        self._visit_block(before)
        for value, argument, result in forwarded:
            if is_tensor(value):
                self._memory[argument] = self._memory[result] = self._memory[value]
        self._visit_block(after)
        if not any(map(is_tensor, (*op.arguments, *op.results))):
            return False
        for block in (before, after):
            for argument in reversed(block.args):
                if is_tensor(argument):
                    block.erase_arg(argument)
        scalars = [value for value in op.arguments if not is_tensor(value)]
        types = [result.type for result in op.results if not is_tensor(result)]
        self._replace_scalars(op, scf.WhileOp(scalars, types, *map(op.detach_region, list(op.regions))))
        return True

    def _visit_rows(self, op: RowFusionOp) -> None:
        block, together = op.body.block, rows_together(op.steps, op.sizes)
        for number, (argument, result) in enumerate(zip(block.args, op.results, strict=True)):
            self._memory[argument] = self._memory[result] = self._written(op, number)
        self._visit_block(block)
        write_row_loops(list(block.ops), op.sizes, together, op)

    def _visit_choice(self, op: scf.IfOp) -> bool:
        for result in filter(is_tensor, op.results):
            # If both branches yield values in the same memory, the result is in that memory. Otherwise it has separate
            # memory, to which each branch copies its value (`_visit_yield`).
            position = self._aliases.storage(result)
            self._memory[result] = self._buffer(result, op) if position is result else self._memory[position]
        for region in op.regions:
            if region.blocks:
                self._visit_block(region.block)
        if not any(map(is_tensor, op.results)):
            return False
        scalars = [result.type for result in op.results if not is_tensor(result)]
        regions = [op.detach_region(region) for region in list(op.regions)]
        self._replace_scalars(op, scf.IfOp(op.cond, scalars, regions[0], regions[1]))
        return True

    def _replace_scalars(self, op: Operation, new: Operation) -> None:
        """Replaces the non-tensor results of `op` by those of `new`."""
        new.attributes |= op.attributes
        self._insert_all([new], op)
        scalars = [result for result in op.results if not is_tensor(result)]
        for old, result in zip(scalars, new.results, strict=True):
            old.replace_all_uses_with(result)

    def _visit_yield(self, end: scf.YieldOp | YieldOp) -> None:
        """Copies tensors that a region yields to their targets, as if in parallel; only scalars are still yielded."""
        parent = end.parent_op()
        assert parent is not None
        targets = parent.before_region.block.args if isinstance(parent, scf.WhileOp) else parent.results
        tensors = [(value, target) for value, target in zip(end.operands, targets, strict=True) if is_tensor(value)]
        aliases = self._aliases
        moved = [(value, result) for value, result in tensors if self._memory[value] is not self._memory[result]]
        # `yield %b, %a` swaps two tensors. Copying one after the other would overwrite a value that is still needed. So
        # a value whose memory is also written is first copied to separate memory.
        written = {aliases.family(result) for _, result in moved}
        pairs: list[tuple[SSAValue, SSAValue]] = []
        for value, result in moved:
            source = self._memory[value]
            if len(moved) > 1 and aliases.family(value) in written:
                staged = self._allocate(memory_for(value.type), end)
                self._copy(source, staged, end)
                source = staged
            pairs.append((source, self._memory[result]))
        for source, destination in pairs:
            self._copy(source, destination, end)
        self._insert_all([type(end)(*(value for value in end.operands if not is_tensor(value)))], end)

    # --- Memory -------------------------------------------------------------------------------------------------------

    def _written(self, op: Operation, number: int) -> SSAValue:
        """Returns the memory for a result of `op`, initialized with the destination operand if that is read."""
        destination = results_written(op)[number]
        result = op.results[number]
        before = None if destination.operand is None else op.operands[destination.operand]
        if before is not None and self._aliases.is_in_place(op, number):
            return self._memory[before]
        memory = self._buffer(result, op)
        if before is not None and destination.is_read:
            self._copy(self._memory[before], memory, op)
        return memory

    def _buffer(self, value: SSAValue, at: Operation) -> SSAValue:
        """Returns the memory of a value that starts a buffer."""
        insertion = self._placement.in_slices.get(value)
        if insertion is not None:
            root = self._aliases.storage(insertion.dest)
            shape = tensor(insertion.source.type).get_shape()
            return self._named(self._insert(subview(self._memory[root], insertion, shape), at), value)
        argument = self._placement.in_loops.get(value)
        if argument is not None:
            return self._memory[argument]
        number = self._placement.in_results.get(value)
        if number is None:
            return self._named(self._allocate(memory_for(value.type), at), value)
        memory, shape = self._results[number], tensor(value.type).get_shape()
        if memory_of(memory).get_shape() == shape:
            return memory
        return self._insert(ReshapeOp(memory, reshaped_type(memory_of(memory), shape)), at)

    def _allocate(self, type_: MemRefType[Attribute], at: Operation) -> SSAValue:
        # Hoist it before all loops: inside one, it would be allocated again in each iteration, and `kernel-plan-memory`
        # measures lifetimes in top-level operations. Scratch memory of rows stays inside its loops.
        is_by_rows = isinstance(at.parent_op(), RowFusionOp)
        return self._insert(allocation(type_), at if is_by_rows else self._top(at))

    def _copy(self, source: SSAValue, destination: SSAValue, at: Operation) -> None:
        copy = copy_of(source, destination)
        hand_on((at,), copy)
        self._insert_all([copy], at)
        count("copies")

    def _top(self, op: Operation) -> Operation:
        """Returns the top-level operation that is, or contains, `op`."""
        found = self._function.body.block.find_ancestor_op_in_block(op)
        assert found is not None
        return found

    @staticmethod
    def _named(value: SSAValue, like: SSAValue) -> SSAValue:
        value.name_hint = like.name_hint
        return value

    def _insert(self, op: Operation, before: Operation) -> SSAValue:
        self._insert_all([op], before)
        return op.results[0]

    @staticmethod
    def _insert_all(ops: Sequence[Operation], before: Operation) -> None:
        Rewriter.insert_op(ops, InsertPoint.before(before))


def _entries(attributes: ArrayAttr[DictionaryAttr] | None, length: int) -> list[DictionaryAttr]:
    return list(attributes) if attributes else [DictionaryAttr({}) for _ in range(length)]
