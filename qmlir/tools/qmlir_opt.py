"""`qmlir-opt`: reads a module, runs passes on it, and writes it; the tool of compiler developers.

IR goes to standard output (or `-o`), everything else to standard error. Exit codes: 0, done; 1, an error in the input,
a failed pass, or unexpected diagnostics; 2, wrong usage.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version

from qmlir.ir.messages import nearest_name, warn
from qmlir.passmanager.choices import EVERY_PASS
from qmlir.text.files import existing_path
from qmlir.text.sources import SPLIT_MARKER
from qmlir.tools import running
from qmlir.tools.command import add_budgets, add_plugins, guarded
from qmlir.tools.stdio import ArgumentParser, Main, Streams, add_force, console


def _as_upstream(name: str) -> tuple[str, str]:
    """Returns the spelling of an option here, and that of upstream."""
    return f"--{name}", f"--mlir-{name}"


def build_argument_parser() -> ArgumentParser:
    """Returns the parser of `qmlir-opt`, with options grouped by purpose."""
    parser = ArgumentParser(
        prog="qmlir-opt",
        usage="qmlir-opt [options] [input]",
        description="Read an MLIR module, run passes on it, and write it.",
        epilog="examples:\n"
        "  qmlir-opt model.mlir -p 'quantize{profile=profile.json},compile{isa=avx2}'\n"
        "  qmlir-opt model.mlir -p nn-decompose --print-ir-after-change -o out.mlir",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    add = parser.add_argument
    add("input", nargs="?", default="-", help="input file, or - for standard input (default)")
    add(
        "-o", dest="output", metavar="FILE", default="-",
        help="output file; large weights go to a .safetensors file next to it",
    )  # fmt: skip
    add(
        "-p", "--passes", "--pass-pipeline", dest="passes", metavar="PIPELINE", action="append", default=[],
        help="passes and named pipelines to run: a,b{option=1},builtin.module(func.func(cse)) or compile{isa=avx2},a; "
        "if repeated, the last one wins",
    )  # fmt: skip

    listing = parser.add_argument_group("listing")
    listing.add_argument("-h", "--help", action="store_true", help="print this help")
    listing.add_argument("-v", "--version", action="store_true", help="print the version")
    for option, what, told in (
        ("--list-passes", "passes", "passes with their options"),
        ("--show-dialects", "dialects", "dialects"),
        ("--list-targets", "targets", "targets"),
        ("--list-pipelines", "pipelines", "named pipelines, and where packages add passes"),
        ("--list-packages", "packages", "installed packages, with their contributions"),
    ):
        listing.add_argument(option, action="store_const", const=what, dest="listing", help=f"list {told}")
    _add_reading(parser)
    _add_writing(parser)
    _add_checking(parser)
    _add_watching(parser)
    return parser


def _add_reading(parser: ArgumentParser) -> None:
    add = parser.add_argument_group("reading").add_argument
    add("--split-input-file", action="store_true", help=f"process the parts between '{SPLIT_MARKER}' lines one by one")
    add("--allow-unregistered-dialect", action="store_true", help="read operations of unknown dialects")
    add_plugins(add)
    add_budgets(add)
    for option, metavar, what in (
        ("--irdl-file", "FILE", "add the dialects that an IRDL file defines"),
        ("--pdl-file", "FILE", "apply the PDL patterns of a file before the passes"),
    ):
        add(option, action="append", default=[], metavar=metavar, help=f"{what} (repeatable)")


def _add_writing(parser: ArgumentParser) -> None:
    add = parser.add_argument_group("writing").add_argument
    add(*_as_upstream("print-op-generic"), action="store_true", help="print in the generic form")
    add(
        "--print-upstream", action="store_true",
        help="print IR that upstream's mlir-opt --allow-unregistered-dialect accepts: generic form except for func, "
        "arith and quant, with inline weights",
    )  # fmt: skip
    add(*_as_upstream("print-local-scope"), action="store_true", help="print types and attributes without aliases")
    add(*_as_upstream("print-debuginfo"), action="store_true", help="print locations")
    add("--inline-weights", action="store_true", help="print large weights inline, in hexadecimal")
    add("--elide-weights", action="store_true", help="omit large weights")
    add_force(add)


def _verify_mode(text: str) -> str:
    """Returns `true`, `false` or `exec`; accepts 1 and 0 as upstream's tools do."""
    return {"1": "true", "0": "false"}.get(text, text)


