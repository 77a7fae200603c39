"""What `benchmarks.commits` runs in the tree of each commit: a task in a process of its own, which answers in JSON.

This file is run as a script with another commit's `qmlir` on the path, so it uses only what every commit has.
"""

import hashlib
import json
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import qmlir

LABELS = "labels"
"""The array of an archive that has the right classes; the others are inputs, samples along their first axes."""

CALIBRATING = 2
"""One sample in so many calibrates; the others are for testing."""


def peak_bytes() -> int:
    """The most memory that this process had, in bytes."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) << 10


def _samples(archive: str) -> tuple[list[dict[str, Any]], Any]:
    """The inputs of each run, and the right classes, if the archive has them."""
    arrays = dict(np.load(archive))
    labels = arrays.pop(LABELS, None)
    count = min(len(array) for array in arrays.values())
    return [{name: array[k] for name, array in arrays.items()} for k in range(count)], labels


def _quantize(model: str, archive: str, result: str) -> Mapping[str, object]:
    """Quantize with the defaults; what that takes, and how near to the float model its outputs are."""
    runs, labels = _samples(archive)
    module = qmlir.load(model, shapes={name: array.shape for name, array in runs[0].items()})
    start = time.process_time()
    quantized = qmlir.quantize(module, runs[::CALIBRATING], validate=False).module
    seconds, memory = time.process_time() - start, peak_bytes()
    Path(result).write_text(str(quantized), encoding="utf-8")
    digest, power, noise, right = hashlib.sha256(), 0.0, 0.0, 0
    testing = runs[1::CALIBRATING] or runs
    for number, run in enumerate(testing):
        for wanted, found in zip(
            qmlir.interpret(module, run).values(), qmlir.interpret(quantized, run).values(), strict=True
        ):
            digest.update(np.ascontiguousarray(found).tobytes())
            power += float(np.square(wanted, dtype=np.float64).sum())
            noise += float(np.square(np.subtract(wanted, found, dtype=np.float64)).sum())
            if labels is not None:
                right += int(found.argmax() == labels[1::CALIBRATING][number])
    return {
        "processor seconds": seconds,
        "peak bytes": memory,
        "digest": digest.hexdigest(),
        "decibels": 10 * float(np.log10(power / noise)) if noise else float("inf"),
        "right": right if labels is not None else None,
    }


def _compile(module: str, archive: str) -> Mapping[str, object]:
    """Compile with an empty cache, and run once."""
    runs, _ = _samples(archive)
    start, processor = time.perf_counter(), time.process_time()
    qmlir.compile(qmlir.load(module), threads=1)(runs[0])
    return {
        "seconds": time.perf_counter() - start,
        "processor seconds": time.process_time() - processor,
        "peak bytes": peak_bytes(),
    }


def _serve(module: str, archive: str) -> None:
    """Time calls of the program: for each line, `THREADS SECONDS`, the median in seconds."""
    runs, _ = _samples(archive)
    programs: dict[int, Callable[[Mapping[str, Any]], object]] = {}
    for line in sys.stdin:
        threads, seconds = int(line.split()[0]), float(line.split()[1])
        if threads not in programs:
            programs[threads] = qmlir.compile(qmlir.load(module), threads=threads)
        program, times = programs[threads], list[float]()
        program(runs[0])
        end = time.perf_counter() + seconds
        while len(times) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            program(runs[0])
            times.append(time.perf_counter() - start)
        print(json.dumps(statistics.median(times)), flush=True)


def _run_tool(name: str, *arguments: str) -> None:
    """Run the tool `name` of the tree whose `qmlir` is imported, which may differ from the installed one."""
    package = Path(qmlir.__file__).parent
    scripts = tomllib.loads((package.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    module, function = scripts[name].split(":")
    call = f"import sys; from {module} import {function} as main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-P", "-c", call, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} {' '.join(arguments)}\n{done.stderr}")


def _code(module: str, isa: str, cpu: str) -> Mapping[str, object]:
    """Digests of the code for `isa`: loops, the Python that numba compiles (without imports), C, and an object file."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        loops, python = folder / "loops.mlir", folder / "kernels.py"
        _run_tool("qmlir-opt", module, "-p", f'compile{{isa="{isa}" threads=2}}', "-o", str(loops))
        _run_tool("qmlir-translate", str(loops), "--emit-numba", "-o", str(python))
        for form, options in (("c", ()), ("object", ("--cpu", cpu))):
            _run_tool("qmlir", "compile", module, "--emit", form, "--isa", isa, *options, "-o", str(folder / form))
        lines = python.read_text(encoding="utf-8").splitlines()
        code = "\n".join(line for line in lines if not line.startswith(("import ", "from ")))
        found = {
            "loops": loops.read_bytes(),
            "Python": code.encode(),
            "C": (folder / "c" / "model.c").read_bytes(),
            "object": (folder / "object" / "model.o").read_bytes(),
        }
        return {kind: hashlib.sha256(data).hexdigest() for kind, data in found.items()}


TASKS: Mapping[str, Callable[..., Mapping[str, object] | None]] = {
    "quantize": _quantize,
    "compile": _compile,
    "serve": _serve,
    "code": _code,
}
"""The tasks by the name that is the first argument; the others are theirs."""


if __name__ == "__main__":
    answer = TASKS[sys.argv[1]](*sys.argv[2:])
    if answer is not None:
        print(json.dumps(answer))
