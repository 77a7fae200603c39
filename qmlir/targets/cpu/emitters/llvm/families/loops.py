"""Loops in LLVM IR: the blocks of a loop that counts, and the values that it carries from step to step."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from qmlir.targets.cpu.emitters.llvm.function import IRWriter, index_of
from qmlir.targets.cpu.emitters.text import Index
from qmlir.targets.cpu.runtime.semantics.values import I64, IRValue


@dataclass
class Loop:
    """A loop while its body is written."""

    index: Index
    """The variable that counts."""

    carried: list[IRValue]
    """What the body has of the values that are carried; after the loop, what is left of them."""

    yielded: list[IRValue] = field(default_factory=list[IRValue])
    """What the next step has of them: whoever writes the body says it."""


@contextmanager
def counting(
    write: IRWriter, lower: Index, upper: Index, step: Index, initial: Sequence[IRValue] = ()
) -> Generator[Loop]:
    """Inside the `with` block is the body of a loop from `lower` to below `upper`.

    The loop asks in front of each step. LLVM turns it where that is better.
    """
    build = write.build
    start, end, by = write.sum(lower), write.sum(upper), write.sum(step)
    head, body, after = (build.new(name) for name in ("loop", "body", "after"))
    before = build.here
    build.jump(head)
    build.begin(head)
    lines = [build.later() for _ in range(1 + len(initial))]
    counter = IRValue(I64, f"%{build.new('i')}")
    carried = [IRValue(each.type, f"%{build.new('c')}") for each in initial]
    build.branch(build.compare("icmp slt", counter, IRValue(I64, end)), body, after)
    build.begin(body)
    loop = Loop(index_of(counter.text), carried)
    with write.scope(), write.steps(counter.text, lower, upper, step):
        yield loop
        following = build.binary("add nsw", counter, IRValue(I64, by))
        build.jump(head)
        last = build.here
    first = [IRValue(I64, start), *initial]
    rows = zip(lines, [counter, *carried], first, [following, *loop.yielded], strict=True)
    for line, value, begun, goes_on in rows:
        build.fill_phi(line, value, [(begun, before), (goes_on, last)])
    build.begin(after)


@contextmanager
def counted(write: IRWriter, count: int) -> Generator[Index]:
    """Emits a loop of `count` iterations without loop-carried values; yields its variable."""
    with counting(write, Index(), Index(constant=count), Index(constant=1)) as loop:
        yield loop.index
