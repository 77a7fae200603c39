"""`strip-debuginfo` and `strip-training`: remove locations and provenance, or replace training-only operations."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from qmlir import registry
from qmlir.dialects.nn.terms import InsertionBuilder
from qmlir.dialects.nn.training.decompose import AtInference
from qmlir.ir.diagnostics import emit_remark
from qmlir.ir.passes import MEANING, Preservation, count
from qmlir.ir.provenance import ANNOTATIONS, PROVENANCE_ATTRIBUTES


@dataclass(frozen=True)
class StripDebuginfo(ModulePass):
    """Removes the source location of every operation, and with `provenance` also the names of the model's nodes.

    Before (run with `provenance`):

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
      func.return %0 : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }
    ```
    """

    name = "strip-debuginfo"

    provenance: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nested in op.walk():
            nested.location = UnknownLoc()
            if self.provenance:
                for key in (*PROVENANCE_ATTRIBUTES, ANNOTATIONS):
                    nested.attributes.pop(key, None)


@dataclass(frozen=True)
class StripTraining(ModulePass):
    """Replaces operations in training mode with their inference forms, and reports them in remarks.

    Dropout keeps every element, batch normalization uses the running statistics and leaves them unchanged, and
    observers are removed. Fake quantization with constant parameters becomes a quantize and a dequantize cast. If its
    parameters are not constant, training has not finished, which is an error. Operations with an entry in a package's
    table `inference` are also replaced.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %ratio = nn.constant dense<0.5> : tensor<f32>
      %scale = nn.constant dense<0.25> : tensor<f32>
      %0, %mask = nn.dropout %x, %ratio : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<2x3xi1>)
      %1 = calib.fake_quant %0, %scale {method = "lsq"} : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
      func.return %1 : tensor<2x3xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %ratio = nn.constant dense<0.5> : tensor<f32>
      %scale = nn.constant dense<0.25> : tensor<f32>
      %0 = quant.qcast %x : tensor<2x3xf32> to tensor<2x3x!quant.uniform<i8:f32, 0.25>>
      %1 = quant.dcast %0 : tensor<2x3x!quant.uniform<i8:f32, 0.25>> to tensor<2x3xf32>
      func.return %1 : tensor<2x3xf32>
    }
    ```
    """

    name = "strip-training"
    preserves: ClassVar[Preservation] = MEANING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = registry.table("inference")
        for trained in list(op.walk()):
            if (rule := rules.get(type(trained))) is not None:
                _strip(trained, rule)


def _strip(op: Operation, rule: AtInference) -> None:
    added: list[Operation] = []

    def insert(new: Operation) -> None:
        Rewriter.insert_op(new, InsertPoint.before(op))
        added.append(new)

    values = rule(InsertionBuilder(op, insert), op)
    names = " and ".join(dict.fromkeys(new.name for new in added))
    emit_remark(op, f"is only for training: {f'{names} in its place' if names else 'it is removed'}")
    count("operations replaced" if names else "operations removed")
    Rewriter.replace_op(op, [], values)
