"""The page of targets: what a target says of itself, who asks, and what each target of this package says."""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import fields

from docs.generator.markdown import GENERATED, block, code, documentation, table
from qmlir import registry
from qmlir.dialects.target.attributes import TargetSpecAttr
from qmlir.dialects.target.description import Accepted, Description, Support
from qmlir.target import ExecutionOptions, Target, find_target

_INTRODUCTION = """\
A target says of itself, as data, what it computes and how; passes ask that description, which stands on the module as
the attribute `target.specs` (`quant-set-target`, `--device`), and look nothing up. A package offers targets by
`Contribution.targets`, name to `module:object`, and the CPU target of this package is one by the same field.
`qmlir-opt --list-targets` lists those that are installed."""

_PASSES: Mapping[str, str] = {
    "quant-set-target": "looks targets up by name and puts their descriptions on the module",
    "nn-decompose": (
        "keeps the composites that the first target which computes them, whole or in parts, keeps, unless one before "
        "it computes their products"
    ),
    "quant-assign-types": (
        "takes what rules and options leave open from the first entries that all targets accept which give or take a "
        "value; a rule that asks for what no target has is an error, and what no target computes stays in float"
    ),
    "quant-insert-casts": "the same",
    "quant-propagate-types": "lets operations compute on quantized values, and move them, where a target does",
    "quant-fuse-casts": "the same",
    "nn-raise": "raises what a target wants that computes the composite, where no target before it computes a part",
    "quant-set-requantize": "without a mode: the first mode of each operation's target that expresses its scales",
    "quant-partition": "gives each operation to the first target that computes it as it is",
}
"""What each pass asks a description."""


def _documented_fields(described: type) -> dict[str, str]:
    """The fields of a class with the string that stands below each in the code."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(described))).body
    assert isinstance(definition, ast.ClassDef)
    found: dict[str, str] = {}
    for statement, following in zip(definition.body, [*definition.body[1:], None], strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        said = following.value if isinstance(following, ast.Expr) else None
        text = said.value if isinstance(said, ast.Constant) else ""
        found[statement.target.id] = " ".join(str(text).split())
    return found


def _fields(described: type, *, without: type | None = None) -> str:
    known = {each.name for each in fields(without)} if without is not None else set[str]()
    rows = [(code(name), text) for name, text in _documented_fields(described).items() if name not in known]
    return table(("field", "what it says"), rows).rstrip()


def _target(name: str) -> str:
    target = find_target(name)
    rows = [
        ("lowers by", code(target.lowering)),
        ("emits", f"files `*{target.suffix}`, by `{target.emit}`"),
        ("runs by", code(target.execute)),
    ]
    return "\n\n".join(
        [
            f"### `{name}`",
            f"{target.summary[0].upper()}{target.summary[1:]}.",
            table(("", ""), rows).rstrip(),
            block("text", str(TargetSpecAttr(target.description)).replace("], ", "],\n  ")).rstrip(),
        ]
    )


def page() -> str:
    """The page."""
    parts = [
        GENERATED,
        "# Targets",
        _INTRODUCTION,
        documentation(Target),
        "## The description",
        documentation(Description),
        _fields(Description),
        "### What it computes",
        documentation(Support),
        "### What a slot accepts",
        documentation(Accepted),
        "## Lowering, emission and execution",
        "A `Target` has these beside its description; they are rows and text, loaded where they are asked for.",
        _fields(Target, without=Description),
        f"`ExecutionOptions` say how a program runs: {', '.join(map(code, _names(ExecutionOptions)))}.",
        "## Who asks",
        table(("pass", "what it asks"), [(code(name), text) for name, text in _PASSES.items()]).rstrip(),
        "## The targets of this package",
        *(_target(name) for name in sorted(registry.TREE.targets)),
    ]
    return "\n\n".join(parts) + "\n"


def _names(described: type) -> list[str]:
    return [each.name for each in fields(described)]
