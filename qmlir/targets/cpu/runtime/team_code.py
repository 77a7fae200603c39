"""LLVM IR functions for a team of threads: they claim chunks of loops, and synchronize.

A thread that waits for a word of the team (see `team`) spins briefly, then yields to the operating system: on a busy
machine, the thread it waits for may not be running.
"""

# llvmlite has no type annotations.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import re
import sys
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from . import team
from .entry import made_engine
from .machine_code import compiled, host_machine

OTHERS = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
"""The system function that lets other threads run."""

ALONE, BEGIN, END, FINISHED, TAKEN = "alone", "chunk_begin", "chunk_end", "finished", "taken"
"""The functions that kernels call. All take the team and the thread number, except those that return chunk bounds."""

# Correctness of the protocol. A step is a divided loop, or work for a single thread. AT is the number of steps that
# are complete for a thread, PASSED the number that are complete for all. A thread claims a chunk of a step by adding 1
# to the word TAKEN of the thread that owns the chunk.
#
# Claims: TAKEN holds LIMIT * steps + chunks taken, and only grows. A claim is a compare-and-swap of one word, so that
# two threads never claim the same chunk. Relaxed order is enough, since no other memory depends on the claim itself.
#
# Late threads: once a step is complete, all of its chunks were claimed, and every word that it used is at its end or in
# a later step. A thread with an old AT therefore finds every range taken, claims nothing, and writes nothing.
#
# Visibility: `finished` adds the number of chunks that a thread completed to DONE (sequentially consistent, so also a
# release). The additions form one release sequence. The thread whose addition completes the sum has acquired the writes
# of all others, resets DONE, and publishes PASSED with a release. Waiting threads read PASSED with an acquire: code
# after the barrier sees all writes of the step, and DONE = 0. No thread adds to DONE for the next step before it has
# seen that PASSED.
#
# protocol was model-checked on all interleavings of two threads.
_WORDS = """
define internal ptr @word(ptr %team, i64 %place) alwaysinline nounwind {
  %p = getelementptr i64, ptr %team, i64 %place
  ret ptr %p
}

define internal ptr @own(ptr %team, i64 %number, i64 %place) alwaysinline nounwind {
  %first = mul i64 %number, {EACH}
  %at = add i64 %first, %place
  %p = getelementptr i64, ptr %team, i64 %at
  ret ptr %p
}
"""

_WAITED = """
define internal i64 @waited(ptr %word, i64 %before, i64 %most) noinline nounwind {
entry:
  br label %look
look:
  %looks = phi i64 [ 0, %entry ], [ %next, %on ]
  %now = load atomic i64, ptr %word acquire, align 8
  %changed = icmp ne i64 %now, %before
  %many = icmp uge i64 %looks, %most
  %over = or i1 %changed, %many
  br i1 %over, label %after, label %again
again:
  {REST}
  %long = icmp ugt i64 %looks, {SPINS}
  br i1 %long, label %yield, label %on
yield:
  %ignored = call i32 @{OTHERS}()
  br label %on
on:
  %next = add i64 %looks, 1
  br label %look
after:
  ret i64 %now
}
"""

