"""Every rule of differentiation against torch's autograd, in f64: to 1e-10 of the largest element of a gradient.

torch is no part of the development tools: `pip install -e '.[torch]'`.
"""

from typing import Any

import numpy as np
import pytest

import qmlir
from tests.support.gradient_rows import NAMES, ROWS
from tests.support.gradients import Row, gradients_of, module_of

torch: Any = pytest.importorskip("torch", reason="needs torch: pip install -e '.[torch]'")

BY_TORCH = [pytest.param(row, id=name) for row, name in zip(ROWS, NAMES, strict=True) if row.torch is not None]


def compare(row: Row, seed: int) -> None:
    """One random operation: the results first, so that both are of the same function."""
    random = np.random.default_rng(seed)
    drawn = row.draw(random)
    module, inputs = module_of(row, drawn)
    results = qmlir.interpret(module, inputs)
    tensors = [torch.tensor(x, requires_grad=x.dtype == np.float64) for x in inputs.values()]
    assert row.torch is not None
    given = row.torch(torch, drawn.properties, *tensors)
    given = given if isinstance(given, tuple) else (given,)
    seeds = {name: random.uniform(-1, 1, results[name].shape) for name, _ in zip(results, given, strict=False)}
    for name, expected in zip(seeds, given, strict=True):
        np.testing.assert_allclose(results[name], expected.detach().numpy(), rtol=1e-12, atol=1e-12)
    total = sum((each * torch.tensor(seed)).sum() for each, seed in zip(given, seeds.values(), strict=True))
    total.backward()
    found = gradients_of(module, inputs, {name: np.zeros_like(y) for name, y in results.items()} | seeds, drawn.wrt)
    for name, tensor in zip(inputs, tensors, strict=True):
        if tensor.requires_grad and (not drawn.wrt or name == drawn.wrt):
            expected = np.zeros(tensor.shape) if tensor.grad is None else tensor.grad.numpy()
            size = np.abs(expected).max(initial=0.0)
            np.testing.assert_allclose(found[name], expected, rtol=1e-10, atol=1e-10 * max(size, 1e-3))


@pytest.mark.referee
@pytest.mark.parametrize("row", BY_TORCH)
def test_a_rule(row: Row) -> None:
    for seed in range(4):
        compare(row, seed)


@pytest.mark.referee
@pytest.mark.sweep
@pytest.mark.parametrize("row", BY_TORCH)
def test_many_draws(row: Row) -> None:
    for seed in range(4, 200):
        compare(row, seed)
