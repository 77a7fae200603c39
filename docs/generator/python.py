"""The page of the Python API: the names of `qmlir` and the classes of their results, from their docstrings.

Docstrings have the sections of Google's style: `Args`, `Returns`, `Raises`, `Example`, and `Settings`, which
`tells_settings` adds. A field is documented by the string after it.
"""

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import chain, pairwise
from textwrap import dedent
from typing import Any, get_args, is_typeddict

import qmlir
from docs.generator.markdown import GENERATED, block, code, documentation
from qmlir.extensions.aot.ahead import Emitted
from qmlir.extensions.report.explaining import Explanation
from qmlir.extensions.report.inspecting import Inspection, LayerSummary
from qmlir.extensions.report.model import Figure, Finding, Report, ReportNode
from qmlir.extensions.search.searching import SearchResult, SearchStep
from qmlir.extensions.search.tuning import FoundKernel, TuneResult
from qmlir.extensions.training.finetuning import Finetuned, HeldOutFigures
from qmlir.extensions.training.trainable import Trainable
from qmlir.quantization.report import Computed, Coverage, LayerImprovement, WidenedValues
from qmlir.quantization.settings import setting_rows
from qmlir.targets.cpu.timing import KernelTime
from qmlir.targets.heterogeneous import HybridProgram
from qmlir.targets.partitioning.report import BorderTransfer, PartitionReport, PartReport, RejectedOperation
from qmlir.workflows.agreement import OutputValidation
from qmlir.workflows.comparison.compare import Comparison, OutputComparison, ValueComparison
from qmlir.workflows.comparison.dumps import DumpComparison, LayerDifference
from qmlir.workflows.evaluating import LabelAccuracy
from qmlir.workflows.partitioning import Partitioned
from qmlir.workflows.quantized import QuantizationSummary, Quantized, StoredPortInfo
from qmlir.workflows.recovery import Remedies, Repair, Tried
from qmlir.workflows.validating import Cause, Validation

GROUPS: Mapping[str, Sequence[str]] = {
    "Load, run and describe": ("load", "interpret", "inspect"),
    "Quantize": ("quantize", "profile", "search"),
    "Check": ("compare", "compare_dump", "explain", "report"),
    "Compile and deploy": (
        "compile",
        "load_program",
        "emit",
        "export_onnx",
        "export_qonnx",
        "export_litert",
        "export_encodings",
        "partition",
        "tune",
    ),
    "Train": ("finetune", "trainable", "gradient"),
    "Notebooks": ("load_ipython_extension", "unload_ipython_extension"),
    "Classes": ("Program", "Profile", "InputError"),
}
"""The names of `qmlir` in the order of the page."""

RESULTS: Sequence[type] = (
    Quantized, QuantizationSummary, Coverage, Computed, WidenedValues, StoredPortInfo, LabelAccuracy, Validation,
    OutputValidation, Cause, Repair, LayerImprovement, Remedies, Tried, SearchResult, SearchStep, Comparison,
    ValueComparison, OutputComparison, DumpComparison, LayerDifference,
    Explanation, Inspection, LayerSummary, Report, ReportNode, Finding, Figure,
    HybridProgram, KernelTime, Emitted, Partitioned, PartitionReport, PartReport, RejectedOperation, BorderTransfer,
    TuneResult, FoundKernel, Finetuned, HeldOutFigures, Trainable,
)  # fmt: skip
"""The classes that functions of `qmlir` return, and those of their fields, in the order of the page."""

_TEXT = """\
Everything in the module `qmlir`, for users of Python. [Getting started](../getting-started.md) shows the usual order of
calls. Examples run in a checkout of qmlir, after this:

```python
import numpy as np

import qmlir
```

Errors in what you pass are a `DiagnosticError` (`qmlir.ir.diagnostics`): its message is one line that names the problem
and the argument to change."""

