"""Taking pieces of steps, in every order in which threads may come: each piece once, and no step before its time.

The operations are called one after the other for several threads, as if the system ran one of them at a time.
"""

from ctypes import CFUNCTYPE, c_bool, c_int64, c_void_p
from random import Random
from threading import Thread
from time import monotonic
from typing import Any

import llvmlite.binding as llvm
from hypothesis import given, settings
from hypothesis import strategies as st

from qmlir.dialects.team.ops import MOST_CHUNKS, chunk_bounds
from qmlir.targets.cpu.runtime.team import AT, COUNT, EACH, LIMIT, PASSED, new_words
from qmlir.targets.cpu.runtime.team_code import ALONE, BEGIN, END, FINISHED, TAKEN, provide_team, shared_symbol


def _called(name: str, result: Any, words: Any, *numbers: int) -> Any:
    """Call a function of machine code on the words of a team, and numbers."""
    provide_team()
    kind = CFUNCTYPE(result, c_void_p, *[c_int64] * len(numbers))
    return kind(llvm.address_of_symbol(shared_symbol(name)))(words.ctypes.data, *numbers)


def bounds(team: Any, piece: int, pieces: int, steps: int) -> tuple[int, int]:
    """Where a piece begins and ends."""
    begin, end = (_called(name, c_int64, team, piece, pieces, steps) for name in (BEGIN, END))
    return begin, end


def take(team: Any, number: int, before: int, pieces: int) -> int:
    """The next piece."""
    return _called(TAKEN, c_int64, team, number, before, pieces)


def take_alone(team: Any, number: int) -> bool:
    """Whether the thread does what one does."""
    return _called(ALONE, c_bool, team, number)


def finish(team: Any, number: int, pieces: int) -> None:
    """Wait for the end of the step."""
    _called(FINISHED, None, team, number, pieces)


@given(threads=st.integers(1, 9), pieces=st.integers(1, 6), steps=st.integers(0, 5000))
def test_pieces_are_all_steps(threads: int, pieces: int, steps: int) -> None:
    """Each begins where the one before ends; those of a share get smaller, but for the last one."""
    words, position = new_words(threads), 0
    for owner in range(threads):
        sizes: list[int] = []
        for piece in range(owner * pieces, (owner + 1) * pieces):
            begin, end = bounds(words, piece, pieces, steps)
            assert begin == position
            assert end >= begin
            sizes.append(end - begin)
            position = end
        assert sizes[:-1] == sorted(sizes[:-1], reverse=True)
        assert abs(sum(sizes) - steps / threads) < 1
    assert position == steps


@given(threads=st.integers(1, 9), chunks=st.integers(1, MOST_CHUNKS), steps=st.integers(0, 1 << 40), data=st.data())
def test_bounds_are_those_of_the_dialect(threads: int, chunks: int, steps: int, data: st.DataObject) -> None:
    """Machine code divides a loop as the interpreter does, for every number of chunks that an operation may have."""
    chunk = data.draw(st.integers(0, threads * chunks - 1))
    expected = chunk_bounds(steps, chunks, threads, *divmod(chunk, chunks))
    assert bounds(new_words(threads), chunk, chunks, steps) == expected


def test_the_words_of_a_team_count_all_chunks() -> None:
    assert MOST_CHUNKS == LIMIT - 1


class _Thread:
    """A thread that goes through steps, one operation at a time; `did` has the pieces of each step that are done."""

    def __init__(self, words: Any, number: int, first: int, steps: list[int], did: list[list[int]]) -> None:
        self.words, self.number, self.steps, self.did = words, number, steps, did
        self.step, self.piece = first, -1
        self.waits: Thread | None = None
        words[AT + EACH * number] = first

    @property
    def is_through(self) -> bool:
        return self.step == len(self.steps)

    @property
    def is_able(self) -> bool:
        """Whether there is something to do, and be it to leave a step that is over."""
        return not self.is_through and (self.waits is None or self.words[PASSED] > self.step)

    def go(self) -> None:
        """Do the next operation."""
        pieces = self.steps[self.step]
        if self.waits is not None:
            self.waits.join()
            self.step, self.piece, self.waits = self.step + 1, -1, None
            return
        if pieces:
            self.piece = take(self.words, self.number, self.piece, pieces)
        elif self.piece < 0 and take_alone(self.words, self.number):
            self.piece = 0
        else:
            self.piece = -1
        if self.piece >= 0:
            for before, done in zip(self.steps[: self.step], self.did, strict=False):
                assert len(done) == _count(self.words, before)
            assert self.piece not in self.did[self.step]
            self.did[self.step].append(self.piece)
        if self.piece < 0 or not pieces:
            self.waits = Thread(target=finish, args=(self.words, self.number, pieces), daemon=True)
            self.waits.start()


def _count(words: Any, pieces: int) -> int:
    """How many pieces a step has."""
    return int(words[COUNT]) * pieces or 1


@settings(max_examples=60, deadline=None)
@given(
    threads=st.integers(2, 4),
    steps=st.lists(st.integers(0, 3), min_size=1, max_size=5),
    jobs=st.integers(1, 3),
    seed=st.integers(0, 1000),
)
def test_every_piece_once(threads: int, steps: list[int], jobs: int, seed: int) -> None:
    """Some threads come late, or to a job that is over; the first one gets to its end with those that are there."""
    words, late, chance = new_words(threads), list[_Thread](), Random(seed)
    for job in range(jobs):
        first = job * len(steps)
        did: list[list[int]] = [list(range(_count(words, each))) for each in steps * job] + [[] for _ in steps]
        busy = {each.number for each in late}
        lead = _Thread(words, 0, first, steps * (job + 1), did)
        others = [_Thread(words, number, first, lead.steps, did) for number in range(1, threads) if number not in busy]
        running = [lead, *others, *late]
        while not lead.is_through:
            end = monotonic() + 10
            while not (able := [each for each in running if each.is_able]):
                assert monotonic() < end, "everybody waits"
            chance.choice(able).go()
        assert [sorted(done) for done in did[first:]] == [list(range(_count(words, each))) for each in steps]
        late = [each for each in running[1:] if not each.is_through]
    for each in late:
        while not each.is_through:
            each.go()
    assert words[PASSED] == jobs * len(steps)
