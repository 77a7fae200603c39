"""Layers by recipe are whole, have the types that they were asked for, and compute the same at every stage."""

import pytest

from qmlir.targets.cpu.host import host_isa
from tests.levels.recipes import case_by_recipe
from tests.levels.reports import report_of, reports_of
from tests.levels.stages import STAGES


@pytest.mark.parametrize("seed", range(12))
def test_layers_by_recipe_are_equal_at_every_stage(seed: int) -> None:
    report = report_of(seed, [stage for stage in STAGES if not stage.is_slow], case_at=case_by_recipe)
    assert not report, report


def test_layers_by_recipe_are_equal_compiled() -> None:
    reports = reports_of(range(6), [stage for stage in STAGES if stage.isa == host_isa()], case_at=case_by_recipe)
    assert not reports, "\n".join(reports)


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, 500, 10))
def test_many_layers_by_recipe(first: int) -> None:
    reports = reports_of(range(first, first + 10), STAGES, case_at=case_by_recipe)
    assert not reports, "\n".join(reports)
