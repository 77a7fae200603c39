"""What is refused by size: literals as upstream MLIR refuses them, and what a few lines may not grow to."""

import io

import pytest

from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.limits import budgets
from qmlir.text.parsing import parse_module
from qmlir.tools.qmlir_opt import main

ACCEPTED = [
    "tensor<9223372036854775807xf32>", "255 : i8", "-128 : i8", "-1 : i1", "1 : i1", "9223372036854775808",
    "9223372036854775807 : index", "-9223372036854775808 : index", "5 : i16777215", "i0", "array<i8: 255>",
    "dense<255> : tensor<2xi8>", "dense<-1> : tensor<2xi1>", "array<i64: 9223372036854775808>", "0 : i0",
    "strided<[9223372036854775807]>", "affine_map<(d0) -> (d0 + 9223372036854775807)>", "dense<[]> : tensor<0xi8>",
    "dense<3> : tensor<0xi8>", "dense<(1, 2)> : tensor<2xcomplex<i8>>", "vector<1xf32>", "vector<f32>",
]  # fmt: skip
REFUSED = [
    "tensor<9223372036854775808xf32>", "tensor<99999999999999999999999xf32>", "memref<9223372036854775808xf32>",
    "vector<9223372036854775808xf32>", "vector<0xf32>", "256 : i8", "-129 : i8", "256 : ui8", "-1 : ui8", "128 : si8",
    "2 : i1", "18446744073709551616 : i64", "9223372036854775808 : index", "-9223372036854775809 : index",
    "5 : i16777216", "5 : i0", "array<i8: 256>", "array<i64: 18446744073709551616>", "dense<256> : tensor<2xi8>",
    "dense<[1, 256]> : tensor<2xi8>", "dense<0x1FF> : tensor<1xi8>", "dense<-1> : tensor<2xui8>",
    "dense<9223372036854775808> : tensor<1xindex>", "dense<[9223372036854775808]> : tensor<1xindex>",
    "dense<1> : tensor<2x9223372036854775808xi8>", "strided<[9223372036854775808]>",
    "affine_map<(d0) -> (d0 + 9223372036854775808)>", "dense<1.5> : tensor<1xi8>", "0x1FFFFFFFFF : f32",
]  # fmt: skip


def module_of(literal: str) -> str:
    """A module with a literal that upstream reads without complaint of anything else."""
    return f"module attributes {{builtin.a = {literal}}} {{}}"


def _opt(text: str, *arguments: str) -> tuple[int, str]:
    err = io.StringIO()
    return main([*arguments, "-"], stdin=io.StringIO(text), stdout=io.StringIO(), stderr=err), err.getvalue()


@pytest.mark.parametrize("literal", [*ACCEPTED, *REFUSED])
def test_literals(literal: str) -> None:
    code, said = _opt(module_of(literal))
    assert (code == 0) == (literal in ACCEPTED), said
    assert (said.partition(": error: ")[0].startswith("<stdin>:1:")) == (literal in REFUSED)


def _chain(mark: str, first: str, step: str) -> str:
    lines = [f"{mark}a0 = {first}", *(f"{mark}a{i} = {step.replace('?', f'{mark}a{i - 1}')}" for i in range(1, 60))]
    return "\n".join([*lines, f"module attributes {{a = {mark}a59}} {{}}"])


def _calls() -> str:
    functions = ["func.func @f0(%x: f32) -> f32 {\n%0 = arith.negf %x : f32\nfunc.return %0 : f32\n}"]
    functions += [
        f"func.func @f{i}(%x: f32) -> f32 {{\n%0 = func.call @f{i - 1}(%x) : (f32) -> f32\n"
        f"%1 = func.call @f{i - 1}(%0) : (f32) -> f32\nfunc.return %1 : f32\n}}"
        for i in range(1, 60)
    ]
    return "\n".join(functions)


_MANY = "\n".join(
    [
        f"#a0 = [{', '.join(['unit'] * 60000)}]",
        *(f"func.func private @f{i}() attributes {{a = #a0}}" for i in range(150)),
    ]
)


