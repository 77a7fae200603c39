"""Contractions at the integer level: every stored integer as by their meanings, floats within their bound."""

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerType, f16, f32, i32, i64

from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp, MatMulOp
from qmlir.interpreter.run import interpret
from qmlir.ir.builtin_types import element_of
from qmlir.ir.passes import EVERY_BIT, ROUNDED, Preservation
from tests.unit.dialects.nn.lower.driver import check, lowered, module_of, tensor

I8 = "!quant.uniform<i8:f32, 0.05:-3>"
U8 = "!quant.uniform<u8:f32, 0.02:128>"
I4 = "!quant.uniform<i4:f32, 0.4:1>"
I16 = "!quant.uniform<i16:f32, 0.0007:11>"
W8 = "!quant.uniform<i8<-127:127>:f32, 0.01>"
W4 = "!quant.uniform<i4:f32, 0.1:-2>"
W16 = "!quant.uniform<i16:f32, 0.0003>"
Y8 = "!quant.uniform<i8:f32, 0.3:5>"
YU = "!quant.uniform<u8<1:250>:f32, 0.21:100>"
FLOATS = ("f32", "f64", "f16", "bf16")
INTEGERS = ("i8", "ui8", "i16", "i32", "ui32", "i64")


def along(axis: int, scales: str, storage: str = "i8") -> str:
    """A per-axis type."""
    return f"!quant.uniform<{storage}:f32:{axis}, {{{scales}}}>"


def stored(shape: tuple[int, ...], element: str, low: int = -128, high: int = 127, storage: str = "i8") -> str:
    """Constant stored integers over a range, its ends among them."""
    count = int(np.prod(shape))
    numbers = np.random.default_rng(count).integers(low, high, count, endpoint=True)
    numbers[:2] = (low, high)[: len(numbers)]
    return f"dense<{numbers.reshape(shape).tolist()}> : {tensor(shape, storage)} -> {tensor(shape, element)}"


def plain(shape: tuple[int, ...], element: str) -> str:
    """Constant floats."""
    numbers = np.random.default_rng(7).normal(size=shape).round(3)
    return f"dense<{numbers.tolist()}> : {tensor(shape, element)}"


def preserved(element: str) -> Preservation:
    """What a contraction of these elements keeps."""
    return ROUNDED if element in FLOATS else EVERY_BIT


# --- Matrix products --------------------------------------------------------------------------------------------------

SHAPES = (
    ((3, 5), (5, 4), (3, 4)),
    ((5,), (5,), ()),
    ((5,), (5, 4), (4,)),
    ((3, 5), (5,), (3,)),
    ((2, 3, 5), (5, 4), (2, 3, 4)),
    ((2, 3, 5), (2, 5, 4), (2, 3, 4)),
    ((2, 1, 3, 5), (4, 5, 2), (2, 4, 3, 2)),
    ((5,), (3, 5, 2), (3, 2)),
    ((3, 2, 5), (5,), (3, 2)),
    ((3, 5), (1, 1, 5, 2), (1, 1, 3, 2)),
    ((3, 0), (0, 4), (3, 4)),
    ((0, 5), (5, 4), (0, 4)),
)


@pytest.mark.parametrize(("left", "right", "result"), SHAPES)
@pytest.mark.parametrize("elements", [("f32",) * 3, ("i32",) * 3, (I8, W8, Y8), (U8, W4, YU)], ids=str)
def test_products_of_every_shape(
    left: tuple[int, ...], right: tuple[int, ...], result: tuple[int, ...], elements: tuple[str, str, str]
) -> None:
    types = [tensor(shape, element) for shape, element in zip((left, right, result), elements, strict=True)]
    check("nn.matmul", types[:2], types[2:], preservation=preserved(elements[0]))
    if len(right) > 1:
        turned = tensor((*right[:-2], right[-1], right[-2]), elements[1])
        check("nn.matmul {transpose_b = true}", [types[0], turned], types[2:], preservation=preserved(elements[0]))


