"""Integers divided at the ends of their types: one number at every level, from the operation to compiled code."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.interpreter.run import interpret
from qmlir.targets.cpu.lowering import lowered as loops_of
from tests.support.emitted import compiled_outputs, parsed
from tests.unit.dialects.nn.lower.driver import lowered

BITS = {"i4": 4, "ui8": 8, "i8": 8, "i16": 16, "i32": 32, "ui32": 32, "i64": 64}
LEVELS: dict[str, Callable[[ModuleOp], ModuleOp]] = {
    "kernel": lowered,
    "loops": partial(loops_of, isa="avx512-vnni"),
    "loops of neon": partial(loops_of, isa="neon"),
}


def edges(element: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """All pairs of numbers at the ends and around 0, by a divisor that is not 0."""
    bits, is_unsigned = BITS[element], element.startswith("u")
    low, high = (0, (1 << bits) - 1) if is_unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    numbers = {low, low + 1, high - 1, high, *([0, 1, 2, 3] if is_unsigned else [-3, -2, -1, 0, 1, 2, 3])}
    dtype = np.dtype(f"{'u' if is_unsigned else ''}int{max(bits, 8)}")
    pairs = [(a, b) for a in sorted(numbers) for b in sorted(numbers) if b]
    return np.array([a for a, _ in pairs], dtype), np.array([b for _, b in pairs], dtype)


def wrapped(number: int, element: str) -> int:
    bits = BITS[element]
    number &= (1 << bits) - 1
    return number - (1 << bits) if not element.startswith("u") and number >> (bits - 1) else number


def expected(a: int, b: int, element: str) -> tuple[int, int, int]:
    """The quotient towards zero, C's remainder, and the one that has the sign of the divisor; exact, then wrapped."""
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return wrapped(quotient, element), wrapped(a - quotient * b, element), wrapped(a % b, element)


def division(element: str, a: npt.NDArray[Any], b: npt.NDArray[Any], constant: str) -> ModuleOp:
    """The three operations on `%a` and `%b`, of which `constant` names one that is known, or none."""
    type_ = f"tensor<{a.size}x{element}>"
    given = {"a": a, "b": b}
    arguments = ", ".join(f"%{name}: {type_}" for name in given if name != constant)
    known = f"%{constant} = nn.constant dense<{given[constant].tolist()}> : {type_}" if constant in given else ""
    return parsed(f"""func.func @main({arguments}) -> ({type_}, {type_}, {type_}) {{
      {known}
      %0 = nn.div %a, %b : {type_}
      %1 = nn.mod %a, %b {{fmod = true}} : {type_}
      %2 = nn.mod %a, %b : {type_}
      func.return %0, %1, %2 : {type_}, {type_}, {type_}
    }}""")


@pytest.mark.parametrize("constant", ["none", "a", "b"])
@pytest.mark.parametrize("element", BITS)
def test_all_levels_wrap(element: str, constant: str, tmp_path: Path) -> None:
    a, b = edges(element)
    wanted = [expected(*pair, element) for pair in zip(a.tolist(), b.tolist(), strict=True)]
    module = division(element, a, b, constant)
    inputs = [array for name, array in (("a", a), ("b", b)) if name != constant]

    def hold(found: dict[str, Any], level: str) -> None:
        rows = zip(*(array.tolist() for array in found.values()), strict=True)
        for left, right, row, want in zip(a.tolist(), b.tolist(), rows, wanted, strict=True):
            assert row == want, f"{left} by {right}, {element}, {level}"

    hold(interpret(module, inputs), "nn")
    for level, lower in LEVELS.items():
        hold(interpret(lower(module), inputs), level)
    hold(compiled_outputs(LEVELS["loops"](module), inputs, tmp_path), "compiled")


@pytest.mark.parametrize("divisor", [-1, 1])
def test_one_number(divisor: int, tmp_path: Path) -> None:
    """The smallest integer alone, by a divisor that is written into the body."""
    a, b = np.array([-(1 << 31)], np.int32), np.array([divisor], np.int32)
    module = division("i32", a, b, "b")
    for found in (interpret(module, [a]), compiled_outputs(LEVELS["loops"](module), [a], tmp_path)):
        assert [array.tolist() for array in found.values()] == [[-(1 << 31)], [0], [0]]
