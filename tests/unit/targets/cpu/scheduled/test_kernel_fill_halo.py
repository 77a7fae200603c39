"""Residual blocks whose images keep their border: every program gives the interpreter's integers, in less memory."""

import re

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.tensor import InsertSliceOp

import qmlir
from qmlir.passmanager.pipeline import Pipeline, step_text
from qmlir.targets.cpu.target import TARGET
from qmlir.targets.lowering import lowering_passes, run_pipeline
from tests.support.nets import Net

_CHANNELS, _SIZE = 8, 8


def _residual(blocks: int) -> tuple[ModuleOp, list[np.ndarray]]:
    """Blocks of two convolutions and an addition, then a convolution by a stride beside one of 1x1, in int8."""
    rng = np.random.default_rng(blocks)
    images = [rng.standard_normal((1, 3, _SIZE, _SIZE), np.float32) for _ in range(4)]
    net = Net()

    def conv(source: str, inputs: int, size: int = 3, stride: int = 1) -> str:
        weights = net.constant(rng.standard_normal((_CHANNELS, inputs, size, size), np.float32) / size / 2)
        return net.node("Conv", source, weights, pads=[size // 2] * 4, strides=[stride] * 2)

    found = net.node("Relu", conv(net.input(images[0]), 3))
    for _ in range(blocks):
        inner = net.node("Relu", conv(found, _CHANNELS))
        found = net.node("Relu", net.node("Add", conv(inner, _CHANNELS), found))
    down = conv(net.node("Relu", conv(found, _CHANNELS, stride=2)), _CHANNELS)
    net.node("Add", down, conv(found, _CHANNELS, size=1, stride=2))
    return qmlir.quantize(qmlir.load(net.model(net.nodes[-1].output[0])), images).module, images


@pytest.mark.parametrize("isa", ["generic", "portable", "avx2-vnni", "neon-dotprod"])
def test_no_integer_changes_and_borders_are_used_again(isa: str) -> None:
    module, images = _residual(2)
    passes = lowering_passes(TARGET, isa=isa)
    names = [step_text(step) for step in passes.steps]
    found = run_pipeline(module.clone(), Pipeline(passes.steps[: names.index("kernel-fill-halo") + 1]))
    insertions = [op for op in found.walk() if isinstance(op, InsertSliceOp)]
    again = [op for op in insertions if isinstance(op.dest.owner, InsertSliceOp)]
    assert len(again) == (0 if isa == "generic" else 2)  # Winograd's convolutions read no window
    expected = list(qmlir.interpret(module, images[:1]).values())
    for given in (found, run_pipeline(module.clone(), passes)):
        for mine, theirs in zip(expected, qmlir.interpret(given, images[:1]).values(), strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    ("isa", "threads", "emitter"), [("portable", 2, "numba"), ("portable", 1, "llvm"), ("host", 2, "llvm")]
)
def test_compiled(isa: str, threads: int, emitter: str) -> None:
    module, images = _residual(2)
    program = qmlir.compile(module, isa=isa, threads=threads, codegen=emitter)
    for image in images:
        for mine, theirs in zip(qmlir.interpret(module, [image]).values(), program([image]).values(), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_the_arena_holds_two_images_of_a_block() -> None:
    module, _ = _residual(3)
    header = str(qmlir.emit(module, name="net").files["net.h"])
    found = re.search(r"ARENA_BYTES (\d+)", header)
    assert found is not None
    image = _CHANNELS * (_SIZE + 2) ** 2
    assert int(found[1]) <= 2 * (image + 63) + _CHANNELS * (_SIZE // 2) ** 2 * 4
