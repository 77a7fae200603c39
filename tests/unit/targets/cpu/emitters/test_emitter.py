"""Emitters and output formats are rows: one more of each comes from a package, which changes no file of the tree."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir import registry
from qmlir.extensions.aot.ahead import AheadForm
from qmlir.extensions.aot.c.emit import emit_c
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.registry import Contribution
from qmlir.targets.cpu.emitters.card import ProgramCard, WrittenFiles
from qmlir.targets.cpu.emitters.emitter import CodeEmitter
from qmlir.targets.cpu.emitters.ports import EntryPoint
from qmlir.targets.cpu.emitters.program import constants_of
from qmlir.targets.cpu.package import PackageForm, write_package
from qmlir.text.printing import module_text
from tests.support.emitted import parsed

# --- The package, as one file -----------------------------------------------------------------------------------------

INIT = '''"""A program that the interpreter runs."""

from pathlib import Path

import qmlir
from qmlir.text.printing import PrintOptions, Weights, module_text

from .runtime.program import CompiledModule

EMITTER = "interpreted"
LOOPS = qmlir.load(Path(__file__).parent / "kernels.mlir")


class Emitted:
    INPUTS = [("x", "float32", (2, 3), False, 0)]
    OUTPUTS = [("out0", "float32", (2, 3), False, 0)]
    CONSTANTS = []
    ARENA_BYTES = 0

    @staticmethod
    def main(arena, constants, x, y):
        (y[:],) = (each.reshape(-1) for each in qmlir.interpret(LOOPS, [x.reshape(2, 3)]).values())


program = CompiledModule(Emitted, {{}}, package=__name__)
'''


def _write(loops: ModuleOp, folder: Path, batch: Mapping[str, Any] | None, card: ProgramCard | None) -> None:
    form = PackageForm("kernels.mlir", INIT)
    write_package(folder, module_text(loops), constants_of(loops), batch, form, card)


def _listing(entry: EntryPoint) -> WrittenFiles:
    return WrittenFiles({f"{entry.name}.txt": "\n".join(emit_c(entry).files)})


INTERPRETED = CodeEmitter(_write)
NEEDY = CodeEmitter(_write, needs=("no_such_package",))
LISTING = AheadForm("the names of the files in C", "portable", _listing, has_header=False)
CONTRIBUTION = Contribution(
    emitters={"interpreted": f"{__name__}:INTERPRETED", "needy": f"{__name__}:NEEDY"},
    forms={"listing": f"{__name__}:LISTING"},
)

# --- Its tests --------------------------------------------------------------------------------------------------------

MODEL = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.relu %x : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""
X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)


@pytest.fixture(autouse=True)
def contributed() -> Iterator[None]:
    """The package is installed."""
    with registry.plugged([registry.Package("outside", contributions=(CONTRIBUTION,))]):
        yield


def test_one_more_emitter(tmp_path: Path) -> None:
    program = qmlir.compile(parsed(MODEL), codegen="interpreted")
    np.testing.assert_array_equal(program([X])["out0"], np.maximum(X, 0))
    program.save(tmp_path / "saved")
    np.testing.assert_array_equal(qmlir.load_program(tmp_path / "saved")([X])["out0"], np.maximum(X, 0))
    with pytest.raises(DiagnosticError, match="timing kernels requires codegen 'numba'"):
        program.time_kernels([X])


def test_what_an_emitter_needs() -> None:
    with pytest.raises(DiagnosticError, match="codegen 'needy' requires the Python package 'no_such_package'"):
        qmlir.compile(parsed(MODEL), codegen="needy")


def test_one_more_output_format(tmp_path: Path) -> None:
    emitted = qmlir.emit(parsed(MODEL), format="listing", name="relu")
    assert emitted.files["relu.txt"] == "relu.c"
    assert sorted(emitted.files) == ["relu.json", "relu.txt"]
    with pytest.raises(DiagnosticError, match=r"available: c, object, static, shared, wasm, listing"):
        qmlir.emit(parsed(MODEL), format="pdf")
