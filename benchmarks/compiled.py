"""Measures compiled programs beside other runtimes: `make bench-compiled`.

Models of random weights and digit classifiers against ONNX Runtime and OpenVINO; single layers against ONNX Runtime;
weights of 4 bits against those of 8; shifts against products of floats; one row by weights that no cache holds; how
time grows with sizes; compiling and starting. All in one process, in turns, on one thread and on several. `--only` and
`--model` choose, `--folder` keeps what is prepared for the next run. Exits with 1 if time or memory grows faster than a
size.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import inf
from pathlib import Path

from rich.console import Console

from benchmarks.accuracy import MODELS, NAMES
from benchmarks.contest import LIMITS, Contest, compile_only, model_sections
from benchmarks.decode import decode_sections
from benchmarks.growth import GROWTHS, SECTIONS, SLOPES, growth_section, prepare_growth
from benchmarks.layers import LAYERS, layer_section
from benchmarks.machine import machine
from benchmarks.models import BENCH_MODELS
from benchmarks.narrow import narrow_section, stored_section
from benchmarks.rows import FORMATS, BenchRow, Section, add_results, write_results
from benchmarks.shifts import shift_section
from benchmarks.starts import EMITTED, STARTED, emitters, starts
from benchmarks.subjects import Subject, prepare
from qmlir.dialects.kernel.attributes import isa_names
from qmlir.extensions.recovery.rounded_weights import STEPS
from qmlir.quantization.settings import QuantizeSettings
from qmlir.targets.cpu.host import host_isa, limits_to, runs_here
from qmlir.targets.runtimes.packages import TITLES, is_installed

ROUNDS, SECONDS = 5, 0.3
LIMITED = sorted({isa for _, names in LIMITS.values() for isa in names})


def _models(arguments: argparse.Namespace, contest: Contest, subjects: Sequence[Subject]) -> Iterator[Section]:
    yield from model_sections(subjects, arguments.threads, contest)


def _layers(arguments: argparse.Namespace, contest: Contest, subjects: Sequence[Subject]) -> Iterator[Section]:
    yield layer_section(arguments.layer or tuple(LAYERS), contest)


def _narrow(arguments: argparse.Namespace, contest: Contest, subjects: Sequence[Subject]) -> Iterator[Section]:
    yield narrow_section(contest)
    yield stored_section(contest)


def _shifts(arguments: argparse.Namespace, contest: Contest, subjects: Sequence[Subject]) -> Iterator[Section]:
    yield shift_section(contest)


def _decode(arguments: argparse.Namespace, contest: Contest, subjects: Sequence[Subject]) -> Iterator[Section]:
    yield from decode_sections(arguments.threads, contest)


def _growth(arguments: argparse.Namespace, contest: Contest, subjects: Sequence[Subject]) -> Iterator[Section]:
    for name in arguments.growth or (*GROWTHS, *SLOPES):
        yield growth_section(name, contest)


def _starts(arguments: argparse.Namespace, contest: Contest, subjects: Sequence[Subject]) -> Iterator[Section]:
    for subject in subjects:
        if subject.name in STARTED:
            yield Section(f"Compiling and starting, {subject.name}", starts(subject, contest.say))


def _emitters(arguments: argparse.Namespace, contest: Contest, subjects: Sequence[Subject]) -> Iterator[Section]:
    for subject in subjects:
        if subject.name in EMITTED:
            yield Section(f"Emitters, {subject.name}", emitters(subject, contest))


KINDS: Mapping[str, Callable[[argparse.Namespace, Contest, Sequence[Subject]], Iterator[Section]]] = {
    "models": _models,
    "layers": _layers,
    "narrow": _narrow,
    "shifts": _shifts,
    "decode": _decode,
    "growth": _growth,
    "starts": _starts,
    "emitters": _emitters,
}
"""What is measured, by what `--only` calls it."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench-compiled", description="Measures compiled programs beside peers.")
    add, every = parser.add_argument, (*BENCH_MODELS, *NAMES)
    add("--only", action="append", choices=KINDS, help="only this; may be repeated")
    add("--model", action="append", choices=every, help="only this model; may be repeated")
    add("--layer", action="append", choices=LAYERS, help="only layers of this kind; may be repeated")
    add("--growth", action="append", choices=(*GROWTHS, *SECTIONS), help="only this growth; may be repeated")
    add("--models", type=Path, default=MODELS, metavar="DIR", help="where the digit classifiers are")
    add("--threads", type=int, nargs="+", default=[1], metavar="N", help="of models, ours and the peers'")
    add(
        "--isa",
        action="append",
        choices=isa_names(),
        default=[],
        help="an instruction set that ours is also made for",
    )
    add(
        "--limit", choices=LIMITED, default="",
        help="ours for this instruction set only, OpenVINO limited to it, ONNX Runtime left out: of models",
    )  # fmt: skip
    add("--short-sums", type=int, choices=STEPS, help="weights of ours in int8 have such sums, where they are prepared")
    add("--rounds", type=int, default=ROUNDS, metavar="N", help=f"turns of each, in random order (default: {ROUNDS})")
    add("--seconds", type=float, default=SECONDS, metavar="S", help=f"a turn takes about (default: {SECONDS})")
    add("--folder", type=Path, metavar="DIR", help="where prepared models are kept; remove it to make them anew")
    add("--prepare", action="store_true", help="prepare and compile models and growth, and time nothing")
    add(
        "--processor-time", action="store_true", help="count processor time: for one thread on a busy machine",
    )  # fmt: skip
    add("--format", choices=FORMATS, default="table", help="of what is printed (default: table)")
    add_results(parser)
    return parser


