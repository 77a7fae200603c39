"""A classifier of two layers whose sensitivity follows by hand, with samples.

The layer `fine` has a weight of 100 on a pixel that is always 0, and of 1 and -1 on the one that decides: 4 bits (steps
of 100/7 or more) round these to 0, and all scores are equal; 8 bits (steps of 100/127) keep their signs. The layer
`coarse` has weights of 0 and 1, which every width has.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, TensorProto, helper, numpy_helper, save

Array = npt.NDArray[np.generic]

FINE = np.array([[100, 1, 0, 0], [100, -1, 0, 0]], np.float32)
COARSE = np.eye(2, dtype=np.float32)


def classifier(batch: int | str = "N") -> ModelProto:
    """Scores in `y` for each row of `x`: the second pixel and its negative."""
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "fine_w"], ["h"], "fine", transB=1),
            helper.make_node("Gemm", ["h", "coarse_w"], ["y"], "coarse[0]", transB=1),
        ],
        "classifier",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 2])],
        [numpy_helper.from_array(FINE, "fine_w"), numpy_helper.from_array(COARSE, "coarse_w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def saved_classifier(folder: Path) -> Path:
    """The model as a file."""
    path = folder / "classifier.onnx"
    save(classifier(), path)
    return path


def samples(count: int = 40) -> tuple[Array, Array]:
    """Inputs far enough from the border that 8 bits tell them apart, and their classes: the first half is class 0."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (count, 4)).astype(np.float32)
    x[:, 0] = 0
    x[:, 1] = generator.uniform(0.3, 1, count) * np.where(np.arange(count) < count // 2, 1, -1)
    return x, (x[:, 1] < 0).astype(np.int64)
