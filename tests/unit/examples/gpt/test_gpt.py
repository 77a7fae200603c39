"""The small GPT: its training, its export, and one answer however its prompt is read."""

from functools import partial

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from examples.gpt.exporting import exported, no_past, states
from examples.gpt.generating import Reader
from examples.gpt.training import Shape, encoded, gradients, initial, logits, texts, train, windows

Array = np.ndarray

SHAPE = Shape(layers=1, width=16, heads=2, context=8)
RANDOM = np.random.default_rng(0)
PARAMETERS = {
    name: (each + RANDOM.normal(0, 0.3, each.shape)).astype(np.float32) for name, each in initial(SHAPE).items()
}
TOKENS = RANDOM.integers(0, SHAPE.vocabulary, (3, 6))


@pytest.fixture(scope="module")
def model() -> ModuleOp:
    return qmlir.load(exported(SHAPE, PARAMETERS))


@pytest.fixture(scope="module")
def quantized(model: ModuleOp) -> ModuleOp:
    rows = np.random.default_rng(1).integers(0, SHAPE.vocabulary, (8, SHAPE.context))
    samples = [{"tokens": row[None], **no_past(SHAPE, 1)} for row in rows]
    return qmlir.quantize(model, samples, states=states(SHAPE), validate=False).module


def _reader(quantized: ModuleOp, batch: int = 1) -> Reader:
    return Reader(partial(qmlir.interpret, quantized), SHAPE, batch)


@pytest.mark.parametrize("name", initial(SHAPE))
def test_gradients(name: str) -> None:
    """Against a difference quotient in f64, along the gradient's own direction and along another one."""
    exact = {each: array.astype(np.float64) for each, array in PARAMETERS.items()}
    found = gradients(SHAPE, exact, TOKENS)[1][name]
    for direction in (found, np.random.default_rng(2).normal(size=found.shape)):
        step = 1e-5 * direction / max(np.abs(direction).max(), 1e-30)
        ends = (gradients(SHAPE, {**exact, name: exact[name] + way * step}, TOKENS)[0] for way in (1, -1))
        high, low = ends
        assert (high - low) / 2 == pytest.approx((found * step).sum(), rel=1e-3, abs=1e-11)


def test_training_lowers_the_loss() -> None:
    losses = [loss for loss, _ in train(SHAPE, texts()[0], 30, batch=4, rate=1e-2)]
    assert np.mean(losses[-5:]) < 0.85 * losses[0]


def test_texts() -> None:
    tokens, held_out = texts()
    assert len(tokens) > 5 * len(held_out) > 0
    assert max(tokens.max(), held_out.max()) < SHAPE.vocabulary
    assert windows(encoded("abcdefg"), 3).tolist() == [[97, 98, 99], [100, 101, 102]]


def test_the_export_computes_the_same(model: ModuleOp) -> None:
    reader = Reader(partial(qmlir.interpret, model), SHAPE, 3, np.float32)
    assert np.allclose(reader.read_in_pieces(TOKENS, [4, 2]), logits(SHAPE, PARAMETERS, TOKENS), atol=1e-5)


def test_states_are_stored(quantized: ModuleOp) -> None:
    found = qmlir.interpret(quantized, {"tokens": TOKENS, **no_past(SHAPE, 3, np.int8)})
    assert {found[name].dtype for name in states(SHAPE).values()} == {np.dtype(np.int8)}
    assert found["logits"].dtype == np.float32


@pytest.mark.parametrize("lengths", [[2, 4], [1, 3, 2], [1] * 6], ids=str)
def test_a_prompt_in_pieces(lengths: list[int], quantized: ModuleOp) -> None:
    whole, pieces = _reader(quantized, 3), _reader(quantized, 3)
    assert np.array_equal(pieces.read_in_pieces(TOKENS, lengths), whole.read(TOKENS))
    for name, state in whole.state.items():
        assert np.array_equal(pieces.state[name], state)


def test_each_row_alone(quantized: ModuleOp) -> None:
    together = _reader(quantized, 3).read(TOKENS)
    for position in range(3):
        assert np.array_equal(_reader(quantized).read(TOKENS[position : position + 1])[0], together[position])


def test_rows_of_several_lengths(quantized: ModuleOp) -> None:
    """Each row goes on at its own place."""
    reader = _reader(quantized, 3)
    reader.read(TOKENS[:, :3])
    reader.state["past_length"] = np.array([3, 1, 2])
    found = reader.read(TOKENS[:, 3:5])
    for position, length in enumerate((3, 1, 2)):
        alone = _reader(quantized)
        row = np.concatenate([TOKENS[position, :length], TOKENS[position, 3:5]])
        assert np.array_equal(alone.read(row[None])[0, -2:], found[position])


def test_what_lies_beyond_the_length_is_nothing(quantized: ModuleOp) -> None:
    clean, dirty = _reader(quantized, 3), _reader(quantized, 3)
    for name in states(SHAPE):
        dirty.state[name] = np.random.default_rng(3).integers(-128, 128, dirty.state[name].shape, np.int8)
    assert np.array_equal(dirty.read(TOKENS), clean.read(TOKENS))


@pytest.mark.parametrize(("threads", "lengths"), [(1, [5, 1]), (2, [6])], ids=str)
def test_compiled(threads: int, lengths: list[int], quantized: ModuleOp) -> None:
    """The integers of the interpreter."""
    ours, compiled = _reader(quantized, 3), Reader(qmlir.compile(quantized, threads=threads, codegen="llvm"), SHAPE, 3)
    assert np.array_equal(compiled.read_in_pieces(TOKENS, lengths), ours.read(TOKENS))
    for name, state in ours.state.items():
        assert np.array_equal(compiled.state[name], state)


def test_it_goes_on(quantized: ModuleOp) -> None:
    """The most likely token each time, and what is read with it gives the same."""
    prompt = TOKENS[:1, :3]
    found = np.stack(list(_reader(quantized).continued(prompt, 3)), axis=1)
    read = _reader(quantized).read(np.concatenate([prompt, found], axis=1)[:, :-1])
    assert np.array_equal(read[:, 2:].argmax(-1), found)
