"""Reports faults in packages, and finds source locations in their code."""

import inspect
import linecache
import logging
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, FrameType, TracebackType

# Source locations such as `fancy/ops.py:12`: where a hook is defined, or where an exception was raised.

_IMPORT_SYSTEM = "importlib"
_OWN = ("qmlir", "xdsl", _IMPORT_SYSTEM)


def position(path: str, line: int) -> str:
    """Returns `path:line`, with the path relative to the working directory if the file is inside it."""
    inside = os.path.join(os.getcwd(), "")
    return f"{path.removeprefix(inside)}:{line}"


def caller(depth: int) -> str:
    """Returns the location of the call `depth` frames above the caller; empty if Python provides no frames."""
    frame = inspect.currentframe()
    for _ in range(depth + 1):
        frame = frame and frame.f_back
    return position(frame.f_code.co_filename, frame.f_lineno) if frame else ""


_OWN_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_WRAPPERS = ("__wrapped__", "func", "__func__", "py_func")


def _code_of(function: object) -> CodeType | None:
    """Returns the code of a function, a method, a wrapper made by `functools`, or a callable object."""
    for _ in range(16):  # a bound, because a package could build a cycle of wrappers
        inner = next((found for name in _WRAPPERS if (found := getattr(function, name, None)) is not None), None)
        if inner is None:
            break
        function = inner
    calls = vars(type(function)).get("__call__")
    code = getattr(function, "__code__", None) or getattr(calls, "__code__", None)
    return code if isinstance(code, CodeType) and not code.co_filename.startswith(_OWN_FOLDER) else None


def place_of(function: object) -> str:
    """Returns the location where a function, a class, or the class of an object is defined.

    The location is empty for code of this tree, and for code that isn't Python (a function of NumPy, for example).
    """
    code = None if inspect.isclass(function) else _code_of(function)
    if code is not None:
        return position(code.co_filename, code.co_firstlineno)
    owner = function if inspect.isclass(function) else type(function)
    is_own = owner.__module__.partition(".")[0] in (*_OWN, "builtins", "functools", "numpy")
    return "" if is_own else place_of_row(f"{owner.__module__}:{owner.__qualname__.partition('.')[0]}")


def place_of_row(row: str) -> str:
    """Returns the location where the object of a row is defined; empty if its module was not loaded from a file."""
    module, _, name = row.partition(":")
    path = getattr(sys.modules.get(module), "__file__", None)
    if not isinstance(path, str):
        return ""
    defines = re.compile(rf"\s*(?:async\s+)?(?:(?:def|class)\s+)?{re.escape(name)}\b\s*[(:=,]")
    imports = re.compile(rf"\s*(?:from|import)\b.*\b{re.escape(name)}\b")
    lines = linecache.getlines(path)
    for pattern in (defines, imports):
        found = next((number for number, line in enumerate(lines, 1) if pattern.match(line)), None)
        if found is not None:
            return position(path, found)
    return position(path, 1)


def frames(trace: TracebackType | None) -> Iterator[tuple[str, str, FrameType]]:
    """Yields the module, the location and the frame of each entry of a traceback, innermost first."""
    entries: list[TracebackType] = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    for entry in reversed(entries):
        frame = entry.tb_frame
        yield frame.f_globals.get("__name__") or "", position(frame.f_code.co_filename, entry.tb_lineno), frame


def place_in(error: BaseException, is_own: Callable[[str], bool]) -> str:
    """Returns the location where code of a package raised `error`.

    This is the innermost line in a module for which `is_own` returns True, or else the innermost line outside this
    compiler and the import system. The location is empty if there is no such line.
    """
    if isinstance(error, SyntaxError) and error.filename is not None:
        return position(error.filename, error.lineno or 1)
    found = [(module, where) for module, where, _ in frames(error.__traceback__)]
    own = next((where for module, where in found if is_own(module)), "")
    return own or next((where for module, where in found if _root(module) not in _OWN and where[0] != "<"), "")


def _root(module: str) -> str:
    root = module.partition(".")[0]
    return _IMPORT_SYSTEM if root.startswith("_frozen_importlib") else root


# Faults of packages are reported and don't stop the compiler. A listener receives them (`qmlir.ir.diagnostics` for the
# tools); without a listener they go to Python's logging.

_logger = logging.getLogger("qmlir")
_LONGEST = 400


RAISED = (Exception, SystemExit)
"""Exceptions of package code that become one-line messages. `sys.exit` would otherwise end the process silently."""


class PackageError(Exception):
    """Raised if a requested contribution of a package doesn't work. The one-line message names the package."""


def _log(message: str) -> None:
    _logger.warning("warning: %s", message)


_listener: ContextVar[Callable[[str], None]] = ContextVar("qmlir_fault_listener", default=_log)


@contextmanager
def fault_listener(listener: Callable[[str], None]) -> Generator[None]:
    """Sends faults of packages inside the `with` block to `listener` instead of the outer listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def silence() -> None:
    """Suppresses all further reports in this process."""
    _listener.set(lambda _: None)


def say(message: str) -> None:
    """Sends a message to the innermost listener."""
    _listener.get()(message)


def one_line(error: BaseException) -> str:
    """Formats an exception as a single line of bounded length."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
