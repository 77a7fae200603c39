"""Operators that are one operation both ways: inputs are the operands, attributes the properties of the same names.

A row serves the importer and the exporter. The others have functions of their own under `operators/` and
`export/operators/`, but for Swish and BitShift, which are mirrored one way.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.ops import activations, elementwise, logic, pooling, selection, text


@dataclass(frozen=True)
class Mirrored:
    """An operation, and for each attribute the function from ONNX's value to the property's."""

    operation: type[NnOp]
    attributes: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict[str, Callable[[Any], Any]])


_PLAIN: Mapping[str, type[NnOp]] = {
    "Abs": elementwise.AbsOp, "Neg": elementwise.NegOp, "Sqrt": elementwise.SqrtOp, "Exp": elementwise.ExpOp,
    "Log": elementwise.LogOp, "Reciprocal": elementwise.ReciprocalOp, "Erf": elementwise.ErfOp,
    "Sin": elementwise.SinOp, "Cos": elementwise.CosOp, "Tan": elementwise.TanOp, "Asin": elementwise.AsinOp,
    "Acos": elementwise.AcosOp, "Atan": elementwise.AtanOp, "Sinh": elementwise.SinhOp, "Cosh": elementwise.CoshOp,
    "Asinh": elementwise.AsinhOp, "Acosh": elementwise.AcoshOp, "Atanh": elementwise.AtanhOp,
    "Floor": elementwise.FloorOp, "Ceil": elementwise.CeilOp, "Round": elementwise.RoundOp, "Sign": elementwise.SignOp,
    "Add": elementwise.AddOp, "Sub": elementwise.SubOp, "Mul": elementwise.MulOp, "Div": elementwise.DivOp,
    "Equal": elementwise.EqualOp, "Greater": elementwise.GreaterOp, "GreaterOrEqual": elementwise.GreaterOrEqualOp,
    "Less": elementwise.LessOp, "LessOrEqual": elementwise.LessOrEqualOp, "Where": elementwise.WhereOp,
    "And": logic.AndOp, "Or": logic.OrOp, "Xor": logic.XorOp, "Not": logic.NotOp, "IsNaN": logic.IsNaNOp,
    "BitwiseAnd": logic.BitwiseAndOp, "BitwiseOr": logic.BitwiseOrOp, "BitwiseXor": logic.BitwiseXorOp,
    "BitwiseNot": logic.BitwiseNotOp, "Relu": activations.ReluOp, "Sigmoid": activations.SigmoidOp,
    "HardSwish": activations.HardSwishOp, "Mish": activations.MishOp, "Tanh": activations.TanhOp,
    "Softplus": activations.SoftplusOp, "Softsign": activations.SoftsignOp, "NonZero": selection.NonZeroOp,
    "GlobalAveragePool": pooling.GlobalAveragePoolOp, "GlobalMaxPool": pooling.GlobalMaxPoolOp,
    "StringConcat": text.StringConcatOp,
}  # fmt: skip

MIRRORED: Mapping[str, Mirrored] = {
    **{name: Mirrored(operation) for name, operation in _PLAIN.items()},
    "LeakyRelu": Mirrored(activations.LeakyReluOp, {"alpha": float}),
    "ThresholdedRelu": Mirrored(activations.ThresholdedReluOp, {"alpha": float}),
    "Elu": Mirrored(activations.EluOp, {"alpha": float}),
    "Celu": Mirrored(activations.CeluOp, {"alpha": float}),
    "Selu": Mirrored(activations.SeluOp, {"alpha": float, "gamma": float}),
    "HardSigmoid": Mirrored(activations.HardSigmoidOp, {"alpha": float, "beta": float}),
    "GlobalLpPool": Mirrored(pooling.GlobalLpPoolOp, {"p": int}),
    "IsInf": Mirrored(logic.IsInfOp, {"detect_negative": bool, "detect_positive": bool}),
}
"""By the operator's name."""
