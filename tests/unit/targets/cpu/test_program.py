"""Calling a compiled program: arrays by name or in order, outputs into the caller's arrays, and what does not fit."""

import pickle
import threading
from collections.abc import Callable
from copy import copy, deepcopy
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.targets.cpu.compiler import Program
from qmlir.targets.cpu.runtime.program import CompiledModule, InputError


@pytest.fixture(scope="session")
def expected(module: ModuleOp, image: np.ndarray) -> np.ndarray:
    """What the interpreter computes."""
    return qmlir.interpret(module, [image])["Relu1"]


def _refused(program: Program, inputs: Any, outputs: Any = None) -> str:
    with pytest.raises(InputError) as caught:
        program(inputs, outputs)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("copied", [deepcopy, copy, lambda program: pickle.loads(pickle.dumps(program))])
@pytest.mark.parametrize("is_saved", [False, True])
def test_copies(
    program: Program, image: np.ndarray, expected: np.ndarray, tmp_path: Path, copied: Any, is_saved: bool
) -> None:
    if is_saved:
        program.save(tmp_path / "saved")
    again = copied(qmlir.load_program(tmp_path / "saved") if is_saved else program)
    np.testing.assert_array_equal(again([image])["Relu1"], expected, strict=True)


def test_a_program_that_was_pickled_is_in_the_cache(program: Program) -> None:
    again = pickle.loads(pickle.dumps(program))
    assert again._only.folder == program._only.folder
    assert (again.isa, again.threads) == (program.isa, program.threads)


def test_arrays_of_other_sizes_never_reach_compiled_code(program: Program, image: np.ndarray) -> None:
    """What stands in front of the entry of native code itself, which reads whatever lies at an address."""
    module = program._only.call
    output = np.zeros((2, 4), np.float32)
    for inputs, outputs in (
        ([image[:1]], [output]),
        ([image], [output[:1]]),
        ([image], []),
        ([image, image], [output]),
    ):
        with pytest.raises(InputError, match=r"arrays must have \[.*\] bytes, but got"):
            module._run(inputs, outputs)


@pytest.mark.parametrize("arrange", [lambda x: {"x0": x}, lambda x: [x], lambda x: (x,), lambda x: x])
def test_inputs_by_name_and_in_order(
    program: Program, image: np.ndarray, expected: np.ndarray, arrange: Callable[[np.ndarray], Any]
) -> None:
    found = program(arrange(image))
    assert list(found) == ["Relu1"]
    np.testing.assert_array_equal(found["Relu1"], expected, strict=True)


