"""One program for images of any size: equal to the interpreter at every size that the model takes."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.specialization.padding import outline
from qmlir.targets.cpu import compiler
from qmlir.targets.cpu.compiler import Program
from qmlir.targets.cpu.length_buckets import all_capacities

MODEL = Path(__file__).parents[1] / "models" / "image.mlir"
SIZES = ((2, 2), (2, 10), (8, 6), (10, 12), (12, 14))


@pytest.fixture(scope="module")
def module() -> ModuleOp:
    return qmlir.load(MODEL)


@pytest.fixture(scope="module")
def program(module: ModuleOp) -> Program:
    return qmlir.compile(module, isa="generic", max_sizes={"h": (13,), "w": (14,)}, codegen="llvm")


def image(count: int, height: int, width: int) -> Array:
    return np.random.default_rng(height).normal(size=(count, 2, height, width)).astype(np.float32)


@pytest.mark.parametrize("count", [1, 3])
def test_every_size_is_that_of_the_interpreter(
    program: Program, module: ModuleOp, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.save(tmp_path / "saved")
    saved: Any = pickle.loads(pickle.dumps(qmlir.load_program(tmp_path / "saved")))
    monkeypatch.setattr(compiler, "compiled_entry", None)  # nothing is compiled for a new size
    for height, width in SIZES:
        x = image(count, height, width)
        wanted = qmlir.interpret(module, {"x": x})["y"]
        for each in (program, saved):
            np.testing.assert_array_equal(each({"x": x})["y"], wanted, strict=True)


def test_sizes_for_which_the_model_is_not_defined(program: Program) -> None:
    """The capacity that it takes is the next one below, too."""
    with pytest.raises(qmlir.InputError, match="dimension 'h' of input 'x' must be 1 to 12, but got 13"):
        program({"x": image(1, 13, 4)})
    with pytest.raises(qmlir.InputError) as raised:
        program({"x": image(1, 4, 5)})
    says = "'nn.add' op requires ((w + 1) // 2)*2 = w, but got 6 and 5"
    assert str(raised.value) == f"the sizes n = 1, h = 4, w = 5 are inconsistent: {says}"


def test_a_model_that_takes_none_of_the_sizes(module: ModuleOp) -> None:
    found = outline(module)
    with pytest.raises(
        DiagnosticError, match=r"no size of 'h' up to 1 is valid: 'nn.add' op requires \(\(h \+ 1\) // 2\)"
    ):
        all_capacities(found, {"h": (1,), "w": (4,)})
    assert all_capacities(found, {"h": (4, 5), "w": (9,)}) == [{"n": 1, "h": 4, "w": 8}]
