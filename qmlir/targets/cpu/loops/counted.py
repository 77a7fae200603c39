"""Loops from 0 to a number: plain ones, ones that threads may divide, and ones that hand registers on."""

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from qmlir.targets.cpu.loops.affine import Index
from qmlir.targets.cpu.loops.vectors import VectorEmitter


def counted(
    emit: VectorEmitter, count: Index, write: Callable[[VectorEmitter, Index], None], *, threads: bool = False
) -> None:
    """`write` for 0 to below `count`; no loop where that is 1."""
    if count == 1:
        write(emit, 0)
        return
    block = Block(arg_types=[IndexType()])
    bounds = emit.index(0), emit.index(count), emit.index(1)
    inner = emit.at(Builder(InsertPoint.at_end(block)))
    write(inner, block.args[0])
    if threads:
        inner.builder.insert(scf.ReduceOp())
        emit.builder.insert(scf.ParallelOp([bounds[0]], [bounds[1]], [bounds[2]], Region(block)))
    else:
        inner.builder.insert(scf.YieldOp())
        emit.builder.insert(scf.ForOp(*bounds, [], block))


def carried(
    emit: VectorEmitter,
    count: Index,
    registers: Sequence[SSAValue],
    write: Callable[[VectorEmitter, Index, Sequence[SSAValue]], Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    """`write` for 0 to below `count`, each with the registers of the one before; no loop where that is 1."""
    if count == 1:
        return write(emit, 0, registers)
    block = Block(arg_types=[IndexType(), *(register.type for register in registers)])
    inner = emit.at(Builder(InsertPoint.at_end(block)))
    inner.builder.insert(scf.YieldOp(*write(inner, block.args[0], block.args[1:])))
    loop = scf.ForOp(emit.index(0), emit.index(count), emit.index(1), registers, block)
    emit.builder.insert(loop)
    return loop.results
