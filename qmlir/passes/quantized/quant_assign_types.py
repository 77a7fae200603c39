"""`quant-assign-types`: decides types, and makes operations compute on quantized values."""

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, ModuleOp, i64
from xdsl.ir import Region
from xdsl.rewriter import Rewriter

from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.raising.groups import Refusal
from qmlir.dialects.nn.requantize import decompose
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.decomposition import COMPONENTS, Parts, mark_composite, marks_on
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.provenance import name_results, tensor_names
from qmlir.passes.quantized.nn_raise import raise_excerpt
from qmlir.passes.quantized.quant_casts import QuantInsertCasts
from qmlir.quantization.casts import FUSION_PATTERNS, rewrite
from qmlir.quantization.profiles.attributes import PARTS, hand_on_parts
from qmlir.quantization.profiles.keys import open_composites
from qmlir.quantization.retyping import mark_kept_in_float

_UNRAISED = "not quantized: its sequence length is dynamic, so either all of its parts are quantized or none, and {}"

_EXCERPT = "nn.excerpt"
"""A temporary attribute on the last parts of an excerpt, which holds the number of their composite."""


def _put_parts(op: NnOp, parts: Parts) -> None:
    """Replaces `op` by its `parts`, which this function builds, with its statistics and the names of its results."""
    results = decompose(op, parts)
    assert results is not None
    hand_on_parts(op, parts)
    name_results(results, tensor_names(op))
    mark_composite(op, results, parts.operations)
    Rewriter.replace_op(op, parts.operations, results)


def take_apart(module: ModuleOp) -> None:
    """Replaces each composite of dynamic or large length with the parts of a few steps, so that their types can be
    decided.
    """
    for number, op in enumerate(open_composites(module)):
        parts = Parts(op, may_be_excerpt=True)
        _put_parts(op, parts)
        for part in filter(marks_on, parts.operations):
            part.attributes[_EXCERPT] = IntegerAttr(number, i64)


def _put_together(module: ModuleOp) -> dict[int, str]:
    """Raises each excerpt to its composite with the types of its parts; returns the reason for each that cannot be
    raised."""
    refused: dict[int, str] = {}
    for root in list(module.walk()):
        number = root.attributes.get(_EXCERPT)
        if root.parent is None or not isinstance(number, IntegerAttr) or number.value.data in refused:
            continue
        found = raise_excerpt(root)
        if isinstance(found, Refusal):
            refused[number.value.data] = found.reason
    return refused


def _without(module: ModuleOp, before: Region, refused: Mapping[int, str]) -> None:
    """Restores `module` to its state `before`, without raising the composites whose numbers are in `refused`.

    A composite of known length is replaced by all of its parts; one of dynamic length stays in float.
    """
    module.detach_region(module.body)
    module.add_region(before)
    composites = open_composites(module)
    for number, reason in refused.items():
        op = composites[number]
        if DYNAMIC_INDEX not in shape_of(op.operands[0])[:1]:
            _put_parts(op, Parts(op))
            continue
        op.properties.pop(COMPONENTS)
        op.attributes.pop(PARTS, None)
        mark_kept_in_float(op)
        emit_remark(op, _UNRAISED.format(reason))


@dataclass(frozen=True)
class QuantAssignTypes(QuantInsertCasts):
    """Decides the quantized type of every profiled value, and gives the value this type.

    The pass combines `quant-insert-casts` and `quant-fuse-casts`: operations stay the same, and only types change.
    Casts remain at the module boundary and around operations left in float. The options are those of
    `quant-insert-casts`.

    A recurrent layer that `nn-decompose` kept whole because its length is dynamic or large stays whole, and gets one
    type for each of its parts, shared by all time steps. If the steps cannot share their types, a layer of known length
    is unrolled into the parts of all steps, and a layer of dynamic length stays in float.

    Before (run with `activations=u8 scheme=asymmetric_pow2`):

    ```mlir
    func.func @main(%x: tensor<2x!quant.calibrated<f32<-1.0:1.0>>>) -> tensor<2x!quant.calibrated<f32<0.0:1.0>>> {
      %0 = nn.sigmoid %x
          : (tensor<2x!quant.calibrated<f32<-1.0:1.0>>>) -> tensor<2x!quant.calibrated<f32<0.0:1.0>>> {origin = "s"}
      func.return %0 : tensor<2x!quant.calibrated<f32<0.0:1.0>>>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!quant.uniform<u8:f32, 0.015625:64>>
      %1 = nn.sigmoid %0 : (tensor<2x!quant.uniform<u8:f32, 0.015625:64>>)
          -> tensor<2x!quant.uniform<u8:f32, 0.00390625>> {origin = "s"}
      %2 = quant.dcast %1 {origin = "s"} : tensor<2x!quant.uniform<u8:f32, 0.00390625>> to tensor<2xf32>
      func.return %2 : tensor<2xf32>
    }
    ```
    """

    name = "quant-assign-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        recipe = self.whole_recipe()
        while True:
            before = op.body.clone() if open_composites(op) else None
            take_apart(op)
            self.insert(op, recipe)
            rewrite(op, FUSION_PATTERNS, ctx)
            refused = _put_together(op)
            if not refused or before is None:
                return
            _without(op, before, refused)