def _checked(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """End with a message where options do not fit."""
    if min(arguments.threads) < 1 or arguments.rounds < 1 or not 0 < arguments.seconds < inf:
        parser.error("--threads and --rounds are at least 1, and --seconds more than 0")
    if arguments.processor_time and max(arguments.threads) > 1:
        parser.error("--processor-time adds the time of all threads up: it is for --threads 1")
    if arguments.results and len(arguments.threads) > 1:
        parser.error("--results has one caption, and takes one number of --threads")
    if arguments.limit and (arguments.only or ["models"]) != ["models"]:
        parser.error("--limit is for --only models: the peers of the others cannot be limited")
    if arguments.folder is not None:
        try:
            arguments.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"cannot keep models in {arguments.folder}: {error.strerror}")
    wanted = [*arguments.isa, *filter(None, [arguments.limit])]
    if missing := [isa for isa in wanted if not runs_here(isa)]:
        parser.error(f"this processor lacks {', '.join(missing)}: it has {host_isa()}")


def _stated(sections: Iterable[Section], arguments: argparse.Namespace) -> Iterator[BenchRow]:
    """The rows of all sections, with the settings that other measurements of the same subjects don't have."""
    for section in sections:
        settings = {
            f", {section.threads} threads": section.threads > 1,
            f", {arguments.limit}": arguments.limit,
            f", short sums {arguments.short_sums}": arguments.short_sums,
        }
        suffix = "".join(text for text, is_set in settings.items() if is_set)
        yield from (replace(row, what=f"{row.what}{suffix}") for row in section.rows)


def _limit(isa: str) -> None:
    """Begin again in an environment in which numba and the peers are limited: they read it when they are loaded."""
    limits = {**limits_to(isa), **{variable: names[isa] for variable, names in LIMITS.values()}}
    if any(os.environ.get(variable) != value for variable, value in limits.items()):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **limits})


def main() -> int:
    """Measure, and print tables."""
    parser = _parser()
    arguments = parser.parse_args()
    _checked(parser, arguments)
    progress = Console(stderr=True)
    for package in TITLES:
        if not is_installed(package):
            progress.print(f"{TITLES[package]} is left out: the package {package} is not installed")
    names: Sequence[str] = arguments.model or (*BENCH_MODELS, *NAMES)
    if not set(names) <= set(BENCH_MODELS) and not arguments.models.is_dir():
        progress.print(f"no digit classifiers in {arguments.models}: say where they are with --models")
        if arguments.model:
            return 1
        names = tuple(BENCH_MODELS)
    kinds: Sequence[str] = arguments.only or (("models",) if arguments.model or arguments.limit else tuple(KINDS))
    if arguments.limit:
        _limit(arguments.limit)
    clock = time.process_time if arguments.processor_time else time.perf_counter
    head = {
        **machine(),
        **({"limit": arguments.limit} if arguments.limit else {}),
        **({"short sums": arguments.short_sums} if arguments.short_sums else {}),
        "clock": "processor" if arguments.processor_time else "wall",
        "rounds": arguments.rounds,
    }
    with ExitStack() as stack:
        folder = arguments.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="qmlir-bench-")))
        contest = Contest(
            arguments.rounds, arguments.seconds, clock, folder, arguments.isa, progress.print, arguments.limit
        )
        settings: QuantizeSettings = (
            {"accumulator_bits": 16, "accumulator_pairs": arguments.short_sums} if arguments.short_sums else {}
        )
        wanted = names if {"models", "starts", "emitters"} & set(kinds) else ()
        subjects = [prepare(name, folder, arguments.models, progress.print, settings) for name in wanted]
        if arguments.prepare:
            for subject in subjects:
                for threads in arguments.threads:
                    compile_only(subject, threads, contest)
            for name in (arguments.growth or GROWTHS) if "growth" in kinds else ():
                prepare_growth(name, contest)
            return 0
        sections = [section for kind in kinds for section in KINDS[kind](arguments, contest, subjects)]
    if not any(section.rows for section in sections):
        progress.print(f"no figures: --only {', '.join(kinds)} covers none of the models {', '.join(names)}")
        return 1
    arguments.threads = arguments.threads[0] if len(arguments.threads) == 1 else arguments.threads
    write_results(_stated(sections, arguments), arguments)
    FORMATS[arguments.format](head, [*contest.peak_section(), *sections])
    missed = [row for section in sections for row in section.rows if row.is_required and row.verdict == "MISSED"]
    for row in missed:
        progress.print(f"failed: {row.title} is {row.figure:.3g} {row.unit}, at most {row.bar:.3g}")
    return bool(missed)


if __name__ == "__main__":
    raise SystemExit(main())
