"""`simd-unroll`: expands operations on register tiles to operations on their registers, for emitters without tiles."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.dialects.simd.base import element_of, is_tile, is_tile_type, lanes_of, tile_of, vector
from qmlir.dialects.simd.lanes import moved_places, register_type, tile_places
from qmlir.dialects.simd.memory import PlaceLoadOp, StoreOp
from qmlir.ir.diagnostics import op_error
from qmlir.ir.effects import is_terminator


class _Unroller:
    """Replaces the tiles of a function by their registers."""

    def __init__(self) -> None:
        self.registers: dict[SSAValue, list[SSAValue]] = {}
        self.dead: list[Operation] = []

    def of(self, value: SSAValue) -> list[SSAValue]:
        """Returns the registers of a tile; any other value by itself."""
        return self.registers.get(value, [value])

    def region_of(self, op: Operation) -> None:
        """Unrolls the regions of `op`, and then erases the operations that were replaced."""
        for block in (block for region in op.regions for block in region.blocks):
            self._block(block)

    def _block(self, block: Block) -> None:
        tiles = [argument for argument in block.args if is_tile(argument)]
        for argument in tiles:
            first = argument.index
            count = prod(tile_of(argument))
            self.registers[argument] = [
                block.insert_arg(register_type(argument), first + 1 + place) for place in range(count)
            ]
        outside, self.dead = self.dead, []
        for op in list(block.ops):
            self._operation(op)
        for op in reversed(self.dead):
            Rewriter.erase_op(op)
        self.dead = outside
        for argument in tiles:
            block.erase_arg(argument)

    def _operation(self, op: Operation) -> None:
        if any(map(is_tile, (*op.operands, *op.results))):
            self._replace(op)
        else:
            self.region_of(op)

    def _replace(self, op: Operation) -> None:
        if op.regions or is_terminator(type(op)):
            self._flatten(op)
            return
        places = moved_places(op)
        if places is not None:
            sources = [register for value in op.operands for register in self.of(value)]
            self._define(op, [sources[place] for place in places])
        elif isinstance(op, PlaceLoadOp | StoreOp):
            self._transfer(op)
        else:
            self._compute(op)
        self.dead.append(op)

    def _define(self, op: Operation, registers: Sequence[SSAValue]) -> None:
        (result,) = op.results
        if is_tile(result):
            self.registers[result] = list(registers)
        else:
            result.replace_all_uses_with(registers[0])

    def _flatten(self, op: Operation) -> None:
        """Passes tiles to and from the regions of `op`, or to its parent, as registers."""
        operands = [register for value in op.operands for register in self.of(value)]
        counts = [prod(tile_of(result)) if is_tile(result) else 1 for result in op.results]
        types = [register_type(result) for result, count in zip(op.results, counts, strict=True) for _ in range(count)]
        regions = [op.detach_region(region) for region in list(op.regions)]
        made = type(op).create(
            operands=operands, result_types=types, properties=dict(op.properties), attributes=dict(op.attributes),
            regions=regions,
        )  # fmt: skip
        Rewriter.insert_op(made, InsertPoint.before(op))
        left = iter(made.results)
        for result, count in zip(op.results, counts, strict=True):
            found = [next(left) for _ in range(count)]
            if is_tile(result):
                self.registers[result] = list(found)
            else:
                result.replace_all_uses_with(found[0])
        self.region_of(made)
        self.dead.append(op)

    def _transfer(self, op: PlaceLoadOp | StoreOp) -> None:
        """Loads or stores each register, at its own index."""
        tile = op.result if isinstance(op, PlaceLoadOp) else op.vector
        *leading, last = op.indices
        loaded: list[SSAValue] = []
        for place, offset in enumerate(op.offsets(tile)):
            index = last
            if offset:
                distance = arith.ConstantOp(IntegerAttr(offset, IndexType()))
                moved = arith.AddiOp(last, distance)
                Rewriter.insert_op([distance, moved], InsertPoint.before(op))
                index = moved.result
            if isinstance(op, StoreOp):
                made = StoreOp(self.of(tile)[place], op.memory, [*leading, index])
            else:
                made = type(op)(op.memory, [*leading, index], vector(lanes_of(tile), element_of(tile)))
                loaded += made.results
            Rewriter.insert_op(made, InsertPoint.before(op))
        if loaded:
            self._define(op, loaded)

    def _compute(self, op: Operation) -> None:
        """Creates the operation for each register of the result; a scalar is repeated only once."""
        (result,) = op.results
        found: dict[int, SSAValue] = {}
        for place in tile_places(tile_of(result)):
            if isinstance(op, BroadcastOp) and found:
                found[place] = next(iter(found.values()))
                continue
            made = type(op).create(
                operands=[self.of(value)[place] if is_tile(value) else value for value in op.operands],
                result_types=[register_type(result)], properties=dict(op.properties), attributes=dict(op.attributes),
            )  # fmt: skip
            Rewriter.insert_op(made, InsertPoint.before(op))
            found[place] = made.results[0]
        self._define(op, [found[place] for place in range(len(found))])


@dataclass(frozen=True)
class SimdUnroll(ModulePass):
    """Expands operations on register tiles, vectors of rank 2 and more, to operations on their registers.

    Loops carry registers instead of tiles. Operations that only move registers disappear.

    Before:

    ```mlir
    func.func @main(%x: memref<64xi32>, %y: memref<64xi32>, %i: index) {
      %0 = simd.load %x[%i] {strides = array<i64: 16>} : memref<64xi32> to vector<2x8xi32>
      %1 = arith.addi %0, %0 : vector<2x8xi32>
      simd.store %1, %y[%i] {strides = array<i64: 8>} : vector<2x8xi32>, memref<64xi32>
      func.return
    }
    ```

    After:

    ```mlir
    func.func @main(%x: memref<64xi32>, %y: memref<64xi32>, %i: index) {
      %0 = simd.load %x[%i] : memref<64xi32> to vector<8xi32>
      %1 = arith.constant 16 : index
      %2 = arith.addi %i, %1 : index
      %3 = simd.load %x[%2] : memref<64xi32> to vector<8xi32>
      %4 = arith.addi %0, %0 : vector<8xi32>
      %5 = arith.addi %3, %3 : vector<8xi32>
      simd.store %4, %y[%i] : vector<8xi32>, memref<64xi32>
      %6 = arith.constant 8 : index
      %7 = arith.addi %i, %6 : index
      simd.store %5, %y[%7] : vector<8xi32>, memref<64xi32>
      func.return
    }
    ```
    """

    name = "simd-unroll"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unroll_tiles(op)


def unroll_tiles(module: ModuleOp) -> ModuleOp:
    """Unrolls the register tiles of all functions of a module, in place; returns the module.

    Raises `DiagnosticError` if a function takes or returns a tile.
    """
    for function in module.walk():
        if isinstance(function, FuncOp):
            inner = [*function.function_type.inputs, *function.function_type.outputs]
            found = next((type_ for type_ in inner if is_tile_type(type_)), None)
            if found is not None:
                raise op_error(function, f"must not take or return register tiles, but its type contains {found}")
    _Unroller().region_of(module)
    return module
