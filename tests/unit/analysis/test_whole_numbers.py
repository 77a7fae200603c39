"""Which floats are whole numbers: the limits against every value that a run gives."""

import math

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.analysis.whole_numbers import Whole, whole_numbers
from qmlir.environment import default_environment
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
        (["%y = nn.round %x : tensor<4xf32>"], Whole(-math.inf, math.inf)),
        (["%y = nn.neg %x : tensor<4xf32>"], None),
        (["%y = nn.clip %x {minimum = -3.0, maximum = 9.0} : tensor<4xf32>"], None),
        ([*CLIPPED, "%y = nn.ceil %a : tensor<4xf32>"], Whole(-3, 9)),
        ([*CLIPPED, "%y = nn.relu %a : tensor<4xf32>"], Whole(0, 9)),
        ([*CLIPPED, "%y = nn.clip %a {minimum = -2.5} : tensor<4xf32>"], None),
        ([*CLIPPED, "%y = nn.clip %a {maximum = -5.0} : tensor<4xf32>"], Whole(-5, -5)),
        ([*CLIPPED, "%y = nn.clip %r {minimum = 4.0} : tensor<4xf32>"], Whole(4, math.inf)),
        ([*CLIPPED, "%y = calib.straight_through %a for %x : tensor<4xf32>"], Whole(-3, 9)),
        ([*CLIPPED, "%y = calib.straight_through %x for %a : tensor<4xf32>"], None),
        ([*CLIPPED, "%l = nn.constant dense<[5.0, 1.0, 2.0, 3.0]> : tensor<4xf32>",
          "%y = nn.max %a, %l : tensor<4xf32>"], Whole(1, 9)),
        ([*CLIPPED, "%l = nn.constant dense<[5.0, 1.0, 2.0, 3.0]> : tensor<4xf32>",
          "%y = nn.min %a, %l : tensor<4xf32>"], Whole(-3, 5)),
        ([*CLIPPED, "%l = nn.constant dense<[5.0, 1.5, 2.0, 3.0]> : tensor<4xf32>",
          "%y = nn.max %a, %l : tensor<4xf32>"], None),
        ([*CLIPPED, "%l = nn.constant dense<12.0> : tensor<4xf32>",
          "%y = nn.where %c, %a, %l : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"], Whole(-3, 12)),
        ([*CLIPPED, "%y = nn.where %c, %a, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"], None),
        ([*CLIPPED, SCATTERED.format("none")], Whole(-3, 9)),
        ([*CLIPPED, SCATTERED.format("max")], Whole(-3, 9)),
        ([*CLIPPED, SCATTERED.format("add")], None),
    ],
)  # fmt: skip
def test_limits_hold_what_there_is(lines: list[str], wanted: Whole | None) -> None:
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
        (9.0, "f64", Whole(-3, 9)),
        (9.0, "i32", None),
        (300.0, "bf16", None),  # 299 is none
        (2.0**24 + 3, "f32", Whole(-3, 2**24 + 4)),
    ],
)
def test_casts_keep_limits_that_the_result_has(most: float, element: str, wanted: Whole | None) -> None:
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
