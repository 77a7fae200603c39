"""The way of a graph down the levels: a table of stages, each a pipeline, and what is compared behind each.

A stage takes the module of another one; behind it the module is held against the first one: every integer equal,
floats to 1e-5 of the largest number of their tensor.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from benchmarks.emitted import BUILDS, run_c
from qmlir import emit
from qmlir.analysis.operand_accesses import ranges_of
from qmlir.dialects.kernel.attributes import isa_names
from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.ops import shaped
from qmlir.environment import default_environment
from qmlir.interpreter.differences import OutputDifference, changed_output, first_changed
from qmlir.interpreter.run import interpret
from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.ir.passes import ROUNDED
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.pipelines import CLEAN, COMPILE
from qmlir.targets.cpu.compiler import compile_module
from qmlir.targets.cpu.host import runs_here
from tests.levels.oracle import UnknownError, computed

ENVIRONMENT = default_environment()

Outputs = Mapping[str, Any]
Runner = Callable[[ModuleOp, Mapping[str, Any]], Outputs]

MOST_POINTS = 3000
"""So often the bodies of a graph's loops run at most where the loops are interpreted, one operation at a time."""


@dataclass(frozen=True)
class Stage:
    """One step on the way: `pipeline` makes the module of this stage of that of the stage `after`, or of the graph.

    `run` says what the module computes; without it the interpreter does, which can name the first operation that
    differs. Graphs that `accepts` refuses skip the stage. What `is_slow` takes a second or more for a graph. A stage
    that compiles the graph has an `emitter`, and the instruction set `isa` unless that is `C`.
    """

    name: str
    pipeline: str = ""
    after: str = ""
    run: Runner | None = None
    accepts: Callable[[ModuleOp], bool] | None = None
    is_slow: bool = False
    emitter: str = ""
    isa: str = ""


def _points(op: Any) -> int:
    """How often the innermost body of the loops that `op` becomes runs."""
    if isinstance(op, ContractionOp):
        return math.prod(shaped(op.target)[0]) * op.terms()
    return math.prod(ranges_of(op)) if isinstance(op, GenericOp) else 0


def is_small(module: ModuleOp) -> bool:
    """Whether the loops of a module on tensors can be interpreted in a second or two."""
    return sum(map(_points, module.walk())) <= MOST_POINTS


def _compiled(isa: str, emitter: str, module: ModuleOp, inputs: Mapping[str, Any]) -> Outputs:
    return compile_module(module, isa=isa, emitter=emitter)(inputs)


def _of_c(module: ModuleOp, inputs: Mapping[str, Any]) -> Outputs:
    """What the program in C gives, built without optimizations."""
    wanted = interpret(module, inputs)
    with TemporaryDirectory() as folder:
        ended, found = run_c(emit(module), GCC, inputs, wanted, Path(folder))
    if ended:
        raise text_error(f"the program in C ends with {ended}")
    return found


def _packed(isa: str) -> Stage:
    """Contractions with the operands that the loops for an instruction set read."""
    return Stage(f"packed for {isa}", COMPILE.text("schedule", isa=isa, threads=1), "expanded")


def _loops(isa: str) -> Stage:
    """The loops for an instruction set, which need not be that of this machine, interpreted."""
    stages = ("schedule", "bufferize", "loops")
    return Stage(
        f"loops for {isa}", COMPILE.text(*stages, isa=isa, threads=1), "expanded", accepts=is_small, is_slow=True
    )


def _code(isa: str, emitter: str) -> Stage:
    run = partial(_compiled, isa, emitter)
    return Stage(f"compiled by {emitter} for {isa}", run=run, is_slow=True, emitter=emitter, isa=isa)


GCC = next(build for build in BUILDS if build.name == "gcc -O0")
EMITTERS = ("numba", "llvm")

STAGES: tuple[Stage, ...] = (
    Stage("oracle", run=computed),
    Stage("canonical", CLEAN),
    Stage("twice canonical", CLEAN, "canonical"),
    Stage("primitive", "nn-decompose", "canonical"),
    Stage("raised", "nn-decompose,canonicalize,cse,nn-raise", "canonical"),
    Stage("specialized", "fix-shapes", "canonical"),
    Stage("integer", f"convert-nn-to-kernel,{CLEAN}", "specialized"),
    Stage("laid out", "kernel-propagate-layout", "integer"),
    Stage("fused", "kernel-fuse", "laid out"),
    Stage("ranged", "kernel-lookup-tables,kernel-narrow,kernel-analyze-ranges", "fused"),
    Stage("by integers", 'kernel-requantize-by-integers{isa="portable-integer"}', "ranged"),
    Stage("simplified", "kernel-simplify-rounding", "ranged"),
    Stage("expanded", f"math-expand,{CLEAN}", "fused"),
    *(_packed(isa) for isa in isa_names()),
    Stage("scheduled", COMPILE.text("bufferize"), f"packed for {isa_names()[-1]}"),
    *(_loops(isa) for isa in isa_names()),
    *(_code(isa, emitter) for emitter in EMITTERS for isa in isa_names() if runs_here(isa)),
    *([Stage("in C", run=_of_c, is_slow=True, emitter="C")] if GCC.is_installed() else []),
)
"""Every stage."""


@dataclass
class _Way:
    """The modules of a graph at each stage, made when they are asked for."""

    graph: ModuleOp
    stages: Mapping[str, Stage]
    modules: dict[str, ModuleOp] = field(default_factory=dict[str, ModuleOp])

    def module(self, name: str) -> ModuleOp:
        """The module of a stage; the graph itself without a name."""
        if not name:
            return self.graph
        if name not in self.modules:
            stage = self.stages[name]
            self.modules[name] = lowered(self.module(stage.after), stage.pipeline)
        return self.modules[name]


@dataclass(frozen=True)
class Failure:
    """A stage that computes other numbers, or fails."""

    stage: Stage
    reason: str
    changed: OutputDifference | None = None

    def __str__(self) -> str:
        return f"stage '{self.stage.name}' ({self.stage.pipeline}): {self.reason}"


def lowered(module: ModuleOp, pipeline: str) -> ModuleOp:
    """A copy of `module` behind the passes, verified."""
    copy = module.clone()
    PassManager(ENVIRONMENT.new_context(), parse_pipeline(pipeline, ENVIRONMENT.passes)).run(copy)
    verify(copy)
    return copy


def failure_of(module: ModuleOp, inputs: Mapping[str, Any], stages: Sequence[Stage] = STAGES) -> Failure | None:
    """The first stage at which `module` computes other numbers on `inputs`, or which fails; `None` where all agree."""
    expected = interpret(module, inputs)
    way = _Way(module, {stage.name: stage for stage in (*STAGES, *stages)})
    for stage in stages:
        try:
            if stage.accepts is not None and not stage.accepts(way.module(stage.after)):
                continue
            made = way.module(stage.name)
            if stage.run is None:
                changed, _ = changed_output(module, made, inputs, ROUNDED, known=expected)
            else:
                changed = first_changed(expected, stage.run(made, inputs), ROUNDED)
        except UnknownError:
            continue
        except DiagnosticError as error:
            return Failure(stage, error.diagnostic.message)
        if changed is not None:
            return Failure(stage, str(changed), changed)
    return None
