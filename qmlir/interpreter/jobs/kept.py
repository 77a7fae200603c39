"""A folder that keeps the answers of a job: a run that was ended goes on with what is missing.

One file an answer, written whole or not at all. Its name is a digest of the job, the task, the code and the kind of
machine, so that no other answer takes its place; its first line has the digest of what follows. A file that is torn, or
none of ours, is written again. What lies there is data: whoever may write the folder may change what a run finds, and
nothing else.
"""

import hashlib
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from qmlir.interpreter.jobs.job import Job, Workers, content_digest
from qmlir.ir.diagnostics import text_error
from qmlir.text.files import read_regular
from qmlir.text.weights import made_folder, write_atomically

SUFFIX = ".part"

_FORMAT = b"qmlir-part"


def read_part(path: Path) -> bytes | None:
    """The answer in a file; `None` where it is not there, or torn."""
    try:
        head, _, packed = read_regular(path).partition(b"\n")
    except OSError:
        return None
    if head != _head(packed):
        return None
    try:
        return zlib.decompress(packed)
    except zlib.error:
        return None


def write_part(path: Path, content: bytes) -> None:
    """Write an answer, whole or not at all. Raises `DiagnosticError`."""
    packed = zlib.compress(content, 1)
    write_atomically(path, _head(packed) + b"\n" + packed)


def _head(packed: bytes) -> bytes:
    return _FORMAT + b" " + hashlib.sha256(packed).hexdigest().encode()


class Kept:
    """Workers whose answers are kept in a folder, and are not asked for what lies there."""

    def __init__(self, workers: Workers, folder: Path) -> None:
        """Raises `DiagnosticError` where the folder cannot be made."""
        self.made_by = workers.made_by
        self._workers = workers
        self._folder = made_folder(folder)

    @property
    def at_once(self) -> int:
        """About how many tasks are done at once."""
        return self._workers.at_once

    def map(self, job: Job, tasks: Iterable[Any]) -> Iterator[bytes]:
        """The answer of each task, known or new. Raises `DiagnosticError`."""
        key = content_digest((job.key, self.made_by))
        planned = deque[tuple[Path, bool]]()
        """Of each task that was taken where its answer lies, and whether it is known."""

        def missing() -> Iterator[Any]:
            for task in tasks:
                path = self._folder / f"{content_digest((key, task))}{SUFFIX}"
                is_known = read_part(path) is not None
                planned.append((path, is_known))
                if not is_known:
                    yield task

        def known() -> Iterator[bytes]:
            while planned and planned[0][1]:
                path, _ = planned.popleft()
                content = read_part(path)
                if content is None:
                    raise text_error(f"'{path}' was changed by another program while it was used")
                yield content

        for content in self._workers.map(job, missing()):
            yield from known()
            path, _ = planned.popleft()
            write_part(path, content)
            yield content
        yield from known()
