"""Programs in C against the interpreter, bit for bit: `python -m benchmarks.emitted`; options narrow it.

Each model is quantized, emitted, built by each compiler that is installed, with sanitizers and for other processors
(run by qemu), and run on samples. It ends with 1 where a bit differs. `--time` measures a run at -O3.
"""

import argparse
import ctypes
import itertools
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import qmlir
from benchmarks.compared import ComparedModel, add_models, compared_models, differing_elements, outputs_in
from qmlir.arithmetic.arrays import Array
from qmlir.extensions.aot.ahead import Emitted

NAME = "model"
_NUMBERS = itertools.count()
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")


@dataclass(frozen=True)
class Build:
    """A compiler with its options, and what runs its programs."""

    name: str
    compiler: str
    options: tuple[str, ...]
    runner: tuple[str, ...] = ()

    def is_installed(self) -> bool:
        """Whether the compiler and the runner are here."""
        return all(shutil.which(each) for each in (self.compiler, *self.runner[:1]))


_SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

BUILDS = (
    *(Build(f"{cc} {level}", cc, (level,)) for cc in ("gcc", "clang") for level in ("-O0", "-O2", "-O3")),
    *(Build(f"{cc} -O3 native", cc, ("-O3", "-march=native", "-ffp-contract=off")) for cc in ("gcc", "clang")),
    *(Build(f"{cc} sanitizers", cc, _SANITIZED) for cc in ("gcc", "clang")),
    Build("AArch64", "aarch64-linux-gnu-gcc", ("-O3", "-static", "-ffp-contract=off"), ("qemu-aarch64-static",)),
    Build("ARMv7", "arm-linux-gnueabihf-gcc", ("-O3", "-static", "-ffp-contract=off"), ("qemu-arm-static",)),
    Build("RISC-V 64", "riscv64-linux-gnu-gcc", ("-O3", "-static", "-ffp-contract=off"), ("qemu-riscv64-static",)),
)
"""How programs are built."""


def memory_of(inputs: Sequence[Array], outputs: Sequence[Array]) -> tuple[list[str], list[str]]:
    """The names of memory of all ports in C, and its declarations: in C99 a union is the way to align bytes."""
    held = [*inputs, *outputs]
    names = [f"p{position}" for position in range(len(held))]
    memory = [
        f"static union {{ double align; unsigned char bytes[{max(array.nbytes, 1)}]; }} {name};"
        for name, array in zip(names, held, strict=True)
    ]
    return names, memory


def main_text(name: str, inputs: Sequence[Array], outputs: Sequence[Array]) -> str:
    """The main of a program that runs `name_run` on inputs until there are no more, and writes the outputs of each.

    It ends with what `name_run` gives where that is not 0.
    """
    names, memory = memory_of(inputs, outputs)
    read = [
        f"if (fread({each}.bytes, 1, {array.nbytes}, stdin) != {array.nbytes}) return feof(stdin) ? 0 : 98;"
        for each, array in zip(names, inputs, strict=False)
    ]
    write = [
        f"if (fwrite({each}.bytes, 1, {array.nbytes}, stdout) != {array.nbytes}) return 99;"
        for each, array in zip(names[len(inputs) :], outputs, strict=True)
    ]
    given = ", ".join(f"(void *){each}.bytes" for each in names)
    last = [] if any(array.nbytes for array in inputs) else ["return 0;"]
    body = "\n    ".join([*read, f"wrong = {name}_run({given});", "if (wrong) return wrong;", *write, *last])
    head = "\n".join(["#include <stdio.h>", f'#include "{name}.h"', *memory])
    return f"{head}\nint main(void) {{\n  int wrong;\n  for (;;) {{\n    {body}\n  }}\n}}\n"


def outputs_of_c(
    emitted: Emitted, build: Build, samples: Sequence[Sequence[Array]], outputs: Sequence[Array], folder: Path
) -> tuple[int, list[list[Array]]]:
    """How a program ends that was emitted as C by the name `model`, built and run in `folder`, and what it gives.

    Those are the outputs of each sample that it has run, of the types and shapes of `outputs`. Raises
    `CalledProcessError` where it can't be built.
    """
    emitted.save(folder)
    (folder / "main.c").write_text(main_text(NAME, samples[0], outputs))
    program = folder / "program"
    sources = [str(folder / f"{NAME}.c"), str(folder / "main.c")]
    subprocess.run([build.compiler, *WARNINGS, *build.options, *sources, "-o", str(program)], check=True)
    data = b"".join(np.ascontiguousarray(each).tobytes() for sample in samples for each in sample)
    done = subprocess.run([*build.runner, str(program)], input=data, stdout=subprocess.PIPE, check=False)
    return done.returncode, [] if done.returncode else list(outputs_in(done.stdout, outputs))


