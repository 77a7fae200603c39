"""The registry: one row of text for each dialect, pass and pattern set, loaded when first asked for.

A row is `name: "module:object"`. The tree's own rows are below; a package outside adds its own through entry
points: dialects, passes and targets as an xDSL `Universe` in the group `xdsl.universe` (stock `xdsl-opt` reads
the same), and pattern sets and meanings as a `Contribution` in the group `qmlir.contributions`. Nothing here
imports a dialect or a pass: the tools start in the time that Python takes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe

DIALECTS: Mapping[str, str] = {
    "calib": "qmlir.dialects.calib:Calib",
    "check": "qmlir.dialects.check:Check",
    "kernel": "qmlir.dialects.kernel:Kernel",
    "nn": "qmlir.dialects.nn:Nn",
    "quant": "qmlir.dialects.quant:Quant",
    "simd": "qmlir.dialects.simd:Simd",
}

PASSES: Mapping[str, str] = {
    "calib-apply-profile": "qmlir.passes.profiled.calib_apply_profile:CalibApplyProfile",
    "calib-insert-observers": "qmlir.passes.profiled.calib_insert_observers:CalibInsertObservers",
    "canonicalize": "qmlir.passes.general.canonicalize:Canonicalize",
    "convert-kernel-to-loops": "qmlir.passes.loops.convert_kernel_to_loops:ConvertKernelToLoops",
    "convert-nn-to-kernel": "qmlir.passes.integer.convert_nn_to_kernel:ConvertNnToKernel",
    "cse": "qmlir.passes.general.cse:Cse",
    "dce": "qmlir.passes.general.dce:Dce",
    "fix-shapes": "qmlir.passes.general.fix_shapes:FixShapes",
    "inline": "qmlir.passes.general.inline:Inline",
    "kernel-analyze-ranges": "qmlir.passes.integer.kernel_analyze_ranges:KernelAnalyzeRanges",
    "kernel-assign-schedule": "qmlir.passes.scheduled.kernel_assign_schedule:KernelAssignSchedule",
    "kernel-bufferize": "qmlir.passes.scheduled.kernel_bufferize:KernelBufferize",
    "kernel-fill-borders": "qmlir.passes.scheduled.kernel_fill_borders:KernelFillBorders",
    "kernel-fuse": "qmlir.passes.integer.kernel_fuse:KernelFuse",
    "kernel-interleave": "qmlir.passes.scheduled.kernel_interleave:KernelInterleave",
    "kernel-narrow": "qmlir.passes.integer.kernel_narrow:KernelNarrow",
    "kernel-outline": "qmlir.passes.scheduled.kernel_outline:KernelOutline",
    "kernel-pack": "qmlir.passes.scheduled.kernel_pack:KernelPack",
    "kernel-plan-memory": "qmlir.passes.scheduled.kernel_plan_memory:KernelPlanMemory",
    "kernel-propagate-layout": "qmlir.passes.integer.kernel_propagate_layout:KernelPropagateLayout",
    "kernel-share": "qmlir.passes.scheduled.kernel_share:KernelShare",
    "kernel-simplify-rounding": "qmlir.passes.integer.kernel_simplify_rounding:KernelSimplifyRounding",
    "kernel-tabulate": "qmlir.passes.integer.kernel_tabulate:KernelTabulate",
    "kernel-winograd": "qmlir.passes.scheduled.kernel_winograd:KernelWinograd",
    "math-expand": "qmlir.passes.loops.math_expand:MathExpand",
    "nn-decompose": "qmlir.passes.primitive.nn_decompose:NnDecompose",
    "nn-raise": "qmlir.passes.quantized.nn_raise:NnRaise",
    "quant-assign-types": "qmlir.passes.quantized.quant_assign_types:QuantAssignTypes",
    "quant-fuse-casts": "qmlir.passes.quantized.quant_fuse_casts:QuantFuseCasts",
    "quant-insert-casts": "qmlir.passes.quantized.quant_insert_casts:QuantInsertCasts",
    "quant-propagate-types": "qmlir.passes.quantized.quant_propagate_types:QuantPropagateTypes",
    "quant-set-requantize": "qmlir.passes.quantized.quant_set_requantize:QuantSetRequantize",
    "simd-legalize": "qmlir.passes.loops.simd_legalize:SimdLegalize",
    "strip-debuginfo": "qmlir.passes.general.strip_debuginfo:StripDebuginfo",
    "symbol-dce": "qmlir.passes.general.symbol_dce:SymbolDce",
    "verify-integer-only": "qmlir.passes.integer.verify_integer_only:VerifyIntegerOnly",
    "verify-level": "qmlir.passes.general.verify_level:VerifyLevel",
}

UPSTREAM_REPLACED = frozenset({"canonicalize", "cse", "dce"})
"""Passes that xDSL has under the same name: our tools run ours, stock `xdsl-opt` keeps its own."""

ONNX_IMPORTERS: Sequence[str] = (
    "qmlir.onnx.operators.activations:IMPORTERS",
    "qmlir.onnx.operators.attention:IMPORTERS",
    "qmlir.onnx.operators.contraction:IMPORTERS",
    "qmlir.onnx.operators.dynamic:IMPORTERS",
    "qmlir.onnx.operators.einsum:IMPORTERS",
    "qmlir.onnx.operators.elementwise:IMPORTERS",
    "qmlir.onnx.operators.logic:IMPORTERS",
    "qmlir.onnx.operators.expansion:IMPORTERS",
    "qmlir.onnx.operators.indexing:IMPORTERS",
    "qmlir.onnx.operators.microsoft:IMPORTERS",
    "qmlir.onnx.operators.movement:IMPORTERS",
    "qmlir.onnx.operators.normalization:IMPORTERS",
    "qmlir.onnx.operators.pooling:IMPORTERS",
    "qmlir.onnx.operators.resizing:IMPORTERS",
    "qmlir.onnx.operators.quantization:IMPORTERS",
    "qmlir.onnx.operators.reduction:IMPORTERS",
    "qmlir.onnx.operators.selection:IMPORTERS",
    "qmlir.onnx.operators.sequence:IMPORTERS",
    "qmlir.onnx.operators.shapes:IMPORTERS",
    "qmlir.onnx.operators.recurrent:IMPORTERS",
    "qmlir.onnx.operators.softmax:IMPORTERS",
    "qmlir.onnx.operators.text:IMPORTERS",
    "qmlir.onnx.operators.training:IMPORTERS",
)
"""Tables from ONNX operator to its importer."""

ONNX_IMPORTERS_GROUP = "qmlir.onnx_importers"
"""Where a package adds such tables; its importers come before the tree's own."""

