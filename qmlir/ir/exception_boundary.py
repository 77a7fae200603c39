"""The boundary to xDSL and packages: turns their unexpected exceptions and invalid results into diagnostics."""

import traceback
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from types import FunctionType
from typing import Any, ClassVar, cast

from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException, ParseError, UnregisteredConstructException

from qmlir.ir.diagnostics import DiagnosticError, op_error
from qmlir.registry import at_code, in_package
from qmlir.registry.faults import RAISED, one_line

# The boundary to xDSL and packages: their unexpected exceptions become diagnostics; exceptions of qmlir remain bugs.
#
# A package may raise anything: an error from its code names the package. xDSL intentionally raises `ParseError` and
# `VerifyException`; a `KeyError` from its parser, or an `IndexError` from a verifier of its dialects, are xDSL bugs
# triggered by the input. The traceback shows who raised the exception: the innermost frame of xDSL or of this tree. A
# bug in this tree is thus never attributed to xDSL, unless it passes invalid arguments to xDSL, and stays visible as a
# bug.

_FOREIGN, _OURS = "xdsl", "qmlir"

_MEANT = (
    ParseError, UnregisteredConstructException, OverflowError, ValueError, RecursionError, MemoryError,
)  # fmt: skip
"""Exceptions caused by invalid input: constructors of attributes, for example, raise `ValueError`."""


def _is_of_xdsl(error: BaseException) -> bool:
    """Whether xDSL's own code, or code that it called, raised `error`."""
    frames = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__))
    roots = [root for root in (name.partition(".")[0] for name in frames) if root in (_FOREIGN, _OURS)]
    return bool(roots) and roots[-1] == _FOREIGN


@contextmanager
def faults_from_outside(told: Callable[[str], DiagnosticError]) -> Generator[None]:
    """Converts unexpected exceptions of xDSL or a package inside the `with` block to the error `told(reason)`."""
    try:
        yield
    except DiagnosticException:
        raise
    except RAISED as error:
        if where := in_package(error):
            raise told(f"{one_line(error)}{where}") from error
        if isinstance(error, _MEANT) or not _is_of_xdsl(error):
            raise
        text = " ".join(str(error).split())
        raise told(f"xDSL fails on it ({text})" if text else "xDSL fails on it") from error


# Methods of operations that packages define: the result of each call is checked.
#
# An operation interface derives from `Checked` and declares a `Check` for each of its methods. If a class outside
# this tree and xDSL defines such a method, it is wrapped on class creation: an exception or an invalid result
# becomes an error that names the operation, the package, and the file and line of the method.

_IS_CHECKED = "is_checked"


@dataclass(frozen=True)
class Check:
    """The requirements on the result of an interface method that a package defines."""

    expected: str
    """A description of the expected result; `{results}` and `{operands}` stand for the operation's numbers of these."""

    holds: Callable[[Any, Any], bool]
    """A predicate on the operation and the result; if the method returns an iterator, the result is passed as a list.
    """

    is_iterator: bool = False
    """Whether the method returns an iterator."""


def is_each(found: Any, kinds: Any, count: int | None = None) -> bool:
    """Returns whether `found` is a list or tuple of `kinds`, with `count` elements if `count` is given."""
    if not isinstance(found, list | tuple):
        return False
    values = cast(list[Any], found)
    return (count is None or len(values) == count) and all(isinstance(each, kinds) for each in values)


def _given(found: object) -> str:
    if isinstance(found, list | tuple):
        return f"[{', '.join(map(str, cast(list[object], found)))}]"
    return "None" if found is None else f"{found} of type {type(found).__name__}"


def _guarded(method: FunctionType, check: Check) -> Callable[..., Any]:
    @wraps(method)
    def guarded(self: Operation, *arguments: Any) -> Any:
        try:
            found: Any = method(self, *arguments)
            if isinstance(found, Iterator) and check.is_iterator:
                found = [*cast(Iterator[Any], found)]
        except DiagnosticException:
            raise
        except RAISED as error:  # a package may raise anything
            text = f"cannot be asked for '{method.__name__}', which raises {one_line(error)}"
            raise op_error(self, f"{text}{at_code(method, error)}") from error
        if not check.holds(self, found):
            expected = check.expected.format(results=len(self.results), operands=len(self.operands))
            text = f"must return {expected} from '{method.__name__}', but returns {_given(cast(object, found))}"
            raise op_error(self, f"{' '.join(text.split())}{at_code(method)}")
        return iter(cast(list[Any], found)) if check.is_iterator else cast(Any, found)

    setattr(guarded, _IS_CHECKED, True)
    return guarded


class Checked:
    """The base class of interfaces whose methods are checked if a package defines them."""

    CHECKS: ClassVar[Mapping[str, Check]] = {}
    """The checks of the interface's methods, by name."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.partition(".")[0] in (_FOREIGN, _OURS):
            return
        for base in cls.__mro__:
            for name, check in cast(Mapping[str, Check], vars(base).get("CHECKS", {})).items():
                method = vars(cls).get(name)
                is_abstract = getattr(method, "__isabstractmethod__", False)
                if isinstance(method, FunctionType) and not is_abstract and not hasattr(method, _IS_CHECKED):
                    setattr(cls, name, _guarded(method, check))
