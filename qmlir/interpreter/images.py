"""Images as Pillow opens them, which is loaded for nothing else."""

from pathlib import Path

from PIL import Image

from qmlir.ir.diagnostics import text_error
from qmlir.registry.faults import one_line


def open_image(path: Path) -> Image.Image:
    """The image in a file, in RGB. Raises `DiagnosticError` for what is none, or is larger than Pillow takes."""
    try:
        with Image.open(path) as image:
            return image.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise text_error(f"cannot read the image '{path}': {one_line(error)}") from error
