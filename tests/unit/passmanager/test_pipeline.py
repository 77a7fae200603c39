"""Pipelines print as the text that builds them again; nests run where they say, and leave the rest alone."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.passes.profiled.calib_apply_profile import CalibApplyProfile
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import NestedPipeline, make_pass, parse_pipeline, step_text
from qmlir.quantization.profiles.profile import ModelDigest, Profile
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text

ENVIRONMENT = default_environment()
LEAVES = ["cse", "dce", "canonicalize{budget=7}", "strip-debuginfo{provenance}", 'nn-decompose{keep="fc*",softmax}']
PIPELINES = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(lambda steps: f"func.func({','.join(steps)})"),
    max_leaves=6,
)


@dataclass(frozen=True)
class EveryOption(ModulePass):
    """A pass with an option of each kind that has a reading of its own."""

    name = "every-option"
    text: str = ""
    number: int = 0
    factor: float = 1.0
    flag: bool = False
    names: tuple[str, ...] = ()
    factors: tuple[float, ...] = ()
    maybe: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Nothing is done."""


def _option(text: str) -> ModulePass:
    (step,) = parse_pipeline(f"every-option{{{text}}}", {EveryOption.name: lambda: EveryOption}).steps
    assert isinstance(step, ModulePass)
    return step


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("text=7", {"text": "7"}),
        ('text="a b,{c}\\"\\n"', {"text": 'a b,{c}"\n'}),
        ("number=-3", {"number": -3}),
        ("factor=2", {"factor": 2.0}),
        ("factor=1e-3", {"factor": 1e-3}),
        ("flag", {"flag": True}),
        ("flag=false", {"flag": False}),
        ("names=a,7,true", {"names": ("a", "7", "true")}),
        ("names=a", {"names": ("a",)}),
        ("factors=1,2.5", {"factors": (1.0, 2.5)}),
        ("maybe=4", {"maybe": 4}),
    ],
)
def test_a_value_is_read_as_its_option_wants(text: str, options: dict[str, Any]) -> None:
    step = _option(text)
    assert step == EveryOption(**options)
    assert _option(step_text(step).removeprefix("every-option").strip("{}")) == step


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("number=x", "column 14: option 'number' of pass 'every-option' must be int, but got x"),
        ("number=1,2", "option 'number' of pass 'every-option' must be int, but got 1,2"),
        ("number", "option 'number' of pass 'every-option' must be int, but got nothing"),
        ("number=true", "option 'number' of pass 'every-option' must be int, but got true"),
        ("flag=7", "option 'flag' of pass 'every-option' must be bool, but got 7"),
        ('text="a', "column 19: unterminated string or unknown escape"),
        ("texts=a", "has no option 'texts'; did you mean 'text'?"),
    ],
)
def test_another_value_is_refused_with_its_column(text: str, complaint: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        _option(text)
    assert complaint in str(caught.value)


@given(st.lists(PIPELINES, min_size=1, max_size=4).map(",".join))
def test_text_builds_the_same_pipeline(text: str) -> None:
    pipeline = parse_pipeline(text, ENVIRONMENT.passes)
    assert parse_pipeline(str(pipeline), ENVIRONMENT.passes) == pipeline


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "text": st.text(),
        "number": st.integers(),
        "factor": st.floats(allow_nan=False, allow_infinity=False),
        "flag": st.booleans(),
        "names": st.lists(st.text()).map(tuple),
        "factors": st.lists(st.floats(allow_nan=False, allow_infinity=False)).map(tuple),
        "maybe": st.none() | st.integers(),
    },
)


@given(OPTIONS)
def test_any_value_of_an_option_stays_that_value_in_text(options: dict[str, Any]) -> None:
    """Values that look like text of pipelines included; the text is one line, as a reproducer needs it."""
    factories = {EveryOption.name: lambda: EveryOption}
    step = make_pass(factories, EveryOption.name, options)
    assert step == EveryOption(**options)
    text = step_text(step)
    assert parse_pipeline(text, factories).steps == (step,)
    assert not {"\n", "\r"} & set(text)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"number": "1"}, "option 'number' of pass 'every-option' must be int, but got 1"),
        ({"number": True}, "option 'number' of pass 'every-option' must be int, but got True"),
        ({"text": 7}, "option 'text' of pass 'every-option' must be str, but got 7"),
        ({"names": "dce},cse{"}, "option 'names' of pass 'every-option' must be tuple[str, ...], but got dce},cse{"),
        ({"names": ("a", 1)}, "option 'names' of pass 'every-option' must be tuple[str, ...], but got ('a', 1)"),
    ],
)
def test_a_value_of_another_type_is_rejected(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        make_pass({EveryOption.name: lambda: EveryOption}, EveryOption.name, options)
    assert complaint in str(caught.value)


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
    with pytest.raises(DiagnosticError, match="unknown level 'cellar'"):
        PassManager(ctx, parse_pipeline("verify-level{level=cellar}", ENVIRONMENT.passes)).run(module)


def test_values_go_to_the_passes_that_take_them() -> None:
    """Inside a nest too; the text stays, and so does the pipeline that was there before."""
    text = "builtin.module(calib-apply-profile{profile=given},builtin.module(calib-apply-profile{profile=given}),dce)"
    before = parse_pipeline(text, ENVIRONMENT.passes)
    profile = Profile(ModelDigest("", ""), 1, {})
    after = before.given(taken=profile, watch=None)
    assert str(after) == str(before)
    first, nest, other = after.steps
    assert isinstance(first, CalibApplyProfile)
    assert isinstance(nest, NestedPipeline)
    assert isinstance(nest.steps[0], CalibApplyProfile)
    assert first.taken is nest.steps[0].taken is profile
    assert not hasattr(other, "taken")
    assert [step.taken for step in before.steps if isinstance(step, CalibApplyProfile)] == [None]
