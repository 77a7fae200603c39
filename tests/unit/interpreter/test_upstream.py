"""Every operation of the upstream dialects that run here has a meaning, or a reason beside the table why not."""

from importlib import import_module

import pytest
from xdsl.ir import Dialect
from xdsl.traits import IsTerminator

from qmlir import registry
from qmlir.environment import default_environment

DIALECTS = ["arith", "math", "scf", "memref", "linalg", "tensor", "vector"]


@pytest.mark.parametrize("name", DIALECTS)
def test_every_operation_has_a_meaning_or_a_reason(name: str) -> None:
    dialect: Dialect = default_environment().dialects[name]()
    module = import_module(f"qmlir.interpreter.upstream.{name}")
    reasons = getattr(module, "WITHOUT_EVALUATOR", {})
    # The interpreter gives a terminator's operands to the operation around it.
    operations = {op for op in dialect.operations if not op.has_trait(IsTerminator)}
    assert operations == module.EVALUATORS.keys() | reasons.keys()
    assert not module.EVALUATORS.keys() & reasons.keys()
    assert registry.evaluators(name) == module.EVALUATORS
