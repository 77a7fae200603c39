"""Takes models of the zoo through the product, each in a process of its own: `python -m benchmarks.zoo NAME…`.

What was done is kept in a folder and not done again without `--again`; `--results` writes the figures of all that is
there, from which `python -m docs.generator.results` renders `docs/models.md`.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.rows import add_results, write_results
from benchmarks.zoo.figures import notes, zoo_rows
from benchmarks.zoo.made import zoo
from benchmarks.zoo.running import Result, run_model, time_model

_ROUNDS, _SECONDS = 5, 0.3
_LIMIT = 3600
"""Seconds for one model."""


def _in_process(arguments: list[str], folder: Path, name: str) -> None:
    """One model in a process of its own: a crash or a hang is a result, too."""
    try:
        done = subprocess.run([sys.executable, "-m", "benchmarks.zoo", *arguments, "--alone", name], timeout=_LIMIT)
        fault = f"the process ended with {done.returncode}" if done.returncode else ""
    except subprocess.TimeoutExpired:
        fault = f"the process was ended after {_LIMIT} s"
    if fault:
        result = Result.load(folder) or Result(name, "", "sqnr")
        result.stage, result.cause = result.stage or "process", fault
        result.save(folder)


def main() -> int:
    """Read the command line, run what is missing, write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zoo", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a model of the folder; all by default")
    parser.add_argument("--folder", type=Path, default=Path("build/zoo"), help="where `benchmarks.zoo.make` put them")
    parser.add_argument("--kept", type=Path, metavar="DIR", help="where results are kept (default: FOLDER-results)")
    parser.add_argument("--again", action="store_true", help="also run what has a result")
    parser.add_argument("--times", action="store_true", help="take times instead, of what came through")
    add_results(parser)
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="a Dask scheduler, whose workers (started in this folder) run samples"
    )
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    results = arguments.kept or arguments.folder.parent / f"{arguments.folder.name}-results"
    models = zoo(arguments.folder)
    if unknown := [name for name in arguments.names if name not in models]:
        parser.error(f"no model {', '.join(unknown)} in {arguments.folder}; there are {', '.join(models) or 'none'}")
    for name in arguments.names or models:
        folder = results / name
        known = Result.load(folder)
        if arguments.times:
            if known is None or known.stage or (known.times and not arguments.again):
                continue
            time_model(models[name], folder, _ROUNDS, _SECONDS)
        elif arguments.alone:
            run_model(models[name], folder, arguments.cluster)
        elif known is None or arguments.again:
            more = [] if arguments.cluster is None else ["--cluster", arguments.cluster]
            _in_process(["--folder", str(arguments.folder), "--kept", str(results), *more], folder, name)
        found = Result.load(folder)
        if found is not None and not arguments.alone:
            print(f"{name}: {f'{found.stage}: {found.cause}' if found.stage else 'came through'}")
    if arguments.results and not arguments.alone:
        taken = [found for name in models if (found := Result.load(results / name)) is not None]
        print("\n".join(notes(taken)))
        arguments.threads = 1
        write_results(zoo_rows(taken), arguments)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