def _add_checking(parser: ArgumentParser) -> None:
    add = parser.add_argument_group("checking").add_argument
    add("--verify-diagnostics", action="store_true", help="compare the diagnostics with expected-… comments")
    add(
        "--verify-each", default="true", choices=("true", "false", "exec"), metavar="true|false|exec",
        type=_verify_mode,
        help="verify after each pass (default: true); exec: also run the module before and after each pass, and "
        "name the first pass and operation that change a value",
    )  # fmt: skip
    add("--exec-inputs", metavar="FILE", help="with --verify-each=exec: an .npz file of inputs (default: random)")
    add("--exec-seed", metavar="N", type=int, help="with --verify-each=exec: random seed of the inputs (default: 0)")
    add(
        "--exec-draws", metavar="N", type=int,
        help="with --verify-each=exec: number of random inputs, alternating between values of the full range and "
        "extreme values such as limits and zeros (default: 2)",
    )  # fmt: skip
    add(
        "--exec-function", action="append", default=[], metavar="NAME",
        help="with --verify-each=exec: function to run, or * for every public one (default: main; repeatable)",
    )  # fmt: skip
    add(
        "--verify-roundtrip", action="store_true",
        help="check that the module round-trips through text, before and after each pass",
    )  # fmt: skip
    add(
        "--crash-reproducer", "--mlir-pass-pipeline-crash-reproducer", metavar="FILE",
        help="write the module and the pass to FILE if a pass fails",
    )  # fmt: skip
    add("--run-reproducer", action="store_true", help="run the pass named in the first line of a reproducer")
    add("--debug", action="store_true", help="show the Python traceback of an error")


def _add_watching(parser: ArgumentParser) -> None:
    add = parser.add_argument_group("instrumentation of passes (on standard error)").add_argument
    for moment in ("before", "after"):
        add(
            *_as_upstream(f"print-ir-{moment}"), action="append", default=[], metavar="PASS,…",
            help=f"print the IR {moment} these passes",
        )  # fmt: skip
        add(
            *_as_upstream(f"print-ir-{moment}-all"), action="append_const", const=EVERY_PASS, dest=f"print_ir_{moment}",
            help=f"print the IR {moment} every pass",
        )  # fmt: skip
    add(
        *_as_upstream("print-ir-after-change"), action="store_true", help="print the IR after a pass only if it changed"
    )
    add(*_as_upstream("print-ir-module-scope"), action="store_true", help="print the whole module in these dumps")
    add(*_as_upstream("print-ir-after-failure"), action="store_true", help="print the IR after a failed pass")
    add(
        *_as_upstream("print-ir-tree-dir"), metavar="FOLDER",
        help="write the IR dumps to files; without other --print-ir options, after every pass",
    )  # fmt: skip
    add("--dump-pass-pipeline", action="store_true", help="print the pass pipeline")
    add(
        "--opt-bisect-limit", metavar="N", type=int,
        help="run and list only the first N pass executions; -1 for all",
    )  # fmt: skip
    add(*_as_upstream("timing"), action="store_true", help="print the time of each pass")
    add(*_as_upstream("pass-statistics"), action="store_true", help="print the statistics of the passes")


def parse_arguments(parser: ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """Parses `argv`. Raises `UsageError`, which suggests a similar name for an unknown option."""
    options = [option for action in parser.actions for option in action.option_strings]
    given = sys.argv[1:] if argv is None else argv
    # Upstream's tools accept one dash instead of two.
    args, unknown = parser.parse_known_args(
        [f"-{text}" if f"-{text.partition('=')[0]}" in options else text for text in given]
    )
    if unknown:
        near = nearest_name(unknown[0].partition("=")[0], options)
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{near}")
    pipelines: list[str] = args.passes
    args.passes = pipelines[-1] if pipelines else None
    if len(pipelines) > 1:
        dropped = ", ".join(f"'{each}'" for each in pipelines[:-1])
        warn(f"--pass-pipeline is given {len(pipelines)} times; ignoring {dropped}")
    for one, other in (("inline_weights", "elide_weights"), ("passes", "run_reproducer")):
        if getattr(args, one) and getattr(args, other):
            names = (f"--{name.replace('_', '-')}" for name in (one, other))
            parser.error(f"{' and '.join(names)} cannot be combined")
    if args.opt_bisect_limit is not None and args.opt_bisect_limit < -1:
        parser.error(f"--opt-bisect-limit must be >= -1, but got {args.opt_bisect_limit}")
    for option in ("exec_inputs", "exec_seed", "exec_draws", "exec_function"):
        if getattr(args, option) not in (None, []) and args.verify_each != "exec":
            parser.error(f"--{option.replace('_', '-')} requires --verify-each=exec")
    if args.exec_draws is not None and args.exec_draws < 1:
        parser.error(f"--exec-draws must be at least 1, but got {args.exec_draws}")
    for moment in ("print_ir_before", "print_ir_after"):
        # One value may hold several names, as in upstream's tools.
        setattr(args, moment, [name for value in getattr(args, moment) for name in value.split(",")])
    if not args.print_ir_after and (
        args.print_ir_after_change
        or (args.print_ir_tree_dir and not args.print_ir_before and not args.print_ir_after_failure)
    ):
        args.print_ir_after = [EVERY_PASS]
    return args


def _run(argv: Sequence[str] | None, streams: Streams) -> int:
    parser = build_argument_parser()
    args = parse_arguments(parser, argv)
    if args.help or args.version:
        told = f"qmlir-opt {version('qmlir')} (xdsl {version('xdsl')})\n"
        streams.stdout.write(parser.format_help() if args.help else told)
        return 0
    if args.input != "-":
        existing_path(args.input)  # before the compiler is imported, which takes a while
    return running.run_opt(args, streams)


main = Main(lambda argv, streams: guarded(streams, lambda: _run(argv, streams)))

console_main = partial(console, main)
"""The entry point of the `qmlir-opt` command."""
