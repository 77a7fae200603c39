"""Compiled programs for the tests of this folder: each is compiled once a session."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.targets.cpu.compiler import Program
from tests.support.nets import Net


def perceptron(batch: int | str) -> Net:
    """A fully connected layer of six inputs and four outputs, and a relu."""
    generator = np.random.default_rng(1)
    net = Net()
    image = net.input(generator.standard_normal((2, 6), np.float32), (batch, 6))
    weights = net.constant(generator.standard_normal((4, 6), np.float32))
    bias = net.constant(generator.standard_normal(4, np.float32))
    net.node("Relu", net.node("Gemm", image, weights, bias, transB=1))
    return net


def quantized(batch: int | str) -> ModuleOp:
    """The same in int8."""
    module = qmlir.load(perceptron(batch).model("Relu1"))
    return qmlir.quantize(module, [np.random.default_rng(2).standard_normal((2, 6), np.float32)]).module


@pytest.fixture(scope="session")
def module() -> ModuleOp:
    """A quantized layer for batches of two."""
    return quantized(2)


@pytest.fixture(scope="session")
def program(module: ModuleOp) -> Program:
    """The compiled layer."""
    return qmlir.compile(module)


@pytest.fixture(scope="session")
def image() -> np.ndarray:
    """An input of the layer."""
    return np.random.default_rng(3).standard_normal((2, 6), np.float32)
