"""Models that are wrong: one line that names the node, exit code 1, nothing written, little memory taken."""

import io
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, defs, helper, numpy_helper, save

from qmlir.tools import qmlir_cli
from tests.support.wrong_models import model_of, node_of, refused

RUN_TOOL = "from qmlir.tools.qmlir_translate import console_main; console_main()"

MEMORY = 2 * 2**30
"""What a process may take in all, in bytes: the imports alone take a few hundred megabytes of addresses."""


def _external(location: str, **entries: int) -> TensorProto:
    tensor = numpy_helper.from_array(np.ones((2, 3), np.float32), "w")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def _cut(dims: Sequence[int], data: bytes) -> TensorProto:
    return TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, raw_data=data)


def _types(operator: str, position: int) -> str:
    """The types that ONNX declares for an input of `operator`, as messages list them."""
    return ", ".join(sorted(defs.get_schema(operator, 21).inputs[position].types))


RELU = node_of("Relu", ["x"])
ADD = node_of("Add", ["x", "w"])
SHAPE = numpy_helper.from_array(np.array([2**20, 2**20], np.int64), "shape")

WRONG_MODELS: dict[str, tuple[ModelProto, str]] = {
    "cycle": (
        model_of(
            [node_of("Add", ["x", "b"], "first", "a"), node_of("Relu", ["a"], "second", "b"), node_of("Abs", ["b"])]
        ),
        "the graph has a cycle: Add node 'first' -> Relu node 'second'",
    ),
    "tensor that nothing gives": (
        model_of([node_of("Add", ["x", "gone"])]),
        "Add node 'n1': tensor 'gone' is not defined",
    ),
    "output that nothing gives": (model_of([RELU], output="z"), "graph output 'z' is not defined"),
    "tensor given twice": (
        model_of([node_of("Relu", ["x"], "n0"), RELU]),
        "Relu node 'n1': redefines tensor 'y', which is already defined by Relu node 'n0'",
    ),
    "wrong shapes": (
        model_of([node_of("MatMul", ["x", "x"])]),
        "MatMul node 'n1': operands of shapes [2, 3] and [2, 3] cannot be multiplied: inner dimensions are 3 and 2",
    ),
    "wrong types": (
        model_of([ADD], initializers=[numpy_helper.from_array(np.ones(3, np.int64), "w")]),
        "Add node 'n1': ",
    ),
    "missing input": (model_of([node_of("Add", ["x", ""])]), "Add node 'n1': missing input 1 ('B')"),
    "string input": (
        model_of([RELU], inputs=[helper.make_tensor_value_info("x", TensorProto.STRING, [2])]),
        f"Relu node 'n1': input 0 ('X') must be one of {_types('Relu', 0)}, but got tensor(string)",
    ),
    "string initializer": (
        model_of([ADD], initializers=[numpy_helper.from_array(np.array(["a"], np.object_), "w")]),
        "uses 'w', a string constant, which is not supported",
    ),
    "initializer of complex numbers": (
        model_of([ADD], initializers=[helper.make_tensor("w", TensorProto.COMPLEX64, [1], [1.0])]),
        "tensor 'w' has unsupported elements of COMPLEX64",
    ),
    "sum of 8-bit floats": (
        model_of([ADD], initializers=[helper.make_tensor("w", TensorProto.FLOAT8E4M3FN, [1], [1.0])]),
        f"Add node 'n1': input 1 ('B') must be one of {_types('Add', 1)}, but got tensor(float8e4m3fn)",
    ),
    "tensor for a sequence": (
        model_of([node_of("SequenceLength", ["x"])]),
        f"SequenceLength node 'n1': input 0 ('input_sequence') must be one of {_types('SequenceLength', 0)}, but got "
        "tensor(float)",
    ),
    "sequence of an open rank": (
        model_of(
            [node_of("SequenceAt", ["x", "i"])],
            inputs=[helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None)],
            initializers=[numpy_helper.from_array(np.array(0), "i")],
        ),
        "SequenceAt node 'n1': 'y' is an element of !nn.sequence<tensor<*xf32>>; declare its rank in the model",
    ),
    "optional input": (
        model_of(
            [RELU],
            inputs=[
                helper.make_value_info(
                    "x", helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
                )
            ],
        ),
        "input 'x' must be a tensor or a sequence of tensors, but got 'optional'",
    ),
    "input without a rank": (
        model_of([RELU], inputs=[helper.make_tensor_value_info("x", TensorProto.FLOAT, None)]),
        "input 'x' has no static rank; set its shape with --shape x=1x3x224x224 (shapes=)",
    ),
    "sequence input": (
        model_of([RELU], inputs=[helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None)]),
        f"Relu node 'n1': input 0 ('X') must be one of {_types('Relu', 0)}, but got seq(tensor(float))",
    ),
    "old operator set": (
        model_of([node_of("Upsample", ["x"], height_scale=1.0, width_scale=1.0)], opset=5),
        "uses operator set 5, which cannot be converted to 7: ",
    ),
    "new operator set": (
        model_of([RELU], opset=999),
        f"uses operator set 999, but the installed 'onnx' package supports up to "
        f"{defs.onnx_opset_version()}; update 'onnx'",
    ),
    "unknown domain": (
        model_of([helper.make_node("Relu", ["x"], ["y"], name="n1", domain="com.example")]),
        "uses 1 unsupported operator: com.example::Relu (1: 'n1')",
    ),
    "too few bytes": (
        model_of([ADD], initializers=[_cut([2, 3], b"1234")]),
        "raw_data size (4 bytes) is too small for the declared shape and type (24 bytes required)",
    ),
    "too many elements for the bytes": (
        model_of([ADD], initializers=[_cut([2**40], b"1234")]),
        "raw_data size (4 bytes) is too small for the declared shape and type (4398046511104 bytes",
    ),
    "negative size": (model_of([ADD], initializers=[_cut([-2, 3], b"")]), "Negative dimension value (tensor name: w)"),
    "missing external data": (
        model_of([ADD], initializers=[_external("none.bin")]),
        "tensor 'w': cannot read 'none.bin'",
    ),
    "external data outside": (
        model_of([ADD], initializers=[_external("../secret.bin")]),
        "tensor 'w' is stored in '../secret.bin', outside the folder of the model",
    ),
    "external data by an absolute path": (
        model_of([ADD], initializers=[_external("/etc/passwd")]),
        "tensor 'w' is stored in '/etc/passwd', outside the folder of the model",
    ),
    "external data through a link": (
        model_of([ADD], initializers=[_external("link.bin")]),
        "tensor 'w' is stored in 'link.bin', outside the folder of the model",
    ),
    "external data beyond the end": (
        model_of([ADD], initializers=[_external("data.bin", offset=8, length=24)]),
        "tensor 'w' is beyond the end of 'data.bin', which has 24 bytes",
    ),
    "external data in a loop of links": (
        model_of([ADD], initializers=[_external("loop.bin")]),
        "tensor 'w' is stored in 'loop.bin', a link to itself",
    ),
    "external data in a pipe, which gives no bytes": (
        model_of([ADD], initializers=[_external("pipe")]),
        "tensor 'w' is stored in 'pipe', which is a link or not a regular file",
    ),
    "external data through a link inside": (
        model_of([ADD], initializers=[_external("inside.bin")]),
        "tensor 'w' is stored in 'inside.bin', which is a link or not a regular file",
    ),
    "external data through a second name": (
        model_of([ADD], initializers=[_external("hard.bin")]),
        "tensor 'w' is stored in 'hard.bin', which is a link or not a regular file",
    ),
    "external data of a wrong length": (
        model_of([ADD], initializers=[_external("data.bin", length=20)]),
        "tensor 'w' of shape [2, 3] must have 24 bytes, but got 20",
    ),
    "external data without a number": (
        model_of([ADD], initializers=[_external("data.bin", offset="many")]),  # pyright: ignore[reportArgumentType]
        "tensor 'w' has an invalid data location",
    ),
    "absurd reshape": (
        model_of([node_of("Reshape", ["x", "shape"])], initializers=[SHAPE]),
        "Reshape node 'n1': cannot reshape [2, 3] (6 elements) to [1048576, 1048576] (1099511627776 elements)",
    ),
    "absurd expansion": (
        model_of(
            [node_of("Expand", ["x", "shape"])],
            inputs=[helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1])],
            initializers=[SHAPE],
        ),
        "Expand node 'n1': returns a tensor of the shape [1048576, 1048576], more than 8589934592 elements",
    ),
    "absurd fill": (
        model_of([node_of("ConstantOfShape", ["shape"])], initializers=[SHAPE]),
        "ConstantOfShape node 'n1': returns a tensor of the shape [1048576, 1048576], more than 8589934592 elements",
    ),
    "missing output of a node": (
        model_of([helper.make_node("Relu", ["x"], ["y", "more"], name="n1")]),
        "Relu node 'n1': expected 0 to 1 outputs, but got 2",
    ),
    "axis out of range": (
        model_of([node_of("Concat", ["x", "x"], axis=5)]),
        "Concat node 'n1': axis 5 is out of range for rank 2",
    ),
    "subgraph": (
        model_of([node_of("If", ["x"], then_branch=helper.make_graph([], "t", [], []))]),
        "If node 'n1': missing attribute 'else_branch' (graph)",
    ),
}


