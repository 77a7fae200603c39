"""Work sharing in a team of threads: a region for a single thread, and a range of steps divided among all threads.

All threads of a team run `@main` and the kernels that contain these operations, as in an OpenMP parallel region. A
kernel without these operations runs on one thread.

Each operation ends with a barrier: the code after it starts once all of its work is done, regardless of which threads
did it. A delayed thread may reach an operation after its work is done and its memory has been reused. Outside of these
operations, the threads of a team must therefore neither read nor write memory.
"""

from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr, i64
from xdsl.ir import Operation, Region
from xdsl.irdl import AtLeast, IRDLOperation, irdl_op_definition, opt_prop_def, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

THREADS = "team.threads"
"""The attribute of a function that a team runs: the maximum number of threads, as an `i64`."""

MOST_CHUNKS = 63
"""The maximum number of chunks in the range of a thread: a runtime may count them in 6 bits."""


class TeamOperation(IRDLOperation):
    """An operation that is executed by a team; such operations must not be nested."""

    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def verify_(self) -> None:
        parent: Operation | None = self.parent_op()
        while parent is not None:
            if isinstance(parent, TeamOperation):
                raise VerifyException(
                    f"cannot be nested in '{parent.name}': a single thread cannot divide work among a team"
                )
            parent = parent.parent_op()


@irdl_op_definition
class SingleOp(TeamOperation):
    """Runs the region on one thread: the first to arrive or, with `first`, always the first thread of the team.

    `first` is for custom kernels, which may keep per-thread state.
    """

    name = "team.single"

    first = opt_prop_def(UnitAttr)

    assembly_format = "(`first` $first^)? $body attr-dict"

    def __init__(self, body: Region, *, first: bool = False):
        super().__init__(regions=[body], properties={"first": UnitAttr() if first else None})


@irdl_op_definition
class ChunksOp(TeamOperation):
    """Runs the region for chunks `begin <= step < end` of the steps `0 <= step < steps`, each chunk on one thread.

    Each thread owns an equal range of the steps, which is divided into `chunks` chunks. Each chunk is half of the
    remaining range, except for the last chunk, which is all of it (`chunk_bounds`). A thread that has finished its
    range takes over chunks of other threads.
    """

    name = "team.chunks"

    steps = prop_def(IntegerAttr.constr(value=AtLeast(0), type=i64))
    chunks = prop_def(IntegerAttr.constr(value=AtLeast(1), type=i64))

    def __init__(self, steps: int, chunks: int, body: Region):
        numbers = {"steps": IntegerAttr(steps, i64), "chunks": IntegerAttr(chunks, i64)}
        super().__init__(regions=[body], properties=numbers)

    def verify_(self) -> None:
        super().verify_()
        if [argument.type for argument in self.body.block.args] != [IndexType()] * 2:
            found = ", ".join(str(argument.type) for argument in self.body.block.args) or "none"
            raise VerifyException(f"expected two block arguments of type index (the bounds), but got {found}")
        if self.chunks.value.data > MOST_CHUNKS:
            raise VerifyException(f"chunks per thread must be at most {MOST_CHUNKS}, but got {self.chunks.value.data}")

    @classmethod
    def parse(cls, parser: Parser) -> "ChunksOp":
        with parser.in_parens():
            begin = parser.parse_argument(expect_type=False).resolve(IndexType())
            parser.parse_punctuation(",")
            end = parser.parse_argument(expect_type=False).resolve(IndexType())
        parser.parse_keyword("of")
        steps = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_keyword("in")
        chunks = parser.parse_integer(allow_boolean=False, allow_negative=False)
        op = cls(steps, chunks, parser.parse_region((begin, end)))
        op.attributes = parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_ssa_value)
        printer.print_string(f" of {self.steps.value.data} in {self.chunks.value.data} ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.print_op_attributes(self.attributes)


def chunk_bounds(steps: int, chunks: int, threads: int, owner: int, position: int) -> tuple[int, int]:
    """Returns the bounds `begin <= step < end` of chunk `position` (`0 <= position < chunks`) of thread `owner`."""
    first, last = owner * steps // threads, (owner + 1) * steps // threads

    def bound(position: int) -> int:
        return last if position == chunks else last - ((last - first) >> position)

    return bound(position), bound(position + 1)


def team_threads(function: Operation) -> int | None:
    """Returns the maximum number of threads of a function that a team runs; `None` for any other function."""
    found = function.attributes.get(THREADS)
    return found.value.data if isinstance(found, IntegerAttr) else None
