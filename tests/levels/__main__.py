"""`python -m tests.levels 0 300`: random graphs down the levels; seed, stage and reduced module of each that fails."""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from tests.levels.reports import report_of
from tests.levels.stages import STAGES, Stage

GRAPHS_OF_A_PROCESS = 25


def main(argv: Sequence[str] | None = None) -> int:
    """Run the seeds from `first` to before `last`; 1 where one of them fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.levels", description=__doc__)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("last", type=int, nargs="?", default=300)
    parser.add_argument("--stage", action="append", help="only these stages")
    parser.add_argument("--pipeline", action="append", help="these passes in place of the stages, one after the other")
    parser.add_argument("--brief", action="store_true", help="a line for each graph that fails, and nothing reduced")
    parser.add_argument(
        "--processes", type=int, default=1, help="so many at once; the order of the reports is the same"
    )
    args = parser.parse_args(argv)
    stages = [stage for stage in STAGES if not args.stage or stage.name in args.stage]
    if args.pipeline:
        stages = [Stage(text, text, after) for after, text in zip(["", *args.pipeline], args.pipeline, strict=False)]
    failed = 0
    run = partial(report_of, stages=stages, is_brief=args.brief)
    # A process that compiles keeps the code: after some graphs, new processes go on.
    block = GRAPHS_OF_A_PROCESS * args.processes
    for first in range(args.first, args.last, block):
        with ProcessPoolExecutor(args.processes, get_context("spawn")) as pool:
            for report in pool.map(run, range(first, min(first + block, args.last))):
                if report:
                    failed += 1
                    sys.stdout.write(f"{report}\n")
                    sys.stdout.flush()
    sys.stdout.write(f"{args.last - args.first - failed} of {args.last - args.first} graphs are equal at all stages\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
