"""The file of `--config`: a damaged one is read or rejected."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

from qmlir.tools import qmlir_cli
from tests.fuzz.damage import damage_words
from tests.fuzz.frame import Kind, Outcome, run_tool

_WORDS = rb"""
"" "*" "../x" "/dev/null" "\u202e" "\u001b[31m" "\u0000" "a=b" 0 -1 1e999 nan 99999999999999999999 true [] [[]] {} [x]
1979-05-27 quiet output data shape threads title passes input labels recipe processes common quantize "x=1x2" i8 [["
""".split()
_LONG = (b"[" * 10_000, b"9" * 5000)
_COMMANDS = ("quantize", "run", "report", "search", "profile", "compile")
_WHOLE = b"""\
[common]
threads = 2
quiet = true
shape = ["x=1x2"]
[quantize]
data = "samples.npz"
output = "out"
weights = "i4"
recipe = "rules.toml"
exact = false
[run]
input = ["x=a.npy", "b.npz"]
[report]
title = "digits"
limit = 4
[search]
bound = 20.5
labels = "y=labels.npy"
[profile]
passes = "nn-decompose"
output = "p.json"
"""


def _whole() -> Mapping[str, bytes]:
    return {"all": _WHOLE}


def _damage(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    return damage_words(rng, data, others, (*_WORDS, *_LONG))


def _read(path: Path) -> Outcome:
    """The model is not there, so that nothing is read or written after the options are."""
    command = _COMMANDS[crc32(path.read_bytes()) % len(_COMMANDS)]
    return run_tool(qmlir_cli.main, [command, "gone/model.onnx", "--config", str(path)])


CONFIGURATION = Kind("configuration", ".toml", _whole, _damage, _read)
