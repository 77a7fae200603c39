"""Runs `qmlir-opt`. It is separate from the arguments, so that the help of the tool is fast."""

import argparse
import os
import traceback
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from qmlir import interpreter, registry, tools
from qmlir.environment import Environment, default_environment
from qmlir.ir.diagnostics import (
    Diagnostic,
    DiagnosticError,
    Severity,
    diagnostic_handler,
    nearest_name,
    text_error,
)
from qmlir.ir.limits import budgets
from qmlir.ir.verification import verify
from qmlir.passmanager.choices import EVERY_PASS
from qmlir.passmanager.instrumentation import (
    CrashReproducer,
    Instrumentation,
    PassStatistics,
    PrintIR,
    Timing,
    pipeline_of_reproducer,
)
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import Pipeline, make_pass, parse_pipeline
from qmlir.passmanager.verification import (
    Bisection,
    Executor,
    Reparse,
    VerifyEach,
    VerifyExecution,
    VerifyRoundtrip,
    verify_roundtrip,
)
from qmlir.text.diagnostics import ExpectedDiagnostics, render
from qmlir.text.files import access, note_input, plan_output
from qmlir.text.parsing import parse_module
from qmlir.text.printing import ModulePrinter, PrintOptions, Weights, save_module
from qmlir.text.sources import SPLIT_MARKER, STDIN, Chunk, read_source, split_source
from qmlir.text.writing import write_file
from qmlir.tools.stdio import Streams

_APPLY_PDL = "apply-pdl"


