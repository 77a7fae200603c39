"""The package as if it were installed: its folder is on the path, and each module of tests has its plug-ins."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from qmlir.environment import plugins


@pytest.fixture(autouse=True, scope="module")
def _fxp() -> Iterator[None]:
    with plugins(["qmlir_fxp.plugin"]):
        yield
