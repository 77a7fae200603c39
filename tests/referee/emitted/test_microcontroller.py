"""Models on emulated boards: the interpreter's integers, in less memory than TensorFlow Lite Micro takes, and without
functions of floats where the processor has none."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import qmlir
from benchmarks.emitted import differing_elements
from benchmarks.microcontroller import COMPILER, EMULATOR, M3, M4, microcontroller_rows, on_board
from tests.support.residual import TILED_SHAPE, residual_network, tiled_network


@pytest.mark.referee
def test_keywords_fit_and_no_integer_differs() -> None:
    if missing := [command for command in (COMPILER, EMULATOR) if shutil.which(command) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    rows = list(microcontroller_rows(Path(), ["ds_cnn"]))
    each = ["flash", "RAM", "stack of that", "instructions of a run", "other integers"]
    assert [row.what for row in rows] == [*each, *each, *each, "functions of floats"]
    assert all(row.verdict in ("met", "") for row in rows)
    own, for_all, _ = (row.figure for row in rows if row.what == "instructions of a run")
    assert own < for_all / 9  # 6.1 and 66.9 million


@pytest.mark.referee
@pytest.mark.parametrize("options", [(), ("-mcpu=cortex-m3", "-mfloat-abi=soft", "-mfpu=auto")])
def test_products_of_pairs_are_those_of_plain_c(options: tuple[str, ...]) -> None:
    """One text for a processor that has them, and for one that has not."""
    if missing := [command for command in (COMPILER, EMULATOR) if shutil.which(command) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    module = residual_network("i8")
    rng = np.random.default_rng(3)
    samples = [[rng.integers(-128, 128, (1, 4, 8, 8)).astype(np.int8)] for _ in range(8)]
    samples[0][0][:] = -128
    wanted = [list(qmlir.interpret(module, sample).values()) for sample in samples]
    board = on_board(module, samples, wanted[0], replace(M4, options=options or M4.options))
    assert differing_elements(board.outputs, wanted)[0] == 0


@pytest.mark.referee
@pytest.mark.parametrize("level", ["-O0", "-Os", "-O3"])
def test_tiles_in_assembly_have_the_integers_of_the_interpreter(level: str) -> None:
    if missing := [command for command in (COMPILER, EMULATOR) if shutil.which(command) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    module = tiled_network()
    rng = np.random.default_rng(5)
    samples = [[rng.integers(-128, 128, TILED_SHAPE).astype(np.int8)] for _ in range(8)]
    samples[0][0][:], samples[1][0][:] = -128, 127
    wanted = [list(qmlir.interpret(module, sample).values()) for sample in samples]
    board = on_board(module, samples, wanted[0], M4, level)
    assert differing_elements(board.outputs, wanted)[0] == 0


@pytest.mark.referee
@pytest.mark.parametrize("accumulator", ["i8", ""])
def test_a_residual_network_has_no_floats_on_a_cortex_m3(accumulator: str) -> None:
    if missing := [command for command in (COMPILER, EMULATOR) if shutil.which(command) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    module = residual_network(accumulator)
    rng = np.random.default_rng(2)
    samples = [[rng.integers(-128, 128, (1, 4, 8, 8)).astype(np.int8)] for _ in range(8)]
    wanted = [list(qmlir.interpret(module, sample).values()) for sample in samples]
    board = on_board(module, samples, wanted[0], M3)
    assert board.of_floats == []
    assert differing_elements(board.outputs, wanted)[0] == 0
    as_before = on_board(module, samples, wanted[0], replace(M3, cpu=""))
    assert "__aeabi_fmul" in as_before.of_floats  # what the same program calls without
    assert differing_elements(as_before.outputs, wanted)[0] == 0