@dataclass
class _Driver:
    """One run of the tool."""

    args: argparse.Namespace
    streams: Streams
    environment: Environment
    timing: Timing = field(default_factory=Timing)
    statistics: PassStatistics = field(default_factory=PassStatistics)

    def __post_init__(self) -> None:
        args = self.args
        # One of each for the whole run: their numbering continues over the parts of a split file.
        limit = args.opt_bisect_limit
        self.bisection = None if limit is None else Bisection(self.streams.stderr, limit)
        self.dumps = PrintIR(
            self.streams.stderr,
            self._options(),
            args.print_ir_before,
            args.print_ir_after,
            only_changes=args.print_ir_after_change,
            on_failure=args.print_ir_after_failure,
            module_scope=args.print_ir_module_scope,
            directory=Path(args.print_ir_tree_dir) if args.print_ir_tree_dir else None,
        )

    def _options(self, weights: Weights = Weights.ELIDE, *, upstream: bool = False) -> PrintOptions:
        args = self.args
        return PrintOptions(
            args.print_op_generic, args.print_debuginfo, not args.print_local_scope, weights, upstream=upstream
        )

    @property
    def output(self) -> Path | None:
        """The output file; `None` for standard output."""
        return None if self.args.output == "-" else Path(self.args.output)

    @property
    def print_options(self) -> PrintOptions:
        weights = Weights.ELIDE
        if self.args.inline_weights or (self.args.print_upstream and not self.args.elide_weights):
            weights = Weights.INLINE
        elif self.output is not None and not self.args.elide_weights:
            # The parts of a split file are joined to one text, without a weights file for each.
            weights = Weights.INLINE if self.args.split_input_file else Weights.SIDECAR
        return self._options(weights, upstream=self.args.print_upstream)

    def run(self) -> int:
        for path in self.args.irdl_file:
            tools.load_irdl(self.environment, Path(path))
        if self.args.listing is not None:
            self.streams.stdout.write(tools.LISTINGS[self.args.listing](self.environment))
            return 0
        self._check_names_of_dumps()
        filename = STDIN if self.args.input == "-" else self.args.input
        source = self.streams.stdin.read() if self.args.input == "-" else read_source(Path(self.args.input))
        pipeline = self._pipeline(source)
        if self.args.dump_pass_pipeline:
            self.streams.stderr.write(pipeline.dump())
        chunks = split_source(source) if self.args.split_input_file else [Chunk(source, 0)]
        texts: list[str] = []
        ok = True
        module = None
        for chunk in chunks:
            module, chunk_ok = self._run_chunk(chunk, filename, pipeline)
            ok = ok and chunk_ok
            if module is not None and len(chunks) > 1:
                texts.append(self._text(module))
        if ok and (not self.args.verify_diagnostics or module is not None):
            with self.timing.measure("write"):
                self._write(module, f"{SPLIT_MARKER}\n".join(texts) if len(chunks) > 1 else None)
        if self.args.pass_statistics:
            self.streams.stderr.write(self.statistics.report())
        if self.args.timing:
            self.streams.stderr.write(self.timing.report())
        return 0 if ok else 1

    def _check_names_of_dumps(self) -> None:
        """Raises `DiagnosticError` for a dump around an unknown pass, which would never be printed."""
        for option in ("print_ir_before", "print_ir_after"):
            for name in getattr(self.args, option):
                if name != EVERY_PASS and name not in self.environment.passes:
                    near = nearest_name(name, self.environment.passes)
                    raise text_error(f"--{option.replace('_', '-')}: unknown pass '{name}'{near}")

    def _pipeline(self, source: str) -> Pipeline:
        text = pipeline_of_reproducer(source) if self.args.run_reproducer else self.args.passes or ""
        pipeline = parse_pipeline(text, self.environment.passes, tools.PIPELINES if text else None)
        if self.args.run_reproducer:
            pipeline.check_writes_nothing("a reproducer")
        if not self.args.pdl_file:
            return pipeline
        passes = self.environment.passes
        if _APPLY_PDL not in passes:
            raise text_error(f"--pdl-file: unknown pass '{_APPLY_PDL}'; the extension 'pdl' is left out")
        return Pipeline((make_pass(passes, _APPLY_PDL, {"file": tuple(self.args.pdl_file)}), *pipeline.steps))

    def _run_chunk(self, chunk: Chunk, filename: str, pipeline: Pipeline) -> tuple[ModuleOp | None, bool]:
        """Returns the module after the passes (`None` on error), and whether its diagnostics were as expected."""
        ctx = self.environment.new_context(allow_unregistered=self.args.allow_unregistered_dialect)
        said: list[Diagnostic] = []
        module = None
        directory = Path(filename).parent if filename != STDIN else None
        with diagnostic_handler(said.append):
            try:
                with self.timing.measure("parse"):
                    parsed = parse_module(ctx, chunk.text, filename, line_offset=chunk.line_offset, directory=directory)
                with self.timing.measure("verify"):
                    verify(parsed)
                self._run_passes(ctx, parsed, pipeline, directory)
                module = parsed
            except DiagnosticError as error:
                said.extend(error.diagnostics)
                if self.args.debug:
                    self.streams.stderr.write("".join(traceback.format_exception(error)))
        if self.args.verify_diagnostics:
            problems = ExpectedDiagnostics.scan(chunk.text, chunk.line_offset).mismatches(said, filename)
            self.streams.stderr.writelines(f"{problem}\n" for problem in problems)
            return module, not problems
        self.streams.stderr.writelines(render(each, chunk.text, chunk.line_offset, filename) for each in said)
        return module, module is not None

    def _run_passes(self, ctx: Context, module: ModuleOp, pipeline: Pipeline, directory: Path | None) -> None:
        reparse: Reparse | None = None
        if self.args.verify_roundtrip:
            reparse = partial(parse_module, ctx, directory=directory)
            verify_roundtrip(module, reparse)
        verifies = self.args.verify_each != "false"
        PassManager(ctx, pipeline, self._instrumentations(reparse), verifies_packages=verifies).run(module)

    def _instrumentations(self, reparse: Reparse | None) -> list[Instrumentation]:
        """Returns the instrumentations of passes, the outermost first.

        Those that reject results are nested in those that report failures.
        """
        args = self.args
        found: list[Instrumentation] = [] if self.bisection is None else [self.bisection]
        if args.crash_reproducer:
            found.append(CrashReproducer(Path(args.crash_reproducer)))
        if args.print_ir_before or args.print_ir_after or args.print_ir_after_failure:
            found.append(self.dumps)
        if args.verify_each == "exec":
            found.append(VerifyExecution(self._executor()))
        if args.verify_each != "false":
            found.append(VerifyEach())
        if reparse is not None:
            found.append(VerifyRoundtrip(reparse))
        if args.pass_statistics:
            found.append(self.statistics)
        if args.timing:
            found.append(self.timing)
        return found

    def _executor(self) -> Executor:
        """Returns the executor of `--verify-each=exec`."""
        path = self.args.exec_inputs
        given = None if path is None else interpreter.inputs_in(Path(path))
        return interpreter.Execution(
            given, seed=self.args.exec_seed or 0, functions=self.args.exec_function, draws=self.args.exec_draws
        )

    def _text(self, module: ModuleOp) -> str:
        """Returns the text of a module; warns if weights are elided, unless an option requests that."""
        printer = ModulePrinter(self.print_options)
        text = printer.module_text(module)
        if printer.elided_bytes and not self.args.elide_weights:
            message = (
                f"{printer.elided_bytes} bytes of weights are left out of the text; "
                "-o FILE keeps them beside it, --inline-weights prints them, --elide-weights silences this"
            )
            self.streams.stderr.write(render(Diagnostic(Severity.WARNING, message)))
        return text

    def _write(self, module: ModuleOp | None, joined: str | None) -> None:
        if joined is None:
            if module is None:
                return
            if self.output is not None:
                save_module(module, self.output, self.print_options)
                return
            joined = self._text(module)
        if self.output is not None:
            write_file(self.output, joined)
        else:
            self.streams.stdout.write(joined)


def run_opt(args: argparse.Namespace, streams: Streams) -> int:
    """Reads a module, runs passes on it, and writes it; returns the exit code. Raises `DiagnosticError`."""
    with registry.plugged(map(registry.plugin, args.load_plugin)), budgets(dict(args.limit)), access(force=args.force):
        for path in filter(os.path.isfile, (args.input, *args.pdl_file, *args.irdl_file, args.exec_inputs or "")):
            note_input(path)
        for path in filter(None, (args.output, args.crash_reproducer)):
            if path != "-":
                plan_output(path)
        return _Driver(args, streams, default_environment()).run()
