"""Opens images with Pillow, which only this module imports."""

import struct
import warnings
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from qmlir.interpreter.archives import EXPANSION
from qmlir.ir.diagnostics import text_error
from qmlir.ir.limits import budget, over
from qmlir.text.files import note_input

FORMATS = ("PNG", "JPEG", "MPO", "WEBP", "AVIF", "BMP", "DIB", "GIF", "TIFF", "PPM", "TGA", "ICO", "JPEG2000")
"""The allowed image formats, by Pillow's names. Others are unsafe: EPS, for example, runs a PostScript interpreter."""

_BYTES_OF_PIXEL = 4
"""The number of bytes that Pillow uses for a pixel of an RGB image."""

_DAMAGED = (
    OSError, ValueError, SyntaxError, TypeError, LookupError, ArithmeticError, AttributeError, EOFError, RuntimeError,
    struct.error, Image.DecompressionBombError,
)  # fmt: skip
"""Exceptions that Pillow's decoders raise for malformed bytes."""


def open_image(path: Path) -> Image.Image:
    """Opens an image file in RGB. Raises `DiagnosticError` for other files, and for decompression bombs."""
    note_input(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the memory limit is checked instead
            with Image.open(path, formats=FORMATS) as image:
                size = image.width * image.height * _BYTES_OF_PIXEL
                if size > budget("packed-bytes") and size > EXPANSION * path.stat().st_size:
                    raise text_error(
                        f"cannot read the image '{path}': its size in memory is {over('packed-bytes', size)}"
                    )
                return image.convert("RGB")
    except UnidentifiedImageError as error:
        raise text_error(f"cannot read the image '{path}': expected one of the formats {', '.join(FORMATS)}") from error
    except _DAMAGED as error:
        reason = error.strerror if isinstance(error, OSError) else ""
        raise text_error(f"cannot read the image '{path}': {reason or 'it is damaged, or too large'}") from error