ONNX_EXPORTERS: Sequence[str] = (
    "qmlir.onnx.export.operators.activations:EXPORTERS",
    "qmlir.onnx.export.operators.attention:EXPORTERS",
    "qmlir.onnx.export.operators.calibration:EXPORTERS",
    "qmlir.onnx.export.operators.casts:EXPORTERS",
    "qmlir.onnx.export.operators.contraction:EXPORTERS",
    "qmlir.onnx.export.operators.dynamic:EXPORTERS",
    "qmlir.onnx.export.operators.einsum:EXPORTERS",
    "qmlir.onnx.export.operators.elementwise:EXPORTERS",
    "qmlir.onnx.export.operators.expansion:EXPORTERS",
    "qmlir.onnx.export.operators.indexing:EXPORTERS",
    "qmlir.onnx.export.operators.logic:EXPORTERS",
    "qmlir.onnx.export.operators.movement:EXPORTERS",
    "qmlir.onnx.export.operators.normalization:EXPORTERS",
    "qmlir.onnx.export.operators.pooling:EXPORTERS",
    "qmlir.onnx.export.operators.recurrent:EXPORTERS",
    "qmlir.onnx.export.operators.reduction:EXPORTERS",
    "qmlir.onnx.export.operators.resizing:EXPORTERS",
    "qmlir.onnx.export.operators.selection:EXPORTERS",
    "qmlir.onnx.export.operators.sequence:EXPORTERS",
    "qmlir.onnx.export.operators.shapes:EXPORTERS",
    "qmlir.onnx.export.operators.softmax:EXPORTERS",
    "qmlir.onnx.export.operators.text:EXPORTERS",
)
"""Tables from operation class to its ONNX exporter."""

