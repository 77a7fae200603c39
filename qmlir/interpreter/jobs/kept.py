"""A folder that keeps the answers of a job: a run that was ended goes on with what is missing.

One file an answer, written whole or not at all. Its name is a digest of the job, the task, the code and the kind of
machine, so that no other answer takes its place; its first line has the digest of what follows, which is not packed: a
small file cannot grow. A file that is torn, or none of ours, or whose content does not fit its task, is written again.
What lies there is data: whoever may write the folder may change what a run finds, and nothing else.
"""

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from qmlir.interpreter.jobs.job import Job, Workers, content_digest
from qmlir.ir.diagnostics import text_error
from qmlir.text.files import check_output, read_regular
from qmlir.text.writing import check_folder, made_folder, write_own

SUFFIX = ".part"

LARGEST = 1 << 30
"""Bytes of a file that is read: a file with holes may say to be any size."""

_FORMAT = b"qmlir-part-2"


def read_part(path: Path) -> bytes | None:
    """The answer in a file; `None` where it is not there, or torn."""
    try:
        found = read_regular(path, LARGEST, follow=False)
    except OSError:
        return None
    head, _, content = found.partition(b"\n")
    return content if head == _head(content) else None


def write_part(path: Path, content: bytes) -> None:
    """Write an answer, whole or not at all. Raises `DiagnosticError`, for a link or a pipe at `path` too."""
    write_own(path, _head(content) + b"\n" + content)


def _head(content: bytes) -> bytes:
    return _FORMAT + b" " + hashlib.sha256(content).hexdigest().encode()


class Kept:
    """Workers whose answers are kept in a folder, and are not asked for what lies there."""

    def __init__(self, workers: Workers, folder: Path) -> None:
        """Raises `DiagnosticError` if the folder cannot be made."""
        check_folder(folder)
        self.made_by = workers.made_by
        self._workers = workers
        self._folder = folder

    @property
    def at_once(self) -> int:
        """About how many tasks are done at once."""
        return self._workers.at_once

    def map(self, job: Job, tasks: Iterable[Any]) -> Iterator[bytes]:
        """The answer of each task, known or new. Raises `DiagnosticError`."""
        key = content_digest((job.key, self.made_by))
        planned = deque[tuple[Path, bytes | None]]()
        """Of each task that was taken where its answer lies, and how its file begins where it is known."""

        def found(path: Path, task: Any) -> bytes | None:
            content = read_part(path)
            if content is None or not (job.fits is None or job.fits(task, content)):
                return None
            return _head(content)

        def missing() -> Iterator[Any]:
            for task in tasks:
                path = self._folder / f"{content_digest((key, task))}{SUFFIX}"
                head = found(path, task)
                planned.append((path, head))
                if head is None:
                    yield task

        def known() -> Iterator[bytes]:
            while planned and planned[0][1] is not None:
                path, head = planned.popleft()
                content = read_part(path)
                if content is None or _head(content) != head:
                    raise text_error(f"another program changed '{path}' while it was in use")
                yield content

        for content in self._workers.map(job, missing()):
            yield from known()
            path, _ = planned.popleft()
            check_output(self._folder)
            made_folder(self._folder)
            write_part(path, content)
            yield content
        yield from known()
