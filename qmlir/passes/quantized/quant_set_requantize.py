"""`quant-set-requantize`: chooses the arithmetic that rescales exact integers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir.arithmetic.requantization import Mode, Ties
from qmlir.arithmetic.schemes import are_powers_of_two
from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.dialects.nn.accumulators import accumulator_type
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.contraction.ops import ContractionOp
from qmlir.dialects.nn.elementwise.ops import ClipOp
from qmlir.dialects.nn.requantize import (
    divides_by_dynamic_size,
    has_litert_kernel,
    may_requantize,
    requantizes,
    set_requantization,
)
from qmlir.dialects.quant.ops import QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.dialects.target.attributes import targets_of
from qmlir.dialects.target.description import Description, parse_requantization
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.diagnostics import emit_remark, op_error
from qmlir.ir.passes import MEANING, Preservation, count
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.quantization.supports import mismatch, why_not


@dataclass(frozen=True)
class QuantSetRequantize(ModulePass):
    """Sets the requantization `mode` of every operation that rescales exact integers; a shift rounds ties to `ties`.

    The mode `qlinear` of imported models, which reproduces the arithmetic of ONNX Runtime's QLinear operators, is
    replaced as well: with mode `f32`, an imported model computes like a model that qmlir quantized.

    The modes are `f32`, `single_round`, `double_round` and `shift`. With one of the last three, operations with exact
    integers contain no float operation. A shift needs scales whose ratios are powers of two (scheme `symmetric_pow2` or
    `asymmetric_pow2`); an operation with other scales is an error.

    `litert_reference` and `litert_xnnpack` are the arithmetic of LiteRT's kernels, also of activations, average pools
    and softmax. An operation that LiteRT has no kernel for, or not for its types, keeps its mode.

    Without `mode`, the targets of the module decide (`quant-set-target`). An operation gets the first mode that can
    express its scales from the first target that computes the operation. If no mode of that target can, the next target
    is tried; if there is no target left, it is an error. An operation that no target computes is left unchanged.

    Without `mode` and targets, and for a target without modes, the scales decide. If all scales of an operation and
    their ratios are powers of two, the operation rescales by a shift that rounds ties up, because this compiles to the
    cheapest code. All other operations are left unchanged. So is a mean over a dynamic size, because its divisor may
    not be a power of two.

    Before (run with `mode=shift ties=even`):

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    !y = !quant.uniform<i8:f32, 0.5>
    func.func @main(%x: tensor<2x!x>) -> tensor<2x!y> {
      %0 = nn.relu %x : (tensor<2x!x>) -> tensor<2x!y>
      func.return %0 : tensor<2x!y>
    }
    ```

    After:

    ```mlir
    !x = !quant.uniform<i8:f32, 0.25>
    !y = !quant.uniform<i8:f32, 0.5>
    func.func @main(%x: tensor<2x!x>) -> tensor<2x!y> {
      %0 = nn.relu %x {requantize = #kernel.requantize<shift, even>} : (tensor<2x!x>) -> tensor<2x!y>
      func.return %0 : tensor<2x!y>
    }
    ```
    """

    name = "quant-set-requantize"
    preserves: ClassVar[Preservation] = MEANING

    mode: Literal["f32", "single_round", "double_round", "shift", "litert_reference", "litert_xnnpack"] | None = None
    ties: Literal["even", "up", "away"] | None = None

    def __post_init__(self) -> None:
        if self.mode != Mode.SHIFT and self.ties is not None:
            found = "no mode is given" if self.mode is None else f"got mode {self.mode}"
            raise ValueError(f"ties require mode shift, but {found}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        targets = targets_of(op)
        is_litert = self.mode is not None and Mode(self.mode).is_litert
        by_kernels = is_litert or (self.mode is None and any(map(_has_litert_modes, targets)))
        if by_kernels:
            _quantize_by_kernels(op, Mode(self.mode) if self.mode else Mode.LITERT_REFERENCE)
        elif self.mode is not None:
            _quantize_by_casts(op)
        operations = [nested for nested in op.walk() if isinstance(nested, NnOp)]
        for nested in operations:
            if not may_requantize(nested) and not (by_kernels and has_litert_kernel(nested)):
                continue
            before = nested.requantize
            if is_litert and not has_litert_kernel(nested) and nested.components is None:
                emit_remark(nested, "keeps its arithmetic: the kernel of LiteRT is not known")
                continue
            if by_kernels and (element := nested.litert_element()) is not None:
                operations += _rescaled_after(nested, element)
            if self.mode is None:
                is_set = _set_by_targets(nested, targets) if targets else _set_by_scales(nested)
            elif (fault := set_requantization(nested, Mode(self.mode), Ties(self.ties or Ties.EVEN))) is None:
                is_set = True
            elif is_litert and not requantizes(nested):
                nested.requantize, is_set = before, False
                emit_remark(nested, f"keeps its arithmetic: {fault}")
            else:
                raise op_error(nested, fault)
            count("operations set", int(is_set))


def _has_litert_modes(target: Description) -> bool:
    """Returns whether a target computes as LiteRT's kernels do, at least some operations."""
    texts = (*target.requantize, *(text for support in target.supports for text in support.requantize))
    return any(parse_requantization(text)[0].is_litert for text in texts)


def _quantize_by_kernels(module: ModuleOp, mode: Mode) -> None:
    """Replaces casts from f32 to types with one scale by clips without bounds, which round as LiteRT does."""
    for op in [each for each in module.walk() if isinstance(each, QuantizeCastOp)]:
        element = element_of(op.results[0])
        if isinstance(element, UniformQuantizedType) and not element.axes and element_of(op.operands[0]) == f32:
            made = ClipOp(op.operands[0], op.results[0].type)
            made.requantize = RequantizeAttr.of(mode)
            _replace(op, made)


def _quantize_by_casts(module: ModuleOp) -> None:
    """Replaces clips that quantize floats by casts, which round as `quant.qcast` does."""
    for op in [each for each in module.walk() if isinstance(each, ClipOp) and each.quantizes()]:
        if element_of(op.input) == f32 and isinstance(element_of(op.result), UniformQuantizedType):
            _replace(op, QuantizeCastOp(op.input, op.result.type))


def _replace(op: Operation, made: Operation) -> None:
    set_origins(made, origins_of(op))
    Rewriter.replace_op(op, made)


def _rescaled_after(op: NnOp, element: Attribute) -> list[ClipOp]:
    """Gives the result of `op` the type of its kernel, and returns the operation that rescales it to its own type."""
    (result,) = op.results
    own = result.type
    if element == element_of(result) or not isinstance(element, UniformQuantizedType):
        return []
    kept = Rewriter.replace_value_with_new_type(result, TensorType(element, shape_of(result)))
    rescaled = ClipOp(kept, own)
    set_origins(rescaled, origins_of(op))
    Rewriter.insert_op(rescaled, InsertPoint.after(op))
    kept.replace_uses_with_if(rescaled.result, lambda use: use.operation is not rescaled)
    return [rescaled]


def _set_by_scales(op: NnOp) -> bool:
    """Sets a shift with ties up if `op` has no mode, and all of its scales and ratios are powers of two; returns True
    if set."""
    types = [element_of(value) for value in (*op.operands, *op.results) if isinstance(value.type, TensorType)]
    types += [] if op.components is None else op.components.data.values()
    scales = [np.asarray(each.scales, np.float32) for each in types if isinstance(each, UniformQuantizedType)]
    is_shift = all(are_powers_of_two(each).all() for each in scales) and not divides_by_dynamic_size(op)
    is_exact = isinstance(op, ContractionOp) and element_of(op.results[0]) == accumulator_type(op)
    if op.requantize is not None or not is_shift or is_exact:
        return False
    if set_requantization(op, Mode.SHIFT, Ties.UP) is None:
        return True
    op.requantize = None
    return False


def _set_by_targets(op: NnOp, targets: Sequence[Description]) -> bool:
    """Sets the mode of the first target that computes `op`; returns True if it was set."""
    before, fault = op.requantize, ""
    for target in targets:
        if why_not(target, op, with_mode=False) is not None:
            continue
        modes = target.modes(next(each for each in target.supports_of(op) if mismatch(each, op) is None))
        if not modes:
            op.requantize = before
            return may_requantize(op) and _set_by_scales(op)
        for text in modes:
            mode, ties = parse_requantization(text)
            if mode is Mode.QLINEAR:  # an imported model's own arithmetic, never set for other operations
                if before is not None and before.mode is mode:
                    return False
                continue
            if not mode.is_litert and not may_requantize(op):
                return False
            if (found := set_requantization(op, mode, ties or Ties.EVEN)) is None:
                return True
            fault = fault or f"{found}; target '{target.name}' supports {', '.join(modes)}"
            op.requantize = before
    if fault:
        raise op_error(op, fault)
    return False
