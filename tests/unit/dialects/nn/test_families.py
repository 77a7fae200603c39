"""One more operation of `nn` touches one folder: its rules of every kind are in that of its family."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import pytest
from xdsl.ir import Operation

from qmlir import registry
from qmlir.dialects import nn
from qmlir.dialects.nn import gradients, paddings
from qmlir.dialects.nn.formulas import FORMULAS

ARCHITECTURE = Path(__file__).resolve().parents[4] / "docs" / "architecture.md"
TABLES = {
    "evaluate": "EVALUATORS", "decompose": "COMPOSITES", "lower": "LOWERINGS", "gradient": "RULES", "pad": "RULES",
}  # fmt: skip


def _modules() -> Iterator[tuple[str, str, ModuleType]]:
    """Each module with rules: the name of its family, the kind of its rules, and the module."""
    for family in iter_modules(nn.__path__):
        if family.ispkg:
            for module in iter_modules([f"{nn.__path__[0]}/{family.name}"]):
                kind = module.name.partition("_")[0]  # a family may have several modules of a kind
                if kind in TABLES:
                    yield family.name, kind, import_module(f"{nn.__name__}.{family.name}.{module.name}")


def _rules(module: ModuleType, kind: str) -> Mapping[type[Operation], object]:
    return getattr(module, TABLES[kind], {})


def test_rules_are_in_the_folder_of_their_operation() -> None:
    """The activations have a formula instead, from which evaluators and lowerings are made."""
    found = [
        f"{module.__name__}: {op.__name__}"
        for family, kind, module in _modules()
        for op in _rules(module, kind)
        if not op.__module__.startswith(f"{nn.__name__}.{family}.") and op not in FORMULAS
    ]
    assert found == []


@pytest.mark.parametrize(
    ("kind", "registered", "shared"),
    [
        ("evaluate", registry.evaluators("nn"), set[type[Operation]]()),
        ("decompose", registry.decompositions(), set[type[Operation]]()),
        ("gradient", registry.gradients(), {*gradients.REFUSED, *gradients.INTEGRAL}),
        ("pad", registry.paddings(), {*paddings.SHARED}),
    ],
)
def test_the_registry_has_the_rules_of_families(
    kind: str, registered: Mapping[type[Operation], object], shared: set[type[Operation]]
) -> None:
    """Other than rules of the families, it has only those that operations of several families share."""
    known = {op for _, each, module in _modules() if each == kind for op in _rules(module, kind)}
    assert {op for op in registered if op.__module__.startswith(nn.__name__)} == known | shared
    assert not known & shared


def test_the_files_of_an_operation_are_listed() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    table = text[text.index("<!-- family -->") : text.index("<!-- /family -->")]
    rows = dict(line.split(" | ")[:2] for line in table.splitlines() if line.startswith("| `"))
    named = {kind: f"`{name}`" for kind, name in TABLES.items()}
    assert rows.keys() == {f"| `{kind}.py`" for kind in ("ops", *TABLES)}
    assert all(named[kind] in rows[f"| `{kind}.py`"] for kind in TABLES)
