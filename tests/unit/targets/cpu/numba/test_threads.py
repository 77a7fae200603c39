"""Kernels that threads divide: the same bits, calls from several threads at once, in every layer that is here."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import qmlir
from qmlir.passes.scheduled import schedule_table
from qmlir.targets.cpu.lowering import constants_of
from qmlir.targets.cpu.numba.emit import emit_module
from qmlir.targets.cpu.package import load_package, write_package
from tests.support.emitted import parsed
from tests.support.nets import Net

LAYERS = {"omp": "numba.np.ufunc.omppool", "tbb": "numba.np.ufunc.tbbpool", "workqueue": "numba.np.ufunc.workqueue"}

DOUBLED = """
module attributes {kernel.target = #kernel.target<isa = "generic", threads = 2>} {
  func.func private @doubled(%x: memref<64x256xi32>, %y: memref<64x256xi32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    "scf.parallel"(%c0, %c64, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%i: index):
      scf.for %j = %c0 to %c256 step %c1 {
        %v = memref.load %x[%i, %j] : memref<64x256xi32>
        %w = arith.addi %v, %v : i32
        memref.store %w, %y[%i, %j] : memref<64x256xi32>
      }
      scf.reduce
    }) : (index, index, index) -> ()
    func.return
  }
  func.func @main(%x: memref<64x256xi32> {nn.name = "x"}, %y: memref<64x256xi32> {nn.result, nn.name = "y"}) {
    func.call @doubled(%x, %y) : (memref<64x256xi32>, memref<64x256xi32>) -> ()
    func.return
  }
}
"""

AT_ONCE = """
import os, sys, threading
import numpy as np
import numba
sys.path.insert(0, sys.argv[1])
from threaded import program
wrong = []
def run(number):
    x = np.full((64, 256), number, np.int32)
    for _ in range(100):
        if not (program([x], None)["y"] == 2 * number).all():
            wrong.append(number)
threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong
print(numba.threading_layer())
"""

FORKED = """
child = os.fork()
if not child:
    try:
        run(1)
        os._exit(1 if wrong else 0)
    except RuntimeError as error:
        os._exit(0 if "this process was forked" in str(error) else 2)
assert os.waitpid(child, 0)[1] == 0
"""


def _is_here(layer: str) -> bool:
    try:
        import_module(LAYERS[layer])
    except ImportError:
        return False
    return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the package `threaded` lies, a program whose kernel is divided."""
    found = tmp_path_factory.mktemp("programs")
    module = parsed(DOUBLED)
    (found / "threaded").mkdir()
    write_package(found / "threaded", emit_module(module), constants_of(module))
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_calls_at_once(layer: str, folder: Path) -> None:
    """Four threads call one program, then a process that was forked does: no layer may end the process."""
    if not _is_here(layer):
        pytest.skip(f"numba has no {layer} here")
    script = AT_ONCE + (FORKED if hasattr(os, "fork") else "")
    environment = {**os.environ, "NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "2"}
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, f"{layer}\n"), done.stderr


def test_the_count_is_given_back(folder: Path) -> None:
    program: Any = load_package(folder / "threaded", "threaded_program").program
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        np.testing.assert_array_equal(program([np.ones((64, 256), np.int32)], None)["y"], 2)
        assert numba.get_num_threads() == 1
    finally:
        numba.set_num_threads(before)


def test_the_same_bits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A convolution, its pool and a product, however small, on three threads where one has two."""
    monkeypatch.setenv("QMLIR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(schedule_table, "THREADED_MULTIPLY_ADDS", 0)
    monkeypatch.setattr(schedule_table, "THREADED_ELEMENTS", 0)
    generator = np.random.default_rng(1)
    net = Net()
    image = generator.standard_normal((1, 3, 9, 9), np.float32)
    filters = net.constant(generator.standard_normal((20, 3, 3, 3), np.float32))
    seen = net.node("Relu", net.node("Conv", net.input(image, image.shape), filters))
    pooled = net.node("MaxPool", seen, kernel_shape=[2, 2])
    module = qmlir.quantize(qmlir.load(net.model(pooled)), [image])
    program = qmlir.compile(module, threads=3)
    assert list(tmp_path.glob("*/kernels.py"))
    assert "prange" in next(tmp_path.glob("*/kernels.py")).read_text()
    found, wanted = program([image]), qmlir.interpret(module, [image])
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
