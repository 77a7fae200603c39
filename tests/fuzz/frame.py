"""Runs readers on damaged files, in children that may crash, hang or grow without harm to the parent.

A seed and a number determine a damaged file, so that a finding is a pair of numbers: `Kind.damaged(seed, number)`.
"""

import io
import os
import re
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import numpy as np

from qmlir.ir.diagnostics import DiagnosticError

SECONDS = 5.0
"""A file that takes longer hangs: seconds of this process, so that other work beside it does not count."""
_SECONDS_OF_WAITING = 24 * SECONDS
"""What waits for something takes no time of the process: it hangs after so many seconds of the clock."""
GIGABYTES = 1.0
"""A child whose resident memory has grown by more than that has lost its bounds."""
_FILES_OF_A_CHILD = 200
_RAW = re.compile(r"\b(?!InputError\b)[A-Z]\w*(?:Error|Exception)\b|^Traceback|StopIteration", re.MULTILINE)
"""The name of a Python exception in a message: a fault of ours that a boundary put into words."""


@dataclass(frozen=True)
class Outcome:
    """What a tool did with a file: its exit code, and what it wrote to standard error."""

    code: int
    said: str


@dataclass(frozen=True)
class Kind:
    """Files of one kind.

    `whole` gives sound files by name. `damage` changes the bytes of one; it draws from the generator alone. `read`
    hands the damaged file to a tool in this process.
    """

    name: str
    suffix: str
    whole: Callable[[], Mapping[str, bytes]]
    damage: Callable[[np.random.Generator, bytes, Sequence[bytes]], bytes]
    read: Callable[[Path], Outcome]

    def damaged(self, seed: int, number: int) -> tuple[str, bytes]:
        """The name of the file that it was, and its bytes now; `damage` is given all whole files to take parts from."""
        files = _whole_files(self)
        rng = np.random.default_rng([crc32(self.name.encode()), seed, number])
        name = list(files)[int(rng.integers(len(files)))]
        return name, self.damage(rng, files[name], list(files.values()))


@cache
def _whole_files(kind: Kind) -> Mapping[str, bytes]:
    return kind.whole()


@dataclass(frozen=True)
class Finding:
    """A damaged file that was not read as it should be: `what` is a line, `detail` the traceback or the message."""

    number: int
    origin: str
    what: str
    detail: str


def run_tool(main: Callable[..., int], arguments: Sequence[str]) -> Outcome:
    """The `main` of one of our tools, its streams caught."""
    err = io.StringIO()
    code = main(list(arguments), stdin=io.StringIO(), stdout=io.StringIO(), stderr=err)
    return Outcome(code, err.getvalue())


def run_reader(read: Callable[[], object]) -> Outcome:
    """A function of ours that reads a file: what it rejects is one line."""
    try:
        read()
    except DiagnosticError as error:
        message = error.diagnostic.message
        return Outcome(1 if "\n" not in message.strip() else -1, message)
    return Outcome(0, "")


def judged(outcome: Outcome) -> str | None:
    """What is wrong with how a tool ended, if anything: a file is read, or refused with a reason in plain words."""
    if outcome.code not in (0, 1, 2):
        return f"exit code {outcome.code}"
    if outcome.code and not outcome.said.strip():
        return "refused without a word"
    raw = _RAW.search(outcome.said)
    return f"a raw {raw[0]}" if raw else None


def findings(kind: Kind, seed: int, numbers: range) -> Iterator[Finding]:
    """What is wrong with the reading of these files, in the order of their numbers."""
    _whole_files(kind)  # read once, in the parent: children inherit it
    first = numbers.start
    while first < numbers.stop:
        last = min(first + _FILES_OF_A_CHILD, numbers.stop)
        first = yield from _findings_of_child(kind, seed, range(first, last))


def _findings_of_child(kind: Kind, seed: int, numbers: range) -> Iterator[Finding]:
    """Those of one child. Returns the number to go on with: a child that hangs or crashes ends at its file."""
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(kind, seed, numbers, theirs))
    child.start()
    theirs.close()
    number = numbers.start
    try:
        while number < numbers.stop:
            if not select.select([ours], [], [], _SECONDS_OF_WAITING)[0]:
                os.kill(child.pid or 0, signal.SIGKILL)
                child.join()
                yield Finding(number, kind.damaged(seed, number)[0], "hangs: waits", "")
                return number + 1
            try:
                wrong = ours.recv()
            except EOFError:
                child.join()
                is_late = child.exitcode == -signal.SIGPROF
                what = f"hangs: over {SECONDS:g} s" if is_late else f"crashes: exit code {child.exitcode}"
                yield Finding(number, kind.damaged(seed, number)[0], what, "")
                return number + 1
            if wrong is not None:
                yield Finding(number, kind.damaged(seed, number)[0], *wrong)
            number += 1
    finally:
        ours.close()
        child.join(1)
        if child.is_alive():
            child.kill()
    return number


def _child(kind: Kind, seed: int, numbers: range, answers: Connection) -> None:
    """Read the files; send None or what is wrong for each. What memory grew by belongs to the file that was read.

    Whatever takes too long ends with the process, by a signal that nothing here handles.
    """
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nothing, stream)
    inherited = _peak_of_memory()  # the parent is a test runner, which may itself have more than a child may take
    with TemporaryDirectory(prefix="qmlir-fuzz-") as folder:
        os.chdir(folder)
        for number in numbers:
            path = Path(folder) / f"file{kind.suffix}"
            path.write_bytes(kind.damaged(seed, number)[1])
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            answers.send(_read(kind, path, inherited + GIGABYTES * 2**20))


def _peak_of_memory() -> int:
    """The most resident memory that this process had, in KiB. A forked process starts with that of its parent."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _read(kind: Kind, path: Path, most_memory: float) -> tuple[str, str] | None:
    try:
        outcome = kind.read(path)
    except BaseException as error:  # this is what is looked for
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}", traceback.format_exc()
    wrong = judged(outcome)
    if wrong is None and _peak_of_memory() > most_memory:
        wrong = f"takes over {GIGABYTES} GB of memory"
    return None if wrong is None else (wrong, outcome.said)


def report(kind: Kind, seed: int, numbers: range, keep: Path | None) -> int:
    """Print what is found, alike findings once with their count, and return how many files were read wrongly."""
    start, seen, count = time.monotonic(), dict[str, int](), 0
    for finding in findings(kind, seed, numbers):
        count += 1
        seen[finding.what] = seen.get(finding.what, 0) + 1
        if seen[finding.what] == 1:
            sys.stdout.write(f"{kind.name} {finding.number} ({finding.origin}): {finding.what}\n{finding.detail}\n")
            sys.stdout.flush()
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{kind.name}_{seed}_{finding.number}{kind.suffix}").write_bytes(
                kind.damaged(seed, finding.number)[1]
            )
    for what, times in sorted(seen.items(), key=lambda each: -each[1]):
        sys.stdout.write(f"{times:6} {what}\n")
    sys.stdout.write(f"{kind.name}: {count} of {len(numbers)} wrong, {time.monotonic() - start:.0f} s\n")
    return count
