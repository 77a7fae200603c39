"""The functions of a team in LLVM IR hold to the same rules as those that numba compiles, by the same tests."""

from collections.abc import Generator
from ctypes import CFUNCTYPE, c_bool, c_int64, c_void_p
from typing import Any

import llvmlite.binding as llvm
import pytest

from qmlir.targets.cpu.emitters.llvm.team import team_functions
from qmlir.targets.cpu.host import host_processor
from qmlir.targets.cpu.runtime.ir_code import compiled, host_machine
from tests.unit.targets.cpu.emitters.numba import test_team

_SIGNATURES: dict[str, tuple[str, str, int, Any]] = {
    "take_next": ("i64", "taken", 3, c_int64),
    "take_alone": ("i1", "alone", 1, c_bool),
    "finish": ("void", "finished", 2, None),
    "begin": ("i64", "chunk_begin", 3, c_int64),
    "end": ("i64", "chunk_end", 3, c_int64),
}
"""What is called here: the type, the function of the module, how many numbers it takes, and the type in C."""


def _wrapper(name: str) -> str:
    kind, inner, count, _ = _SIGNATURES[name]
    numbers = "".join(f", i64 %n{place}" for place in range(count))
    call = f"call {kind} @{inner}(ptr %team{numbers})"
    body = f"{call}\n  ret void" if kind == "void" else f"%r = {call}\n  ret {kind} %r"
    return f"define {kind} @{name}(ptr %team{numbers}) {{\n  {body}\n}}"


@pytest.fixture(scope="module")
def functions() -> Generator[dict[str, Any]]:
    text = "\n".join([team_functions("team", host_processor()), *map(_wrapper, _SIGNATURES)])
    code = compiled(text, host_machine())
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), host_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    found: dict[str, Any] = {}
    for name, (_, _, count, result) in _SIGNATURES.items():
        found[name] = CFUNCTYPE(result, c_void_p, *[c_int64] * count)(engine.get_function_address(name))
    yield found
    del engine


@pytest.fixture(autouse=True)
def by_llvm(functions: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' operations are those of the module in LLVM IR."""

    def of(name: str) -> Any:
        return lambda words, *numbers: functions[name](words.ctypes.data, *numbers)

    for name, own in (("take", "take_next"), ("take_alone", "take_alone"), ("finish", "finish")):
        monkeypatch.setattr(test_team, name, of(own))
    monkeypatch.setattr(test_team, "bounds", lambda *given: (of("begin")(*given), of("end")(*given)))


def test_pieces_are_all_steps() -> None:
    test_team.test_pieces_are_all_steps()


def test_bounds_are_those_of_the_dialect() -> None:
    test_team.test_bounds_are_those_of_the_dialect()


def test_every_piece_once() -> None:
    test_team.test_every_piece_once()
