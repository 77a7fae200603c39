"""What a new user tries first: each step works, or says in one line what to type."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError, diagnostic_handler

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
    program = qmlir.compile(quantized, isa="generic")
    program.save(folder / "program")
    return {"path": path, "folder": folder, "quantized": quantized, "program": program}


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
    "batches of another size": lambda m: qmlir.quantize(m["path"], [IMAGES[:4], IMAGES[4:]]),
    "batches with labels": lambda m: qmlir.quantize(m["path"], [(IMAGES[:4], [0] * 4), (IMAGES[4:], [1, 2])]),
    "one sample": lambda m: qmlir.quantize(m["path"], IMAGES[:1]),
    "a generator": lambda m: qmlir.quantize(m["path"], (image for image in IMAGES)),
    "types of other tools": lambda m: qmlir.quantize(m["path"], IMAGES, weights="int4", activations=np.uint8),
    "a recipe in place": lambda m: qmlir.quantize(
        m["path"], IMAGES, recipe={"rule": [{"op": "conv", "quantize": False}]}
    ),
    "a gradient by path": lambda m: qmlir.gradient(m["path"]),
    "a comparison without a model": lambda m: qmlir.compare(m["quantized"], data=IMAGES),
}

SAYS: Mapping[str, tuple[Step, str]] = {
    "double": (lambda m: m["program"](IMAGES.astype(float)), "but got float64; help: pass image.astype(np.float32)"),
    "bytes": (
        lambda m: m["program"]((IMAGES * 255).astype(np.uint8)),
        "but got uint8; help: pass image.astype(np.float32), scaled like the calibration samples",
    ),
    "one image": (lambda m: m["program"](IMAGES[0]), "but got 3x2x5; help: pass image[np.newaxis] for one sample"),
    "channels last": (
        lambda m: m["program"](np.moveaxis(IMAGES, 1, -1)),
        "but got 6x2x5x3; help: pass image.transpose(0, 3, 1, 2) (its channels",
    ),
    "one with channels last": (
        lambda m: m["program"](np.moveaxis(IMAGES[0], 0, -1)),
        "but got 2x5x3; help: pass image.transpose(2, 0, 1)[np.newaxis] (its channels",
    ),
    "a list of images": (lambda m: m["program"](list(IMAGES)), "pass np.stack(samples) as one array"),
    "images one by one": (lambda m: m["program"](IMAGES, IMAGES), "pass several inputs as one list"),
    "a wrong name": (lambda m: m["program"]({"img": IMAGES}), "did you mean 'image'?"),
    "a folder": (lambda m: qmlir.load(m["folder"]), "did you mean '"),
    "a typo": (lambda m: qmlir.quantize(m["path"], IMAGES, granularty="channel"), "did you mean 'granularity'?"),
    "a typo in a word": (lambda m: qmlir.quantize(m["path"], IMAGES, granularity="chanel"), "tensor, channel, block:N"),
    "no samples": (lambda m: qmlir.quantize(m["path"]), "pass samples with --data PATH (data=)"),
    "channels last in the data": (
        lambda m: qmlir.quantize(m["path"], np.moveaxis(IMAGES, 1, -1)),
        "input 'image' must have shape 1x3x2x5, but got 2x5x3; help: pass array.transpose(0, 3, 1, 2)",
    ),
    "a sample without a batch": (lambda m: qmlir.quantize(m["path"], IMAGES[0]), "pass array[None]"),
    "a wrong name in the data": (lambda m: qmlir.quantize(m["path"], {"img": IMAGES}), "did you mean 'image'?"),
    "numbers of another kind": (lambda m: qmlir.quantize(m["path"], IMAGES > 0.5), "pass array.astype('float32')"),
    "nothing in the data": (lambda m: qmlir.quantize(m["path"], IMAGES[:0]), "the data contains no samples"),
    "the data first": (lambda m: qmlir.quantize(IMAGES, m["path"]), "pass the model first, then the data"),
    "no file": (lambda m: qmlir.quantize("no.onnx", IMAGES), "cannot read 'no.onnx'"),
    "a program for a model": (lambda m: qmlir.quantize(m["program"], IMAGES), "call it as program(inputs)"),
    "a saved program for a model": (lambda m: qmlir.load(m["folder"] / "program"), "qmlir.load_program("),
    "a model for a saved program": (
        lambda m: qmlir.load_program(m["path"]),
        "create one with 'qmlir compile MODEL -o DIR'",
    ),
    "per_channel": (lambda m: qmlir.quantize(m["path"], IMAGES, per_channel=True), "use granularity='channel'"),
    "no per_channel": (lambda m: qmlir.quantize(m["path"], IMAGES, per_channel=False), "use granularity='tensor'"),
    "no symmetric activations": (
        lambda m: qmlir.quantize(m["path"], IMAGES, activation_symmetric=False),
        "use scheme='asymmetric'",
    ),
    "no symmetric weights": (
        lambda m: qmlir.quantize(m["path"], IMAGES, weight_symmetric=False),
        "use weight_scheme='asymmetric'",
    ),
    "symmetric weights": (
        lambda m: qmlir.quantize(m["path"], IMAGES, weight_symmetric=True),
        "use weight_scheme='symmetric'",
    ),
    "a reduced range": (lambda m: qmlir.quantize(m["path"], IMAGES, reduce_range=True), "use weights='i7'"),
    "no reduced range": (  # which is so without a setting
        lambda m: qmlir.quantize(m["path"], IMAGES, reduce_range=False),
        "quantize has no setting 'reduce_range' (available: ",
    ),
    "nodes_to_exclude": (lambda m: qmlir.quantize(m["path"], IMAGES, nodes_to_exclude=["a"]), "use exclude=['a']"),
    "a preset": (
        lambda m: qmlir.quantize(m["path"], IMAGES, preset="mixed"),
        "mixed is what is done without a setting",
    ),
    "extra_options": (lambda m: qmlir.quantize(m["path"], IMAGES, extra_options={}), "use the settings"),
    "bits": (
        lambda m: qmlir.quantize(m["path"], IMAGES, bits=4),
        "types are spelled as storages of weights and activations",
    ),
    "a granularity": (lambda m: qmlir.quantize(m["path"], IMAGES, granularity="chanel"), "did you mean 'channel'?"),
    "a typo in an argument": (lambda m: qmlir.quantize(m["path"], IMAGES, efort=1), "did you mean 'effort'?"),
    "another function's": (
        lambda m: qmlir.finetune(m["path"], IMAGES, epoch=3),
        "finetune has no setting 'epoch'; did you mean 'epochs'?",
    ),
    "a search's": (lambda m: qmlir.search(m["path"], IMAGES, min_acuracy=0.9), "did you mean 'min_accuracy'?"),
    "threads as text": (lambda m: qmlir.compile(m["path"], threads="2"), "threads must be at least 1, but got '2'"),
    "capitals": (lambda m: qmlir.compile(m["path"], isa="AVX2"), "did you mean 'avx2'?"),
    "inputs as keywords": (lambda m: m["program"](image=IMAGES), "program({'image': …})"),
    "run": (lambda m: m["program"].run(None, {"image": IMAGES}), "call it as program(inputs)"),
    "a call of what is quantized": (lambda m: m["quantized"](IMAGES), "qmlir.compile(quantized)(inputs) runs it"),
    "eval": (lambda m: m["quantized"].eval(), "qmlir.compile(quantized)(inputs) runs it"),
    "one image, interpreted": (lambda m: qmlir.interpret(m["quantized"], IMAGES[0]), "pass image[np.newaxis]"),
    "channels last, interpreted": (
        lambda m: qmlir.interpret(m["quantized"], np.moveaxis(IMAGES, 1, -1)),
        "pass image.transpose(0, 3, 1, 2)",
    ),
    "a list, interpreted": (lambda m: qmlir.interpret(m["quantized"], list(IMAGES)), "np.stack(samples)"),
    "a wrong name, interpreted": (
        lambda m: qmlir.interpret(m["quantized"], {"img": IMAGES}),
        "the model has no input 'img'; did you mean 'image'?",
    ),
    "a module to explain": (
        lambda m: qmlir.explain(m["quantized"].module, "scores"),
        "explain requires the result of quantize",
    ),
    "a model to explain": (
        lambda m: qmlir.explain(m["path"], "scores"),
        "is not in a folder written by 'qmlir quantize'",
    ),
    "no data to compare by": (lambda m: qmlir.compare(m["quantized"]), "compare(quantized, data=…)"),
    "no targets": (lambda m: qmlir.partition(m["quantized"]), "pass --device npu,cpu (device='npu,cpu')"),
    "a file for a folder": (lambda m: m["quantized"].save(m["folder"] / "q.pt"), "writes a folder"),
    "British": (lambda m: getattr(qmlir, "quantise"), "did you mean 'quantize'?"),  # noqa: B009
}


@pytest.mark.parametrize("step", WORKS)
def test_steps_that_work(made: Mapping[str, Any], step: str) -> None:
    WORKS[step](made)


@pytest.mark.parametrize("step", SAYS)
def test_steps_that_say_what_to_type(made: Mapping[str, Any], step: str) -> None:
    function, wanted = SAYS[step]
    with pytest.raises((DiagnosticError, qmlir.InputError, TypeError, AttributeError)) as raised:
        function(made)
    assert wanted in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_interpreter_gives_what_the_program_gives(made: Mapping[str, Any]) -> None:
    found = qmlir.interpret(made["quantized"], IMAGES)["scores"]
    np.testing.assert_array_equal(made["program"](IMAGES)["scores"], found, strict=True)


SHOWN: Mapping[str, tuple[Step, str]] = {
    "quantized": (lambda m: m["quantized"], "1 of 1 operations compute on quantized values\n"),
    "coverage": (lambda m: m["quantized"].coverage, "1 of 1 operations compute on quantized values\n"),
    "profile": (lambda m: m["quantized"].profile, "2 values of 6 samples\n"),
    "summary": (lambda m: m["quantized"].summary(), "1 of 1 operations compute on quantized values\n"),
    "validation": (lambda m: m["quantized"].validation, "against the float model, 6 samples that calibration used: "),
    "comparison": (lambda m: qmlir.compare(m["path"], m["quantized"], IMAGES), "the candidate against "),
    "inspection": (lambda m: qmlir.inspect(m["quantized"]), "inputs: image 1x3x2x5xf32\n"),
    "explanation": (lambda m: qmlir.explain(m["quantized"], "scores"), "scores, Conv in the model\n"),
    "partition": (lambda m: qmlir.partition(m["quantized"], "cpu"), "@main: no part for any of cpu\n"),
    "trainable": (lambda m: qmlir.trainable(m["path"], IMAGES), "4 parameters, 3 of them scales; 10 elements"),
    "program": (lambda m: m["program"], "program for generic, 1 thread\ntakes image: 1x3x2x5 f32\ngives scores"),
    "saved program": (
        lambda m: qmlir.load_program(m["folder"] / "program"),
        "program\ntakes image: 1x3x2x5 float32\ngives scores: 1x2x2x5 float32",
    ),
    "report": (lambda m: qmlir.report(m["quantized"], IMAGES, m["folder"] / "r.html", time=False), "model: "),
}


@pytest.mark.parametrize("what", SHOWN)
def test_results_show_themselves(made: Mapping[str, Any], what: str) -> None:
    give, wanted = SHOWN[what]
    shown = repr(give(made))
    assert shown.startswith(wanted)
    assert "object at 0x" not in shown
    assert max(map(len, shown.splitlines())) < 200


def test_a_comparison_says_that_it_is_turned_around(made: Mapping[str, Any]) -> None:
    turned = "the reference is the quantized one of both: give the float model first"
    assert turned in qmlir.compare(made["quantized"], made["path"], IMAGES).text()
    assert turned not in qmlir.compare(made["path"], made["quantized"], IMAGES).text()


def test_what_is_quantized_already_is_told(made: Mapping[str, Any]) -> None:
    told: list[Any] = []
    with diagnostic_handler(told.append):
        qmlir.quantize(made["quantized"], IMAGES)
        qmlir.quantize(made["path"], IMAGES)
    assert [each.message for each in told] == [
        "the model is quantized already, and keeps its types: quantize takes the float model"
    ]
