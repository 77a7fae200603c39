"""`quant-dequantize-composites`: computes quantized composites in float if their parts have no types."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qmlir import registry
from qmlir.dialects.nn.base import NnOp, plain_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import Keep, Parts
from qmlir.ir.passes import MEANING, Preservation
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.quantization.casts import rewrite


def _is_quantized(value: SSAValue) -> bool:
    return isinstance(element_of(value), UniformQuantizedType)


def _plain(value: SSAValue) -> TensorType[Attribute]:
    return TensorType(plain_type(element_of(value)), shape_of(value))


def _has_parts(op: NnOp) -> bool:
    parts = Parts(op, may_be_excerpt=True)
    try:
        return registry.decompositions()[type(op)](op, parts) is not None
    finally:
        parts.discard()


@dataclass(frozen=True)
class OpenComposite(RewritePattern):
    """`f(x) -> qcast(f(dcast(x)))` for a quantized composite that does not store types for its parts."""

    keep: Keep

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, NnOp) or type(op) not in registry.decompositions() or op in self.keep:
            return
        if op.components is not None or not any(map(_is_quantized, (*op.operands, *op.results))) or _has_parts(op):
            return
        casts = [DequantizeCastOp(value, _plain(value)) if _is_quantized(value) else None for value in op.operands]
        real = type(op).create(
            operands=[value if cast is None else cast.result for value, cast in zip(op.operands, casts, strict=True)],
            properties={name: each for name, each in op.properties.items() if name != "requantize"},
            attributes=dict(op.attributes),
            result_types=[_plain(result) if _is_quantized(result) else result.type for result in op.results],
        )
        if not _has_parts(real):
            real.drop_all_references()
            for cast in filter(None, casts):
                cast.drop_all_references()
            return
        behind = [
            QuantizeCastOp(new, old.type) if _is_quantized(old) else None
            for new, old in zip(real.results, op.results, strict=True)
        ]
        made = [cast for cast in (*casts, *behind) if cast is not None]
        for cast in made:
            set_origins(cast, origins_of(op))
        before, after = (tuple(cast for cast in each if cast is not None) for each in (casts, behind))
        rewriter.insert([*before, real, *after])
        results = [new if cast is None else cast.result for new, cast in zip(real.results, behind, strict=True)]
        rewriter.replace(op, [], results)


@dataclass(frozen=True)
class QuantDequantizeComposites(ModulePass):
    """Makes a quantized composite whose parts have no types compute in float between casts.

    The casts keep the quantization parameters of the composite's operands and results. The parts that `nn-decompose`
    creates later have no parameters, so only they are profiled (`calib-insert-observers`) and get types from
    `quant-assign-types`. Composites with `components` already have types for their parts and are left unchanged. So are
    composites that `keep` names; it has the same meaning as in `nn-decompose`. If the composite was computed in
    integers, its result may change by one quantization step.

    Before:

    ```mlir
    func.func @main(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.25:-128>> {
      %0 = nn.gelu %x : (tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.25:-128>>
          {origin = "act"}
      func.return %0 : tensor<4x!quant.uniform<i8:f32, 0.25:-128>>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.25:-128>> {
      %0 = quant.dcast %x {origin = "act"} : tensor<4x!quant.uniform<i8:f32, 0.5>> to tensor<4xf32>
      %1 = nn.gelu %0 : tensor<4xf32> {origin = "act"}
      %2 = quant.qcast %1 {origin = "act"} : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.25:-128>>
      func.return %2 : tensor<4x!quant.uniform<i8:f32, 0.25:-128>>
    }
    ```
    """

    name = "quant-dequantize-composites"
    preserves: ClassVar[Preservation] = MEANING

    keep: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [OpenComposite(Keep(self.keep))], ctx)