@pytest.mark.parametrize("element", [*FLOATS, *INTEGERS])
def test_products_of_plain_numbers(element: str) -> None:
    check(
        "nn.matmul", [tensor((3, 70), element), tensor((70, 4), element)], [tensor((3, 4), element)],
        preservation=preserved(element),
    )  # fmt: skip


QUANTIZED = (
    (I8, along(1, "0.01, 0.02:3, 0.5:-7, 0.003"), Y8),
    (U8, along(1, "0.01, 0.02:3, 0.5:200, 0.003", "u8"), YU),
    (I4, W4, I4),
    (I16, W8, Y8),
    (I16, W16, Y8),
    (I8, W8, along(1, "0.3:3, 0.2, 0.05:-7, 0.3")),
    (I8, W8, along(0, "0.3:3, 0.2, 0.05:-7")),
    (I8, W8, "!quant.uniform<i32:f32, 0.0005>"),
    (I8, along(1, "0.25, 0.5, 1.0, 2.0"), along(1, "0.0125, 0.025, 0.05, 0.1", "i32")),
    ("!quant.uniform<i8:f16, 0.05:-3>", "!quant.uniform<i8:f16, 0.01>", "!quant.uniform<i8:f16, 0.3:5>"),
    ("!quant.uniform<i8:f64, 0.05:-3>", "!quant.uniform<i8:f64, 0.01>", "!quant.uniform<i8:f64, 0.3:5>"),
    ("!quant.uniform<i32:f32, 0.00001:77>", W8, Y8),
)


@pytest.mark.parametrize(("left", "right", "result"), QUANTIZED)
def test_quantized_products(left: str, right: str, result: str) -> None:
    check("nn.matmul", [tensor((3, 9), left), tensor((9, 4), right)], [tensor((3, 4), result)])


def test_products_with_constant_weights() -> None:
    weights = stored((9, 4), along(1, "0.01, 0.02:3, 0.5:-7, 0.003"))
    check("nn.matmul", [tensor((2, 3, 9), I8), weights], [tensor((2, 3, 4), Y8)])
    batched = stored((2, 9, 4), W8, -127)
    check("nn.matmul", [tensor((2, 3, 9), I8), batched], [tensor((2, 3, 4), Y8)])
    check("nn.matmul", [tensor((9,), I8), stored((9,), W8, -127)], [tensor((), Y8)])


MODES = ("single_round", "double_round", "shift, even", "shift, up", "shift, away")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("result", ["!quant.uniform<i8:f32, 0.5:3>", along(1, "0.5:3, 0.25:-9, 1.0, 0.125")])
def test_products_in_integer_modes(mode: str, result: str) -> None:
    weights = along(1, "0.25, 0.125:7, 0.5, 0.25")
    operands = [tensor((3, 9), "!quant.uniform<i8:f32, 0.0625:3>"), tensor((9, 4), weights)]
    check(f"nn.matmul {{requantize = #kernel.requantize<{mode}>}}", operands, [tensor((3, 4), result)])


BIASES = ("_", "dense<[5, -1000, 2147483647, -2147483648]> : tensor<4xi32> -> ", "")


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("result", [Y8, "!quant.uniform<u16:f32, 0.0021:30000>"])
def test_fully_connected(bias: str, result: str) -> None:
    data, scales = "!quant.uniform<i8:f32, 0.5:-3>", "0.25, 0.125, 0.5, 0.25"
    of_bias = along(0, "0.125, 0.0625, 0.25, 0.125", "i32")
    given = bias if bias == "_" else f"{bias}{tensor((4,), of_bias)}"
    for weights in (tensor((4, 9), along(0, scales)), stored((4, 9), along(0, scales))):
        check("nn.fully_connected", [tensor((3, 9), data), weights, given], [tensor((3, 4), result)])


