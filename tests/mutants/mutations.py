"""What a mutant is: one small change to one place of a module's syntax tree.

Conditions, operators, constants, order and presence are changed: a comparison to its neighbour, a conjunct or an entry
of a table dropped, a branch taken always or never, two arguments exchanged, a statement left out. Left alone is what
decides nothing: annotations, decorators, text, assertions, counters, and the words of an error.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial, reduce
from itertools import islice, pairwise
from pathlib import Path
from typing import TypeVar
from zlib import crc32

_T = TypeVar("_T")
ROOT = Path(__file__).resolve().parents[2]

SUBJECTS = (
    *(f"qmlir/{part}/**/*.py" for part in ("passes", "analysis", "quantization", "specialization", "arithmetic")),
    *(f"qmlir/targets/{part}/**/*.py" for part in ("cpu/scheduled", "cpu/loops", "partitioning")),
    *(f"qmlir/dialects/*/{room}" for room in ("canonicalize.py", "canonicalize/*.py", "lower.py", "*/lower*.py")),
    *(f"qmlir/dialects/*/{room}" for room in ("*/decompose.py", "raising/*.py", "lowering/*.py", "requantize.py")),
    "qmlir/dialects/quant/types.py",
    "qmlir/ir/builtin_types.py",
    "qmlir/ir/conversion.py",
    "qmlir/ir/verification.py",
)
"""Passes, lowerings, canonicalizations, and what they ask."""

TUNING = ("qmlir/targets/cpu/scheduled/schedule.py",)
"""Numbers that were measured: another one is slower, and computes the same."""

_SILENT = frozenset({"count", "cast", "TypeVar", "TypeAlias", "op_error", "text_error", "emit", "Diagnostic"})
_UNSEEN = frozenset({"annotation", "returns", "decorator_list", "bases", "type_params"})
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.Pow: ast.Mult,
    ast.BitXor: ast.BitOr, ast.MatMult: ast.Mult,
}  # fmt: skip
_PLAIN_KEYWORDS = frozenset({"strict", "frozen", "init", "repr", "kw_only"})
"""What guards or describes, and decides nothing."""
_OF_CLASSES = frozenset({"isinstance", "issubclass", "map", "filter", "getattr", "hasattr", "partial"})
"""Functions whose arguments are of two kinds."""
_TWINS = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}


@dataclass(frozen=True)
class Mutant:
    """A change: where, of which kind, and both texts. `number` tells equal changes of one function apart."""

    path: str
    function: str
    line: int
    kind: str
    before: str
    after: str
    number: int
    position: int
    """Which node of the tree, in the order of `_positions`, and which of its changes."""
    variant: int

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What stays the same while other code changes."""
        return self.path, self.function, self.before, self.after, self.number

    def __str__(self) -> str:
        return f"{self.path}:{self.line} ({self.function or 'module'}) {self.kind}: {self.before}  ->  {self.after}"


@dataclass(frozen=True)
class _Place:
    """A node, and how another takes its place."""

    node: ast.AST
    function: str
    put: Callable[[ast.AST], None]
    is_test: bool
    """Whether the node is a condition of its own."""
    around: ast.AST
    """What to show of a number: the expression that it is a part of."""

    def shown(self, new: ast.AST) -> tuple[str, str]:
        """Both texts of a change."""
        if not isinstance(self.node, ast.Constant):
            return _shown(self.node), _shown(new)
        before = _shown(self.around)
        self.put(new)
        after = _shown(self.around)
        self.put(self.node)
        return before, after


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST, Callable[[ast.AST], None]]]:
    for name, value in ast.iter_fields(node):
        if name in _UNSEEN:
            continue
        if isinstance(value, ast.AST):
            yield name, value, partial(setattr, node, name)
        elif isinstance(value, list):
            for index, each in enumerate(value):
                if isinstance(each, ast.AST):
                    yield name, each, partial(value.__setitem__, index)


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=called):
            return _name(called)
    return ""


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Raise(exc=None):
            return True
        case ast.Call():
            return _name(node) in _SILENT
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Subscript(value=ast.Name(id="Callable")):
            return True
        case ast.FunctionDef(name="__str__" | "__repr__"):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
    return False


def _positions(node: ast.AST, function: str = "", around: ast.AST | None = None) -> Iterator[_Place]:
    """Every node that may change, parents first."""
    if around is None or not isinstance(node, ast.UnaryOp | ast.Slice | ast.Tuple | ast.Subscript):
        around = node
    for name, child, put in _children(node):
        if _is_left_alone(child) or (isinstance(child, ast.keyword) and child.arg in _PLAIN_KEYWORDS):
            continue
        inside = function
        if isinstance(child, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            inside = f"{function}.{child.name}".lstrip(".")
        is_test = name == "test" or (name == "ifs" and isinstance(node, ast.comprehension))
        yield _Place(child, inside, put, is_test, around)
        if not isinstance(child, ast.Raise):  # it may be dropped; its words stay
            yield from _positions(child, inside, around)


def _without_one(values: Sequence[_T]) -> Iterator[list[_T]]:
    return ([*values[:index], *values[index + 1 :]] for index in range(len(values)))


def _changed_comparison(node: ast.Compare) -> Iterator[tuple[str, ast.AST]]:
    for index, op in enumerate(node.ops):
        changed = [*node.ops[:index], _COMPARISONS[type(op)](), *node.ops[index + 1 :]]
        yield "comparison", ast.Compare(node.left, changed, node.comparators)
    if len(node.ops) > 1:
        yield "bound dropped", ast.Compare(node.left, node.ops[:-1], node.comparators[:-1])
        yield "bound dropped", ast.Compare(node.comparators[0], node.ops[1:], node.comparators[1:])


def _changed_junction(node: ast.BoolOp) -> Iterator[tuple[str, ast.AST]]:
    what = "conjunct" if isinstance(node.op, ast.And) else "disjunct"
    for left in _without_one(node.values):
        yield f"{what} dropped", left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
    yield "and/or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def _changed_operation(node: ast.BinOp) -> Iterator[tuple[str, ast.AST]]:
    if type(node.op) in _OPERATORS and not isinstance(node.left, ast.Constant | ast.JoinedStr | ast.List):
        yield "operator", ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)


