"""Keywords on an emulated Cortex-M4: the interpreter's integers, in less memory than TensorFlow Lite Micro takes."""

import shutil
from pathlib import Path

import pytest

from benchmarks.microcontroller import COMPILER, EMULATOR, microcontroller_rows


@pytest.mark.referee
def test_keywords_fit_and_no_integer_differs() -> None:
    if missing := [command for command in (COMPILER, EMULATOR) if shutil.which(command) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    rows = list(microcontroller_rows(Path(), ["ds_cnn"]))
    assert [row.what for row in rows] == ["flash", "RAM", "stack of that", "other integers"]
    assert all(row.verdict in ("met", "") for row in rows)
