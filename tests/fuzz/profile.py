"""Profiles, read as `calib-apply-profile` reads them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import qmlir
from qmlir.tools import qmlir_opt
from tests.fuzz.damage import damage_words
from tests.fuzz.frame import Kind, Outcome, run_tool

_MODEL = Path(__file__).parents[2] / "docs" / "examples" / "layer.mlir"
_WORDS = rb"""
"" [] {} [[]] [0] null true 0 -1 0.5 1e999 -1e308 1e-320 NaN Infinity 99999999999999999999 9007199254740993 [1,2,3]
{"counts":[]} "range" "moments" "histogram" "counts" "axis" "axis_minima" "batches" "totals" "extreme_samples" , : }
""".split()
_DEEP = b"[" * 100_000
_LONG = b"9" * 5000


def _whole() -> Mapping[str, bytes]:
    x = np.random.default_rng(0).normal(size=(4, 2, 8)).astype(np.float32)
    module = qmlir.load(_MODEL)
    options = ({}, {"axis": 1}, {"momentum": 0.5})
    return {str(each): qmlir.profile(module, x, **each).to_text().encode() for each in options}


def _damage(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    return damage_words(rng, data, others, (*_WORDS, _DEEP, _LONG))


def _read(path: Path) -> Outcome:
    return run_tool(qmlir_opt.main, [str(_MODEL), "-p", f'calib-apply-profile{{profile="{path}"}}'])


PROFILE = Kind("profile", ".json", _whole, _damage, _read)
