"""Targets by name: through the registry, with an error of one line for each thing that may be wrong."""

from collections.abc import Iterator

import pytest
from xdsl.parser import Parser

from qmlir.dialects.target.attributes import TargetSpecAttr
from qmlir.environment import default_environment, plugins
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.target import HOST, find_target, find_targets, target_names
from tests.support.targets import TOY


@pytest.fixture(autouse=True)
def _plugged() -> Iterator[None]:
    with plugins(["tests.support.targets:CONTRIBUTION"]):
        yield


def test_the_targets_of_the_tree_and_of_packages() -> None:
    assert {HOST, "toy"} <= set(target_names())
    assert find_target("toy") is TOY
    assert [each.name for each in find_targets("toy, cpu")] == ["toy", "cpu"]
    assert [each.name for each in find_targets(["cpu"])] == ["cpu"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("tyo", "unknown target 'tyo'; did you mean 'toy'? (available: absent, broken,"),
        ("toy,cpu,toy", "duplicate target 'toy'"),
        ("misnamed", "target 'misnamed' of package 'tests.support.targets:CONTRIBUTION':"),
        ("wrong", "support of 'nn.add': storage must have 1 to 32 bits, but got 99"),
        ("absent", "'absent'"),
        ("odd", "target 'odd' of package 'tests.support.targets:CONTRIBUTION': 'tests.support.targets:emit' must"),
        ("", "unknown target ''"),
    ],
)
def test_errors(names: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        find_targets(names)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["cpu", "toy"])
def test_a_description_is_read_as_it_is_printed(name: str) -> None:
    attribute = TargetSpecAttr(find_target(name).description)
    assert Parser(default_environment().new_context(), str(attribute)).parse_attribute() == attribute
    assert hash(attribute) == hash(TargetSpecAttr(find_target(name).description))
