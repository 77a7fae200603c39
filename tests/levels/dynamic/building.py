"""Models of one line: `x:N,4 -> y = MatMul(x, w4x3)`, with weights that their names describe."""

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array

SIZES = (1, 2, 3, 5, 17)
"""Of every dynamic dimension."""

_NUMPY = {"float": np.float32, "int64": np.int64, "bool": np.bool_}
_WEIGHT = re.compile(r"\b([wp])(\d+(?:x\d+)*)\b")
_INTEGERS = re.compile(r"\b([ks])((?:_m?\d+)+)\b")
_NUMBER = re.compile(r"\bf_(m?\d+)(?:p(\d+))?\b")


@dataclass(frozen=True)
class Port:
    """One input: its element type, and its sizes, of which some are names."""

    name: str
    kind: str
    sizes: tuple[str, ...]

    def text(self) -> str:
        """As ONNX's text has it."""
        return f"{self.kind}[{','.join(self.sizes)}] {self.name}"


@dataclass(frozen=True)
class DynamicModel:
    """A model with the sizes that its inputs are given."""

    line: str
    is_quantized: bool = False
    others: Mapping[str, int] = field(default_factory=dict[str, int])
    """The dynamic dimensions that have one size in all runs; the others have that of the run."""

    @property
    def ports(self) -> list[Port]:
        """The inputs."""
        found: list[Port] = []
        for each in self.line.partition("->")[0].split():
            name, _, sizes = each.partition(":")
            sizes, _, kind = sizes.partition("!")
            found.append(Port(name, kind or "float", tuple(sizes.split(",")) if sizes else ()))
        return found

    @property
    def proto(self) -> ModelProto:
        """The ONNX model. Its outputs are the results that no node reads, and those whose names begin with `out`."""
        nodes = self.line.partition("->")[2].strip()
        made = [name for names in re.findall(r"([\w ,]+?) = ", nodes) for name in re.findall(r"\w+", names)]
        read = " ".join(re.findall(r"\(([^()]*)\)", nodes))
        outputs = [name for name in made if name.startswith("out") or not re.search(rf"\b{name}\b", read)]
        takes, gives = ", ".join(port.text() for port in self.ports), ", ".join(outputs)
        header = '<ir_version: 9, opset_import: ["" : 20, "com.microsoft" : 1]>'
        proto = parser.parse_model(f"{header} g ({takes}) => ({gives}) {{ {nodes} }}")
        weights = _weights(nodes)
        proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
        return proto

    def inputs(self, size: int) -> dict[str, Array]:
        """Inputs whose dynamic dimensions have `size`."""
        rng = np.random.default_rng([size, zlib.crc32(self.line.encode())])
        found: dict[str, Array] = {}
        for port in self.ports:
            shape = [int(each) if each.isdigit() else self.others.get(each, size) for each in port.sizes]
            found[port.name] = _values(rng, port.kind, shape)
        return found

    def module(self) -> ModuleOp:
        """The model, quantized if it should be."""
        loaded = qmlir.load(self.proto)
        if not self.is_quantized:
            return loaded
        return qmlir.quantize(loaded, [self.inputs(size) for size in SIZES[1:4]], validate=False).module


def _values(rng: np.random.Generator, kind: str, shape: list[int]) -> Array:
    if kind == "float":
        return rng.uniform(-1, 1, shape).astype(np.float32)
    return rng.integers(0, 2 if kind == "bool" else 3, shape).astype(_NUMPY[kind])


def _weights(nodes: str) -> dict[str, Array]:
    """The constants that `nodes` names: `w4x3`, the positive `p4`, the integers `k_1_m1`, `s_2`, the number `f_0p5`."""
    rng = np.random.default_rng(zlib.crc32(nodes.encode()))
    found: dict[str, Any] = {}
    for match in _WEIGHT.finditer(nodes):
        shape = [int(size) for size in match[2].split("x")]
        values = rng.uniform(-1, 1, shape)
        found[match[0]] = (values if match[1] == "w" else 1 + values / 2).astype(np.float32)
    for match in _INTEGERS.finditer(nodes):
        numbers = np.array([int(each.replace("m", "-")) for each in match[2].split("_")[1:]], np.int64)
        found[match[0]] = numbers if match[1] == "k" else numbers[0]
    for match in _NUMBER.finditer(nodes):
        found[match[0]] = np.float32(f"{match[1].replace('m', '-')}.{match[2] or 0}")
    return {name: np.asarray(array) for name, array in found.items()}
