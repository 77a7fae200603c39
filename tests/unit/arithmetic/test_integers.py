"""What integers of so many bits may be, by hand, and that no other file spells it out."""

import re
from pathlib import Path

import pytest

import qmlir
from qmlir.arithmetic.arrays import integer_limits, wrapped

SPELLED_OUT = re.compile(r"-\(1 << \(?[a-z_.]+ - 1\)|\(0, \(1 << [\w.]+\) - 1\)")


@pytest.mark.parametrize(
    ("bits", "is_signed", "limits"),
    [
        (1, True, (-1, 0)),
        (1, False, (0, 1)),
        (2, True, (-2, 1)),
        (4, True, (-8, 7)),
        (8, True, (-128, 127)),
        (8, False, (0, 255)),
        (32, True, (-2147483648, 2147483647)),
        (64, False, (0, 18446744073709551615)),
    ],
)
def test_limits(bits: int, is_signed: bool, limits: tuple[int, int]) -> None:
    assert integer_limits(bits, is_signed=is_signed) == limits


@pytest.mark.parametrize(
    ("number", "bits", "is_signed", "expected"),
    [
        (15, 4, True, -1),
        (-1, 4, False, 15),
        (128, 8, True, -128),
        (-129, 8, True, 127),
        (256, 8, False, 0),
        (1, 1, True, -1),
        (1 << 63, 64, True, -(2**63)),
        (7, 4, True, 7),
    ],
)
def test_numbers_modulo_a_width(number: int, bits: int, is_signed: bool, expected: int) -> None:
    assert wrapped(number, bits, is_signed=is_signed) == expected


def test_limits_are_spelled_out_once() -> None:
    """But in the runtime of an emitter, which saved programs take along without qmlir."""
    root = Path(qmlir.__file__).parent
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if SPELLED_OUT.search(path.read_text(encoding="utf-8")) and "runtime" not in path.parts
    }
    assert found == {"arithmetic/arrays.py"}
