"""Kernels compiled from their syntax trees, compared to numba's own compiler, and code that they cannot contain."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.emitted import imported

SOURCE = '''
import numpy as np

from .runtime.operations import bits_i32, f32, f64, holds, i1, i32, ieq, kernel, load, reduce_add, select, splat, store

DIGEST = "syntax{by_hand}"
LANES = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32)


@kernel("const int32", "int32", by_hand={by_hand})
def loops(x, y):
    """A docstring."""
    a = i32(1)
    b = i32(-2)
    total = splat(i32(0), 8)
    for i in range(3, 9, 2):
        total = total + load(x, i, 8)
        for j in range(i):
            v = a * load(x, j) - b
            next_a = b
            b = v ^ (a << i32(3)) | b >> i32(2)
            a = next_a & i32(-4)
            total = total + load(LANES, 0, 8)
        for never in range(i, 2):
            a = i32(77)
        store(y, i, a)
        store(y, -i + 9, b)
    store(y, 10, reduce_add(total))
    n = 0
    while n < 3:
        store(y, 11 + n, a + i32(n))
        n = n + 1
    store(y, 14, i32(n))
    steps = i32(0)
    while True:
        last = steps * i32(5)
        goes_on = holds(last < i32(18))
        if not goes_on:
            break
        steps = steps + i32(1)
    store(y, 15, last)


@kernel("const int32", "int32", "value index", by_hand={by_hand})
def branches(x, y, number):
    v = load(x, number)
    if number == 0:
        a = v + i32(1)
        b = v
    elif number == 1 and holds(ieq(v, i32(7))):
        a = v + i32(2)
        b = i32(5)
    else:
        if holds(v > i32(0)):
            a = v
        else:
            a = i32(-1)
        b = v
    if holds(select(v < i32(0), i1(-1), i1(0))):
        store(y, 3, v)
    store(y, 0, a)
    store(y, 1, b)
    store(y, 2, bits_i32(-f32(f64(0.0)) * f32(v) / f32(-0.1)) + bits_i32(f32(0.0)) - bits_i32(f32(-0.0)))
'''


def test_numba_computes_the_same(tmp_path: Path) -> None:
    ours, numba = (imported(SOURCE.format(by_hand=by_hand), tmp_path) for by_hand in (False, True))
    x = np.array([5, 7, -9, 12, 0, 1, 1 << 30, -(1 << 31), 3, 2, 1, 8, 8, 4, 6, 11], np.int32)
    for name, numbers in (("loops", [()]), ("branches", [(0,), (1,), (2,), (3,), (4,), (5,), (7,)])):
        for number in numbers:
            found, expected = np.zeros(20, np.int32), np.zeros(20, np.int32)
            getattr(ours, name)(x, found, *number)
            getattr(numba, name)(x, expected, *number)
            assert expected.any()
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("[load(x, 0) for _ in range(2)]", "cannot contain ListComp"),
        ("store(x, 0)", r"store does not accept \("),
        ("store(x, 0, load(x, 0) + 1)", r"add does not accept \(i32, "),
        ("for i in range(3):\n        break", "cannot leave a loop in two ways"),
    ],
)
def test_what_kernels_cannot_contain(body: str, message: str, tmp_path: Path) -> None:
    head = 'from .runtime.operations import kernel, load, store\n\nDIGEST = "none"\n\n@kernel("int32")\ndef code(x):\n'
    module = imported(f"{head}    {body}\n", tmp_path)
    with pytest.raises(TypeError, match=message):
        module.code(np.zeros(4, np.int32))
