"""ONNX fallback nodes: a single operation that contains ONNX nodes without an `nn` equivalent, for another runtime.

Type inference and evaluation are entries in the registry table `nn.onnx_island`, so that the dialect does not depend on
ONNX.
"""

from collections.abc import Iterator, Sequence
from typing import Self

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, StringAttr, TensorType, i8
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_op_definition, prop_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import InterpretationError, VerifyException

from qmlir import registry
from qmlir.dialects.nn.assembly import CommonFormatOp
from qmlir.dialects.nn.base import Kind, kind_of
from qmlir.dialects.nn.types import SequenceType
from qmlir.ir.builtin_types import as_dense, dense, ranked_tensor
from qmlir.ir.float_reasons import FloatCause
from qmlir.ir.interfaces import (
    DataDependentShape,
    InferResultTypes,
    NumericallyDiscontinuous,
    Quantizable,
    QuantizationSlots,
    Slot,
)
from qmlir.text.weights import ExternalWeightsAttr

TABLE = "nn.onnx_island"
"""The registry table with the functions of a fallback node: `types` infers result types, `evaluate` computes results,
`prepare` returns a function that computes them in every run."""

RUNS = ": it runs as an ONNX island"
"""The text that follows the cause in the `reason` of a fallback node."""


def is_held(type_: Attribute) -> bool:
    """Whether an operand or result may have this type: a tensor of plain numbers or strings, or a sequence of such
    tensors."""
    tensors = type_.tensors if isinstance(type_, SequenceType) else ranked_tensor(type_)
    kind = None if tensors is None else kind_of(tensors.get_element_type())
    return kind is not None and kind is not Kind.QUANTIZED


@irdl_op_definition
class OnnxIslandOp(CommonFormatOp, InferResultTypes, Quantizable):
    """Nodes of an ONNX model, computed by ONNX Runtime, or by ONNX's reference implementation if that is missing.

    `model` is a self-contained ONNX model, stored as i8 bytes, whose inputs are the operands and whose outputs are the
    results. `reason` says why the nodes were not imported as operations.
    """

    name = "nn.onnx_island"

    inputs = var_operand_def()
    outputs = var_result_def()

    model = prop_def(DenseIntOrFPElementsAttr | ExternalWeightsAttr)
    reason = prop_def(StringAttr)

    traits = traits_def(Pure(), DataDependentShape(), NumericallyDiscontinuous())

    @classmethod
    def of(cls, model: bytes, reason: str, operands: Sequence[SSAValue], result_types: Sequence[TypeAttribute]) -> Self:
        """Builds the operation that runs `model`."""
        held = dense(model, TensorType(i8, [len(model)]))
        return cls.build(
            operands=[list(operands)],
            result_types=[list(result_types)],
            properties={"model": held, "reason": StringAttr(reason)},
        )

    @property
    def cause(self) -> str:
        """The reason why the nodes were not imported."""
        return self.reason.data.removesuffix(RUNS)

    @property
    def model_bytes(self) -> bytes:
        """The serialized model. Raises `InterpretationError` if the text omitted it."""
        held = as_dense(self.model)
        if held is None:
            raise InterpretationError(
                "the ONNX nodes are stored in a separate file; load the module together with its weights file"
            )
        return held.data.data

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        """Infers the result types with ONNX. Raises `VerifyException` if that fails."""
        return registry.table(TABLE)["types"](self)

    def quantization_slots(self) -> QuantizationSlots:
        return QuantizationSlots()

    def accepts_quantized_values(self) -> bool:
        return False

    def float_reason(self) -> str:
        return FloatCause.FALLBACK.reason(cause=self.reason.data)

    def operands_with_slots(self) -> Iterator[tuple[SSAValue, Slot | None]]:
        return ((value, Slot.INPUT) for value in self.operands)

    def verify_(self) -> None:
        held = ranked_tensor(self.model.get_type())
        if held is None or held.get_element_type() != i8 or held.get_num_dims() != 1:
            raise VerifyException(f"model must be a 1-D tensor of i8, but got '{self.model.get_type()}'")
        for value in (*self.operands, *self.results):
            if not is_held(value.type):
                raise VerifyException(
                    f"operands and results must be plain tensors or sequences of them, but got '{value.type}'"
                )
