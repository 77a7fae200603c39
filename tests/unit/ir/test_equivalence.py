"""Equivalence sees what a text can lose: types, order, targets of branches; not locations or the names of values."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.ir.equivalence import equivalent
from qmlir.text.parsing import parse_module

ENVIRONMENT = default_environment()


def _parsed(source: str) -> ModuleOp:
    return parse_module(ENVIRONMENT.new_context(allow_unregistered=True), source)


LOOP = """func.func @f(%c: i1, %x: i32) {{
  cf.br ^a
^a:
  %0 = arith.addi %x, %x : i32
  cf.cond_br %c, ^{}, ^b
^b:
  func.return
}}"""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('%0 = "a.op"() : () -> i32', '\n%name = "a.op"() : () -> i32'),
        # A graph: the use stands in front of the definition.
        ('%0 = "a.op"(%1) : (i32) -> i32\n%1 = "a.op"(%0) : (i32) -> i32',) * 2,
        (LOOP.format("a"),) * 2,
    ],
)
def test_the_same(first: str, second: str) -> None:
    assert equivalent(_parsed(first), _parsed(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('%0 = "a.op"() : () -> i32', '%0 = "a.op"() : () -> i64'),
        ('"a.op"() : () -> ()', '"a.other"() : () -> ()'),
        ('"a.op"() {k = 1 : i32} : () -> ()', '"a.op"() {k = 2 : i32} : () -> ()'),
        ('"a.op"() : () -> ()', '"a.op"() : () -> ()\n"a.op"() : () -> ()'),
        ('"a.op"() ({^b(%x: i32):}) : () -> ()', '"a.op"() ({^b(%x: i64):}) : () -> ()'),
        (
            '%0 = "a.op"(%1) : (i32) -> i32\n%1 = "a.op"(%0) : (i32) -> i32',
            '%0 = "a.op"(%0) : (i32) -> i32\n%1 = "a.op"(%0) : (i32) -> i32',
        ),
        (LOOP.format("a"), LOOP.format("b")),
    ],
)
def test_not_the_same(first: str, second: str) -> None:
    assert not equivalent(_parsed(first), _parsed(second))


def test_a_value_from_outside_must_be_the_same() -> None:
    module = _parsed('%0, %1 = "a.source"() : () -> (i32, i32)\n"a.use"(%0) : (i32) -> ()\n"a.use"(%1) : (i32) -> ()')
    _, one, other = module.body.block.ops
    assert equivalent(one, one.clone())
    assert not equivalent(one, other)
