"""A package adds a command, a name of the module `qmlir`, a pass and a level of accuracy recovery."""

from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import qmlir
from qmlir import registry
from qmlir.environment import default_environment
from qmlir.registry import Contribution, Package
from qmlir.tools import qmlir_cli
from qmlir.tools.command_runner import Command, command_of

HERE = __name__


@dataclass(frozen=True)
class Nothing(ModulePass):
    """Changes nothing."""

    name = "nothing"

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


GREETING = Command(lambda parser: None, lambda arguments, session: 0)
EFFORTS = {4: "nothing"}
CONTRIBUTION = Contribution(
    passes={"nothing": f"{HERE}:Nothing"},
    commands={"greet": f"{HERE}:GREETING", "quantize": f"{HERE}:GREETING"},
    command_help={"greet": "greet everyone"},
    api={"greeting": f"{HERE}:GREETING"},
    efforts=(f"{HERE}:EFFORTS",),
)


def test_a_package_adds_parts() -> None:
    with registry.plugged([Package("polite", contributions=(CONTRIBUTION,))]):
        rows = {row.name: row for row in qmlir_cli.rows()}
        assert command_of(rows["greet"]) is GREETING
        assert rows["greet"].summary == "greet everyone"
        assert command_of(rows["quantize"]) is not GREETING  # the tree keeps its names
        assert qmlir.greeting is GREETING  # pyright: ignore[reportAttributeAccessIssue]
        assert "greeting" in dir(qmlir)
        assert default_environment().passes["nothing"]() is Nothing
        assert registry.efforts()[4] == "nothing"
        assert {1, 2, 3} < registry.efforts().keys()
    with pytest.raises(AttributeError, match="has no attribute 'greeting'"):
        _ = qmlir.greeting  # pyright: ignore[reportAttributeAccessIssue]


def test_a_service_that_no_package_provides_is_none() -> None:
    assert registry.service("nobody provides it") is None
