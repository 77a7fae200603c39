"""`python -m docs.generator.pictures FOLDER`: write the pictures of README and docs, each for light and dark pages.

Diagrams are SVGs of boxes, arrows and text, without fonts, scripts or links, so that any viewer shows them. Charts are
drawn by matplotlib from `docs/results`. The file names are `NAME-light.svg` and `NAME-dark.svg`. With `--measure`, the
commands that the pages show run first, for the figures in `measured.json` and the pictures of the HTML report.
"""

from docs.generator.pictures.diagrams import DIAGRAMS
from docs.generator.pictures.drawing import THEMES


def diagrams() -> dict[str, str]:
    """The text of each diagram by its file name."""
    return {
        f"{name}-{mode}.svg": draw(theme).svg() for name, draw in DIAGRAMS.items() for mode, theme in THEMES.items()
    }
