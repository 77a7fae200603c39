"""Programs of several targets: made, written, read and explained by the commands that make those of one."""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

import qmlir
from qmlir.environment import plugins
from qmlir.targets.cpu.emitters.card import read_card
from qmlir.tools import qmlir_cli

_PLUGIN = ("--load-plugin", "tests.support.targets:CONTRIBUTION")


def _run(*words: object) -> str:
    """What a command prints."""
    out, err = io.StringIO(), io.StringIO()
    code = qmlir_cli.main([*map(str, words), *_PLUGIN], stdin=io.StringIO(), stdout=out, stderr=err)
    assert code == 0, err.getvalue()
    return out.getvalue()


_RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def _plugged() -> Iterator[None]:
    with plugins([_PLUGIN[1]]):
        yield


@pytest.fixture(scope="module")
def quantized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a layer quantized for the device and the host."""
    folder = tmp_path_factory.mktemp("model")
    weights = [
        numpy_helper.from_array(_RNG.normal(size=size).astype(np.float32), name)
        for name, size in (("w", (3, 4)), ("b", (3,)))
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], "fc", transB=1),
        helper.make_node("Tanh", ["h"], ["y"], "act"),
    ]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size]) for name, size in (("x", 4), ("y", 3))]
    graph = helper.make_graph(nodes, "net", ports[:1], ports[1:], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")
    np.savez(folder / "data.npz", x=_RNG.uniform(-1, 1, (16, 4)).astype(np.float32))
    _run("quantize", folder / "net.onnx", "--data", folder / "data.npz", "--device", "toy,cpu", "-o", folder / "q")
    return folder / "q"


def test_a_folder_says_for_which_targets_it_is(quantized: Path) -> None:
    recipe = next(quantized.glob("*.toml")).read_text()
    assert "# --device toy,cpu\n" in recipe
    assert "[[rule]]" not in recipe
    explained = qmlir.explain(quantized, "fc")
    assert explained.is_reproduced
    settings = {each for decision in explained.decisions for slot in decision.slots for each in slot.settings}
    assert {(each.name, each.value, each.source) for each in settings} >= {
        ("storage", "i4", "target 'toy'"),
        ("storage", "i16", "target 'toy'"),
        ("scheme", "symmetric_pow2", "target 'toy'"),
        ("calibrator", "min_max", "default"),
    }


def test_programs_are_written_and_read(quantized: Path, tmp_path: Path) -> None:
    folder = tmp_path / "program"
    inputs = {"x": np.array([[0.5, -0.25, 1.0, 0.125]], np.float32)}
    expected = qmlir.interpret(qmlir.load(next(quantized.glob("*.q.mlir"))), inputs)["y"]
    for _ in range(2):  # the second one takes the place of the first
        said = _run("compile", quantized, "--device", "toy,cpu", "-o", folder)
        assert "main_toy_0: toy" in said
    card = read_card(folder / "program.json")
    assert (card.form, card.parts["main_toy_0"]) == ("parts", "toy")
    assert (folder / "main_toy_0.toy").read_text().startswith("main_toy_0: ")
    assert np.array_equal(qmlir.load_program(folder)(inputs)["y"], expected)
    np.savez(tmp_path / "x.npz", **inputs)
    _run("run", folder, "--input", tmp_path / "x.npz", "-o", tmp_path / "y.npz")
    assert np.array_equal(np.load(tmp_path / "y.npz")["y"], expected)
