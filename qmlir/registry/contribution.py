"""`Contribution`: everything that a package adds to qmlir, as rows of text, and the interface version it was built for.

A row is `module:object`, imported on first use. The tree declares its own parts in the same way.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, cast

from qmlir.registry.faults import caller

INTERFACE = "0.2"
"""The version of the interface for packages: the minor version of qmlir."""

BREAKS: Mapping[str, str] = {"0.1": "it is the first that has a version"}
"""The minor versions with changes that break packages built for earlier versions, each with the reason."""


def _numbers(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor)


def refusal(built_for: str, interface: str = INTERFACE, breaks: Mapping[str, str] = BREAKS) -> str:
    """Returns why a package built for version `built_for` doesn't work with `interface`; empty if it does.

    A package that names no version is accepted.
    """
    if not built_for:
        return ""
    built = _numbers(built_for)
    if built > _numbers(interface):
        return f"it was built for qmlir {built_for}, but this is {interface}; update qmlir"
    for version, what in sorted(breaks.items(), key=lambda each: _numbers(each[0])):
        if built < _numbers(version) <= _numbers(interface):
            return (
                f"it was built for qmlir {built_for}, which is incompatible with {version} ({what}); update the package"
            )
    return ""


class RowForm(StrEnum):
    """The form of a field of a contribution."""

    NAMES = "name to row"
    SETS = "name to rows"
    ROWS = "rows"
    TEXTS = "name to text"
    FILES = "name to file"


_SHAPES = {
    RowForm.NAMES: ("module:object", re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")),
    RowForm.FILES: ("package:path/of/file", re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[\w./-]+")),
    RowForm.TEXTS: ("text", re.compile(r".*", re.DOTALL)),
}

TABLES = (
    "bufferize.destinations", "inference", "loops.forms", "nn.onnx_island", "pdl.constraints", "pdl.rewrites",
)  # fmt: skip
"""The names that the field `tables` accepts: the tables that the tree reads."""

Names = Mapping[str, str]
Sets = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Room:
    """The form of a field of a contribution, and a description of its rows."""

    form: RowForm
    summary: str


def _room(summary: str, form: RowForm = RowForm.NAMES) -> Any:
    """Returns a field of a contribution, which is empty by default."""
    empty: Any = tuple if form is RowForm.ROWS else dict
    return field(default_factory=empty, metadata={"room": Room(form, summary)})


@dataclass(frozen=True)
class Contribution:
    """Everything that a package adds to pipelines, tools and the interpreter, in addition to its dialects and passes.

    All fields contain text that is imported on first use; `FIELDS` describes each field. `built_for` is the minor
    version of qmlir that the package was built for: a later version with breaking changes ignores the package. Raises
    `TypeError` or `ValueError` if a field is malformed.
    """

    patterns: Sets = _room(
        "pattern set, such as `nn.canonicalize`, to sequences of `RewritePattern`; all packages fill the same sets",
        RowForm.SETS,
    )
    evaluators: Names = _room("dialect to a table from operation class to its evaluator, a NumPy function")
    decompositions: Names = _room("dialect to a table from composite to the function that makes its parts")
    gradients: Names = _room(
        "dialect to a table from operation class to the rule by which it is differentiated "
        "(`qmlir/dialects/nn/gradient_rules.py`)"
    )
    lowerings: Names = _room(
        "dialect to a table from operation class to the function that lowers it to the integer level"
    )
    paddings: Names = _room(
        "dialect to a table from operation class or base class to the rule by which a program for any batch, length or "
        "image size pads it (`qmlir/dialects/nn/padding_rules.py`)"
    )
    tables: Sets = _room(
        "facts about operations without interfaces of qmlir, such as those of xDSL: name of the table to tables from "
        "operation class to the fact",
        RowForm.SETS,
    )
    pipelines: Names = _room("pipeline to its `NamedPipeline` (`qmlir/pipelines.py`)")
    stages: Names = _room(
        "point of a pipeline, such as `quantize.decide.before`, to the text of passes that run there", RowForm.TEXTS
    )
    targets: Names = _room("target to its `Target` (`qmlir/target.py`)")
    calibrators: Names = _room(
        "calibrator to a function `(statistics, grid, *, options…)` (`qmlir/arithmetic/calibrators.py`)"
    )
    schemes: Names = _room("scheme to its `Scheme` (`qmlir/arithmetic/schemes.py`)")
    observers: Names = _room(
        "observer to its `Observer` (`qmlir/arithmetic/statistics.py`), which a profile may be taken with"
    )
    pdl: Names = _room("name to a file of PDL patterns inside a package, `package:path/of/file.mlir`", RowForm.FILES)
    kernels: Names = _room(
        "name to a `CustomKernel` (`qmlir/dialects/kernel/custom.py`): a custom kernel in numba, and the operations "
        "that it replaces"
    )
    isas: Names = _room(
        "instruction set to its `InstructionSet` (`qmlir/targets/cpu/isa/base.py`), which `isa=<name>` compiles for"
    )
    variants: Names = _room(
        "variant of contraction loops to its `LoopVariant` (`qmlir/targets/cpu/loops/tiles.py`), which "
        "rows of instruction sets and schedules name"
    )
    emitters: Names = _room(
        "emitter to its `CodeEmitter` (`qmlir/targets/cpu/emitters/emitter.py`), a generator of machine code for "
        "programs that Python calls, which `codegen=<name>` selects"
    )
    forms: Names = _room(
        "output format to its `AheadForm` (`qmlir/extensions/aot/ahead.py`), the files of a program that runs "
        "without Python, which `--emit <name>` selects"
    )
    importers: Sequence[str] = _room(
        "tables from ONNX operator, `Relu` or `com.example::Relu`, to its importer", RowForm.ROWS
    )
    readers: Names = _room(
        "suffix of a file, such as `.tflite`, to the function that reads a model of another format than ONNX: "
        "`(path, *, shapes, requantize)` to a verified module (`qmlir/extensions/litert/files.py`)"
    )
    writers: Names = _room(
        "suffix of a file, such as `.tflite`, or `--format` of an ONNX file, such as `qonnx`, to the function "
        "`(module, path)` that exports a module in this format, with keyword arguments named like the options of "
        "`qmlir export` that it has, such as `opset` (`qmlir/extensions/litert/files.py`)"
    )
    recipes: Names = _room(
        "suffix of a file, such as `.encodings`, to the function that reads quantization parameters of another tool: "
        "`(path)` to the rules of a recipe, as dicts (`qmlir/extensions/aimet/reading.py`)"
    )
    exporters: Sequence[str] = _room("tables from operation class to its ONNX exporter", RowForm.ROWS)
    efforts: Sequence[str] = _room(
        "tables from level of accuracy recovery, such as 4, to the text of its passes", RowForm.ROWS
    )
    services: Names = _room(
        "service that the core uses if a package provides it to its object: `recovery` "
        "(`AccuracyRecovery` in `qmlir/workflows/calibrated.py`), `cluster` (a function from a Dask client or an "
        "address, and a folder, to a context manager with `Workers`, `qmlir/interpreter/jobs.py`), `tuned_schedules` "
        "(`qmlir/targets/cpu/scheduled/schedule.py`), `emission` (`qmlir/tools/arguments.py`)"
    )
    passes: Names = _room(
        "pass to its class; xDSL's own tools see only the passes of a `Universe`, not those of packages here"
    )
    commands: Names = _room("command of `qmlir` to its `Command` (`qmlir/tools/command_runner.py`)")
    command_help: Names = _room("command to its line in `qmlir --help`", RowForm.TEXTS)
    api: Names = _room("name in the module `qmlir` to what it stands for, imported on first use")
    built_for: str = ""

    def __post_init__(self) -> None:
        self.__dict__["_place"] = caller(2)  # above the `__init__` that `dataclass` generates
        for name, room in FIELDS.items():
            what, shape = _SHAPES.get(room.form, _SHAPES[RowForm.NAMES])
            for _, row in _rows(name, room.form, getattr(self, name)):
                if not shape.fullmatch(row):
                    raise ValueError(f"'{row}' in '{name}' of a Contribution must have the form {what}")
        for name in self.tables:
            if name not in TABLES:
                field_ = f"; use the field '{name}s'" if f"{name}s" in FIELDS else ""
                raise ValueError(f"unknown table '{name}' in a Contribution (available: {', '.join(TABLES)}){field_}")
        if self.built_for and not re.fullmatch(r"\d+\.\d+", self.built_for):
            raise ValueError(f"'built_for' must be a minor version, such as '{INTERFACE}', but got '{self.built_for}'")

    @property
    def position(self) -> str:
        """The file and line that created it, for messages about its rows."""
        return self.__dict__["_place"]

    def rows(self, name: str) -> Iterator[tuple[str, str]]:
        """Yields the name and text of each row of a field; the name is empty if the field has no names."""
        return _rows(name, FIELDS[name].form, getattr(self, name))


FIELDS: Mapping[str, Room] = {each.name: each.metadata["room"] for each in fields(Contribution) if each.metadata}
"""The fields of a contribution that contain rows."""


def _rows(name: str, form: RowForm, value: object) -> Iterator[tuple[str, str]]:
    """Yields the name and text of each row in a field. Raises `TypeError` if the field is malformed."""
    found: list[tuple[object, object]]
    match value:
        case Mapping() if form is not RowForm.ROWS:
            found = list(cast(Mapping[object, object], value).items())
        case list() | tuple() if form is RowForm.ROWS:
            found = [("", each) for each in cast(Sequence[object], value)]
        case _:
            raise TypeError(f"'{name}' of a Contribution must be {form}, but got {type(value).__name__}")
    for key, each in found:
        rows = cast(Sequence[object], each) if form is RowForm.SETS and isinstance(each, list | tuple) else [each]
        for row in rows:
            if not isinstance(key, str) or not isinstance(row, str) or (form is RowForm.SETS and rows == [each]):
                raise TypeError(f"'{name}' of a Contribution must be {form}, but got {each!r}")
            yield key, row