def _unaligned(array: np.ndarray) -> np.ndarray:
    room = np.empty(array.nbytes + 1, np.uint8)
    view = room[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


def _read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def _spread(array: np.ndarray) -> np.ndarray:
    room = np.full((4, 12), np.nan, np.float32)
    room[::2, ::2] = array
    return room[::2, ::2]


LAYOUTS: list[Callable[[np.ndarray], np.ndarray]] = [
    np.asfortranarray,
    lambda x: x[::-1].copy()[::-1],
    lambda x: x.astype(">f4"),
    lambda x: np.asfortranarray(x.astype(">f4")),
    _unaligned,
    _read_only,
    _spread,
    lambda x: x.view(np.recarray),
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_and_byte_order(
    program: Program, image: np.ndarray, expected: np.ndarray, layout: Callable[[np.ndarray], np.ndarray]
) -> None:
    np.testing.assert_array_equal(program([layout(image)])["Relu1"], expected)


def test_outputs_into_the_callers_arrays(program: Program, image: np.ndarray, expected: np.ndarray) -> None:
    own = np.full((2, 4), np.nan, np.float32)
    assert program([image], {"Relu1": own})["Relu1"] is own
    np.testing.assert_array_equal(own, expected)


@pytest.mark.parametrize("make", [lambda: np.zeros((4, 2), np.float32).T, lambda: _unaligned(np.zeros((2, 4), "f4"))])
def test_outputs_of_any_layout(
    program: Program, image: np.ndarray, expected: np.ndarray, make: Callable[[], np.ndarray]
) -> None:
    own = make()
    program([image], {"Relu1": own})
    np.testing.assert_array_equal(own, expected)


def test_an_output_over_the_input(program: Program, image: np.ndarray, expected: np.ndarray) -> None:
    room = np.zeros(12, np.float32)
    room[:] = image.reshape(-1)
    own = room[:8].reshape(2, 4)
    program([room.reshape(2, 6)], {"Relu1": own})
    np.testing.assert_array_equal(own, expected)


X = np.zeros((2, 6), np.float32)


class _Unwilling:
    """An array of a library that converts only some of its arrays."""

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise RuntimeError("it needs a gradient")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "no value for input 'x0' (2x6 float32); help: pass --input FILE.npz (inputs={'x0': array})"),
        ([], "the program takes 1 input (x0), but got 0"),
        ([X, X], "the program takes 1 input (x0), but got 2"),
        ({"X0": X}, "the program has no input 'X0'; did you mean 'x0'? (available: x0)"),
        ({"x00": X}, "the program has no input 'x00'; did you mean 'x0'? (available: x0)"),
        ({"x0": X, "image": X}, "the program has no input 'image' (available: x0)"),
        ([X[:, :5]], "input 'x0' must have shape 2x6, but got 2x5"),
        ([X.T], "input 'x0' must have shape 2x6, but got 6x2"),
        ([X[None]], "input 'x0' must have shape 2x6, but got 1x2x6"),
        ([np.float32(1)], "input 'x0' must have shape 2x6, but got scalar"),
        ([X[:, :0]], "input 'x0' must have shape 2x6, but got 2x0"),
        ([X.astype(np.float64)], "input 'x0' must be float32, but got float64"),
        ([X.astype(np.int8)], "input 'x0' must be float32, but got int8"),
        ([X > 0], "input 'x0' must be float32, but got bool"),
        ([None], "input 'x0' must be float32, but got object"),
        (["abc"], "input 'x0' must be float32, but got <U3"),
        ([X.tolist()], "input 'x0' must be float32, but got float64"),
        ([[[1.0], [1.0, 2.0]]], "cannot convert input 'x0' to an array: "),
        ([_Unwilling()], "cannot convert input 'x0' to an array: it needs a gradient"),
        (None, "inputs must be a dict of arrays by name, or arrays in order, but got NoneType"),
        (3, "inputs must be a dict of arrays by name, or arrays in order, but got int"),
        ("x0", "inputs must be a dict of arrays by name, or arrays in order, but got str"),
        ({"x0"}, "inputs must be a dict of arrays by name, or arrays in order, but got set"),
        ((X for _ in range(1)), "inputs must be a dict of arrays by name, or arrays in order, but got generator"),
        (np.float32(1), "input 'x0' must have shape 2x6, but got scalar"),
        ({1: X}, "the program has no input '1' (available: x0)"),
        ({None: X}, "the program has no input 'None' (available: x0)"),
        ({"\x1b[31m\n": X}, r"the program has no input '\x1b[31m\n' (available: x0)"),
    ],
)
def test_inputs_that_do_not_fit(program: Program, inputs: Any, message: str) -> None:
    assert _refused(program, inputs).startswith(message)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"relu1": np.zeros((2, 4), np.float32)}, "the program has no output 'relu1'; did you mean 'Relu1'?"),
        ({"Relu1": np.zeros((2, 4))}, "output 'Relu1' must be float32 of shape 2x4, but got float64 of shape 2x4"),
        (
            {"Relu1": np.zeros((4, 2), np.float32)},
            "output 'Relu1' must be float32 of shape 2x4, but got float32 of shape 4x2",
        ),
        ({"Relu1": [0.0]}, "output 'Relu1' must be an array to write to, but got list"),
        ({3: X}, "the program has no output '3' (available: Relu1)"),
        (X, "outputs must be a dict of arrays by name, but got ndarray"),
        (3, "outputs must be a dict of arrays by name, but got int"),
        ({"Relu1": _read_only(np.zeros((2, 4), np.float32))}, "output 'Relu1' is read-only"),
    ],
)
def test_outputs_that_do_not_fit(program: Program, image: np.ndarray, outputs: Any, message: str) -> None:
    assert _refused(program, [image], outputs).startswith(message)


def test_nan_in_a_quantized_model(program: Program, image: np.ndarray) -> None:
    wrong = image.copy()
    wrong[1, 2] = np.nan
    assert _refused(program, [wrong]) == "input 'x0' is NaN at [1, 2], which a quantized model cannot represent"


@pytest.mark.parametrize("value", [np.inf, -np.inf, 3e38, -0.0, 1e-45])
def test_extreme_numbers_saturate(program: Program, module: ModuleOp, value: float) -> None:
    wild = np.full((2, 6), value, np.float32)
    np.testing.assert_array_equal(program([wild])["Relu1"], qmlir.interpret(module, [wild])["Relu1"], strict=True)


def test_several_threads(program: Program, module: ModuleOp) -> None:
    """Each call has working memory of its own."""
    images = np.random.default_rng(5).standard_normal((4, 2, 6), np.float32)
    wanted = [qmlir.interpret(module, [image])["Relu1"] for image in images]
    wrong: list[int] = []
    start = threading.Barrier(len(images))

    def call(position: int) -> None:
        start.wait()
        for _ in range(200):
            if not np.array_equal(program([images[position]])["Relu1"], wanted[position]):
                wrong.append(position)

    threads = [threading.Thread(target=call, args=(position,)) for position in range(len(images))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_one_array_for_two_outputs_is_computed_as_two() -> None:
    seen: list[np.ndarray] = []
    rows = [(name, "float32", (2,), False, 0) for name in ("first", "second")]

    def main(arena: np.ndarray, constants: np.ndarray, *arrays: np.ndarray) -> None:
        seen.extend(arrays)
        for number, array in enumerate(arrays):
            array[...] = number

    module = SimpleNamespace(INPUTS=[], OUTPUTS=rows, CONSTANTS=[], ARENA_BYTES=0, main=main)
    own = np.zeros(2, np.float32)
    CompiledModule(cast(ModuleType, module), {})([], {"first": own, "second": own})
    first, second = seen
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(own, [1, 1])
