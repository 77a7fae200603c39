"""Makes the models of the zoo and their samples: `python -m benchmarks.zoo.make` (`pip install -e '.[zoo]'`)."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.zoo.made import Made, zoo
from benchmarks.zoo.packaged import PACKAGED
from benchmarks.zoo.torch_models import TORCH_MODELS, make_torch

MAKERS: Mapping[str, tuple[str, Callable[[], Made]]] = {
    **{name: (row.source, row.make) for name, row in PACKAGED.items()},
    **{name: (row.source, lambda name=name: make_torch(name)) for name, row in TORCH_MODELS.items()},
}
"""Where each model comes from, and what makes it."""


def main() -> int:
    """Read the command line, and make what isn't there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zoo.make", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(MAKERS)}; all by default")
    parser.add_argument("--folder", type=Path, default=Path("build/zoo"), help="where the models are put")
    parser.add_argument("--again", action="store_true", help="also make what is there")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in MAKERS]:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(MAKERS)}")
    there = {} if arguments.again else zoo(arguments.folder)
    for name in arguments.names or MAKERS:
        if name not in there:
            print(f"making {name}", file=sys.stderr)
            source, make = MAKERS[name]
            make().keep(arguments.folder / name, source)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
