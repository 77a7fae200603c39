"""`quant-set-requantize`: chooses the arithmetic that rescales exact integers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.passes import ModulePass

from qmlir.arithmetic.requantization import Mode, Ties
from qmlir.arithmetic.schemes import are_powers_of_two
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.requantize import divides_by_dynamic_size, may_requantize, set_requantization
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.dialects.target.attributes import targets_of
from qmlir.dialects.target.description import Description, parse_requantization
from qmlir.ir.builtin_types import element_of
from qmlir.ir.diagnostics import op_error
from qmlir.ir.passes import MEANING, Preservation, count
from qmlir.quantization.supports import mismatch, why_not


@dataclass(frozen=True)
class QuantSetRequantize(ModulePass):
    """Sets the requantization `mode` of every operation that rescales exact integers; a shift rounds ties to `ties`.

    The mode `qlinear` of imported models, which reproduces the arithmetic of ONNX Runtime's QLinear operators, is
    replaced as well: with mode `f32`, an imported model computes like a model that qmlir quantized.

    The modes are `f32`, `single_round`, `double_round` and `shift`. With one of the last three, operations with exact
    integers contain no float operation. A shift needs scales whose ratios are powers of two (scheme `symmetric_pow2` or
    `asymmetric_pow2`); an operation with other scales is an error.

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

    mode: Literal["f32", "single_round", "double_round", "shift"] | None = None
    ties: Literal["even", "up", "away"] | None = None

    def __post_init__(self) -> None:
        if self.mode != Mode.SHIFT and self.ties is not None:
            found = "no mode is given" if self.mode is None else f"got mode {self.mode}"
            raise ValueError(f"ties require mode shift, but {found}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        targets = targets_of(op)
        for nested in op.walk():
            if not isinstance(nested, NnOp) or not may_requantize(nested):
                continue
            if self.mode is None:
                is_set = _set_by_targets(nested, targets) if targets else _set_by_scales(nested)
            elif (fault := set_requantization(nested, Mode(self.mode), Ties(self.ties or Ties.EVEN))) is None:
                is_set = True
            else:
                raise op_error(nested, fault)
            count("operations set", int(is_set))


def _set_by_scales(op: NnOp) -> bool:
    """Sets a shift with ties up if `op` has no mode, and all of its scales and ratios are powers of two; returns True
    if set."""
    types = [element_of(value) for value in (*op.operands, *op.results) if isinstance(value.type, TensorType)]
    types += [] if op.components is None else op.components.data.values()
    scales = [np.asarray(each.scales, np.float32) for each in types if isinstance(each, UniformQuantizedType)]
    is_shift = all(are_powers_of_two(each).all() for each in scales) and not divides_by_dynamic_size(op)
    if op.requantize is not None or not is_shift:
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
            return _set_by_scales(op)
        for text in modes:
            mode, ties = parse_requantization(text)
            if mode is Mode.QLINEAR:  # an imported model's own arithmetic, never set for other operations
                if before is not None and before.mode is mode:
                    return False
                continue
            if (found := set_requantization(op, mode, ties or Ties.EVEN)) is None:
                return True
            fault = fault or f"{found}; target '{target.name}' supports {', '.join(modes)}"
            op.requantize = before
    if fault:
        raise op_error(op, fault)
    return False
