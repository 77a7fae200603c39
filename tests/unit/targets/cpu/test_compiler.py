"""Compiling: instruction sets, open sizes, inputs that set shapes, the cache in use, and programs on disk."""

import errno
import gc
import inspect
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import warnings
import weakref
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, ModuleOp

import qmlir
from qmlir.dialects.kernel.attributes import isa_names
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.compiling import compile, load_program
from qmlir.targets.cpu import cache, compiler
from qmlir.targets.cpu.batch_tiling import OpenBatch
from qmlir.targets.cpu.compiler import Program, program_key
from qmlir.targets.cpu.host import host_isa
from qmlir.text.writing import LIST
from tests.support.nets import Net
from tests.unit.targets.cpu.conftest import quantized


def test_what_it_computes(program: Program, module: ModuleOp, image: np.ndarray) -> None:
    np.testing.assert_array_equal(program([image])["Relu1"], qmlir.interpret(module, [image])["Relu1"], strict=True)


def test_the_facade() -> None:
    """It has the options of the compiler, with the same defaults."""
    facade, behind = (inspect.signature(each).parameters.values() for each in (qmlir.compile, compile))
    assert [(each.name, each.kind, each.default) for each in facade] == [
        (each.name, each.kind, each.default) for each in behind
    ]
    assert qmlir.load_program is load_program


def test_unknown_instruction_set(module: ModuleOp) -> None:
    known = f"(available: host, {', '.join(isa_names())})"
    with pytest.raises(DiagnosticError) as caught:
        qmlir.compile(module, isa="avx-2")
    assert str(caught.value) == f"error: unknown instruction set 'avx-2'; did you mean 'avx2'? {known}"


def test_instruction_set_that_the_processor_lacks(module: ModuleOp) -> None:
    lacking = "neon" if host_isa() != "neon" else "avx2"
    with pytest.raises(DiagnosticError, match=f"this CPU does not support {lacking}; it supports {host_isa()}"):
        qmlir.compile(module, isa=lacking)


def test_threads_are_positive(module: ModuleOp) -> None:
    with pytest.raises(DiagnosticError, match=r"^error: threads must be at least 1, but got 0"):
        qmlir.compile(module, threads=0)


def test_unknown_function(module: ModuleOp) -> None:
    with pytest.raises(DiagnosticError, match=r"unknown function 'other' \(available: main\)"):
        qmlir.compile(module, function="other")


def test_generic_computes_the_same(program: Program, module: ModuleOp, image: np.ndarray) -> None:
    found = qmlir.compile(module, isa="generic")([image])
    np.testing.assert_array_equal(found["Relu1"], program([image])["Relu1"], strict=True)


@pytest.fixture(scope="session")
def of_any_batch() -> tuple[ModuleOp, Program]:
    """A layer whose batch size is open."""
    found = quantized("batch")
    return found, qmlir.compile(found)


@pytest.mark.parametrize("batch", [1, 3, 0])
def test_open_sizes(of_any_batch: tuple[ModuleOp, Program], batch: int) -> None:
    module, program = of_any_batch
    images = np.random.default_rng(6).standard_normal((batch, 6)).astype(np.float32)
    wanted = qmlir.interpret(module, [images])["Relu1"]
    np.testing.assert_array_equal(program({"x0": images})["Relu1"], wanted, strict=True)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((2, 5), np.float32), "input 'x0' must have shape ?x6, but got 2x5"),
        (
            np.zeros(6, np.float32),
            "input 'x0' must have shape ?x6, but got 6; help: pass x0[np.newaxis] for one sample",
        ),
        (np.zeros((2, 6)), "input 'x0' must be float32, but got float64; help: pass x0.astype(np.float32)"),
    ],
)
def test_open_sizes_are_checked_before_compiling(
    of_any_batch: tuple[ModuleOp, Program], image: np.ndarray, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr(compiler, "compiled_entry", never)
    with pytest.raises(ValueError, match="input") as caught:
        of_any_batch[1]([image])
    assert str(caught.value) == message


def test_threads_that_bring_a_new_shape(of_any_batch: tuple[ModuleOp, Program]) -> None:
    """The first one compiles, the others wait for it."""
    module, program = of_any_batch
    images = np.random.default_rng(7).standard_normal((2, 6)).astype(np.float32)
    wanted = qmlir.interpret(module, [images])["Relu1"]
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(program([images])["Relu1"])) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    for each in found:
        np.testing.assert_array_equal(each, wanted)


