"""The `quant` dialect against upstream MLIR: what is accepted, and what is printed."""

import random
import re

import pytest

from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, module_text
from tests.referee.quant.generator import random_cast, random_type
from tests.support.upstream import needs_mlir_opt, run_each

pytestmark = [pytest.mark.referee, needs_mlir_opt]

COUNT = 5000
ENVIRONMENT = default_environment()


def _ours(source: str) -> tuple[bool, str]:
    """Whether we accept a module, and its text without aliases or our complaint."""
    try:
        module = parse_module(ENVIRONMENT.new_context(), source)
        verify(module)
    except DiagnosticError as error:
        return False, error.diagnostic.message
    return True, module_text(module, PrintOptions(aliases=False)).strip()


_ONE_BIT_BLOCKS = re.compile(r"<(?:[su]?i|u)1[^>,]*:\{")
_SIGNED_SPELLING = re.compile(r"[<]([su]i)(\d+)")


def _plain_spelling(source: str) -> str:
    """`si8` as `i8` and `ui8` as `u8`: how upstream itself prints them."""
    return _SIGNED_SPELLING.sub(lambda found: f"<{'i' if found[1] == 'si' else 'u'}{found[2]}", source)


def _differences(sources: list[str]) -> list[str]:
    """Where our verdict is another than upstream's, but for a zero point out of the storage range.

    Upstream takes `si8` for another storage type than `i8`, though it prints both as `i8`: a storage cast of the one is
    refused until it has been printed and read again. We take them for one, so each source is asked in upstream's own
    spelling.
    """
    differences: list[str] = []
    for source, upstream in zip(sources, run_each([_plain_spelling(source) for source in sources]), strict=True):
        ours = _ours(source)
        if ours[0] != upstream[0] and "out of storage range" not in ours[1]:
            differences.append(f"{source}\n  upstream: {upstream}\n  ours: {ours}")
    return differences


def _one_line(text: str) -> str:
    """The only function of a module, on one line: what `run_each` takes."""
    body = re.fullmatch(r"(?:builtin\.)?module \{(.*)\}", text, re.DOTALL)
    assert body is not None
    return " ".join(body[1].split())


def _accepted_by_both(sources: list[str]) -> list[tuple[str, str]]:
    """Our text and upstream's of every module that both accept.

    Upstream loses the zero points of blocks with 1-bit storage when it prints them: those are left out.
    """
    sources = [source for source in sources if not _ONE_BIT_BLOCKS.search(source)]
    pairs: list[tuple[str, str]] = []
    for source, (accepted, text) in zip(
        sources, run_each([_plain_spelling(source) for source in sources]), strict=True
    ):
        ours = _ours(source)
        if accepted and ours[0]:
            pairs.append((_one_line(ours[1]), _one_line(text)))
    return pairs


def _types() -> list[str]:
    r = random.Random(2024)
    return [f"func.func private @f({random_type(r)})" for _ in range(COUNT)]


def _casts() -> list[str]:
    r = random.Random(2025)
    return [random_cast(r, random_type(r)) for _ in range(COUNT)]


@pytest.mark.parametrize("sources", [_types(), _casts()], ids=["types", "casts"])
def test_accepts_what_upstream_accepts(sources: list[str]) -> None:
    assert _differences(sources) == []


@pytest.mark.parametrize("sources", [_types(), _casts()], ids=["types", "casts"])
def test_text_is_read_both_ways(sources: list[str]) -> None:
    pairs = _accepted_by_both(sources)
    assert len(pairs) > COUNT // 10
    # Upstream reads what we print as what it had printed itself.
    again = run_each([ours for ours, _ in pairs])
    assert [_one_line(text) for accepted, text in again if accepted] == [theirs for _, theirs in pairs]
    # We read what upstream prints as what we had printed ourselves, but for the names of values.
    for ours, theirs in pairs:
        accepted, text = _ours(theirs)
        assert accepted
        assert re.sub(r"%\w+", "%v", _one_line(text)) == re.sub(r"%\w+", "%v", ours)