# TAKEN of a range is LIMIT * steps + chunks taken: a value from an earlier step means that none are taken, a value from
# a later step that all are.
_TAKEN = """
define internal i64 @seen(ptr %team, i64 %number, i64 %owner) alwaysinline nounwind {
  %word = call ptr @own(ptr %team, i64 %owner, i64 {TAKEN})
  %found = load atomic i64, ptr %word monotonic, align 8
  ret i64 %found
}

define internal i64 @none(ptr %team, i64 %number) alwaysinline nounwind {
  %at_word = call ptr @own(ptr %team, i64 %number, i64 {AT})
  %at = load i64, ptr %at_word
  %none = mul i64 %at, {LIMIT}
  ret i64 %none
}

define internal i64 @taken_of(i64 %found, i64 %none) alwaysinline nounwind {
  %taken = sub i64 %found, %none
  %before = icmp slt i64 %taken, 0
  %count = select i1 %before, i64 0, i64 %taken
  ret i64 %count
}

define internal i1 @take(ptr %team, i64 %owner, i64 %found, i64 %none, i64 %taken) alwaysinline nounwind {
  %word = call ptr @own(ptr %team, i64 %owner, i64 {TAKEN})
  %own = add i64 %none, %taken
  %following = add i64 %own, 1
  %pair = cmpxchg ptr %word, i64 %found, i64 %following monotonic monotonic
  %is = extractvalue {{ i64, i1 }} %pair, 1
  ret i1 %is
}

define internal void @note(ptr %team, i64 %number) alwaysinline nounwind {
  %word = call ptr @own(ptr %team, i64 %number, i64 {DID})
  %did = load i64, ptr %word
  %more = add i64 %did, 1
  store i64 %more, ptr %word
  ret void
}

define internal i64 @taken(ptr %team, i64 %number, i64 %before, i64 %chunks) noinline nounwind {
entry:
  %none = call i64 @none(ptr %team, i64 %number)
  %is_first = icmp slt i64 %before, 0
  %last = udiv i64 %before, %chunks
  %first = select i1 %is_first, i64 %number, i64 %last
  br label %look
look:
  %owner = phi i64 [ %first, %entry ], [ %owner, %try ], [ %wrapped, %other ]
  %found = call i64 @seen(ptr %team, i64 %number, i64 %owner)
  %taken = call i64 @taken_of(i64 %found, i64 %none)
  %some = icmp slt i64 %taken, %chunks
  br i1 %some, label %try, label %other
try:
  %is = call i1 @take(ptr %team, i64 %owner, i64 %found, i64 %none, i64 %taken)
  br i1 %is, label %done, label %look
done:
  call void @note(ptr %team, i64 %number)
  %base = mul i64 %owner, %chunks
  %chunk = add i64 %base, %taken
  ret i64 %chunk
other:
  %next = add i64 %owner, 1
  %count_word = call ptr @word(ptr %team, i64 {COUNT})
  %count = load i64, ptr %count_word
  %is_last = icmp eq i64 %next, %count
  %wrapped = select i1 %is_last, i64 0, i64 %next
  %is_over = icmp eq i64 %wrapped, %number
  br i1 %is_over, label %nothing, label %look
nothing:
  ret i64 -1
}
"""

_BOUNDS = """
define internal i64 @chunk_bound(ptr %team, i64 %chunk, i64 %chunks, i64 %steps, i64 %further) alwaysinline nounwind {
  %count_word = call ptr @word(ptr %team, i64 {COUNT})
  %count = load i64, ptr %count_word
  %owner = udiv i64 %chunk, %chunks
  %within = urem i64 %chunk, %chunks
  %place = add i64 %within, %further
  %next = add i64 %owner, 1
  %first_all = mul i64 %owner, %steps
  %first = udiv i64 %first_all, %count
  %last_all = mul i64 %next, %steps
  %last = udiv i64 %last_all, %count
  %all = sub i64 %last, %first
  %left = lshr i64 %all, %place
  %is_end = icmp eq i64 %place, %chunks
  %rest = select i1 %is_end, i64 0, i64 %left
  %bound = sub i64 %last, %rest
  ret i64 %bound
}

define internal i64 @chunk_begin(ptr %team, i64 %chunk, i64 %chunks, i64 %steps) nounwind {
  %bound = call i64 @chunk_bound(ptr %team, i64 %chunk, i64 %chunks, i64 %steps, i64 0)
  ret i64 %bound
}

define internal i64 @chunk_end(ptr %team, i64 %chunk, i64 %chunks, i64 %steps) nounwind {
  %bound = call i64 @chunk_bound(ptr %team, i64 %chunk, i64 %chunks, i64 %steps, i64 1)
  ret i64 %bound
}
"""

_ALONE = """
define internal i1 @alone(ptr %team, i64 %number) noinline nounwind {
entry:
  %is_other = icmp ne i64 %number, 0
  br i1 %is_other, label %wait, label %look
wait:
  %at_word = call ptr @own(ptr %team, i64 %number, i64 {AT})
  %at = load i64, ptr %at_word
  %passed = call ptr @word(ptr %team, i64 {PASSED})
  %ignored = call i64 @waited(ptr %passed, i64 %at, i64 {SPINS})
  br label %look
look:
  %none = call i64 @none(ptr %team, i64 %number)
  %found = call i64 @seen(ptr %team, i64 %number, i64 0)
  %taken = call i64 @taken_of(i64 %found, i64 %none)
  %is_left = icmp eq i64 %taken, 0
  br i1 %is_left, label %try, label %after
try:
  %is = call i1 @take(ptr %team, i64 0, i64 %found, i64 %none, i64 %taken)
  br i1 %is, label %mine, label %after
mine:
  call void @note(ptr %team, i64 %number)
  br label %after
after:
  %did_word = call ptr @own(ptr %team, i64 %number, i64 {DID})
  %did = load i64, ptr %did_word
  %is_alone = icmp ne i64 %did, 0
  ret i1 %is_alone
}
"""

