"""What counts as another number, and which value is named as the first that differs."""

import ml_dtypes
import numpy as np
import pytest

from qmlir.environment import default_environment
from qmlir.interpreter.differences import changed_output, difference_of
from qmlir.ir.passes import EVERY_BIT, ROUNDED
from qmlir.text.parsing import parse_module

F32 = np.float32


@pytest.mark.parametrize(
    ("before", "after", "every_bit", "rounded"),
    [
        (F32([1, 2]), F32([1, 2]), None, None),
        (F32([1, 2]), F32([1, np.nextafter(F32(2), F32(3))]), (1,), None),
        (F32([1, 2]), F32([1, 2.001]), (1,), (1,)),
        # The bound is a part of the largest number of the tensor.
        (F32([1e-6, 2]), F32([1.1e-6, 2]), (0,), None),
        (F32([0.0]), F32([-0.0]), (0,), None),
        (F32([np.nan]), F32([np.nan]), None, None),
        (F32([np.nan]), F32([0]), (0,), (0,)),
        (F32([np.inf, 1]), F32([np.inf, 1]), None, None),
        (F32([np.inf, 1]), F32([3e38, 1]), (0,), (0,)),
        (np.float16([1]), np.float16([1.001]), (0,), None),
        (np.array([1, 100], ml_dtypes.bfloat16), np.array([1, 101], ml_dtypes.bfloat16), (1,), None),
        (np.int8([[1, 2], [3, 4]]), np.int8([[1, 2], [5, 4]]), (1, 0), (1, 0)),
        # A signed and an unsigned integer of one width are the same bits.
        (np.uint8([200]), np.int8([-56]), None, None),
        (np.bool_([True]), np.int8([1]), None, None),
        (np.array(["a", "b"], object), np.array(["a", "c"], object), (1,), (1,)),
    ],
)
def test_the_first_element_that_differs(before, after, every_bit, rounded) -> None:
    for preservation, position in ((EVERY_BIT, every_bit), (ROUNDED, rounded)):
        found = difference_of(before, after, preservation)
        assert (found.position if found else None) == position


def test_other_shapes_types_and_lengths_differ_as_a_whole() -> None:
    assert str(difference_of(np.int8([1]), np.int8([1, 2]), ROUNDED)) == "was int8[1], is int8[2]"
    assert str(difference_of(np.int8([1]), np.int32([1]), ROUNDED)) == "was int8[1], is int32[1]"
    assert str(difference_of([F32([1])], [F32([1]), F32([2])], ROUNDED)) == "was 1 tensors, is 2 tensors"
    assert str(difference_of([F32([1])], [F32([2])], ROUNDED)) == "at [0] was 1.0, is 2.0"


def test_every_nan_is_equal_and_zeros_are_told_apart() -> None:
    nan = np.array([0x7FC00001], np.uint32).view(np.float32)
    assert difference_of(F32([np.nan]), nan, EVERY_BIT) is None
    assert difference_of(F32([0.0]), F32([-0.0]), EVERY_BIT) is not None


def _module(body: str):
    text = f"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{ {body} func.return %r : tensor<2xf32> }}"
    return parse_module(default_environment().new_context(), text)


def test_values_are_matched_by_provenance() -> None:
    before = _module("""
        %a = nn.abs %x : tensor<2xf32> {origin = "first"}
        %b = nn.neg %a : tensor<2xf32> {origin = "second"}
        %r = nn.relu %b : tensor<2xf32> {origin = "third"}""")
    after = _module("""
        %a = nn.relu %x : tensor<2xf32> {origin = "first"}
        %n = nn.neg %x : tensor<2xf32>
        %c = nn.max %a, %n : tensor<2xf32> {origin = "first"}
        %b = nn.exp %c : tensor<2xf32> {origin = "second"}
        %r = nn.relu %b : tensor<2xf32> {origin = "third"}""")
    changed, _ = changed_output(before, after, {"input0": F32([-3, 4])}, EVERY_BIT)
    assert changed is not None
    assert (changed.output, changed.first) == ("output0", "second")
    assert changed.op is not None
    assert changed.op.name == "nn.exp"
    assert changed.first_difference is not None
    assert changed.first_difference.before == "-3.0"


@pytest.mark.parametrize(("largest", "bits"), [("15", 4), ("18446744073709551615", 64)])
def test_integers_inside_are_compared_in_the_bits_of_their_type(largest: str, bits: int) -> None:
    """An unsigned integer of 4 bits becomes a signless one, which is held sign-extended."""
    constants = (
        f'nn.constant dense<[{largest}, 1]> : tensor<2xui{bits}> {{origin = "q"}}',
        f'arith.constant {{origin = "q"}} dense<[-1, 1]> : tensor<2xi{bits}>',
    )
    before, after = (
        parse_module(
            default_environment().new_context(),
            f"""func.func @main() -> tensor<2xi32> {{
                  %q = {constant}
                  %y = nn.constant dense<[{number}, 7]> : tensor<2xi32> {{origin = "y"}}
                  func.return %y : tensor<2xi32> }}""",
        )
        for number, constant in enumerate(constants)
    )
    changed, _ = changed_output(before, after, {}, EVERY_BIT)
    assert changed is not None
    assert changed.first == "y"
