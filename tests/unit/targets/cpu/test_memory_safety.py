"""Compiled code stays in its memory: arrays lie at pages that may not be touched, before and behind, constants too.

Each test is a process of its own, which a wrong access ends. The ordinary run has a few cases; `pytest -m sweep` runs
contractions of every instruction set of this machine, and random graphs of quantized operations.
"""

import mmap
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest

from qmlir.dialects.kernel.attributes import ISAS
from qmlir.targets.cpu.host import host_isa, runs_here
from tests.support.guarded import Guards

RUNNABLE = [isa for isa in ISAS if runs_here(isa)]


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


def test_contractions() -> None:
    own = host_isa()
    _stays_inside(*(f"{make}:{seed}:{own}" for seed in range(3) for make in ("convolution", "product")))


def test_what_is_read_in_groups_and_lies_in_a_result() -> None:
    _stays_inside(*(f"in_a_result:{seed}:{host_isa()}" for seed in range(2)))


def test_depthwise_bytes() -> None:
    isas = [isa for isa in ("avx2", host_isa()) if runs_here(isa)]
    _stays_inside(*(f"depthwise:{seed}:{isa}:{1 + seed % 2}" for seed in range(4) for isa in isas))


def test_winograd() -> None:
    _stays_inside(*(f"windows:{seed}:{host_isa()}:{1 + seed}" for seed in range(2)))


def test_threads_have_scratch_of_their_own() -> None:
    _stays_inside(*[f"divided:0:{host_isa()}:2"] * 2)


def test_graphs() -> None:
    _stays_inside(*(f"graph:{seed}:{host_isa()}" for seed in range(2)))


@pytest.mark.sweep
@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("first", range(0, 100, 10))
def test_many_contractions(first: int, isa: str) -> None:
    makes = ("convolution", "product")
    _stays_inside(*(f"{make}:{seed}:{isa}:{1 + seed % 2}" for seed in range(first, first + 10) for make in makes))


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, 100, 10))
def test_many_graphs(first: int) -> None:
    _stays_inside(*(f"graph:{seed}:{host_isa()}" for seed in range(first, first + 10)))
