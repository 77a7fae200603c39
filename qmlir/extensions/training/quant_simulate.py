"""`quant-simulate`: replaces quantized values with floats holding their integers, and trained values with arguments."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.evaluation import uniform_of
from qmlir.dialects.nn.requantize import quantized_type
from qmlir.dialects.nn.terms import Expr
from qmlir.extensions.training.choices import FIXED
from qmlir.extensions.training.fake_quantization import Simulation
from qmlir.extensions.training.parameters import (
    LearnedParameter,
    check_method,
    is_chosen,
    open_parts,
    parameters_of,
    scale_groups,
)
from qmlir.extensions.training.reverse import insertion_before
from qmlir.ir.diagnostics import op_error
from qmlir.ir.passes import MEANING, Preservation, count
from qmlir.ir.signature import NAME
from qmlir.quantization.retyping import TRAINABLE
from qmlir.specialization.inputs import function_of


@dataclass
class _Arguments:
    """Adds arguments to a function, each with a name and an initial value."""

    function: FuncOp
    only: Sequence[str]

    def __post_init__(self) -> None:
        self.unused = set(self.only)
        self.entries = list(self.function.arg_attrs or [DictionaryAttr({})] * len(self.function.body.block.args))

    def take(self, parameter: LearnedParameter) -> SSAValue | None:
        """Returns a new argument for `parameter` if a pattern of `only` matches it, or if there are no patterns."""
        name, initial = parameter.name, parameter.initial
        self.unused -= {pattern for pattern in self.only if is_chosen(name, [pattern])}
        if not is_chosen(name, self.only):
            return None
        constant = ConstantOp.of(initial, TensorType(f32, initial.shape))
        block = self.function.body.block
        argument = block.insert_arg(constant.result.type, len(block.args))
        argument.name_hint = name if SSAValue.is_valid_name(name) else None
        self.entries.append(DictionaryAttr({NAME: StringAttr(name), TRAINABLE: constant.value}))
        return argument

    def finish(self) -> None:
        """Sets the type of the function, and the attributes of its arguments."""
        self.function.arg_attrs = ArrayAttr(self.entries)
        self.function.update_function_type()


@dataclass(frozen=True)
class QuantSimulate(ModulePass):
    """Replaces quantized values with floats that hold their integers; every integer is unchanged.

    A value with scale `s` and zero point `z` becomes the exact integers `q - z` in f32; accumulators too large for f32
    use f64. Rounding passes gradients through (`calib.straight_through`), so the module can be differentiated
    (`nn-gradient`) while it computes the integers of the deployed program. A norm on integers derives the constants of
    its square root from the scale of its input (`calib.row_norm`).

    Trained constants (`quant-assign-types{float_constants}`) become arguments. The option `scales` selects which scales
    become arguments as well: `lsq` learns them directly (Esser et al., Learned Step Size Quantization, 2020), `tqt`
    learns the base-2 logarithms of thresholds (Jain et al., Trained Quantization Thresholds, 2019), whose scales are
    powers of two. Each argument is named after its node, and its initial value is in `nn.trainable`. `only` holds
    patterns of argument names, in which `*` matches any text; parameters that match no pattern stay constant. A
    constant whose cast is marked `quant.soft` holds codes and is not rounded; `quant-adaround` uses such constants to
    learn the rounding.

    Before (run with `scales=lsq`):

    ```mlir
    func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> (tensor<2xf32> {nn.name = "y"}) {
      %0 = quant.qcast %x {origin = "in"} : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32, 0.5:-3>>
      %1 = quant.dcast %0 : tensor<2x!quant.uniform<i8:f32, 0.5:-3>> to tensor<2xf32>
      func.return %1 : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32> {nn.name = "x"}, %in.scale: tensor<f32> {nn.name = "in.scale",
                    nn.trainable = dense<5.000000e-01> : tensor<f32>}) -> (tensor<2xf32> {nn.name = "y"}) {
      %0 = nn.div %x, %in.scale : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {origin = "in"}
      %1 = nn.round %0 : tensor<2xf32> {origin = "in"}
      %2 = calib.straight_through %1 for %0 {origin = "in"} : tensor<2xf32>
      %3 = nn.clip %2 {minimum = -125.0, maximum = 130.0} : tensor<2xf32> {origin = "in"}
      %4 = nn.constant dense<0.000000e+00> : tensor<f32>
      %5 = nn.add %3, %4 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
      %6 = nn.mul %in.scale, %5 : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
      func.return %6 : tensor<2xf32>
    }
    ```
    """

    name = "quant-simulate"
    preserves: ClassVar[Preservation] = MEANING

    scales: str = FIXED
    only: tuple[str, ...] = ()
    function: str = "main"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = function_of(op, self.function)
        check_method(self.scales)
        for argument in function.body.block.args:
            if quantized_type(argument) is not None:
                raise op_error(function, f"inputs must be floats to be trained, but got '{argument.type}'")
        open_parts(function)
        arguments = _Arguments(function, self.only)
        simulation = Simulation(self._scales(function, arguments))
        for each in list(function.walk()):
            simulation.take(each)
        simulation.finish()
        arguments.finish()
        if arguments.unused:
            unused = ", ".join(f"'{pattern}'" for pattern in sorted(arguments.unused))
            raise op_error(function, f"has nothing to train named {unused}")
        count("values", len(simulation.found))

    def _scales(self, function: FuncOp, arguments: _Arguments) -> dict[SSAValue, SSAValue]:
        """Returns the scale of every value that has one of its own, an argument or a constant.

        Turns constants into arguments.
        """
        first = function.body.block.first_op
        assert first is not None
        scales: dict[SSAValue, SSAValue] = {}
        taken = list[ConstantOp]()  # erased last: one of them may be the first operation
        groups = scale_groups(function)
        for parameter in list(parameters_of(function, self.scales)):
            value, argument = parameter.values[0], arguments.take(parameter)
            if argument is None:
                continue
            if parameter.method is None:
                constant = value.owner
                assert isinstance(constant, ConstantOp)
                value.replace_all_uses_with(argument)
                taken.append(constant)
                continue
            at = insertion_before(first, value.owner)
            scale = parameter.method.scale(uniform_of(value), Expr(at, argument)).value
            scales.update(dict.fromkeys(parameter.values, scale))
        for value, members in groups.items():
            if value not in scales:
                held = uniform_of(value).scales.astype(np.float32)
                at = insertion_before(first, value.owner)
                scale = at.append(ConstantOp.of(held, TensorType(f32, held.shape))).result
                scales.update(dict.fromkeys(members, scale))
        for constant in taken:
            Rewriter.erase_op(constant)
        return scales
