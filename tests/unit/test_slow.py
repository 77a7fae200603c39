"""The list of slow tests names functions that exist, as reports do."""

from tests.support.order import TESTS
from tests.support.slow import function_name, listed


def test_a_function_is_named_as_in_reports() -> None:
    assert function_name("tests/unit/test_a.py::test_b[1-c]") == "tests.unit.test_a::test_b"
    assert function_name("tests/filecheck/ir/cse.mlir::filecheck") == "tests.filecheck.ir.cse.mlir::filecheck"


def test_listed_functions_exist() -> None:
    tests = {function_name(f"{path.relative_to(TESTS.parent).as_posix()}::"): path for path in TESTS.rglob("*.*")}
    for name in listed():
        module, _, function = name.partition("::")
        path = tests.get(f"{module}::")
        assert path is not None, f"{name} is gone; remove it from tests/slow.txt"
        assert path.suffix != ".py" or f"def {function}(" in path.read_text(encoding="utf-8"), name
