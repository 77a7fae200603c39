"""What the threads of a team do together: they take the chunks of a loop, and wait until all of them are done.

Who waits for a word of the team (see `team`) spins for a moment, and then lets the system run others: on a busy machine
the one that is waited for may have no core.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir
from numba import types

from ..team import AT, COUNT, DID, DONE, EACH, LIMIT, PASSED, SPINS, TAKEN
from .declare import Emission, declared, operation

# Why the threads agree. A step is a divided loop or the work of one thread. Let AT be the number of steps that are
# over for a thread, PASSED the number that are over for all, and a chunk of a step be claimed by adding 1 to the word
# TAKEN of the thread that owns it.
#
# Claims: TAKEN holds LIMIT * steps + chunks taken, and only grows. A claim is a compare-and-swap of one word, so that
# two threads never claim one chunk; relaxed order is enough, as no other memory hangs on the claim itself.
#
# Late threads: once a step is over, all of its chunks were claimed, and every word that it used lies at its end or in a
# later step. A thread whose AT is old therefore finds every range taken, claims nothing, and writes nothing.
#
# Visibility: `finished` adds what a thread did to DONE (sequentially consistent, so also a release). The additions
# form one release sequence; the thread whose addition makes the sum complete has acquired the writes of all others,
# resets DONE, and publishes PASSED with a release. Waiting reads PASSED with an acquire: what follows the barrier
# sees all writes of the step, and DONE = 0. No thread adds to DONE for the next step before it has seen that PASSED.
#
# Sources: C11 memory model, section 5.1.2.4 (release sequences); work stealing as in Blumofe and Leiserson, 1999. The
# protocol was model-checked on all interleavings of two threads.
_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_whole = partial(ir.Constant, _INT64)


def _is_team(type_: Any) -> bool:
    return isinstance(type_, types.Array) and type_.dtype == types.int64


def _word(emission: Emission, team: Any, place: Any) -> Any:
    number = ir.Constant(_INT64, place) if isinstance(place, int) else place
    return emission.builder.gep(emission.field(emission.operands[0], team, "data"), [number])


def _rest(emission: Emission) -> None:
    """Tell the core that this thread waits."""
    triple = emission.builder.module.triple
    if triple.startswith(("x86_64", "i686", "i386")):
        emission.intrinsic("llvm.x86.sse2.pause", ir.VoidType(), ())
    elif triple.startswith(("aarch64", "arm64")):
        # `yield` does nothing on most cores; this takes about as long as x86's pause.
        emission.intrinsic("llvm.aarch64.isb", ir.VoidType(), (ir.Constant(_INT32, 15),))


def _let_others_run(emission: Emission) -> None:
    name = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
    emission.builder.call(declared(emission.builder.module, name, _INT32, []), [])


def _waited(emission: Emission, pointer: Any, before: Any, most: Any | None) -> Any:
    """What a word is once it is no longer what it was, or after `most` looks."""
    builder = emission.builder
    start = builder.block
    look, again, after = (builder.append_basic_block(name) for name in ("look", "again", "after"))
    builder.branch(look)
    builder.position_at_end(look)
    looks = builder.phi(_INT64)
    looks.add_incoming(ir.Constant(_INT64, 0), start)
    now = builder.load_atomic(pointer, "acquire", 8)
    is_over = builder.icmp_unsigned("!=", now, before)
    if most is not None:
        is_over = builder.or_(is_over, builder.icmp_unsigned(">=", looks, most))
    builder.cbranch(is_over, after, again)
    builder.position_at_end(again)
    _rest(emission)
    with builder.if_then(builder.icmp_unsigned(">", looks, ir.Constant(_INT64, SPINS))):
        _let_others_run(emission)
    looks.add_incoming(builder.add(looks, ir.Constant(_INT64, 1)), builder.block)
    builder.branch(look)
    builder.position_at_end(after)
    return now


def _giving(result: Any) -> Callable[..., Any]:
    """The type of an operation that takes a team and integers."""

    def typed(team: Any, *numbers: Any) -> Any:
        return result if _is_team(team) and all(isinstance(each, types.Integer) for each in numbers) else None

    return typed


def _of_thread(emission: Emission, team: Any, number: Any, place: int) -> Any:
    """A word of a thread."""
    builder = emission.builder
    return _word(emission, team, builder.add(builder.mul(number, _whole(EACH)), _whole(place)))


def _untaken(emission: Emission, team: Any, number: Any, owner: Any) -> tuple[Any, Any, Any, Any]:
    """The word that counts the chunks taken of the range of thread `owner`: place, value, value for none, number taken.

    The word counts from `LIMIT` times the steps that are over on: none are taken where it is from a step before, and
    all where it is from one that follows, as then the step of the thread `number` is over.
    """
    builder = emission.builder
    word = _of_thread(emission, team, owner, TAKEN)
    found = builder.load_atomic(word, "monotonic", 8)
    none = builder.mul(builder.load(_of_thread(emission, team, number, AT)), _whole(LIMIT))
    taken = builder.sub(found, none)
    return word, found, none, builder.select(builder.icmp_signed("<", taken, _whole(0)), _whole(0), taken)


def _take(emission: Emission, seen: tuple[Any, Any, Any, Any]) -> Any:
    """Whether the next chunk is taken by this, and not by another thread since the word was looked at."""
    builder = emission.builder
    word, found, none, taken = seen
    following = builder.add(builder.add(none, taken), _whole(1))
    return builder.extract_value(builder.cmpxchg(word, found, following, "monotonic", "monotonic"), 1)


def _note(emission: Emission, team: Any, number: Any) -> None:
    """Count a chunk that the thread `number` took."""
    builder, did = emission.builder, _of_thread(emission, team, number, DID)
    builder.store(builder.add(builder.load(did), _whole(1)), did)


def _taken(emission: Emission, team: Any, number: Any, before: Any, chunks: Any) -> Any:
    """The next chunk of a loop that is not taken, or -1: of the thread's own range as long as there are some.

    `before` is the chunk that it took last, or -1; it looks on in that range, and then in those of the other threads.
    """
    builder = emission.builder
    is_first = builder.icmp_signed("<", before, _whole(0))
    first = builder.select(is_first, number, builder.udiv(before, chunks))
    start = builder.block
    look, take, done, other, after = (
        builder.append_basic_block(name) for name in ("look", "take", "done", "other", "after")
    )
    builder.branch(look)
    builder.position_at_end(look)
    owner = builder.phi(_INT64)
    owner.add_incoming(first, start)
    seen = _untaken(emission, team, number, owner)
    builder.cbranch(builder.icmp_signed("<", seen[-1], chunks), take, other)
    builder.position_at_end(take)
    builder.cbranch(_take(emission, seen), done, look)
    owner.add_incoming(owner, take)
    builder.position_at_end(done)
    _note(emission, team, number)
    found = builder.add(builder.mul(owner, chunks), seen[-1])
    builder.branch(after)
    builder.position_at_end(other)
    following = builder.add(owner, _whole(1))
    is_last = builder.icmp_unsigned("==", following, builder.load(_word(emission, team, COUNT)))
    following = builder.select(is_last, _whole(0), following)
    owner.add_incoming(following, other)
    builder.cbranch(builder.icmp_unsigned("==", following, number), after, look)
    builder.position_at_end(after)
    result = builder.phi(_INT64)
    result.add_incoming(found, done)
    result.add_incoming(_whole(-1), other)
    return result


def _chunk_bound(emission: Emission, team: Any, chunk: Any, chunks: Any, steps: Any, further: int) -> Any:
    """Where a chunk begins in a loop of so many steps, or the one after it: each is half of what is left of the range,
    and the last one all of it.
    """
    builder = emission.builder
    count = builder.load(_word(emission, team, COUNT))
    owner, place = builder.udiv(chunk, chunks), builder.add(builder.urem(chunk, chunks), _whole(further))
    first, last = (builder.udiv(builder.mul(each, steps), count) for each in (owner, builder.add(owner, _whole(1))))
    left = builder.lshr(builder.sub(last, first), place)
    is_end = builder.icmp_unsigned("==", place, chunks)
    return builder.sub(last, builder.select(is_end, _whole(0), left))


def _alone(emission: Emission, team: Any, number: Any) -> Any:
    """Whether the thread is the one to do what one must do: the first one, or another where it is not there in time."""
    builder = emission.builder
    with builder.if_then(builder.icmp_unsigned("!=", number, _whole(0))):
        at = builder.load(_of_thread(emission, team, number, AT))
        _waited(emission, _word(emission, team, PASSED), at, _whole(SPINS))
    seen = _untaken(emission, team, number, _whole(0))
    with builder.if_then(builder.icmp_signed("==", seen[-1], _whole(0))), builder.if_then(_take(emission, seen)):
        _note(emission, team, number)
    return builder.icmp_signed("!=", builder.load(_of_thread(emission, team, number, DID)), _whole(0))


def _finished(emission: Emission, team: Any, number: Any, chunks: Any) -> Any:
    """The end of a step: all that its chunks did is done. Each thread's range has so many; 0 is one for all threads.

    A thread that took none has nothing to say, so that no thread waits for one that came too late.
    """
    builder = emission.builder
    at_word, did_word = (_of_thread(emission, team, number, place) for place in (AT, DID))
    done_word, passed = _word(emission, team, DONE), _word(emission, team, PASSED)
    at, did = builder.load(at_word), builder.load(did_word)
    following = builder.add(at, _whole(1))
    with builder.if_then(builder.icmp_unsigned("!=", did, _whole(0))):
        builder.store(_whole(0), did_word)
        done = builder.add(builder.atomic_rmw("add", done_word, did, "seq_cst"), did)
        each = builder.mul(builder.load(_word(emission, team, COUNT)), chunks)
        is_one = builder.icmp_unsigned("==", chunks, _whole(0))
        with builder.if_then(builder.icmp_unsigned("==", done, builder.select(is_one, _whole(1), each))):
            builder.store_atomic(_whole(0), done_word, "monotonic", 8)
            builder.store_atomic(following, passed, "release", 8)
    _waited(emission, passed, at, None)
    builder.store(following, at_word)
    return emission.target.get_dummy_value()


def _awaited(emission: Emission, team: Any, word: Any, before: Any, most: Any) -> Any:
    return _waited(emission, _word(emission, team, word), before, most)


def _added(emission: Emission, team: Any, word: Any, number: Any) -> Any:
    """The value of a word after an atomic addition, which is sequentially consistent."""
    builder = emission.builder
    return builder.add(builder.atomic_rmw("add", _word(emission, team, word), number, "seq_cst"), number)


OPERATIONS: dict[str, Any] = {
    "taken": operation("taken", _giving(types.int64), _taken),
    "chunk_begin": operation("chunk_begin", _giving(types.int64), partial(_chunk_bound, further=0)),
    "chunk_end": operation("chunk_end", _giving(types.int64), partial(_chunk_bound, further=1)),
    "alone": operation("alone", _giving(types.boolean), _alone),
    "finished": operation("finished", _giving(types.void), _finished),
    "awaited": operation("awaited", _giving(types.int64), _awaited),
    "added": operation("added", _giving(types.int64), _added),
}
"""Name to operation: `awaited` and `added` are for the threads of a team between jobs, the others for kernels."""
