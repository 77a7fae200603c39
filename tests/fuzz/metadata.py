"""Metadata of exported ONNX models: the text of the module, and the header with its digest."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from onnx import ModelProto

import qmlir
from qmlir.environment import default_environment
from qmlir.onnx.export.emission import Settings
from qmlir.onnx.metadata import EXPORT, MODULE, keep
from qmlir.text.parsing import parse_module
from qmlir.tools import qmlir_cli
from tests.fuzz.damage import damage_json, damage_words
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
_WORDS = (
    *rb'''"" " \\ ? : [ ] { } < > ( ) , -> i33 f32 tensor<4xi8> tensor<?x?xf32> !quant.uniform<i8:f32,0.0> dense<1> loc(
    nn.add nn.conv func.func x y -1 99999999999999999999 1e999 0x7FC00000 null true #calib.stats<> @main
    affine_map<()->()> dense_resource<a> tensor<4294967296x4294967296xf32> !x #y "\22 "\zz"'''.split(),
    b'"' + b"a" * 60, b'"' + b"a" * 100_000, b"[" * 5000, b"{a=" * 3000, b"9" * 5000, b"tuple<" * 3000,
)  # fmt: skip


def _whole() -> Mapping[str, bytes]:
    module = parse_module(default_environment().new_context(), _MODULE, "module")
    return {form: qmlir.export_onnx(module, format=form).SerializeToString() for form in ("qdq", "qoperator")}


def _damage(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    """The text of the module, mostly with a digest that agrees; the header; sometimes the key of an entry."""
    model = ModelProto.FromString(data)
    said, chance = {each.key: each.value for each in model.metadata_props}, rng.random()
    entry = next(each for each in model.metadata_props if each.key == (EXPORT if chance < 0.2 else MODULE))
    if chance < 0.05:
        entry.key = str(rng.choice([*said, "qmlir.other"]))
    elif chance < 0.2:
        entry.value = damage_json(rng, entry.value.encode(), [entry.value.encode()]).decode(errors="replace")
    else:
        text = damage_words(rng, entry.value.encode(), [entry.value.encode()], _WORDS)
        del model.metadata_props[:]
        keep(model, text.decode(errors="replace"), Settings())
    return model.SerializeToString()


def _read(path: Path) -> Outcome:
    return run_tool(qmlir_cli.main, ["inspect", str(path)])


METADATA = Kind("metadata", ".onnx", _whole, _damage, _read)