@pytest.mark.parametrize("element", [*FLOATS, "i32", "ui8"])
def test_fully_connected_of_plain_numbers(element: str) -> None:
    operands = [tensor((3, 9), element), tensor((4, 9), element), tensor((4,), element)]
    check("nn.fully_connected", operands, [tensor((3, 4), element)], preservation=preserved(element))


# --- Weights in blocks ------------------------------------------------------------------------------------------------


def blocked(blocks: str, scales: str, storage: str = "i4", expressed: str = "f32") -> str:
    """A type with a scale for each block."""
    return f"!quant.uniform<{storage}:{expressed}:{{{blocks}}}, {{{scales}}}>"


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize(
    ("weights", "shape"),
    [
        (blocked("0:3", "{0.1}, {0.3}, {0.05}"), (9, 4)),
        (blocked("0:3, 1:2", "{0.1, 0.2}, {0.3, 0.007}, {0.05, 1.0}"), (9, 4)),
        (blocked("0:3, 1:2", "{0.1:1, 0.2:-3}, {0.3, 0.007:5}, {0.05, 1.0}"), (9, 4)),
        (blocked("1:1", "{0.1, 0.2, 0.3, 0.4}", "i8"), (9, 4)),
        (blocked("1:1", "{0.1:255, 0.2:7, 0.3, 0.4}", "u8"), (9, 4)),
        (blocked("0:3", "{0.0001:-32768}, {0.0003:32767}, {0.0002}", "i16"), (9, 4)),
        (blocked("0:9", "{0.1}", "u8"), (9, 4)),
        (blocked("0:9", "{0.1}", "i8", "f16"), (9, 4)),
        (blocked("1:3", "{{0.1}, {0.3}, {0.05}}, {{0.2}, {0.7}, {0.01}}", "i8").replace("1:3", "0:1, 1:3"), (2, 9, 4)),
    ],
)  # fmt: skip
def test_products_with_blocks(weights: str, shape: tuple[int, ...], is_constant: bool) -> None:
    ranges = {"<i4": (-8, 7, "i4"), "<i8": (-128, 127, "i8"), "<u8": (0, 255, "ui8"), "<i16": (-32768, 32767, "i16")}
    (low, high, storage) = next(found for name, found in ranges.items() if name in weights)
    expressed = "f16" if "f16" in weights else "f32"
    given = stored(shape, weights, low, high, storage) if is_constant else tensor(shape, weights)
    data, result = (f"!quant.uniform<i8:{expressed}, {each}>" for each in ("0.05:-3", "0.3:5"))
    check("nn.matmul", [tensor((2, 3, 9), data), given], [tensor((2, 3, 4), result)])


def test_a_vector_of_weights_in_blocks() -> None:
    weights = tensor((9,), blocked("0:3", "0.1, 0.3, 0.05"))
    check("nn.matmul", [tensor((3, 9), I8), weights], [tensor((3,), Y8)])
    check("nn.matmul", [tensor((9,), I8), weights], [tensor((), Y8)])


@pytest.mark.parametrize(
    "bias",
    ["_", "tensor<4x!quant.uniform<i16:f32, 0.003:7>>", "tensor<4x!quant.uniform<i8:f32:0, {0.1, 0.2:3, 1.0, 2.0}>>"],
)
def test_fully_connected_with_blocks(bias: str) -> None:
    weights = tensor((4, 9), blocked("1:3", "{0.1, 0.3, 0.05}").replace("1:3", "0:4, 1:3"))
    check("nn.fully_connected", [tensor((3, 9), I8), weights, bias], [tensor((3, 4), Y8)])


# --- Convolutions -----------------------------------------------------------------------------------------------------