def _write(folder: Path, model: ModelProto | bytes) -> Path:
    path = folder / "models" / "model.onnx"
    path.parent.mkdir()
    (folder / "secret.bin").write_bytes(bytes(24))
    (path.parent / "data.bin").write_bytes(bytes(24))
    (path.parent / "link.bin").symlink_to("../secret.bin")
    (path.parent / "inside.bin").symlink_to("data.bin")
    (path.parent / "loop.bin").symlink_to("loop.bin")
    (path.parent / "other.bin").write_bytes(bytes(24))
    (path.parent / "hard.bin").hardlink_to(path.parent / "other.bin")
    os.mkfifo(path.parent / "pipe")
    if isinstance(model, bytes):
        path.write_bytes(model)
    else:
        save(model, path)
    return path


@pytest.mark.parametrize("what", WRONG_MODELS)
def test_wrong_model(what: str, tmp_path: Path) -> None:
    model, message = WRONG_MODELS[what]
    said = refused(_write(tmp_path, model))
    assert said.startswith("error: ")
    assert message in said


VALID = model_of([RELU]).SerializeToString()


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"no protobuf at all", b"\x08", bytes(range(256)), VALID[: len(VALID) // 2], b"[1, 2]", b"\xff" * 99],
)
def test_no_model(content: bytes, tmp_path: Path) -> None:
    assert "is not an ONNX model" in refused(_write(tmp_path, content))


