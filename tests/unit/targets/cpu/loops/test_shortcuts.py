"""Which epilogues begin with what sums may begin with, and which end with a saturation."""

import pytest
from xdsl.dialects.builtin import IntegerType

from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.environment import default_environment
from qmlir.targets.cpu.loops.epilogue import Saturation, Start, saturation_of, start_of
from qmlir.text.parsing import parse_module

_EPILOGUE = """
#channel = affine_map<(d0, d1) -> (d1)>
func.func @main(%x: tensor<1x4xi8>, %w: tensor<2x4xi8>, %b: tensor<2xi32>, %m: tensor<2xi32>)
    -> tensor<1x2x{element}> {{
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<2x4xi8>) epilogue(%b, %m : tensor<2xi32>, tensor<2xi32>)
      -> tensor<1x2x{element}> attributes {{epilogue_maps = [#channel, #channel]}} {{
  ^bb0(%sum: i32, %bias: i32, %other: i32):
    %least = arith.constant -128 : i32
    %most = arith.constant 127 : i32
    {body}
    kernel.yield %r : {element}
  }}
  func.return %0 : tensor<1x2x{element}>
}}
"""


def contraction(body: str, element: str) -> ContractionOp:
    """A product with such an epilogue."""
    text = _EPILOGUE.format(body=body, element=element)
    module = parse_module(default_environment().new_context(), text, "epilogue.mlir")
    (found,) = (op for op in module.walk() if isinstance(op, ContractionOp))
    return found


def start(body: str) -> Start | None:
    return start_of(contraction(body, "i32").body.block)


def saturation(body: str, element: str = "i8") -> Saturation | None:
    return saturation_of(contraction(body, element).body.block)


@pytest.mark.parametrize(
    ("addition", "operand"),
    [("%s = arith.addi %sum, %bias : i32", 0), ("%s = arith.addi %other, %sum : i32", 1)],
    ids=["sum first", "operand first"],
)
def test_sums_that_begin_with_an_operand(addition: str, operand: int) -> None:
    found = start(f"{addition}\n%r = arith.muli %s, %most : i32")
    assert found is not None
    assert found.operand == operand
    assert found.total.name_hint == "s"


@pytest.mark.parametrize(
    "body",
    [
        "%r = arith.subi %sum, %bias : i32",
        "%r = arith.addi %sum, %sum : i32",
        "%r = arith.addi %sum, %most : i32",
        "%s = arith.addi %sum, %bias : i32\n%r = arith.muli %s, %sum : i32",
        "%s = arith.addi %sum, %bias : i32\n%r = arith.muli %s, %bias : i32",
        "%r = arith.addi %bias, %other : i32",
    ],
    ids=["difference", "twice the sum", "constant", "sum used again", "operand used again", "sum not used"],
)
def test_sums_that_begin_with_zero(body: str) -> None:
    assert start(body) is None


_BYTES = "%t = arith.maxsi %sum, %least : i32\n%u = arith.minsi %t, %most : i32\n%r = arith.trunci %u : i32 to i8"


@pytest.mark.parametrize(
    "body",
    [
        _BYTES,
        "%t = arith.minsi %sum, %most : i32\n%u = arith.maxsi %t, %least : i32\n%r = arith.trunci %u : i32 to i8",
    ],
    ids=["lower limit first", "upper limit first"],
)
def test_saturations(body: str) -> None:
    found = saturation(body)
    assert found is not None
    assert found.value.name_hint == "sum"
    assert found.narrowed.type == IntegerType(8)


def test_what_is_made_of_the_saturated_number_alone_is_its_tail() -> None:
    found = saturation(
        f"{_BYTES.replace('%r', '%byte')}\n%one = arith.constant 1 : i8\n%r = arith.xori %byte, %one : i8"
    )
    assert found is not None
    assert [op.name for op in found.tail] == ["arith.constant", "arith.xori"]
    assert found.result.name_hint == "r"


def test_limits_inside_the_type_stay_in_front() -> None:
    found = saturation(
        f"%five = arith.constant 5 : i32\n%v = arith.maxsi %sum, %five : i32\n{_BYTES}".replace(
            "%t = arith.maxsi %sum", "%t = arith.maxsi %v"
        )
    )
    assert found is not None
    assert found.value.name_hint == "v"


@pytest.mark.parametrize(
    ("body", "element"),
    [
        ("%r = arith.addi %sum, %bias : i32", "i32"),
        ("%r = arith.trunci %sum : i32 to i8", "i8"),
        ("%t = arith.maxsi %sum, %least : i32\n%r = arith.trunci %t : i32 to i8", "i8"),
        (_BYTES.replace("%sum, %least", "%sum, %bias"), "i8"),
        (_BYTES.replace("i8", "i16"), "i16"),
        (_BYTES.replace("minsi", "maxsi"), "i8"),
        # Two limits of one kind, the outer one that of the type: nothing says that the inner one is.
        (
            "%t = arith.maxsi %sum, %bias : i32\n%u = arith.maxsi %t, %least : i32\n%r = arith.trunci %u : i32 to i8",
            "i8",
        ),
    ],
    ids=["wide", "no limits", "one limit", "unknown limit", "limits of bytes", "one kind", "one kind, unknown"],
)
def test_what_is_no_saturation(body: str, element: str) -> None:
    assert saturation(body, element) is None
