"""The package as if it were installed: its folder is on the path, and its plug-ins take part in every test."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from qmlir.environment import plugins


@pytest.fixture(autouse=True, scope="session")
def _fxp() -> Iterator[None]:
    with plugins(["qmlir_fxp.plugin"]):
        yield
