"""Kernels that threads divide: the same bits, calls from several threads at once, teams that sleep, forks."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.targets.cpu.package import load_package
from qmlir.targets.cpu.scheduled import schedule
from tests.support.emitted import EMITTERS, divided, parsed, write_emitted
from tests.support.nets import Net

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

SHARED = """
module attributes {kernel.target = #kernel.target<isa = "generic", threads = 2>} {
  func.func private @grid(%x: memref<3x5xi32>, %y: memref<3x5xi32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    "scf.parallel"(%c0, %c3, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%i: index):
      %n = arith.index_cast %i : index to i32
      "scf.parallel"(%c0, %c5, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
      ^bb0(%j: index):
        %v = memref.load %x[%i, %j] : memref<3x5xi32>
        %w = arith.addi %v, %n : i32
        memref.store %w, %y[%i, %j] : memref<3x5xi32>
        scf.reduce
      }) : (index, index, index) -> ()
      scf.reduce
    }) : (index, index, index) -> ()
    %last = memref.load %y[%c2, %c1] : memref<3x5xi32>
    memref.store %last, %y[%c0, %c0] : memref<3x5xi32>
    "scf.parallel"(%c1, %c5, %c2) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %v = memref.load %y[%c0, %c0] : memref<3x5xi32>
      memref.store %v, %y[%c1, %j] : memref<3x5xi32>
      scf.reduce
    }) : (index, index, index) -> ()
    func.return
  }
  func.func @main(%x: memref<3x5xi32> {nn.name = "x"}, %y: memref<3x5xi32> {nn.result, nn.name = "y"}) {
    %t = memref.alloc() : memref<3x5xi32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c4 step %c1 {
      func.call @grid(%x, %t) : (memref<3x5xi32>, memref<3x5xi32>) -> ()
      func.call @grid(%t, %y) : (memref<3x5xi32>, memref<3x5xi32>) -> ()
    }
    func.return
  }
}
"""

AT_ONCE = """
import os, sys, threading
import numpy as np
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
"""

FORKED = """
child = os.fork()
if not child:
    run(1)
    os._exit(1 if wrong else 0)
assert os.waitpid(child, 0)[1] == 0
"""


def _written(folder: Path, name: str, text: str, emitter: str) -> Path:
    (folder / name).mkdir()
    write_emitted(folder / name, divided(parsed(text)), emitter)
    return folder


@pytest.fixture(scope="module", params=EMITTERS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the package `threaded` lies, a program whose kernel is divided."""
    return _written(tmp_path_factory.mktemp("programs"), "threaded", DOUBLED, request.param)


def test_calls_at_once(folder: Path) -> None:
    """Four threads call one program, each with a team; then a process that was forked, whose teams are new."""
    script = AT_ONCE + (FORKED if hasattr(os, "fork") else "")
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr


MORE_THREADS_THAN_CORES = """
import os, sys
import numpy as np
os.sched_getaffinity = lambda process: set(range(4))  # what a team asks
sys.path.insert(0, sys.argv[1])
from grid import program as grid
from threaded import program as doubled
x = np.arange(15, dtype=np.int32).reshape(3, 5)
wanted = grid([x], None)["y"].copy()
for number in range(1000):
    assert (grid([x], None)["y"] == wanted).all()
    assert (doubled([np.full((64, 256), number, np.int32)], None)["y"] == 2 * number).all()
from grid.runtime.team import _teams
(team,) = _teams()[4]
assert len(team._kept) < 1000, "programs are kept that no thread can be in"
"""


@pytest.mark.parametrize("emitters", [("numba", "numba"), ("llvm", "llvm"), ("numba", "llvm")])
def test_more_threads_than_cores(emitters: tuple[str, str], tmp_path: Path) -> None:
    """Four threads share what cores there are: some always come late, and find steps or whole jobs that are over.

    Programs of both emitters share a team.
    """
    for (name, text), emitter in zip((("grid", SHARED), ("threaded", DOUBLED)), emitters, strict=True):
        _written(tmp_path, name, text.replace("threads = 2", "threads = 4"), emitter)
    command = [sys.executable, "-c", MORE_THREADS_THAN_CORES, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr


def test_a_team_that_slept(folder: Path) -> None:
    program: Any = load_package(folder / "threaded", f"threaded_{folder.parent.name}").program
    for number in range(4):
        np.testing.assert_array_equal(program([np.full((64, 256), number, np.int32)], None)["y"], 2 * number)
        time.sleep(0.05)  # far more than a thread waits before it sleeps


@pytest.mark.parametrize("emitter", EMITTERS)
def test_loops_around_each_other_and_what_one_thread_does(emitter: str, tmp_path: Path) -> None:
    """Three by five steps on two threads; a store between them that both must see, and every other step behind it."""
    program: Any = load_package(_written(tmp_path, "grid", SHARED, emitter) / "grid", "grid_program").program
    x = np.arange(15, dtype=np.int32).reshape(3, 5)
    wanted = x
    for _ in range(2):
        wanted = wanted + np.arange(3, dtype=np.int32)[:, None]
        wanted[0, 0] = wanted[2, 1]
        wanted[1, 1::2] = wanted[0, 0]
    for _ in range(200):
        np.testing.assert_array_equal(program([x], None)["y"], wanted)


def test_the_same_bits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A convolution, its pool and a product, however small, on three threads where one has two."""
    monkeypatch.setenv("QMLIR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(schedule, "THREADED_MICROSECONDS", 0)
    monkeypatch.setattr(schedule, "THREADED_ELEMENTS", 0)
    generator = np.random.default_rng(1)
    net = Net()
    image = generator.standard_normal((1, 3, 9, 9), np.float32)
    filters = net.constant(generator.standard_normal((20, 3, 3, 3), np.float32))
    seen = net.node("Relu", net.node("Conv", net.input(image, image.shape), filters))
    pooled = net.node("MaxPool", seen, kernel_shape=[2, 2])
    module = qmlir.quantize(qmlir.load(net.model(pooled)), [image]).module
    program = qmlir.compile(module, threads=3)
    assert list(tmp_path.glob("*/kernels.py"))
    assert "taken(" in next(tmp_path.glob("*/kernels.py")).read_text()
    found, wanted = program([image]), qmlir.interpret(module, [image])
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
