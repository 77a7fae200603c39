"""Operators of ai.onnx.ml that map to `nn`: linear models and the preprocessing of their data.

They accept any numeric type and compute in f32. Nodes with strings, or in unsupported forms, fall back to islands.
"""

import math

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, f64, i64
from xdsl.ir import SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.activations import ops as activations
from qmlir.dialects.nn.contraction import ops as contraction
from qmlir.dialects.nn.elementwise import ops as elementwise
from qmlir.dialects.nn.indexing import ops as indexing
from qmlir.dialects.nn.logic import ops as logic
from qmlir.dialects.nn.normalization import ops as softmax
from qmlir.dialects.nn.reduction import ops as reduction
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.onnx.node import Importer, Node
from qmlir.onnx.operators.movement import flattened

SMALLEST_NORM = 1e-30
"""The smallest norm (`onnx.reference`), so that a row of zeros stays zero."""


def table(node: Node) -> tuple[SSAValue, int]:
    """Returns the input, with a row for each sample, and its number of columns."""
    value, shape = node.input(), node.shape()
    if len(shape) != 2 or shape[1] == DYNAMIC_INDEX:
        raise node.unsupported(f"requires rows of static size, but got {value.type}")
    return value, shape[1]


def _numbers(node: Node, name: str, dtype: type[np.generic]) -> Array:
    """The numbers of an attribute; none where it is left out."""
    return np.asarray(node.attribute(name) or (), dtype)


def _row(node: Node, name: str, columns: int, dtype: type[np.generic]) -> Array:
    """The numbers of an attribute, one or one for each column."""
    numbers = _numbers(node, name, dtype)
    if numbers.size not in (1, columns):
        raise node.error(f"{name} must have 1 or {columns} elements, but got {numbers.tolist()}")
    return numbers


def _array_feature_extractor(node: Node) -> SSAValue:
    """The elements at some places of the last axis; those of a list are a matrix of one row."""
    data, places = node.quantized(), flattened(node, node.input(1))
    if not node.shape():
        raise node.error(f"requires a tensor of rank >= 1, but got {data.type}")
    found = node.add(indexing.GatherOp, data, places, axis=-1).result
    return found if len(node.shape()) > 1 else node.reshaped(found, [1, *shape_of(found)])


def _scaler(node: Node) -> SSAValue:
    """`(x - offset) * scale`, in f64 where the data is."""
    value, columns = table(node)
    element = f64 if element_of(value) == f64 else f32
    value = node.cast(value, element)
    dtype = node.graph.dtype_of(element)
    offset, scale = (
        node.add_constant(_row(node, name, columns, np.float32).astype(dtype), element) for name in ("offset", "scale")
    )
    moved = node.add(elementwise.SubOp, value, offset).result
    return node.cast(node.add(elementwise.MulOp, moved, scale).result, f32)


def _normalizer(node: Node) -> SSAValue:
    """Each row over its norm."""
    kind = node.attribute("norm")
    norms = {"L1": reduction.ReduceL1Op, "L2": reduction.ReduceL2Op}
    if kind not in norms:  # ONNX takes the largest magnitude as MAX, ONNX Runtime the largest element
        raise node.unsupported(f"norm must be one of {', '.join(norms)}, but got {kind}")
    value = node.cast(table(node)[0], f32)
    norm = node.add(norms[kind], value, axes=[1], keep_dims=True).result
    norm = node.add(elementwise.MaxOp, norm, node.scalar(SMALLEST_NORM, norm)).result
    return node.add(elementwise.DivOp, value, norm).result


def _binarizer(node: Node) -> SSAValue:
    """1 above the threshold, otherwise 0."""
    value = node.input()
    data = node.cast(value, f64 if element_of(value) == f64 else f32)
    above = node.add(elementwise.GreaterOp, data, node.scalar(node.attribute("threshold"), data)).result
    return node.cast(above, element_of(value))


def _imputer(node: Node) -> SSAValue:
    """Numbers of each column in the place of those that are missing: NaN, or a number that stands for it."""
    value, columns = table(node)
    if element_of(value) not in (f32, i64):
        raise node.unsupported(f"requires f32 or i64, but got {value.type}")
    kind = "float" if element_of(value) == f32 else "int64"
    name = f"imputed_value_{kind}s"
    row = node.add_constant(_row(node, name, columns, np.float32 if kind == "float" else np.int64), element_of(value))
    missing = node.attribute(f"replaced_value_{kind}")
    if math.isnan(missing):
        where = node.add(logic.IsNaNOp, value).result
    else:
        where = node.add(elementwise.EqualOp, value, node.scalar(missing, value)).result
    return node.add(elementwise.WhereOp, where, row, value).result


def _linear(node: Node, outputs: int) -> SSAValue:
    """`[samples, outputs]`: the fully connected layer of a linear model."""
    value, columns = table(node)
    coefficients, intercepts = (_numbers(node, name, np.float32) for name in ("coefficients", "intercepts"))
    if coefficients.size != outputs * columns:
        raise node.error(f"expected {columns} x {outputs} coefficients, but got {coefficients.size}")
    if intercepts.size not in (0, outputs):
        raise node.error(f"expected {outputs} intercepts, but got {intercepts.size}")
    weight = node.add_constant(coefficients.reshape(outputs, columns), f32)
    bias = node.add_constant(intercepts, f32) if intercepts.size else None
    return node.add(contraction.FullyConnectedOp, node.cast(value, f32), weight, bias).result


def transformed(node: Node, scores: SSAValue, kind: str) -> SSAValue:
    """Applies the post-transformation `kind` of ai.onnx.ml to scores."""
    match kind:
        case "NONE":
            return scores
        case "SOFTMAX":
            return node.add(softmax.SoftmaxOp, scores, axis=1).result
        case "LOGISTIC":
            return node.add(activations.SigmoidOp, scores).result
        case _:
            raise node.unsupported(f"post_transform must be NONE, SOFTMAX or LOGISTIC, but got {kind}")


def _linear_regressor(node: Node) -> SSAValue:
    return transformed(node, _linear(node, node.attribute("targets")), node.attribute("post_transform"))


def _linear_classifier(node: Node) -> list[SSAValue]:
    """The label of the largest score, and all scores."""
    labels = _numbers(node, "classlabels_ints", np.int64)
    if node.attribute("classlabels_strings") or labels.size < 2 or _numbers(node, "intercepts", np.float32).size == 1:
        raise node.unsupported("string labels and a single logit for two classes are not supported")
    scores = _linear(node, labels.size)
    place = node.add(reduction.ArgMaxOp, scores, axis=1, keep_dims=False).result
    table = node.add_constant(labels, i64)
    return [
        node.add(indexing.GatherOp, table, place, axis=0).result,
        transformed(node, scores, node.attribute("post_transform")),
    ]


IMPORTERS: dict[str, Importer] = {
    f"ai.onnx.ml::{name}": importer
    for name, importer in {
        "ArrayFeatureExtractor": _array_feature_extractor,
        "Binarizer": _binarizer,
        "Imputer": _imputer,
        "LinearClassifier": _linear_classifier,
        "LinearRegressor": _linear_regressor,
        "Normalizer": _normalizer,
        "Scaler": _scaler,
    }.items()
}
