"""Faults of a package, one row each: the message names the operation, the package, and the file and line of the hook.

A row has one hook that is wrong in one way, and the use that meets it. The place is read off the function of the row.
"""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import parser
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, f32, i64
from xdsl.ir import Block, Dialect, Operation
from xdsl.irdl import irdl_op_definition
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.universe import Universe

from qmlir import registry
from qmlir.arithmetic.calibrators import Range, calibrate
from qmlir.arithmetic.schemes import Grid, Parameters, Scheme, Storage, parameters
from qmlir.arithmetic.statistics import Observer, Statistics, kept_of, merged_kept
from qmlir.dialects.kernel.custom import CustomKernel
from qmlir.dialects.nn.activations.ops import ReluOp, SigmoidOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.elementwise.ops import AddOp, UnaryOp
from qmlir.dialects.nn.padding_rules import PaddedValue
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.evaluation import ByOperation, RegionEvaluator, TakesStored
from qmlir.ir.interfaces import Replacement
from qmlir.onnx.export.exporter import export_model
from qmlir.onnx.importer import import_model
from qmlir.onnx.reading import read_model
from qmlir.passmanager.manager import run_pipeline
from qmlir.registry import Contribution, Package, PackageError
from qmlir.registry.faults import fault_listener
from qmlir.target import Support, Target
from qmlir.targets.lowering import emit_for, execute_for
from qmlir.text.parsing import parse_module

HERE = __name__
FLOAT = "tensor<4xf32>"
NARROW = "tensor<4x!quant.uniform<i8<-127:127>:f32, 0.5:1>>"
FOUR_BITS = "tensor<4xi4>"


@irdl_op_definition
class FaultyOp(UnaryOp):
    """An operation whose hooks are those of a row."""

    name = "faulty.op"


_DIALECT = Dialect("faulty", [FaultyOp])
UNIVERSE = Universe(all_dialects={"faulty": lambda: _DIALECT})


def _text(type_: str) -> str:
    return (
        f'func.func @main(%x: {type_} {{nn.name = "x"}}) -> ({type_} {{nn.name = "y"}}) {{\n'
        f'  %0 = "faulty.op"(%x) {{origin = "n1"}} : ({type_}) -> {type_}\n  func.return %0 : {type_}\n}}'
    )


def _module(type_: str = FLOAT, text: str = "") -> ModuleOp:
    return parse_module(default_environment().new_context(), text or _text(type_))


# --- Uses: each meets the hook of a row -------------------------------------------------------------------------------

Hook = Callable[..., Any]
Use = Callable[[pytest.MonkeyPatch, Any], None]


def _package(monkeypatch: pytest.MonkeyPatch, rows: dict[str, Any], **objects: Any) -> Package:
    """A package, with `rows` of its Contribution, whose objects are `objects` of this module."""
    for name, value in objects.items():
        monkeypatch.setattr(sys.modules[HERE], name, value, raising=False)
    return Package("faulty", "1.0", universes=(f"{HERE}:UNIVERSE",), contributions=(Contribution(**rows),))


