"""Whether training computes the integers that are shipped: `python -m benchmarks.integers [--models DIR]`.

Models, among them small transformers, are made trainable by every scheme of the recipes, and their weights, biases and
scales moved as training might. On batches of random inputs within the range of the data, the stored integers of every
quantized value are compared: of the forward of training, which carries them in f32 and f64, interpreted and compiled;
of the same with sums of integers (`nn-contract-integers`), interpreted and compiled; of the frozen module, interpreted;
and of its compiled program.
`--model`, `--scheme` and `--batches` narrow it. It ends with 1 where integers differ.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp, f64

import qmlir
from benchmarks.accuracy import MODELS, NAMES
from benchmarks.models import encoder, vision
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.elementwise.ops import CastOp
from qmlir.extensions.training.trainable import Trainable
from qmlir.ir.builtin_types import element_of, ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.signature import inputs_of
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import CLEAN
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import specialize

_POWERS = {"scheme": "symmetric_pow2", "weight_scheme": "symmetric_pow2"}
SCHEMES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "per channel": ("lsq", {}),
    "per tensor": ("lsq", {"granularity": "tensor"}),
    "symmetric": ("lsq", {"scheme": "symmetric"}),
    "asymmetric weights": ("lsq", {"weight_scheme": "asymmetric", "activations": "u8", "weights": "u8"}),
    "powers of two": ("tqt", _POWERS),
    "powers of two, ties to even": ("tqt", {**_POWERS, "requantize": "shift:even"}),
    "powers of two, f32": ("tqt", {**_POWERS, "requantize": "f32"}),
    "asymmetric powers of two": ("tqt", {"scheme": "asymmetric_pow2", "weight_scheme": "symmetric_pow2"}),
    "W4A8": ("lsq", {"weights": "i4"}),
    "W4A4": ("lsq", {"weights": "i4", "activations": "u4"}),
    "W2A4, per tensor": ("lsq", {"weights": "i2", "activations": "u4", "granularity": "tensor"}),
    "W8A16": ("lsq", {"activations": "i16"}),
    "W16A16": ("lsq", {"weights": "i16", "activations": "i16"}),
    "16-bit sums": ("fixed", {"accumulator": "i16"}),
    "blocks of 16": ("lsq", {"weights": "i4", "granularity": "block:16"}),
}
"""How scales are learned, and the settings of `qmlir.quantize`."""

MADE: Mapping[str, Callable[[], ModelProto]] = {
    "encoder": partial(encoder, layers=1, width=32, heads=2, sequence=8),
    "vision": partial(vision, layers=1, width=32, heads=2, size=16, patch=4),
}
"""Small transformers of random weights: they normalize rows on integers."""

SUBJECTS = (*NAMES, "resnet8_cifar", *MADE)
BATCH = 4


@dataclass(frozen=True)
class IntegerRow:
    """What was compared of one model and scheme, and the integers of each that are not those of the frozen module."""

    model: str
    scheme: str
    values: int = 0
    in_f64: int = 0
    """Results of training that carry integers in f64."""

    integers: int = 0
    training: int = 0
    compiled_training: int = 0
    on_integers: int = 0
    compiled_on_integers: int = 0
    program: int = 0
    refused: str = ""

    @property
    def differing(self) -> int:
        """Integers that differ from those of the frozen module, of all that were compared."""
        return self.training + self.compiled_training + self.on_integers + self.compiled_on_integers + self.program


def moved(trained: Trainable, random: np.random.Generator) -> dict[str, Array]:
    """What training may find: everything a little elsewhere."""
    found: dict[str, Array] = {}
    for name, array in trained.parameters.items():
        factor = 1 + 0.05 * random.standard_normal(array.shape)
        shift = 0.4 * random.standard_normal(array.shape) if name.endswith("threshold") else 0.0
        found[name] = (array * factor + shift).astype(np.float32)
    return found


def differing(wanted: Mapping[str, Array], found: Mapping[str, Array]) -> int:
    """How many elements of outputs are other ones; a zero may have a sign."""
    return sum(int(np.count_nonzero(array != found[name])) for name, array in wanted.items())


def compare_integers(
    model: str, scheme: str, module: ModuleOp, batches: int, *, compiles: bool = True, seed: int = 0
) -> IntegerRow:
    """Compare the integers of every value of `module` by a scheme, on random batches."""
    scales, settings = SCHEMES[scheme]
    random = np.random.default_rng(seed)
    (port,) = inputs_of(function_of(module, "main"))
    type_ = ranked_tensor(port.type)
    assert type_ is not None
    shape = [BATCH if size < 0 else size for size in type_.get_shape()]
    low = 0.0 if model in NAMES else -2.0  # what its images are between

    def batch() -> dict[str, Array]:
        return {port.name: random.uniform(low, -low or 1.0, shape).astype(np.float32)}

    try:
        trained = qmlir.trainable(module, [batch() for _ in range(8)], scales=scales, **settings).watched()
    except DiagnosticError as error:
        return IntegerRow(model, scheme, refused=str(error))
    parameters = moved(trained, random)
    frozen = trained.freeze(parameters)
    carriers = [specialize(trained.module, {port.name: shape})]
    carriers.append(run_pipeline(carriers[0].clone(), f"nn-contract-integers,{CLEAN}"))
    runs: dict[str, Callable[[Mapping[str, Array]], Mapping[str, Array]]] = {
        name: partial(qmlir.interpret, carrier)
        for name, carrier in zip(("training", "on_integers"), carriers, strict=True)
    }
    if compiles:
        runs |= {f"compiled_{name}": qmlir.compile(each) for name, each in zip(list(runs), carriers, strict=True)}
        runs["program"] = qmlir.compile(specialize(frozen, {port.name: shape}))
    differ, values, integers = Counter[str](), 0, 0
    for _ in range(batches):
        feeds = batch()
        wanted = qmlir.interpret(frozen, feeds)
        values, integers = len(wanted), integers + sum(array.size for array in wanted.values())
        for name, run in runs.items():
            differ[name] += differing(wanted, run(feeds if name == "program" else {**feeds, **parameters}))
    return IntegerRow(
        model, scheme, values, _in_f64(trained), integers, differ["training"], differ["compiled_training"],
        differ["on_integers"], differ["compiled_on_integers"], differ["program"],
    )  # fmt: skip


def _in_f64(trained: Trainable) -> int:
    """How many outputs are cast from f64."""
    returned = function_of(trained.module, "main").body.block.last_op
    assert returned is not None
    casts = (value.owner for value in returned.operands)
    return sum(isinstance(cast, CastOp) and element_of(cast.input) == f64 for cast in casts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; how the command ends."""
    parser = argparse.ArgumentParser("python -m benchmarks.integers", description=__doc__)
    parser.add_argument("--models", type=Path, default=MODELS, metavar="DIR", help="where the models are")
    parser.add_argument("--model", action="append", choices=SUBJECTS, help="this one alone; may be repeated")
    parser.add_argument("--scheme", action="append", choices=list(SCHEMES), help="this one alone; may be repeated")
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--interpreted", action="store_true", help="compile nothing")
    given = parser.parse_args(arguments)
    console = Console(width=160)
    table = Table(
        "model",
        "scheme",
        "values",
        "in f64",
        "integers",
        "training",
        "compiled",
        "on integers",
        "compiled",
        "program",
        "refused",
    )
    rows: list[IntegerRow] = []
    for model in given.model or SUBJECTS:
        module = qmlir.load(MADE[model]() if model in MADE else given.models / f"{model}.onnx")
        for scheme in given.scheme or SCHEMES:
            row = compare_integers(model, scheme, module, given.batches, compiles=not given.interpreted)
            print(row, file=sys.stderr, flush=True)
            counts = (
                row.values,
                row.in_f64,
                row.integers,
                row.training,
                row.compiled_training,
                row.on_integers,
                row.compiled_on_integers,
                row.program,
            )
            table.add_row(
                row.model, row.scheme, *(["-"] * len(counts) if row.refused else map(str, counts)), row.refused
            )
            rows.append(row)
    console.print(table)
    print(f"{sum(row.differing for row in rows)} of {sum(row.integers for row in rows)} integers differ")
    return int(any(row.differing for row in rows))


if __name__ == "__main__":
    sys.exit(main())
