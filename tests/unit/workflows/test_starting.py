"""Warm starts: a model that was compiled before is not read again, and whatever changed is."""

import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from threading import Thread

import numpy as np
import onnx
import pytest

import qmlir
from qmlir import registry
from qmlir.environment import plugins
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.ir.limits import budgets
from qmlir.registry.package import THE_TREE
from qmlir.targets.cpu import cache, compiler
from qmlir.targets.cpu.package import forget
from qmlir.targets.cpu.program import package_name
from qmlir.workflows.starting import compiling
from qmlir.workflows.starting.compiling import StoredProgram, WarmStart
from tests.support.nets import Net

WEIGHTS = np.arange(-12, 12, dtype=np.float32).reshape(6, 4)
FILE = "constants.safetensors"
"""The file with the weights of the model; a saved program has one of this name, too."""

OLD = -(10**15)
"""The age in nanoseconds at which files count as unchanged: any."""

X = np.arange(12, dtype=np.float32).reshape(2, 6) - 5
OPTIONS = {"isa": "generic", "codegen": "llvm"}
EVERY = {"threads": 1, "function": "main", "tuned": True, "max_sizes": None, **OPTIONS}


def _save(path: Path, weights: np.ndarray) -> None:
    net = Net()
    x = net.input(X)
    model = net.model(net.node("Relu", net.node("MatMul", x, net.constant(weights))))
    (path.parent / FILE).unlink(missing_ok=True)  # ONNX appends
    onnx.save_model(model, path, save_as_external_data=True, location=FILE, size_threshold=0)


def _output(program: object) -> np.ndarray:
    (found,) = program([X]).values()  # type: ignore[operator]
    return found


def _expected(weights: np.ndarray) -> np.ndarray:
    return np.maximum(X @ weights, 0)  # small integers: exact in any order


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model whose weights are in a second file, and a cache in which it was compiled."""
    folder = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.DIRECTORY_VARIABLE, str(folder / "cache"))
        patch.setattr(compiling, "_SETTLED", OLD)
        _save(folder / "model.onnx", WEIGHTS)
        program = qmlir.compile(folder / "model.onnx", **OPTIONS)
        np.testing.assert_array_equal(_output(program), _expected(WEIGHTS))
    return folder


@pytest.fixture
def model(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model, in a copy of the folder; its files count as old."""
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(tmp_path / "copy" / "cache"))
    monkeypatch.setattr(compiling, "_SETTLED", OLD)
    return shutil.copytree(compiled, tmp_path / "copy") / "model.onnx"


def _found(path: Path, **options: object) -> StoredProgram | None:
    start = WarmStart.of(path, {**EVERY, **options})
    return None if start is None else start.find()