def evaluated(type_: str = FLOAT) -> Use:
    """Run the operation by the evaluator of the row."""

    def use(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
        package = _package(monkeypatch, {"evaluators": {"faulty": f"{HERE}:TABLE"}}, TABLE={FaultyOp: hook})
        x = np.full(4, 3, np.float32 if type_ == FLOAT else np.int8)
        with registry.plugged([package]):
            interpret(_module(type_), [x])
            raise AssertionError("the interpreter takes it")

    return use


def _through_pass(field: str, text: str, type_: str = FLOAT) -> Use:
    def use(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
        rows = {field: {"faulty": f"{HERE}:TABLE"}}
        with registry.plugged([_package(monkeypatch, rows, TABLE={FaultyOp: hook})]):
            run_pipeline(_module(type_), text)
            raise AssertionError("the pass takes it")

    return use


decomposed = _through_pass("decompositions", "nn-decompose")
differentiated = _through_pass("gradients", "nn-gradient")
lowered = _through_pass("lowerings", "convert-nn-to-kernel")
padded = _through_pass("paddings", 'pad-shapes{sizes="x.0=4"}', "tensor<?xf32>")


def rewritten(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
    """Canonicalize with the pattern of the row."""

    class Rewrites(RewritePattern):
        def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
            if isinstance(op, SigmoidOp):
                hook(op, rewriter)

    text = _text(FLOAT).replace('"faulty.op"', '"nn.sigmoid"')
    rows = {"patterns": {"nn.canonicalize": (f"{HERE}:PATTERNS",)}}
    with registry.plugged([_package(monkeypatch, rows, PATTERNS=(Rewrites(),))]):
        run_pipeline(_module(text=text), "canonicalize")
        raise AssertionError("the rewriter takes it")


def passed(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
    """Run a pass that calls the function of the row."""

    @dataclass(frozen=True)
    class Passes(ModulePass):
        name = "faulty-pass"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            hook(next(each for each in op.walk() if isinstance(each, FaultyOp)))

    universe = Universe(all_dialects={"faulty": lambda: _DIALECT}, all_passes={"faulty-pass": lambda: Passes})
    with registry.plugged([_package(monkeypatch, {}, UNIVERSE=universe)]):
        run_pipeline(_module(), "faulty-pass")
        raise AssertionError("the pass manager takes it")


def imported(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
    """Import a node by the importer of the row."""
    model = (
        '<ir_version: 10, opset_import: ["" : 21, "my" : 1]> net (float[4] x) => (float[4] y) '
        "<float[4] t> { [n1] t = my.Faulty (x) y = Relu (t) }"
    )
    package = _package(monkeypatch, {"importers": (f"{HERE}:TABLE",)}, TABLE={"my::Faulty": hook})
    with registry.plugged([package]):
        import_model(read_model(parser.parse_model(model)))
        raise AssertionError("the importer takes it")


def exported(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
    """Export the operation by the exporter of the row."""
    package = _package(monkeypatch, {"exporters": (f"{HERE}:TABLE",)}, TABLE={FaultyOp: hook})
    with registry.plugged([package]):
        export_model(_module())
        raise AssertionError("the exporter takes it")


def asked(name: str, *arguments: Any) -> Use:
    """Define a method of an interface as in the row, and ask for it."""

    def use(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
        kind = type(FaultyOp)(f"Asked{name}", (FaultyOp,), {name: hook, "__module__": HERE})
        hook.__name__ = name
        with registry.plugged([_package(monkeypatch, {})]):
            op = kind.create(operands=_block().args[:1], result_types=[TensorType(f32, [4])])
            op.attributes.update(_module().body.block.first_op.body.block.first_op.attributes)  # pyright: ignore
            getattr(op, name)(*arguments)
            raise AssertionError("the method is taken as it is")

    return use


def _block() -> Block:
    return Block(arg_types=[TensorType(f32, [4])])


def _quantity(field: str, use: Callable[[], object]) -> Use:
    def used(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
        with registry.plugged([_package(monkeypatch, {field: {"faulty": f"{HERE}:OBJECT"}}, OBJECT=hook)]):
            use()
            raise AssertionError("it is taken")

    return used


_STATISTICS, _GRID = Statistics.of(np.array([-1, 0.5], np.float32)), Grid(Storage(8))
calibrated = _quantity("calibrators", lambda: calibrate("faulty", _STATISTICS, _GRID))


def placed(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
    """Place a grid by the scheme of the row."""
    scheme = Scheme("faulty", place=hook)
    _quantity("schemes", lambda: parameters([-1], [1], Grid(Storage(8), Scheme.parse("faulty"))))(monkeypatch, scheme)


def observed(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
    """Keep what the observer of the row keeps of an array."""
    _quantity("observers", lambda: kept_of("faulty", np.ones(3)))(monkeypatch, Observer(hook, lambda a, b: a))


def merged(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
    """Merge two parts by the observer of the row."""
    use = _quantity("observers", lambda: merged_kept({"faulty": 1}, {"faulty": 2}))
    use(monkeypatch, Observer(lambda x: 1, hook))


def _on_target(name: str, use: Callable[[Target, ModuleOp], object]) -> Use:
    def used(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
        target = replace(Target("faulty", supports=(Support("*"),), lowering="dce"), **{name: f"{HERE}:HOOK"})
        rows = {"targets": {"faulty": f"{HERE}:TARGET"}}
        with registry.plugged([_package(monkeypatch, rows, TARGET=target, HOOK=hook)]):
            use(target, _module())
            raise AssertionError("it is taken")

    return used


emitted = _on_target("emit", emit_for)
executed = _on_target("execute", lambda target, module: execute_for(target, module)([np.ones(4, np.float32)]))


def fitted(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
    """Lower the operation with a custom kernel that fits as the row says."""
    rows = {"kernels": {"faulty": f"{HERE}:KERNEL"}, "evaluators": {"faulty": f"{HERE}:TABLE"}}
    kernel = CustomKernel(FaultyOp, f"{HERE}:writes_two", hook)
    with registry.plugged([_package(monkeypatch, rows, KERNEL=kernel, TABLE={FaultyOp: lambda op, x: (x.copy(),)})]):
        run_pipeline(_module(), "convert-nn-to-kernel")
        raise AssertionError("it is taken")


def compared(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
    """Compare the kernel of the row with the identity."""
    rows = {"kernels": {"faulty": f"{HERE}:KERNEL"}, "evaluators": {"faulty": f"{HERE}:TABLE"}}
    objects = {"KERNEL": CustomKernel(FaultyOp, f"{HERE}:HOOK"), "TABLE": {FaultyOp: lambda op, x: (x.copy(),)}}
    with registry.plugged([_package(monkeypatch, rows, HOOK=hook, **objects)]):
        run_pipeline(_module(), "convert-nn-to-kernel,kernel-verify-custom")
        raise AssertionError("it is taken")


# --- Hooks that are wrong ---------------------------------------------------------------------------------------------


def raises(*_: Any) -> Any:
    raise LookupError("lost\nhere")


def leaves(*_: Any) -> Any:
    sys.exit(3)


def numpy_fails(op: Operation, x: Any) -> Any:
    return (x + np.ones(3),)


def one_of_nothing(*_: Any) -> Iterator[Any]:
    yield None


def writes(op: Operation, x: Any) -> Any:
    x[0] = 1
    return (x,)


def adds_in_place(op: Operation, x: Any) -> Any:
    np.add(x, 1, out=x)
    return (x.copy(),)


def marks(op: Operation, *rest: Any) -> Any:
    op.attributes["marked"] = IntegerAttr(1, i64)
    return (rest[0],)


def writes_two(x: Any, y: Any) -> None:
    y[...] = 2


def unattached(op: Operation, *_: Any) -> Any:
    return [ReluOp(op.operands[0]).result]


def attached_part(op: Operation, parts: Any) -> Any:
    part = ReluOp(op.operands[0])
    op.parent.insert_op_before(part, op)  # pyright: ignore[reportOptionalMemberAccess]
    return [parts.add("part", part).result]


def foreign_part(op: Operation, parts: Any) -> Any:
    return [parts.add("part", ReluOp(_block().args[0])).result]


def other_type(op: Operation, parts: Any) -> Any:
    wide = ReluOp(op.operands[0])
    wide.results[0]._type = TensorType(f32, [5])  # pyright: ignore[reportPrivateUsage]
    return [parts.add("part", wide).result]


def erased(op: Operation, *_: Any) -> Any:
    operand = op.operands[0]
    op.results[0].replace_all_uses_with(operand)
    op.detach()
    return [operand]


def another_property(op: Operation, *_: Any) -> Any:
    op.properties["components"] = IntegerAttr(1, i64)
    return [op.operands[0]]


def wide_gradient(at: Any, op: Operation, gradient: Any) -> Any:
    ones = ConstantOp.of(np.ones((2, 4), np.float32), TensorType(f32, [2, 4]))
    return [at.append(AddOp(gradient, at.append(ones).result)).result]


def scalar_lowering(op: Operation, at: Any) -> Any:
    return [at.scalar(1.0, at.result_element())]


def retyped(op: Operation, rewriter: Any) -> None:
    rewriter.replace(op, made := ReluOp(op.operands[0]), [made.result])
    made.results[0]._type = TensorType(f32, [5])


def uses_hidden(op: Operation, rewriter: Any) -> None:
    rewriter.replace(op, ReluOp(_block().args[0]))


def uses_detached(op: Operation, rewriter: Any) -> None:
    rewriter.replace(op, ReluOp(ReluOp(op.operands[0]).result))


def uses_itself(op: Operation, rewriter: Any) -> None:
    made = ReluOp(op.operands[0])
    rewriter.replace(op, made)
    made.operands = [made.result]


def endless(op: Operation, rewriter: Any) -> None:
    rewriter.replace(op, SigmoidOp(op.operands[0]))


def breaks_module(op: Operation) -> None:
    op.operands = [_block().args[0]]


def as_integers(node: Any) -> Any:
    return node.add_constant(np.ones(4, np.int64), i64)


def as_five(node: Any) -> Any:
    return node.add_constant(np.ones(5, np.float32), f32)


def not_added(node: Any) -> Any:
    return ReluOp(node.input()).result


RETURNED = {
    "None": lambda *_: None,
    "a number": lambda *_: 3,
    "a text": lambda *_: "text",
    "a generator": one_of_nothing,
    "nothing": lambda *_: (),
    "None in a tuple": lambda *_: (None,),
    "numbers": lambda *_: [1.0, 2.0],
}
"""What a hook of any kind may return by mistake."""

_LISTS = ("None", "a number", "a text", "a generator", "nothing", "None in a tuple", "numbers")

FAULTS: dict[str, tuple[Use, Any]] = {
    **{f"evaluator: {what}": (evaluated(), RETURNED[what]) for what in _LISTS},
    "evaluator: an array": (evaluated(), lambda op, x: np.ones(4, np.float32)),
    "evaluator: a list": (evaluated(), lambda op, x: ([1.0] * 4,)),
    "evaluator: f64": (evaluated(), lambda op, x: (x.astype(np.float64),)),
    "evaluator: integers": (evaluated(), lambda op, x: (x.astype(np.int32),)),
    "evaluator: objects": (evaluated(), lambda op, x: (x.astype(object),)),
    "evaluator: another size": (evaluated(), lambda op, x: (x[1:],)),
    "evaluator: another rank": (evaluated(), lambda op, x: (x[None],)),
    "evaluator: two results": (evaluated(), lambda op, x: (x, x)),
    "evaluator: raises": (evaluated(), raises),
    "evaluator: leaves": (evaluated(), leaves),
    "evaluator: NumPy fails": (evaluated(), numpy_fails),
    "evaluator: writes an operand": (evaluated(), writes),
    "evaluator: adds in place": (evaluated(), adds_in_place),
    "evaluator: marks the operation": (evaluated(), marks),
    "evaluator: with regions": (evaluated(), RegionEvaluator(lambda frame, op, x: None)),
    "evaluator: by operation": (evaluated(), ByOperation(lambda op: lambda op, x: (x[1:],))),
    "evaluator: choosing raises": (evaluated(), ByOperation(raises)),
    "evaluator: quantized, stored integers": (evaluated(NARROW), lambda op, x: (np.ones(4, np.int8),)),
    "evaluator: quantized, NaN": (evaluated(NARROW), lambda op, x: (x * np.float32("nan"),)),
    "evaluator: quantized, f64": (evaluated(NARROW), lambda op, x: (x.astype(np.float64),)),
    "evaluator: quantized, another size": (evaluated(NARROW), lambda op, x: (x[:2],)),
    "evaluator: stored, reals": (evaluated(NARROW), TakesStored(lambda op, x: (x * np.float32(0.5),))),
    "evaluator: stored, 16 bits": (evaluated(NARROW), TakesStored(lambda op, x: (x.astype(np.int16),))),
    "evaluator: stored, below the limits": (evaluated(NARROW), TakesStored(lambda op, x: (x - np.int8(131 - 256),))),
    "evaluator: stored, writes": (evaluated(NARROW), TakesStored(writes)),
    "evaluator: above 4 bits": (evaluated(FOUR_BITS), lambda op, x: (x + np.int8(5),)),
    **{f"decomposition: {what}": (decomposed, RETURNED[what]) for what in _LISTS if what != "None"},
    "decomposition: raises": (decomposed, raises),
    "decomposition: leaves": (decomposed, leaves),
    "decomposition: another type": (decomposed, other_type),
    "decomposition: a part not added": (decomposed, unattached),
    "decomposition: a part in a block": (decomposed, attached_part),
    "decomposition: a foreign operand": (decomposed, foreign_part),
    "decomposition: erases the composite": (decomposed, erased),
    "decomposition: changes a property": (decomposed, another_property),
    **{f"gradient: {what}": (differentiated, RETURNED[what]) for what in _LISTS if what != "None in a tuple"},
    "gradient: raises": (differentiated, raises),
    "gradient: another shape": (differentiated, wide_gradient),
    "gradient: not added": (differentiated, lambda at, op, gradient: [ReluOp(gradient).result]),
    "gradient: two for one operand": (differentiated, lambda at, op, gradient: [gradient, gradient]),
    **{f"lowering: {what}": (lowered, RETURNED[what]) for what in _LISTS if what != "None"},
    "lowering: raises": (lowered, raises),
    "lowering: a scalar": (lowered, scalar_lowering),
    "lowering: not added": (lowered, unattached),
    "lowering: erases the operation": (lowered, erased),
    **{f"padding: {what}": (padded, RETURNED[what]) for what in _LISTS if what != "None"},
    "padding: raises": (padded, raises),
    "padding: another rank": (padded, lambda op, at: [PaddedValue(())]),
    "padding: two results": (padded, lambda op, at: [at.facts(op.operands[0])] * 2),
    **{f"importer: {what}": (imported, RETURNED[what]) for what in _LISTS if what != "nothing"},
    "importer: raises": (imported, raises),
    "importer: another element type": (imported, as_integers),
    "importer: another shape": (imported, as_five),
    "importer: not added": (imported, not_added),
    "importer: two values": (imported, lambda node: [node.input(), node.input()]),
    "exporter: raises": (exported, raises),
    "exporter: no node": (exported, lambda out, op: None),
    "pattern: raises": (rewritten, raises),
    "pattern: another type": (rewritten, retyped),
    "pattern: a value of another module": (rewritten, uses_hidden),
    "pattern: a value of no block": (rewritten, uses_detached),
    "pattern: a ring": (rewritten, uses_itself),
    "pattern: endless": (rewritten, endless),
    "pass: raises": (passed, raises),
    "pass: a value of another module": (passed, breaks_module),
    **{
        f"types: {what}": (asked("infer_result_types"), RETURNED[what])
        for what in _LISTS
    },
    "types: raises": (asked("infer_result_types"), raises),
    "types: two": (asked("infer_result_types"), lambda self: [TensorType(f32, [4])] * 2),
    "slots: None": (asked("quantization_slots"), lambda self: None),
    "slots: raises": (asked("quantization_slots"), raises),
    "accepts: a text": (asked("accepts_quantized_values"), lambda self: "yes"),
    "operands: none": (asked("operands_with_slots"), lambda self: iter(())),
    "operands: raises": (asked("operands_with_slots"), raises),
    "reason: None": (asked("float_reason"), lambda self: None),
    "parameters: a number": (asked("parameter_operands"), lambda self: iter([3])),
    "specialized: no value": (asked("specialized", None), lambda self, known: Replacement([], [])),
    "calibrator: None": (calibrated, lambda statistics, grid, /: None),
    "calibrator: one end": (calibrated, lambda statistics, grid, /: (1.0,)),
    "calibrator: descends": (calibrated, lambda statistics, grid, /: Range(0.5, -1)),
    "calibrator: NaN": (calibrated, lambda statistics, grid, /: Range(float("nan"), 0.5)),
    "calibrator: infinite": (calibrated, lambda statistics, grid, /: Range(-1, float("inf"))),
    "calibrator: beyond": (calibrated, lambda statistics, grid, /: Range(-1, 2)),
    "calibrator: raises": (calibrated, raises),
    "calibrator: no function": (calibrated, 3),
    "scheme: None": (placed, lambda low, high, grid: None),
    "scheme: scale 0": (placed, lambda low, high, grid: Parameters(np.zeros(1), np.zeros(1, np.int64))),
    "scheme: NaN": (placed, lambda low, high, grid: Parameters(np.full(1, np.nan), np.zeros(1, np.int64))),
    "scheme: another shape": (placed, lambda low, high, grid: Parameters(np.ones(2), np.zeros(2, np.int64))),
    "scheme: zero point": (placed, lambda low, high, grid: Parameters(np.ones(1), np.full(1, 300))),
    "scheme: texts": (placed, lambda low, high, grid: Parameters(np.array(["a"]), np.zeros(1, np.int64))),
    "scheme: raises": (placed, raises),
    "observer: raises": (observed, raises),
    "observer: a set": (observed, lambda x: {1}),
    "observer: NaN": (observed, lambda x: float("nan")),
    "merge: raises": (merged, raises),
    "merge: an array": (merged, lambda one, other: np.ones(2)),
    "emit: None": (emitted, lambda module: None),
    "emit: raises": (emitted, raises),
    "execute: raises": (executed, raises),
    "execute: None": (executed, lambda *_: None),
    "execute: a list": (executed, lambda *_: lambda inputs: [1]),
    "execute: no output": (executed, lambda *_: lambda inputs: {}),
    "execute: f64": (executed, lambda *_: lambda inputs: {"y": np.ones(4)}),
    "execute: another size": (executed, lambda *_: lambda inputs: {"y": np.ones(3, np.float32)}),
    "kernel: fitting raises": (fitted, raises),
    "kernel: fitting is None": (fitted, lambda op: None),
    "kernel: other numbers": (compared, writes_two),
    "kernel: raises": (compared, raises),
}  # fmt: skip
"""Each fault: the use that meets it, and the hook."""


def _lines(hook: Any) -> range:
    """The lines of this file in which a hook is written."""
    for name in ("function", "choose"):
        hook = getattr(hook, name, hook)
    if not callable(hook):
        return range(1, 1000)
    first = hook.__code__.co_firstlineno
    return range(first, max(line or first for *_, line in hook.__code__.co_lines()) + 1)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_line_with_the_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use, hook = FAULTS[name]
    with pytest.raises((DiagnosticError, PackageError)) as raised:
        use(monkeypatch, hook)
    error = raised.value
    message = error.diagnostic.message if isinstance(error, DiagnosticError) else str(error)
    assert "\n" not in message
    assert "package 'faulty 1.0'" in message
    position = re.search(r"test_hooks\.py:(\d+)\)", message)
    assert position is not None, message
    # A pattern or pass that does not raise is named by its class.
    assert int(position[1]) in {*_lines(hook), *(_lines(use) if use in (rewritten, passed) else ())}, message
    if hook not in (raises, leaves, numpy_fails) and "raises" not in name:
        assert "Error: " not in message, message  # an accident of a row is not its fault
    if name == "pattern: endless":  # of many operations
        return
    about_operation = evaluated, decomposed, differentiated, lowered, rewritten, passed, imported, exported, asked
    if use.__qualname__.partition(".")[0] in {each.__qualname__.partition(".")[0] for each in about_operation}:
        assert "(n1)" in message or "'n1'" in message, message


@pytest.mark.parametrize(
    ("source", "line", "reason"),
    [
        ("import os\nimport no_such_module\n", 2, "No module named 'no_such_module'"),
        ("from os import no_such_name\n", 1, "cannot import name 'no_such_name'"),
        ("\n\n1 / 0\n", 3, "ZeroDivisionError: division by zero"),
        ("def f(:\n", 1, "SyntaxError"),
        ("import sys\nsys.exit(2)\n", 2, "SystemExit: 2"),
        ("from qmlir.registry import Contribution\n\nContribution(targets=3)\n", 3, "'targets' of a Contribution"),
    ],
)
def test_what_fails_at_import_names_its_line(source: str, line: int, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "broken_package.py"
    path.write_text(source)
    with pytest.raises(PackageError, match=f"^cannot load plug-in '.*{reason}") as raised:
        registry.plugin(str(path))
    assert str(raised.value).endswith(f" ({path}:{line})")


def test_a_row_that_fails_at_import_names_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_rows.py").write_text("from os import path\nimport no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    rows = Contribution(
        evaluators={"faulty": "broken_rows:TABLE"}, calibrators={"broken": "broken_rows:C", "gone": f"{HERE}:GONE"}
    )
    package = Package("faulty", "1.0", contributions=(rows,))
    said: list[str] = []
    with registry.plugged([package]), fault_listener(said.append):
        assert not registry.evaluators("faulty")
        for name, end in (("broken", f"{tmp_path}/broken_rows.py:2"), ("gone", rows.position)):
            with pytest.raises(PackageError) as raised:
                calibrate(name, _STATISTICS, _GRID)
            assert str(raised.value).endswith(f" ({end})")
    assert len(said) == 1
    assert said[0].endswith(f"No module named 'no_such_module' ({tmp_path}/broken_rows.py:2)")


def test_operands_of_a_package_are_protected(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it keeps of a result, and changes later, changes nothing: neither values nor the arrays of the caller."""
    kept: list[Any] = []

    def keeps(op: Operation, x: Any) -> Any:
        for each in kept:
            each[:] = 9
        kept.append(x + 1)
        return (kept[-1],)

    package = _package(monkeypatch, {"evaluators": {"faulty": f"{HERE}:TABLE"}}, TABLE={FaultyOp: keeps})
    text = _text(FLOAT).replace("  func.return %0", '  %1 = "faulty.op"(%0) : (tensor<4xf32>) -> tensor<4xf32>\n'
                                "  %2 = nn.add %0, %1 : tensor<4xf32>\n  func.return %2")  # fmt: skip
    x = np.zeros(4, np.float32)
    with registry.plugged([package]):
        (found,) = interpret(_module(text=text), [x]).values()
    assert found.tolist() == [3.0] * 4
    assert x.tolist() == [0.0] * 4


def test_an_evaluator_gets_real_values_unless_it_takes_stored_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """`2 x` on the type with scale 0.5 and zero point 1: `2 * 0.5 (q - 1) = 0.5 (q' - 1)`, so `q' = 2 q - 1`."""
    seen: list[Any] = []

    def doubled(op: Operation, x: Any) -> Any:
        seen.append(x)
        return (2 * x,)

    stored = np.array([-3, 0, 2, 100], np.int8)
    for hook, given, expected in (
        (doubled, 0.5 * (stored - 1.0), [-7, -1, 3, 127]),
        (TakesStored(doubled), stored, [-6, 0, 4, -56]),
    ):
        package = _package(monkeypatch, {"evaluators": {"faulty": f"{HERE}:TABLE"}}, TABLE={FaultyOp: hook})
        with registry.plugged([package]):
            (found,) = interpret(_module(NARROW), [stored]).values()
        assert seen.pop().tolist() == given.tolist()
        assert found.tolist() == expected
