"""Files are written whole or not at all, together; what stood there keeps its mode and its link."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType, f32

from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.printing import PrintOptions, Weights, save_module
from qmlir.text.weights import write_together

SIDECAR = PrintOptions(weights=Weights.SIDECAR)


def _module() -> ModuleOp:
    return ModuleOp([ConstantOp.of(np.arange(1024, dtype=np.float32), TensorType(f32, [1024]))])


def test_none_is_written_where_one_cannot_be(tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.write_text("before")
    with pytest.raises(DiagnosticError, match=r"cannot write '.*/nowhere/second': No such file or directory"):
        write_together((first, "after"), (tmp_path / "nowhere" / "second", "after"))
    assert first.read_text() == "before"
    assert os.listdir(tmp_path) == ["first"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    target, link = tmp_path / "store" / "model", tmp_path / "model"
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    write_together((link, b"after"))
    assert link.is_symlink()
    assert target.read_bytes() == b"after"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert os.listdir(tmp_path / "store") == ["model"]


def test_a_new_file_has_the_mode_that_others_get(tmp_path: Path) -> None:
    plain, written = tmp_path / "plain", tmp_path / "written"
    plain.touch()
    write_together((written, "text"))
    assert written.stat().st_mode == plain.stat().st_mode


def test_weights_go_into_the_text_where_no_file_can_stand_beside_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        save_module(_module(), pipe, SIDECAR)
        assert b'dense<"0x' in os.read(reader, 1 << 16)
    finally:
        os.close(reader)
    assert os.listdir(tmp_path) == ["pipe"]


def test_text_and_weights_need_two_names(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match=r"its weights go into a file of the same name; end it in \.mlir"):
        save_module(_module(), tmp_path / "model.safetensors", SIDECAR)
    assert os.listdir(tmp_path) == []
