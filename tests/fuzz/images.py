"""Images, as `--data FOLDER` with `--preprocess` opens them: formats that Pillow writes, small and large."""

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image

from qmlir.interpreter.images import open_image
from tests.fuzz.damage import damage_bytes
from tests.fuzz.frame import Kind, Outcome, run_reader

_FORMATS = (
    "PNG",
    "JPEG",
    "GIF",
    "BMP",
    "TIFF",
    "WEBP",
    "PPM",
    "ICO",
    "TGA",
    "JPEG2000",
    "DDS",
    "EPS",
)


def _whole() -> Mapping[str, bytes]:
    pixels = np.random.default_rng(0).integers(0, 256, (24, 32, 3), np.uint8)
    found: dict[str, bytes] = {}
    for name in _FORMATS:
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, name)
        found[name] = file.getvalue()
    file = io.BytesIO()
    Image.new("1", (9000, 9000)).save(file, "PNG")  # 81 million pixels of a few bytes
    return found | {"large": file.getvalue()}


def _read(path: Path) -> Outcome:
    return run_reader(lambda: open_image(path))


IMAGE = Kind("image", ".img", _whole, damage_bytes, _read)
