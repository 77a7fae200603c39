"""`qmlir-opt`: reads a module, runs passes on it, and writes it; the door for compiler people.

IR goes to standard output (or `-o`), everything else to standard error. Exit codes: 0, done; 1, something is wrong
with the input, a pass failed, or diagnostics are not as expected; 2, wrong usage.
"""

import argparse
import sys
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import IO, NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from qmlir import registry
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, diagnostic_handler, text_error
from qmlir.ir.rewriting import apply_patterns_greedily
from qmlir.ir.verification import verify
from qmlir.passmanager import instrumentations as watch
from qmlir.passmanager.manager import Instrumentation, PassManager
from qmlir.passmanager.pipeline import Pipeline, parse_pipeline
from qmlir.text.diagnostics import ExpectedDiagnostics, render
from qmlir.text.parsing import STDIN, parse_module, read_source
from qmlir.text.printing import ModulePrinter, PrintOptions, Weights, save_module
from qmlir.text.splitting import SPLIT_MARKER, Chunk, split_source
from qmlir.text.weights import write_atomically
from qmlir.tools.environment import Environment, default_environment, load_plugin
from qmlir.tools.listing import dialects_text, passes_text

# xDSL's interpreters of IRDL and PDL take a third of the start-up time: they are loaded where a file asks for them.
_IRDL_LOADER = "qmlir.tools.irdl:load_irdl"
_PDL_LOADER = "qmlir.tools.pdl:load_pdl_patterns"


