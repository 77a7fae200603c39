"""Programs of any length: equal to the interpreter at every size, and nothing is compiled after they are made."""

import math
import pickle
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy as safetensors
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.lengths import FOLLOWS
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.specialization.padding import outline
from qmlir.targets.cpu import compiler
from qmlir.targets.cpu.compiler import Program
from qmlir.targets.cpu.length_buckets import capacities_up_to, followed_lengths, padded_modules
from qmlir.targets.cpu.lowering import lowered
from qmlir.targets.cpu.package import CONSTANTS, own_constants

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


def _constants(path: Path) -> list[tuple[str, tuple[int, ...], bytes]]:
    arrays = safetensors.load(path.read_bytes()).values()
    return [(array.dtype.str, array.shape, array.tobytes()) for array in arrays]


def _pooled() -> ModelProto:
    """The maximum over the rows of a product with weights."""
    weights = numpy_helper.from_array(np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["xw"]),
        helper.make_node("ReduceMax", ["xw", "axes"], ["y"], keepdims=0),
    ]
    axes = numpy_helper.from_array(np.array([1]), "axes")
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, "s", 4])]
    results = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])]
    graph = helper.make_graph(nodes, "pooled", ports, results, [weights, axes])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_capacities_share_constants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    program = qmlir.compile(qmlir.load(_pooled()), isa="generic", max_sizes={"s": CAPACITIES}, codegen="llvm")
    program.save(tmp_path / "saved")
    own = [_constants(part.folder / CONSTANTS) for part in program.parts]
    distinct = {each for part in own for each in part}
    assert len(distinct) < sum(map(len, own))
    stored = [each for path in (tmp_path / "saved").rglob(CONSTANTS) for each in _constants(path)]
    assert sorted(stored) == sorted(distinct)
    for name, part in zip(("part0", "part1"), own, strict=True):
        folder = tmp_path / "saved" / name
        alone = tmp_path / f"{name}.safetensors"
        alone.write_bytes(own_constants(folder, (folder / CONSTANTS).read_bytes()))
        assert sorted(_constants(alone)) == sorted(part)
    first, second = ({each.tobytes(): each for each in part.call._constants} for part in program.parts)
    assert all(first[each] is second[each] for each in first.keys() & second.keys())
    x = {"x": np.random.default_rng(1).normal(size=(1, 5, 4)).astype(np.float32)}
    assert_equal(qmlir.load_program(tmp_path / "saved")(x), program(x))
    (tmp_path / "saved" / CONSTANTS).write_bytes(b"")
    with pytest.raises(DiagnosticError, match=rf"{CONSTANTS} is damaged"):
        qmlir.load_program(tmp_path / "saved")


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


@cache
def _encoder(width: int = 16) -> ModuleOp:
    """Attention of two heads over all rows, with a residual, quantized to 8 bits; the number of rows is dynamic."""
    rng = np.random.default_rng(3)
    constants = {name: rng.normal(size=(width, width)).astype(np.float32) for name in ("wq", "wk", "wv")}
    constants |= {"split": np.array([0, 0, 2, width // 2]), "join": np.array([0, 0, width])}
    nodes = [helper.make_node("MatMul", ["x", f"w{each}"], [each]) for each in "qkv"]
    nodes += [helper.make_node("Reshape", [each, "split"], [f"{each}s"]) for each in "qkv"]
    turns = {"q": [0, 2, 1, 3], "k": [0, 2, 3, 1], "v": [0, 2, 1, 3]}
    nodes += [helper.make_node("Transpose", [f"{each}s"], [f"{each}t"], perm=turns[each]) for each in "qkv"]
    nodes += [
        helper.make_node("MatMul", ["qt", "kt"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "vt"], ["mixed"]),
        helper.make_node("Transpose", ["mixed"], ["turned"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["turned", "join"], ["joined"]),
        helper.make_node("Add", ["joined", "x"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, "s", width]) for name in "xy"]
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "encoder", ports[:1], ports[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return qmlir.quantize(qmlir.load(model), [_rows(length, width) for length in (8, 40)]).module


def _rows(length: int, width: int = 16) -> dict[str, Array]:
    return {"x": np.random.default_rng(length).normal(size=(1, length, width)).astype(np.float32)}


@pytest.mark.parametrize(("isa", "threads"), [("generic", 1), ("generic", 3), ("host", 2)])
def test_one_capacity_serves_all_sizes(isa: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    program = qmlir.compile(_encoder(), isa=isa, threads=threads, max_sizes={"s": 90}, codegen="llvm")
    (part,) = program.parts
    for length in (90, 1, 17, 64, 31, 32, 33):
        for arena in part.call._arenas:  # nothing beyond the size may be read
            arena[:] = length
        assert_equal(program(_rows(length)), qmlir.interpret(_encoder(), _rows(length)))


@pytest.mark.parametrize("isa", ["avx2", "avx2-vnni", "avx512-vnni", "neon", "neon-dotprod"])
def test_loops_of_large_inputs_follow_the_size(isa: str) -> None:
    """Tiles along the dimension divide its unit, also where a large input is divided into panels."""
    module = _encoder(384)
    followed = followed_lengths(module, outline(module), {"s": 4096}, isa)
    (padded,) = padded_modules(module, [{"s": math.prod(followed["s"])}], "main", followed)
    assert FOLLOWS in lowered(padded.module, isa).attributes


def test_computed_elements_follow_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scratch memory beyond the rounded size stays as it was."""
    monkeypatch.undo()
    program = qmlir.compile(_encoder(), isa="generic", max_sizes={"s": 90}, codegen="llvm")
    changed = list[int]()
    for length in (1, 45, 88):
        program(_rows(90))
        (arena,) = program.parts[0].call._arenas
        arena[:] = 77
        program(_rows(length))
        changed.append(int(np.count_nonzero(arena != 77)))
    assert changed[0] * 4 < changed[1] < changed[2] * 0.75


def test_a_prime_that_divides_a_bound_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 179 columns, 176 = 11 * 16 fill vectors, and 88 = 11 * 8 is the first capacity that is tried for 80 rows."""
    monkeypatch.undo()
    nodes = [
        helper.make_node("ReduceMax", ["x", "axes"], ["most"]),
        helper.make_node("Softmax", ["most"], ["y"], axis=1),
    ]
    axes = numpy_helper.from_array(np.array([2]), "axes")
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, "s", 179])]
    results = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, "s", 1])]
    graph = helper.make_graph(nodes, "columns", ports, results, [axes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    module = qmlir.load(model)
    program = qmlir.compile(module, isa="generic", max_sizes={"s": 80}, codegen="llvm")
    assert program.any_length is not None
    assert program.any_length.capacities == {"s": [104]}
    for size in (3, 80):
        given = {"x": np.random.default_rng(size).normal(size=(1, size, 179)).astype(np.float32)}
        assert_equal(program(given), qmlir.interpret(module, given))


def test_capacities_grow_by_powers_of_two() -> None:
    assert capacities_up_to(256) == (16, 32, 64, 128, 256)
    assert capacities_up_to(100) == (16, 32, 64, 100)
    assert capacities_up_to(5) == (5,)
