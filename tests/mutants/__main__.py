"""`python -m tests.mutants --count 60`: seeded mutants, the tests that kill them, and the survivors."""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.mutants import coverage, running, survivors
from tests.mutants.coverage import Coverage
from tests.mutants.mutations import Mutant, drawn, mutants_of, subjects
from tests.mutants.running import Verdict, verdicts


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="how many mutants to draw (default: %(default)s)")
    parser.add_argument("--skip", type=int, default=0, help="leave out so many of the first that the seed draws")
    parser.add_argument("--seed", type=int, default=0, help="which ones to draw (default: %(default)s)")
    parser.add_argument("--only", action="append", metavar="PATH[:LINE]", help="all mutants of a module or a line")
    parser.add_argument("--explained", action="store_true", help="the mutants of survivors.toml, which must survive")
    parser.add_argument("--tests", nargs="+", metavar="TEST", help="hold the mutants against these, and need no map")
    parser.add_argument("--seconds", type=float, default=30, help="of tests for a mutant (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=1, help="so many mutants at once (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="print the mutants and their tests, and run nothing")
    parser.add_argument("--verbose", action="store_true", help="a line for each mutant, and entries for survivors.toml")
    parser.add_argument("--map", nargs="*", metavar="TEST", help="take the map of these tests anew, or of all, and end")
    return parser


def _mutants(args: argparse.Namespace) -> list[Mutant]:
    if args.explained:
        return [mutant for _, mutant in survivors.mutants_explained(survivors.explained()) if mutant is not None]
    if not args.only:
        found = drawn((each for path in subjects() for each in mutants_of(path)), args.seed)
        return found[args.skip : args.skip + args.count]
    wanted = [(path, int(line or 0)) for path, _, line in (each.partition(":") for each in args.only)]
    return [each for path, line in wanted for each in mutants_of(path) if line in (0, each.line)]


def _take_map(tests: Sequence[str]) -> int:
    """Take the map in a process of its own, which the terminal sees."""
    process = os.fork()
    if not process:
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            os.environ["QMLIR_CACHE_DIR"] = folder
            coverage.take(tests, "not referee and not sweep and not conformance")
        os._exit(0)
    return os.waitpid(process, 0)[1]


def _report(found: Sequence[Verdict], is_verbose: bool) -> int:
    """Print the survivors that nothing explains and the explanations that do not hold; whether there are any."""
    entries = survivors.explained()
    reasons = {entry.key: entry.reason for entry in entries}
    alive = [each.mutant for each in found if not each.killer]
    unexplained = [each for each in alive if each.key not in reasons]
    stale = [f"{entry.path} {entry.before}" for entry, now in survivors.mutants_explained(entries) if now is None]
    stale += [f"{each.mutant}: killed by {each.killer}" for each in found if each.killer and each.mutant.key in reasons]
    for each in unexplained:
        print(f"survives: {each}")
    if is_verbose:
        print(*map(survivors.entry_text, unexplained), sep="\n")
    for text in stale:
        print(f"no longer a survivor, in survivors.toml: {text}")
    seconds = sum(each.seconds for each in found) / max(len(found), 1)
    explained = len(alive) - len(unexplained)
    print(f"{len(found) - len(alive)} of {len(found)} mutants killed", end=", ")
    print(f"{explained} survivors explained, {len(unexplained)} not; {seconds:.1f} s of a processor each")
    return int(bool(unexplained or stale))


def main(argv: Sequence[str] | None = None) -> int:
    """Draw and run; 1 where a survivor has no reason, or a reason no survivor."""
    args = _parser().parse_args(argv)
    running.import_libraries()
    if args.map is not None:
        return _take_map(args.map)
    if not args.tests and not coverage.FILE.exists():
        print("there is no map of the tests: taking it, which happens once", flush=True)
        _take_map(())
    tests_of = Coverage.load()

    def work() -> Iterator[tuple[Mutant, list[str], float]]:
        for mutant in _mutants(args):
            tests = args.tests or tests_of.chosen(mutant, args.seconds)
            yield mutant, tests, tests_of.seconds(tests)

    if args.list:
        for mutant, tests, seconds in work():
            print(f"{mutant}: {len(tests)} tests of {seconds:.0f} s", *tests if args.verbose else (), sep="\n  ")
        return 0
    found: list[Verdict] = []
    for verdict in verdicts(work(), args.processes):
        found.append(verdict)
        if args.verbose or not verdict.killer:
            told = f"killed by {verdict.killer}" if verdict.killer else f"survives {verdict.tests} tests"
            print(f"{len(found)} {verdict.mutant}: {told} ({verdict.seconds:.1f} s)", flush=True)
    return _report(found, args.verbose)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    sys.exit(main())
