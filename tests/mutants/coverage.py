"""Which test executes which block of code, and how long it takes: the map by which tests are chosen for a mutant.

The map is taken by running the tests once with marks in the code, and kept in `build/mutants/map.json`. Blocks go by
names that outlast changes elsewhere, so that an older map still chooses well.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import pytest

from tests.mutants.loading import block_around, load_marked
from tests.mutants.mutations import ROOT, Mutant, subjects

FILE = ROOT / "build" / "mutants" / "map.json"
MAPPED = ("tests/filecheck", "tests/unit", "tests/levels")
LEFT_OUT = ("tests/unit/test_docs", "tests/unit/test_lit.py", "tests/unit/test_run_lines.py", "tests/unit/tools")
"""What runs everything, or other programs, and says little of one place."""

MOST_FRESH = 3
"""So many test files are taken that are newer than the map, those with the name of the module first."""

LEVELS = "tests/levels/"


def cpu_seconds() -> float:
    """What this process and those that it has waited for have used."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


@dataclass
class Coverage:
    """Tests by name: seconds, and the numbers of the blocks that they execute, as bits."""

    blocks: dict[str, int] = field(default_factory=dict[str, int])
    tests: dict[str, tuple[float, int]] = field(default_factory=dict[str, tuple[float, int]])

    @classmethod
    def load(cls) -> "Coverage":
        """The map as it was kept; an empty one where there is none."""
        if not FILE.exists():
            return cls()
        kept = json.loads(FILE.read_text())
        tests = {name: (seconds, int(bits, 16)) for name, (seconds, bits) in kept["tests"].items()}
        return cls({name: number for number, name in enumerate(kept["blocks"])}, tests)

    def save(self) -> None:
        """Keep it."""
        FILE.parent.mkdir(parents=True, exist_ok=True)
        tests = {name: (round(seconds, 3), f"{bits:x}") for name, (seconds, bits) in self.tests.items()}
        FILE.write_text(json.dumps({"blocks": list(self.blocks), "tests": tests}))

    def record(self, name: str, seconds: float, executed: set[str]) -> None:
        """What one test did."""
        bits = 0
        for block in executed:
            bits |= 1 << self.blocks.setdefault(block, len(self.blocks))
        self.tests[name] = seconds, bits

    def executing(self, mutant: Mutant) -> list[str]:
        """The tests that execute the mutant's block: the quickest of each file first, mirrored files four times."""
        block = block_around(mutant)
        if block in self.blocks:
            wanted = 1 << self.blocks[block]
        else:  # a module's own statements, or a block that is newer than the map
            wanted = sum(1 << number for name, number in self.blocks.items() if name.startswith(mutant.path + ":"))
        found = [name for name, (_, bits) in self.tests.items() if bits & wanted]
        order: dict[str, tuple[float, float]] = {}
        taken: Counter[str] = Counter()
        for name in sorted(found, key=lambda name: self.tests[name][0]):
            file = name.partition("::")[0]
            order[name] = taken[file] / (4 if is_mirrored(name, mutant.path) else 1), self.tests[name][0]
            taken[file] += 1
        return sorted(found, key=order.__getitem__)

    def chosen(self, mutant: Mutant, seconds: float) -> list[str]:
        """The tests to hold a mutant against, for at most so many seconds, and one of the random graphs."""
        tests, left = [], seconds
        executing = self.executing(mutant)
        for name in executing:
            left -= self.tests[name][0]
            if left < 0 and tests:
                break
            tests.append(name)
        graphs = [name for name in executing if name.startswith(LEVELS) and name not in tests]
        known = {name.partition("::")[0] for name in self.tests}
        fresh = [path for path in mirrored_files(mutant.path) if path not in known]
        return [*fresh[:MOST_FRESH], *tests, *graphs[:1]]

    def seconds(self, tests: Sequence[str]) -> float:
        """What these tests took."""
        return sum(self.tests.get(name, (5.0, 0))[0] for name in tests)


def _folders(path: str) -> tuple[str, str]:
    """Where the tests of a module are."""
    folder = PurePosixPath(path).relative_to("qmlir").parent
    return f"tests/filecheck/{folder}", f"tests/unit/{folder}"


def mirrored_files(path: str) -> list[str]:
    """The test files that stand where the module stands, those with its name first."""
    found = [
        each.relative_to(ROOT).as_posix()
        for folder, pattern in zip(_folders(path), ("*.mlir", "test_*.py"), strict=True)
        for each in (ROOT / folder).glob(pattern)
    ]
    stem = PurePosixPath(path).stem
    return sorted(found, key=lambda name: (not PurePosixPath(name).name.removeprefix("test_").startswith(stem), name))


def is_mirrored(test: str, path: str) -> bool:
    """Whether a test stands where the module stands."""
    return any(PurePosixPath(test).is_relative_to(folder) for folder in _folders(path))


class Recorder:
    """A plug-in of pytest that records what each test executes."""

    def __init__(self, coverage: Coverage):
        self.coverage = coverage
        self.executed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.executed.clear()
        before, started = cpu_seconds(), time.monotonic()
        result = yield
        seconds = max(cpu_seconds() - before, min(time.monotonic() - started, 0.001))
        self.coverage.record(item.nodeid, seconds, self.executed)
        return result


def take(paths: Sequence[str], marks: str) -> None:
    """Run tests with marks in the code, and add what they execute to the map. Never in the process that goes on."""
    coverage = Coverage.load()
    recorder = Recorder(coverage)
    load_marked(subjects(), recorder.executed.add)
    left_out = [f"--ignore-glob={ROOT / name}*" for name in LEFT_OUT]
    pytest.main(["-q", "-p", "no:cacheprovider", "-m", marks, *left_out, *(paths or MAPPED)], plugins=[recorder])
    coverage.save()
