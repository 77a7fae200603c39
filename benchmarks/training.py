"""What training a classifier as its integer program gains: `python -m benchmarks.training model.onnx images.npz`.

The archive has images of u8, `x_train`, `x_valid` and `x_test`, and their classes, `y_train`, `y_valid` and `y_test`;
the model takes `(x / 255 - 0.5) / 0.25`. `qmlir.finetune` trains with the labels and the float model, and images that
are mirrored and shifted by up to 4 pixels. What is best on as many held-out images as `x_valid` has is judged on
`x_test`, by the forward of training; its integers are compared with those of the frozen module. In settings with edges
the weights of the first and of the last layer have 8 bits, and what the first one reads. Scores have 8 bits everywhere:
no integer is computed from them. If torch is installed, its eager quantization-aware training of a ResNet-8 is timed.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.rows import BenchRow, add_output, print_rows
from qmlir.arithmetic.arrays import Array
from qmlir.arithmetic.calibrators import cross_entropy
from qmlir.extensions.training.choices import OptimizerKind
from qmlir.extensions.training.finetuning import HeldOutFigures
from qmlir.extensions.training.optimizers import Optimizer
from qmlir.extensions.training.trainable import Trainable, TrainingPrograms
from qmlir.ir.interfaces import MultipliesAndAdds
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import function_of

_POWERS = {"scheme": "symmetric_pow2", "weight_scheme": "symmetric_pow2"}
_SETTINGS: Mapping[str, tuple[str, Mapping[str, Any], bool, float]] = {
    "W8A8, powers of two": ("tqt", _POWERS, False, 0.0),
    "W4A8": ("lsq", {"weights": "i4"}, False, 0.3),
    "W4A4": ("lsq", {"weights": "i4", "activations": "u4"}, False, 0.8),
    "W4A4, edges": ("lsq", {"weights": "i4", "activations": "u4"}, True, 0.8),
    "W2A4": ("lsq", {"weights": "i2", "activations": "u4"}, False, 4.0),
    "W2A4, edges": ("lsq", {"weights": "i2", "activations": "u4"}, True, 4.0),
}
"""How scales are learned, what is quantized how, whether the edges have 8 bits, and the bar of the points that may be
lost against the float model."""


def ready(images: Array) -> Array:
    return ((images.astype(np.float32) / np.float32(255)) - np.float32(0.5)) / np.float32(0.25)


def varied(inputs: dict[str, Array], random: np.random.Generator) -> dict[str, Array]:
    """Each image mirrored or not, and shifted by up to 4 pixels."""
    ((name, images),) = inputs.items()
    size = images.shape[-1]
    padded = np.pad(images, ((0, 0), (0, 0), (4, 4), (4, 4)))
    found = np.empty_like(images)
    for position, (up, left, is_mirrored) in enumerate(random.integers(0, (9, 9, 2), (len(images), 3))):
        image = padded[position, :, up : up + size, left : left + size]
        found[position] = image[..., ::-1] if is_mirrored else image
    return {name: found}


def accuracy(scores_of: Callable[[Array], Array], batch: int, images: Array, classes: Array) -> float:
    """The share of whole batches of images whose highest score is that of their class."""
    starts = range(0, len(images) - batch + 1, batch)
    right = sum(
        int((scores_of(ready(images[at : at + batch])).argmax(1) == classes[at : at + batch]).sum()) for at in starts
    )
    return right / (len(starts) * batch)


def recipe_of(model: ModuleOp, has_edges: bool) -> Mapping[str, Any]:
    """8 bits for the scores, and with edges for the first and the last layer."""
    layers = [op for op in function_of(model, "main").walk() if isinstance(op, MultipliesAndAdds)]
    first, last = (origins_of(op)[0].name for op in (layers[0], layers[-1]))
    rules = [{"origin": last, "slot": "output", "storage": "i8"}]
    if has_edges:
        rules += [{"origin": first, "slot": slot, "storage": "i8"} for slot in ("input", "weight")]
        rules.append({"origin": last, "slot": "weight", "storage": "i8"})
    return {"rule": rules}


def _rows(arguments: argparse.Namespace) -> Iterator[BenchRow]:
    data, model = dict(np.load(arguments.images)), qmlir.load(arguments.model)
    (port,) = inputs_of(function_of(model, "main"))
    both = [np.concatenate([data[f"{kind}_train"], data[f"{kind}_valid"]]) for kind in "xy"]
    images, classes = ready(both[0]), both[1]
    held_out = len(data["x_valid"]) / len(images)
    shape = (arguments.batch, *images.shape[1:])
    program = qmlir.compile(qmlir.load(arguments.model, shapes={port.name: shape}), threads=arguments.threads)

    def judged(scores_of: Callable[[Array], Array]) -> float:
        return accuracy(scores_of, arguments.batch, data["x_test"], data["y_test"])

    exact = judged(lambda given: next(iter(program({port.name: given}).values())))
    of = arguments.model.stem
    yield BenchRow("top-1, float program", 100 * exact, None, "%", subject=of)
    names: Sequence[str] = () if arguments.only_step else arguments.only or list(_SETTINGS)
    for name in names:
        scales, settings, has_edges, bar = _SETTINGS[name]
        given: dict[str, Any] = {**settings, "recipe": recipe_of(model, has_edges), "scales": scales}
        found = qmlir.finetune(
            model, {port.name: images}, labels=classes, augment=varied, threads=arguments.threads,
            validation_split=held_out, epochs=arguments.epochs, batch_size=arguments.batch,
            learning_rate=arguments.rate, scale_rate=arguments.scale_rate, distill=arguments.distill,
            seed=arguments.seed, on_epoch=partial(_tell, name), **given,
        )  # fmt: skip
        programs = TrainingPrograms(found.trained, {port.name: shape}, threads=arguments.threads)
        before = judged(partial(_scores, programs, port.name, found.trained.parameters))
        yield BenchRow(f"points lost without training, {name}", 100 * (exact - before), None, "points", subject=of)
        after = judged(partial(_scores, programs, port.name, found.parameters))
        yield BenchRow(f"points lost after training, {name}", 100 * (exact - after), bar, "points", subject=of)
        some = ready(data["x_test"][: arguments.batch])
        (wanted,) = qmlir.interpret(found.module, {port.name: some}).values()
        differ = float((wanted != _scores(programs, port.name, found.parameters, some)).sum())
        yield BenchRow(f"scores that differ from the frozen module, {name}", differ, 0.0, "", subject=of)
    if not arguments.no_step:
        recipe = recipe_of(model, False)
        trained = qmlir.trainable(model, [{port.name: images[:64]}], weights="i4", recipe=recipe)
        clock = time.process_time if arguments.processor_time else time.perf_counter
        some = (images[: arguments.batch], classes[: arguments.batch])
        yield from _steps(trained, port.name, *some, arguments.threads, clock)


def _tell(name: str, epoch: int, found: HeldOutFigures) -> None:
    print(f"{name}, epoch {epoch}: {found.figure:.4f} on held-out images", file=sys.stderr, flush=True)


def _scores(programs: TrainingPrograms, port: str, parameters: Mapping[str, Array], images: Array) -> Array:
    return next(iter(programs.results({port: images}, parameters).values()))


def _shortest(run: Callable[[], object], other: Callable[[], object] | None, clock: Callable[[], float]) -> list[float]:
    """Milliseconds of each, the shortest of turns."""
    times: list[list[float]] = [[], []]
    for _ in range(43):
        for position, each in enumerate((run, other)):
            if each is not None:
                start = clock()
                each()
                times[position].append(1e3 * (clock() - start))
    return [min(found, default=0.0) for found in times]


def _steps(
    trained: Trainable, port: str, images: Array, classes: Array, threads: int, clock: Callable[[], float]
) -> Iterator[BenchRow]:
    """The time of a step of Adam, beside that of torch."""
    programs = TrainingPrograms(trained, {port: images.shape}, threads=threads)
    (result,) = programs.outputs
    optimizer = Optimizer(OptimizerKind.ADAM, 1e-3, 4e-3, trained.learned_scales, trained.positive)
    parameters = dict(trained.parameters)

    def step() -> None:
        nonlocal parameters
        values = programs.forward({port: images}, parameters)
        gradients = programs.backward(values, {result: cross_entropy(values[result], classes)[1]})
        parameters = optimizer.step(parameters, gradients)

    other = _torch_step(images, classes, threads) if find_spec("torch") is not None else None
    ours, theirs = _shortest(step, other, clock)
    yield BenchRow("a step", ours, None, "ms", subject="W4A8")
    forward, _ = _shortest(lambda: programs.forward({port: images}, parameters), None, clock)
    yield BenchRow("the forward of a step", forward, None, "ms", subject="W4A8")
    if other is not None:
        yield BenchRow("a step of a ResNet-8 in torch's eager training", theirs, None, "ms")
        yield BenchRow("ours as a share of it", ours / theirs, 1.0, "")


def _torch_step(images: Array, classes: Array, threads: int) -> Callable[[], object]:
    """A step of Adam of a ResNet-8 whose relus are fused, with torch's default observers and fake quantization."""
    torch: Any = import_module("torch")
    nn, quantization = torch.nn, import_module("torch.ao.quantization")
    torch.set_num_threads(threads)

    class Block(nn.Module):  # pyright: ignore[reportUntypedBaseClass]
        def __init__(self, of: int, to: int, stride: int) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]
            self.first = nn.Sequential(nn.Conv2d(of, to, 3, stride, 1), nn.ReLU())
            self.second = nn.Conv2d(to, to, 3, 1, 1)
            self.beside = nn.Conv2d(of, to, 1, stride) if stride > 1 else nn.Identity()
            self.sum = nn.quantized.FloatFunctional()

        def forward(self, x: Any) -> Any:
            return self.sum.add_relu(self.second(self.first(x)), self.beside(x))

    blocks = [Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2)]
    stem = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1), nn.ReLU())
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
    net = nn.Sequential(quantization.QuantStub(), stem, *blocks, *head, quantization.DeQuantStub()).train()
    pairs = [["1.0", "1.1"], *([f"{position}.first.0", f"{position}.first.1"] for position in (2, 3, 4))]
    quantization.fuse_modules_qat(net, pairs, inplace=True)
    net.qconfig = quantization.get_default_qat_qconfig("x86")
    quantization.prepare_qat(net, inplace=True)
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    x, y = torch.from_numpy(images), torch.from_numpy(classes)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    return step


def main() -> None:
    """Read the command line, train, and print the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=__doc__)
    parser.add_argument("model", type=Path, help="a classifier of images, with its batch norms folded")
    parser.add_argument("images", type=Path, help="an archive of images and classes")
    parser.add_argument("--only", action="append", choices=list(_SETTINGS), help="only this (may be repeated)")
    parser.add_argument("--only-step", action="store_true", help="time a step, and train nothing")
    parser.add_argument("--no-step", action="store_true", help="do not time a step")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--processor-time", action="store_true", help="of a step: for one thread on a busy machine")
    parser.add_argument("--rate", type=float, help="default: that of qmlir.finetune, by the bits of the weights")
    parser.add_argument("--scale-rate", type=float, default=4e-3)
    parser.add_argument("--distill", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    add_output(parser)
    arguments = parser.parse_args()
    print_rows(list(_rows(arguments)), arguments)


if __name__ == "__main__":
    main()
