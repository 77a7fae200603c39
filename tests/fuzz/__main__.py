"""`python -m tests.fuzz recipe 20000`: damaged files; what ends in anything but a result or a plain line is told."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.frame import report
from tests.fuzz.kinds import KINDS


def main(argv: Sequence[str] | None = None) -> int:
    """Read damaged files of one kind or of all; 1 where one was read wrongly."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("kind", choices=[*(kind.name for kind in KINDS), "all"])
    parser.add_argument("count", type=int, nargs="?", default=1000, help="files of each kind")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the files that are read wrongly there")
    args = parser.parse_args(argv)
    numbers = range(args.first, args.first + args.count)
    kinds = [kind for kind in KINDS if args.kind in (kind.name, "all")]
    return int(sum(report(kind, args.seed, numbers, args.keep) for kind in kinds) > 0)


if __name__ == "__main__":
    sys.exit(main())
