"""Emitted npm packages in node and in Chromium: the interpreter's bits."""

import pytest

from benchmarks.accuracy import MODELS, NAMES
from benchmarks.compared import COMPARED, RESNET, Folders, differing_elements
from benchmarks.wasm import missing, outputs_in_chromium, outputs_in_node
from tests.support.chromium import needs_chromium

pytestmark = [
    pytest.mark.referee,
    pytest.mark.skipif(bool(missing()), reason=f"not installed: {missing()}"),
    pytest.mark.skipif(not MODELS.is_dir(), reason="the models are not here"),
]


@pytest.mark.parametrize("name", [*NAMES, RESNET])
def test_node(name: str) -> None:
    model = COMPARED[name](Folders())
    found = outputs_in_node(model.module, model.inputs, model.wanted[0])
    assert differing_elements(found, model.wanted) == (0, 10 * len(model.samples))


@needs_chromium
@pytest.mark.parametrize("name", [*(pytest.param(each, marks=pytest.mark.sweep) for each in NAMES), RESNET])
def test_chromium(name: str) -> None:
    model = COMPARED[name](Folders())
    found = outputs_in_chromium(model.module, model.inputs, model.wanted[0])
    assert differing_elements(found, model.wanted) == (0, 10 * len(model.samples))