_SECTION = re.compile(r"^(Args|Returns|Raises|Example|Settings):$", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\w+): ", re.MULTILINE)
_LONGEST = 100
"""Characters of a signature in one line."""


@dataclass(frozen=True)
class Docstring:
    """A docstring: its text, and its sections without their indentation."""

    text: str
    sections: Mapping[str, str]

    @staticmethod
    def of(subject: object) -> "Docstring":
        """The docstring of a class, function or property."""
        text, *rest = _SECTION.split(documentation(subject))
        return Docstring(text.strip(), dict(zip(rest[::2], (each.strip("\n") for each in rest[1::2]), strict=True)))

    def entries(self, section: str) -> dict[str, str]:
        """The entries `name: description` of a section, each in one line."""
        _, *rest = _ENTRY.split(self.sections.get(section, ""))
        return {name: " ".join(text.split()) for name, text in zip(rest[::2], rest[1::2], strict=True)}

    @property
    def returns(self) -> str:
        """The section `Returns`, in one line; empty without one."""
        return " ".join(self.sections.get("Returns", "").split())

    @property
    def example(self) -> str:
        """The section `Example`, as doctest reads it; empty without one."""
        return dedent(self.sections.get("Example", ""))


@dataclass(frozen=True)
class Member:
    """A name of the page: a function, a class, or a public method, property or field of a class."""

    name: str
    """`qmlir.load`, `Program`, `Program.save`."""

    subject: Any
    """The object; of a field its docstring."""

    type: str = ""
    """The type of a field or a property."""

    @property
    def is_callable(self) -> bool:
        """True for functions and methods, which have arguments; properties have a type instead."""
        return inspect.isfunction(self.subject) and not self.type

    @property
    def docstring(self) -> Docstring:
        """Its docstring."""
        return Docstring(self.subject, {}) if isinstance(self.subject, str) else Docstring.of(self.subject)

    @cached_property
    def definition(self) -> ast.FunctionDef:
        """The source of a function, without its decorators."""
        found = _source(inspect.unwrap(self.subject)).body[0]
        assert isinstance(found, ast.FunctionDef)
        return found

    @property
    def parameters(self) -> dict[str, str]:
        """The type of each parameter, settings left out; of the model that functions take, `Model`."""
        arguments = self.definition.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        found = {each.arg: _annotation(each.annotation) for each in every if each.arg != "self"}
        if arguments.kwarg is not None and not self.has_settings:
            found |= {row.name.rpartition(".")[2]: row.type for row in self._keywords()}
        return {name: "Model" if name == "module" else type_ for name, type_ in found.items()}

    def _keywords(self) -> Iterator["Member"]:
        """The fields of a `TypedDict` that a function takes as keyword arguments."""
        options = inspect.unwrap(self.subject).__annotations__.get("settings")
        return chain.from_iterable(map(_fields, get_args(options)))

    @property
    def has_settings(self) -> bool:
        """True for a function that takes the settings of `quantize`."""
        return "Settings" in self.docstring.sections

    @property
    def result(self) -> str:
        """The type that a function returns; `None` as text."""
        return _annotation(self.definition.returns)

    @property
    def signature(self) -> str:
        """The call: names and defaults."""
        shown = [_parameter(each) for each in inspect.signature(inspect.unwrap(self.subject)).parameters.values()]
        listed = [text for each, text in shown if each.name != "self"]
        kinds = [each.kind for each, _ in shown if each.name != "self"]
        if inspect.Parameter.KEYWORD_ONLY in kinds:
            listed.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
        name = "program" if self.name.endswith(".__call__") else self.name
        line = f"{name}({', '.join(listed)})"
        if len(line) <= _LONGEST:
            return line
        rows = "".join(f"    {each},\n" for each in listed)
        return f"{name}(\n{rows})"


