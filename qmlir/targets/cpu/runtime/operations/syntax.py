"""Lowers emitted kernels to LLVM instructions, in one pass over their syntax trees.

Emitted code consists of assignments to variables, calls of operations, operators, `for` over `range`, `while` and `if`.
Each variable has one type. numba's own compiler, which accepts most of Python, would compile the same code several
times slower: it interprets bytecode, infers types by unification, and keeps variables in memory.
"""

# numba and llvmlite have no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import ast
import operator as python
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple, cast

from llvmlite import ir
from numba import typeof, types

from . import fast
from .declare import OPERATORS, CompiledOperation
from .registers import INDEX

_I1, _I64 = ir.IntType(1), ir.IntType(64)

_KEYS: Mapping[type[ast.AST], Any] = {
    ast.Add: python.add, ast.Sub: python.sub, ast.Mult: python.mul, ast.Div: python.truediv,
    ast.BitAnd: python.and_, ast.BitOr: python.or_, ast.BitXor: python.xor,
    ast.LShift: python.lshift, ast.RShift: python.rshift,
    ast.Eq: python.eq, ast.NotEq: python.ne,
    ast.Lt: python.lt, ast.LtE: python.le, ast.Gt: python.gt, ast.GtE: python.ge,
}  # fmt: skip
"""The function of each Python operator."""


class TypedValue(NamedTuple):
    """A value of emitted code: its numba type and its llvmlite value."""

    type: Any
    value: Any


def _literal(value: float | str) -> TypedValue:
    match value:
        case int():
            return TypedValue(types.literal(value), ir.Constant(_I64, value))
        case float():
            return TypedValue(types.float64, ir.Constant(ir.DoubleType(), value))
        case str():
            return TypedValue(types.literal(value), None)


@dataclass
class _Loop:
    head: Any
    """The block to which the end of the body jumps."""

    after: Any
    """The block after the loop."""

    phis: dict[str, Any]
    """The phis of `head` by the variables that the body changes."""

    variables: dict[str, TypedValue] | None = None
    """The variables after the loop, once they are known."""


def _assigned(nodes: Sequence[ast.stmt]) -> Iterator[str]:
    """Yields the variables that statements assign to."""
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name
            case ast.For(body=body) | ast.While(body=body):
                yield from _assigned(body)
            case ast.If(body=body, orelse=orelse):
                yield from _assigned([*body, *orelse])
            case _:
                pass


@lru_cache(maxsize=1)
def _definitions(path: str, changed: int) -> dict[str, ast.FunctionDef]:
    """Returns the functions of a Python file by name; `changed` is the time of its last change."""
    tree = ast.parse(Path(path).read_bytes())
    return {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}


