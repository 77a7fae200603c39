"""The `quant` dialect against upstream MLIR: what is accepted, and what is printed."""

import random
import re
from collections.abc import Callable
from functools import cache

import pytest

from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, module_text
from tests.referee.quant.generator import WIDER_THAN_F64, damaged_type, random_cast, random_type
from tests.support.upstream import needs_mlir_opt, run_each

pytestmark = [pytest.mark.referee, needs_mlir_opt]

COUNT = 5000
ENVIRONMENT = default_environment()

Verdict = tuple[bool, str]
"""Whether a module is accepted, and its text or the complaint."""


def _function(type_: str) -> str:
    return f"func.func private @f({type_})"


GENERATORS: dict[str, tuple[int, Callable[[random.Random], str]]] = {
    "types": (2024, lambda r: _function(random_type(r))),
    "damaged": (2025, lambda r: _function(damaged_type(r))),
    "casts": (2026, lambda r: random_cast(r, random_type(r))),
}

_ONE_BIT_BLOCKS = re.compile(r"<s?i1(?:<[^<>]*>)?:\w+:\{")
_SIGNED_SPELLING = re.compile(r"[<]([su]i)(\d+)")


def _plain_spelling(source: str) -> str:
    """`si8` as `i8` and `ui8` as `u8`: how upstream itself prints them.

    Upstream takes `si8` for another storage type than `i8`, though it prints both as `i8`: a storage cast of the one is
    refused until it has been printed and read again. We take them for one, so each source is asked in upstream's own
    spelling.
    """
    return _SIGNED_SPELLING.sub(lambda found: f"<{'i' if found[1] == 'si' else 'u'}{found[2]}", source)


def _ours(source: str) -> Verdict:
    try:
        module = parse_module(ENVIRONMENT.new_context(), source)
        verify(module)
    except DiagnosticError as error:
        return False, error.diagnostic.message
    return True, module_text(module, PrintOptions(aliases=False)).strip()


@cache
def _verdicts(kind: str) -> list[tuple[str, Verdict, Verdict]]:
    """Random sources with our verdict and upstream's."""
    seed, generate = GENERATORS[kind]
    r = random.Random(seed)
    sources = [generate(r) for _ in range(COUNT)]
    theirs = run_each([_plain_spelling(source) for source in sources])
    return [(source, _ours(source), verdict) for source, verdict in zip(sources, theirs, strict=True)]


def _one_line(text: str) -> str:
    """The only function of a module, on one line: what `run_each` takes."""
    body = re.fullmatch(r"(?:builtin\.)?module \{(.*)\}", text, re.DOTALL)
    assert body is not None
    return " ".join(body[1].split())


def _anonymous(text: str) -> str:
    return re.sub(r"%\w+", "%v", text)


_STRICTER = re.compile(
    r"zero point -?\d+ out of storage range"
    r"|illegal min and max: \(.*\bnan\b.*\)"
    r"|scale (?:0\.0|inf) out of expressed type range"
)


def _is_on_purpose(source: str, ours: Verdict, theirs: Verdict) -> bool:
    """Whether upstream lets pass what we refuse: see `docs/reference/text-format.md`."""
    if ours[0] or not theirs[0] or (found := _STRICTER.search(ours[1])) is None:
        return False
    return not found[0].startswith("scale") or any(f":{wide}" in source for wide in WIDER_THAN_F64)


@pytest.mark.parametrize("kind", GENERATORS)
def test_accepts_what_upstream_accepts(kind: str) -> None:
    differences = [
        f"{source}\n  upstream: {theirs}\n  ours: {ours}"
        for source, ours, theirs in _verdicts(kind)
        if ours[0] != theirs[0] and not _is_on_purpose(source, ours, theirs)
    ]
    assert differences == []


@pytest.mark.parametrize("kind", GENERATORS)
def test_text_is_read_both_ways(kind: str) -> None:
    # Upstream loses the zero points of blocks with signed 1-bit storage when it prints them: those are left out.
    pairs = [
        (_one_line(ours[1]), _one_line(theirs[1]))
        for source, ours, theirs in _verdicts(kind)
        if ours[0] and theirs[0] and not _ONE_BIT_BLOCKS.search(source)
    ]
    assert len(pairs) > COUNT // 20
    again = run_each([ours for ours, _ in pairs])
    assert [(ours, accepted) for (ours, _), (accepted, _) in zip(pairs, again, strict=True) if not accepted] == []
    # Upstream reads what we print as what it had printed itself.
    assert [_one_line(text) for _, text in again] == [theirs for _, theirs in pairs]
    # What upstream prints it does not always read: six digits may leave the range of a scale, f80 has no hexadecimal.
    readable = [accepted for accepted, _ in run_each([theirs for _, theirs in pairs])]
    assert readable.count(False) < len(pairs) // 100
    # We read what upstream prints as what we had printed ourselves, but for the names of values.
    back = [(ours, theirs, _ours(theirs)) for (ours, theirs), is_read in zip(pairs, readable, strict=True) if is_read]
    assert [theirs for _, theirs, (accepted, _) in back if not accepted] == []
    anonymous = [(_anonymous(_one_line(text)), _anonymous(ours)) for ours, _, (_, text) in back]
    assert [pair for pair in anonymous if pair[0] != pair[1]] == []
