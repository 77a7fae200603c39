"""Contractions by the tiles of every instruction set give the sums computed by hand: interpreted, and compiled."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.kernel.attributes import ISAS
from qmlir.dialects.kernel.ops import ContractionOp
from qmlir.dialects.kernel.variants import VARIANTS
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.targets.cpu.host import host_isa
from qmlir.targets.cpu.lowering import constants_of
from qmlir.targets.cpu.numba.emit import emit_module
from qmlir.targets.cpu.package import load_package, write_package
from qmlir.text.parsing import parse_module
from tests.support.contractions import Case, convolution, product

ENVIRONMENT = default_environment()
_LOOPS = "kernel-bufferize,kernel-outline,kernel-plan-memory,convert-kernel-to-loops"
_NAMES: Iterator[int] = count()


def run(module: ModuleOp, passes: str) -> None:
    """Run passes on a module."""
    PassManager(ENVIRONMENT.new_context(), parse_pipeline(passes, ENVIRONMENT.passes)).run(module)


def loops(case: Case, isa: str, threads: int = 1) -> ModuleOp:
    """The loops of a case; what is not packed is loops over scalars."""
    module = parse_module(ENVIRONMENT.new_context(), case.text)
    schedule = f'kernel-assign-schedule{{isa="{isa}" threads={threads}}},kernel-pack,' if isa else ""
    run(module, f"{schedule}{_LOOPS}")
    return module


def check(found: npt.NDArray[Any], case: Case) -> None:
    """Integers are equal; sums of floats lie within 1e-5 of the sum in f64, relative to the magnitude of its terms."""
    assert found.shape == case.expected.shape
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, case.expected, rtol=1e-5, atol=1e-4)
    else:
        np.testing.assert_array_equal(found.astype(np.int64), case.expected)


@pytest.mark.parametrize("make", [convolution, product])
@pytest.mark.parametrize("isa", [*ISAS, ""])
@pytest.mark.parametrize("seed", range(4))
def test_interpreted(make: Callable[[int], Case], isa: str, seed: int) -> None:
    case = make(100 * seed + [*ISAS, ""].index(isa))
    (found,) = interpret(loops(case, isa), case.inputs).values()
    check(found, case)


@pytest.mark.parametrize("make", [convolution, product])
@pytest.mark.parametrize("isa", sorted({host_isa(), "generic"}))
@pytest.mark.parametrize("seed", range(2))
def test_compiled(make: Callable[[int], Case], isa: str, seed: int, tmp_path: Path) -> None:
    case = make(1000 + seed)
    module = loops(case, isa, threads=1 + seed % 2)
    write_package(tmp_path, emit_module(module), constants_of(module))
    package = load_package(tmp_path, f"contraction_{next(_NAMES)}")
    (found,) = package.program(case.inputs).values()
    check(found, case)


def test_all_variants_are_chosen() -> None:
    """The cases above go through every variant of the table but that of scalars, which no schedule names by itself."""
    chosen = set[str]()
    for seed in range(40):
        for make in (convolution, product):
            for isa in ("avx512-vnni", "neon"):
                module = parse_module(ENVIRONMENT.new_context(), make(seed).text)
                run(module, f'kernel-assign-schedule{{isa="{isa}"}}')
                schedules = [op.schedule for op in module.walk() if isinstance(op, ContractionOp)]
                chosen |= {schedule.variant for schedule in schedules if schedule is not None}
    assert chosen == set(VARIANTS) - {"scalar"}
