"""What the threads of a team do together: each takes a share of the steps of a loop, all wait for each other.

Who waits for a word of the team (see `team`) spins for a moment, and then lets the system run others: on a busy machine
the one that is waited for may have no core.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import sys
from typing import Any

from llvmlite import ir
from numba import types

from .declare import Emission, declared, operation
from .team import ARRIVED, COUNT, PASSED

SPINS = 500
"""Looks at a word before the core is given to others; one takes about 20 ns."""

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)


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
        emission.intrinsic("llvm.aarch64.hint", ir.VoidType(), (ir.Constant(_INT32, 1),))


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


def _barrier_type(team: Any) -> Any:
    return types.void if _is_team(team) else None


def _barrier(emission: Emission, team: Any) -> Any:
    """Everybody has done what stands in front of it before anybody does what stands behind it."""
    builder, one = emission.builder, ir.Constant(_INT64, 1)
    arrived, passed = _word(emission, team, ARRIVED), _word(emission, team, PASSED)
    before = builder.load_atomic(passed, "acquire", 8)
    others = builder.atomic_rmw("add", arrived, one, "seq_cst")
    count = builder.load(_word(emission, team, COUNT))
    with builder.if_else(builder.icmp_unsigned("==", builder.add(others, one), count)) as (last, not_last):
        with last:
            builder.store_atomic(ir.Constant(_INT64, 0), arrived, "monotonic", 8)
            builder.store_atomic(builder.add(before, one), passed, "release", 8)
        with not_last:
            _waited(emission, passed, before, None)
    return emission.target.get_dummy_value()


def _share_type(team: Any, number: Any, count: Any) -> Any:
    is_fit = _is_team(team) and isinstance(number, types.Integer) and isinstance(count, types.Integer)
    return types.int64 if is_fit else None


def _share(emission: Emission, team: Any, number: Any, count: Any) -> Any:
    """Where the share of a thread begins among `count` steps, which is where that of the thread before it ends."""
    builder = emission.builder
    return builder.udiv(builder.mul(number, count), builder.load(_word(emission, team, COUNT)))


def _awaited_type(team: Any, word: Any, before: Any, most: Any) -> Any:
    return _share_type(team, word, before) if isinstance(most, types.Integer) else None


def _awaited(emission: Emission, team: Any, word: Any, before: Any, most: Any) -> Any:
    return _waited(emission, _word(emission, team, word), before, most)


def _raised_type(team: Any, word: Any) -> Any:
    return types.int64 if _is_team(team) and isinstance(word, types.Integer) else None


def _raised(emission: Emission, team: Any, word: Any) -> Any:
    return emission.builder.atomic_rmw("add", _word(emission, team, word), ir.Constant(_INT64, 1), "seq_cst")


OPERATIONS: dict[str, Any] = {
    "barrier": operation("barrier", _barrier_type, _barrier),
    "share": operation("share", _share_type, _share),
    "awaited": operation("awaited", _awaited_type, _awaited),
    "raised": operation("raised", _raised_type, _raised),
}
"""Name to operation: `barrier` and `share` for kernels, the others for the threads of a team between jobs."""