CONVOLUTIONS = (
    ("", (2, 3, 7), (4, 3, 3), (2, 4, 5)),
    ("{pads = array<i64: 2, 1>, strides = array<i64: 2>}", (1, 3, 7), (4, 3, 3), (1, 4, 4)),
    ("{groups = 2, strides = array<i64: 2, 1>, pads = array<i64: 1, 0, 2, 1>, dilations = array<i64: 1, 2>}",
     (2, 4, 6, 7), (6, 2, 3, 2), (2, 6, 4, 6)),
    ("{groups = 3, pads = array<i64: 1, 1, 1, 1>}", (1, 3, 4, 5), (3, 1, 3, 3), (1, 3, 4, 5)),
    ("{groups = 3}", (1, 3, 4, 5), (6, 1, 1, 1), (1, 6, 4, 5)),
    ("{strides = array<i64: 2, 2, 1>, pads = array<i64: 1, 0, 1, 1, 0, 1>}", (1, 2, 3, 4, 3), (3, 2, 2, 2, 3),
     (1, 3, 2, 2, 3)),
)  # fmt: skip


@pytest.mark.parametrize(("properties", "data", "weights", "result"), CONVOLUTIONS)
@pytest.mark.parametrize(
    "elements", [("f32",) * 3, ("f16",) * 3, ("i64",) * 3, (I8, W8, Y8), (U8, W4, YU), (I16, W16, Y8)], ids=str
)
def test_convolutions(
    properties: str,
    data: tuple[int, ...],
    weights: tuple[int, ...],
    result: tuple[int, ...],
    elements: tuple[str, str, str],
) -> None:
    types = [tensor(shape, element) for shape, element in zip((data, weights, result), elements, strict=True)]
    check(f"nn.conv {properties}", types[:2], types[2:], preservation=preserved(elements[0]))


@pytest.mark.parametrize("element", [*FLOATS, *INTEGERS])
def test_convolutions_of_plain_numbers_with_a_bias(element: str) -> None:
    operands = [tensor((2, 3, 5, 4), element), tensor((4, 3, 3, 2), element), tensor((4,), element)]
    check("nn.conv", operands, [tensor((2, 4, 3, 3), element)], preservation=preserved(element))


@pytest.mark.parametrize("bias", BIASES)
def test_quantized_convolutions_with_a_bias(bias: str) -> None:
    data, scales = "!quant.uniform<u8:f32, 0.5:131>", "0.25, 0.125, 0.5, 0.25"
    of_bias = along(0, "0.125, 0.0625, 0.25, 0.125", "i32")
    given = bias if bias == "_" else f"{bias}{tensor((4,), of_bias)}"
    for weights in (tensor((4, 2, 3, 2), along(0, scales)), stored((4, 2, 3, 2), along(0, scales))):
        check("nn.conv", [tensor((2, 2, 5, 4), data), weights, given], [tensor((2, 4, 3, 3), Y8)])


@pytest.mark.parametrize("mode", MODES)
def test_convolutions_in_integer_modes(mode: str) -> None:
    weights = along(0, "0.25, 0.125:7, 0.5, 0.25")
    operands = [tensor((1, 2, 5, 4), "!quant.uniform<i8:f32, 0.0625:3>"), tensor((4, 2, 3, 2), weights)]
    result = tensor((1, 4, 3, 3), "!quant.uniform<i8:f32, 0.5:3>")
    check(f"nn.conv {{requantize = #kernel.requantize<{mode}>}}", operands, [result])


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize("bias", ["_", "tensor<4x!quant.uniform<i16:f32, 0.003:7>>"])
@pytest.mark.parametrize(
    ("blocks", "counts"), [("1:2", (1, 2, 1, 1)), ("0:1, 2:1", (4, 1, 3, 1)), ("0:2, 1:1, 2:1, 3:1", (2, 4, 3, 2))]
)
def test_convolutions_with_blocks(blocks: str, counts: tuple[int, ...], bias: str, is_constant: bool) -> None:
    scales = np.random.default_rng(3).uniform(0.01, 1, counts).astype(np.float32).tolist()
    text = str(scales).replace("[", "{").replace("]", "}")[1:-1]
    weights = blocked(blocks, text)
    given = stored((4, 4, 3, 2), weights, -8, 7, "i4") if is_constant else tensor((4, 4, 3, 2), weights)
    properties = "{strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads = array<i64: 1, 0, 1, 2>}"
    check(f"nn.conv {properties}", [tensor((2, 4, 5, 6), I8), given, bias], [tensor((2, 4, 3, 6), Y8)])


