"""The time of each kernel of a program: every call is there with its nodes, and computes what it should."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError

MODEL = Path(__file__).parents[4] / "docs" / "examples" / "digits.onnxtxt"
IMAGES = np.random.default_rng(0).uniform(-1, 1, (8, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def program() -> Any:
    return qmlir.compile(qmlir.quantize(qmlir.load(MODEL, shapes={"image": (1, 4)}), {"image": IMAGES}).module)


def test_every_call_has_its_time_and_its_nodes(program: Any) -> None:
    times = program.time_kernels([IMAGES[:1]], rounds=2)
    assert all(0 < each.seconds < 1 for each in times)
    assert {node for each in times for node in each.nodes} >= {"fc1", "relu1"}


def test_kernels_run_in_order_on_the_memory_of_a_run(program: Any) -> None:
    """What they leave in the outputs is what the program gives."""
    made = program._only.call
    calls: list[int] = []

    def steps(compiled: Any) -> Any:
        def run(*arguments: Any) -> None:
            calls.append(len(arguments))
            compiled(*arguments)

        return run

    found = made.with_steps(steps)([IMAGES[:1]])
    assert len(calls) == 1
    assert np.array_equal(found["logits"], program([IMAGES[:1]])["logits"])
    assert len(calls) == 1  # the program itself is as it was


def test_open_sizes_are_those_of_the_inputs() -> None:
    program = qmlir.compile(qmlir.load(MODEL))
    names = [[each.name for each in program.time_kernels([IMAGES[:count]], rounds=1)] for count in (1, 3)]
    assert names[0] == names[1]  # of one image, which is the first of three
    assert all("1x" in name for name in names[0])


def test_what_does_not_fit_is_refused(program: Any) -> None:
    with pytest.raises(ValueError, match="must have shape 1x4"):
        program.time_kernels([IMAGES[:, :3]])
    with pytest.raises(DiagnosticError, match="rounds must be at least 1, but got 0"):
        program.time_kernels([IMAGES[:1]], rounds=0)
