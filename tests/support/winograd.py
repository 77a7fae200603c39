"""Convolutions of 3x3 kernels next to each other as text, with their sums, tap by tap in NumPy."""

import numpy as np

from tests.support.contractions import Array, Case, constant, convolved, requantized, tensor


def case(
    x: Array, w: Array, *, input_zero_point: int = 0, weight_zero_points: Array | None = None, unsigned: bool = False,
    rng: np.random.Generator | None = None,
) -> Case:  # fmt: skip
    """The case of `x` `[N, H + 2, W + 2, C]`, padded, and `w` `[O, 3, 3, C]`, in int64; both must fit 8 bits.

    With `rng` a residual and a requantization by channel follow, otherwise the sums come out.
    """
    sums = convolved(
        x - input_zero_point,
        w if weight_zero_points is None else w - weight_zero_points.reshape(-1, 1, 1, 1),
        (1, 1), (1, 1), 1,
    )  # fmt: skip
    channels = len(w)
    given: list[Array] = [x.astype(np.uint8).view(np.int8)]
    parameters = [f"%x: {tensor(x.shape, 'i8')}"]
    lines, extra = [f"%w = {constant(w.astype(np.int8), 'i8')}"], ""
    attributes = [
        "strides = array<i64: 1, 1>", "dilations = array<i64: 1, 1>", f"input_zero_point = {input_zero_point} : i32",
        *(["input_unsigned"] if unsigned else []),
    ]  # fmt: skip
    if weight_zero_points is not None:
        lines.append(f"%z = {constant(weight_zero_points.astype(np.int32), 'i32')}")
        extra = f" weight_zero_points(%z : {tensor((channels,), 'i32')})"
    arguments, body, element, expected = ["%acc: i32"], ["kernel.yield %acc : i32"], "i32", sums
    if rng is not None:
        residual = rng.integers(-1000, 1000, sums.shape).astype(np.int32)
        multiplier = rng.uniform(1e-4, 2e-3, channels).astype(np.float32)
        given.append(residual)
        parameters.append(f"%r: {tensor(sums.shape, 'i32')}")
        lines.append(f"%m = {constant(multiplier, 'f32')}")
        extra += f" epilogue(%r, %m : {tensor(sums.shape, 'i32')}, {tensor((channels,), 'f32')})"
        dims = "d0, d1, d2, d3"
        attributes.append(f"epilogue_maps = [affine_map<({dims}) -> ({dims})>, affine_map<({dims}) -> (d3)>]")
        arguments += ["%rr: i32", "%mm: f32"]
        body = [
            "%s = arith.addi %acc, %rr : i32",
            "%q = kernel.requantize %s, %mm {mode = #kernel.requantize<f32>, zero_point = 3, minimum = -128, "
            "maximum = 127} : i32, f32 -> i8",
            "kernel.yield %q : i8",
        ]
        element, expected = "i8", requantized(sums + residual, multiplier)
    type_ = tensor(sums.shape, element)
    text = "\n".join(
        [
            f"func.func @main({', '.join(parameters)}) -> {type_} {{",
            *lines,
            f"%0 = kernel.conv ins(%x, %w : {tensor(x.shape, 'i8')}, {tensor(w.shape, 'i8')}){extra} -> {type_} "
            f"attributes {{{', '.join(attributes)}}} {{",
            f"^bb0({', '.join(arguments)}):",
            *body,
            "}",
            f"func.return %0 : {type_}",
            "}",
        ]
    )
    return Case(text, given, expected)


def windows(seed: int) -> Case:
    """A case of any sizes for which each instruction set that has an algorithm in its table takes one."""
    rng = np.random.default_rng(seed)
    height, width, inputs, outputs = (int(each) for each in rng.integers((13, 13, 32, 32), (19, 19, 41, 41)))
    x = rng.integers(0, 256, (1, height + 2, width + 2, inputs))
    w = rng.integers(-128, 128, (outputs, 3, 3, inputs))
    return case(x, w, input_zero_point=int(rng.integers(256)), unsigned=True, rng=rng if seed % 2 else None)
