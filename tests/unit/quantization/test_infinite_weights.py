"""A product with an infinite weight stays in float, and a warning names it: no integer stands for infinity."""

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import Diagnostic, Severity, diagnostic_handler
from tests.support.nets import Net


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
@pytest.mark.parametrize("effort", [None, 3])
def test_an_infinite_weight(infinity: float, effort: int | None) -> None:
    """The convolution before it is quantized all the same."""
    rng = np.random.default_rng(0)
    images = rng.uniform(0.1, 1, (8, 1, 3, 6, 6)).astype(np.float32)
    first, second = np.abs(rng.standard_normal((2, 4, 4, 1, 1), np.float32))
    bias = rng.standard_normal(4, np.float32)
    second[1, 2] = infinity
    net = Net()
    x = net.input(images[0], ("N", 3, 6, 6))
    inner = net.node("Conv", x, net.constant(first[:, :3]), net.constant(np.ones(4, np.float32)))  # above 0: no NaN
    outer = net.node("Conv", inner, net.constant(second), net.constant(bias))
    module = qmlir.load(net.model(outer))
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        found = qmlir.quantize(module, {"x0": images[:, 0]}, effort=effort, validate=False)
    messages = {each.message for each in said if each.severity is Severity.WARNING and "infinite" in each.message}
    assert len(messages) == 1
    (message,) = messages
    assert outer in message
    assert "not quantized: it has an infinite weight" in message
    weights = [str(op.operands[1].type) for op in found.module.walk() if op.name == "nn.conv"]
    assert ["!quant.uniform" in each for each in weights] == [True, False]
    sample = {"x0": images[0]}
    wanted, given = (qmlir.interpret(each, sample)[outer] for each in (module, found.module))
    np.testing.assert_array_equal(np.isinf(given), np.isinf(wanted))
    assert np.isinf(given[:, 1]).all()
