"""Compare compiled and interpreted models of dynamic sizes: `python -m tests.levels.dynamic --emitter llvm`."""

import argparse
import itertools
import sys

from tests.levels.dynamic.building import SIZES, DynamicModel
from tests.levels.dynamic.checking import faults_of_program
from tests.levels.dynamic.generator import drawn
from tests.levels.dynamic.models import EVERY, written


def _models(arguments: argparse.Namespace) -> dict[str, DynamicModel]:
    known = {name: written(name, is_quantized=position % 2 == 1) for position, name in enumerate(EVERY)}
    both = {f"{name}, {kind}": written(name, is_quantized=kind == "quantized") for name in EVERY for kind in _KINDS}
    start, end = arguments.seeds
    found = {**(both if arguments.both else known), **{f"seed {seed}": drawn(seed) for seed in range(start, end)}}
    return dict(itertools.islice(found.items(), arguments.part, None, arguments.parts))


_KINDS = ("float", "quantized")


def main() -> int:
    """Print each fault and the sums; 1 if a result differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.levels.dynamic", description=__doc__)
    parser.add_argument("--emitter", choices=("numba", "llvm"), default="llvm")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 200), metavar=("FIRST", "END"), help="random models")
    parser.add_argument(
        "--both", action="store_true", help="each written model in float and quantized, not one of them"
    )
    parser.add_argument("--part", type=int, default=0, help="the number of this process")
    parser.add_argument("--parts", type=int, default=1, help="how many processes share the models")
    arguments = parser.parse_args()
    models = _models(arguments)
    differing = rejected = 0
    for name, model in models.items():
        faults = faults_of_program(model, model.module(), arguments.emitter)
        for fault in faults:
            print(f"{name}: {fault}\n  {model.line}", flush=True)
        differing += any(not fault.startswith("rejected") for fault in faults)
        rejected += any(fault.startswith("rejected") for fault in faults)
    sizes = ", ".join(map(str, SIZES))
    print(f"{len(models)} models at sizes {sizes} by {arguments.emitter}: {differing} differ, {rejected} rejected")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
