"""Literals that are beyond their types, held against upstream's verdict."""

import pytest

from tests.support.upstream import needs_mlir_opt, run_each
from tests.unit.text.test_limits import ACCEPTED, REFUSED, module_of

pytestmark = [pytest.mark.referee, needs_mlir_opt]


def test_upstream_has_the_same_verdict() -> None:
    literals = [*ACCEPTED, *REFUSED]
    verdicts = run_each([module_of(each) for each in literals])
    assert {literal for literal, (accepted, _) in zip(literals, verdicts, strict=True) if accepted} == set(ACCEPTED)