def build_argument_parser() -> argparse.ArgumentParser:
    """The command line of `qmlir-opt`."""
    parser = argparse.ArgumentParser(
        prog="qmlir-opt",
        description="Reads an MLIR module, runs passes on it, and writes it.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("input", nargs="?", default="-", help="the file to read, - for standard input")
    add("-o", dest="output", metavar="FILE", help="the file to write; large weights go beside it")
    add(
        "-p", "--passes", "--pass-pipeline", dest="passes", default="", metavar="PIPELINE",
        help="the passes: a,b{option=1},builtin.module(func.func(cse))",
    )  # fmt: skip
    add("--version", "-v", action="version", version=f"qmlir-opt {_version()}")

    listing = parser.add_argument_group("what there is")
    listing.add_argument("--list-passes", action="store_true", help="list the passes with their options")
    listing.add_argument("--show-dialects", action="store_true", help="list the dialects that can be read")

    reading = parser.add_argument_group("reading")
    reading.add_argument(
        "--split-input-file",
        action="store_true",
        help=f"take the parts between '{SPLIT_MARKER}' lines one by one",
    )
    reading.add_argument(
        "--allow-unregistered-dialect", action="store_true", help="read operations of unknown dialects"
    )
    reading.add_argument(
        "--load-plugin",
        action="append",
        default=[],
        metavar="MODULE:OBJECT",
        help="add a Universe, dialect or pass",
    )
    reading.add_argument(
        "--irdl-file",
        action="append",
        default=[],
        metavar="FILE",
        help="add the dialects that an IRDL file defines",
    )
    reading.add_argument(
        "--pdl-file",
        action="append",
        default=[],
        metavar="FILE",
        help="apply the PDL patterns of a file before the passes",
    )

    writing = parser.add_argument_group("writing")
    writing.add_argument(
        "--print-op-generic", "--mlir-print-op-generic", action="store_true", help="print in the generic form"
    )
    writing.add_argument("--print-debuginfo", "--mlir-print-debuginfo", action="store_true", help="print locations")
    writing.add_argument(
        "--inline-weights", action="store_true", help="print large weights into the text, as hexadecimal"
    )
    writing.add_argument("--elide-weights", action="store_true", help="leave large weights out")

    checking = parser.add_argument_group("checking")
    checking.add_argument(
        "--verify-diagnostics", action="store_true", help="compare the diagnostics with expected-… comments"
    )
    checking.add_argument(
        "--verify-each",
        nargs="?",
        const="true",
        default="true",
        choices=("true", "false"),
        help="verify after each pass (default: true)",
    )
    checking.add_argument(
        "--verify-roundtrip",
        action="store_true",
        help="after each pass, check that the text reads back as the same module",
    )
    checking.add_argument(
        "--crash-reproducer", metavar="FILE", help="where a pass fails, write the module and the pass to FILE"
    )
    checking.add_argument(
        "--run-reproducer",
        action="store_true",
        help="run the passes that the first line of a reproducer names",
    )
    checking.add_argument("--debug", action="store_true", help="show where in Python an error came from")

    watching = parser.add_argument_group("watching passes (on standard error)")
    for moment in ("before", "after"):
        watching.add_argument(
            f"--print-ir-{moment}",
            action="append",
            default=[],
            metavar="PASS",
            help=f"print the IR {moment} a pass",
        )
        watching.add_argument(f"--print-ir-{moment}-all", action="store_true", help=f"print the IR {moment} every pass")
    watching.add_argument(
        "--print-ir-after-change", action="store_true", help="print the IR after a pass that changed it"
    )
    watching.add_argument("--print-ir-after-failure", action="store_true", help="print the IR that a failed pass left")
    watching.add_argument("--print-ir-tree-dir", metavar="FOLDER", help="write these dumps to files in FOLDER")
    watching.add_argument("--timing", action="store_true", help="print the time that each pass took")
    watching.add_argument("--pass-statistics", action="store_true", help="print what the passes counted")
    return parser


def _version() -> str:
    return f"{version('qmlir')} (xdsl {version('xdsl')})"


@dataclass
class _Driver:
    """One run of the tool."""

    args: argparse.Namespace
    stdin: IO[str]
    stdout: IO[str]
    stderr: IO[str]
    environment: Environment
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    reports: list[watch.Timing | watch.Statistics] = field(default_factory=list[watch.Timing | watch.Statistics])

    @property
    def print_options(self) -> PrintOptions:
        weights = Weights.ELIDE
        if self.args.inline_weights:
            weights = Weights.INLINE
        elif self.args.output and not self.args.elide_weights:
            # The parts of a split file are one text: they have no weights file of their own.
            weights = Weights.INLINE if self.args.split_input_file else Weights.SIDECAR
        return PrintOptions(self.args.print_op_generic, self.args.print_debuginfo, weights=weights)

    def run(self) -> int:
        for row in self.args.load_plugin:
            load_plugin(self.environment, row)
        for path in self.args.irdl_file:
            registry.load(_IRDL_LOADER)(self.environment, Path(path))
        if self.args.list_passes:
            self.stdout.write(passes_text(self.environment))
            return 0
        if self.args.show_dialects:
            self.stdout.write(dialects_text(self.environment))
            return 0
        filename = STDIN if self.args.input == "-" else self.args.input
        source = self.stdin.read() if self.args.input == "-" else read_source(Path(self.args.input))
        pipeline = self._pipeline(source)
        chunks = split_source(source) if self.args.split_input_file else [Chunk(source, 0)]
        texts: list[str] = []
        ok = True
        module = None
        for chunk in chunks:
            module, chunk_ok = self._run_chunk(chunk, filename, pipeline)
            ok = ok and chunk_ok
            if module is not None and len(chunks) > 1:
                texts.append(self._text(module))
        if not ok:
            return 1
        if not self.args.verify_diagnostics or module is not None:
            self._write(module, f"{SPLIT_MARKER}\n".join(texts) if len(chunks) > 1 else None)
        for report in self.reports:
            self.stderr.write(report.report())
        return 0

    def _pipeline(self, source: str) -> Pipeline:
        text = self.args.passes
        if self.args.run_reproducer:
            first = source.partition("\n")[0]
            if not first.startswith(watch.REPRODUCER_PREFIX):
                raise text_error(f"the input is no reproducer: its first line must begin '{watch.REPRODUCER_PREFIX}'")
            text = first.removeprefix(watch.REPRODUCER_PREFIX)
        return parse_pipeline(text, self.environment.passes)

    def _run_chunk(self, chunk: Chunk, filename: str, pipeline: Pipeline) -> tuple[ModuleOp | None, bool]:
        """The module after the passes, and whether all went as it should."""
        ctx = self.environment.new_context(allow_unregistered=self.args.allow_unregistered_dialect)
        said: list[Diagnostic] = []
        module = None
        directory = Path(filename).parent if filename != STDIN else None
        with diagnostic_handler(said.append):
            try:
                parsed = parse_module(ctx, chunk.text, filename, line_offset=chunk.line_offset, directory=directory)
                verify(parsed)
                self._run_passes(ctx, parsed, pipeline, directory)
                module = parsed
            except DiagnosticError as error:
                said.append(error.diagnostic)
                if self.args.debug:
                    self.stderr.write("".join(traceback.format_exception(error)))
        if self.args.verify_diagnostics:
            problems = ExpectedDiagnostics.scan(chunk.text, chunk.line_offset).mismatches(said, filename)
            self.stderr.writelines(f"{problem}\n" for problem in problems)
            return module, not problems
        self.stderr.writelines(render(each, chunk.text, chunk.line_offset, filename) for each in said)
        return module, module is not None

    def _run_passes(self, ctx: Context, module: ModuleOp, pipeline: Pipeline, directory: Path | None) -> None:
        for path in self.args.pdl_file:
            apply_patterns_greedily(module, registry.load(_PDL_LOADER)(ctx, Path(path)), ctx)
            verify(module)
        PassManager(ctx, pipeline, self._instrumentations(ctx, pipeline, directory)).run(module)

    def _instrumentations(self, ctx: Context, pipeline: Pipeline, directory: Path | None) -> list[Instrumentation]:
        args = self.args
        found: list[Instrumentation] = []
        if args.crash_reproducer:
            found.append(watch.CrashReproducer(Path(args.crash_reproducer), pipeline))
        before = watch.ALL if args.print_ir_before_all else args.print_ir_before
        after = watch.ALL if args.print_ir_after_all else args.print_ir_after
        if before or after or args.print_ir_after_change or args.print_ir_after_failure:
            found.append(
                watch.PrintIR(
                    self.stderr,
                    PrintOptions(args.print_op_generic, args.print_debuginfo),
                    before,
                    after,
                    args.print_ir_after_change,
                    args.print_ir_after_failure,
                    Path(args.print_ir_tree_dir) if args.print_ir_tree_dir else None,
                )
            )
        if args.verify_each == "true":
            found.append(watch.VerifyEach())
        if args.verify_roundtrip:
            found.append(watch.VerifyRoundtrip(lambda text: parse_module(ctx, text, directory=directory)))
        if args.pass_statistics:
            statistics = watch.Statistics()
            self.reports.append(statistics)
            found.append(statistics)
        if args.timing:
            timing = watch.Timing()
            self.reports.append(timing)
            found.append(timing)
        return found

    def _text(self, module: ModuleOp) -> str:
        """The text of a module; weights that nobody asked to leave out are never dropped in silence."""
        printer = ModulePrinter(self.print_options)
        text = printer.module_text(module)
        if printer.elided_bytes and not self.args.elide_weights:
            message = (
                f"{printer.elided_bytes} bytes of weights are left out of the text; "
                "-o FILE keeps them beside it, --inline-weights prints them, --elide-weights silences this"
            )
            self.stderr.write(render(Diagnostic(Severity.WARNING, message)))
        return text

    def _write(self, module: ModuleOp | None, joined: str | None) -> None:
        if joined is None:
            if module is None:
                return
            if self.args.output:
                save_module(module, Path(self.args.output), self.print_options)
                return
            joined = self._text(module)
        if self.args.output:
            write_atomically(Path(self.args.output), joined)
        else:
            self.stdout.write(joined)


def main(
    argv: Sequence[str] | None = None,
    *,
    stdin: IO[str] | None = None,
    stdout: IO[str] | None = None,
    stderr: IO[str] | None = None,
) -> int:
    """Run `qmlir-opt` with `argv` and return its exit code; the streams default to the process's own."""
    out: IO[str] = stdout if stdout is not None else sys.stdout
    err: IO[str] = stderr if stderr is not None else sys.stderr
    said: list[Diagnostic] = []
    with ExitStack() as stack:
        stack.enter_context(diagnostic_handler(said.append))
        try:
            args = _parse_arguments(argv, out, err)
            if isinstance(args, int):
                return args
            driver = _Driver(args, stdin if stdin is not None else sys.stdin, out, err, default_environment())
            return driver.run()
        except DiagnosticError as error:
            said.append(error.diagnostic)
            return 1
        except UnicodeDecodeError as error:
            said.append(Diagnostic(Severity.ERROR, f"cannot read {STDIN}: byte {error.start} is no UTF-8 text"))
            return 1
        except DiagnosticException as error:
            said.append(Diagnostic(Severity.ERROR, str(error).splitlines()[0]))
            return 1
        finally:
            err.writelines(render(each) for each in said)


def _parse_arguments(argv: Sequence[str] | None, stdout: IO[str], stderr: IO[str]) -> argparse.Namespace | int:
    """The arguments, or the exit code where argparse has said all there is to say."""
    parser = build_argument_parser()
    real = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = stdout, stderr  # argparse writes to the process's streams
    try:
        return parser.parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    finally:
        sys.stdout, sys.stderr = real


def console_main() -> NoReturn:
    """The entry point of the `qmlir-opt` command."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone: nothing more can be said, and Python must not try at exit.
        sys.stderr.close()
        code = 1
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