def run_c(
    emitted: Emitted, build: Build, inputs: Mapping[str, Array], outputs: Mapping[str, Array], folder: Path
) -> tuple[int, dict[str, Array]]:
    """How such a program ends on one sample, and its outputs by name."""
    ended, found = outputs_of_c(emitted, build, [list(inputs.values())], list(outputs.values()), folder)
    return ended, {} if ended else dict(zip(outputs, found[0], strict=True))


def differing_bits(wanted: Mapping[str, Array], found: Mapping[str, Array]) -> int:
    """How many elements have other bits; every NaN is like every other."""
    count = 0
    for name, array in wanted.items():
        other = found[name]
        bits = f"u{array.itemsize}"
        same = np.ascontiguousarray(array).view(bits) == np.ascontiguousarray(other).view(bits)
        if array.dtype.kind == "f":
            same |= np.isnan(array) & np.isnan(other)
        count += int(np.count_nonzero(~same))
    return count


def _shortest(run: Callable[[], object], rounds: int = 200) -> float:
    """The shortest time of a run, in seconds."""
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - started)
    return best


def _timed(emitted: Emitted, build: Build, arrays: Sequence[Array], folder: Path) -> float:
    """The shortest time of a run of the program as a shared library."""
    emitted.save(folder)
    library = folder / f"{emitted.name}-{next(_NUMBERS)}.so"  # a name is loaded once
    options = [*WARNINGS, *build.options, "-shared", "-fPIC", str(folder / f"{NAME}.c"), "-o", str(library)]
    subprocess.run([build.compiler, *options], check=True)
    function = ctypes.CDLL(str(library)).model_run
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    return _shortest(lambda: function(*pointers))


def _times(model: ComparedModel, emitted: Emitted, folder: Path) -> Iterator[str]:
    arrays = [np.ascontiguousarray(each) for each in (*model.inputs[0], *model.wanted[0])]
    for build in (each for each in BUILDS if "-O3" in each.name and not each.runner and each.is_installed()):
        yield f"{build.name} {1e6 * _timed(emitted, build, arrays, folder):.1f} us"
    for isa in ("generic", "host"):
        program = qmlir.compile(model.module, isa=isa)
        given = dict(model.samples[0])
        program(given)
        yield f"numba {isa} {1e6 * _shortest(lambda run=program, given=given: run(given)):.1f} us"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each model and build; how the command ends."""
    parser = argparse.ArgumentParser("python -m benchmarks.emitted", description=__doc__)
    add_models(parser)
    names = [each.name for each in BUILDS]
    parser.add_argument("--build", action="append", choices=names, help="this one alone; may be repeated")
    parser.add_argument("--time", action="store_true", help="measure runs, too")
    given = parser.parse_args(arguments)
    chosen = [each for each in BUILDS if each.name in (given.build or names)]
    for build in chosen:
        if not build.is_installed():
            print(f"{build.name}: not run, missing: {build.compiler} or what runs its programs", flush=True)
    differing = 0
    for model in compared_models(given):
        emitted = qmlir.emit(model.module, name=NAME)
        source = str(emitted.files[f"{NAME}.c"])
        lines = source.count("\n", 0, source.index("_run(", source.index("_run_in("))) + 4
        elements = sum(array.size for row in model.wanted for array in row)
        print(f"{model.name}: {lines} lines without weights, {elements} elements", flush=True)
        with TemporaryDirectory(prefix="qmlir-emitted-") as folder:
            for build in filter(Build.is_installed, chosen):
                ended, found = outputs_of_c(emitted, build, model.inputs, model.wanted[0], Path(folder))
                wrong = elements if ended else differing_elements(found, model.wanted)[0]
                differing += wrong
                print(f"  {build.name}: {wrong} differ{f', ended with {ended}' if ended else ''}", flush=True)
            if given.time:
                for row in _times(model, emitted, Path(folder)):
                    print(f"  {row}", flush=True)
    print(f"{differing} elements differ")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