def _parameter(parameter: inspect.Parameter) -> tuple[inspect.Parameter, str]:
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return parameter, f"**{parameter.name}"
    default: Any = parameter.default
    if default is inspect.Parameter.empty:
        return parameter, parameter.name
    default = default.value if isinstance(default, Enum) else default
    shown = "…" if callable(default) else f'"{default}"' if isinstance(default, str) else repr(default)
    return parameter, f"{parameter.name}={shown}"


def _annotation(node: ast.expr | None) -> str:
    """A type as the source spells it, without quotes."""
    return "" if node is None else ast.unparse(node).replace("'", "")


def _source(subject: Callable[..., Any] | type) -> ast.Module:
    return ast.parse(dedent(inspect.getsource(subject)))


def _fields(owner: type) -> Iterator[Member]:
    """The public fields of a dataclass or a `TypedDict`, each documented by the string after it."""
    if "__dataclass_fields__" not in vars(owner) and not is_typeddict(owner):
        return
    (definition,) = _source(owner).body
    assert isinstance(definition, ast.ClassDef)
    for each, after in pairwise([*definition.body, ast.Pass()]):
        match each:
            case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
                yield Member(f"{owner.__name__}.{name}", _text(after), _annotation(each.annotation))
            case _:
                pass


def _text(statement: ast.stmt) -> str:
    """A statement that is a string alone, in one line; empty for any other."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return " ".join(text.split())
        case _:
            return ""


def _methods(owner: type) -> Iterator[Member]:
    """The public methods and properties that a class defines."""
    for name, value in vars(owner).items():
        if name.startswith("_") and name != "__call__":
            continue
        full = f"{owner.__name__}.{name}"
        getter: Any = getattr(value, "fget", None) or getattr(value, "func", None)  # of a property, of a cached one
        function: Any = getattr(value, "__func__", value)  # of a static method
        if getter is not None:
            yield Member(full, getter, Member(full, getter).result)
        elif inspect.isfunction(function):
            yield Member(full, function)


def members(owner: type) -> Iterator[Member]:
    """The public fields, properties and methods of a class, in this order."""
    yield from _fields(owner)
    yield from sorted(_methods(owner), key=lambda each: each.is_callable)


def names() -> Iterator[Member]:
    """The names of `qmlir`, and the classes of `RESULTS`."""
    for name in (name for group in GROUPS.values() for name in group):
        yield Member(f"qmlir.{name}", getattr(qmlir, name))
    for each in RESULTS:
        yield Member(each.__name__, each)


def every_member() -> Iterator[Member]:
    """Everything on the page."""
    for each in names():
        yield each
        if isinstance(each.subject, type):
            yield from members(each.subject)


def _anchor(name: str) -> str:
    return re.sub(r"[^\w\- ]", "", name.lower())


class _Links:
    """Links from names in a text to their sections."""

    def __init__(self) -> None:
        named = [each.name for each in names()]
        methods = [each.name for each in every_member() if each.is_callable and "__" not in each.name]
        anchors = {name: _anchor(name) for name in (*named, *methods)}
        short = {name.removeprefix("qmlir."): anchor for name, anchor in anchors.items()}
        self._anchors = {**short, **anchors}

    def in_text(self, text: str, member: Member) -> str:
        """`text` with links; names of the member itself and of its parameters are none."""
        own = {member.name, member.name.removeprefix("qmlir."), *(member.parameters if member.is_callable else ())}

        def linked(found: re.Match[str]) -> str:
            name = found[1]
            is_link = name in self._anchors and name not in own
            return f"[`{name}`](#{self._anchors[name]})" if is_link else found[0]

        return re.sub(r"`([\w.]+)`", linked, text.replace("<", "&lt;"))

    def in_type(self, type_: str) -> str:
        """A type as code, with links from the classes of a union."""
        parts = type_.split(" | ")
        if "[" in type_ or not any(each in self._anchors for each in parts):
            return code(type_)
        return " | ".join(
            f"[{code(each)}](#{self._anchors[each]})" if each in self._anchors else code(each) for each in parts
        )


def _listed(entries: Mapping[str, str], types: Mapping[str, str]) -> str:
    rows = (f"- {code(name)}{f' ({types[name]})' if types.get(name) else ''}: {text}" for name, text in entries.items())
    return "\n".join(rows)


def _callable(member: Member, links: _Links) -> Iterator[str]:
    """The parts of a function: its call, text, arguments, result, errors and example."""
    found = member.docstring

    def linked(entries: Mapping[str, str]) -> dict[str, str]:
        return {name: links.in_text(text, member) for name, text in entries.items()}

    yield block("text", member.signature).rstrip()
    yield links.in_text(found.text, member)
    if arguments := found.entries("Args"):
        yield "**Arguments**"
        yield _listed(linked(arguments), {name: links.in_type(each) for name, each in member.parameters.items()})
    if member.has_settings:
        where = "[settings](#settings)" if member.name != "qmlir.quantize" else "[settings](#settings) below"
        yield f"It also takes the {where} as keyword arguments."
    if found.returns:
        yield f"**Returns** {links.in_type(member.result)}: {links.in_text(found.returns, member)}"
    if raised := found.entries("Raises"):
        yield "**Raises**"
        yield _listed(linked(raised), {})
    yield from _example(found)


def _example(found: Docstring) -> Iterator[str]:
    if found.example:
        yield "**Example**"
        yield block("pycon", found.example.replace("  # doctest: +SKIP", "")).rstrip()


def _class(member: Member, links: _Links) -> Iterator[str]:
    owner: type = member.subject
    found = member.docstring
    yield links.in_text(found.text, member)
    bases = [each.__name__ for each in owner.__bases__ if each in RESULTS]
    if bases:
        yield f"It has all fields and methods of [`{bases[0]}`](#{_anchor(bases[0])}), and these:"
    inside = list(members(owner))
    if plain := {each.name.rpartition(".")[2]: each for each in inside if not each.is_callable}:
        yield _listed(
            {name: links.in_text(each.docstring.text, each) for name, each in plain.items()},
            {name: links.in_type(each.type) for name, each in plain.items()},
        )
    yield from _example(found)
    for each in inside:
        if each.is_callable:
            yield f"#### {code(each.name)}"
            yield from _callable(each, links)


def _settings() -> Iterator[str]:
    yield "### Settings"
    yield (
        "Keyword arguments of [`quantize`](#qmlirquantize), [`search`](#qmlirsearch), [`finetune`](#qmlirfinetune)\n"
        "and [`trainable`](#qmlirtrainable). [Recipes](../recipes.md) set them for single nodes. Names of other tools\n"
        "are accepted as values, such as `QInt4` for `i4`."
    )
    yield "\n".join(
        f"- {code(name)}: {row.summary}{f' (default: {row.default})' if row.default else ''}".replace(
            "*", r"\*"
        ).replace("<", "&lt;")
        for name, row in setting_rows().items()
    )


def _section(member: Member, links: _Links) -> Iterator[str]:
    yield f"### {code(member.name)}"
    yield from (_class if isinstance(member.subject, type) else _callable)(member, links)


def page() -> str:
    """The page."""
    links = _Links()
    parts = [GENERATED, "# Python API", _TEXT]
    known = {each.name: each for each in names()}
    for title, group in GROUPS.items():
        parts.append(f"## {title}")
        for name in group:
            parts += _section(known[f"qmlir.{name}"], links)
            if name == "quantize":
                parts += _settings()
    parts += [
        "## Results",
        "Printing a result shows its `text()`, shortened in the middle. Results that hold a module (`Quantized`,\n"
        "`Finetuned`, `Partitioned`) are accepted wherever a model is.",
    ]
    for each in RESULTS:
        parts += _section(known[each.__name__], links)
    return "\n\n".join(parts) + "\n"