ONNX_EXPORTERS_GROUP = "qmlir.onnx_exporters"
"""Where a package adds such tables; its exporters come before the tree's own."""

CONTRIBUTIONS_GROUP = "qmlir.contributions"


@dataclass(frozen=True)
class Contribution:
    """What a package adds to the passes and the interpreter, beside the dialects and passes themselves.

    The keys of `patterns` are names of pattern sets, such as `nn.canonicalize` (the dialect's canonicalization);
    the values are `module:object`, the object a sequence of
    `RewritePattern`. `meanings` maps a dialect to a table from operation class to a NumPy function, and
    `decompositions` one from composite to the function that makes its parts, `lowerings` one from operation class to
    the function that takes it to the integer level. `tables` are what passes ask of operations that cannot carry an
    interface of ours, such as those of xDSL: name of the table to tables from operation class to what it says.
    `stages` maps points of the named pipelines, such as `quantize.decide.before`, to the text of passes that run there.
    """

    patterns: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    meanings: Mapping[str, str] = field(default_factory=dict[str, str])
    decompositions: Mapping[str, str] = field(default_factory=dict[str, str])
    lowerings: Mapping[str, str] = field(default_factory=dict[str, str])
    tables: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    stages: Mapping[str, str] = field(default_factory=dict[str, str])


TREE = Contribution(
    patterns={
        "kernel.to_loops": (
            "qmlir.passes.loops.convert_kernel_to_loops:PATTERNS",
            "qmlir.passes.loops.contraction.patterns:PATTERNS",
        ),
        "nn.canonicalize": ("qmlir.dialects.nn.canonicalize:PATTERNS",),
        "quant.canonicalize": ("qmlir.dialects.quant.canonicalize:PATTERNS",),
    },
    meanings={
        "arith": "qmlir.interpreter.upstream.arith:MEANINGS",
        "calib": "qmlir.dialects.calib.interpret:MEANINGS",
        "check": "qmlir.dialects.check.interpret:MEANINGS",
        "func": "qmlir.interpreter.upstream.func:MEANINGS",
        "kernel": "qmlir.dialects.kernel.interpret:MEANINGS",
        "linalg": "qmlir.interpreter.upstream.linalg:MEANINGS",
        "math": "qmlir.interpreter.upstream.math:MEANINGS",
        "memref": "qmlir.interpreter.upstream.memref:MEANINGS",
        "nn": "qmlir.dialects.nn.interpret:MEANINGS",
        "quant": "qmlir.dialects.quant.interpret:MEANINGS",
        "scf": "qmlir.interpreter.upstream.scf:MEANINGS",
        "simd": "qmlir.dialects.simd.interpret:MEANINGS",
        "tensor": "qmlir.interpreter.upstream.tensor:MEANINGS",
        "vector": "qmlir.interpreter.upstream.vector:MEANINGS",
    },
    decompositions={"nn": "qmlir.dialects.nn.decompose:DECOMPOSITIONS"},
    lowerings={"nn": "qmlir.dialects.nn.lower:LOWERINGS", "quant": "qmlir.dialects.quant.lower:LOWERINGS"},
    tables={
        "bufferize.destinations": ("qmlir.bufferization.destinations:DESTINATIONS",),
        "loops.forms": ("qmlir.passes.loops.contraction.forms:FORMS",),
    },
)


