"""Kernels in numba's cache: another process loads them, and programs whose kernels have one name stay apart."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from qmlir.targets.cpu.emitters.numba.emit import emit_module
from qmlir.targets.cpu.runtime.program import places_of
from tests.support.emitted import imported, parsed

TEXT = """
func.func private @kernel(%x: memref<4xi32>, %y: memref<4xi32>) {{
  %c0 = arith.constant 0 : index
  %v = simd.load %x[%c0] : memref<4xi32> to vector<4xi32>
  %w = arith.{name} %v, %v : vector<4xi32>
  simd.store %w, %y[%c0] : vector<4xi32>, memref<4xi32>
  func.return
}}
func.func @main(%x: memref<4xi32>, %y: memref<4xi32> {{nn.result}}) {{
  func.call @kernel(%x, %y) : (memref<4xi32>, memref<4xi32>) -> ()
  func.return
}}
"""

SCRIPT = """
import importlib.util, sys
import numpy as np
from qmlir.targets.cpu.runtime.program import places_of
results = []
for place, path in enumerate(sys.argv[2:]):
    spec = importlib.util.spec_from_file_location(f"qmlir.targets.cpu.{sys.argv[1]}{place}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x, y = np.arange(1, 5, dtype=np.int32), np.zeros(4, np.int32)
    module.main(np.zeros(64, np.int8), places_of([]), x, y)
    results += y.tolist()
print(results)
"""


def test_other_processes_and_other_names(tmp_path: Path) -> None:
    paths: list[str] = []
    for name in ("addi", "muli"):
        paths.append(str(tmp_path / f"{name}.py"))
        Path(paths[-1]).write_text(emit_module(parsed(TEXT.format(name=name))))
    said = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, package, *paths], capture_output=True, text=True, check=True
        ).stdout
        for package in ("first", "second")
    ]
    assert said == ["[2, 4, 6, 8, 1, 4, 9, 16]\n"] * 2


def test_same_names_in_one_process(tmp_path: Path) -> None:
    found: list[list[int]] = []
    for name in ("addi", "muli"):
        module = imported(emit_module(parsed(TEXT.format(name=name))), tmp_path)
        x, y = np.arange(1, 5, dtype=np.int32), np.zeros(4, np.int32)
        module.main(np.zeros(64, np.int8), places_of([]), x, y)
        found.append(y.tolist())
    assert found == [[2, 4, 6, 8], [1, 4, 9, 16]]
