"""Fine-tuning finds a better module than quantizing alone, goes on where it was, and says what is wrong in a line."""

import errno
import io
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.canonicalize.constants import constant_array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.extensions.training.choices import OptimizerKind
from qmlir.extensions.training.finetuning import HeldOutFigures, _State
from qmlir.extensions.training.optimizers import Optimizer
from qmlir.extensions.training.samples import TrainingSamples
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from tests.support.nets import Net

RANDOM = np.random.default_rng(2)
DATA = RANDOM.standard_normal((80, 6)).astype(np.float32)
WEIGHTS = [(RANDOM.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32) for shape in ((6, 16), (16, 3))]
NARROW = {
    "weights": "i2",
    "activations": "u4",
    "epochs": 6,
    "batch_size": 16,
    "learning_rate": 0.01,
    "scale_rate": 0.01,
}


def _scores(x: Array) -> Array:
    return np.maximum(x @ WEIGHTS[0], 0) @ WEIGHTS[1]


LABELS = _scores(DATA).argmax(1)


@pytest.fixture(scope="module")
def model() -> ModuleOp:
    net = Net()
    x = net.input(DATA[:1], ["n", 6])
    hidden = net.node("Relu", net.node("MatMul", x, net.constant(WEIGHTS[0])))
    return qmlir.load(net.model(net.node("MatMul", hidden, net.constant(WEIGHTS[1]))))


@pytest.mark.parametrize(("asked", "metric"), [({}, "SQNR dB"), ({"loss": "kl", "optimizer": "sgd"}, "agreement")])
def test_the_float_model_teaches(model: ModuleOp, asked: dict[str, Any], metric: str) -> None:
    found = qmlir.finetune(model, DATA, **NARROW, **asked)
    plain = qmlir.quantize(model, DATA, weights="i2", activations="u4", validate=False).module
    assert found.metric == metric
    assert found.samples + found.held_out == len(DATA)
    assert found.after.loss < found.before.loss
    assert found.after == found.epochs[found.best - 1]
    errors = [
        float(np.square(next(iter(qmlir.interpret(each, {"x0": DATA}).values())) - _scores(DATA)).mean())
        for each in (plain, found.module)
    ]
    assert errors[1] < errors[0]


@pytest.mark.parametrize("is_in_pairs", [True, False])
def test_labels_teach(model: ModuleOp, is_in_pairs: bool) -> None:
    if is_in_pairs:
        found = qmlir.finetune(model, [*zip(DATA, LABELS, strict=True)], labels=True, **NARROW)
    else:
        found = qmlir.finetune(model, DATA, labels=LABELS, **NARROW)
    assert (found.metric, found.float_figure) == ("top-1", 1.0)
    assert found.after.figure > found.before.figure
    assert f"{100 * found.after.figure:.2f}%" in found.text()


class _InterruptedError(Exception):
    pass


def _damaged_checkpoints(whole: bytes) -> Iterator[tuple[bytes, str]]:
    """A checkpoint with one thing wrong each: what it tells as JSON, then its arrays."""
    with np.load(io.BytesIO(whole)) as archive:
        arrays = dict(archive)
    told = json.loads(bytes(arrays["about"]))
    first, parameter = told["names"]["parameters"][0], arrays["parameters.0"]
    heads = [
        ([], "the content must be an object, but got a list"),
        ({key: each for key, each in told.items() if key != "epochs"}, "has no key 'epochs'"),
        ({**told, "best": len(told["epochs"]) + 1}, "'best' must be an integer"),
        ({**told, "best": True}, "'best' must be an integer"),
        (
            {**told, "qmlir": "0.1.9", "key": "its"},
            "written by qmlir 0.1.9, but this is .* continue with qmlir 0.1.9",
        ),
        ({**told, "key": "its"}, "belongs to another model, other data or other settings"),
        ({**told, "before": {"loss": 1}}, "'before' has no key 'figure'"),
        ({**told, "names": {**told["names"], "best": [1]}}, "'names.best.0' must be a string, but got 1"),
        ({**told, "names": {**told["names"], "best": [first]}}, "its arrays do not match the parameters"),
        ({**told, "names": {**told["names"], "optimizer": ["steps"] * 99}}, "it has no array 'optimizer"),
    ]
    changed = [({**arrays, "about": np.frombuffer(json.dumps(head).encode(), np.uint8)}, what) for head, what in heads]
    for wrong in (parameter.astype(np.float64), parameter[None], np.zeros(0, np.float32)):
        changed.append(({**arrays, "parameters.0": wrong}, "its arrays do not match the parameters"))
    changed.append(({**arrays, "optimizer.0": np.zeros((2, 2), bool)}, "its arrays do not match the parameters"))
    for each, message in changed:
        stream = io.BytesIO()
        np.savez(stream, **each)
        yield stream.getvalue(), message


