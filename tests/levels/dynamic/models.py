"""The models that are written by hand: `models.txt`."""

from configparser import ConfigParser
from pathlib import Path

from tests.levels.dynamic.building import DynamicModel

_OTHERS = {"W": 5}
"""The dynamic dimensions that stay as they are."""


def _read(section: str) -> dict[str, str]:
    parser = ConfigParser(delimiters=(" = ",), comment_prefixes=("#",), interpolation=None)
    parser.read(Path(__file__).with_name("models.txt"), encoding="utf-8")
    return dict(parser[section])


BATCHES = _read("batches")
"""Models whose dimension `N` is a batch, by their names."""

MIXED = _read("mixed")
"""Models none of whose dynamic dimensions is a batch."""

EVERY = {**BATCHES, **MIXED}


def written(name: str, *, is_quantized: bool = False) -> DynamicModel:
    """The model `name`, quantized or in float."""
    return DynamicModel(EVERY[name], is_quantized, _OTHERS)
