"""Emitted objects, linked by other compilers and run by emulators of other processors: the interpreter's bits."""

import shutil

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks import objects
from benchmarks.objects import DISASSEMBLER, MACHINES, OtherMachine, differing, instruction_rows
from tests.support.nets import Net


def _small() -> tuple[ModuleOp, list[list[np.ndarray]]]:
    """A convolution, a depthwise one and a product in int8, and images."""
    rng = np.random.default_rng(0)
    images = [rng.standard_normal((1, 3, 8, 8), np.float32) for _ in range(4)]
    net = Net()
    first = net.node(
        "Conv", net.input(images[0]), net.constant(rng.standard_normal((8, 3, 3, 3), np.float32)), pads=[1] * 4
    )
    each = net.node("Conv", first, net.constant(rng.standard_normal((8, 1, 3, 3), np.float32)), group=8)
    flat = net.node("Flatten", net.node("Relu", each))
    net.node("Gemm", flat, net.constant(rng.standard_normal((10, 288), np.float32)), transB=1)
    return qmlir.quantize(qmlir.load(net.model("Gemm4")), images).module, [[image] for image in images]


@pytest.mark.referee
@pytest.mark.parametrize("machine", MACHINES.values(), ids=list(MACHINES))
def test_a_net_on_another_machine(machine: OtherMachine) -> None:
    if machine.missing:
        pytest.skip(f"not installed: {machine.missing}")
    module, samples = _small()
    assert differing(machine, module, samples) == (0, 40)


@pytest.mark.referee
@pytest.mark.skipif(shutil.which(DISASSEMBLER) is None, reason=f"not installed: {DISASSEMBLER}")
def test_inner_loops_of_dot_products_meet_their_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {row.verdict for row in instruction_rows() if row.bar is not None} == {"met"}
    monkeypatch.setattr(objects, "SLACK", 1.0)
    assert objects.main(["--instructions"]) == 1
