"""Programs by the emitter `llvm`: the bits of the interpreter and of numba's, saved, loaded, changed and refused."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.dialects.kernel.attributes import isa_names
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu.compiler import Program
from qmlir.targets.cpu.host import runs_here
from qmlir.targets.cpu.runtime.machine_code import FILE, IR
from qmlir.targets.cpu.scheduled import schedule
from qmlir.text.printing import save_module
from qmlir.tools.qmlir_cli import main
from tests.support.nets import Net
from tests.support.sampled import sampled
from tests.unit.targets.cpu.conftest import perceptron, quantized

HERE = [isa for isa in isa_names() if runs_here(isa)]


def network() -> tuple[ModuleOp, np.ndarray]:
    """Convolutions, one of them by channel, a residual sum, a sigmoid, pools, a product and a softmax, in int8."""
    generator = np.random.default_rng(1)
    net = Net()

    def weights(*shape: int) -> str:
        return net.constant(generator.standard_normal(shape, np.float32) / np.float32(np.sqrt(np.prod(shape[1:]))))

    image = generator.standard_normal((1, 3, 12, 12), np.float32)
    x = net.node("Relu", net.node("Conv", net.input(image, image.shape), weights(16, 3, 3, 3), pads=[1, 1, 1, 1]))
    y = net.node("Clip", net.node("Conv", x, weights(16, 1, 3, 3), group=16, pads=[1, 1, 1, 1]))
    z = net.node("Add", x, net.node("Sigmoid", net.node("Conv", y, weights(16, 16, 1, 1))))
    z = net.node("Conv", net.node("MaxPool", z, kernel_shape=[2, 2], strides=[2, 2]), weights(24, 16, 3, 3))
    z = net.node("Flatten", net.node("GlobalAveragePool", z))
    z = net.node("Softmax", net.node("Gemm", z, weights(7, 24), transB=1))
    return qmlir.quantize(qmlir.load(net.model(z)), [image]).module, image


@pytest.fixture(scope="module")
def net() -> tuple[ModuleOp, np.ndarray]:
    return network()


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, strict=True)


@pytest.mark.parametrize(("isa", "threads"), sampled(HERE, [1, 2], strength=1))
def test_the_integers_of_the_interpreter_and_of_numba(
    isa: str, threads: int, net: tuple[ModuleOp, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, image = net
    if threads > 1:  # however small
        monkeypatch.setattr(schedule, "THREADED_MICROSECONDS", 0)
        monkeypatch.setattr(schedule, "THREADED_ELEMENTS", 0)
    by_llvm = qmlir.compile(module, isa=isa, threads=threads, codegen="llvm")
    assert isinstance(by_llvm, Program)
    assert by_llvm.emitter == "llvm"
    for seed in range(3):
        x = image if not seed else np.random.default_rng(seed).standard_normal(image.shape, np.float32)
        assert_same(by_llvm([x]), qmlir.interpret(module, [x]))
    if isa == HERE[-1]:
        assert_same(by_llvm([image]), qmlir.compile(module, isa=isa, threads=threads)([image]))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small program as a package."""
    folder = tmp_path_factory.mktemp("programs") / "saved"
    qmlir.compile(quantized(2), codegen="llvm").save(folder)
    return folder


ALONE = """
import sys
class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "qmlir", "xdsl", "ml_dtypes", "safetensors"):
            raise ImportError(f"{name} is not needed")
sys.meta_path.insert(0, Refused())
import numpy as np
sys.path.insert(0, sys.argv[1])
from saved import program
print(program([np.load(sys.argv[2])])["Relu1"].tobytes().hex())
"""


