"""The real architectures that the `onnx` package ships, with the filled weights that they have or with random ones."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, numpy_helper

from qmlir.onnx.reading import read_model

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
ARCHITECTURES = tuple(sorted(path.stem.removeprefix("light_") for path in FOLDER.glob("light_*.onnx")))


def filled(name: str) -> ModelProto:
    """The architecture as it is shipped: every weight filled with one number by a ConstantOfShape."""
    return read_model(FOLDER / f"light_{name}.onnx").proto


def _users(model: ModelProto) -> dict[str, tuple[NodeProto, int]]:
    """The first user of each tensor, and the place at which it uses it."""
    users: dict[str, tuple[NodeProto, int]] = {}
    for node in model.graph.node:
        for position, name in enumerate(node.input):
            users.setdefault(name, (node, position))
    return users


def _is_factor(name: str, users: dict[str, tuple[NodeProto, int]]) -> bool:
    """Whether a vector multiplies: the scale or the variance of a batch normalization, or a factor of a Mul."""
    node, position = users[name]
    if node.op_type == "Unsqueeze":
        node, position = users[node.output[0]]
    return node.op_type == "Mul" or (node.op_type == "BatchNormalization" and position in (1, 4))


def _random(shape: tuple[int, ...], factor: bool, generator: np.random.Generator) -> np.ndarray:
    if len(shape) > 1:  # as He et al. initialize: the size of the activations stays about the same
        values = generator.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))
    else:
        values = generator.uniform(0.5, 1.5, shape) if factor else 0.1 * generator.standard_normal(shape)
    return values.astype(np.float32)


def with_random_weights(name: str, seed: int = 0) -> ModelProto:
    """The architecture with random weights as initializers, at an IR version in which these are no inputs."""
    model = filled(name)
    graph = model.graph
    generator = np.random.default_rng(seed)
    users = _users(model)
    shapes = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    kept: list[NodeProto] = []
    for node in graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        shape = tuple(int(size) for size in shapes[node.input[0]])
        values = _random(shape, _is_factor(node.output[0], users), generator)
        graph.initializer.append(numpy_helper.from_array(values, node.output[0]))
    del graph.node[:]
    graph.node.extend(kept)
    used = {name for node in kept for name in node.input}
    initializers = [each for each in graph.initializer if each.name in used]
    del graph.initializer[:]
    graph.initializer.extend(initializers)
    given = {each.name for each in initializers}
    inputs = [each for each in graph.input if each.name in used - given]
    del graph.input[:]
    graph.input.extend(inputs)
    model.ir_version = 8
    return model


def random_inputs(model: ModelProto, seed: int = 0) -> dict[str, np.ndarray]:
    """An array for each input that no initializer gives."""
    generator = np.random.default_rng(seed)
    return {name: generator.standard_normal(shape).astype(np.float32) for name, shape in _input_shapes(model)}


def _input_shapes(model: ModelProto) -> Iterator[tuple[str, tuple[int, ...]]]:
    given = {each.name for each in model.graph.initializer}
    for each in model.graph.input:
        if each.name not in given:
            yield each.name, tuple(dim.dim_value for dim in each.type.tensor_type.shape.dim)
