"""Metadata of exported ONNX models: attributes, types and JSON as text, which the import takes up where they agree."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

import qmlir
from qmlir.environment import default_environment
from qmlir.text.parsing import parse_module
from qmlir.tools import qmlir_cli
from tests.fuzz.damage import damage_bytes, damage_json, damage_words
from tests.fuzz.frame import Kind, Outcome, run_tool

_MODULE = """
!x = !quant.uniform<i8:f32, 0.5:1>
!y = !quant.uniform<i8<-127:127>:f32, 0.75>
func.func @main(%x: tensor<4x!x> {nn.name = "x"}) -> (tensor<4x!y> {nn.name = "y"}) {
  %c = nn.constant dense<[1, 2, 3, 4]> : tensor<4xi8> -> tensor<4x!x> {origin = "c"}
  %0 = nn.add %x, %c : (tensor<4x!x>, tensor<4x!x>) -> tensor<4x!y>
    {calib.stats = #calib.stats<min = -1.0, max = 2.0, mean = 0.5, std = 0.25, count = 8>, origin = "sum"}
  %1 = nn.leaky_relu %0 {alpha = 0.25 : f32} : tensor<4x!y> {origin = "leaky"}
  func.return %1 : tensor<4x!y>
}
"""
_JSON = ("qmlir.export", "qmlir.operands", "qmlir.results")
_WORDS = (
    *rb'''"" " \\ ? : [ ] { } < > ( ) , -> i33 f32 tensor<4xi8> tensor<?x?xf32> !quant.uniform<i8:f32,0.0> dense<1> loc(
    nn.add nn.conv func.func x y -1 99999999999999999999 1e999 0x7FC00000 null true #calib.stats<> @main
    affine_map<()->()> dense_resource<a> tensor<4294967296x4294967296xf32> !x #y "\22 "\zz"'''.split(),
    b'"' + b"a" * 60, b'"' + b"a" * 100_000, b"[" * 5000, b"{a=" * 3000, b"9" * 5000, b"tuple<" * 3000,
)  # fmt: skip


def _whole() -> Mapping[str, bytes]:
    module = parse_module(default_environment().new_context(), _MODULE, "module")
    return {form: qmlir.export_onnx(module, format=form).SerializeToString() for form in ("qdq", "qoperator")}


def _entries(model: ModelProto) -> list[Any]:
    graph = model.graph
    protos = (model, graph, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer)
    return [entry for proto in protos for entry in proto.metadata_props]


def _damage(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    """The values of one to three entries; sometimes a key, or all values of one key."""
    model = ModelProto.FromString(data)
    entries = _entries(model)
    values = [entry.value.encode() for entry in entries]
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        entry = entries[int(rng.integers(len(entries)))]
        before, chance = entry.value.encode(), rng.random()
        if chance < 0.05:
            entry.key = entries[int(rng.integers(len(entries)))].key
            continue
        if chance > 0.75:
            after = _WORDS[int(rng.integers(len(_WORDS)))]
        elif entry.key in _JSON and chance < 0.5:
            after = damage_json(rng, before, values)
        elif chance < 0.3:
            after = damage_bytes(rng, before, values)
        else:
            after = damage_words(rng, before, values, _WORDS)
        for each in entries if chance > 0.9 else [entry]:
            if each.key == entry.key:
                each.value = after.decode(errors="replace")
    return model.SerializeToString()


def _read(path: Path) -> Outcome:
    return run_tool(qmlir_cli.main, ["inspect", str(path)])


METADATA = Kind("metadata", ".onnx", _whole, _damage, _read)