def test_only_the_shapes_that_were_used_last_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is dropped leaves the process, and comes back from the disk cache with the same numbers."""
    monkeypatch.setattr(compiler, "MOST_SPECIALIZATIONS", 2)
    module = quantized("batch")
    monkeypatch.setattr(OpenBatch, "chunks", lambda _, shapes: [shapes])  # as for a size that is no batch
    program = qmlir.compile(module)
    built: list[int] = []
    entry = compiler.compiled_entry
    alive: dict[int, weakref.ref[Any]] = {}

    def counted(specialized: ModuleOp, *rest: Any, **options: Any) -> tuple[Path, Any]:
        found = entry(specialized, *rest, **options)
        batch = found[1].inputs[0].shape[0]
        built.append(batch)
        alive[batch] = weakref.ref(found[1])
        return found

    monkeypatch.setattr(compiler, "compiled_entry", counted)
    for batch in (11, 12, 11, 13, 11, 12):  # 12 is the longest unused one when 13 comes
        images = np.random.default_rng(batch).standard_normal((batch, 6)).astype(np.float32)
        wanted = qmlir.interpret(module, [images])["Relu1"]
        np.testing.assert_array_equal(program([images])["Relu1"], wanted)
    assert built == [11, 12, 13, 12]
    gc.collect()
    assert [batch for batch, found in alive.items() if found() is None] == [13]


def test_a_program_with_open_sizes_is_not_saved(tmp_path: Path) -> None:
    program = qmlir.compile(qmlir.load(Path(__file__).parents[1] / "models" / "reversed.mlir"))
    with pytest.raises(DiagnosticError, match="cannot save a program with dynamic dimensions: 'nn"):
        program.save(tmp_path / "saved")


def test_inputs_that_set_shapes() -> None:
    net = Net()
    data, shape = net.input(np.arange(6, dtype=np.int32)), net.input(np.array([2, 3]))
    program = qmlir.compile(qmlir.load(net.model(net.node("Reshape", data, shape))))
    values = np.arange(6, dtype=np.int32)
    for sizes in ([2, 3], [3, -1], [6, 1]):
        found = program([values, np.array(sizes)])["Reshape0"]
        np.testing.assert_array_equal(found, values.reshape(sizes), strict=True)


def test_types_of_callers() -> None:
    """Unsigned integers and Booleans come and go as such."""
    net = Net()
    a, b = net.input(np.array([250, 3, 0], np.uint8)), net.input(np.array([3, 250, 0], np.uint8))
    outputs = [net.node("Max", a, b), net.node("Less", a, b)]
    program = qmlir.compile(qmlir.load(net.model(*outputs)))
    found = program(net.feeds)
    np.testing.assert_array_equal(found[outputs[0]], np.array([250, 250, 0], np.uint8), strict=True)
    np.testing.assert_array_equal(found[outputs[1]], np.array([False, True, False]), strict=True)


# The cache in use


def test_a_second_program_comes_from_the_cache(
    program: Program, module: ModuleOp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("built")

    monkeypatch.setattr(compiler, "_build", never)
    assert qmlir.compile(module)._only is not None  # pyright: ignore[reportPrivateUsage]


def test_another_weight_is_another_program(module: ModuleOp) -> None:
    other = quantized(2)
    constant = next(op for op in other.walk() if op.name == "nn.constant")
    keys = {program_key(each, "generic", 1) for each in (module, other)}
    assert len(keys) == 1
    assert isinstance(constant, ConstantOp)
    weights = constant.value
    assert isinstance(weights, DenseIntOrFPElementsAttr)
    changed = bytes([weights.data.data[0] ^ 1]) + weights.data.data[1:]
    constant.value = DenseIntOrFPElementsAttr(weights.type, BytesAttr(changed))
    assert program_key(other, "generic", 1) not in keys
    assert program_key(module, "generic", 2) not in keys
    assert program_key(module, "avx2", 1) not in keys


def test_a_cache_that_cannot_be_written(
    module: ModuleOp, image: np.ndarray, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told once, and the program is right."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        other = qmlir.compile(module)
    np.testing.assert_array_equal(other([image])["Relu1"], program([image])["Relu1"], strict=True)


def _compile_and_save(module: ModuleOp, image: np.ndarray, target: Path) -> None:
    np.save(target, qmlir.compile(module)([image])["Relu1"])


def test_processes_that_compile_the_same(
    module: ModuleOp, image: np.ndarray, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two at once, with an empty cache; then the code of a kernel is damaged, and a third builds the entry anew."""
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(import_module("numba").config, "CACHE_DIR", str(tmp_path / "elsewhere"))
    context = multiprocessing.get_context("fork")

    def run(*numbers: int) -> None:
        targets = [tmp_path / f"{number}.npy" for number in numbers]
        running = [context.Process(target=_compile_and_save, args=(module, image, target)) for target in targets]
        for process in running:
            process.start()
        for process, target in zip(running, targets, strict=True):
            process.join()
            np.testing.assert_array_equal(np.load(target), program([image])["Relu1"], strict=True)

    run(0, 1)
    (entry,) = (tmp_path / "cache").iterdir()
    assert cache.is_intact(entry)
    codes = sorted(entry.rglob("*.nbc"))
    assert codes, "the code of kernels lies in the entry, wherever the user lets numba keep it"
    codes[0].write_bytes(codes[0].read_bytes()[:100])
    run(2)
    assert cache.is_intact(entry)


