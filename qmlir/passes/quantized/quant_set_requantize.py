"""`quant-set-requantize`: choose the arithmetic by which exact integers are rescaled."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.requantization import Mode, Ties
from qmlir.dialects.kernel.attributes import RequantizeAttr
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.requantize import may_requantize, requantizes, verify_requantization
from qmlir.ir.diagnostics import op_error
from qmlir.ir.preservation import MEANING, Preservation
from qmlir.ir.statistics import count


@dataclass(frozen=True)
class QuantSetRequantize(ModulePass):
    """Let every operation that rescales exact integers do it by `mode`; a shift rounds half-way cases to `ties`.

    The arithmetic of ONNX Runtime's QLinear operators, which an imported model has as mode `qlinear`, goes: with mode
    `f32` an imported model computes as one that was quantized here.

    The modes are `f32`, `single_round`, `double_round` and `shift`. With one of the last three no float operation is
    left where operations have exact integers; a shift needs scales whose ratios are powers of two (scheme
    `symmetric_pow2` or `asymmetric_pow2`), and an operation that has others is an error.

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

    mode: Literal["f32", "single_round", "double_round", "shift"]
    ties: Literal["even", "up", "away"] | None = None

    def __post_init__(self) -> None:
        if self.mode != Mode.SHIFT and self.ties is not None:
            raise ValueError(f"mode {self.mode} has no choice of ties, a shift has")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        mode = Mode(self.mode)
        attribute = RequantizeAttr.of(mode, Ties(self.ties or Ties.EVEN) if mode is Mode.SHIFT else None)
        for nested in op.walk():
            if not isinstance(nested, NnOp) or not may_requantize(nested):
                continue
            has_integers = nested.components is not None or requantizes(nested)
            nested.requantize = None if mode is Mode.F32 or not has_integers else attribute
            try:
                verify_requantization(nested)
            except VerifyException as error:
                raise op_error(nested, str(error)) from error
            count("operations set")
