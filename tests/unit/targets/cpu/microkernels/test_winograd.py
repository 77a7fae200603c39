"""Convolutions by Winograd's algorithm give the sums computed tap by tap: on tensors, as loops, and compiled."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.kernel.attributes import isa_names
from qmlir.dialects.kernel.winograd import ALGORITHMS, WinogradOp, transformed
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.targets.cpu.host import host_isa, runs_here
from qmlir.text.parsing import parse_module
from tests.support.contractions import Array, Case
from tests.support.emitted import loaded
from tests.support.winograd import case

ENVIRONMENT = default_environment()
_LOOPS = (
    "kernel-pack,kernel-bufferize,kernel-outline,kernel-plan-memory,convert-kernel-to-loops,simd-legalize,team-divide"
)


def run(module: ModuleOp, passes: str) -> None:
    """Run passes on a module."""
    PassManager(ENVIRONMENT.new_context(), parse_pipeline(passes, ENVIRONMENT.passes)).run(module)


def by_winograd(case: Case, isa: str, algorithm: str) -> ModuleOp:
    """The module of a case with its convolution by one of Winograd's algorithms, on tensors."""
    module = parse_module(ENVIRONMENT.new_context(), case.text)
    run(module, f'kernel-winograd{{isa="{isa}" always=true algorithm={algorithm}}}')
    assert any(isinstance(op, WinogradOp) for op in module.walk())
    return module


def loops(case: Case, isa: str, algorithm: str, threads: int = 1) -> ModuleOp:
    """The loops of a case."""
    module = by_winograd(case, isa, algorithm)
    run(module, f'kernel-assign-schedule{{isa="{isa}" threads={threads}}},{_LOOPS}')
    return module