def test_a_damaged_checkpoint_is_one_line(tmp_path: Path) -> None:
    parameters = {"weight": np.ones((2, 3), np.float32), "scale": np.ones((), np.float32)}
    optimizer = Optimizer(OptimizerKind.ADAM, 0.1, 0.1)
    figures = HeldOutFigures(1.0, math.inf)
    state = _State(optimizer.step(parameters, parameters), parameters, optimizer, figures, [figures], 1)
    path, content = tmp_path / "c.npz", state.to_bytes("key")
    path.write_bytes(content)
    state.restore(path, lambda version: "key")
    assert state.to_bytes("key") == content
    for damaged, message in _damaged_checkpoints(content):
        path.write_bytes(damaged)
        with pytest.raises(DiagnosticError, match=message) as error:
            state.restore(path, lambda version: "key")
        assert "\n" not in str(error.value)
        assert state.to_bytes("key") == content


@pytest.mark.parametrize("asked", [{}, {"freeze_oscillating": True, "scales": "fixed", "learning_rate": 0.05}])
def test_a_checkpoint_goes_on_with_the_same_bits(model: ModuleOp, tmp_path: Path, asked: dict[str, Any]) -> None:
    narrow = {**NARROW, **asked}

    def augment(inputs: dict[str, Array], random: np.random.Generator) -> dict[str, Array]:
        return {name: array + np.float32(0.01 * random.standard_normal()) for name, array in inputs.items()}

    def interrupt(epoch: int, _: object) -> None:
        if epoch == 3:
            raise _InterruptedError

    whole = qmlir.finetune(model, DATA, augment=augment, **narrow)
    with pytest.raises(_InterruptedError):
        qmlir.finetune(model, DATA, augment=augment, checkpoint=tmp_path / "c.npz", on_epoch=interrupt, **narrow)
    resumed: list[int] = []
    found = qmlir.finetune(
        model, DATA, augment=augment, checkpoint=tmp_path / "c.npz", **narrow,
        on_epoch=lambda epoch, _: resumed.append(epoch),
    )  # fmt: skip
    assert resumed == [4, 5, 6]
    assert found.epochs == whole.epochs
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()
    assert all(np.array_equal(found.parameters[name], array) for name, array in whole.parameters.items())
    assert str(found.module) == str(whole.module)
    with pytest.raises(DiagnosticError, match="belongs to another model, other data or other settings"):
        qmlir.finetune(model, DATA, checkpoint=tmp_path / "c.npz", **{**narrow, "seed": 1})
    whole_file = (tmp_path / "c.npz").read_bytes()
    for content in (b"no archive", b"", whole_file[: len(whole_file) // 2], bytes(64)):
        (tmp_path / "c.npz").write_bytes(content)
        with pytest.raises(DiagnosticError, match=r"c.npz' is not a checkpoint of 'qmlir finetune'"):
            qmlir.finetune(model, DATA, checkpoint=tmp_path / "c.npz", **narrow)
        assert (tmp_path / "c.npz").read_bytes() == content


def test_a_checkpoint_that_cannot_be_written_is_a_warning(model: ModuleOp, tmp_path: Path) -> None:
    told: list[Diagnostic] = []
    with diagnostic_handler(told.append):
        found = qmlir.finetune(model, DATA, checkpoint=tmp_path / "none" / "c.npz", **{**NARROW, "epochs": 2})
    folder = tmp_path / "none"
    assert [each.message for each in told if "cannot write" in each.message] == [
        f"cannot write '{folder / 'c.npz'}': No such file or directory; folder '{folder}' does not exist"
    ]
    assert len(found.epochs) == 2


def test_a_disk_that_fills_up_loses_nothing(model: ModuleOp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkpoint stays the last one that could be written, and the same command goes on from it."""
    asked = {**NARROW, "epochs": 3}
    path = tmp_path / "c.npz"
    wanted = qmlir.finetune(model, DATA, **asked)
    replace = os.replace

    def fills_up(source: str | Path, target: str | Path) -> None:
        if path.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    told: list[Diagnostic] = []
    with monkeypatch.context() as patch, diagnostic_handler(told.append):
        patch.setattr(os, "replace", fills_up)
        found = qmlir.finetune(model, DATA, checkpoint=path, **asked)
    assert [each.message for each in told if "write" in each.message] == [
        f"cannot write '{path}': No space left on device"
    ]
    assert str(found.module) == str(wanted.module)
    assert list(tmp_path.iterdir()) == [path]
    again: list[int] = []
    resumed = qmlir.finetune(model, DATA, checkpoint=path, on_epoch=lambda epoch, _: again.append(epoch), **asked)
    assert again == [2, 3]
    assert str(resumed.module) == str(wanted.module)


@pytest.mark.parametrize("factor", [np.inf, 1e30])  # of the second, the gradient
def test_a_loss_that_is_no_number_keeps_the_best(model: ModuleOp, factor: float) -> None:
    def spoil(inputs: dict[str, Array], _: object) -> dict[str, Array]:
        seen.append(0)
        return {name: array * np.float32(factor if len(seen) == 8 else 1) for name, array in inputs.items()}

    seen: list[int] = []
    told: list[Diagnostic] = []
    with diagnostic_handler(told.append), np.errstate(all="ignore"):
        found = qmlir.finetune(model, DATA, augment=spoil, **NARROW)
    assert [each.message for each in told][-1] == found.problem
    assert found.problem.startswith("the loss or its gradient is not finite at step 8: kept the best epoch; ")
    assert len(found.epochs) == 1
    assert found.after == max([found.before, *found.epochs], key=lambda each: -each.loss)


@pytest.mark.parametrize("scales", ["lsq", "tqt", "fixed"])
def test_codes_of_weights_are_those_of_the_module(model: ModuleOp, scales: str) -> None:
    powers = {"scheme": "symmetric_pow2", "weight_scheme": "symmetric_pow2"} if scales == "tqt" else {}
    trained = qmlir.trainable(model, [{"x0": DATA}], scales=scales, weights="i4", **powers)
    moved = {name: array * np.float32(0.9) for name, array in trained.parameters.items()}
    constants = [op for op in trained.freeze(moved).walk() if isinstance(op, ConstantOp)]
    stored = [array for op in constants if (array := constant_array(op.result)) is not None and array.ndim == 2]
    found = [each.codes(moved)[0] for each in trained.weights(4)]
    assert len(found) == 2
    both = [other for each in stored for other in (each, each.T)]
    assert all(any(np.array_equal(codes, each) for each in both) for codes in found)


STILL = {"learning_rate": 1e-30, "scale_rate": 1e-30}


@pytest.mark.parametrize("scales", ["lsq", "tqt"])
@pytest.mark.parametrize("bits", [2, 3])
def test_fitted_scales_have_the_least_error(model: ModuleOp, scales: str, bits: int) -> None:
    """Against all powers of two, and against more scales than are tried."""
    powers = {"scheme": "symmetric_pow2", "weight_scheme": "symmetric_pow2"} if scales == "tqt" else {}
    trained = qmlir.trainable(model, [{"x0": DATA}], scales=scales, weights=f"i{bits}", **powers)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    largest = max(np.abs(each).max() for each in WEIGHTS)
    tried = 2.0 ** np.arange(-8, 3) if powers else np.linspace(0.001, 1, 2000) * largest
    scale = tried[:, np.newaxis, np.newaxis]
    for weight, array in zip(trained.weights(bits), WEIGHTS, strict=True):
        codes, steps = weight.codes(trained.fitted(bits))
        assert codes.shape == array.shape
        least = np.square(np.clip(np.rint(array / scale), low, high) * scale - array).sum(1).min(0)
        np.testing.assert_allclose(np.square(codes * steps - array).sum(0), least, rtol=1e-5 if powers else 0.03)


def test_scales_of_wider_weights_and_those_not_learned_stay(model: ModuleOp) -> None:
    for asked, bits in (({"weights": "i8"}, 4), ({"weights": "i4", "scales": "fixed"}, 4)):
        trained = qmlir.trainable(model, [{"x0": DATA}], **asked)
        found = trained.fitted(bits)
        assert all(found[name] is array for name, array in trained.parameters.items())


@pytest.mark.parametrize(("bits", "rate"), [(8, 1e-3), (4, 2e-3)])
def test_the_rate_is_that_of_the_bits(model: ModuleOp, bits: int, rate: float) -> None:
    assert qmlir.finetune(model, DATA, weights=f"i{bits}", epochs=1).options.learning_rate == rate
    assert qmlir.finetune(model, DATA, weights=f"i{bits}", epochs=1, learning_rate=0.01).options.learning_rate == 0.01


def test_patience_ends_it(model: ModuleOp) -> None:
    found = qmlir.finetune(model, DATA, epochs=6, batch_size=16, patience=2, **STILL)
    assert (len(found.epochs), found.best) == (2, 0)
    assert found.after == found.before
    assert "no epoch was better than no training" in found.text()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"labels": True}, r"labels=True requires pairs \(inputs, labels\), but the data contains none"),
        ({"labels": LABELS[:3]}, r"expected one label per sample \(80\), but got 3"),
        ({"loss": "labels"}, "loss 'labels' requires labels"),
        ({"loss": "kl", "labels": LABELS}, "loss 'kl' learns from the float model and cannot be combined with labels"),
        ({"loss": "lk"}, "unknown loss 'lk'"),
        ({"optimizer": "adan"}, "unknown optimizer 'adan'; did you mean 'adam'"),
        ({"loss": "kl", "output": "y"}, "unknown output 'y'"),
        ({"epochs": 0}, "epochs must be at least 1, but got 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be greater than 0, but got nan"),
        ({"mixup": 1.5}, r"mixup must be in \[0, 1\], but got 1.5"),
        (
            {"mixup": 0.5, "labels": LABELS},
            "mixup cannot be combined with labels: a mixed sample has no label",
        ),
        ({"validation_split": 1.0}, r"validation_split must be in \(0, 1\), but got 1"),
        ({"distill": 1.5}, r"distill must be in \[0, 1\], but got 1.5"),
        ({"labels": LABELS + 3}, r"labels must be in \[0, 2\], as output '.*' has 3 logits, but got [34]"),
        ({"labels": LABELS - 1}, r"labels must be in \[0, 2\], .*, but got -1"),
        ({"train": ["c0"], "exclude": ["MatMul0"]}, "has nothing to train named 'c0'"),
        ({"scales": "fixed", "train": ["c0.scale"]}, "has nothing to train named 'c0.scale'"),
        ({"exclude": ["*"]}, "the model has nothing to train: it has no quantized weight, bias or scale"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(model: ModuleOp, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        qmlir.finetune(model, DATA, **asked)


@pytest.mark.parametrize("batch_axis", [0, 1])
def test_samples_are_mixed_each_by_its_share(batch_axis: int) -> None:
    net = Net()
    shape: list[str | int] = ["n", 6]
    if batch_axis:
        shape.insert(0, 2)
    x = net.input(np.zeros([2, 1, 6] if batch_axis else [1, 6], np.float32), shape)
    rows = DATA[:8] if not batch_axis else DATA[:16].reshape(2, 8, 6)
    samples = TrainingSamples(qmlir.load(net.model(net.node("Relu", x))), {"x0": rows})
    assert samples.whole_inputs == []
    found = samples.mixed([3, 0], [5, 1], np.array([0.25, 1.0]))["x0"]
    first, second = (np.take(rows, positions, batch_axis) for positions in ([3, 0], [5, 1]))
    part = np.float32([[0.25], [1.0]])
    np.testing.assert_array_equal(found, part * first + (1 - part) * second)


def test_a_quantized_model_has_no_float_model_to_learn_from(model: ModuleOp) -> None:
    quantized = qmlir.quantize(model, DATA, validate=False).module
    with pytest.raises(DiagnosticError, match="finetune requires the float model, but got a quantized one"):
        qmlir.finetune(quantized, DATA)


def test_labels_need_a_row_of_scores_for_each_sample() -> None:
    net = Net()
    x = net.input(DATA[:2], ["n", 6])
    model = qmlir.load(net.model(net.node("MatMul", x, net.constant(WEIGHTS[0][:, :1]))))
    with pytest.raises(DiagnosticError, match=r"losses 'kl' and 'labels' require .*, but got shape 64x1"):
        qmlir.finetune(model, DATA, loss="kl")


@pytest.mark.parametrize("position", [0, 79])
def test_samples_are_numbers(model: ModuleOp, position: int) -> None:
    data = DATA.copy()
    data[position, 2] = np.nan
    with pytest.raises(DiagnosticError, match=f"'x0' is NaN in sample {position}, so it cannot be used for training"):
        qmlir.finetune(model, data, profile=qmlir.profile(model, DATA), **NARROW)


def test_what_the_float_model_gives_is_finite(model: ModuleOp) -> None:
    data = np.full_like(DATA, np.inf)
    with (
        np.errstate(all="ignore"),
        pytest.raises(DiagnosticError, match="the validation loss is not finite before training: "),
    ):
        qmlir.finetune(model, data, profile=qmlir.profile(model, DATA), **NARROW)


def test_a_rate_that_is_too_high_is_a_warning(model: ModuleOp) -> None:
    told: list[Diagnostic] = []
    with diagnostic_handler(told.append):
        found = qmlir.finetune(model, DATA, **{**NARROW, "learning_rate": 1e38, "scale_rate": 1e38})
    assert found.problem.endswith(": kept the best epoch; use a lower --learning-rate")
    assert [each.message for each in told][-1] == found.problem
    assert found.after.loss <= found.before.loss
