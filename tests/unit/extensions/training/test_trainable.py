"""What is trained computes the integers of the module that it becomes, whatever training finds."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.extensions.training.trainable import Trainable
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.signature import inputs_of
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import CLEAN
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import specialize
from tests.support.nets import Net

POWERS = {"scheme": "symmetric_pow2", "weight_scheme": "symmetric_pow2"}
NARROW = {"weights": "i4", "activations": "u4", "granularity": "tensor"}


def _images(random: np.random.Generator) -> tuple[Net, str]:
    """Layers of images: a residual sum, a clip, means of windows with padding, slices and their concatenation."""
    net = Net()

    def weight(*shape: int) -> str:
        return net.constant((random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32))

    def conv(data: str, to: int, of: int, **attributes: Any) -> str:
        bias = net.constant(random.standard_normal(to).astype(np.float32) / 4)
        return net.node("Conv", data, weight(to, of, 3, 3), bias, pads=[1, 1, 1, 1], **attributes)

    x = net.input(random.standard_normal((2, 3, 8, 8)).astype(np.float32))
    first = net.node("Relu", conv(x, 8, 3))
    total = net.node("Add", conv(first, 8, 8), first)
    clipped = net.node("Clip", total, net.constant(np.float32(-0.5)), net.constant(np.float32(2.5)))
    pooled = net.node("AveragePool", clipped, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    left, right = net.nodes_of("Split", pooled, axis=1, num_outputs=2, outputs=2)
    joined = net.node("Concat", net.node("Sigmoid", left), right, axis=1)
    depthwise = net.node("Conv", joined, weight(8, 1, 3, 3), group=8)
    gated = net.node("Mul", depthwise, net.node("GlobalAveragePool", depthwise))
    up = net.node("ConvTranspose", gated, weight(8, 4, 2, 2), strides=[2, 2])
    flat = net.node("Flatten", net.node("MaxPool", up, kernel_shape=[2, 2], strides=[2, 2]))
    return net, net.node("Gemm", flat, weight(5, 16), net.constant(np.zeros(5, np.float32)), transB=1)


def _steps(random: np.random.Generator) -> tuple[Net, str]:
    """Layers of sequences: a recurrent layer, a softmax over its steps, a product of two activations."""
    net = Net()

    def weight(*shape: int) -> str:
        return net.constant((random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32))

    x = net.input(random.standard_normal((2, 2, 6)).astype(np.float32))
    first, _ = net.nodes_of("GRU", x, weight(1, 12, 6), weight(1, 12, 4), weight(1, 24), hidden_size=4, outputs=2)
    second = net.nodes_of(
        "LSTM", net.node("Squeeze", first, net.constant(np.array([1]))), weight(1, 12, 4), weight(1, 12, 3),
        weight(1, 24), hidden_size=3, outputs=3,
    )[0]  # fmt: skip
    rows = net.node("Transpose", net.node("Squeeze", second, net.constant(np.array([1]))), perm=[1, 0, 2])
    scores = net.node("MatMul", rows, net.node("Transpose", rows, perm=[0, 2, 1]))
    return net, net.node("MatMul", net.node("Softmax", scores, axis=-1), rows)


def _in_blocks(random: np.random.Generator) -> tuple[Net, str]:
    """Layers whose weights have blocks of 4 along what they sum up."""
    net = Net()

    def weight(*shape: int) -> str:
        return net.constant(random.standard_normal(shape).astype(np.float32) / 3)

    def bias(count: int) -> str:
        return net.constant(random.standard_normal(count).astype(np.float32))

    x = net.input(random.standard_normal((2, 8, 4, 4)).astype(np.float32))
    conv = net.node("Relu", net.node("Conv", x, weight(8, 8, 3, 3), bias(8), pads=[1, 1, 1, 1]))
    up = net.node("ConvTranspose", conv, weight(8, 4, 2, 2), bias(4), strides=[2, 2])
    rows = net.node("MatMul", net.node("Transpose", up, perm=[0, 2, 3, 1]), weight(4, 8))
    flat = net.node("Flatten", net.node("AveragePool", rows, kernel_shape=[4, 4], strides=[4, 4]))
    return net, net.node("Gemm", flat, weight(5, 32), bias(5), transB=1)


def _norms(random: np.random.Generator) -> tuple[Net, str]:
    """Norms of rows on integers, of channels, of groups of them, and of the last axis, with attention in between."""
    net = Net(opset=23)

    def weight(*shape: int) -> str:
        return net.constant((random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32))

    def near(middle: float, count: int) -> str:
        return net.constant((middle + random.standard_normal(count) / 8).astype(np.float32))

    x = net.input(random.standard_normal((2, 4, 3, 8)).astype(np.float32))
    channels = net.node("InstanceNormalization", net.node("MatMul", x, weight(8, 8)), near(1, 4), near(0, 4))
    first = net.node("MatMul", channels, weight(8, 8))
    second = net.node("GroupNormalization", first, near(1, 4), near(0, 4), num_groups=2)
    groups = net.node("MatMul", second, weight(8, 8))
    rows = net.node("LayerNormalization", groups, near(1, 8), near(0, 8))
    query, key, value = (net.node("MatMul", rows, weight(8, 8)) for _ in range(3))
    scores = net.node("MatMul", query, net.node("Transpose", key, perm=[0, 1, 3, 2]))
    total = net.node("Add", net.node("MatMul", net.node("Softmax", scores), value), groups)
    return net, net.node("MatMul", net.node("RMSNormalization", total, near(1, 8)), weight(8, 4))


def _moved(trained: Trainable, random: np.random.Generator) -> dict[str, Array]:
    """What training may find: everything a little elsewhere."""
    found: dict[str, Array] = {}
    for name, array in trained.parameters.items():
        factor = 1 + 0.05 * random.standard_normal(array.shape)
        shift = 0.4 * random.standard_normal(array.shape) if name.endswith("threshold") else 0.0
        found[name] = (array * factor + shift).astype(np.float32)
    return found


@pytest.mark.parametrize(
    ("build", "scales", "settings"),
    [
        (_images, "fixed", {"accumulator": "i16"}),
        (_images, "lsq", {}),
        (_images, "lsq", NARROW),
        (_images, "tqt", POWERS),
        (_in_blocks, "lsq", {"weights": "i4", "granularity": "block:4"}),
        (_in_blocks, "tqt", {**POWERS, "granularity": "block:4"}),
        (_in_blocks, "lsq", {"weights": "binary"}),
        (_steps, "lsq", {"weights": "i4"}),
        (_steps, "lsq", {"weights": "i16", "activations": "i16"}),  # sums of wider steps than their products
        (_steps, "tqt", {**POWERS, "requantize": "shift:even"}),
        (_norms, "lsq", {}),
        (_norms, "lsq", {"weights": "i4", "activations": "i16"}),
        (_norms, "tqt", {**POWERS, "activations": "u8"}),
    ],
)
def test_every_integer_is_that_of_the_frozen_module(
    build: Callable[[np.random.Generator], tuple[Net, str]], scales: str, settings: dict[str, Any]
) -> None:
    random = np.random.default_rng(7)
    net, output = build(random)
    data = [{"x0": random.standard_normal(net.feeds["x0"].shape).astype(np.float32)} for _ in range(3)]
    trained = qmlir.trainable(qmlir.load(net.model(output)), data, scales=scales, **settings).watched()
    for parameters in (trained.parameters, _moved(trained, random)):
        frozen = trained.freeze(parameters)
        for feeds in data[:2]:
            wanted = qmlir.interpret(frozen, feeds)
            for module in (trained.module, _on_integers(trained)):
                _check_bits(qmlir.interpret(module, {**feeds, **parameters}), wanted)


def _check_bits(found: Mapping[str, Array], wanted: Mapping[str, Array]) -> None:
    """All results are the same, signs of zeros included."""
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype, name
        assert found[name].tobytes() == array.tobytes(), (
            f"{name}: {np.count_nonzero(found[name] != array)} of {array.size} differ"
        )


SCHEMES = ("asymmetric", "symmetric", "asymmetric_pow2", "symmetric_pow2")


def _drawn(random: np.random.Generator) -> dict[str, Any]:
    """Settings of any kind, those that say nothing left out."""
    choices: dict[str, Sequence[str]] = {
        "scheme": SCHEMES,
        "weight_scheme": SCHEMES,
        "weights": ("i4", "i8", "i8", "i16", "binary"),
        "activations": ("u4", "i8", "u8", "u8", "i16", "u16"),
        "granularity": ("tensor", "channel", "channel", "block:4"),
        "requantize": ("", "", "", "f32", "shift:even", "shift:up"),
        "accumulator": ("", "", "i16", "i32"),
        "scales": ("fixed", "lsq", "lsq", "tqt", "tqt"),
    }
    found: dict[str, Any] = {name: str(random.choice(list(each))) for name, each in choices.items()}
    if random.random() < 0.2:
        found["train"] = ["c*"]
    if random.random() < 0.2:
        found["recipe"] = {"rule": [{"node": "MatMul0", "scheme": str(random.choice(SCHEMES[:2]))}]}
    return {name: value for name, value in found.items() if value}


def _small(random: np.random.Generator) -> tuple[Net, str]:
    """Rows through two layers, a sum of a value and a layer, a clip, a mean, a product, gates and zeros."""
    net = Net()

    def weight(*shape: int) -> str:
        return net.constant((random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32))

    x = net.input(random.standard_normal((6, 8)).astype(np.float32))
    hidden = net.node("Relu", net.node("MatMul", x, weight(8, 8)))
    total = net.node("Add", net.node("Gemm", hidden, weight(8, 8), weight(8)), net.node("MatMul", x, weight(8, 8)))
    gated = net.node("Mul", total, net.node("Sigmoid", total))
    mixed = net.node("Max", net.node("Sub", gated, hidden), net.node("Neg", hidden))
    mean = net.node("ReduceMean", mixed, net.constant(np.array([0])), keepdims=1)
    return net, net.node("MatMul", net.node("Add", mixed, mean), weight(8, 3))


def _check_frozen(seed: int) -> None:
    random = np.random.default_rng([19, seed])
    net, output = _small(random)
    settings = _drawn(random)
    try:
        trained = qmlir.trainable(qmlir.load(net.model(output)), [net.feeds], **settings).watched()
    except DiagnosticError as error:  # before training begins, and never after it
        if "requantize" in settings and "mode 'shift'" in str(error):
            return
        raise
    alike = {  # scales that were apart and meet: the frozen module adds their integers
        name: np.full_like(array, 0.0625 if name in trained.positive else -1.0)
        for name, array in trained.parameters.items()
        if name in trained.learned_scales
    }
    for parameters in ({}, _moved(trained, random), alike):
        frozen = trained.freeze(parameters)
        given = {**net.feeds, **trained.parameters, **parameters}
        _check_bits(qmlir.interpret(trained.module, given), qmlir.interpret(frozen, net.feeds))


@pytest.mark.parametrize("seed", range(6))
def test_the_arithmetic_of_training_is_that_of_the_frozen_module(seed: int) -> None:
    """Whatever the settings, the schemes, and how scales are learned: nothing is decided again."""
    _check_frozen(seed)


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, 400, 50))
def test_the_arithmetic_of_training_is_that_of_many_frozen_modules(first: int) -> None:
    for seed in range(first, first + 50):
        _check_frozen(seed)


@pytest.mark.parametrize("is_quantized", [False, True])
def test_scales_that_move_anywhere_are_not_trained_by_shifts(is_quantized: bool) -> None:
    net = Net()
    x = net.input(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))
    model = qmlir.load(net.model(net.node("MatMul", x, net.constant(np.ones((3, 2), np.float32)))))
    settings: dict[str, Any] = {**POWERS, "requantize": "shift"}
    begun = qmlir.quantize(model, [net.feeds], validate=False, **settings).module if is_quantized else model
    given: dict[str, Any] = {} if is_quantized else {"data": [net.feeds], **settings}
    with pytest.raises(DiagnosticError, match=r'training learns them; pass scales="tqt" or requantize="f32"'):
        qmlir.trainable(begun, scales="lsq", **given)
    assert "#kernel.requantize<shift" in str(qmlir.trainable(begun, scales="tqt", **given).freeze({}))


def _on_integers(trained: Trainable) -> ModuleOp:
    """The module that is trained, with sums of integers where there may be some."""
    return run_pipeline(trained.module.clone(), f"nn-contract-integers,{CLEAN}")


def test_every_integer_is_that_of_the_programs() -> None:
    random = np.random.default_rng(11)
    trained, x = _layer("lsq", weights="i4")
    watched = trained.watched()
    parameters = _moved(trained, random)
    frozen, given = watched.freeze(parameters), {"x0": x, **parameters}
    wanted = qmlir.interpret(frozen, {"x0": x})
    assert len(wanted) == 4  # the output, and the integers of the data, the weights and the result
    programs = [qmlir.compile(module, codegen="llvm") for module in (watched.module, _on_integers(watched), frozen)]
    for found in (*(program(given) for program in programs[:2]), programs[2]({"x0": x})):
        _check_bits(found, wanted)
    shipped = qmlir.compile(trained.freeze(parameters), codegen="llvm")({"x0": x})
    assert all(np.array_equal(wanted[name], array) for name, array in shipped.items())


def test_norms_on_integers_are_fine_tuned() -> None:
    """Nothing else is in float, and a norm has its root by the scale that training found, in each program."""
    random = np.random.default_rng(5)
    net = Net()
    x = net.input(random.standard_normal((1, 8)).astype(np.float32), ["n", 8])
    weights = [net.constant((random.standard_normal((8, 8)) / 3).astype(np.float32)) for _ in range(4)]
    scale, bias = (net.constant(np.full(8, each, np.float32)) for each in (1, 0))
    first = net.node("MatMul", x, weights[0])
    hidden = net.node("Relu", net.node("MatMul", net.node("LayerNormalization", first, scale, bias), weights[1]))
    total = net.node("Add", net.node("MatMul", hidden, weights[2]), first)
    last = net.node("MatMul", net.node("LayerNormalization", total, scale, bias), weights[3])
    model = qmlir.load(net.model(last))
    data = random.standard_normal((1024, 8)).astype(np.float32)
    found = qmlir.finetune(model, data, epochs=6, batch_size=16, validation_split=0.25)
    assert found.after.loss < found.before.loss
    begun = found.trained.parameters
    assert all(not np.array_equal(begun[name], array) for name, array in found.parameters.items())
    watched = found.trained.watched()
    frozen, feeds = watched.freeze(found.parameters), {"x0": data[:16]}
    norms = [op for op in frozen.walk() if op.name == "nn.layer_norm"]
    assert [quantized_type(op.operands[0]) is None for op in norms] == [False, False]
    wanted = qmlir.interpret(frozen, feeds)
    given = {**feeds, **found.parameters}
    carried = specialize(watched.module, {"x0": (16, 8)})
    for results in (qmlir.interpret(watched.module, given), qmlir.compile(carried, codegen="llvm")(given)):
        assert all(np.array_equal(results[name], array) for name, array in wanted.items())
    shipped = qmlir.compile(specialize(found.module, {"x0": (16, 8)}), codegen="llvm")(feeds)
    assert all(np.array_equal(wanted[name], array) for name, array in shipped.items())


def test_equal_constants_are_two_parameters_and_one_that_is_read_twice_is_one() -> None:
    """Biases begin with zeros in two initializers. One matrix, which both layers read transposed, stays tied."""
    random = np.random.default_rng(17)
    net = Net()
    x, matrix, zeros = random.standard_normal((4, 6)), random.standard_normal((6, 6)), np.zeros(6, np.float32)
    weight, biases = net.constant(matrix.astype(np.float32)), [net.constant(zeros), net.constant(zeros)]
    hidden = net.node("Relu", net.node("Gemm", net.input(x.astype(np.float32)), weight, biases[0]))
    model = qmlir.load(net.model(net.node("Gemm", hidden, weight, biases[1])))
    trained = qmlir.trainable(model, [net.feeds])
    learned = {name: array.shape for name, array in trained.parameters.items() if name not in trained.learned_scales}
    assert learned == {"c1": (6,), "c2": (6,), "Gemm0+Gemm2": (6, 6)}
    parameters = {**trained.parameters, "c1": zeros + np.float32(0.5), "c2": zeros - np.float32(0.25)}
    found = qmlir.interpret(trained.module, {**net.feeds, **parameters})
    wanted = qmlir.interpret(trained.freeze(parameters), net.feeds)
    assert all(np.array_equal(found[name], array) for name, array in wanted.items())
    begun = qmlir.interpret(trained.module, {**net.feeds, **trained.parameters})
    quantized = qmlir.interpret(qmlir.quantize(model, [net.feeds], validate=False).module, net.feeds)
    assert all(np.array_equal(begun[name], array) for name, array in quantized.items())
    assert all(not np.array_equal(found[name], array) for name, array in begun.items())


def test_gates_whose_biases_begin_alike_are_not_tied() -> None:
    random = np.random.default_rng(19)
    net = Net()
    x, *weights = (random.standard_normal(shape).astype(np.float32) for shape in ((3, 2, 4), (1, 16, 4), (1, 16, 4)))
    inputs = (net.input(x), *map(net.constant, weights), net.constant(np.zeros((1, 32), np.float32)))
    trained = qmlir.trainable(qmlir.load(net.model(net.node("LSTM", *inputs, hidden_size=4))), [net.feeds])
    biases = [name for name in trained.parameters if name.endswith("/bias")]
    assert sorted(biases) == [f"LSTM0/{gate}_gate/bias" for gate in ("cell", "forget", "input", "output")]


def test_what_is_not_trained_freezes_to_what_quantize_gives() -> None:
    random = np.random.default_rng(3)
    net, output = _images(random)
    model, data = qmlir.load(net.model(output)), [net.feeds]
    assert str(qmlir.trainable(model, data).freeze({})) == str(qmlir.quantize(model, data, validate=False).module)


def _plain_onnx(module: ModuleOp) -> ModelProto:
    """The ONNX model in QDQ form, as another tool writes one."""
    return _without_metadata(qmlir.export_onnx(module, exact=False))


def _without_metadata(model: ModelProto) -> ModelProto:
    """The model without what we keep in its metadata."""
    parts = [model.graph, *model.graph.node, *model.graph.initializer, *model.graph.input, *model.graph.output]
    for each in (model, *parts, *model.graph.value_info):
        del each.metadata_props[:]
    return model


def _check_goes_on(model: ModuleOp, scales: str, random: np.random.Generator, feeds: dict[str, Array]) -> None:
    """Training begins at the integers of `model`, and freezes to those of training."""
    trained = qmlir.trainable(model, scales=scales)
    feeds = {name: random.standard_normal(array.shape).astype(np.float32) for name, array in feeds.items()}
    begun, wanted = qmlir.interpret(trained.freeze({}), feeds), qmlir.interpret(model, feeds)
    assert all(np.array_equal(begun[name], array) for name, array in wanted.items())
    for parameters in (trained.parameters, _moved(trained, random)):
        found = qmlir.interpret(trained.module, {**feeds, **parameters})
        wanted = qmlir.interpret(trained.freeze(parameters), feeds)
        assert all(np.array_equal(found[name], array) for name, array in wanted.items())


@pytest.mark.parametrize(
    ("build", "scales", "settings"),
    [
        (_images, "lsq", {}),
        (_images, "fixed", NARROW),
        (_images, "tqt", POWERS),
        (_steps, "lsq", {"weights": "i4"}),
        (_in_blocks, "lsq", {"granularity": "block:4"}),
    ],
)
def test_a_quantized_module_goes_on_training(
    build: Callable[[np.random.Generator], tuple[Net, str]], scales: str, settings: dict[str, Any]
) -> None:
    """Without data."""
    random = np.random.default_rng(11)
    net, output = build(random)
    model = qmlir.quantize(qmlir.load(net.model(output)), [net.feeds], validate=False, **settings)
    _check_goes_on(model, scales, random, net.feeds)


@pytest.mark.parametrize("scales", ["fixed", "lsq"])
def test_a_model_in_qdq_form_goes_on_training(scales: str) -> None:
    random, net = np.random.default_rng(12), Net()
    x = net.input(random.standard_normal((2, 3, 8, 8)).astype(np.float32))
    weights = [net.constant(random.standard_normal(each).astype(np.float32) / 4) for each in ((8, 3, 3, 3), 8, (72, 5))]
    conv = net.node("Relu", net.node("Conv", x, *weights[:2]))
    pooled = net.node("Flatten", net.node("MaxPool", conv, kernel_shape=[2, 2], strides=[2, 2]))
    output = net.node("Gemm", pooled, weights[2], net.constant(random.standard_normal(5).astype(np.float32)))
    model = qmlir.load(_plain_onnx(qmlir.quantize(qmlir.load(net.model(output)), [net.feeds], validate=False)))
    assert "quant.scast" not in {op.name for op in model.walk()}
    _check_goes_on(model, scales, random, net.feeds)


def test_arithmetic_on_stored_integers_is_not_trained() -> None:
    net = Net()
    x = net.input(np.ones((2, 3), np.float32))
    float_model = qmlir.load(net.model(net.node("MatMul", x, net.constant(np.ones((3, 2), np.float32)))))
    model = qmlir.export_onnx(qmlir.quantize(float_model, [net.feeds], validate=False), format="integer")
    with pytest.raises(DiagnosticError, match="it reads plain integers, which have no gradient"):
        qmlir.trainable(qmlir.load(_without_metadata(model), keep_casts=True))


def test_a_quantized_model_takes_no_data_and_no_settings() -> None:
    net = Net()
    x = net.input(np.ones((2, 3), np.float32))
    float_model = qmlir.load(net.model(net.node("MatMul", x, net.constant(np.ones((3, 2), np.float32)))))
    model = qmlir.quantize(float_model, [net.feeds])
    with pytest.raises(DiagnosticError, match="already quantized: training uses its types, so data cannot be set"):
        qmlir.trainable(model, [net.feeds])
    with pytest.raises(DiagnosticError, match="so weights cannot be set"):
        qmlir.trainable(model, weights="i4")


def _layer(scales: str, granularity: str = "tensor", **settings: str) -> tuple[Trainable, Array]:
    """`x w` with four inputs and two outputs, and data."""
    random = np.random.default_rng(5)
    net = Net()
    x = net.input(random.standard_normal((4, 4)).astype(np.float32))
    model = qmlir.load(
        net.model(net.node("MatMul", x, net.constant(random.standard_normal((4, 2)).astype(np.float32))))
    )
    return qmlir.trainable(model, [net.feeds], scales=scales, granularity=granularity, **settings), net.feeds["x0"]


def _gradients(trained: Trainable, values: dict[str, Array]) -> dict[str, Array]:
    module = qmlir.gradient(trained.module, list(trained.parameters))
    values |= qmlir.interpret(module, values, function="forward")
    (output,) = (port.name for port in inputs_of(function_of(module, "backward")) if port.name.startswith("gradient_"))
    values[output] = np.ones((4, 2), np.float32)
    reads = [port.name for port in inputs_of(function_of(module, "backward"))]
    return dict(qmlir.interpret(module, {name: values[name] for name in reads}, function="backward"))


@pytest.mark.parametrize(("granularity", "blocks"), [("tensor", (1, 1)), ("block:2", (2, 2))])
def test_gradients_of_scales_and_weights_are_those_of_lsq(granularity: str, blocks: tuple[int, int]) -> None:
    """By the formulas of the paper in f64: `r(v) - v` inside, the limits outside, without its factor.

    The scale of a block has the sum over its block of the weights, of which there are so many along each axis.
    """
    trained, x = _layer("lsq", granularity, scheme="symmetric", weights="i8")
    weight, data, result = _names(trained)
    moved = {  # from ties
        name: array * np.float32(1.003 if name.endswith(".scale") else 1) for name, array in trained.parameters.items()
    }
    given = {name: array.astype(np.float64) for name, array in moved.items()}
    rows, columns = (size // count for size, count in zip((4, 2), blocks, strict=True))
    s_x, s_w, s_y = given[data], np.kron(given[f"{weight}.scale"], np.ones((rows, columns))), given[result]

    def quantized(values: Array, scale: Array) -> tuple[Array, Array, Array]:
        steps = np.rint(values / scale)
        inside = (steps >= -128) & (steps <= 127)
        codes = np.clip(steps, -128, 127)
        return codes * scale, np.where(inside, steps - values / scale, codes), inside

    x_hat, x_slope, x_inside = quantized(x.astype(np.float64), s_x)
    w_hat, w_slope, w_inside = quantized(given[weight], s_w)
    _, y_slope, y_inside = quantized(x_hat @ w_hat, s_y)
    of_w, of_x = x_hat.T @ y_inside, y_inside @ w_hat.T
    assert x_inside.all()
    found = _gradients(trained, {"x0": x, **moved})
    for name, wanted in {
        weight: of_w * w_inside,
        f"{weight}.scale": (of_w * w_slope).reshape(blocks[0], rows, blocks[1], columns).sum((1, 3)).squeeze(),
        data: (of_x * x_slope).sum(),
        result: y_slope.sum(),
    }.items():
        np.testing.assert_allclose(found[f"gradient_{name}"], wanted, rtol=1e-4, atol=1e-4)


def _names(trained: Trainable) -> tuple[str, str, str]:
    """The weight, and the scales of the data and of the result."""
    weight = next(name for name in trained.parameters if not name.endswith(".scale"))
    data, result = (name for name in trained.parameters if name.endswith(".scale") and not name.startswith(weight))
    return weight, data, result


def test_only_what_a_pattern_names_is_trained() -> None:
    random = np.random.default_rng(3)
    net, output = _images(random)
    trained = qmlir.trainable(qmlir.load(net.model(output)), [net.feeds], train=["c0", "*Gemm*.scale"])
    assert "c0" in trained.parameters
    assert all(name == "c0" or "Gemm" in name for name in trained.parameters)
    assert repr(trained).startswith(f"{len(trained.parameters)} parameters, ")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"c1": np.zeros(3)}, "unknown parameter 'c1'"),
        ({"c0": np.zeros(3)}, r"'c0' must have shape \(4, 2\), but got \(3,\)"),
        ({"c0": np.full((4, 2), np.nan)}, "parameter 'c0' must be finite"),
        ({"x0.scale": np.float32(0)}, "scale 'x0.scale' must be greater than 0, but got 0.0"),
    ],
)
def test_what_does_not_freeze(parameters: dict[str, Any], message: str) -> None:
    trained, _ = _layer("lsq")
    with pytest.raises(DiagnosticError, match=message):
        trained.freeze(parameters)


def test_what_is_not_made_trainable() -> None:
    net = Net()
    x = net.input(np.ones((2, 3), np.float32))
    model = qmlir.load(net.model(net.node("MatMul", x, net.constant(np.ones((3, 2), np.float32)))))
    with pytest.raises(DiagnosticError, match=r"pass either samples \(data=\) or a profile \(profile=\), not both"):
        qmlir.trainable(model)
    with pytest.raises(
        DiagnosticError, match=r"scales must be one of fixed, lsq, tqt, but got 'lqs'; did you mean 'lsq'"
    ):
        qmlir.trainable(model, [net.feeds], scales="lqs")
    with pytest.raises(DiagnosticError, match="has nothing to train named 'conv1'"):
        qmlir.trainable(model, [net.feeds], train=["conv1"])
    with pytest.raises(
        DiagnosticError, match="requantization must be f32, shift:even or shift:up, but got single_round"
    ):
        qmlir.trainable(model, [net.feeds], requantize="single_round")
