"""Compiled code stays in its memory: arrays lie at pages that may not be touched, before and behind, constants too.

Cases run in a process of their own, which a wrong access ends. The ordinary run has a few, all in one process;
`pytest -m sweep` runs contractions of every instruction set of this machine, and random graphs of quantized operations.
"""

import mmap
import subprocess
import sys
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from qmlir.dialects.kernel.attributes import isa_names
from qmlir.targets.cpu.host import host_isa, runs_here
from tests.support.guarded import Guards

RUNNABLE = [isa for isa in isa_names() if runs_here(isa)]


def _run(script: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, *script], capture_output=True, text=True, check=False, timeout=600)


def _stays_inside(*cases: str) -> None:
    found = _run(["-m", "tests.support.guarded", *cases])
    assert found.returncode == 0, f"status {found.returncode} in {found.stdout.splitlines()[-1:]}\n{found.stderr}"


@pytest.mark.parametrize("at_end", [False, True])
def test_guards_hold_an_array(at_end: bool) -> None:
    source = np.arange(5, dtype=np.int16)
    np.testing.assert_array_equal(Guards(at_end=at_end).array(source, mmap.PROT_READ), source, strict=True)


@pytest.mark.parametrize(
    ("at_end", "access"), [(True, "a.ctypes.data + a.nbytes"), (False, "a.ctypes.data - 1")], ids=["behind", "before"]
)
def test_guards_end_a_process_that_leaves_an_array(at_end: bool, access: str) -> None:
    lines = [
        "import ctypes, mmap, numpy as np",
        "from tests.support.guarded import Guards",
        f"guards = Guards(at_end={at_end})",
        "a = guards.array(np.arange(5, dtype=np.int16), mmap.PROT_READ)",
        "print(ctypes.c_char.from_address(a.ctypes.data).value, flush=True)",
        f"print(ctypes.c_char.from_address({access}).value)",
    ]
    found = _run(["-c", "\n".join(lines)])
    assert found.returncode < 0
    assert len(found.stdout.splitlines()) == 1


def _ordinary_cases() -> Iterator[str]:
    own = host_isa()
    yield from (f"{make}:{seed}:{own}" for seed in range(3) for make in ("convolution", "product"))
    # What is read in groups, and lies in a result.
    yield from (f"in_a_result:{seed}:{own}" for seed in range(2))
    isas = [isa for isa in ("avx2", own) if runs_here(isa)]
    yield from (f"depthwise:{seed}:{isas[seed // 2 % len(isas)]}:{1 + seed % 2}" for seed in range(4))
    yield from (f"windows:{seed}:{own}:{1 + seed}" for seed in range(2))
    # Threads have scratch of their own.
    yield from [f"divided:0:{own}:2"] * 2
    yield from (f"graph:{seed}:{own}" for seed in range(2))


def test_a_few_of_every_kind() -> None:
    """The last one that is printed is the one that fails."""
    _stays_inside(*_ordinary_cases())


@pytest.mark.sweep
@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("first", range(0, 100, 10))
def test_many_contractions(first: int, isa: str) -> None:
    makes = ("convolution", "product", "depthwise")
    _stays_inside(*(f"{make}:{seed}:{isa}:{1 + seed % 2}" for seed in range(first, first + 10) for make in makes))


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, 100, 10))
def test_many_graphs(first: int) -> None:
    _stays_inside(*(f"graph:{seed}:{host_isa()}" for seed in range(first, first + 10)))
