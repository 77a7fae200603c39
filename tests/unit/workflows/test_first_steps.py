"""What a new user tries first: each step works, or says in one line what to type."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError

IMAGES = np.random.default_rng(0).random((6, 3, 2, 5), np.float32)
MODEL = """<ir_version: 10, opset_import: ["" : 21]>
pixels (float[1, 3, 2, 5] image) => (float[1, 2, 2, 5] scores)
<float[2, 3, 1, 1] weight = {1, -2, 0.5, 0.25, 0, 3}> { scores = Conv (image, weight) }
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """A model, what is quantized of it, and its program."""
    folder = tmp_path_factory.mktemp("first")
    path = folder / "model.onnxtxt"
    path.write_text(MODEL)
    np.savez(folder / "samples.npz", image=IMAGES)
    quantized = qmlir.quantize(path, IMAGES)
    return {"path": path, "folder": folder, "quantized": quantized, "program": qmlir.compile(quantized, isa="generic")}


class Tensor:
    """An array of another library."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        return IMAGES


Step = Callable[[Any], Any]

WORKS: Mapping[str, Step] = {
    "all images at once": lambda m: m["program"](IMAGES),
    "images by name": lambda m: m["program"]({"image": IMAGES}),
    "images in a list": lambda m: m["program"]([IMAGES]),
    "a list of images by name": lambda m: m["program"]({"image": list(IMAGES)}),
    "a tensor of another library": lambda m: m["program"](Tensor()),
    "no images": lambda m: m["program"](IMAGES[:0]),
    "all images, interpreted": lambda m: qmlir.interpret(m["quantized"], IMAGES),
    "labels among the samples": lambda m: qmlir.quantize(m["path"], {"image": IMAGES, "label": np.zeros(6)}),
    "paths": lambda m: qmlir.quantize(str(m["path"]), str(m["folder"] / "samples.npz")),
}

SAYS: Mapping[str, tuple[Step, str]] = {
    "double": (lambda m: m["program"](IMAGES.astype(float)), "found float64: type image.astype(np.float32)"),
    "bytes": (
        lambda m: m["program"]((IMAGES * 255).astype(np.uint8)),
        "found uint8: type image.astype(np.float32), in the range of the samples of calibration",
    ),
    "one image": (lambda m: m["program"](IMAGES[0]), "found 3x2x5: type image[np.newaxis] for one image"),
    "channels last": (
        lambda m: m["program"](np.moveaxis(IMAGES, 1, -1)),
        "found 6x2x5x3: type image.transpose(0, 3, 1, 2), channels lie elsewhere",
    ),
    "one with channels last": (
        lambda m: m["program"](np.moveaxis(IMAGES[0], 0, -1)),
        "found 2x5x3: type image.transpose(2, 0, 1)[np.newaxis], channels lie elsewhere",
    ),
    "a list of images": (lambda m: m["program"](list(IMAGES)), "np.stack(images) makes one array of images"),
    "images one by one": (lambda m: m["program"](IMAGES, IMAGES), "several inputs go into one list"),
    "a wrong name": (lambda m: m["program"]({"img": IMAGES}), "did you mean 'image'?"),
    "a folder": (lambda m: qmlir.load(m["folder"]), "did you mean '"),
    "a typo": (lambda m: qmlir.quantize(m["path"], IMAGES, granularty="channel"), "did you mean 'granularity'?"),
    "a typo in a word": (lambda m: qmlir.quantize(m["path"], IMAGES, granularity="chanel"), "tensor, channel, block:N"),
    "no samples": (lambda m: qmlir.quantize(m["path"]), "quantize takes samples"),
}


@pytest.mark.parametrize("step", WORKS)
def test_steps_that_work(made: Mapping[str, Any], step: str) -> None:
    WORKS[step](made)


@pytest.mark.parametrize("step", SAYS)
def test_steps_that_say_what_to_type(made: Mapping[str, Any], step: str) -> None:
    function, wanted = SAYS[step]
    with pytest.raises((DiagnosticError, qmlir.InputError, TypeError)) as raised:
        function(made)
    assert wanted in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_interpreter_gives_what_the_program_gives(made: Mapping[str, Any]) -> None:
    found = qmlir.interpret(made["quantized"], IMAGES)["scores"]
    np.testing.assert_array_equal(made["program"](IMAGES)["scores"], found, strict=True)
