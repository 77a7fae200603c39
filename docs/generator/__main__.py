"""`python -m docs.generator [--check] FOLDER`: write the reference pages, or compare those that are there."""

import argparse
import sys
from pathlib import Path

from docs.generator import pages
from docs.generator.markdown import GENERATED
from qmlir.text.writing import write_file
from qmlir.tools.command import Streams, console, main_of

_TESTS = Path(__file__).resolve().parents[2] / "tests"


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m docs.generator", description=__doc__, allow_abbrev=False)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the pages are: docs/reference")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a page is not the same")
    parser.add_argument("--tests", type=Path, default=_TESTS, metavar="FOLDER", help="the folder of the tests")
    return parser


def _differences(folder: Path, generated: dict[str, str]) -> list[str]:
    there = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*.md")}
    there = {name: text for name, text in there.items() if name in generated or text.startswith(GENERATED)}
    wrong = [name for name, text in generated.items() if there.get(name) != text]
    return sorted({*wrong, *(there.keys() - generated.keys())})


def _run(arguments: argparse.Namespace, streams: Streams) -> int:
    generated = pages(arguments.tests)
    wrong = _differences(arguments.folder, generated)
    if not arguments.check:
        for name in wrong:
            path: Path = arguments.folder / name
            if name in generated:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_file(path, generated[name].encode())
            else:
                path.unlink()
        return 0
    for name in wrong:
        streams.stderr.write(f"{arguments.folder / name}: is not what the code says; generate it anew\n")
    return int(bool(wrong))


if __name__ == "__main__":
    console(lambda: main_of(_argument_parser, _run)(sys.argv[1:]))