@pytest.mark.parametrize("end", range(1, len(VALID), 7))
def test_cut_off(end: int, tmp_path: Path) -> None:
    """Wherever a file is cut, there is one line and no module (a cut between fields may leave a valid protobuf)."""
    refused(_write(tmp_path, VALID[:end]))


def test_missing_file(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "none.onnx")
    assert "Is a directory" in refused(tmp_path)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("z=2x3", "the model has no input 'z'"),
        ("x=2x4", "input 'x' must have shape 2x3, but got 2x4"),
        ("x=2", "input 'x' must have shape 2x3, but got 2"),
        ("x", "invalid shape 'x': expected NAME=SIZExSIZE"),
        ("x=2xa", "invalid shape 'x=2xa': expected NAME=SIZExSIZE"),
        ("x=2x-1", "invalid shape 'x=2x-1': expected NAME=SIZExSIZE"),
    ],
)
def test_wrong_shapes(shape: str, message: str, tmp_path: Path) -> None:
    assert message in refused(_write(tmp_path, model_of([RELU])), "--shape", shape)


@pytest.mark.parametrize(
    "what", ["absurd reshape", "absurd expansion", "absurd fill", "too many elements for the bytes"]
)
def test_memory_is_bounded(what: str, tmp_path: Path) -> None:
    path = _write(tmp_path, WRONG_MODELS[what][0])
    done = subprocess.run(
        [sys.executable, "-c", RUN_TOOL, "--import-onnx", str(path)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def _run(path: Path, *arguments: str) -> tuple[int, str]:
    err = io.StringIO()
    code = qmlir_cli.main(["run", str(path), *arguments], stdin=io.StringIO(), stdout=io.StringIO(), stderr=err)
    return code, err.getvalue()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((2, 4), np.float32)}, "input 'x' must have shape 2x3, but got 2x4"),
        ({"x": np.zeros((2, 3), np.float64)}, "input 'x' must be float32, but got float64"),
        ({"z": np.zeros((2, 3), np.float32)}, "has no input 'z'"),
        ({}, "no value for input 'x'"),
        ({"x": np.array([["a"] * 3] * 2)}, "input 'x' must be float32, but got <U1"),
    ],
)
def test_wrong_inputs(arrays: dict[str, np.ndarray], message: str, tmp_path: Path) -> None:
    path = _write(tmp_path, model_of([RELU]))
    np.savez(tmp_path / "in.npz", **arrays)
    target = tmp_path / "out.npz"
    code, said = _run(path, "--input", str(tmp_path / "in.npz"), "-o", str(target))
    assert code == 1
    assert message in said
    assert "Traceback" not in said
    assert not target.exists()


def test_input_files_that_hold_code_arerefused(tmp_path: Path) -> None:
    path = _write(tmp_path, model_of([RELU]))
    np.save(tmp_path / "x.npy", np.array([print], dtype=object), allow_pickle=True)
    code, said = _run(path, "--input", f"x={tmp_path / 'x.npy'}")
    assert code == 1
    assert "it contains Python objects, which cannot be loaded safely" in said
