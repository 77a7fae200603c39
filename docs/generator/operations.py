"""The matrix of `nn` operations: what each stage has for each, from the tables that the stages themselves use.

A cell says how a stage does it. An empty cell is a hole; `reasons.py` has the reason of each, and what it lists that is
no hole is an error, too.
"""

import dis
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from onnx.backend.test.case import node as onnx_node_tests
from xdsl.irdl import IRDLOperation
from xdsl.traits import ConstantLike

from docs.generator.dialects import operations_of, slots_of
from docs.generator.importers import operators_by_operation
from docs.generator.markdown import GENERATED, code, codes, table
from docs.generator.reasons import REASONS
from qmlir import registry
from qmlir.dialects.nn.base import Kind
from qmlir.dialects.nn.elementwise.ops import UnaryOp
from qmlir.dialects.nn.evaluators import QUANTIZED
from qmlir.dialects.nn.lowering import otherwise
from qmlir.ir.diagnostics import text_error
from qmlir.ir.interfaces import InferResultTypes, Quantizable, ReadsShapesOnly
from qmlir.onnx.export.integer import INTEGER
from qmlir.onnx.export.qlinear import QLINEAR

_SHOWN = 3
"""How many names a cell shows."""

_YES = "yes"
_BY_PARTS = "by its parts"
_SHAPE_ONLY = "its shape only"


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def _some(names: Sequence[str]) -> str:
    more = f", {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return codes(names[:_SHOWN]) + more


def _imported(operation: type[IRDLOperation], tests: Path) -> str:
    if operation.has_trait(ConstantLike):
        return "initializers, `Constant`"
    own = _plain(operation.name.partition(".")[2])
    found = sorted(operators_by_operation().get(operation, ()), key=lambda name: (_plain(name) != own, name))
    return _some(found)


def _exported(operation: type[IRDLOperation], tests: Path) -> str:
    """The ways in which it is written, beside the one of floats: in integers, and as one QLinear operator."""
    if operation.has_trait(ConstantLike):
        return "initializers"
    if operation not in registry.onnx_exporters():
        return ""
    ways = [name for name, table in (("integers", INTEGER), ("QLinear", QLINEAR)) if operation in table]
    if issubclass(operation, UnaryOp) and _accepts_quantized(operation) and operation not in INTEGER:
        ways.append("table")
    return ", ".join(ways) or _YES


def _inferred(operation: type[IRDLOperation], tests: Path) -> str:
    return _YES if issubclass(operation, InferResultTypes) and not inspect.isabstract(operation) else ""


def _in_float(operation: type[IRDLOperation], tests: Path) -> str:
    return _YES if operation in registry.evaluators("nn") else ""


def _accepts_quantized(operation: type[IRDLOperation]) -> bool:
    return issubclass(operation, Quantizable) and Kind.QUANTIZED in getattr(operation, "ACCEPTS", Kind(0))


def _in_integers(operation: type[IRDLOperation], tests: Path) -> str:
    if not _accepts_quantized(operation) or operation not in registry.evaluators("nn"):
        return ""
    if operation.has_trait(ReadsShapesOnly):
        return _SHAPE_ONLY
    if operation in QUANTIZED:
        return "integers"
    if operation.has_trait(ConstantLike):
        return "stored integers"
    slots = slots_of(operation)
    if slots is not None and slots.shares_parameters:
        return "stored integers"
    return "through floats" if slots is not None else "by its properties"


def _quantized(operation: type[IRDLOperation], tests: Path) -> str:
    if not _accepts_quantized(operation):
        return _BY_PARTS if operation in registry.decompositions() else ""
    if operation.has_trait(ReadsShapesOnly):
        return _SHAPE_ONLY
    slots = slots_of(operation)
    if slots is None:
        return "by its properties"
    names = [name for name, _ in operation.get_irdl_definition().operands]
    if not names:
        return "by the slot of its user"
    parts = [slots.operands.get(name, "input") for name in names if not name.endswith("_value")]
    said = codes(dict.fromkeys(str(part) for part in parts if part is not None))
    return said + (" or its parts" if said and operation in registry.decompositions() else "")


def ends_in_an_error(lowering: Callable[..., object]) -> bool:
    """Whether a lowering never returns: all that it does is say that there is none."""
    return not any(step.opname.startswith("RETURN") for step in dis.get_instructions(lowering))


