"""`quant-set-requantize`: choose the arithmetic by which exact integers are rescaled."""

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
    """Let every operation that rescales exact integers do it by `mode`; a shift rounds half-way cases to `ties`.

    The arithmetic of ONNX Runtime's QLinear operators, which an imported model has as mode `qlinear`, goes: with mode
    `f32` an imported model computes as one that was quantized here.

    The modes are `f32`, `single_round`, `double_round` and `shift`. With one of the last three no float operation is
    left where operations have exact integers; a shift needs scales whose ratios are powers of two (scheme
    `symmetric_pow2` or `asymmetric_pow2`), and an operation that has others is an error.

    Without `mode` the targets of the module say it (`quant-set-target`): an operation takes the first mode, of the
    first target that computes it, which expresses its scales; where none of a target's modes does, the next target has
    its turn, and where no target is left, that is an error. What no target computes stays as it is.

    Without `mode` and targets, and where a target has no modes of its own, the scales decide: an operation all of whose
    scales are powers of two, and whose ratios are, rescales by a shift that rounds half-way cases up, which is the
    cheapest code. Others stay as they are; so does a mean over a dynamic size, which may divide by any number.

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
            if self.mode is None:
                raise ValueError("ties require mode shift, but no mode is given")
            raise ValueError(f"ties require mode shift, but got mode {self.mode}")

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
    """Let `op` shift, ties up, if it names no arithmetic, and all of its scales and ratios are powers of two."""
    types = [element_of(value) for value in (*op.operands, *op.results) if isinstance(value.type, TensorType)]
    types += [] if op.components is None else op.components.data.values()
    scales = [np.asarray(each.scales, np.float32) for each in types if isinstance(each, UniformQuantizedType)]
    if op.requantize is not None or not all(are_powers_of_two(each).all() for each in scales):
        return False
    if divides_by_dynamic_size(op):
        return False
    if set_requantization(op, Mode.SHIFT, Ties.UP) is None:
        return True
    op.requantize = None
    return False


def _set_by_targets(op: NnOp, targets: Sequence[Description]) -> bool:
    """Let `op` rescale as the first target does that computes it; whether there is one that says how."""
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
            if mode is Mode.QLINEAR:  # an imported model's own arithmetic: nothing gets it that has not
                if before is not None and before.mode is mode:
                    return True
                continue
            if (found := set_requantization(op, mode, ties or Ties.EVEN)) is None:
                return True
            fault = fault or f"{found}; target '{target.name}' supports {', '.join(modes)}"
            op.requantize = before
    if fault:
        raise op_error(op, fault)
    return False
