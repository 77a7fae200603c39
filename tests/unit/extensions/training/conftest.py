"""What tests of training share."""

from functools import partial

import pytest

from qmlir.extensions.training import trainable
from qmlir.targets.compiling import compile


@pytest.fixture(autouse=True)
def compiled_by_llvm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of training are compiled by LLVM, which is faster; those of `test_programs.py` by numba."""
    if request.path.name != "test_programs.py":
        monkeypatch.setattr(trainable, "compile", partial(compile, codegen="llvm"))
