"""Contractions by the tiles of every instruction set give the sums computed by hand: interpreted, and compiled."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.kernel.attributes import ScheduleAttr, isa_names
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.packed_ops import PackedOp
from qmlir.dialects.kernel.variants import variant_named, variant_names
from qmlir.dialects.simd.memory import PrefetchOp
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.targets.cpu.host import host_isa
from qmlir.targets.cpu.isa import predicates
from qmlir.text.parsing import parse_module
from tests.support import winograd
from tests.support.contractions import Case, convolution, depthwise, product
from tests.support.emitted import loaded
from tests.support.sampled import sampled

ENVIRONMENT = default_environment()
_LOOPS = "kernel-bufferize,kernel-outline,kernel-plan-memory,convert-kernel-to-loops,team-divide"


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


@pytest.mark.parametrize(("make", "isa", "seed"), sampled([convolution, product], [*isa_names(), ""], range(4)))
def test_interpreted(make: Callable[[int], Case], isa: str, seed: int) -> None:
    case = make(100 * seed + [*isa_names(), ""].index(isa))
    (found,) = interpret(loops(case, isa), case.inputs).values()
    check(found, case)


@pytest.mark.parametrize("make", [convolution, product])
@pytest.mark.parametrize("isa", sorted({host_isa(), "generic"}))
@pytest.mark.parametrize("seed", range(2))
def test_compiled(make: Callable[[int], Case], isa: str, seed: int, tmp_path: Path) -> None:
    case = make(1000 + seed)
    module = loops(case, isa, threads=1 + seed % 2)
    (found,) = loaded(module, tmp_path, ("numba", "llvm")[seed % 2])(case.inputs).values()
    check(found, case)


def _by_winograd(seed: int) -> Case:
    """A convolution that becomes one by Winograd's algorithm."""
    rng = np.random.default_rng(seed)
    return winograd.case(rng.integers(-128, 128, (1, 7, 6, 5)), rng.integers(-128, 128, (4, 3, 3, 5)))


def _hints(seed: int) -> Iterator[ScheduleAttr | None]:
    """No schedule, and two that say something else."""
    rng = np.random.default_rng(seed)
    yield None
    for threads in (False, True):
        rows, block, prefetch = (int(rng.integers(low, high)) for low, high in ((1, 5), (1, 9), (0, 3)))
        yield ScheduleAttr.of(rows=rows, block=block, prefetch=prefetch, threads=threads)


def _packed(case: Case, isa: str, hint: ScheduleAttr | None) -> ModuleOp:
    module = parse_module(ENVIRONMENT.new_context(), case.text)
    algorithm = ",".join(f"kernel-winograd{{always=true algorithm={name}}}" for name in ("f4", "f2"))
    run(module, f'{algorithm},kernel-simplify-rounding,kernel-assign-schedule{{isa="{isa}" threads=2}},kernel-pack')
    (op,) = (op for op in module.walk() if isinstance(op, PackedOp))
    op.schedule = hint
    return module


@pytest.mark.parametrize(
    ("make", "isa", "seed"),
    sampled([convolution, product, depthwise, _by_winograd], ["avx512-vnni", "avx2"], range(2)),
)
def test_no_number_depends_on_the_schedule_of_packed_operands(make: Callable[[int], Case], isa: str, seed: int) -> None:
    """What a variant and its layout are stands on the operation: another schedule, or none, gives the same numbers."""
    case = make(4000 + seed)
    for hint in _hints(seed):
        module = _packed(case, isa, hint)
        (found,) = interpret(module, case.inputs).values()
        check(found, case)
        run(module, f"{_LOOPS}")
        (found,) = interpret(module, case.inputs).values()
        check(found, case)


@pytest.mark.parametrize("make", [convolution, product, depthwise, _by_winograd])
def test_compiled_without_schedules(make: Callable[[int], Case], tmp_path: Path) -> None:
    case = make(4002)
    module = _packed(case, host_isa(), None)
    run(module, f"{_LOOPS},simd-legalize")
    (found,) = loaded(module, tmp_path)(case.inputs).values()
    check(found, case)


@pytest.mark.parametrize("make", [convolution, product])
@pytest.mark.parametrize("isa", ["avx512-vnni", "avx2"])
def test_no_integer_depends_on_the_schedule_before_packing(make: Callable[[int], Case], isa: str) -> None:
    case = make(4003)
    module = parse_module(ENVIRONMENT.new_context(), case.text)
    run(module, f'kernel-assign-schedule{{isa="{isa}"}}')
    for op in module.walk():
        if isinstance(op, ContractionOp):
            op.schedule = None
    run(module, f"kernel-pack,{_LOOPS}")
    (found,) = interpret(module, case.inputs).values()
    check(found, case)


