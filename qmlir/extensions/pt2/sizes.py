"""Sizes of tensors in an exported program: integers, or expressions of symbols for dynamic dimensions.

The archive contains expressions in SymPy's notation, such as `Add(Symbol('s0', positive=True, integer=True),
Integer(1))`. Their text is parsed and never executed.
"""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

DEPTH = 32
"""The maximum depth of an expression."""

_FUNCTIONS: Mapping[str, Callable[[Sequence[int]], int]] = {
    "Add": sum,
    "Mul": math.prod,
    "FloorDiv": lambda operands: operands[0] // operands[1],
    "CleanDiv": lambda operands: operands[0] // operands[1],
    "Mod": lambda operands: operands[0] % operands[1],
    "PythonMod": lambda operands: operands[0] % operands[1],
    "Max": max,
    "Min": min,
}


@dataclass(frozen=True)
class Expression:
    """A function of other sizes, or a symbol if it has no operands."""

    name: str
    operands: tuple["Size", ...] = ()


Size = int | Expression
"""A size that is known, or an expression of dynamic sizes."""


def parsed_size(text: str) -> Size:
    """Returns the size that a text in SymPy's notation represents. Raises `ValueError` if it is invalid."""
    if len(text) > 4096:
        raise ValueError(f"a size is an expression of {len(text)} characters")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"a size is the invalid expression '{text[:60]}'") from error
    return _parsed(tree, DEPTH)


def _parsed(tree: ast.expr, depth: int) -> Size:
    match tree:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
        case ast.Name(id=name):
            return Expression(name)
        case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str(name))]):
            return Expression(name)
        case ast.Call(func=ast.Name(id="Integer"), args=[number]) if depth:
            return _parsed(number, depth - 1)
        case ast.Call(func=ast.Name(id=name), args=operands) if depth and operands:
            return Expression(name, tuple(_parsed(each, depth - 1) for each in operands))
        case _:
            raise ValueError(f"a size is the unsupported expression '{ast.unparse(tree)[:60]}'")


def evaluated(size: Size, symbols: Mapping[str, int]) -> int | None:
    """Returns the number that `size` is for these values of symbols, or `None` if it is unknown."""
    if isinstance(size, int):
        return size
    if not size.operands:
        return symbols.get(size.name)
    function = _FUNCTIONS.get(size.name)
    operands = [evaluated(each, symbols) for each in size.operands]
    known = [each for each in operands if each is not None]
    if function is None or len(known) != len(operands):
        return None
    try:
        return function(known)
    except (IndexError, ArithmeticError):
        return None
