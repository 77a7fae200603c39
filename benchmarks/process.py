"""What `bench_compiled` measures in processes of their own: one task, and at its end the peak of memory, as JSON.

Each task imports what it needs and nothing else, so that the clock of the caller shows what a user waits for.
"""

import json
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def peak_bytes() -> int:
    """The most memory that this process had, in bytes; what its parent had is not counted."""
    status = Path("/proc/self/status")
    if status.is_file():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) << 10
    resource: Any = import_module("resource")
    unit = 1 if sys.platform == "darwin" else 1024
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit


def _imports() -> None:
    """What every compiled program needs."""
    import_module("numpy")
    import_module("numba")


def _compile(module: str, inputs: str, emitter: str = "numba") -> None:
    """Compile the module in a file or find it in the cache, and run it once."""
    numpy, qmlir = import_module("numpy"), import_module("qmlir")
    program: Any = qmlir.compile(module, codegen=emitter)
    program(dict(numpy.load(inputs)))


def _saved(folder: str, inputs: str) -> None:
    """Import a saved program and run it once: nothing of qmlir takes part."""
    numpy = import_module("numpy")
    path = Path(folder)
    sys.path.insert(0, str(path.parent))
    program: Any = import_module(path.name).program
    program(dict(numpy.load(inputs)))


def _quantize(model: str, *settings: str) -> None:
    """Quantize a model without samples, its settings as `NAME=VALUE`."""
    qmlir = import_module("qmlir")
    qmlir.quantize(model, **dict(each.split("=", 1) for each in settings))


def _token(model: str, samples: str, *settings: str) -> None:
    """Quantize a decoder with some random samples, compile it, and run it for one token."""
    qmlir, inputs = import_module("qmlir"), import_module("qmlir.interpreter.random_inputs")
    module = qmlir.load(model)
    function = import_module("qmlir.specialization.inputs").function_of(module, "main")
    data = [inputs.random_inputs(function, seed) for seed in range(int(samples))]
    quantized = qmlir.quantize(module, data or None, **dict(each.split("=", 1) for each in settings))
    qmlir.compile(quantized)(inputs.random_inputs(function, 0))


def _recurrent(steps: str, samples: str) -> None:
    """Quantize an LSTM on some samples of so many steps."""
    import_module("benchmarks.growth").quantize_lstm(int(steps), int(samples))


TASKS: Mapping[str, Callable[..., None]] = {
    "imports": _imports,
    "compile": _compile,
    "saved": _saved,
    "quantize": _quantize,
    "token": _token,
    "recurrent": _recurrent,
}
"""The tasks by the name that is the first argument; the others are theirs."""


if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({"peak_bytes": peak_bytes()}))