def _lowered(operation: type[IRDLOperation], tests: Path) -> str:
    lowering = registry.lowerings().get(operation)
    is_composite = operation in registry.decompositions()
    if lowering is None or lowering is otherwise:
        return _BY_PARTS if is_composite else ""
    return "" if ends_in_an_error(lowering) else _YES


def _tested(operation: type[IRDLOperation], tests: Path) -> str:
    """The FileCheck files of the dialect that run or rewrite the operation; whether ONNX tests an operator of it."""
    folder = tests / "filecheck" / "dialects" / "nn"
    pattern = re.compile(rf"{re.escape(operation.name)}\b")
    found = [
        path.stem
        for path in sorted(folder.glob("*.mlir"), key=lambda path: (not path.stem.startswith("interpret"), path))
        if not path.stem.startswith(("ops", "invalid")) and pattern.search(path.read_text(encoding="utf-8"))
    ]
    known = {_plain(each.name) for each in pkgutil.iter_modules(onnx_node_tests.__path__)}
    is_known = any(_plain(name) in known for name in operators_by_operation().get(operation, ()))
    return ", ".join(filter(None, (_some(found), "ONNX's" if is_known else "")))


COLUMNS: Mapping[str, Callable[[type[IRDLOperation], Path], str]] = {
    "import": _imported,
    "export": _exported,
    "infer": _inferred,
    "interpret float": _in_float,
    "interpret quantized": _in_integers,
    "quantize": _quantized,
    "lower": _lowered,
    "test": _tested,
}
"""What each column asks of an operation."""


def matrix(tests: Path) -> dict[str, dict[str, str]]:
    """The cells by operation and column; an empty one is a hole."""
    operations = operations_of(registry.load(registry.DIALECTS["nn"]))
    return {each.name: {name: ask(each, tests) for name, ask in COLUMNS.items()} for each in operations}


def faults(cells: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Each hole without a reason, and each reason without a hole."""
    holes = {(column, name) for name, row in cells.items() for column, cell in row.items() if not cell}
    given = [(column, name) for column, reasons in REASONS.items() for names in reasons.values() for name in names]
    for column, name in sorted(holes - set(given)):
        yield f"{name} has nothing for '{column}', and no reason says why"
    for column, name in sorted(set(given) - holes):
        yield f"a reason says why {name} has nothing for '{column}', but it is not a hole"
    for column, name in sorted({each for each in given if given.count(each) > 1}):
        yield f"two reasons say why {name} has nothing for '{column}'"


_ABOUT = """\
What each stage has for each operation of `nn`, from the tables that the stages use:

- **import**: the ONNX operators whose importers add it ([ONNX models](../onnx.md));
- **export**: its exporter; *integers* and *table* where quantized values have such a form, *QLinear* where there is an
  operator of that kind for some types;
- **infer**: result types follow from operands and properties;
- **interpret**: the evaluator for plain values; for quantized ones by exact *integers*, on the *stored integers*
  unchanged, or *through floats*, rounded once ([the arithmetic](../arithmetic.md));
- **quantize**: the slots of its operands, for which a recipe chooses types ([quantization](../quantization.md));
- **lower**: a form at the integer level, and so a compiled one ([compiling](../compiling.md));
- **test**: the FileCheck files that compute with it or rewrite it, besides the one that reads and prints it; and
  whether ONNX has node tests of an operator that becomes it ([testing](../testing.md)).

A number in brackets is a gap, explained below the table.
"""


def page(tests: Path) -> str:
    """The page. Raises `DiagnosticError` where holes and reasons do not agree."""
    cells = matrix(tests)
    wrong = list(faults(cells))
    if wrong:
        raise text_error("; ".join(wrong))
    columns = {
        reason: [name for name in REASONS if reason in REASONS[name]] for each in REASONS.values() for reason in each
    }
    numbers = {reason: number for number, reason in enumerate(columns, 1)}
    marks = {
        (column, name): f"({numbers[reason]})"
        for column, reasons in REASONS.items()
        for reason, names in reasons.items()
        for name in names
    }
    rows = [(code(name), *(cell or marks[column, name] for column, cell in row.items())) for name, row in cells.items()]
    listed = "\n".join(
        f"{number}. *{', '.join(columns[reason])}*: {reason}: {codes(REASONS[columns[reason][0]][reason])}."
        for reason, number in numbers.items()
    )
    return "\n".join(
        [
            GENERATED, "", "# Operations of nn", "", _ABOUT, table(("operation", *COLUMNS), rows),
            "## Holes", "", listed, "",
        ]
    )  # fmt: skip