class _Lowering(ast.NodeVisitor):
    """Lowers statements and expressions of one function; `names` are the globals of its module."""

    def __init__(self, target: Any, builder: Any, names: Mapping[str, Any], variables: dict[str, TypedValue]) -> None:
        self.target = target
        self.builder = builder
        self.names = names
        self.variables = variables
        """The current value of each variable that is defined on all paths to the current block."""

        self.loops: list[_Loop] = []
        """The loops around the current statement."""

    def generic_visit(self, node: ast.AST) -> Any:
        """Raises `TypeError`: emitted code contains no such syntax."""
        raise TypeError(f"line {getattr(node, 'lineno', '?')}: compiled code cannot contain {type(node).__name__}")

    # --- Expressions --------------------------------------------------------------------------------------------------

    def apply(self, declaration: CompiledOperation, *operands: TypedValue) -> TypedValue:
        """Emits an operation."""
        result, kinds = declaration.typed(tuple(each.type for each in operands))
        values = [each.value for each in operands]
        return TypedValue(result, declaration.emit(self.target, self.builder, result, kinds, values))

    def visit_Constant(self, node: ast.Constant) -> TypedValue:
        return _literal(cast(float | str, node.value))

    def visit_Name(self, node: ast.Name) -> TypedValue:
        found = self.variables.get(node.id)
        if found is None:
            array = self.names[node.id]
            type_ = typeof(array)
            found = TypedValue(type_, self.target.get_constant_generic(self.builder, type_, array))
        return found

    def visit_Call(self, node: ast.Call) -> TypedValue:
        return self.apply(self.names[cast(ast.Name, node.func).id], *map(self.visit, node.args))

    def visit_BinOp(self, node: ast.BinOp) -> TypedValue:
        return self.apply(OPERATORS[_KEYS[type(node.op)]], self.visit(node.left), self.visit(node.right))

    def visit_Compare(self, node: ast.Compare) -> TypedValue:
        (key,), (right,) = node.ops, node.comparators
        return self.apply(OPERATORS[_KEYS[type(key)]], self.visit(node.left), self.visit(right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> TypedValue:
        operand = node.operand
        if isinstance(node.op, ast.Not):
            return TypedValue(types.boolean, self.builder.not_(self.visit(operand).value))
        if isinstance(operand, ast.Constant):
            return _literal(-cast(float, operand.value))
        value = self.visit(operand)
        if value.type == INDEX:
            return self.apply(OPERATORS[python.sub], _literal(0), value)
        return self.apply(OPERATORS[python.neg], value)

    def visit_BoolOp(self, node: ast.BoolOp) -> TypedValue:
        """Emits `and`, whose second operand is only computed if the first one is true."""
        first, second = node.values
        condition = self.visit(first).value
        start = self.builder.block
        with self.builder.if_then(condition):
            other, end = self.visit(second).value, self.builder.block
        return TypedValue(types.boolean, self.phi(_I1, [(ir.Constant(_I1, 0), start), (other, end)]))

    # --- Statements ---------------------------------------------------------------------------------------------------

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        for each in nodes:
            self.visit(each)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.variables[cast(ast.Name, node.targets[0]).id] = self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        self.visit(node.value)

    def visit_Pass(self, node: ast.Pass) -> None:
        pass

    def phi(self, type_: Any, rows: Sequence[tuple[Any, Any]]) -> Any:
        """Emits a phi of (value, predecessor block) pairs."""
        found = self.builder.phi(type_)
        for value, block in rows:
            found.add_incoming(value, block)
        return found

    def loop(self, body: Sequence[ast.stmt], first: dict[str, TypedValue]) -> _Loop:
        """Begins a loop: variables that the body changes become phis, and so do those of `first`."""
        before, head = self.builder.block, self.builder.append_basic_block("loop")
        self.builder.branch(head)
        self.builder.position_at_end(head)
        changed = {name: value for name in _assigned(body) if (value := self.variables.get(name)) is not None}
        phis: dict[str, Any] = {}
        for name, (type_, value) in (changed | first).items():
            phis[name] = self.phi(value.type, [(value, before)])
            self.variables[name] = TypedValue(types.unliteral(type_), phis[name])
        self.loops.append(_Loop(head, self.builder.append_basic_block("after"), phis))
        return self.loops[-1]

    def repeat(self, loop: _Loop) -> None:
        """Ends the body of a loop."""
        for name, phi in loop.phis.items():
            phi.add_incoming(self.variables[name].value, self.builder.block)
        self.builder.branch(loop.head)
        self.builder.position_at_end(loop.after)
        self.variables = loop.variables or {}
        self.loops.pop()

    def body(self, loop: _Loop, test: Any) -> None:
        """Begins the body of a loop, which runs while `test` is true."""
        loop.variables = dict(self.variables)
        inside = self.builder.append_basic_block("body")
        self.builder.cbranch(test, inside, loop.after)
        self.builder.position_at_end(inside)

    def visit_For(self, node: ast.For) -> None:
        bounds = [self.visit(each) for each in cast(ast.Call, node.iter).args]
        start, stop = bounds[:2] if len(bounds) > 1 else (_literal(0), *bounds)
        name = cast(ast.Name, node.target).id
        loop = self.loop(node.body, {name: start})
        counter = self.variables[name].value
        self.body(loop, self.builder.icmp_signed("<", counter, stop.value))
        self.statements(node.body)
        step = bounds[2] if len(bounds) > 2 else _literal(1)
        self.variables[name] = TypedValue(INDEX, self.builder.add(counter, step.value, flags=["nsw"]))
        self.repeat(loop)

    def visit_While(self, node: ast.While) -> None:
        loop = self.loop(node.body, {})
        if not isinstance(node.test, ast.Constant):
            self.body(loop, self.visit(node.test).value)
        self.statements(node.body)
        self.repeat(loop)

    def visit_Break(self, node: ast.Break) -> None:
        """Leaves a loop `while True`. Raises `TypeError` if the loop also ends in another way."""
        loop = self.loops[-1]
        if loop.variables is not None:
            raise TypeError(f"line {node.lineno}: compiled code cannot leave a loop in two ways")
        loop.variables = self.variables
        self.builder.branch(loop.after)

    def visit_If(self, node: ast.If) -> None:
        yes, no, after = (self.builder.append_basic_block(name) for name in ("yes", "no", "after"))
        self.builder.cbranch(self.visit(node.test).value, yes, no)
        before, ends = self.variables, list[tuple[Any, dict[str, TypedValue]]]()
        for block, nodes in ((yes, node.body), (no, node.orelse)):
            self.builder.position_at_end(block)
            self.variables = dict(before)
            self.statements(nodes)
            if not self.builder.block.is_terminated:
                ends.append((self.builder.block, self.variables))
                self.builder.branch(after)
        self.builder.position_at_end(after)
        self.variables = {}
        for name, (type_, value) in ends[0][1].items():
            rows = [(variables[name].value, block) for block, variables in ends if name in variables]
            if len(rows) == len(ends):
                is_same = all(each is value for each, _ in rows)
                self.variables[name] = TypedValue(
                    types.unliteral(type_), value if is_same else self.phi(value.type, rows)
                )


class Compiler(fast.KernelCompiler):
    """Compiles emitted functions from their syntax trees."""

    def lower(self, function: FunctionType, target: Any, builder: Any, arguments: Sequence[Any]) -> None:
        """Emits the body of a function."""
        path = function.__code__.co_filename
        tree = _definitions(path, Path(path).stat().st_mtime_ns)[function.__name__]
        names = [each.arg for each in tree.args.args]
        variables = dict(zip(names, map(TypedValue, self.kinds, arguments), strict=True))
        body = tree.body if ast.get_docstring(tree) is None else tree.body[1:]
        _Lowering(target, builder, function.__globals__, variables).statements(body)
