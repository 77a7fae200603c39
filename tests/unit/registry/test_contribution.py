"""What a contribution may hold, and which packages a version refuses."""

from dataclasses import fields
from importlib.metadata import version
from typing import Any

import pytest

from qmlir import registry
from qmlir.registry.contribution import BREAKS, FIELDS, INTERFACE, TABLES, Contribution, RowForm, refusal

BROKE = {"0.3": "targets are data", "0.5": "slots have names"}
BROKE_5 = "it was built for qmlir 0.4, which is incompatible with 0.5 (slots have names); update the package"


@pytest.mark.parametrize(
    ("built_for", "interface", "why"),
    [
        ("", "0.5", ""),
        ("0.5", "0.5", ""),
        ("0.3", "0.4", ""),
        (
            "0.2",
            "0.4",
            "it was built for qmlir 0.2, which is incompatible with 0.3 (targets are data); update the package",
        ),
        (
            "0.4",
            "0.10",
            BROKE_5,
        ),
        ("0.9", "0.10", ""),
        ("0.11", "0.10", "it was built for qmlir 0.11, but this is 0.10; update qmlir"),
        ("1.0", "0.10", "it was built for qmlir 1.0, but this is 0.10; update qmlir"),
    ],
)
def test_which_packages_are_refused(built_for: str, interface: str, why: str) -> None:
    assert refusal(built_for, interface, BROKE) == why


def test_the_interface_has_the_minor_version_of_the_package() -> None:
    assert version("qmlir").split(".")[:2] == INTERFACE.split(".")
    assert all(Contribution(built_for=each) for each in (*BREAKS, INTERFACE))
    assert refusal(registry.TREE.built_for) == ""


def test_every_field_is_described() -> None:
    assert [each.name for each in fields(Contribution)] == [*FIELDS, "built_for"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"evaluators": {"nn": "no row"}},
            "'no row' in 'evaluators' of a Contribution must have the form module:object",
        ),
        ({"evaluators": {"nn": ("a:b",)}}, "'evaluators' of a Contribution must be name to row, but got ('a:b',)"),
        ({"patterns": {"nn.canonicalize": "a:b"}}, "'patterns' of a Contribution must be name to rows, but got 'a:b'"),
        ({"patterns": ("a:b",)}, "'patterns' of a Contribution must be name to rows, but got tuple"),
        ({"importers": {"Relu": "a:b"}}, "'importers' of a Contribution must be rows, but got dict"),
        ({"pdl": {"fuse": "package"}}, "'package' in 'pdl' of a Contribution must have the form package:path/of/file"),
        (
            {"tables": {"loops.form": ("a:b",)}},
            "unknown table 'loops.form' in a Contribution (available: bufferize.destinations, inference, loops.forms, "
            "nn.onnx_island, pdl.constraints, pdl.rewrites)",
        ),
        (
            {"tables": {"padding": ("a:b",)}},
            "unknown table 'padding' in a Contribution (available: bufferize.destinations, inference, loops.forms, "
            "nn.onnx_island, pdl.constraints, pdl.rewrites); use the field 'paddings'",
        ),
        ({"built_for": "1"}, f"'built_for' must be a minor version, such as '{INTERFACE}', but got '1'"),
    ],
)
def test_what_has_another_form_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as error:
        Contribution(**arguments)
    assert str(error.value) == message


def test_the_tables_are_those_of_the_tree() -> None:
    (tree,) = (package for package in registry.packages() if package.name == registry.OURS)
    assert {name for name, _ in tree.rows("tables")} == set(TABLES)


def test_the_tree_fills_its_fields_as_packages_do() -> None:
    for name, room in FIELDS.items():
        for key, row in registry.TREE.rows(name):
            if room.form in (RowForm.NAMES, RowForm.SETS, RowForm.ROWS):
                assert registry.load(row) is not None, (name, key)
    for field in ("calibrators", "schemes"):
        assert all(each.package.name == registry.OURS for each in registry.named(field).values())
