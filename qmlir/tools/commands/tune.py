"""`qmlir tune`: searches schedules of a model's kernels that are faster on this machine than those of the tables."""

import argparse
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir import quantize
from qmlir.ir.diagnostics import printable
from qmlir.specialization.inputs import function_of
from qmlir.specialization.options import parse_shapes
from qmlir.specialization.specialize import specialize
from qmlir.tools.arguments import IMPORT, add_model, add_options, data_in, import_settings, load_model
from qmlir.tools.frame import Command, Session
from qmlir.tools.sizes import with_one_sample
from qmlir.tools.streams import UsageError
from qmlir.tools.tables import cells, simple_table, table_text
from qmlir.workflows.tuning import FoundKernel, TuneResult, tune

_MICRO = 1e6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `qmlir tune`."""
    add_model(parser)
    add_options(parser, "--data", help="samples to quantize a float model by (default: it stays float)")
    add_options(parser, "--preprocess")
    add = parser.add_argument
    add("--kernels", type=int, metavar="N", help="only the N kernels with the most work")
    add("--seconds", type=float, metavar="S", help="begin no kernel after S seconds; the next run continues there")
    add("--again", action="store_true", help="measure known kernels again")
    add_options(parser, *IMPORT, "--threads", "--isa")


def _module(arguments: argparse.Namespace, session: Session) -> ModuleOp:
    """The model with known sizes, quantized if there are samples; an open batch size is 1."""
    module = load_model(arguments.model, session, **import_settings(arguments))
    shapes = with_one_sample(function_of(module, "main"), parse_shapes(arguments.shape))
    if arguments.data is not None:
        module = quantize(module, data_in(arguments), progress=session.progress).module
    return specialize(module, shapes)


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Search, and print the result. Raises `DiagnosticError`."""
    if arguments.kernels is not None and arguments.kernels < 1:
        raise UsageError(f"qmlir tune: error: --kernels is 1 or more, found {arguments.kernels}\n")
    if arguments.seconds is not None and not arguments.seconds >= 0:
        raise UsageError(f"qmlir tune: error: --seconds is 0 or more, found {arguments.seconds}\n")
    found = tune(
        _module(arguments, session), isa=arguments.isa, threads=arguments.threads, kernels=arguments.kernels,
        seconds=arguments.seconds, again=arguments.again, progress=session.progress,
        on_kernel=lambda each: session.detail(_line(each)), on_trouble=lambda text: _warn(session, text),
    )  # fmt: skip
    session.emit(_value(found), lambda: _report(found, is_terminal=session.stdout.isatty()))
    return 0


def _warn(session: Session, text: str) -> None:
    session.stderr.write(f"warning: {printable(text)}\n")


def _value(found: TuneResult) -> dict[str, Any]:
    kernels = [{**vars(each.tuned), **vars(each)} for each in found.kernels]
    for each in kernels:
        del each["tuned"], each["kernel"]
    return {
        "output": found.path, "isa": found.isa, "threads": found.threads, "remaining": found.remaining,
        "kernels": kernels,
    }  # fmt: skip


def _short(schedule: str) -> str:
    """`u8s8_dot 6 x 4`, and other fields that are set."""
    fields = dict(part.split(" = ") for part in schedule.partition("<")[2].rstrip(">").split(", "))
    tile = f"{fields.get('rows', '1')} x {fields.get('vectors', '1')}"
    block = f", block {fields['block']}" if "block" in fields else ""
    divided = ", divided" if "threads" in fields else ""
    return f"{fields['variant'].strip(chr(34))} {tile}{block}{divided}"


def _line(each: FoundKernel) -> str:
    if each.tuned.schedule is None:
        return f"{each.name}: {_short(each.tuned.default)} stays, of {each.tuned.tried}"
    return f"{each.name}: {_short(each.tuned.schedule)} in place of {_short(each.tuned.default)}, {_gain(each)}"


def _gain(each: FoundKernel) -> str:
    return f"{-100 * each.tuned.gain:.0f}%" if each.tuned.schedule is not None else ""


def _saved(kernels: Sequence[FoundKernel]) -> tuple[float, float]:
    """Microseconds of a run in the kernels, by the tables and as found."""
    default = sum(len(each.nodes) * each.tuned.default_seconds for each in kernels)
    return _MICRO * default, _MICRO * sum(len(each.nodes) * each.tuned.seconds for each in kernels)


def _table(found: TuneResult, *, is_terminal: bool) -> list[str]:
    columns = ("kernel", "times", "table", "us", "found", "us", "gain")
    table = simple_table(*columns, numbers=("times", "us", "gain"))
    for each in found.kernels:
        tuned = each.tuned
        best = ("", "", "") if tuned.schedule is None else (
            _short(tuned.schedule), f"{_MICRO * tuned.seconds:.1f}", _gain(each)
        )  # fmt: skip
        table.add_row(
            *cells([each.name]),
            str(len(each.nodes)),
            _short(tuned.default),
            f"{_MICRO * tuned.default_seconds:.1f}",
            *best,
        )
    return table_text(table, is_terminal=is_terminal).splitlines()


def _report(found: TuneResult, *, is_terminal: bool) -> str:
    if not found.kernels and not found.remaining:
        return "nothing to search: the model has no matrix product or convolution without a schedule"
    lines = _table(found, is_terminal=is_terminal) if found.kernels else []
    default, best = _saved(found.kernels)
    faster = sum(each.tuned.schedule is not None for each in found.kernels)
    lines.append(
        f"{faster} of {len(found.kernels)} kernels have a faster schedule: {best:.0f} us in place of {default:.0f}; "
        f"qmlir compile takes them from {found.path}"
    )
    if found.remaining:
        lines.append(f"{found.remaining} kernels are left: a second run goes on with them")
    return "\n".join(lines)


TUNE = Command(
    add_arguments,
    run,
    epilog="Results are stored next to the cache of programs; qmlir compile uses them unless --no-tuned is given.",
)
