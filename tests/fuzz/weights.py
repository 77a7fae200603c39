"""Safetensors: the weights beside a module, and the files of a saved program that are data."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import qmlir
from qmlir.text.printing import ModulePrinter, PrintOptions, Weights
from qmlir.text.weights import WeightsWriter
from qmlir.tools import qmlir_cli, qmlir_opt
from tests.fuzz.damage import damage_bytes, damage_words
from tests.fuzz.frame import Kind, Outcome, run_tool

_TEXT = """
func.func @main(%x: tensor<2x8xf32>) -> tensor<2x64xf32> {{
  %w = nn.constant dense<{weights}> : tensor<64x8xf32>
  %b = nn.constant dense<0.5> : tensor<64xf32>
  %0 = nn.fully_connected %x, %w, %b : (tensor<2x8xf32>, tensor<64x8xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  func.return %0 : tensor<2x64xf32>
}}
"""
_WORDS = rb"""
"" 0 1 -1 2048 99999999999999999999 1e999 null [] {} "I8" "F64" "U128" "dtype" "shape" "data_offsets" "w0" [0,2048] , }
""".split()
_BESIDE = "file.safetensors"


@cache
def _module() -> tuple[str, bytes, TemporaryDirectory[str]]:
    """The text of a module, its weights, and a folder with its program, which lasts as long as this process."""
    folder = TemporaryDirectory(prefix="qmlir-fuzz-program-")
    source = Path(folder.name) / "source.mlir"
    weights = np.arange(512).reshape(64, 8) / 64
    source.write_text(_TEXT.format(weights=weights.tolist()))
    module = qmlir.load(source)
    qmlir.compile(module).save(Path(folder.name) / "program")
    np.save(Path(folder.name) / "x.npy", np.ones((2, 8), np.float32))
    writer = WeightsWriter(_BESIDE)
    text = ModulePrinter(PrintOptions(weights=Weights.SIDECAR), writer).module_text(module)
    return text, b"".join(writer.pieces()), folder


def _damage(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    """The header, word by word, or bytes anywhere."""
    length = int.from_bytes(data[:8], "little")
    if rng.random() < 0.4 or not 0 < length < len(data):
        return damage_bytes(rng, data, others)
    header = damage_words(rng, data[8 : 8 + length], [data[8 : 8 + length]], _WORDS)
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def _read_weights(path: Path) -> Outcome:
    path.with_name("module.mlir").write_text(_module()[0])
    return run_tool(qmlir_opt.main, [str(path.with_name("module.mlir")), "-p", "canonicalize"])


def _file_of_program(name: str) -> Mapping[str, bytes]:
    return {name: (Path(_module()[2].name) / "program" / name).read_bytes()}


def _read_program(path: Path, name: str) -> Outcome:
    """The program with one of its files exchanged, loaded anew."""
    whole, program = Path(_module()[2].name), path.with_name("program")
    if not program.exists():
        shutil.copytree(whole / "program", program)
    path.replace(program / name)
    for each in [each for each in sys.modules if each.startswith("qmlir_saved_")]:
        del sys.modules[each]
    return run_tool(qmlir_cli.main, ["run", str(program), "--input", f"input0={whole / 'x.npy'}"])


def _kind_of(name: str) -> Kind:
    stem, _, suffix = name.partition(".")
    return Kind(stem, f".{suffix}", lambda: _file_of_program(name), _damage, lambda path: _read_program(path, name))


WEIGHTS = Kind("weights", ".safetensors", lambda: {"weights": _module()[1]}, _damage, _read_weights)
CONSTANTS, MACHINE_CODE = map(_kind_of, ("constants.safetensors", "machine_code.bin"))