def test_grouped_convolutions_with_blocks() -> None:
    weights = blocked("0:1, 1:1", "{{{0.1}}, {{0.3}}}, {{{0.2}}, {{0.4}}}, {{{0.7}}, {{0.01}}}, {{{1.0}}, {{0.5}}}")
    properties = "{groups = 2, pads = array<i64: 1, 1, 0, 0>}"
    check(
        f"nn.conv {properties}", [tensor((2, 4, 3, 4), I8), tensor((4, 2, 2, 2), weights)], [tensor((2, 4, 3, 4), Y8)]
    )


# --- Transposed convolutions ------------------------------------------------------------------------------------------

TRANSPOSED = (
    ("", (2, 3, 4), (3, 2, 3), (2, 2, 6)),
    ("{strides = array<i64: 2>, pads = array<i64: 1, 0>, output_padding = array<i64: 1>}",
     (1, 3, 4), (3, 2, 3), (1, 2, 9)),
    ("{strides = array<i64: 3, 2>, dilations = array<i64: 2, 2>, pads = array<i64: 1, 3, 0, 1>}",
     (2, 2, 3, 4), (2, 3, 2, 3), (2, 3, 8, 7)),
    ("{strides = array<i64: 4, 3>}", (1, 2, 3, 2), (2, 3, 2, 2), (1, 3, 10, 5)),
    ("{groups = 2, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>}",
     (1, 4, 3, 3), (4, 3, 4, 4), (1, 6, 6, 6)),
    ("{strides = array<i64: 2, 2>}", (1, 2, 3, 4), (2, 3, 2, 2), (1, 3, 6, 8)),
    ("{groups = 2, strides = array<i64: 2, 3>, pads = array<i64: 3, 1, 0, 1>, output_padding = array<i64: 1, 0>}",
     (1, 4, 3, 3), (4, 2, 4, 6), (1, 4, 6, 10)),
    ("{strides = array<i64: 8, 8>, pads = array<i64: 4, 4, 4, 4>}", (1, 2, 2, 3), (2, 1, 16, 16), (1, 1, 16, 24)),
    ("{strides = array<i64: 2, 1, 2>}", (1, 2, 2, 3, 2), (2, 2, 2, 2, 3), (1, 2, 4, 4, 5)),
)  # fmt: skip


@pytest.mark.parametrize("element", ["f32", "f16", "i8", "i64"])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize(("properties", "data", "weights", "result"), TRANSPOSED)
def test_transposed_convolutions(
    properties: str,
    data: tuple[int, ...],
    weights: tuple[int, ...],
    result: tuple[int, ...],
    has_bias: bool,
    element: str,
) -> None:
    bias = tensor(result[1:2], element) if has_bias else "_"
    check(
        f"nn.conv_transpose {properties}", [tensor(data, element), tensor(weights, element), bias],
        [tensor(result, element)], preservation=preserved(element),
    )  # fmt: skip
    if element == "f32":
        check(
            f"nn.conv_transpose {properties}", [tensor(data, element), plain(weights, element), bias],
            [tensor(result, element)], preservation=ROUNDED,
        )  # fmt: skip


# --- Einstein sums ----------------------------------------------------------------------------------------------------

