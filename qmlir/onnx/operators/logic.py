"""Importers of elementwise logic: rows of a table, from operator to operation."""

from qmlir.dialects.nn.ops import logic as ops
from qmlir.onnx.node import Importer
from qmlir.onnx.operators.elementwise import one_to_one

IMPORTERS: dict[str, Importer] = {
    "And": one_to_one(ops.AndOp),
    "Or": one_to_one(ops.OrOp),
    "Xor": one_to_one(ops.XorOp),
    "Not": one_to_one(ops.NotOp),
    "BitwiseAnd": one_to_one(ops.BitwiseAndOp),
    "BitwiseOr": one_to_one(ops.BitwiseOrOp),
    "BitwiseXor": one_to_one(ops.BitwiseXorOp),
    "BitwiseNot": one_to_one(ops.BitwiseNotOp),
    "BitShift": one_to_one(ops.BitShiftOp, direction=str.lower),
    "IsNaN": one_to_one(ops.IsNaNOp),
    "IsInf": one_to_one(ops.IsInfOp, detect_negative=bool, detect_positive=bool),
}
