"""Which floats are whole numbers: the limits against every value that a run gives."""

import math

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.environment import default_environment
from qmlir.passes.quantized.nn_contract_integers import IntegralRange, whole_numbers
from qmlir.specialization.inputs import function_of
from qmlir.text.parsing import parse_module


def _module(*lines: str, result: str = "4xf32") -> ModuleOp:
    body = "\n".join(lines)
    return parse_module(
        default_environment().new_context(),
        f"func.func @main(%x: tensor<4xf32>, %c: tensor<4xi1>) -> tensor<{result}> {{\n{body}\n"
        f"func.return %y : tensor<{result}>\n}}",
    )


CLIPPED = (
    "%r = nn.round %x : tensor<4xf32>",
    "%a = nn.clip %r {minimum = -3.0, maximum = 9.0} : tensor<4xf32>",
)


SCATTERED = """%i = nn.constant dense<0> : tensor<4xi64>
%y = nn.scatter_elements %a, %i, %a {{reduction = "{}"}}
    : (tensor<4xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4xf32>"""


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["%y = nn.round %x : tensor<4xf32>"], IntegralRange(-math.inf, math.inf)),
        (["%y = nn.neg %x : tensor<4xf32>"], None),
        (["%y = nn.clip %x {minimum = -3.0, maximum = 9.0} : tensor<4xf32>"], None),
        ([*CLIPPED, "%y = nn.ceil %a : tensor<4xf32>"], IntegralRange(-3, 9)),
        ([*CLIPPED, "%y = nn.relu %a : tensor<4xf32>"], IntegralRange(0, 9)),
        ([*CLIPPED, "%y = nn.clip %a {minimum = -2.5} : tensor<4xf32>"], None),
        ([*CLIPPED, "%y = nn.clip %a {maximum = -5.0} : tensor<4xf32>"], IntegralRange(-5, -5)),
        ([*CLIPPED, "%y = nn.clip %r {minimum = 4.0} : tensor<4xf32>"], IntegralRange(4, math.inf)),
        ([*CLIPPED, "%y = calib.straight_through %a for %x : tensor<4xf32>"], IntegralRange(-3, 9)),
        ([*CLIPPED, "%y = calib.straight_through %x for %a : tensor<4xf32>"], None),
        ([*CLIPPED, "%l = nn.constant dense<[5.0, 1.0, 2.0, 3.0]> : tensor<4xf32>",
          "%y = nn.max %a, %l : tensor<4xf32>"], IntegralRange(1, 9)),
        ([*CLIPPED, "%l = nn.constant dense<[5.0, 1.0, 2.0, 3.0]> : tensor<4xf32>",
          "%y = nn.min %a, %l : tensor<4xf32>"], IntegralRange(-3, 5)),
        ([*CLIPPED, "%l = nn.constant dense<[5.0, 1.5, 2.0, 3.0]> : tensor<4xf32>",
          "%y = nn.max %a, %l : tensor<4xf32>"], None),
        ([*CLIPPED, "%l = nn.constant dense<12.0> : tensor<4xf32>",
          "%y = nn.where %c, %a, %l : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"],
         IntegralRange(-3, 12)),
        ([*CLIPPED, "%y = nn.where %c, %a, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"], None),
        ([*CLIPPED, SCATTERED.format("none")], IntegralRange(-3, 9)),
        ([*CLIPPED, SCATTERED.format("max")], IntegralRange(-3, 9)),
        ([*CLIPPED, SCATTERED.format("add")], None),
    ],
)  # fmt: skip
def test_limits_hold_what_there_is(lines: list[str], wanted: IntegralRange | None) -> None:
    module = _module(*lines)
    found = whole_numbers(function_of(module, "main"))
    returned = function_of(module, "main").get_return_op()
    assert returned is not None
    whole = found.get(returned.operands[0])
    assert whole == wanted
    if whole is not None:
        for x in np.random.default_rng(0).uniform(-20, 20, (20, 4)).astype(np.float32):
            (y,) = qmlir.interpret(module, [x, np.array([True, False, True, False])]).values()
            assert np.array_equal(y, np.rint(y))
            assert np.all((y >= whole.low) & (y <= whole.high))


@pytest.mark.parametrize(
    ("most", "element", "wanted"),
    [
        (9.0, "f64", IntegralRange(-3, 9)),
        (9.0, "i32", None),
        (300.0, "bf16", None),  # 299 is none
        (2.0**24 + 3, "f32", IntegralRange(-3, 2**24 + 4)),
    ],
)
def test_casts_keep_limits_that_the_result_has(most: float, element: str, wanted: IntegralRange | None) -> None:
    module = _module(
        "%w = nn.cast %x : (tensor<4xf32>) -> tensor<4xf64>",
        "%r = nn.round %w : tensor<4xf64>",
        f"%a = nn.clip %r {{minimum = -3.0 : f64, maximum = {most} : f64}} : tensor<4xf64>",
        f"%y = nn.cast %a : (tensor<4xf64>) -> tensor<4x{element}>",
        result=f"4x{element}",
    )
    returned = function_of(module, "main").get_return_op()
    assert returned is not None
    assert whole_numbers(function_of(module, "main")).get(returned.operands[0]) == wanted


@pytest.mark.parametrize(
    ("shape", "chosen", "result", "sizes", "is_whole"),
    [
        ("1x1x2x2", "nn.max_pool %a {kernel = [2, 2], pads = [1, 1, 1, 1]}", "1x1x3x3", (2, 2), True),
        ("1x1x2x2", "nn.max_pool %a {kernel = [2, 2], pads = [2, 2, 1, 1]}", "1x1x4x4", (2, 2), False),
        ("1x1x?x2", "nn.max_pool %a {kernel = [2, 2]}", "1x1x?x1", (3, 2), True),
        ("1x1x?x2", "nn.max_pool %a {kernel = [2, 2], pads = [2, 2, 1, 1]}", "1x1x?x4", (2, 2), False),
        ("1x1x2x2", "nn.global_max_pool %a", "1x1x1x1", (2, 2), True),
        ("1x1x2x2", "nn.reduce_max %a {axes = [2]}", "1x1x1x2", (2, 2), True),
        ("1x1x?x2", "nn.reduce_max %a {axes = [2]}", "1x1x1x2", (0, 2), False),
        ("1x1x0x2", "nn.reduce_min %a {axes = [2]}", "1x1x1x2", (0, 2), False),
    ],
)
def test_the_largest_of_nothing_is_no_whole_number(
    shape: str, chosen: str, result: str, sizes: tuple[int, int], is_whole: bool
) -> None:
    """It is infinite: a window in the padding, or an axis that has, or may have, no elements."""
    module = parse_module(
        default_environment().new_context(),
        f"""func.func @main(%x: tensor<{shape}xf32>) -> tensor<{result}xf32> {{
          %r = nn.round %x : tensor<{shape}xf32>
          %a = nn.clip %r {{minimum = -3.0, maximum = 9.0}} : tensor<{shape}xf32>
          %y = {chosen} : (tensor<{shape}xf32>) -> tensor<{result}xf32>
          func.return %y : tensor<{result}xf32>
        }}""",
    )
    returned = function_of(module, "main").get_return_op()
    assert returned is not None
    assert (returned.operands[0] in whole_numbers(function_of(module, "main"))) == is_whole
    (y,) = qmlir.interpret(module, [np.ones((1, 1, *sizes), np.float32)]).values()
    assert bool(np.isfinite(y).all()) == is_whole