_FINISHED = """
define internal void @finished(ptr %team, i64 %number, i64 %chunks) noinline nounwind {
entry:
  %at_word = call ptr @own(ptr %team, i64 %number, i64 {AT})
  %did_word = call ptr @own(ptr %team, i64 %number, i64 {DID})
  %done_word = call ptr @word(ptr %team, i64 {DONE})
  %passed = call ptr @word(ptr %team, i64 {PASSED})
  %at = load i64, ptr %at_word
  %did = load i64, ptr %did_word
  %following = add i64 %at, 1
  %has_done = icmp ne i64 %did, 0
  br i1 %has_done, label %tell, label %wait
tell:
  store i64 0, ptr %did_word
  %before = atomicrmw add ptr %done_word, i64 %did seq_cst
  %done = add i64 %before, %did
  %count_word = call ptr @word(ptr %team, i64 {COUNT})
  %count = load i64, ptr %count_word
  %each = mul i64 %count, %chunks
  %is_one = icmp eq i64 %chunks, 0
  %all = select i1 %is_one, i64 1, i64 %each
  %is_last = icmp eq i64 %done, %all
  br i1 %is_last, label %pass, label %wait
pass:
  store atomic i64 0, ptr %done_word monotonic, align 8
  store atomic i64 %following, ptr %passed release, align 8
  br label %wait
wait:
  %ignored = call i64 @waited(ptr %passed, i64 %at, i64 -1)
  store i64 %following, ptr %at_word
  ret void
}
"""

# Jobs, with numba's calling convention. `serve` runs jobs as thread `number`, until the team is free and no job has
# come for a while. A job was read consistently if its ticket is unchanged afterwards; it may already be over by then:
# see `team`. `lead` runs a job as the first thread.
_JOBS = """
define i32 @{NAME}_serve({TAKES}, i64 %number) {{
entry:
  %seen_word = call ptr @own(ptr %team, i64 %number, i64 {SEEN})
  %at_word = call ptr @own(ptr %team, i64 %number, i64 {AT})
  %own_steps = call ptr @own(ptr %team, i64 %number, i64 {OWN_STEPS})
  %own_table = call ptr @own(ptr %team, i64 %number, i64 {OWN_TABLE})
  %ticket = call ptr @word(ptr %team, i64 {TICKET})
  %engaged = call ptr @word(ptr %team, i64 {ENGAGED})
  %first_word = call ptr @word(ptr %team, i64 {FIRST})
  %steps_word = call ptr @word(ptr %team, i64 {STEPS})
  %table_word = call ptr @word(ptr %team, i64 {TABLE})
  %last = load i64, ptr %seen_word
  br label %look
look:
  %seen = phi i64 [ %last, %entry ], [ %seen, %idle ], [ %seen, %writing ], [ %now, %job ], [ %now, %run ]
  %now = call i64 @waited(ptr %ticket, i64 %seen, i64 {IDLE})
  %same = icmp eq i64 %now, %seen
  br i1 %same, label %idle, label %changed
idle:
  %wanted = load atomic i64, ptr %engaged monotonic, align 8
  %goes_on = icmp ne i64 %wanted, 0
  br i1 %goes_on, label %look, label %free
changed:
  %odd = and i64 %now, 1
  %is_odd = icmp ne i64 %odd, 0
  br i1 %is_odd, label %writing, label %job
writing:
  %ignored = call i64 @waited(ptr %ticket, i64 %now, i64 {IDLE})
  br label %look
job:
  store i64 %now, ptr %seen_word
  %first = load i64, ptr %first_word
  store i64 %first, ptr %at_word
  %steps = load i64, ptr %steps_word
  store i64 %steps, ptr %own_steps
  %table = load i64, ptr %table_word
  store i64 %table, ptr %own_table
  %still = atomicrmw add ptr %ticket, i64 0 seq_cst
  %is_whole = icmp eq i64 %still, %now
  br i1 %is_whole, label %run, label %look
run:
  %code = inttoptr i64 %steps to ptr
  %data = inttoptr i64 %table to ptr
  %s1 = call i32 %code(ptr %r, ptr %e, {TEAM}, i64 %number, {JOB})
  br label %look
free:
  ret i32 0
}}

define i32 @{NAME}_lead({TAKES}, i64 %steps, i64 %table) {{
  %ticket = call ptr @word(ptr %team, i64 {TICKET})
  %begun = atomicrmw add ptr %ticket, i64 1 seq_cst
  %passed_word = call ptr @word(ptr %team, i64 {PASSED})
  %passed = load i64, ptr %passed_word
  %first_word = call ptr @word(ptr %team, i64 {FIRST})
  store i64 %passed, ptr %first_word
  %at_word = call ptr @word(ptr %team, i64 {AT})
  store i64 %passed, ptr %at_word
  %steps_word = call ptr @word(ptr %team, i64 {STEPS})
  store i64 %steps, ptr %steps_word
  %table_word = call ptr @word(ptr %team, i64 {TABLE})
  store i64 %table, ptr %table_word
  %written = atomicrmw add ptr %ticket, i64 1 seq_cst
  %code = inttoptr i64 %steps to ptr
  %data = inttoptr i64 %table to ptr
  %s1 = call i32 %code(ptr %r, ptr %e, {TEAM}, i64 0, {JOB})
  ret i32 0
}}
"""

