"""Sections: the cuts of nets that were drawn by hand, and the blocks of layers between them."""

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qmlir.environment import default_environment
from qmlir.extensions.recovery.block_programs import blocks, sections
from qmlir.ir.provenance import origins_of
from qmlir.specialization.inputs import function_of
from qmlir.text.parsing import parse_module

_V = "tensor<?x2xf32>"


def _net(body: str, results: str = "%last", types: str = _V) -> FuncOp:
    """One operation a line, `name: operation operands`; `w` is a constant."""
    lines = ["%w = nn.constant dense<1.0> : tensor<2x2xf32>"]
    for line in body.strip().splitlines():
        name, _, rest = line.strip().partition(": ")
        kind, *operands = rest.split()
        taken = ", ".join(f"%{each}" for each in operands)
        of = ", ".join("tensor<2x2xf32>" if each == "w" else _V for each in operands)
        typed = f"({of}) -> {_V}" if len(operands) > 1 else _V
        lines.append(f'%{name} = nn.{kind} {taken} : {typed} {{origin = "{name}"}}')
    text = "\n".join(lines)
    module = parse_module(
        default_environment().new_context(),
        f"func.func @main(%x: {_V}) -> ({types}) {{\n{text}\nfunc.return {results} : {types}\n}}",
        "net",
    )
    return function_of(module, "main")


_RESIDUAL = """
    stem: matmul x w
    relu0: relu stem
    one: matmul relu0 w
    relu1: relu one
    two: matmul relu1 w
    sum: add two relu0
    relu2: relu sum
    last: matmul relu2 w
"""


def _named(operations: tuple[Operation, ...]) -> list[str]:
    return [str(origins_of(op)[0]) for op in operations]


def _layers(operations: tuple[Operation, ...]) -> int:
    return sum(op.name == "nn.matmul" for op in operations)


def test_a_residual_block_has_no_cut_inside() -> None:
    found = [_named(each.operations) for each in sections(_net(_RESIDUAL))]
    assert found == [["stem"], ["relu0"], ["one", "relu1", "two", "sum"], ["relu2"], ["last"]]


def test_a_value_that_two_outputs_read_is_the_last_cut() -> None:
    function = _net(_RESIDUAL, "%last, %two", f"{_V}, {_V}")
    assert [_named(each.operations) for each in sections(function)] == [["stem"], ["relu0"]]


@pytest.mark.parametrize(
    ("most", "expected"),
    [(1, []), (2, [["one", "relu1", "two", "sum", "relu2"]]), (9, [["one", "relu1", "two", "sum", "relu2"]])],
)
def test_blocks_of_a_residual_net(most: int, expected: list[list[str]]) -> None:
    found = blocks(_net(_RESIDUAL), most, _layers)
    assert [_named(each.operations) for each in found] == expected


def test_layers_of_a_chain_are_joined() -> None:
    chain = "\n".join(["a: matmul x w", "b: relu a", "c: matmul b w", "d: matmul c w", "e: relu d", "last: matmul e w"])
    found = [_named(each.operations) for each in blocks(_net(chain), 3, _layers)]
    assert found == [["a", "b", "c", "d", "e"]]
    pairs = [_named(each.operations) for each in blocks(_net(chain), 2, _layers)]
    assert pairs == [["a", "b", "c"], ["d", "e", "last"]]


def test_a_block_begins_and_ends_at_its_cuts() -> None:
    (block,) = blocks(_net(_RESIDUAL), 2, _layers)
    assert (block.start.name_hint, block.end.name_hint) == ("relu0", "relu2")
