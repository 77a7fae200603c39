"""Depthwise convolutions of bytes, rows of a window in a lane: sums computed by hand, interpreted and compiled."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from qmlir.dialects.kernel.packed_ops import PackedConvOp
from qmlir.interpreter.run import interpret
from qmlir.targets.cpu.host import host_isa, runs_here
from qmlir.targets.cpu.microkernels.interleaved import interleaved_channels, rows_there
from qmlir.text.parsing import parse_module
from tests.support.contractions import Case, depthwise, depthwise_offset
from tests.support.emitted import loaded
from tests.support.sampled import seeds
from tests.unit.targets.cpu.loops.test_contractions import ENVIRONMENT, check, loops, run

_ISAS = ("avx512-vnni", "avx2-vnni")


@pytest.mark.parametrize("seed", seeds(12, 24))
def test_sums(seed: int) -> None:
    """What the packed operation and its loops compute, on each instruction set with dot products of bytes."""
    _check_sums(depthwise(seed), _ISAS[seed % 2], "depthwise_dot")


@pytest.mark.parametrize("make", [depthwise, depthwise_offset])
@pytest.mark.parametrize("seed", range(200, 212))
def test_sums_of_pairs(make: Callable[[int], Case], seed: int) -> None:
    """Without dot products of bytes, and where weights without their zero point are none."""
    _check_sums(make(seed), "avx2" if make is depthwise else ("avx2", "avx2-vnni")[seed % 2], "depthwise_pairs")


def _check_sums(case: Case, isa: str, variant: str) -> None:
    module = parse_module(ENVIRONMENT.new_context(), case.text)
    run(module, f'kernel-simplify-rounding,kernel-assign-schedule{{isa="{isa}"}},kernel-pack')
    (op,) = (op for op in module.walk() if isinstance(op, PackedConvOp))
    assert op.layout.variant.name == variant
    (found,) = interpret(module, case.inputs).values()
    check(found, case)
    run(module, "kernel-bufferize,kernel-outline,kernel-plan-memory,convert-kernel-to-loops,simd-legalize")
    (found,) = interpret(module, case.inputs).values()
    check(found, case)


def _compiled(case: Case, isa: str, threads: int, folder: Path) -> None:
    module = loops(case, isa, threads)
    run(module, "simd-legalize,canonicalize,cse,team-divide")
    (found,) = loaded(module, folder)(case.inputs).values()
    check(found, case)


@pytest.mark.skipif(host_isa() not in _ISAS, reason="this processor has no dot products of bytes")
@pytest.mark.parametrize("seed", range(100, 108))
def test_compiled(seed: int, tmp_path: Path) -> None:
    _compiled(depthwise(seed), host_isa(), 1, tmp_path)


@pytest.mark.skipif(not runs_here("avx2"), reason="this processor has no AVX2")
@pytest.mark.parametrize("make", [depthwise, depthwise_offset])
@pytest.mark.parametrize("seed", range(300, 304))
def test_compiled_in_pairs(make: Callable[[int], Case], seed: int, tmp_path: Path) -> None:
    _compiled(make(seed), "avx2", 1 + seed % 2, tmp_path)


@pytest.mark.skipif(host_isa() not in _ISAS, reason="this processor has no dot products of bytes")
def test_threads_divide_rows(tmp_path: Path) -> None:
    _compiled(depthwise(7, sizes=(96, 93), channels=83, taps=(3, 3)), host_isa(), 2, tmp_path)


def test_interleaving_two_rounds_gives_the_order_of_the_channels() -> None:
    """Four rows that all hold the numbers of their channels: each lane has one of them four times."""
    rows = [np.arange(32).reshape(2, 16)] * 4
    pairs = [np.stack(rows[position : position + 2], axis=-1).reshape(2, 2, 8, 2) for position in (0, 2)]
    lanes = np.concatenate(pairs, axis=-1).reshape(2, 2, 2, 4, 4)  # block, half, half of the half, lane, row
    assert (lanes == lanes[..., :1]).all()
    np.testing.assert_array_equal(interleaved_channels(8, 4), lanes[..., 0].transpose(1, 2, 0, 3).reshape(4, 8))


def test_interleaving_one_round_gives_the_order_of_the_channels() -> None:
    """The same of two rows of 16 bits."""
    row = np.arange(16).reshape(2, 8)
    lanes = np.stack([row, row], axis=-1).reshape(2, 2, 4, 2)  # block, half, lane, row
    assert (lanes == lanes[..., :1]).all()
    np.testing.assert_array_equal(interleaved_channels(8, 2), lanes[..., 0].transpose(1, 0, 2).reshape(2, 8))


def test_rows_there() -> None:
    """A window of three rows over nine, one apart or two, ends where the image does; a fourth one fits over ten."""
    assert rows_there(9, 7, 1, 1) == 3
    assert rows_there(9, 4, 2, 1) == 3
    assert rows_there(10, 4, 2, 1) == 4
    assert rows_there(9, 5, 1, 2) == 3


def test_lanes_come_in_fours() -> None:
    with pytest.raises(ValueError, match=r"lanes must be a multiple of 4 \(blocks of 128 bits\), but got 6"):
        interleaved_channels(6, 4)
