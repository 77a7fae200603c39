"""Importers of layers written by ONNX Runtime's graph optimizer: with fused activations, or with channels last.

Models saved by ONNX Runtime (`optimized_model_filepath`) contain them: FusedConv and FusedGemm at the optimization
level *extended* or higher, and channels-last layers at the level *layout* or higher. Each becomes the equivalent `nn`
operations. Based on onnxruntime/contrib_ops/cpu/ (fused_activation.cc, fused_gemm.cc) and
core/optimizer/nhwc_transformer.cc: the weights of a channels-last convolution have the layout of ONNX's Conv.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from xdsl.ir import SSAValue

from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.movement import ops as movement
from qmlir.ir.builtin_types import shape_of
from qmlir.onnx.export.emission import MICROSOFT, attribute_names
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.one_to_one import ONE_TO_ONE
from qmlir.onnx.operators import contraction, pooling

_ONE_TO_ONE = (
    "Celu", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Tanh",
    "ThresholdedRelu",
)  # fmt: skip

_ACTIVATIONS: Mapping[str, tuple[type[NnOp], tuple[str, ...]]] = {
    "Clip": (elementwise.ClipOp, ("minimum", "maximum")),
    "Silu": (activations.SwishOp, ()),
    **{
        row.op_type: (cast(type[NnOp], row.operation), tuple(attribute_names(row.attributes).values()))
        for row in ONE_TO_ONE
        if row.op_type in _ONE_TO_ONE
    },
}
"""Maps the attribute `activation` to an operation and its properties, in the order of `activation_params`."""


def _activation(node: Node) -> tuple[type[NnOp], tuple[str, ...]] | None:
    """Returns the row of the node's activation; `None` for a layer without one."""
    name = node.attribute("activation", "")
    if name and name not in _ACTIVATIONS:
        raise node.unsupported(f"activation must be one of {', '.join(sorted(_ACTIVATIONS))}, but got '{name}'")
    return _ACTIVATIONS[name] if name else None


def channels_first(node: Node, importer: Importer, *positions: int) -> SSAValue:
    """Imports a `node` whose inputs at indices `positions` have channels last, and returns its channels-last result."""

    def moved(value: SSAValue) -> SSAValue:
        rank = len(shape_of(value))
        return node.add(movement.TransposeOp, value, permutation=[0, rank - 1, *range(1, rank - 1)]).result

    inputs = (
        moved(value) if position in positions and value is not None else value
        for position, value in enumerate(node.inputs)
    )
    found = importer(replace(node, inputs=tuple(inputs)))
    result = found if isinstance(found, SSAValue) else found[0]
    assert result is not None
    rank = len(shape_of(result))
    return node.add(movement.TransposeOp, result, permutation=[0, *range(2, rank), 1]).result


def _fused_conv(node: Node) -> SSAValue:
    """Imports FusedConv: `activation(conv(X, W) + B + Z)`."""
    found = contraction.conv(node.part("conv"))
    added, activation = node.optional(3), _activation(node)
    if added is not None:
        found = node.part("sum").add(elementwise.AddOp, found, added).result
    if activation is None:
        return found
    operation, names = activation
    numbers: Sequence[float] = node.attribute("activation_params", None) or []
    if len(numbers) != len(names):
        raise node.error(
            f"activation_params must have {len(names)} numbers for {node.attribute('activation')}, but got "
            f"{len(numbers)}"
        )
    properties: dict[str, Any] = dict(zip(names, numbers, strict=True))
    return node.add(operation, found, **properties).results[0]


def _fused_gemm(node: Node) -> SSAValue:
    """Imports FusedGemm: `activation(alpha * A' * B' + beta * C)`; `activation_alpha` is the activation's `alpha`."""
    found = contraction.gemm(node.part("gemm"))
    activation = _activation(node)
    if activation is None:
        return found
    operation, names = activation
    properties = {name: node.attribute(f"activation_{name}") for name in names}
    return node.add(operation, found, **properties).results[0]


def _nhwc_fused_conv(node: Node) -> SSAValue:
    return channels_first(node, _fused_conv, 0, 3)


def _nhwc_max_pool(node: Node) -> SSAValue:
    return channels_first(node, pooling.max_pool, 0)


IMPORTERS: dict[str, Importer] = {
    f"{MICROSOFT}::FusedConv": _fused_conv,
    f"{MICROSOFT}::FusedGemm": _fused_gemm,
    f"{MICROSOFT}::NhwcFusedConv": _nhwc_fused_conv,
    f"{MICROSOFT}::NhwcMaxPool": _nhwc_max_pool,
}
