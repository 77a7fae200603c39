"""Emission of the inner loops of dot products as calls of one function per tile size, which all kernels share.

C compilers keep neither all sums nor the widened bytes of a tile in the 14 registers of a Cortex-M4: at `-O2`, GCC 12
takes 29 instructions for 16 products, at `-Os` 36. The shared function is 20 lines of assembly for 16 products, takes
the same number of instructions at all levels of optimization, and is in flash once.

The loops are recognized, rather than emitted from a separate operation, so that all other formats, the interpreter
and the verifier see plain loops. Loops of any other form are emitted as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from qmlir.dialects.simd import memory as simd_memory
from qmlir.dialects.simd.base import lanes_of
from qmlir.dialects.simd.lanes import DotAccumulateOp
from qmlir.extensions.aot.c.function import CWriter
from qmlir.extensions.aot.c.helpers import DOT_TILES, WORD, dots_name
from qmlir.extensions.aot.c.memory import pointer
from qmlir.extensions.aot.c.registers import takes_words
from qmlir.extensions.aot.c.statements import LANE
from qmlir.ir.control_flow import known_bound
from qmlir.targets.cpu.emitters.control import CONTROL
from qmlir.targets.cpu.emitters.program import SLACK
from qmlir.targets.cpu.emitters.writing import FOLDED, Index, Memory, Text, name_text

_TAP, _STEP = name_text("<tap>"), name_text("<step>")
"""The variables of the two loops, in the indices of the loads. No variable in C has these names."""


@dataclass(frozen=True)
class _Loop:
    """A loop from 0 by 1, and the operations in it."""

    op: scf.ForOp
    count: int

    @property
    def body(self) -> Block:
        return self.op.body.block

    @property
    def carried(self) -> tuple[SSAValue, ...]:
        return self.body.args[1:]

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        end = self.body.last_op
        assert end is not None
        return tuple(end.operands)


def _loop(op: Operation) -> _Loop | None:
    """Returns a loop over a known number of steps that carries registers of a single lane."""
    if not isinstance(op, scf.ForOp) or not op.iter_args or (known_bound(op.lb), known_bound(op.step)) != (0, 1):
        return None
    count = known_bound(op.ub)
    return _Loop(op, count) if count else None


def _nest(op: scf.ForOp) -> tuple[_Loop, _Loop | None] | None:
    """Returns the loop over the steps of a sum, and the loop over taps around it, if `op` is that loop."""
    outer = _loop(op)
    if outer is None:
        return None
    inner = next((each for each in outer.body.ops if isinstance(each, scf.ForOp)), None)
    if inner is None:
        return outer, None
    steps = _loop(inner)
    others = [each for each in outer.body.ops if each is not inner and each is not outer.body.last_op]
    if steps is None or not all(map(_is_index, others)):
        return None
    are_passed = tuple(inner.iter_args) == outer.carried and tuple(inner.results) == outer.yielded
    return (steps, outer) if are_passed else None


def _is_index(op: Operation) -> bool:
    """Returns true for arithmetic on indices, which the places of loads are computed from."""
    is_known = isinstance(op, arith.ConstantOp) or type(op) in FOLDED
    return is_known and isinstance(op.results[0].type, IndexType)


class _Places:
    """The places of loads in the loops, as sums of the values outside and of the variables of the loops."""

    def __init__(self, write: CWriter, steps: _Loop, taps: _Loop | None) -> None:
        self.write = write
        self.known: dict[SSAValue, Index] = {}
        for loop, name in ((steps, _STEP), (taps, _TAP)):
            if loop is not None:
                self.known[loop.body.args[0]] = Index.of(name)
                write.ranges[name.text] = 0, loop.count - 1

    def _index(self, value: SSAValue) -> Index | None:
        if value in self.known:
            return self.known[value]
        if value in self.write.values:
            return self.write.index(value)
        op = value.owner
        if not isinstance(op, Operation) or not _is_index(op):
            return None
        if (number := known_bound(value)) is not None:
            return Index(constant=number)
        operands = [self._index(each) for each in op.operands]
        if any(each is None for each in operands):
            return None
        return FOLDED[type(op)](*(each for each in operands if each is not None))

    def of(self, value: SSAValue) -> tuple[Memory, Index] | None:
        """Returns the memory that four bytes are loaded from, and their position.

        Raises `DiagnosticError` if the loads are known to reach beyond the memory.
        """
        op = value.owner
        if isinstance(op, simd_memory.LoadGroupSplatOp | simd_memory.LoadOp):
            indices = [self._index(each) for each in op.indices]
            found = [each for each in indices if each is not None]
            if len(found) == len(indices):
                memory = self.write.memory(op.operands[0])
                # The check of a load that is emitted alone: its last bytes may be behind the memory.
                inside, loaded = replace(memory, offset=Index()).position(found), lanes_of(op.result)
                elements = loaded if isinstance(op, simd_memory.LoadOp) else 1
                self.write.check_places(op, inside, elements, memory.reach + 1 + SLACK)
                return memory, memory.position(found)
        return None


@dataclass(frozen=True)
class _Run:
    """Loads of which each is `distance` bytes after the one before it, from `first` on."""

    memory: Memory
    first: Index
    distance: int
    step: int
    """By how many bytes the loads move in a step."""

    tap: int
    """By how many bytes the loads move in a tap."""

    @property
    def is_aligned(self) -> bool:
        """True if all loads are of aligned words, if the memory is aligned, as constants and the arena are."""
        return not any(each % WORD for each in (*self.first.terms.values(), self.first.constant, self.step, self.tap))


def _run(places: _Places, values: Sequence[SSAValue]) -> _Run | None:
    """Returns the loads of `values` as one run, or `None` if they are none."""
    found = [places.of(value) for value in values]
    known = [each for each in found if each is not None]
    if len(known) < len(found) or any(each[0].array != known[0][0].array for each in known):
        return None
    distances = [each.plus(known[0][1].times(-1)).number for _, each in known]
    distance = distances[1] if len(distances) > 1 else 0
    if distance is None or distances != [number * distance for number in range(len(known))]:
        return None
    memory, place = known[0]
    terms = dict(place.terms)
    step, tap = terms.pop(_STEP, 0), terms.pop(_TAP, 0)
    if any(name in term.reads for term in terms for name in (_STEP.text, _TAP.text)):
        return None  # an expression of a loop's variable
    return _Run(memory, Index(terms, place.constant), distance, step, tap)


def _dots(loop: _Loop) -> list[DotAccumulateOp] | None:
    """Returns the dot products by which a step adds to the sums, in their order, if it does nothing else."""
    dots = list[DotAccumulateOp]()
    for before, value in zip(loop.carried, loop.yielded, strict=True):
        op = value.owner
        if not isinstance(op, DotAccumulateOp) or not takes_words(op) or op.accumulator is not before:
            return None
        dots.append(op)
    loads = {each.owner for op in dots for each in (op.x, op.w)}
    others = [op for op in loop.body.ops if op not in dots and op not in loads and op is not loop.body.last_op]
    return dots if all(map(_is_index, others)) else None


def _emit(write: CWriter, op: scf.ForOp) -> bool:
    """Emits a nest of loops as a call, if it has the form; else returns false."""
    nest = _nest(op)
    dots = None if nest is None else _dots(nest[0])
    if nest is None or dots is None:
        return False
    steps, taps = nest
    rows, vectors = list(dict.fromkeys(dot.x for dot in dots)), list(dict.fromkeys(dot.w for dot in dots))
    tile = len(rows), len(vectors)
    cells = [rows.index(dot.x) * tile[1] + vectors.index(dot.w) for dot in dots]
    if tile not in DOT_TILES or sorted(cells) != list(range(tile[0] * tile[1])):
        return False
    places = _Places(write, steps, taps)
    x, w = _run(places, rows), _run(places, vectors)
    if x is None or w is None or not w.is_aligned or (w.step, w.distance) != (WORD * tile[1], WORD):
        return False
    has_runs = taps is not None or x.step == WORD
    if has_runs and (x.step != WORD or (taps is not None and w.tap != w.step * steps.count)):
        return False
    name = write.names.new("sums")
    for number, (cell, value) in enumerate(zip(cells, op.iter_args, strict=True)):
        text = write.text(value)
        type_ = "" if number else "int32_t"
        write.lanes(1, text.text, name, type_, reads=text.reads, shift=cell, size=len(cells))
    if not has_runs:
        loops: tuple[int, ...] = (steps.count, x.step - WORD)
    else:
        loops = (1, 0, steps.count) if taps is None else (taps.count, x.tap - x.step * steps.count, steps.count)
    given = (pointer(x.memory, x.first), x.distance, pointer(w.memory, w.first), name, *loops)
    function = write.call(dots_name(*tile, has_runs=has_runs), *given)
    write.line(f"{function};", x.first, w.first, name_text(name))
    for cell, result in zip(cells, op.results, strict=True):
        write.keep(result, Text(f"{name}[{LANE} + {cell}]"), crosses=frozenset({name}))
    return True


def emit_for(write: CWriter, op: scf.ForOp) -> None:
    """Emits a loop, or a call of the shared function if it sums the dot products of a tile."""
    if not _emit(write, op):
        CONTROL[scf.ForOp](write, op)