def _changed_constant(node: ast.Constant) -> Iterator[tuple[str, ast.AST]]:
    match node.value:
        case bool(value):
            yield "constant", ast.Constant(not value)
        case int(value):
            yield "constant", ast.Constant(value ^ 1)
        case float(value):
            yield "constant", ast.Constant(value * 2 or 1.0)


def _is_like(first: ast.expr, second: ast.expr) -> bool:
    """Whether two arguments may be of one type: exchanged, others would end in an error and tell nothing of a test."""
    return {_name(first), _name(second)}.isdisjoint({"rewriter", "op", "context", "ctx", "emit", "self", "builder"})


def _union(node: ast.expr) -> list[ast.expr]:
    """The classes of `A | B`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_union(node.left), *_union(node.right)]
    return [node]


def _or(first: ast.expr, second: ast.expr) -> ast.expr:
    return ast.BinOp(first, ast.BitOr(), second)


def _changed_call(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    name = _name(node.func)
    if name in _TWINS:
        twin = deepcopy(node.func)
        setattr(twin, "id" if isinstance(twin, ast.Name) else "attr", _TWINS[name])
        yield "twin", ast.Call(twin, node.args, node.keywords)
    elif name == "isinstance":
        for classes in _without_one(_union(node.args[1])):
            if classes:
                yield "alternative dropped", ast.Call(node.func, [node.args[0], reduce(_or, classes)], [])
    if name in _OF_CLASSES or name in _TWINS:
        return
    for index, (first, second) in enumerate(pairwise(node.args)):
        if type(first) is type(second) and not isinstance(first, ast.Starred) and _is_like(first, second):
            exchanged = [*node.args[:index], second, first, *node.args[index + 2 :]]
            yield "arguments exchanged", ast.Call(node.func, exchanged, node.keywords)


def _changed_statement(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
            yield "statement dropped", ast.Pass()
        case ast.Continue():
            yield "loop", ast.Break()
        case ast.Break():
            yield "loop", ast.Continue()


def _changes(position: _Place) -> Iterator[tuple[str, ast.AST]]:
    """What a node becomes; the new nodes share parts with the old one."""
    node = position.node
    if position.is_test and not isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp):
        yield "condition", ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.Compare():
            yield from _changed_comparison(node)
        case ast.BoolOp():
            yield from _changed_junction(node)
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert(), operand) if not isinstance(operand, ast.Constant):
            yield "operator dropped", operand
        case ast.BinOp():
            yield from _changed_operation(node)
        case ast.IfExp(test, body, orelse):
            yield "branches exchanged", ast.IfExp(test, orelse, body)
        case ast.Constant():
            yield from _changed_constant(node)
        case ast.Call():
            yield from _changed_call(node)
        case ast.List(elements):
            for left in _without_one(elements):
                yield "entry dropped", ast.List(left, node.ctx)
        case ast.Set(elements) if len(elements) > 1:
            for left in _without_one(elements):
                yield "entry dropped", ast.Set(left)
        case ast.Tuple(elements) if not position.function and len(elements) > 2:  # a table
            for left in _without_one(elements):
                yield "entry dropped", ast.Tuple(left, node.ctx)
        case ast.Dict(keys, values) if len(keys) > 1:
            for left in _without_one(list(zip(keys, values, strict=True))):
                yield "entry dropped", ast.Dict([key for key, _ in left], [value for _, value in left])
        case ast.stmt():
            yield from _changed_statement(node)


def _shown(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


@cache
def _source(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def mutants_of(path: str, source: str | None = None) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of its text, which may be given."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for index, position in enumerate(_positions(ast.parse(_source(path) if source is None else source))):
        for variant, (kind, new) in enumerate(_changes(position)):
            before, after = position.shown(new)
            same = position.function, before, after
            line = getattr(position.node, "lineno", 0)
            yield Mutant(path, position.function, line, kind, before, after, seen[same], index, variant)
            seen[same] += 1


def applied(mutant: Mutant) -> ast.Module:
    """The module with the change in it."""
    tree = ast.parse(_source(mutant.path))
    position = next(islice(_positions(tree), mutant.position, None))
    _, new = next(islice(_changes(position), mutant.variant, None))
    position.put(ast.copy_location(new, position.node))
    return ast.fix_missing_locations(tree)


def subjects() -> list[str]:
    """The paths of all modules that are mutated."""
    found = {path.relative_to(ROOT).as_posix() for pattern in SUBJECTS for path in ROOT.glob(pattern)}
    return sorted(found - set(TUNING))


def drawn(mutants: Iterable[Mutant], seed: int) -> list[Mutant]:
    """The mutants in the order that a seed gives: a change of one function leaves the order of the others."""
    return sorted(mutants, key=lambda each: (crc32(repr((seed, each.key)).encode()), each.key))