@pytest.mark.parametrize("make", [convolution, product])
@pytest.mark.parametrize("isa", ["avx512-vnni", "avx2"])
@pytest.mark.parametrize("seed", range(4))
def test_weights_asked_for_ahead_change_nothing(make: Callable[[int], Case], isa: str, seed: int) -> None:
    """Every family of loops takes weights ahead of time where its schedule says so."""
    case = make(2000 + seed)
    module = parse_module(ENVIRONMENT.new_context(), case.text)
    run(module, f'kernel-assign-schedule{{isa="{isa}"}}')
    for op in module.walk():
        if isinstance(op, ContractionOp):
            old = op.schedule
            assert old is not None
            numbers = (old.rows, old.vectors, old.lanes, old.k_unroll)
            op.schedule = ScheduleAttr.of(old.variant, *numbers, prefetch=1 + seed % 2)
    run(module, f"kernel-pack,{_LOOPS}")
    assert any(isinstance(op, PrefetchOp) for op in module.walk())
    (found,) = interpret(module, case.inputs).values()
    check(found, case)


PANELS = """
func.func @main(%x: tensor<{positions}x20xi8>, %w: tensor<{channels}x20xi8>) -> tensor<{positions}x{channels}xi32> {{
  %0 = kernel.matmul ins(%x, %w : tensor<{positions}x20xi8>, tensor<{channels}x20xi8>)
      -> tensor<{positions}x{channels}xi32> attributes {{schedule = {schedule}}} {{
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }}
  func.return %0 : tensor<{positions}x{channels}xi32>
}}
"""


@pytest.mark.parametrize(("threads", "prefetch"), [(1, 2), (2, 0)])
@pytest.mark.parametrize(
    ("rows", "block", "positions", "channels"),
    [(2, 4, 11, 40), (2, 4, 12, 32), (2, 6, 6, 32), (1, 4, 6, 240), (4, 1, 9, 32)],
)
def test_panels(
    rows: int, block: int, positions: int, channels: int, threads: int, prefetch: int, tmp_path: Path
) -> None:
    """Panels with a smaller last one, with a smaller last tile, as large as all positions, and smaller than a tile."""
    schedule = ScheduleAttr.of("splat", rows, 1, 16, threads=threads > 1, block=block, prefetch=prefetch)
    text = PANELS.format(positions=positions, channels=channels, schedule=schedule)
    module = parse_module(ENVIRONMENT.new_context(), text)
    run(module, f"kernel-assign-schedule{{threads={threads}}},kernel-pack,{_LOOPS}")
    generator = np.random.default_rng(rows)
    x, w = (generator.integers(-128, 128, (count, 20)).astype(np.int8) for count in (positions, channels))
    expected = x.astype(np.int32) @ w.T.astype(np.int32)
    (found,) = interpret(module, [x, w]).values()
    np.testing.assert_array_equal(found, expected)
    (compiled,) = loaded(module, tmp_path)([x, w]).values()
    np.testing.assert_array_equal(compiled, expected)


@pytest.mark.parametrize("isa", ["avx512-vnni", "avx2-vnni", "neon", "neon-dotprod"])
@pytest.mark.parametrize("seed", range(8))
def test_bytes_that_keep_their_zero_point(isa: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of bytes with zero points on both sides, where the table leaves none of them to pairs for its size."""
    monkeypatch.setattr(predicates, "OFFSET_PRODUCTS", 0)
    case = product(3000 + seed)
    (found,) = interpret(loops(case, isa), case.inputs).values()
    check(found, case)


def test_all_variants_are_chosen() -> None:
    """The cases above go through every variant but Winograd's, of another operation, depthwise dot products, of larger
    windows (`test_interleaved.py`), sums of few steps in 16 bits (`test_i16_accumulation.py`), one row by constants
    (`test_sub_byte.py`), and few rows by matrices that are read in place (`test_unpacked.py`)."""
    chosen = set[str]()
    for seed in range(50):
        for make in (convolution, product):
            for isa in ("avx512-vnni", "avx2", "neon", "neon-dotprod", "portable", "armv7e-m"):
                module = parse_module(ENVIRONMENT.new_context(), make(seed).text)
                run(module, f'kernel-assign-schedule{{isa="{isa}"}}')
                schedules = [op.schedule for op in module.walk() if isinstance(op, ContractionOp)]
                chosen |= {schedule.variant for schedule in schedules if schedule is not None}
    others = {"winograd", "winograd_f4", "winograd_f4_bytes", "depthwise_dot", "i16_bytes"}
    others |= {"s8u4_dot", "s8u2_dot", "s8u1_dot", "s8u4_short", "s8u2_short"}
    others |= {"u8s6_short", "u8s8_short", "u8s8_short2"}
    others |= {"i16_dots", "i16_rows", "i16_shifted_rows", "u16_rows"}
    others |= {name for name in variant_names() if variant_named(name).widens_weights}  # which kernel-pack chooses
    assert chosen == set(variant_names()) - others
