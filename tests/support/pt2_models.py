"""Writes archives of `torch.export.save` by hand, without torch."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qmlir.arithmetic.arrays import Array

_TYPES = {"float32": 7, "int8": 2, "uint8": 1, "int64": 5, "bool": 12}


def size(value: int | str) -> dict[str, Any]:
    """Returns a size: a number, or the symbol of a dynamic dimension."""
    if isinstance(value, int):
        return {"as_int": value}
    return {"as_expr": {"expr_str": f"Symbol('{value}', positive=True, integer=True)", "hint": {"as_int": 2}}}


def meta(shape: Sequence[int | str], dtype: str = "float32") -> dict[str, Any]:
    """Returns the declaration of a tensor in row-major order."""
    strides = [1]
    for each in reversed(shape[1:]):
        strides.insert(0, strides[0] * (each if isinstance(each, int) else 2))
    return {
        "dtype": _TYPES[dtype], "sizes": [size(each) for each in shape], "requires_grad": False,
        "device": {"type": "cpu", "index": None}, "strides": [size(each) for each in strides[: len(shape)]],
        "storage_offset": {"as_int": 0}, "layout": 7,
    }  # fmt: skip


def call(target: str, output: str, module: str = "", **arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a node, whose arguments are objects of one entry, such as `{"as_int": 1}`."""
    inputs = [{"name": name, "arg": held, "kind": 1} for name, held in arguments.items()]
    stack = f"L__self__,,Model;L__self__x,{module},torch.nn.Module"
    return {
        "target": f"torch.ops.{target}", "inputs": inputs, "outputs": [{"as_tensor": {"name": output}}],
        "metadata": {"nn_module_stack": stack}, "name": output,
    }  # fmt: skip


def tensor(name: str) -> dict[str, Any]:
    """Returns an argument that is a tensor."""
    return {"as_tensor": {"name": name}}


def program(
    inputs: Sequence[str], outputs: Sequence[str], nodes: Sequence[Any], tensors: Mapping[str, Any],
    weights: Mapping[str, str] | None = None, ranges: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Returns the JSON of a program; `weights` are names in the graph, each with its name in the module."""
    specs: list[Any] = [
        {"parameter": {"arg": {"name": name}, "parameter_name": path}} for name, path in (weights or {}).items()
    ]
    specs += [{"user_input": {"arg": tensor(name)}} for name in inputs]
    graph = {"inputs": [], "outputs": [], "nodes": nodes, "tensor_values": tensors, "sym_int_values": {}}
    signature = {"input_specs": specs, "output_specs": [{"user_output": {"arg": tensor(name)}} for name in outputs]}
    return {
        "graph_module": {"graph": graph, "signature": signature}, "range_constraints": ranges or {},
        "schema_version": {"major": 8, "minor": 20}, "torch_version": "2.13.0",
    }  # fmt: skip


def config(weights: Mapping[str, Array]) -> dict[str, Any]:
    """Returns the JSON of the weights."""
    return {
        "config": {
            name: {
                "path_name": f"weight_{index}",
                "is_param": True,
                "use_pickle": False,
                "tensor_meta": meta(array.shape, array.dtype.name),
            }
            for index, (name, array) in enumerate(weights.items())
        }
    }


def archive(root: Any, weights: Mapping[str, Array], listed: Any = None) -> bytes:
    """Returns the bytes of an archive; `listed` replaces the JSON of the weights."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("model/byteorder", "little")
        file.writestr("model/models/model.json", json.dumps(root))
        file.writestr("model/data/weights/model_weights_config.json", json.dumps(listed or config(weights)))
        for index, array in enumerate(weights.values()):
            file.writestr(f"model/data/weights/weight_{index}", np.ascontiguousarray(array).tobytes())
    return content.getvalue()


def layer() -> tuple[dict[str, Any], dict[str, Array]]:
    """Returns a linear layer with a relu, a dynamic batch and small integers as weights."""
    weights = {"a.weight": np.arange(6, dtype=np.float32).reshape(2, 3) - 2, "a.bias": np.array([1, -1], np.float32)}
    nodes = [
        call("aten.linear.default", "linear", "a", input=tensor("x"), weight=tensor("w"), bias=tensor("b")),
        call("aten.relu.default", "relu", self=tensor("linear")),
    ]
    tensors = {
        "x": meta(("n", 3)), "w": meta((2, 3)), "b": meta((2,)), "linear": meta(("n", 2)), "relu": meta(("n", 2))
    }  # fmt: skip
    names, ranges = {"w": "a.weight", "b": "a.bias"}, {"n": {"min_val": 2, "max_val": 64}}
    return program(["x"], ["relu"], nodes, tensors, names, ranges), weights
