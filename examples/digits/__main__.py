"""Quantize a classifier of digits, and write it for callers that have no Python: C, Rust, a page of a browser.

`python -m examples.digits` writes `build/digits`: an archive with its header, which `classify.c` and `classify.rs`
call, and a package of WebAssembly, which `index.html` loads. Without `wasm-ld` or `ziglang` it stops before that.
"""

import argparse
import shutil
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.ir.diagnostics import DiagnosticError

SOURCES = Path(__file__).parent
EXAMPLES = SOURCES.parents[1] / "docs" / "examples"
NAME = "digits"

COMMANDS = """{folder}:
  cc -O2 classify.c -I static -L static -ldigits -lm -o classify && ./classify < image.txt
  rustc -O --edition 2021 classify.rs -L static -l static=digits -l m -o classify && ./classify < image.txt
  python -m http.server, and index.html in a browser"""


def quantized() -> ModuleOp:
    """The classifier of images of 8 by 8, in int8."""
    samples = EXAMPLES / "digits_samples.npz"
    model = qmlir.load(EXAMPLES / "digits_cnn.onnx", shapes={"input": (1, 1, 8, 8)})
    return qmlir.quantize(model, samples).module


def write(module: ModuleOp, form: str, folder: Path) -> None:
    """Write a form of the program into a folder of its own, with what calls it beside it."""
    qmlir.emit(module, format=form, name=NAME).save(folder / form)
    for source in ("index.html",) if form == "wasm" else ("classify.c", "classify.rs"):
        shutil.copy(SOURCES / source, folder)


def main() -> None:
    """Read the command line, and write the folder."""
    parser = argparse.ArgumentParser(prog="python -m examples.digits", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("build/digits"), help="the folder to write")
    output = parser.parse_args().output
    try:
        module = quantized()
        for form in ("static", "wasm"):
            write(module, form, output)
    except DiagnosticError as error:
        raise SystemExit(str(error)) from error
    print(COMMANDS.format(folder=output))


if __name__ == "__main__":
    main()