@pytest.mark.parametrize(
    ("text", "arguments", "name"),
    [
        (_chain("!", "f32", "tuple<?, ?>"), (), "alias-parts"),
        (_chain("#", "[1]", "[?, ?]"), (), "alias-parts"),
        (_chain("#", "{a = 1}", "{a = ?, b = ?}"), (), "alias-parts"),
        (_MANY, (), "text-parts"),
        (module_of("dense<1> : tensor<268435456xi8>"), (), "splat-bytes"),
        (module_of("dense<0x3F800000> : tensor<1099511627776xf32>"), (), "splat-bytes"),
        (module_of('dense<"0x01"> : tensor<1099511627776xi8>'), (), "splat-bytes"),
        (module_of('dense<"0xFF"> : tensor<1099511627776xi1>'), (), "splat-bytes"),
        (module_of("[" + ", ".join(["dense<1> : tensor<1048576xi8>"] * 70) + "]"), (), "splat-bytes"),
        (module_of(f"affine_map<(d0) -> ({' + '.join(['d0'] * 5000)})>"), (), "affine-depth"),
        (_calls(), ("-p", "inline", "--limit", "inlined-operations=500"), "inlined-operations"),
    ],
    ids=lambda each: each if isinstance(each, str) and len(each) < 20 else "",
)
def test_what_only_grows_is_refused_with_the_flag_that_raises_it(text: str, arguments, name: str) -> None:
    code, said = _opt(text, *arguments)
    assert code == 1
    assert f"; raise it with --limit {name}=N" in said.splitlines()[0]


def test_nesting_through_aliases_is_refused() -> None:
    assert _opt(_chain("#", "[1]", "[?]")) == (0, "")
    deep = "\n".join(["#a0 = [1]", *(f"#a{i} = [#a{i - 1}]" for i in range(1, 3000)), "module {}"])
    code, said = _opt(deep)
    assert code == 1
    assert "nested too deeply" in said


@pytest.mark.parametrize("depth", [65, 110, 120, 140, 3000])
@pytest.mark.parametrize(
    ("opening", "inside", "closing"), [("tuple<", "f32", ">"), ("[", "1", "]"), ("{a = ", "1", "}")]
)
def test_nesting_is_refused_before_anything_recurses(opening: str, inside: str, closing: str, depth: int) -> None:
    def literal(count: int) -> str:
        return opening * count + inside + closing * count

    assert _opt(module_of(literal(50)), "-p", "canonicalize,cse", "--verify-roundtrip") == (0, "")
    code, said = _opt(module_of(literal(depth)), "-p", "canonicalize,cse")
    assert code == 1
    assert "nested too deeply" in said


def test_a_budget_is_raised_and_lowered() -> None:
    text = module_of("dense<1> : tensor<4096xi8>")
    assert _opt(text)[0] == 0
    assert _opt(text, "--limit", "splat-bytes=4095")[0] == 1
    assert _opt(text, "--limit", "splat-bytes=4096")[0] == 0
    assert _opt(text, "--limit", "splat-byte=4096")[0] == 2
    with pytest.raises(DiagnosticError, match="did you mean 'splat-bytes'"), budgets({"splat-byte": 1}):
        pass
    with budgets({"splat-bytes": 0}), pytest.raises(DiagnosticError):
        parse_module(default_environment().new_context(), text)


def test_splats_are_what_they_were() -> None:
    module = parse_module(
        default_environment().new_context(),
        "module attributes {a = dense<-2> : tensor<3xi4>, b = dense<true> : vector<2xi1>, "
        "c = dense<1.5> : tensor<2x1xf16>, d = dense<7> : tensor<si24>, "
        "e = dense<[1, 2]> : tensor<2xi8, dense<3> : tensor<2xi8>>} {}",
    )
    found = {name: value.data.data for name, value in module.attributes.items()}
    assert found == {
        "a": b"\xfe" * 3, "b": b"\x01" * 2, "c": b"\x00\x3e" * 2, "d": b"\x07\x00\x00\x00", "e": b"\x01\x02",
    }  # fmt: skip