# On disk


@pytest.fixture(scope="session")
def saved(program: Program, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The layer as a package."""
    folder = tmp_path_factory.mktemp("programs") / "saved_layer"
    program.save(folder)
    return folder


def test_a_saved_program(saved: Path, program: Program, image: np.ndarray) -> None:
    loaded = qmlir.load_program(saved)
    assert type(loaded).__name__ in qmlir.load_program.__annotations__["return"].split(" | ")
    found = loaded([image])
    np.testing.assert_array_equal(found["Relu1"], program([image])["Relu1"], strict=True)


def test_a_saved_program_is_no_secret(saved: Path) -> None:
    mask = os.umask(0o077)
    os.umask(mask)
    assert saved.stat().st_mode & 0o777 == 0o777 & ~mask
    assert sorted(path.name for path in saved.iterdir() if path.name != "__pycache__") == [
        LIST, "__init__.py", "constants.safetensors", "kernels.py", "machine_code.bin", "program.json", "runtime",
    ]  # fmt: skip


def test_files_of_the_user_are_not_replaced(program: Program, tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text("mine")
    with pytest.raises(DiagnosticError, match=r"'.*kernels.py' already exists: qmlir did not write it"):
        program.save(tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
    program.save(tmp_path, force=True)
    program.save(tmp_path)
    assert (tmp_path / "kernels.py").read_text() != "mine"


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left"), shutil.Error([("a", "b", "No space left"), ("c", "d", "e")])]
)
def test_a_disk_that_is_full(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def copytree(source: Path, target: Path, **options: object) -> None:
        target.mkdir()
        raise error

    monkeypatch.setattr(shutil, "copytree", copytree)
    with pytest.raises(DiagnosticError, match=r"cannot write '.*full': No space left$"):
        program.save(tmp_path / "full")
    assert list(tmp_path.iterdir()) == []


def test_another_program_at_the_same_place(program: Program, tmp_path: Path, image: np.ndarray) -> None:
    folder = tmp_path / "saved"
    net = Net()
    net.node("Neg", net.input(image))
    for each, name in ((program, "Relu1"), (qmlir.compile(qmlir.load(net.model("Neg0"))), "Neg0")):
        each.save(folder)
        assert list(qmlir.load_program(folder)([image])) == [name]
        folder.rename(tmp_path / name)


def test_no_program_there(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match=r"contains no saved program \(no kernels\.py\)"):
        qmlir.load_program(tmp_path)
    with pytest.raises(DiagnosticError, match="contains no saved program"):
        qmlir.load_program(tmp_path / "nothing")


@pytest.mark.parametrize("file", ["constants.safetensors", "machine_code.bin"])
def test_a_damaged_program(program: Program, tmp_path: Path, file: str) -> None:
    folder = tmp_path / "damaged"
    program.save(folder)
    (folder / file).write_bytes((folder / file).read_bytes()[:-4])
    with pytest.raises(
        DiagnosticError,
        match=f"{file} is damaged: it differs from the file written with the program; compile the model again",
    ):
        qmlir.load_program(folder)


_IMPORT = """
import sys, numpy as np
sys.path.insert(0, sys.argv[1])
from saved_layer import InputError, program
image = np.load(sys.argv[2])
np.save(sys.argv[3], program({"x0": image})["Relu1"])
try:
    program([image[:, :1]])
except InputError as error:
    print(error)
print([name for name in ("qmlir", "xdsl", "onnx", "ml_dtypes", "rich") if name in sys.modules])
"""


def test_where_qmlir_is_not_installed(saved: Path, program: Program, image: np.ndarray, tmp_path: Path) -> None:
    """An isolated interpreter that finds NumPy, numba, llvmlite and safetensors, and nothing else."""
    packages = tmp_path / "packages"
    packages.mkdir()
    origin = Path(np.__file__).parents[1]
    for name in ("numpy", "numpy.libs", "numba", "llvmlite", "safetensors"):
        if (origin / name).exists():
            (packages / name).symlink_to(origin / name)
    np.save(tmp_path / "x.npy", image)
    start = f"import sys; sys.path.append({str(packages)!r})\n"
    command = [sys.executable, "-I", "-S", "-c", start + _IMPORT, saved.parent, tmp_path / "x.npy", tmp_path / "y.npy"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=200)
    assert done.stdout.splitlines() == ["input 'x0' must have shape 2x6, but got 2x1", "[]"]
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), program([image])["Relu1"])


def test_warnings_are_for_trouble_only(module: ModuleOp) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        qmlir.compile(module)


def test_sequences_and_strings_are_refused() -> None:
    text = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.STRING, [2])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", [text], [
        onnx.helper.make_tensor_value_info("y", onnx.TensorProto.STRING, [2])])  # fmt: skip
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    with pytest.raises(DiagnosticError, match="input 'x' must be a tensor of numbers, but got type"):
        qmlir.compile(qmlir.load(model))
