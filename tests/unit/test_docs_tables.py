"""The tables of the documents against the code: levels, layers, stages, instruction sets, dialects, operators.

`--update-checks` writes the tables that are generated, for review.
"""

import re
import tomllib
from pathlib import Path

import pytest

from qmlir import registry
from qmlir.dialects.kernel.attributes import isa_names
from qmlir.dialects.quant.types import AnyQuantizedType, CalibratedQuantizedType, UniformQuantizedType
from qmlir.environment import default_environment
from qmlir.ir.limits import BUDGETS
from qmlir.levels import LEVELS, Element, Level, check_level
from qmlir.pipelines import COMPILE
from qmlir.quantization.recipe_text import FOREIGN
from qmlir.text.parsing import parse_module
from tests.support.documents import ROOT, hold, rows_of, table_at

ARCHITECTURE = ROOT / "docs" / "architecture.md"
STAGES = ROOT / "docs" / "compiler-stages.md"
REPORT = ROOT / "docs" / "read-the-report.md"
SCHEDULES = ROOT / "docs" / "schedules.md"
WALK = ROOT / "docs" / "levels.md", ROOT / "docs" / "levels-code.md"


def _between(marker: str, path: Path = ARCHITECTURE) -> str:
    return table_at(marker, path)


ELEMENTS = {
    Element.PLAIN: "plain",
    Element.CALIBRATED: f"`!{CalibratedQuantizedType.name}`",
    Element.QUANTIZED: f"`!{UniformQuantizedType.name}`, `!{AnyQuantizedType.name}`",
}


IMPORT = "ONNX import"
"""The one level that no pass makes."""


def _row(level: Level) -> str:
    everywhere = frozenset.intersection(*(each.dialects for each in LEVELS.values()))
    is_pass = level.made_by != IMPORT
    assert not is_pass or all(name in registry.PASSES for name in level.made_by.split(", "))
    cells = (
        level.name,
        ", ".join(f"`{name}`" for name in sorted(level.dialects - everywhere)),
        ", ".join(ELEMENTS[element] for element in level.elements),
        f"`{level.made_by}`" if is_pass else level.made_by,
        level.summary,
    )
    return f"| {' | '.join(cells)} |"


def test_paths_of_the_architecture() -> None:
    """Every path from the root exists; in rows that begin with a folder, so do names below it, such as `operators/`."""
    missing: list[str] = []
    for line in ARCHITECTURE.read_text(encoding="utf-8").splitlines():
        names = re.findall(r"`([\w./]+(?:/|\.py|\.toml))`", line)
        rooted = [name for name in names if (ROOT / name.partition("/")[0]).is_dir() and "/" in name]
        missing += [name for name in rooted if not (ROOT / name).exists()]
        if line.startswith("| `") and rooted and rooted[0] == names[0]:
            below = [name for name in names if name not in rooted]
            missing += [name for name in below if not any((ROOT / each / name).exists() for each in rooted)]
    assert missing == []


def test_levels_table(request: pytest.FixtureRequest) -> None:
    head, rule, *_ = table = _between("levels").splitlines()
    hold(ARCHITECTURE, "\n".join(table), "\n".join([head, rule, *map(_row, LEVELS.values())]), request)


def _walk_text() -> str:
    """The pages that take a layer through all levels."""
    return "".join(path.read_text(encoding="utf-8") for path in WALK)


def _walk() -> dict[str, str]:
    """Their sections by title."""
    return dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |^# |\Z)", _walk_text(), re.DOTALL | re.MULTILINE))


def test_walk_goes_through_all_levels() -> None:
    assert list(_walk()) == [*LEVELS, "code"]


@pytest.mark.parametrize("level", LEVELS)
def test_walk_shows_modules_of_the_level(level: str) -> None:
    modules = re.findall(r"^(?:[!#].* = .*\n)*builtin\.module.*?^}$", _walk()[level], re.DOTALL | re.MULTILINE)
    assert modules
    for text in modules:
        ctx = default_environment().new_context()
        check_level(ctx, parse_module(ctx, text, "levels.md"), level)


def test_walk_runs_every_stage_of_compile() -> None:
    shown = {stage for stages in re.findall(r" stages=([a-z,]+)", _walk_text()) for stage in stages.split(",")}
    assert shown == {stage.name for stage in COMPILE.stages}


def test_report_page_has_the_names_of_the_report() -> None:
    reporting = ROOT / "qmlir" / "extensions" / "report"
    panel = (reporting / "templates" / "panel.js").read_text(encoding="utf-8")
    names = {name for row in rows_of(_between("panel", REPORT)) for name in row[0].split(", ")}
    assert {name for name in names if f'"{name}"' not in panel and f"`{name} " not in panel} == set()
    kinds = set(re.findall(r'[Ff]inding\(\s*"([^"]+)"', (reporting / "findings.py").read_text(encoding="utf-8")))
    assert {name for row in rows_of(_between("findings", REPORT)) for name in row[0].split(", ")} == kinds


def test_stages_table(request: pytest.FixtureRequest) -> None:
    passes = [COMPILE.own_text(stage.name, isa="avx2", threads=4).replace(",", ", ") for stage in COMPILE.stages]
    rows = [
        f"| `{stage.name}` | `{text}` | {stage.summary} |" for stage, text in zip(COMPILE.stages, passes, strict=True)
    ]
    head, rule, *_ = table = _between("stages", STAGES).splitlines()
    hold(STAGES, "\n".join(table), "\n".join([head, rule, *rows]), request)


def test_instruction_sets_table() -> None:
    assert re.findall(r"^\| `([\w-]+)` \|", _between("isas", SCHEDULES), re.MULTILINE) == list(isa_names())


def test_dialects_table() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", _between("dialects"), re.MULTILINE)) == set(registry.DIALECTS)


def test_layers_are_the_contract() -> None:
    contract, *_ = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert _between("layers").splitlines()[1:-1] == contract["layers"]


def test_operators_are_those_that_are_imported() -> None:
    listed = re.findall(r"`([\w.:]+)`", _between("operators", ROOT / "docs" / "onnx.md"))
    assert listed == sorted(registry.onnx_importers())


def test_settings_of_other_tools_stand_on_the_page_of_migration() -> None:
    said = " ".join(re.findall(r"`([^`\n]+)`", (ROOT / "docs" / "migration.md").read_text(encoding="utf-8")))
    assert [name for name in FOREIGN if not re.search(rf"\b{name}\b", said)] == []


def test_budgets_are_those_that_there_are() -> None:
    rows = "\n".join(f"| `{name}` | {each.default} | {each.what} |" for name, each in BUDGETS.items())
    table = _between("budgets", ROOT / "docs" / "reference" / "text-format.md")
    assert rows == table.partition("|\n|---|---|---|\n")[2]