def check(module: ModuleOp, case: Case) -> None:
    (found,) = interpret(module, case.inputs).values()
    np.testing.assert_array_equal(found, case.expected)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Case, str]:
    """Any sizes, signedness and zero points, and often the extremes of all elements; and an algorithm that takes it."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    algorithm = draw(st.sampled_from(list(ALGORITHMS)))
    least = ALGORITHMS[algorithm].step
    sizes = st.integers(least, 2 * least + 1)
    height, width, inputs, outputs = draw(st.tuples(sizes, sizes, st.integers(1, 9), st.integers(1, 9)))
    unsigned = draw(st.booleans())
    low, high = (0, 255) if unsigned else (-128, 127)

    def elements(shape: tuple[int, ...], limits: tuple[int, int]) -> Array:
        if draw(st.booleans()):
            return rng.choice(limits, shape).astype(np.int64)
        return np.asarray(rng.integers(limits[0], limits[1] + 1, shape))

    x = elements((draw(st.integers(1, 2)), height + 2, width + 2, inputs), (low, high))
    w = elements((outputs, 3, 3, inputs), (-128, 127))
    # Without their zero points weights have 9 bits: 16 don't hold what F(4x4, 3x3) makes of all of these.
    points = elements((outputs,), (-128, 127)) if algorithm == "f2" and draw(st.booleans()) else None
    zero_point = draw(st.sampled_from([low, high, 3]))
    made = case(
        x, w, input_zero_point=zero_point, weight_zero_points=points, unsigned=unsigned,
        rng=rng if draw(st.booleans()) else None,
    )  # fmt: skip
    return made, algorithm


@given(cases())
@settings(max_examples=50, deadline=None)
def test_on_tensors(found: tuple[Case, str]) -> None:
    case, algorithm = found
    check(by_winograd(case, "generic", algorithm), case)


def _check_loops(found: tuple[Case, str], isa: str, threads: int) -> None:
    case, algorithm = found
    check(loops(case, isa, algorithm, threads), case)


_AS_LOOPS = given(cases(), st.sampled_from(isa_names()), st.integers(1, 2))


@_AS_LOOPS
@settings(max_examples=8, deadline=None)
def test_as_loops(found: tuple[Case, str], isa: str, threads: int) -> None:
    _check_loops(found, isa, threads)


@pytest.mark.sweep
@_AS_LOOPS
@settings(max_examples=100, deadline=None)
def test_many_as_loops(found: tuple[Case, str], isa: str, threads: int) -> None:
    _check_loops(found, isa, threads)


def _random(seed: int, shape: tuple[int, int, int, int, int], *, residual: bool = True) -> Case:
    """A case of so many images, of height, width, input and output channels."""
    rng = np.random.default_rng(seed)
    images, height, width, inputs, outputs = shape
    x = rng.choice([-128, 127, 5], (images, height + 2, width + 2, inputs)).astype(np.int64)
    w = rng.choice([-127, 127, 1], (outputs, 3, 3, inputs)).astype(np.int64)
    return case(x, w, input_zero_point=-128, rng=rng if residual else None)


_ONE_BLOCK = (1, 7, 7, 256, 64)
_SHAPES = {
    "f2": [(2, 5, 6, 33, 17), (1, 2, 2, 3, 8), (1, 7, 7, 24, 40), (1, 4, 4, 96, 128)],
    "f4": [(2, 5, 6, 33, 17), (1, 4, 4, 3, 8), (1, 9, 7, 24, 40), (1, 8, 8, 96, 128)],
    "f4_bytes": [(2, 5, 6, 33, 17), (1, 9, 7, 24, 40), _ONE_BLOCK],
}
_IN_EVERY_RUN = {
    *((host_isa(), algorithm, shapes[0]) for algorithm, shapes in _SHAPES.items()),
    (host_isa(), "f4_bytes", _ONE_BLOCK),
    ("generic", "f2", (1, 2, 2, 3, 8)),
    ("avx2", "f4", (1, 4, 4, 3, 8)),
}
"""Ends of images, rows and channels by each algorithm, and other registers. The rest takes minutes to compile."""


@pytest.mark.parametrize(
    ("isa", "algorithm", "shape"),
    [
        pytest.param(*each, marks=() if each in _IN_EVERY_RUN else pytest.mark.sweep, id=" ".join(map(str, each)))
        for isa in isa_names()
        if runs_here(isa)
        for algorithm, shapes in _SHAPES.items()
        for each in ((isa, algorithm, shape) for shape in shapes)
    ],
)
def test_compiled(isa: str, algorithm: str, shape: tuple[int, int, int, int, int], tmp_path: Path) -> None:
    case = _random(sum(shape), shape)
    module = loops(case, isa, algorithm, threads=2)
    program = loaded(module, tmp_path)
    for _ in range(2):  # scratch memory has what the run before left
        (found,) = program(case.inputs).values()
        np.testing.assert_array_equal(found, case.expected)


def test_threads_divide_the_blocks(tmp_path: Path) -> None:
    """A convolution of more than six million multiply-adds, on two threads, in two blocks at least."""
    case = _random(1, (1, 14, 14, 64, 64), residual=False)
    module = loops(case, "avx2" if runs_here("avx2") else "generic", "f2", threads=2)
    assert "team.chunks" in str(module)
    (found,) = loaded(module, tmp_path)(case.inputs).values()
    np.testing.assert_array_equal(found, case.expected)


def test_threads_divide_the_channels_of_one_block() -> None:
    """`test_compiled` runs what is divided so."""
    assert "team.chunks" in str(loops(_random(sum(_ONE_BLOCK), _ONE_BLOCK), "avx512-vnni", "f4_bytes", threads=2))


@pytest.mark.parametrize(
    ("algorithm", "inputs", "parts"), [("f2", 2048, 2), ("f4", 116, 2), ("f4_bytes", 116, 2), ("f4_bytes", 324, 3)]
)
def test_parts_of_the_channels(algorithm: str, inputs: int, parts: int, tmp_path: Path) -> None:
    """The sums of all channels leave what 32 bits hold of a multiple of them, those of each part do not."""
    form, isa = ALGORITHMS[algorithm], "avx512-vnni" if runs_here("avx512-vnni") else "generic"
    x = np.full((1, form.tile, form.tile, inputs), 127, np.int64)
    w = np.full((2, 3, 3, inputs), 127, np.int64)
    w[1] = -127
    made = case(x, w, input_zero_point=-128)
    module = by_winograd(made, isa, algorithm)
    assert [op.part_count for op in module.walk() if isinstance(op, WinogradOp)] == [parts]
    check(module, made)
    run(module, f'kernel-assign-schedule{{isa="{isa}"}},kernel-pack')
    check(module, made)
    run(module, _LOOPS.removeprefix("kernel-pack,"))
    (found,) = loaded(module, tmp_path)(made.inputs).values()
    np.testing.assert_array_equal(found, made.expected)


@pytest.mark.parametrize(("algorithm", "inputs"), [("f2", 1840), ("f4", 115), ("f4_bytes", 115)])
def test_the_largest_sums(algorithm: str, inputs: int) -> None:
    """At the edge of what the proof accepts: 4 or 64 times the sums are just below 2^31, and what is between wraps."""
    form = ALGORITHMS[algorithm]
    x = np.full((1, form.tile, form.tile, inputs), 127, np.int64)
    w = np.full((2, 3, 3, inputs), 127, np.int64)
    w[1] = -127
    largest = case(x, w, input_zero_point=-128)
    assert np.abs(largest.expected).max() << form.shift_of_sums > 2**31 - 2**24
    check(by_winograd(largest, "avx2", algorithm), largest)
    check(loops(largest, "avx2", algorithm), largest)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_matrices_make_convolutions(algorithm: str) -> None:
    """Of integers of any size: what comes out is the scale that is said times each sum."""
    form, rng = ALGORITHMS[algorithm], np.random.default_rng(2)
    taps, tile = rng.integers(-(10**6), 10**6, 3), rng.integers(-(10**6), 10**6, form.tile)
    products = transformed(form.weights, taps, [0]) * transformed(form.input, tile, [0])
    sums = np.correlate(tile, taps, "valid")
    np.testing.assert_array_equal(transformed(form.output, products, [0]), (form.odd << form.shift) * sums)
    assert (form.inverse * form.odd**2) % (1 << 32) == 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_plain_sum_of_the_taps(algorithm: str) -> None:
    form, weights = ALGORITHMS[algorithm], np.random.default_rng(3).integers(-128, 128, (5, 3, 3, 4))
    found = form.sums_of_weights(form.taken(weights))
    np.testing.assert_array_equal(found, weights.sum(axis=(1, 2)))
