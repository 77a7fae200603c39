"""Pipelines print as the text that builds them again; nests run where they say, and leave the rest alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text

ENVIRONMENT = default_environment()
LEAVES = ["cse", "dce", "canonicalize{budget=7}", "strip-debuginfo{provenance}", 'nn-decompose{keep="fc*",softmax}']
PIPELINES = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(lambda steps: f"func.func({','.join(steps)})"),
    max_leaves=6,
)


@given(st.lists(PIPELINES, min_size=1, max_size=4).map(",".join))
def test_text_builds_the_same_pipeline(text: str) -> None:
    pipeline = parse_pipeline(text, ENVIRONMENT.passes)
    assert parse_pipeline(str(pipeline), ENVIRONMENT.passes) == pipeline


@given(st.text(alphabet='cse,dc{}()="1 -\\', max_size=20))
def test_any_text_is_a_pipeline_or_a_one_line_error(text: str) -> None:
    try:
        parse_pipeline(text, ENVIRONMENT.passes)
    except DiagnosticError as error:
        complaint = str(error)
    else:
        return
    assert complaint.startswith("error: in the pass pipeline: ")
    assert "\n" not in complaint


def test_a_nest_runs_inside_its_operations_only() -> None:
    ctx = ENVIRONMENT.new_context()
    source = "arith.constant 1 : i32\nfunc.func @f() {\n  %0 = arith.constant 2 : i32\n  func.return\n}\n"
    module = parse_module(ctx, source)
    PassManager(ctx, parse_pipeline("func.func(dce)", ENVIRONMENT.passes)).run(module)
    text = module_text(module)
    assert "arith.constant 1" in text
    assert "arith.constant 2" not in text
    # The operation is back in its place, before what follows it.
    assert text.index("arith.constant 1") < text.index("func.func")


def test_a_pass_that_a_nest_has_no_operation_for_does_nothing() -> None:
    ctx = ENVIRONMENT.new_context()
    module = parse_module(ctx, "%0 = arith.constant 1 : i32")
    PassManager(ctx, parse_pipeline("func.func(dce)", ENVIRONMENT.passes)).run(module)
    assert "arith.constant 1" in module_text(module)


def test_a_failing_pass_is_named() -> None:
    ctx = ENVIRONMENT.new_context()
    module = parse_module(ctx, "func.func @f() { func.return }")
    with pytest.raises(DiagnosticError, match="no level 'cellar'"):
        PassManager(ctx, parse_pipeline("verify-level{level=cellar}", ENVIRONMENT.passes)).run(module)