def test_a_warm_start_reads_no_model(model: Path) -> None:
    """In another process, without a dialect and without xDSL's operations, and with equal results."""
    code = (
        "import sys, numpy, qmlir\n"
        f"program = qmlir.compile({str(model)!r}, **{OPTIONS})\n"
        f"x = numpy.arange(12, dtype=numpy.float32).reshape(2, 6) - 5\n"
        "print(*(name for name in sys.modules if name.startswith(('qmlir.dialects', 'xdsl.ir', 'onnx', 'numba'))))\n"
        "print(next(iter(program([x]).values())).tolist(), isinstance(program, qmlir.Program))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"\n{_expected(WEIGHTS).tolist()} True\n"


def test_other_weights_in_the_second_file(model: Path) -> None:
    for weights in (WEIGHTS + 1, WEIGHTS):
        text = model.read_bytes()
        _save(model, weights)
        assert model.read_bytes() == text, "only the second file changed"
        np.testing.assert_array_equal(_output(qmlir.compile(model, **OPTIONS)), _expected(weights))
    assert _found(model) is not None


def test_another_text(model: Path) -> None:
    changed = onnx.load(model)
    changed.graph.node[1].op_type = "Neg"
    onnx.save_model(changed, model)
    assert _found(model) is None
    np.testing.assert_array_equal(_output(qmlir.compile(model, **OPTIONS)), -(X @ WEIGHTS))


@pytest.mark.parametrize(
    "options", [{"threads": 2}, {"isa": "host"}, {"function": "other"}, {"codegen": "numba"}, {"max_sizes": {"n": 4}}]
)
def test_other_options(model: Path, options: dict[str, object]) -> None:
    assert _found(model) is not None
    assert _found(model, **options) is None


def test_errors_are_those_of_a_cold_start(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DiagnosticError, match="threads must be at least 1"):
        qmlir.compile(model, threads=0)
    with pytest.raises(TypeError, match="compile: 'target' is now 'device'"):
        qmlir.compile(model, target="cpu")  # type: ignore[call-arg]
    monkeypatch.setenv("QMLIR_COMPILE_PROCESSES", "many")
    with pytest.raises(DiagnosticError, match="QMLIR_COMPILE_PROCESSES must be a number"):
        qmlir.compile(model, **OPTIONS)
    monkeypatch.delenv("QMLIR_COMPILE_PROCESSES")
    (model.parent / FILE).write_bytes(b"")
    with pytest.raises(DiagnosticError, match=r"is beyond the end of 'constants.safetensors'"):
        qmlir.compile(model, **OPTIONS)


def test_whatever_else_determines_the_code(model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert _found(model) is not None
    with budgets({"affine-depth": 7}):
        assert _found(model) is None
    plug_in = tmp_path / "plug_in_of_a_start.py"
    plug_in.write_text("from qmlir.registry import Contribution\nCONTRIBUTION = Contribution()\n")
    with plugins([str(plug_in)]):
        assert _found(model) is None
    with monkeypatch.context() as patch:
        patch.setenv("NUMBA_CPU_FEATURES", "+sse2")
        assert _found(model) is None
    with monkeypatch.context() as patch:
        patch.setattr(registry, "code_digest", lambda _: "other")
        assert _found(model) is None
    with monkeypatch.context() as patch:  # as `QMLIR_WITHOUT` leaves out extensions
        patch.setattr(type(THE_TREE), "contents", lambda _: {})
        assert _found(model) is None
    with monkeypatch.context() as patch:
        patch.setattr(cache, "tuned_schedules", lambda *_: cache.Tuned("file", "other"))
        assert _found(model) is None
        patch.setattr(cache, "tuned_schedules", lambda isa, threads, trouble: trouble("damaged") or cache.UNTUNED)
        assert _found(model) is None
    assert _found(model) is not None


def _entries(model: Path) -> list[Path]:
    return sorted((model.parent / "cache").iterdir())


@pytest.mark.parametrize("damage", [lambda path: path.write_text("{}"), lambda path: path.unlink()])
def test_a_damaged_cache(model: Path, damage: Callable[[Path], object]) -> None:
    """Any file of any entry: the program is compiled again, and is found afterwards."""
    assert len(_entries(model)) == 3
    for entry in _entries(model):
        damage(next(path for path in sorted(entry.iterdir()) if path.is_file() and path.name != cache.MANIFEST))
        forget(package_name(entry.name))
        assert _found(model) is None
        np.testing.assert_array_equal(_output(qmlir.compile(model, **OPTIONS)), _expected(WEIGHTS))
        assert _found(model) is not None


@pytest.mark.parametrize("content", ["[]", "{}", '{"isa": 1, "files": ["../model.onnx"]}', "\udc80"])
def test_a_record_with_other_contents(model: Path, content: str) -> None:
    """With the digests that fit, as only the user could write it."""
    for entry in _entries(model):
        if (record := entry / compiling.RECORD).is_file():
            record.write_bytes(content.encode(errors="surrogateescape"))
            cache.write_manifest(entry, entry.name)
    assert _found(model) is None
    np.testing.assert_array_equal(_output(qmlir.compile(model, **OPTIONS)), _expected(WEIGHTS))


def test_a_weights_file_that_became_a_link(model: Path) -> None:
    weights = model.parent / FILE
    weights.rename(model.parent / "elsewhere.bin")
    weights.symlink_to("elsewhere.bin")
    with pytest.raises(DiagnosticError, match="is a link or not a regular file"):
        qmlir.compile(model, **OPTIONS)


def test_a_file_that_changed_just_now_is_not_trusted(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have changed between its digest and its import."""
    monkeypatch.setattr(compiling, "_SETTLED", 10**15)
    qmlir.compile(model, **OPTIONS, threads=2)
    assert _found(model, threads=2) is None
    assert _found(model) is not None


def test_warnings_are_repeated(model: Path) -> None:
    net = Net()
    dropped = net.node("Dropout", net.input(X), net.constant(np.float32(0.5)), net.constant(np.bool_(True)))
    onnx.save_model(net.model(net.node("Relu", dropped)), model)
    for _ in range(2):
        told: list[Diagnostic] = []
        with diagnostic_handler(told.append), pytest.raises(DiagnosticError):
            qmlir.compile(model, **OPTIONS)
        assert told


def test_a_stored_program_keeps_its_model(model: Path, tmp_path: Path) -> None:
    """It has the signature of its model, can be copied and saved, and never replaces its model."""
    cold, warm = compiler.compile_module(qmlir.load(model), isa="generic", emitter="llvm"), _found(model)
    assert warm is not None
    found = qmlir.compile(model, **OPTIONS)
    assert isinstance(found, StoredProgram)
    with pytest.raises(DiagnosticError, match=f"{FILE}': it is an input of this run"):
        found.save(model.parent, force=True)
    model.unlink()
    (model.parent / FILE).unlink()
    assert (str(warm.signature), warm.text()) == (str(cold.signature), cold.text())
    assert (warm.isa, warm.threads, warm.emitter, warm.is_fixed) == ("generic", 1, "llvm", True)
    warm.save(tmp_path / "saved")
    for program in (deepcopy(warm), pickle.loads(pickle.dumps(warm)), qmlir.load_program(tmp_path / "saved")):
        np.testing.assert_array_equal(_output(program), _expected(WEIGHTS))


def test_a_cache_that_is_full_keeps_the_program(model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(cache.SIZE_VARIABLE, "0")
    program = qmlir.compile(model, **OPTIONS, threads=2)
    program.save(tmp_path / "saved")
    np.testing.assert_array_equal(_output(program), _expected(WEIGHTS))


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / "model.mlir")
    text = (
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %0 = nn.neg %x : tensor<2xf32>\n  func.return %0 : tensor<2xf32>\n}\n"
    )
    writer = Thread(target=path.write_text, args=(text,))
    writer.start()
    (found,) = qmlir.compile(path, **OPTIONS)([np.float32([1, -2])]).values()
    writer.join()
    assert found.tolist() == [-1, 2]


def test_any_size_up_to_a_maximum(model: Path) -> None:
    path = Path(__file__).parents[1] / "targets" / "models" / "attention.mlir"
    options = {**OPTIONS, "max_sizes": {"s": [2, 3]}}
    cold = qmlir.compile(path, **options)
    warm = qmlir.compile(path, **options)
    assert isinstance(warm, StoredProgram)
    assert not warm.is_fixed
    x = np.random.default_rng(1).normal(size=(2, 3, 4)).astype(np.float32)
    keep = np.ones((2, 3), np.bool_)
    for length in (1, 2, 3):
        given = {"x": x[:, :length], "keep": keep[:, :length]}
        np.testing.assert_array_equal(warm(given)["y"], cold(given)["y"])
        np.testing.assert_array_equal(warm(given)["y"], qmlir.interpret(path, given)["y"])
    assert _found(path, max_sizes={"s": [3]}) is None
