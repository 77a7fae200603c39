"""Emitted npm packages in node and in Chromium: the interpreter's bits."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.accuracy import MODELS, NAMES
from benchmarks.emitted import differing_elements
from benchmarks.objects import RESNET
from benchmarks.wasm import WasmSubject, differing_in_node, missing
from tests.support.chromium import chromium, needs_chromium, served

pytestmark = [pytest.mark.referee, pytest.mark.skipif(bool(missing()), reason=f"not installed: {missing()}")]

PAGE = """<!doctype html>
<script type="module">
import { load } from "./net/small.js";
window.loading = load();
</script>
"""

IN_BROWSER = """
const [images, input, done] = arguments;
window.loading.then((program) => {
  const rows = images.map((image) => program.run({ [input]: new Float32Array(image) }));
  done(rows.map((row) => Object.values(row).map((array) => [...array])));
});
"""


@pytest.mark.skipif(not MODELS.is_dir(), reason="the models are not here")
@pytest.mark.parametrize("name", [*NAMES, RESNET])
def test_node(name: str, tmp_path: Path) -> None:
    subject = WasmSubject(name, MODELS, tmp_path)
    assert differing_in_node(subject.module, [[image] for image in subject.test]) == (0, 10 * len(subject.test))


def in_chromium(
    module: ModuleOp, name: str, images: Sequence[np.ndarray], wanted: Mapping[str, np.ndarray], folder: Path
) -> list[list[np.ndarray]]:
    qmlir.emit(module, form="wasm", name="small").save(folder / "net")
    (folder / "index.html").write_text(PAGE)
    with served(folder) as address, chromium() as browser:
        browser.get(f"{address}/index.html")
        rows = browser.execute_async_script(IN_BROWSER, [image.ravel().tolist() for image in images], name)
        assert [each for each in browser.get_log("browser") if "favicon" not in each["message"]] == []
    return [
        [np.array(each, array.dtype).reshape(array.shape) for each, array in zip(row, wanted.values(), strict=True)]
        for row in rows
    ]


@needs_chromium
@pytest.mark.skipif(not MODELS.is_dir(), reason="the models are not here")
@pytest.mark.parametrize("name", [*(pytest.param(each, marks=pytest.mark.sweep) for each in NAMES), RESNET])
def test_chromium(name: str, tmp_path: Path) -> None:
    subject = WasmSubject(name, MODELS, tmp_path)
    wanted = [qmlir.interpret(subject.module, [image]) for image in subject.test]
    found = in_chromium(subject.module, subject.input, subject.test, wanted[0], tmp_path)
    assert differing_elements(found, [list(each.values()) for each in wanted]) == (0, 10 * len(subject.test))