@pytest.mark.parametrize("has_machine_code", [True, False])
def test_a_saved_program_needs_numpy_and_llvmlite(
    has_machine_code: bool, saved: Path, image: np.ndarray, tmp_path: Path
) -> None:
    """With its machine code, and where that was made for another processor: then LLVM compiles its text."""
    shutil.copytree(saved, tmp_path / "saved")
    if not has_machine_code:
        (tmp_path / "saved" / FILE).unlink()
    np.save(tmp_path / "image.npy", image)
    command = [sys.executable, "-c", ALONE, str(tmp_path), str(tmp_path / "image.npy")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == qmlir.interpret(quantized(2), [image])["Relu1"].tobytes().hex()


def test_a_saved_program_says_what_made_it(saved: Path, image: np.ndarray) -> None:
    assert 'EMITTER = "llvm"' in (saved / "__init__.py").read_text()
    assert not (saved / "kernels.py").exists()
    assert_same(qmlir.load_program(saved)([image]), qmlir.interpret(quantized(2), [image]))


def test_text_that_was_changed(saved: Path, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "changed")
    path = tmp_path / "changed" / IR
    path.write_text(path.read_text().replace("noinline", "inlinehint"))
    with pytest.raises(DiagnosticError, match=r"kernels\.ll is damaged: it differs from the file written with"):
        qmlir.load_program(tmp_path / "changed")


def test_a_processor_that_lacks_what_it_needs(saved: Path, tmp_path: Path) -> None:
    """The file says so in one line, and LLVM, which would end the process, is not asked."""
    shutil.copytree(saved, tmp_path / "other")
    (tmp_path / "other" / FILE).unlink()
    script = "import sys; sys.path.insert(0, sys.argv[1]); import other"
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic"}
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=environment)
    needs = qmlir.compile(quantized(2), codegen="llvm").isa != "generic"
    assert ("which this one lacks" in done.stderr) == needs
    assert (done.returncode != 0) == needs


def test_any_batch_lengths_and_pickles(image: np.ndarray) -> None:
    """What programs do in Python is the same for both emitters."""
    module = quantized("batch")
    program = qmlir.compile(module, codegen="llvm")
    three = np.concatenate([image, image[:1]])
    for x in (image, three):
        assert_same(program([x]), qmlir.interpret(module, [x]))
    again = pickle.loads(pickle.dumps(program))
    assert again.emitter == "llvm"
    assert_same(again([three]), program([three]))
    longest = qmlir.compile(module, codegen="llvm", max_sizes={"batch": 4})
    assert_same(longest([three]), program([three]))


def test_both_emitters_have_entries_of_their_own(image: np.ndarray) -> None:
    made = [qmlir.compile(quantized(2), codegen=emitter) for emitter in ("numba", "llvm", "llvm")]
    assert len({program._only.folder for program in made}) == 2
    assert_same(made[0]([image]), made[1]([image]))


def test_what_is_refused(image: np.ndarray) -> None:
    with pytest.raises(DiagnosticError, match=r"unknown codegen 'lvm'; did you mean 'llvm'\? \(available: numba, llvm"):
        qmlir.compile(quantized(2), codegen="lvm")
    program = qmlir.compile(quantized(2), codegen="llvm")
    assert isinstance(program, Program)
    with pytest.raises(DiagnosticError, match="timing kernels requires codegen 'numba', but the program uses 'llvm'"):
        program.time_kernels([image])


def test_the_command(tmp_path: Path, image: np.ndarray) -> None:
    save_module(quantized(2), tmp_path / "module.mlir")
    assert main(["compile", str(tmp_path / "module.mlir"), "-o", str(tmp_path / "out"), "--codegen", "llvm"]) == 0
    assert (tmp_path / "out" / IR).is_file()
    assert_same(qmlir.load_program(tmp_path / "out")([image]), qmlir.interpret(quantized(2), [image]))


def test_a_module_for_any_size_in_float(image: np.ndarray) -> None:
    """Sums of floats are in their order: no reassociation, no contraction."""
    module = qmlir.load(perceptron(2).model("Relu1"))
    assert_same(qmlir.compile(module, codegen="llvm")([image]), qmlir.compile(module)([image]))