EQUATIONS = (
    ("ij,jk->ik", ((3, 4), (4, 5)), (3, 5)),
    ("bij,bjk->bki", ((2, 3, 4), (2, 4, 5)), (2, 5, 3)),
    ("...ij,...jk->...ik", ((2, 1, 3, 4), (5, 4, 2)), (2, 5, 3, 2)),
    ("ii->i", ((4, 4),), (4,)),
    ("...ii->...", ((3, 4, 4),), (3,)),
    ("ij->ji", ((3, 4),), (4, 3)),
    ("ij->", ((3, 4),), ()),
    ("i,i", ((4,), (4,)), ()),
    ("i,j->ji", ((3,), (4,)), (4, 3)),
    ("ij,ij->ij", ((3, 4), (3, 4)), (3, 4)),
    ("ij,kl->l", ((3, 4), (2, 5)), (5,)),
    ("i,i->", ((1,), (5,)), ()),
    ("ij,i->j", ((1, 4), (5,)), (4,)),
    ("iij,j->i", ((3, 3, 4), (4,)), (3,)),
    ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5)), (2, 5)),
    ("ab,ac,ad->abd", ((2, 3), (2, 4), (2, 5)), (2, 3, 5)),
    (",ij->i", ((), (2, 3)), (2,)),
    ("bqhd,bkhd->bhqk", ((2, 3, 4, 5), (2, 6, 4, 5)), (2, 4, 3, 6)),
    ("ij,jk->ik", ((3, 0), (0, 5)), (3, 5)),
)


@pytest.mark.parametrize("element", ["f32", "f64", "f16", "i32", "ui8", "i64"])
@pytest.mark.parametrize(("equation", "operands", "result"), EQUATIONS)
def test_einstein_sums(
    equation: str, operands: tuple[tuple[int, ...], ...], result: tuple[int, ...], element: str
) -> None:
    types = [tensor(shape, element) for shape in operands]
    check(f'nn.einsum {{equation = "{equation}"}}', types, [tensor(result, element)], preservation=preserved(element))


@pytest.mark.parametrize("element", ["!quant.uniform<i8:f32, 0.05:3>", "!quant.uniform<u8:f32, 0.1:128>"])
@pytest.mark.parametrize(("equation", "operands", "result"), [each for each in EQUATIONS if len(each[1]) <= 2])
def test_einstein_sums_of_quantized_values(
    equation: str, operands: tuple[tuple[int, ...], ...], result: tuple[int, ...], element: str
) -> None:
    types = [tensor(shape, element) for shape in operands]
    check(f'nn.einsum {{equation = "{equation}"}}', types, [tensor(result, "!quant.uniform<i8:f32, 0.5:-7>")])


def test_phases_of_one_size_are_one_convolution() -> None:
    operands = [tensor((1, 2, 2, 3), "f32"), tensor((2, 1, 16, 16), "f32")]
    properties = "{strides = array<i64: 8, 8>, pads = array<i64: 4, 4, 4, 4>}"
    (kernel,) = kernels_of(f"nn.conv_transpose {properties}", operands, tensor((1, 1, 16, 24), "f32"))
    assert kernel.sum_shape() == (1, 3, 4, 64)


def test_large_sums_are_matrix_products() -> None:
    operands = [tensor((2, 3, 4, 5), "f32"), tensor((2, 6, 4, 5), "f32")]
    module = lowered(module_of('nn.einsum {equation = "bqhd,bkhd->bhqk"}', operands, [tensor((2, 4, 3, 6), "f32")]))
    assert [op.sum_shape() for op in module.walk() if isinstance(op, MatMulOp)] == [(8, 3, 6)]


# --- The type of the sum ----------------------------------------------------------------------------------------------


def kernels_of(operation: str, operands: list[str], result: str) -> list[ContractionOp]:
    """The kernels that an operation becomes."""
    return [op for op in lowered(module_of(operation, operands, [result])).walk() if isinstance(op, ContractionOp)]


def test_a_product_of_sums_and_of_an_operand_has_one_type() -> None:
    """Sums of f16 stay f32 until the end; the operand that comes next is made f32, not the sums once more."""
    operands = [tensor((2, 3), "f16"), tensor((3, 4), "f16"), tensor((4, 5), "f16")]
    first, second = kernels_of('nn.einsum {equation = "ij,jk,kl->il"}', operands, tensor((2, 5), "f16"))
    assert [element_of(first.x), element_of(first.w)] == [f16, f16]
    assert [element_of(second.x), element_of(second.w)] == [f32, f32]


