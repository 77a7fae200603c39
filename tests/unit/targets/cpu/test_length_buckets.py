"""Programs of any length: equal to the interpreter at every size, and nothing is compiled after they are made."""

import pickle
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu import compiler
from qmlir.targets.cpu.compiler import Program
from qmlir.targets.cpu.length_buckets import capacities_up_to

MODELS = Path(__file__).parents[1] / "models"
CAPACITIES = (3, 8)


@pytest.fixture(scope="module")
def program() -> Program:
    module = qmlir.load(MODELS / "attention.mlir")
    return qmlir.compile(module, isa="generic", max_sizes={"s": CAPACITIES})


@pytest.fixture(autouse=True)
def _nothing_is_compiled(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "compiled_entry", None)


def feeds(batch: int, length: int) -> dict[str, Array]:
    rng = np.random.default_rng(batch + 10 * length)
    x = rng.normal(size=(batch, length, 4)).astype(np.float32)
    keep = rng.random((batch, length)) < 0.6
    keep[0] = False  # a row that a mask leaves empty
    return {"x": x, "keep": keep}


def assert_equal(found: Mapping[str, Array], wanted: Mapping[str, Array]) -> None:
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array, strict=True)


def interpreted(given: Mapping[str, Array]) -> dict[str, Array]:
    return qmlir.interpret(qmlir.load(MODELS / "attention.mlir"), given)


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("length", range(1, CAPACITIES[-1] + 1))
def test_every_size_is_that_of_the_interpreter(program: Program, batch: int, length: int) -> None:
    given = feeds(batch, length)
    assert_equal(program(given), interpreted(given))


def test_outputs_are_written_into_arrays_of_the_caller(program: Program) -> None:
    given = feeds(2, 5)
    wanted = interpreted(given)
    memory = np.zeros((2, 4, 5), np.float32).transpose(0, 2, 1)  # no run of its own
    found = program(given, {"y": memory})
    assert found["y"] is memory
    assert_equal(found, wanted)
    assert_equal(program(given, {"y": given["x"]}), wanted)


def test_saved_and_pickled(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = feeds(2, 6)
    program.save(tmp_path / "saved")
    saved = qmlir.load_program(tmp_path / "saved")
    assert type(saved).__name__ in qmlir.load_program.__annotations__["return"].split(" | ")
    monkeypatch.undo()  # of the other one the module is written, which finds its programs in the cache
    for each in (saved, pickle.loads(pickle.dumps(saved)), pickle.loads(pickle.dumps(program))):
        assert_equal(each(given), interpreted(given))


def test_a_damaged_description_is_an_error(program: Program, tmp_path: Path) -> None:
    program.save(tmp_path / "saved")
    (tmp_path / "saved" / "lengths.json").write_text("{")
    with pytest.raises(DiagnosticError, match=r"lengths\.json is damaged"):
        qmlir.load_program(tmp_path / "saved")


@pytest.mark.parametrize(
    ("batch", "length", "message"),
    [
        (1, 9, "dimension 's' of input 'x' must be 1 to 8, but got 9"),
        (1, 0, "dimension 's' of input 'x' must be 1 to 8, but got 0"),
        (0, 2, "dimension 'n' of input 'x' must be 1 or more, but got 0"),
    ],
)
def test_sizes_that_have_no_capacity(program: Program, batch: int, length: int, message: str) -> None:
    given = {"x": np.zeros((batch, length, 4), np.float32), "keep": np.ones((batch, length), bool)}
    with pytest.raises(qmlir.InputError) as raised:
        program(given)
    assert str(raised.value) == message


def test_inputs_agree_on_a_size(program: Program) -> None:
    given = {"x": np.zeros((1, 3, 4), np.float32), "keep": np.ones((1, 4), bool)}
    with pytest.raises(
        qmlir.InputError, match="dimension 's' must have one size, but got 4 for input 'keep' and 3 for another input"
    ):
        program(given)


def test_kernels_are_timed(program: Program) -> None:
    assert all(each.seconds > 0 for each in program.time_kernels(feeds(1, 2), rounds=1))


def test_lengths_are_those_of_the_model() -> None:
    module = qmlir.load(MODELS / "attention.mlir")
    with pytest.raises(DiagnosticError, match=r"unknown dynamic dimension 'q' \(available: n, s\)"):
        qmlir.compile(module, max_sizes={"q": 8})
    with pytest.raises(
        DiagnosticError,
        match="dimension 's' cannot be split; pass its maximum size with --max-size s=256",
    ):
        qmlir.compile(module, max_sizes={"n": 8})
    with pytest.raises(DiagnosticError, match=r"the maximum size of 's' must be at least 1, but got \(0, 4\)"):
        qmlir.compile(module, max_sizes={"s": (0, 4)})


def test_what_is_declined_is_compiled_for_each_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    module = qmlir.load(MODELS / "reversed.mlir")
    with pytest.warns(
        RuntimeWarning, match=r"each new input size is compiled on its first call: .*'nn.slice' op slices \[-1:"
    ) as said:
        program = qmlir.compile(module, isa="generic", max_sizes={"s": 8})
    assert len(said) == 1
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(program({"x": x})["y"], x[::-1], strict=True)


def test_capacities_grow_by_powers_of_two() -> None:
    assert capacities_up_to(256) == (16, 32, 64, 128, 256)
    assert capacities_up_to(100) == (16, 32, 64, 100)
    assert capacities_up_to(5) == (5,)