_NO_OWNER = "ptr null, ptr null, i64 0, i64 8"
"""The first fields of an array without an owner, in numba's calling convention."""

_NUMBERS = {
    name: getattr(team, name)
    for name in (
        "AT", "COUNT", "DID", "DONE", "EACH", "ENGAGED", "FIRST", "IDLE", "LIMIT", "OWN_STEPS", "OWN_TABLE", "PASSED",
        "SEEN", "SPINS", "STEPS", "TABLE", "TAKEN", "TICKET",
    )
}  # fmt: skip
"""The words and limits of a team that the functions name."""


def team_names() -> list[str]:
    """Returns the names reserved for team functions in a module."""
    own = ["word", "own", "waited", "seen", "none", "taken_of", "take", "note", "chunk_bound", OTHERS]
    return [ALONE, BEGIN, END, FINISHED, TAKEN, *own]


def _rest(triple: str) -> tuple[str, str]:
    """Returns the instruction that tells the core that this thread spins, and its declaration."""
    if triple.startswith(("x86_64", "i686", "i386")):
        return "call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"
    if triple.startswith(("aarch64", "arm64")):
        # `yield` does nothing on most cores; `isb` takes about as long as x86's pause.
        return "call void @llvm.aarch64.isb(i32 15)", "declare void @llvm.aarch64.isb(i32 immarg)"
    return "", ""


def team_functions(name: str, triple: str) -> str:
    """Returns the IR of the team functions, and of `NAME_lead` and `NAME_serve`, which run jobs."""
    rest, declaration = _rest(triple)
    texts: dict[str, object] = {**_NUMBERS, "NAME": name, "REST": rest, "OTHERS": OTHERS}
    texts["TAKES"] = "ptr %r, ptr %e, ptr %a, ptr %b, i64 %n, i64 %s, ptr %team, i64 %h, i64 %t"
    texts |= {"TEAM": f"{_NO_OWNER}, ptr %team, i64 0, i64 8", "JOB": f"{_NO_OWNER}, ptr %data, i64 0, i64 8"}
    parts = [_WORDS, _WAITED, _TAKEN, _BOUNDS, _ALONE, _FINISHED, _JOBS]
    text = "".join(_filled(part, texts) for part in parts)
    return f"{declaration}\ndeclare i32 @{OTHERS}()\n{text}"


PREFIX = "qmlir_team"
LEAD_SYMBOL, SERVE_SYMBOL = f"{PREFIX}_lead", f"{PREFIX}_serve"
"""The functions in `team_object` that run jobs, as the first thread of a team and as another one."""


def shared_symbol(name: str) -> str:
    """Returns the symbol in `team_object` of a function that kernels call."""
    return f"{PREFIX}_{name}"


@cache
def team_object() -> bytes:
    """Compiles the team functions to an object with separate symbols, for kernels of other compilers."""
    machine = host_machine()
    own = "|".join(name for name in team_names() if name != OTHERS)
    text = re.sub(rf"@({own})\b", lambda found: f"@{shared_symbol(found[1])}", team_functions(PREFIX, machine.triple))
    return compiled(text.replace("define internal", "define"), machine)


@cache
def provide_team() -> tuple[int, int]:
    """Makes the team functions available to LLVM by symbol; returns the addresses of `lead` and `serve`."""
    engine = made_engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(team_object()))
    engine.finalize_object()
    _KEPT.append(engine)
    for name in (ALONE, BEGIN, END, FINISHED, TAKEN):
        llvm.add_symbol(shared_symbol(name), engine.get_function_address(shared_symbol(name)))
    return engine.get_function_address(LEAD_SYMBOL), engine.get_function_address(SERVE_SYMBOL)


_KEPT: list[Any] = []
"""Keeps the engines, and so their code, alive."""


def _filled(part: str, texts: dict[str, object]) -> str:
    for name, value in texts.items():
        part = part.replace(f"{{{name}}}", str(value))
    return part.replace("{{", "{").replace("}}", "}")
