"""Write the pictures: `docs.generator.pictures` says which."""

import argparse
from pathlib import Path

from docs.generator.pictures import diagrams
from docs.generator.pictures.charts import charts

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m docs.generator.pictures", allow_abbrev=False)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the pictures are: docs/pictures")
    given = parser.parse_args()
    folder: Path = given.folder
    for name, text in (diagrams() | charts()).items():
        (folder / name).write_text(text, encoding="utf-8")
