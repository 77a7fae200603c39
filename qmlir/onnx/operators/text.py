"""Importers of operators on text."""

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import SSAValue

from qmlir.dialects.nn.strings import ops
from qmlir.onnx.node import Importer, Node

LOCALES = ("", "en_US", "en_US.UTF-8")
"""The supported values of `locale`; other languages have different rules for upper and lower case."""


def _normalizer(node: Node) -> SSAValue:
    locale = node.attribute("locale") or ""
    if locale not in LOCALES:
        raise node.unsupported(f"locale must be en_US, but got '{locale}'")
    stopwords = [StringAttr(word) for word in node.attribute("stopwords") or ()]
    return node.add(
        ops.StringNormalizerOp,
        node.input(),
        case_change=node.attribute("case_change_action"),
        is_case_sensitive=bool(node.attribute("is_case_sensitive")),
        stopwords=ArrayAttr(stopwords) if stopwords else None,
    ).result


IMPORTERS: dict[str, Importer] = {"StringNormalizer": _normalizer}
