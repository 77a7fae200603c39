"""Another emitter, as a package adds it: a function that reads the same module of loops, and a row of a target."""

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import qmlir.targets.cpu.target
from qmlir import registry
from qmlir.dialects.kernel.attributes import READ_ONLY
from qmlir.dialects.team.ops import ChunksOp, SingleOp, team_threads
from qmlir.target import find_target
from qmlir.targets.lowering import emit_for
from tests.support.emitted import divided, parsed

LOOPS = """
module attributes {kernel.target = #kernel.target<isa = "generic", threads = 2>} {
  func.func private @first(%x: memref<4xi32>, %y: memref<64xi32>) {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<4xi32>
    memref.store %v, %y[%c0] : memref<64xi32>
    func.return
  }
  func.func private @all(%y: memref<64xi32>, %z: memref<64xi32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    "scf.parallel"(%c0, %c64, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%i: index):
      %v = memref.load %y[%i] : memref<64xi32>
      memref.store %v, %z[%i] : memref<64xi32>
      scf.reduce
    }) : (index, index, index) -> ()
    func.return
  }
  func.func @main(%x: memref<4xi32> {nn.name = "x"}, %y: memref<64xi32> {nn.result, nn.name = "y"},
                  %z: memref<64xi32> {nn.result, nn.name = "z"}) {
    func.call @first(%x, %y) : (memref<4xi32>, memref<64xi32>) -> ()
    func.call @all(%y, %z) : (memref<64xi32>, memref<64xi32>) -> ()
    func.return
  }
}
"""

OUTLINE = """\
void first(const int32_t *, int32_t *);
void all(const int32_t *, int32_t *); // 64 steps in 5 chunks
void main(int32_t *, int32_t *, int32_t *); // on 2 threads; one alone
"""


def outline(module: ModuleOp) -> str:
    """The declarations of a module of loops in C, and what its threads do: all of it stands in the IR."""
    lines: list[str] = []
    for function in module.ops:
        assert isinstance(function, FuncOp)
        entries = function.arg_attrs.data if function.arg_attrs is not None else ()
        is_constant = [READ_ONLY in entry.data for entry in entries] or [False] * len(function.body.block.args)
        arguments = ", ".join("const int32_t *" if each else "int32_t *" for each in is_constant)
        notes = [f"on {threads} threads"] if (threads := team_threads(function)) else []
        for op in function.walk():
            match op:
                case ChunksOp():
                    notes.append(f"{op.steps.value.data} steps in {op.chunks.value.data} chunks")
                case SingleOp():
                    notes.append("one alone")
                case _:
                    pass
        lines.append(f"void {function.sym_name.data}({arguments});{' // ' if notes else ''}{'; '.join(notes)}\n")
    return "".join(lines)


TARGET = replace(qmlir.targets.cpu.target.TARGET, name="outline", emit=f"{__name__}:outline", suffix=".h", execute="")


def test_one_more_emitter_is_a_function_and_a_row() -> None:
    rows = registry.Contribution(targets={"outline": f"{__name__}:TARGET"})
    with registry.plugged([registry.Package("added", "1.0", contributions=(rows,))]):
        assert emit_for(find_target("outline"), divided(parsed(LOOPS))) == OUTLINE
