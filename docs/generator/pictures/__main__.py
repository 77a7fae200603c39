"""Write the pictures: `docs.generator.pictures` says which."""

import argparse
from pathlib import Path

from docs.generator.pictures import diagrams
from docs.generator.pictures.charts import charts
from docs.generator.pictures.measured import measure

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m docs.generator.pictures", allow_abbrev=False)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the pictures are: docs/pictures")
    parser.add_argument("--measure", action="store_true", help="first run the commands that pictures have figures of")
    given = parser.parse_args()
    folder: Path = given.folder
    if given.measure:
        measure(folder)
    for name, text in (diagrams() | charts()).items():
        (folder / name).write_text(text, encoding="utf-8")
