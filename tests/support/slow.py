"""Which tests `make test` leaves out, because they take long.

`tests/slow.txt` lists their functions. `python -m tests.support.slow REPORT.xml` writes it from a report of
`pytest --junitxml REPORT.xml`: a function is listed if all its cases together take at least `--seconds`.
"""

import argparse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import pytest

LIST = Path(__file__).resolve().parents[1] / "slow.txt"


def function_name(nodeid: str) -> str:
    """The name of a test's function, without the case, as reports have it: `tests.unit.test_order::test_longest`."""
    path, _, name = nodeid.partition("::")
    return f"{path.removesuffix('.py').replace('/', '.')}::{name.partition('[')[0]}"


def listed() -> frozenset[str]:
    """The functions of the list."""
    return frozenset(LIST.read_text(encoding="utf-8").split())


def mark_slow(items: Iterable[pytest.Item]) -> None:
    """Mark the tests of the listed functions."""
    slow = listed()
    for item in items:
        if function_name(item.nodeid) in slow:
            item.add_marker(pytest.mark.slow)


def main() -> None:
    """Write the list."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.slow", description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("--seconds", type=float, default=1.0)
    args = parser.parse_args()
    seconds = Counter[str]()
    for case in ElementTree.parse(args.report).iter("testcase"):
        name = case.attrib["name"].partition("[")[0]
        seconds[f"{case.attrib['classname']}::{name}"] += float(case.attrib["time"])
    slow = sorted(name for name, total in seconds.items() if total >= args.seconds)
    LIST.write_text("".join(f"{name}\n" for name in slow), encoding="utf-8")
    print(f"{len(slow)} functions take {sum(seconds[name] for name in slow):.0f} of {seconds.total():.0f} s")


if __name__ == "__main__":
    main()