@pytest.mark.parametrize(
    ("left", "right", "terms", "expected"),
    [
        (I8, W8, 100, i32),
        # 255 * 128 * 65793 is in 2^31 - 1, one term more is not: an argument may be -128 whatever its type promises.
        ("!quant.uniform<u8:f32, 0.05>", "!quant.uniform<i8<-127:127>:f32, 0.05>", 65793, i32),
        ("!quant.uniform<u8:f32, 0.05>", "!quant.uniform<i8<-127:127>:f32, 0.05>", 65794, i64),
        (I16, W16, 1, i32),
        (I16, W16, 2, i64),
    ],
)
def test_the_accumulator_holds_every_sum(left: str, right: str, terms: int, expected: IntegerType) -> None:
    (kernel,) = kernels_of("nn.matmul", [tensor((1, terms), left), tensor((terms, 1), right)], tensor((1, 1), Y8))
    assert kernel.accumulator_type == expected


def test_constant_weights_tighten_the_bound() -> None:
    weights = f"dense<1> : tensor<2x1000xi16> -> {tensor((2, 1000), W16)}"
    operation, result = "nn.matmul {transpose_b = true}", tensor((1, 2), Y8)
    (constant,) = kernels_of(operation, [tensor((1, 1000), I16), weights], result)
    (given,) = kernels_of(operation, [tensor((1, 1000), I16), tensor((2, 1000), W16)], result)
    assert (constant.accumulator_type, given.accumulator_type) == (i32, i64)


@pytest.mark.parametrize("weights", ["!quant.uniform<u8:f32, 0.05>", blocked("0:40", "{0.1}, {0.3}", "u8")])
def test_constant_bytes_without_a_sign_are_read_without_it(weights: str) -> None:
    """65535 * 255 * 80 is in i32, 105 times that is not, though the same bytes with a sign are all -1."""
    for terms, expected in ((80, i32), (8400, i64)):
        element = weights.replace("0:40", f"0:{terms // 2}")
        given = f"dense<255> : {tensor((terms, 1), 'ui8')} -> {tensor((terms, 1), element)}"
        data = tensor((1, terms), "!quant.uniform<u16:f32, 0.05>")
        (kernel,) = kernels_of("nn.matmul", [data, given], tensor((1, 1), Y8))
        assert kernel.accumulator_type == expected
        check("nn.matmul", [data, given], [tensor((1, 1), Y8)])


def test_convolutions_are_channels_last_with_the_zero_point_around() -> None:
    operands = [tensor((1, 3, 4, 5), U8), tensor((4, 3, 3, 3), W8)]
    (kernel,) = kernels_of("nn.conv {pads = array<i64: 1, 1, 1, 1>}", operands, tensor((1, 4, 4, 5), Y8))
    assert isinstance(kernel, ConvOp)
    assert str(kernel.x.type) == "tensor<1x6x7x3xi8>"
    assert kernel.input_zero_point.value.data == 128
    assert kernel.input_unsigned is not None


def test_an_argument_beyond_the_range_that_its_type_promises() -> None:
    """-32768 twice by itself: 2^31, which i32 does not hold; the sum is the exact one, and its bound is proven."""
    narrow = "!quant.uniform<i16<-32767:32767>:f32, 0.5>"
    result = tensor((1, 1), "!quant.uniform<i32:f32, 1024.0>")
    module = module_of("nn.matmul", [tensor((1, 2), narrow), tensor((2, 1), narrow)], [result])
    least = np.full(2, -(1 << 15), np.int16)
    after = lowered(module, "convert-nn-to-kernel,kernel-analyze-ranges")
    found = interpret(after, [least.reshape(1, 2), least.reshape(2, 1)])
    np.testing.assert_array_equal(found["output0"], [[(1 << 31) // 4096]])  # 0.5 * 0.5 in steps of 1024
