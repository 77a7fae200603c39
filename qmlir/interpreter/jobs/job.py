"""A job: what a process begins once, and then does with one task after the other; and who does jobs.

Jobs and tasks are data: the function that begins a job is found by its name, so both may go to another process or to
another machine. An answer is bytes, and it depends on the job and its task alone: not on who gives it, nor on what else
they did before. So answers that come in the order of their tasks are the same for any number of workers, for any
division among them, and for workers that end in the middle, whose tasks others do again.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler, emit, text_error

Begun = Callable[[Any], bytes]
"""What gives the answer of a task. One thread at a time calls it."""


@dataclass(frozen=True)
class Job:
    """What is done with tasks. `begin` is a function of a module; `shared` is data that all tasks need."""

    begin: Callable[[Any], Begun]
    shared: Any
    fits: Callable[[Any, bytes], bool] | None = field(default=None, kw_only=True)
    """Whether bytes that were found somewhere may be the answer of a task. It is a function of a module."""

    plug_ins: tuple[str, ...] = field(default_factory=registry.plug_ins)
    plugged_code: str = field(default_factory=registry.plugged_code)
    """A digest of the code of the plug-ins: their names may stand for another one tomorrow, and elsewhere."""

    @cached_property
    def key(self) -> str:
        """A digest of all that its answers depend on, but for the code of qmlir and the machine."""
        plugged = (self.plug_ins, self.plugged_code)
        return content_digest((self.begin.__module__, self.begin.__qualname__, self.shared, plugged))

    def begun(self) -> Begun:
        """Begin here, in a process that goes on with the plug-ins of the run. Raises `DiagnosticError`."""
        self.continue_here()
        return self.begin(self.shared)

    def continue_here(self) -> None:
        """Go on with the plug-ins of the run. Raises `DiagnosticError` where there are none such, or other ones."""
        if self.plug_ins != registry.plug_ins():
            try:
                registry.continue_with(self.plug_ins)
            except registry.PackageError as error:
                raise text_error(str(error)) from error
        if self.plugged_code != registry.plugged_code():
            names = ", ".join(self.plug_ins)
            raise text_error(f"a worker has other versions of plug-ins: {names}; restart it with the same plug-ins")


class Workers(Protocol):
    """Those who do jobs."""

    @property
    def made_by(self) -> str:
        """What the bits of answers may depend on besides job and task: the code and the machine, in one word."""
        ...

    @property
    def at_once(self) -> int:
        """About how many tasks are done at once."""
        ...

    def map(self, job: Job, tasks: Iterable[Any]) -> Iterator[bytes]:
        """The answer of each task, in order; few tasks are taken ahead.

        Raises `DiagnosticError` where a task does, and where those who do the job are lost.
        """
        ...


def content_digest(content: Any) -> str:
    """The SHA-256 of data: arrays, bytes, numbers, text, and sequences, mappings and dataclasses of such."""
    found = hashlib.sha256()
    _feed(found.update, content)
    return found.hexdigest()


def _feed(update: Callable[[bytes], object], content: Any) -> None:
    if isinstance(content, np.ndarray):
        array = cast(Array, content)
        update(f"array {array.dtype} {array.shape} ".encode())
        update(np.ascontiguousarray(array).tobytes())
    elif isinstance(content, bytes):
        update(f"bytes {len(content)} ".encode())
        update(content)
    elif content is None or isinstance(content, str | int | float):
        update(f"{type(content).__name__} {content!r} ".encode())
    elif is_dataclass(content):
        update(f"{type(content).__qualname__} ".encode())
        _feed(update, {each.name: getattr(content, each.name) for each in fields(content)})
    elif isinstance(content, Mapping):
        named = cast(Mapping[Any, Any], content)
        update(f"mapping {len(named)} ".encode())
        for name in sorted(named):
            _feed(update, (name, named[name]))
    elif isinstance(content, Sequence):
        listed = cast(Sequence[Any], content)
        update(f"sequence {len(listed)} ".encode())
        for each in listed:
            _feed(update, each)
    else:
        raise TypeError(f"a job must contain only data, but got {type(content).__name__}")


# Answers


@dataclass(frozen=True)
class Answer:
    """What comes back from another process: the bytes, and what was said; or why there are none."""

    content: bytes
    said: tuple[Diagnostic, ...] = ()
    failed: tuple[Diagnostic, ...] = ()


def _sent(diagnostic: Diagnostic) -> Diagnostic:
    """Without its operation, which the message names, and without its place in a text that is there alone."""
    return replace(diagnostic.for_caller(), op=None, location=None, notes=tuple(map(_sent, diagnostic.notes)))


def answered(work: Callable[[], bytes]) -> Answer:
    """What `work` gives, for another process."""
    said: list[Diagnostic] = []
    try:
        with diagnostic_handler(said.append):
            content = work()
    except DiagnosticError as error:
        return Answer(b"", tuple(map(_sent, said)), tuple(map(_sent, error.diagnostics)))
    return Answer(content, tuple(map(_sent, said)))


@dataclass
class Taking:
    """Takes the answers of one job: what many processes say is said once."""

    _said: set[str] = field(default_factory=set[str])

    def taken(self, answer: Answer) -> bytes:
        """The bytes. Raises `DiagnosticError` where there are none."""
        for each in answer.said:
            if str(each) not in self._said:
                self._said.add(str(each))
                emit(each)
        if answer.failed:
            raise DiagnosticError(*answer.failed)
        return answer.content


_Sent = TypeVar("_Sent")


def in_order(
    tasks: Iterable[Any], send: Callable[[Any], _Sent], receive: Callable[[_Sent], bytes], ahead: Callable[[], int]
) -> Iterator[bytes]:
    """The answers of tasks that are sent, so many `ahead` of the one that is waited for."""
    waiting = deque[_Sent]()
    for task in tasks:
        waiting.append(send(task))
        while len(waiting) >= ahead():
            yield receive(waiting.popleft())
    while waiting:
        yield receive(waiting.popleft())


class Here:
    """This process, which does one task after the other."""

    at_once = 1

    def __init__(self, made_by: str = "") -> None:
        self.made_by = made_by

    def map(self, job: Job, tasks: Iterable[Any]) -> Iterator[bytes]:
        """The answer of each task."""
        begun: Begun | None = None
        for task in tasks:
            begun = job.begin(job.shared) if begun is None else begun
            yield begun(task)