def load(row: str) -> Any:
    """The object that `module:object` names."""
    module, _, name = row.partition(":")
    return getattr(import_module(module), name)


def _loader(row: str) -> Callable[[], Any]:
    return lambda: load(row)


@cache
def contributions() -> tuple[Contribution, ...]:
    """The tree's contribution, then those of installed packages in the order of their names."""
    found = sorted(entry_points(group=CONTRIBUTIONS_GROUP), key=lambda point: point.name)
    return (TREE, *(point.load() for point in found))


@cache
def patterns(set_name: str) -> tuple[Any, ...]:
    """The rewrite patterns of a set, gathered from the tree and from every installed package."""
    rows = (row for contribution in contributions() for row in contribution.patterns.get(set_name, ()))
    return tuple(pattern for row in rows for pattern in load(row))


@cache
def meanings(dialect: str) -> Mapping[type, Callable[..., Any]]:
    """What the operations of `dialect` compute: operation class to NumPy function."""
    table: dict[type, Callable[..., Any]] = {}
    for contribution in contributions():
        if dialect in contribution.meanings:
            table |= load(contribution.meanings[dialect])
    return table


@cache
def decompositions() -> Mapping[type, Callable[..., Any]]:
    """Every composite that somebody can decompose: operation class to the function that makes its parts."""
    table: dict[type, Callable[..., Any]] = {}
    for contribution in contributions():
        for row in contribution.decompositions.values():
            table |= load(row)
    return table


@cache
def lowerings() -> Mapping[type, Callable[..., Any]]:
    """Every operation that somebody takes to the integer level: operation class to the function that does."""
    table: dict[type, Callable[..., Any]] = {}
    for contribution in contributions():
        for row in contribution.lowerings.values():
            table |= load(row)
    return table


@cache
def table(name: str) -> Mapping[type, Any]:
    """What the tree and every installed package say about classes of operations, as the table `name`."""
    found: dict[type, Any] = {}
    for contribution in contributions():
        for row in contribution.tables.get(name, ()):
            found |= load(row)
    return found


@cache
def onnx_importers() -> Mapping[str, Callable[..., Any]]:
    """Every ONNX operator that somebody imports: `Relu`, or `com.example::Relu` for one of another domain."""
    table: dict[str, Callable[..., Any]] = {}
    for row in ONNX_IMPORTERS:
        table |= load(row)
    for point in sorted(entry_points(group=ONNX_IMPORTERS_GROUP), key=lambda point: point.name):
        table |= point.load()
    return table


@cache
def onnx_exporters() -> Mapping[type, Callable[..., Any]]:
    """Every operation that somebody writes as ONNX: operation class to the function that does."""
    table: dict[type, Callable[..., Any]] = {}
    for row in ONNX_EXPORTERS:
        table |= load(row)
    for point in sorted(entry_points(group=ONNX_EXPORTERS_GROUP), key=lambda point: point.name):
        table |= point.load()
    return table


def inserted_passes(point: str) -> Iterator[str]:
    """The passes that packages put at a point of a named pipeline, each as pipeline text."""
    return (each.stages[point] for each in contributions() if point in each.stages)


def dialect_factories() -> Iterator[tuple[str, Callable[[], Dialect]]]:
    """Name and lazy constructor of each dialect of the tree."""
    return ((name, _loader(row)) for name, row in DIALECTS.items())


def pass_factories() -> Iterator[tuple[str, Callable[[], type[ModulePass]]]]:
    """Name and lazy constructor of each pass of the tree."""
    return ((name, _loader(row)) for name, row in PASSES.items())


UNIVERSE = Universe(
    all_dialects=dict(dialect_factories()),
    all_passes={name: factory for name, factory in pass_factories() if name not in UPSTREAM_REPLACED},
)
"""What xDSL's own tools see of this package, through the `xdsl.universe` entry point."""
