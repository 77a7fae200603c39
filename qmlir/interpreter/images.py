"""Images as Pillow opens them, which is loaded for nothing else."""

import struct
import warnings
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from qmlir.interpreter.archives import EXPANSION
from qmlir.ir.diagnostics import text_error
from qmlir.ir.limits import budget, over
from qmlir.text.files import note_input

FORMATS = ("PNG", "JPEG", "MPO", "WEBP", "AVIF", "BMP", "DIB", "GIF", "TIFF", "PPM", "TGA", "ICO", "JPEG2000")
"""What is opened: Pillow's names of pixel formats. It has others, of which EPS runs an interpreter of PostScript."""

_BYTES_OF_PIXEL = 4
"""Pillow's, of an image in RGB."""

_DAMAGED = (
    OSError, ValueError, SyntaxError, TypeError, LookupError, ArithmeticError, AttributeError, EOFError, RuntimeError,
    struct.error, Image.DecompressionBombError,
)  # fmt: skip
"""What Pillow's formats raise for malformed bytes."""


def open_image(path: Path) -> Image.Image:
    """The image in a file, in RGB. Raises `DiagnosticError` for other files, and for small files of large images."""
    note_input(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the budget decides
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
