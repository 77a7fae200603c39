"""One program for any number of images: equal to one after the other, and never divided where images meet."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError, diagnostic_handler
from qmlir.specialization.batch import batch_of
from qmlir.target import PART
from qmlir.targets.cpu.batch_tiling import OpenBatch
from qmlir.targets.cpu.compiler import Program
from qmlir.targets.cpu.runtime.batches import runs_alone, spread
from qmlir.text.parsing import parse_module

ROWS = np.random.default_rng(0).integers(-128, 128, (40, 4)).astype(np.int8)


def module_of(count: str) -> ModuleOp:
    """A layer, and what is the same for every row."""
    return parse_module(
        default_environment().new_context(),
        f"""
        !x = !quant.uniform<i8:f32, 0.25>
        !w = !quant.uniform<i8:f32, 0.5>
        func.func @main(%x: tensor<{count}x4x!x> {{nn.name = "x"}})
            -> (tensor<{count}x2x!x> {{nn.name = "y"}}, tensor<2xf32> {{nn.name = "known"}}) {{
          %w = nn.constant dense<[[1, -2, 3, 4], [5, 6, -7, 8]]> : tensor<2x4xi8> -> tensor<2x4x!w>
          %c = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
          %0 = nn.fully_connected %x, %w : (tensor<{count}x4x!x>, tensor<2x4x!w>) -> tensor<{count}x2x!x>
          func.return %0, %c : tensor<{count}x2x!x>, tensor<2xf32>
        }}""",
    )  # fmt: skip


@pytest.fixture(scope="module", params=[1, 2])
def program(request: pytest.FixtureRequest) -> Program:
    """For three rows, on one thread or two."""
    return qmlir.compile(module_of("3"), isa="generic", threads=request.param)


def wanted(count: int) -> Array:
    """`clamp(rne(x w / 2))`, by the formula of the layer: the scales are 1/4, 1/2 and 1/4."""
    weight = np.array([[1, -2, 3, 4], [5, 6, -7, 8]])
    return np.clip(np.rint(ROWS[:count] @ weight.T / 2), -128, 127).astype(np.int8)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 40])
def test_any_number_of_rows(program: Program, count: int) -> None:
    found = program(ROWS[:count])
    np.testing.assert_array_equal(found["y"], wanted(count), strict=True)
    np.testing.assert_array_equal(found["known"], np.array([1, 2], np.float32), strict=True)


def test_outputs_of_the_caller(program: Program) -> None:
    memory = np.zeros((4, 7), np.int8)
    strided = memory[::2].T  # in no run, and its memory is that of the caller
    for own in (np.zeros((7, 2), np.int8), strided):
        assert program(ROWS[:7], {"y": own})["y"] is own
        np.testing.assert_array_equal(own, wanted(7))
    over = ROWS.copy()
    program(over, {"y": over[:, :2]})
    np.testing.assert_array_equal(over[:, :2], wanted(40))


def test_saved_copied_and_pickled(program: Program, tmp_path: Path) -> None:
    program.save(tmp_path / "saved")
    saved: Any = qmlir.load_program(tmp_path / "saved")
    for each in (saved, pickle.loads(pickle.dumps(saved)), pickle.loads(pickle.dumps(program))):
        np.testing.assert_array_equal(each(ROWS)["y"], wanted(40), strict=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (ROWS[0], "input 'x' must have shape 3x4, but got 4"),
        (ROWS[:, :3], "input 'x' must have shape 3x4, but got 40x3"),
        (ROWS.astype(np.uint8), "input 'x' must be int8, but got uint8; help: pass x.astype(np.int8)"),
        (ROWS[:0], "an empty batch has no outputs of this model; pass at least one sample"),
    ],
)
def test_what_does_not_fit(program: Program, given: Array, message: str) -> None:
    with pytest.raises(qmlir.InputError) as raised:
        program(given)
    assert str(raised.value) == message


def sizes_in(program: Program) -> list[tuple[int, ...]]:
    """The shapes of `x` for which there is code."""
    return [dict(shapes)["x"] for shapes, _ in program._made]


def set_cost(program: Program, seconds: float) -> None:
    """Has all code of `program` taken this long to compile."""
    program._made.update({key: made._replace(seconds=seconds) for key, made in program._made.items()})


def test_a_larger_batch_runs_by_the_code_for_one_until_other_code_pays_off() -> None:
    program = qmlir.compile(module_of("?"), isa="generic", codegen="llvm")
    program(ROWS[:1])
    set_cost(program, float("inf"))
    for count in (40, 2, 40, 33):
        np.testing.assert_array_equal(program(ROWS[:count])["y"], wanted(count), strict=True)
        assert sizes_in(program) == [(1, 4)]
    spent = {dict(shapes)["x"][0]: seconds for (shapes, _), seconds in program._spent.items()}
    assert spent.keys() == {16, 18, 20}
    assert spent[16] == pytest.approx(spent[18] + spent[20])  # chunks of 16 would have served all of them
    set_cost(program, spent[16])  # as long as the runs took
    np.testing.assert_array_equal(program(ROWS)["y"], wanted(40), strict=True)
    assert sizes_in(program) == [(1, 4), (16, 4)]
    set_cost(program, spent[20])
    np.testing.assert_array_equal(program(ROWS)["y"], wanted(40), strict=True)
    assert sizes_in(program) == [(1, 4), (16, 4), (20, 4)]  # two chunks without padding
    known = program._made_for({"x": ROWS})
    assert known.folder == program._made[tuple({"x": (20, 4)}.items()), ()].folder


def test_code_for_a_larger_batch_is_compiled_in_advance() -> None:
    program = qmlir.compile(module_of("?"), isa="generic", codegen="llvm")
    for count in (1, 40):
        program.compile_for(ROWS[:count])
    assert sizes_in(program) == [(1, 4), (20, 4)]


def test_an_open_batch_is_compiled_for_few_sizes(tmp_path: Path) -> None:
    program = qmlir.compile(module_of("?"), isa="generic")
    for count in (1, 2, 31, 32, 40):
        program.compile_for(ROWS[:count])
        np.testing.assert_array_equal(program(ROWS[:count])["y"], wanted(count), strict=True)
    assert sizes_in(program) == [(1, 4), (16, 4), (20, 4)]
    program.save(tmp_path / "saved")
    np.testing.assert_array_equal(qmlir.load_program(tmp_path / "saved")(ROWS)["y"], wanted(40), strict=True)


def chunk_sizes(width: int, count: int) -> list[int]:
    """The sizes of chunks, the fastest first, of `count` rows by a square layer of so many channels."""
    module = parse_module(
        default_environment().new_context(),
        f"""
        func.func @main(%x: tensor<?x{width}xf32> {{nn.name = "x"}}) -> (tensor<?x{width}xf32> {{nn.name = "y"}}) {{
          %w = nn.constant dense<0.0> : tensor<{width}x{width}xf32>
          %0 = nn.fully_connected %x, %w : (tensor<?x{width}xf32>, tensor<{width}x{width}xf32>) -> tensor<?x{width}xf32>
          func.return %0 : tensor<?x{width}xf32>
        }}""",
    )
    return [dict(each)["x"][0] for each in OpenBatch(module, "main").chunks({"x": (count, width)})]


def test_chunks_of_a_layer_that_is_bound_by_its_weights() -> None:
    """A row uses each weight once. Its work, 4 million products, is an eighth of what several chunks may have."""
    assert chunk_sizes(2048, 7) == [1]
    assert chunk_sizes(2048, 16) == chunk_sizes(2048, 256) == chunk_sizes(2048, 1024) == [16, 1]


def test_chunks_need_little_padding() -> None:
    """At most an eighth of the rows in the chunks of a large batch is padding, and sizes are few."""
    found = {count: chunk_sizes(1024, count) for count in (8, *range(16, 50), 65, 97, 113, 129, 500)}
    assert {each for sizes in found.values() for each in sizes} <= {1, *range(8, 32, 2)}
    for count, (size, *_) in found.items():
        assert -(-count // size) * size * 7 <= count * 8, (count, size)


def test_few_calls_for_little_work() -> None:
    assert chunk_sizes(8, 4096) == [4096, 256, 16, 1]


def test_parts_of_several_targets() -> None:
    module = parse_module(
        default_environment().new_context(),
        f"""
        func.func private @inner(%x: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {{{PART} = "interpreter"}} {{
          %0 = nn.relu %x : tensor<1x4xf32>
          func.return %0 : tensor<1x4xf32>
        }}
        func.func @main(%x: tensor<1x4xf32> {{nn.name = "x"}}) -> (tensor<1x4xf32> {{nn.name = "y"}}) {{
          %0 = func.call @inner(%x) : (tensor<1x4xf32>) -> tensor<1x4xf32>
          func.return %0 : tensor<1x4xf32>
        }}""",
    )
    rows = ROWS.astype(np.float32)
    np.testing.assert_array_equal(qmlir.compile(module)(rows)["y"], np.maximum(rows, 0), strict=True)


_SAME, _SOFT = "tensor<2x4xf32>", "'nn.softmax' op (op) mixes the samples of a batch"


@pytest.mark.parametrize(
    ("form", "result", "expected"),
    [
        ("nn.softmax %x {axis = 0} : tensor<2x4xf32>", _SAME, _SOFT),
        ("nn.softmax %x {axis = 1} : tensor<2x4xf32>", _SAME, 0),
        (
            "nn.reduce_sum %x {axes = [0]} : (tensor<2x4xf32>) -> tensor<1x4xf32>",
            "tensor<1x4xf32>",
            "'nn.reduce_sum' op (op) mixes the samples of a batch",
        ),
        ("nn.transpose %x {permutation = [1, 0]} : (tensor<2x4xf32>) -> tensor<4x2xf32>", "tensor<4x2xf32>", 1),
        ("nn.reshape %x : (tensor<2x4xf32>) -> tensor<8xf32>", "tensor<8xf32>", 0),
        (
            "nn.reshape %x : (tensor<2x4xf32>) -> tensor<1x2x4xf32>",
            "tensor<1x2x4xf32>",
            1,
        ),
        (
            "nn.concat %x, %x {axis = 0} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>",
            "tensor<4x4xf32>",
            "'nn.concat' op (op) may mix the samples of a batch: it concatenates tensors along a dynamic dimension, "
            "which would put padding between them",
        ),
    ],
)
def test_what_is_divided(form: str, result: str, expected: int | str) -> None:
    module = parse_module(
        default_environment().new_context(),
        f"""func.func @main(%x: tensor<2x4xf32> {{nn.name = "x"}}) -> ({result} {{nn.name = "y"}}) {{
          %0 = {form} {{origin = "op"}}
          func.return %0 : {result}
        }}""",
    )
    if isinstance(expected, int):
        assert batch_of(module).outputs == {"y": expected}
        return
    with pytest.raises(DiagnosticError) as raised:
        batch_of(module)
    assert raised.value.diagnostic.message == expected


def test_a_batch_that_meets_is_one_line() -> None:
    module = parse_module(
        default_environment().new_context(),
        """func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}) -> (tensor<1x4xf32> {nn.name = "y"}) {
          %0 = nn.softmax %x {axis = 0} : tensor<1x4xf32> {origin = "mix"}
          func.return %0 : tensor<1x4xf32>
        }""",
    )
    program = qmlir.compile(module, isa="generic")
    with pytest.raises(qmlir.InputError) as raised:
        program(ROWS.astype(np.float32))
    assert str(raised.value) == (
        "input 'x' must have shape 1x4, but got 40x4, and the batch cannot be split: 'nn.softmax' op (mix) mixes the "
        "samples of a batch; help: load the model with shapes={'x': (40, 4)}"
    )


_MIXING = {
    "matmul": """%t = nn.transpose %x {permutation = [1, 0]} : (tensor<?x4xf32>) -> tensor<4x?xf32>
          %y = nn.matmul %x, %t : (tensor<?x4xf32>, tensor<4x?xf32>) -> tensor<?x?xf32>""",
    "slice": "%y = nn.slice %x {starts = [0], ends = [1], axes = [0]} : (tensor<?x4xf32>) -> tensor<?x?xf32>",
    "cast": """%s = nn.shape %x {end = 1} : (tensor<?x4xf32>) -> tensor<1xi64>
          %f = nn.cast %s : (tensor<1xi64>) -> tensor<1xf32>
          %y = nn.mul %x, %f : (tensor<?x4xf32>, tensor<1xf32>) -> tensor<?x?xf32>""",
}


@pytest.mark.parametrize("name", _MIXING)
def test_a_dynamic_size_that_is_no_batch_is_compiled_for_each_size(name: str) -> None:
    """At a batch of one, nothing tells these from operations on each sample."""
    module = parse_module(
        default_environment().new_context(),
        f"""func.func @main(%x: tensor<?x4xf32> {{nn.name = "x"}}) -> (tensor<?x?xf32> {{nn.name = "y"}}) {{
          {_MIXING[name]}
          func.return %y : tensor<?x?xf32>
        }}""",
    )
    program = qmlir.compile(module, isa="generic")
    remarks: list[str] = []
    with diagnostic_handler(lambda found: remarks.append(found.message)):
        for count in (1, 3):
            rows = ROWS[:count].astype(np.float32)
            np.testing.assert_array_equal(program(rows)["y"], qmlir.interpret(module, rows)["y"], strict=True)
    (remark,) = [each for each in remarks if "size" in each]
    assert remark == f"compiling each new input size at its first call: 'nn.{name}' op mixes the samples of a batch"


def test_a_static_axis_does_not_make_a_mixed_size_a_batch(tmp_path: Path) -> None:
    """The second of three axes is that of sequences, but the first is dynamic, and summed up."""
    module = parse_module(
        default_environment().new_context(),
        """func.func @main(%x: tensor<?x4x3xf32> {nn.name = "x"}) -> (tensor<1x4x3xf32> {nn.name = "y"}) {
          %y = nn.reduce_sum %x {axes = [0]} : (tensor<?x4x3xf32>) -> tensor<1x4x3xf32>
          func.return %y : tensor<1x4x3xf32>
        }""",
    )
    with pytest.raises(DiagnosticError, match=r"'nn\.reduce_sum' op mixes the samples of a batch; pass the shapes"):
        qmlir.compile(module, isa="generic").save(tmp_path / "saved")


def test_an_error_on_a_thread_is_raised_once() -> None:
    def work(number: int) -> None:
        if number == 3:
            raise ValueError(number)

    with pytest.raises(ValueError, match="3"):
        spread(100, 2, work)
    assert not runs_alone()
