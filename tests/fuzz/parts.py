"""What long runs keep, and what workers answer: parts of profiles, checkpoints of training, arrays and schedules."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.zoo import outputs
from qmlir.arithmetic.statistics import Statistics
from qmlir.extensions.training.choices import OptimizerKind
from qmlir.extensions.training.finetuning import HeldOutFigures, _State  # pyright: ignore[reportPrivateUsage]
from qmlir.extensions.training.optimizers import Optimizer
from qmlir.interpreter.jobs import read_part, write_part
from qmlir.interpreter.observers import RunFigures
from qmlir.interpreter.profiling import ProfilePart
from tests.fuzz.damage import damage_bytes, damage_json
from tests.fuzz.frame import Kind, Outcome, run_reader


def _parts() -> Mapping[str, bytes]:
    statistics = {"x": Statistics.of(np.linspace(-1, 2, 9, dtype=np.float32)), "y": Statistics.of(np.ones(3))}
    seen = np.array([[[0.5, 1.5, 2, 2.5], [-1, 2, 1, 5]], [[-0.0, 0, 0, 0], [1e-45, 1e300, 1e300, 1e308]]])
    return {"part": ProfilePart([RunFigures(["x", "y"], [3, 4], seen)], statistics).to_bytes()}


def _damage_part(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    """The JSON inside of the safetensors file, or bytes anywhere."""
    start = data.find(b'{"keys"')
    if start < 0 or rng.random() < 0.3:
        return damage_bytes(rng, data, others)
    end = data.rfind(b"}") + 1
    found = damage_json(rng, data[start:end], [data[start:end]])
    # The file has the length of the text in its header: what is shorter is filled up.
    return data[:start] + found[: end - start].ljust(end - start) + data[end:]


def _read_part(path: Path) -> Outcome:
    """As a folder of `--resume` has it: with a digest that fits, and as bytes of a worker."""
    content = path.read_bytes()
    write_part(path, content)

    def read() -> None:
        kept = read_part(path)
        assert kept == content
        ProfilePart.from_bytes(kept).is_of(["x", "y"], [3, 4], 2048)

    path.with_name("torn").write_bytes(content)
    assert read_part(path.with_name("torn")) is None
    return run_reader(read)


_PARAMETERS = {"weight": np.ones((2, 3), np.float32), "scale": np.ones((), np.float32)}


def _state() -> _State:
    optimizer = Optimizer(OptimizerKind.ADAM, 0.1, 0.1)
    figures = HeldOutFigures(1.0, 0.5)
    return _State(optimizer.step(_PARAMETERS, _PARAMETERS), _PARAMETERS, optimizer, figures, [figures], 1)


def _damage_checkpoint(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    """The JSON of an archive, one of its arrays, or bytes."""
    if rng.random() < 0.25:
        return damage_bytes(rng, data, others)
    with np.load(io.BytesIO(data)) as archive:
        arrays = dict(archive)
    if rng.random() < 0.7:
        arrays["about"] = np.frombuffer(damage_json(rng, bytes(arrays["about"]), [data]), np.uint8)
    else:
        name = list(arrays)[int(rng.integers(len(arrays)))]
        wrong = (np.zeros(3), np.zeros((0, 5), np.float32), np.array(["a"]), np.zeros(1 << 22, np.int8), np.array(-1))
        arrays[name] = wrong[int(rng.integers(len(wrong)))]
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _damage_answer(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    head, _, rest = data.partition(b"\n")
    return damage_json(rng, head, [head]) + b"\n" + rest


def _read_answer(path: Path) -> Outcome:
    content = path.read_bytes()

    def read() -> None:
        outputs._is_answer(({},), content)  # pyright: ignore[reportPrivateUsage]
        list(outputs._unpacked(content))  # pyright: ignore[reportPrivateUsage]

    return run_reader(read)


def _answer() -> Mapping[str, bytes]:
    arrays = {"y": np.arange(6, dtype=np.int8).reshape(2, 3), "z": np.array(0.5)}
    content = outputs._packed([arrays])  # pyright: ignore[reportPrivateUsage]
    json.loads(content.partition(b"\n")[0])
    return {"answer": content}


PARTS = Kind("part", ".part", _parts, _damage_part, _read_part)
CHECKPOINT = Kind(
    "checkpoint",
    ".npz",
    lambda: {"checkpoint": _state().to_bytes("key")},
    _damage_checkpoint,
    lambda path: run_reader(lambda: _state().restore(path, lambda version: "key")),
)
ANSWER = Kind("answer", ".bin", _answer, _damage_answer, _read_answer)
