"""Recipes, read as `quant-assign-types` reads them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from qmlir.tools import qmlir_opt
from tests.fuzz.damage import damage_words
from tests.fuzz.frame import Kind, Outcome, run_tool

_EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
_WORDS = rb"""
"" "*" "i33" "i8<9:1>" nan -inf 1e999 0 -1 99999999999999999999 true [] {} [[ 1979-05-27 "\u202e" slot scheme storage
range scale zero_point values share "x" [-1,1] [0.5] 0.25 1e-45 1e38 "sum"
""".split()


def _whole() -> Mapping[str, bytes]:
    files = {path.name: path.read_bytes() for path in sorted(_EXAMPLES.glob("*.toml"))}
    pages = (_EXAMPLES.parent / "quantization.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", pages, re.DOTALL)
    return files | {f"quantization.md:{position}": block.encode() for position, block in enumerate(blocks)}


def _damage(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    return damage_words(rng, data, others, _WORDS)


def _read(path: Path) -> Outcome:
    module = str(_EXAMPLES / "layer_profiled.mlir")
    return run_tool(qmlir_opt.main, [module, "-p", f'quant-assign-types{{recipe="{path}"}}'])


RECIPE = Kind("recipe", ".toml", _whole, _damage, _read)
