"""Windows, resizes and Einstein sums whose sizes the types leave open, and sums of integers against Python's own."""

import itertools
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.dialects.nn.contraction import evaluate as contraction
from qmlir.environment import default_environment
from qmlir.ir.verification import verify
from qmlir.text.parsing import parse_module

GENERATOR = np.random.default_rng(11)


def _run(text: str, inputs: list[np.ndarray], types: list[str], result: str) -> np.ndarray:
    """The result of the one operation `text` on operands of these types."""
    arguments = ", ".join(f"%{position}: {type_}" for position, type_ in enumerate(types))
    signature = f"({', '.join(types)}) -> {result}"
    source = f"func.func @main({arguments}) -> {result} {{ %r = {text} : {signature} func.return %r : {result} }}"
    module = parse_module(default_environment().new_context(), source)
    verify(module)
    (found,) = qmlir.interpret(module, inputs).values()
    return found


def _type(shape: tuple[int, ...], element: str = "f32") -> str:
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def _open(shape: tuple[int, ...], element: str = "f32") -> str:
    return f"tensor<{'x'.join([*('?' for _ in shape), element])}>"


@pytest.mark.parametrize(
    ("text", "shapes", "result"),
    [
        (
            "nn.conv %0, %1, %2 {strides = [2, 1], pads = [1, 0, 1, 2], groups = 2}",
            [(3, 4, 5, 6), (6, 2, 3, 2), (6,)],
            (3, 6, 3, 7),
        ),
        (
            "nn.conv_transpose %0, %1 {strides = [2, 1], pads = [1, 0, 0, 1], output_padding = [1, 0]}",
            [(2, 3, 2, 4), (3, 4, 3, 2)],
            (2, 4, 5, 4),
        ),
        ("nn.max_pool %0 {kernel = [2, 3], strides = [2, 2], ceil_mode = true}", [(2, 3, 5, 6)], (2, 3, 3, 3)),
        ("nn.average_pool %0 {kernel = [3, 3], pads = [1, 1, 1, 1]}", [(2, 3, 5, 6)], (2, 3, 5, 6)),
        ("nn.lp_pool %0 {kernel = [2, 3], p = 3}", [(2, 3, 5, 6)], (2, 3, 4, 4)),
        ("nn.global_average_pool %0", [(2, 3, 5, 6)], (2, 3, 1, 1)),
        ("nn.resize %0 {scales = [1.0, 1.5, 0.7], mode = 'linear'}".replace("'", '"'), [(2, 4, 6)], (2, 6, 4)),
        (
            "nn.resize %0 {sizes = [3, 9], axes = [1, 2], keep_aspect_ratio_policy = 'not_larger'}".replace("'", '"'),
            [(2, 4, 6)],
            (2, 3, 5),
        ),
        ('nn.einsum %0, %1 {equation = "...ij,...kj"}', [(2, 4, 6), (1, 3, 6)], (2, 4, 3)),
        ("nn.matmul %0, %1 {transpose_b = true}", [(2, 4, 6), (3, 6)], (2, 4, 3)),
    ],
)
def test_open_sizes(text: str, shapes: list[tuple[int, ...]], result: tuple[int, ...]) -> None:
    inputs = [GENERATOR.standard_normal(shape).astype(np.float32) for shape in shapes]
    known = _run(text, inputs, [_type(shape) for shape in shapes], _type(result))
    found = _run(text, inputs, [_open(shape) for shape in shapes], _open(result))
    assert found.shape == result
    assert found.tobytes() == known.tobytes()


def _wrapped(sums: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Python's integers in the type of a result, as C wraps them."""
    bits = 8 * dtype.itemsize
    integers = np.vectorize(lambda value: int(value) % 2**bits, otypes=[object])(sums)
    return np.array(integers, object).astype(np.uint64).astype(dtype)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("is_large", [False, True])
def test_integers_wrap(dtype: type[np.integer], is_large: bool) -> None:
    """By way of f64 where it is exact, and beside it: the same numbers as Python's integers."""
    limits = np.iinfo(dtype)
    low, high = (limits.min, limits.max) if is_large else (0, 100)
    x, w = (GENERATOR.integers(low, high, shape, dtype=dtype, endpoint=True) for shape in ((2, 2, 3, 4), (3, 2, 2, 2)))
    element = f"{'u' if limits.min == 0 else ''}i{limits.bits}"
    found = _run(
        "nn.conv %0, %1", [x, w], [_type(x.shape, element), _type(w.shape, element)], _type((2, 3, 2, 3), element)
    )
    exact = np.zeros((2, 3, 2, 3), object)
    for image, output, row, column in itertools.product(range(2), range(3), range(2), range(3)):
        window = x[image, :, row : row + 2, column : column + 2].astype(object)
        exact[image, output, row, column] = (window * w[output].astype(object)).sum()
    assert found.tolist() == _wrapped(exact, np.dtype(dtype)).tolist()


def test_images_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Laying out a few images at a time changes nothing."""
    x, w = GENERATOR.standard_normal((5, 3, 6, 6)), GENERATOR.standard_normal((4, 3, 3, 3))
    types = [_type(x.shape, "f64"), _type(w.shape, "f64")]
    transposed = [_type(x.shape, "f64"), _type((3, 4, 3, 3), "f64")]
    results: list[list[bytes]] = []
    for at_once in (2**24, 1000):
        monkeypatch.setattr(contraction, "COLUMNS_AT_ONCE", at_once)
        forth = _run("nn.conv %0, %1", [x, w], types, _type((5, 4, 4, 4), "f64"))
        back = _run("nn.conv_transpose %0, %1", [x, w.swapaxes(0, 1)], transposed, _type((5, 4, 8, 8), "f64"))
        results.append([forth.tobytes(), back.tobytes()])
    assert results[0] == results[1]


def test_transposed_convolution_is_the_transpose() -> None:
    """`<conv(x), y> = <x, conv_transpose(y)>` for the same weights, exactly in integers."""
    x = GENERATOR.integers(-9, 9, (2, 4, 6, 7))
    w = GENERATOR.integers(-9, 9, (6, 2, 3, 2))
    y = GENERATOR.integers(-9, 9, (2, 6, 3, 4))
    properties = "{strides = [2, 2], dilations = [1, 2], pads = [1, 1, 0, 2], groups = 2}"
    types = [_type(each.shape, "i64") for each in (x, w, y)]
    forth = _run(f"nn.conv %0, %1 {properties}", [x, w], types[:2], types[2])
    padded = properties.replace("groups", "output_padding = [0, 1], groups")
    back = _run(f"nn.conv_transpose %0, %1 {padded}", [y, w], [types[2], types[1]], types[0])
    assert (forth * y).sum() == (x * back).sum()
