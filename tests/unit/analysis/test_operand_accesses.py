"""What the readings' module tells of operations, against the dialects that define them."""

from xdsl.dialects import arith

from qmlir.analysis.operand_accesses import INTEGER_DIVISIONS


def test_every_division_of_integers_traps() -> None:
    """A division that the table lacked would be computed where its divisor may be 0."""
    integers = [op for op in arith.Arith.operations if issubclass(op, arith.SignlessIntegerBinaryOperation)]
    assert {op for op in integers if "div" in op.name or "rem" in op.name} == set(INTEGER_DIVISIONS)
