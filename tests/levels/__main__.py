"""`python -m tests.levels 0 300`: random graphs down the levels; seed, stage and reduced module of each that fails.

A graph's loops are those for one instruction set, in turn, and several graphs at once are compiled by each emitter for
one, in turn; with `--singly` each graph takes each set, by itself. With `--in-turn` it takes one stage and one emitter.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from tempfile import TemporaryDirectory

from tests.levels.generator import case_of_one, case_of_wide
from tests.levels.recipes import case_by_recipe
from tests.levels.reports import Choice, case_kept, reports_of
from tests.levels.stages import STAGES, Stage

TOGETHER = 10
"""So many graphs are compiled as one program."""

PROGRAMS_OF_A_PROCESS = 6
"""A process that compiles keeps the code: after so many programs, new processes go on."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the seeds from `first` to before `last`; 1 where one of them fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.levels", description=__doc__)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("last", type=int, nargs="?", default=300)
    parser.add_argument("--stage", action="append", help="only these stages")
    parser.add_argument("--pipeline", action="append", help="these passes in place of the stages, one after the other")
    parser.add_argument("--row", action="append", default=[], help="each graph is one operation of these rows")
    parser.add_argument("--wide", action="store_true", help="storage of 17 to 32 bits only")
    parser.add_argument("--recipes", action="store_true", help="each graph is a layer whose parts a recipe decides")
    parser.add_argument("--brief", action="store_true", help="a line for each graph that fails, and nothing reduced")
    parser.add_argument("--quick", action="store_true", help="no stage that interprets loops or compiles")
    parser.add_argument("--in-turn", action="store_true", help="each graph takes one stage and one emitter")
    parser.add_argument("--singly", action="store_true", help="each graph by itself, for each instruction set")
    parser.add_argument(
        "--processes", type=int, default=1, help="so many at once; the order of the reports is the same"
    )
    args = parser.parse_args(argv)
    stages = [stage for stage in STAGES if not args.stage or stage.name in args.stage]
    if args.quick:
        stages = [stage for stage in stages if not stage.is_slow]
    if args.pipeline:
        stages = [Stage(text, text, after) for after, text in zip(["", *args.pipeline], args.pipeline, strict=False)]
    with TemporaryDirectory() as folder:
        os.environ.setdefault("QMLIR_CACHE_DIR", folder)  # programs that nobody runs again
        failed = _failed(args, stages)
    sys.stdout.write(f"{args.last - args.first - failed} of {args.last - args.first} graphs are equal at all stages\n")
    return int(failed > 0)


def _failed(args: argparse.Namespace, stages: Sequence[Stage]) -> int:
    """How many graphs fail; writes their reports."""
    failed = 0
    case_at = partial(case_of_one, names=tuple(args.row)) if args.row else case_kept
    case_at = partial(case_of_wide, names=tuple(args.row)) if args.wide else case_at
    case_at = case_by_recipe if args.recipes else case_at
    choice = Choice.SINGLY if args.singly else Choice.IN_TURN if args.in_turn else Choice.TOGETHER
    run = partial(reports_of, stages=stages, is_brief=args.brief, choice=choice, case_at=case_at)
    chunks = [range(first, min(first + TOGETHER, args.last)) for first in range(args.first, args.last, TOGETHER)]
    block = PROGRAMS_OF_A_PROCESS * args.processes
    for first in range(0, len(chunks), block):
        own = chunks[first : first + block]
        with ProcessPoolExecutor(args.processes, get_context("spawn")) as pool:
            for reports in pool.map(run, own):
                failed += len(reports)
                for report in reports:
                    sys.stdout.write(f"{report}\n")
                sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main())
