"""Types that change under a conversion: what hands values on follows, no cast is left, and obstacles are named.

The conversion under test takes quantized tensors to their storage, as a lowering will; only the types matter here.
"""

from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.cf import BranchOp, ConditionalBranchOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qmlir.dialects.nn.activations.ops import ReluOp
from qmlir.dialects.nn.elementwise.ops import AbsOp, NegOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.environment import default_environment
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.conversion import ConvertForwarding, Legality, TypeConversion, convert
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text

Q = "tensor<2x!quant.uniform<i8:f32, 0.5>>"
STORED = "tensor<2xi8>"


def _storage(type_: Attribute) -> Attribute | None:
    tensor = ranked_tensor(type_)
    if tensor is None or not isinstance(tensor.element_type, UniformQuantizedType):
        return None
    return TensorType(tensor.element_type.storage, tensor.get_shape())


TYPES = TypeConversion(_storage)


class OnStorage(RewritePattern):
    """A relu of quantized values becomes an absolute value of stored ones."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, ReluOp):
            TYPES.replace(rewriter, op, AbsOp(TYPES.operand(rewriter, op.input)))


def _parsed(source: str) -> tuple[ModuleOp, list[Operation]]:
    module = parse_module(default_environment().new_context(), source, "model.mlir")
    verify(module)
    return module, [op for op in module.walk() if not isinstance(op, ModuleOp)]


def _convert(module: ModuleOp, patterns: Sequence[RewritePattern], legality: Legality) -> None:
    convert(module, patterns, legality, default_environment().new_context())


def _converted(source: str, hand_on: ConvertForwarding) -> str:
    module, _ = _parsed(source)
    _convert(module, [OnStorage(), hand_on], Legality(types=TYPES))
    verify(module)
    return module_text(module)


def _expected(source: str) -> str:
    return module_text(_parsed(source)[0])


def test_functions_calls_and_returns_follow() -> None:
    source = """
func.func private @outside({Q}, f32) -> {Q}
func.func @inner(%x: {Q}, %y: f32) -> {Q} {
  %0 = {relu} %x : {Q} {origin = "relu1"}
  %1 = {relu} %0 : {Q} {origin = "relu2"}
  func.return %1 : {Q}
}
func.func @main(%x: {Q}, %y: f32) -> ({Q}, f32) {
  %0 = func.call @inner(%x, %y) {origin = "call1"} : ({Q}, f32) -> {Q}
  %1 = {relu} %0 : {Q} {origin = "relu3"}
  func.return %1, %y : {Q}, f32
}
"""
    before, after = (
        source.replace("{Q}", type_).replace("{relu}", relu) for type_, relu in ((Q, "nn.relu"), (STORED, "nn.abs"))
    )
    # Provenance too is what it was: a cast that came and went belongs to nobody.
    assert _converted(before, ConvertForwarding(TYPES)) == _expected(after)


def test_control_flow_follows_where_it_is_named() -> None:
    source = """
func.func @main(%c: i1, %x: {Q}) -> {Q} {
  cf.br ^head(%x : {Q})
^head(%i: {Q}):
  cf.cond_br %c, ^body(%i : {Q}), ^end
^body(%j: {Q}):
  %0 = {relu} %j : {Q}
  cf.br ^head(%0 : {Q})
^end:
  func.return %i : {Q}
}
"""
    before, after = (
        source.replace("{Q}", type_).replace("{relu}", relu) for type_, relu in ((Q, "nn.relu"), (STORED, "nn.abs"))
    )
    operations = (FuncOp, CallOp, ReturnOp, BranchOp, ConditionalBranchOp)
    assert _converted(before, ConvertForwarding(TYPES, operations)) == _expected(after)


CHAIN = f"""func.func @main(%x: {Q}) -> {Q} {{
  %0 = nn.relu %x : {Q} {{origin = "relu1"}}
  %1 = nn.neg %0 : {Q} {{origin = "neg1"}}
  %2 = nn.relu %1 : {Q} {{origin = "relu2"}}
  func.return %2 : {Q}
}}
"""


def _refusal(legality: Legality) -> str:
    module, _ = _parsed(CHAIN)
    with pytest.raises(DiagnosticError) as caught:
        _convert(module, [OnStorage(), ConvertForwarding(TYPES)], legality)
    return str(caught.value)


def test_what_no_pattern_takes_is_named() -> None:
    assert _refusal(Legality(types=TYPES)) == (
        "model.mlir:3:3: error: 'nn.neg' op (neg1) has the type "
        "tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>, which is not legal here, and no pattern converts it"
    )


def test_what_is_kept_among_converted_operations_is_named() -> None:
    legality = Legality(types=TYPES, is_kept=lambda op: isinstance(op, NegOp))
    assert _refusal(legality) == (
        "model.mlir:3:3: error: 'nn.neg' op (neg1) uses a value of type "
        "tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>, which was converted to tensor<2xi8>"
    )


def test_what_gives_the_old_type_is_named() -> None:
    module, _ = _parsed(f"""func.func @main(%x: {STORED}) -> {Q} {{
  %0 = quant.scast %x {{origin = "cast1"}} : {STORED} to {Q}
  func.return %0 : {Q}
}}
""")
    legality = Legality(types=TYPES, is_kept=lambda op: op.name == "quant.scast")
    with pytest.raises(DiagnosticError, match=r"returns a value of type tensor<2x!quant.uniform<i8:f32,"):
        _convert(module, [ConvertForwarding(TYPES)], legality)


def test_casts_that_were_there_before_stay() -> None:
    module, _ = _parsed(f"""func.func @main(%x: f32) -> f32 {{
  %0 = builtin.unrealized_conversion_cast %x : f32 to i32
  %1 = builtin.unrealized_conversion_cast %0 : i32 to f32
  func.return %1 : f32
}}
func.func private @outside({Q})
""")
    _convert(module, [ConvertForwarding(TYPES)], Legality(types=TYPES))
    assert module_text(module).count("builtin.unrealized_conversion_cast") == 2


def test_every_type_is_converted_once() -> None:
    asked: list[Attribute] = []

    def convert_type(type_: Attribute) -> Attribute | None:
        asked.append(type_)
        return _storage(type_)

    types = TypeConversion(convert_type)
    _, operations = _parsed(CHAIN)
    for op in operations * 3:
        types.illegal_type(op)
    assert len(asked) == len(set(asked)) == 1
