"""Provenance of operations: the model's node, its op type, and the role inside it.

Provenance is stored on the operation as discardable attributes that any MLIR tool can read: `origin` (the node's name
in the user's model), `op_type` (the node's operator), `role` (the operation's role in a decomposed node, such as
`forget_gate/matmul`) and `module` (the path of the node's module in the user's program, if the node's metadata contain
it). Each attribute is a string. On an operation that stands for several nodes (a fusion, or a merge of equal
operations), the attributes are arrays of equal length. `tensor` holds the model's names of the results, if they differ
from the node's name. `composite` is set on the parts that define the results of a decomposed operation. It describes
that operation, so that it can be raised again (`qmlir.ir.decomposition`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, BytesAttr, StringAttr, UnregisteredOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

ORIGIN = "origin"
OP_TYPE = "op_type"
ROLE = "role"
MODULE = "module"
TENSOR = "tensor"
COMPOSITE = "composite"
Made = TypeVar("Made", bound=Operation)
PROVENANCE_ATTRIBUTES = (ORIGIN, OP_TYPE, ROLE, MODULE, TENSOR, COMPOSITE)

ANNOTATIONS = "nn.annotations"
"""Attribute of a module: the documentation and the metadata that other tools gave to nodes and tensors of the model.

It is stored once, by names, so that each operation keeps the annotations of its origins, whatever passes do.
"""


@dataclass(frozen=True, order=True)
class Origin:
    """A node of the user's model that an operation stands for."""

    name: str
    """The node's name in the model, unchanged."""

    op_type: str = ""
    """The node's operator in the model, such as `Gemm`; empty if unknown."""

    role: str = ""
    """The operation's role in the node, such as `bias_add`; empty if the operation is the whole node."""

    module: str = ""
    """The path of the node's module in the user's program, such as `layers.0.attn`, if its metadata contain one."""

    @property
    def module_path(self) -> str:
        """The path of the node's module: from metadata, or from a name such as `/layers.0/attn/MatMul`.

        Exporters repeat the name of a container in those of its children, as in `/layer1/layer1.0/conv1/Conv`.
        """
        parts = list[str]()
        for part in () if self.module else self.name.strip("/").split("/")[:-1]:
            if parts and part.startswith(f"{parts[-1]}."):
                parts.pop()
            parts.append(part)
        return self.module or ".".join(parts)

    def __str__(self) -> str:
        """Returns the key in profiles, rules and reports: `fc1`, or `fc1/bias_add` for a part."""
        return f"{self.name}/{self.role}" if self.role else self.name

    def within(self, role: str) -> "Origin":
        """Returns the origin of a part of this operation; roles nest, as in `forget_gate/matmul`."""
        return replace(self, role=f"{self.role}/{role}" if self.role else role)


def texts_of(attribute: Attribute | None) -> list[str]:
    """Returns the strings in an attribute, a string or a list of strings; empty for any other attribute."""
    match attribute:
        case StringAttr():
            return [attribute.data]
        case BytesAttr():  # xDSL's own parser reads a string with escaped bytes as bytes
            return [attribute.data.decode("utf-8", errors="replace")]
        case ArrayAttr():
            return [text for element in attribute.data for text in texts_of(element)]
        case _:
            return []


def _padded(texts: list[str], length: int) -> list[str]:
    return (texts + [""] * length)[:length]


def origins_of(op: Operation) -> tuple[Origin, ...]:
    """Returns the nodes that `op` stands for, in the order in which they were merged; empty if unknown."""
    if ORIGIN not in op.attributes:  # a fast path: most operations in loops, for every rewrite
        return ()
    names = texts_of(op.attributes.get(ORIGIN))
    others = (_padded(texts_of(op.attributes.get(key)), len(names)) for key in (OP_TYPE, ROLE, MODULE))
    return tuple(Origin(*fields) for fields in zip(names, *others, strict=True))


def set_origins(op: Operation, origins: Iterable[Origin]) -> None:
    """Sets the origins of `op`, without duplicates; an empty sequence removes its provenance."""
    for key, attribute in _attributes_of(tuple(dict.fromkeys(origins))).items():
        if attribute is None:
            op.attributes.pop(key, None)
        else:
            op.attributes[key] = attribute


def with_origins_of(source: Operation, made: Made) -> Made:
    """Sets the origins of `made` to those of `source`, and returns `made`."""
    set_origins(made, origins_of(source))
    return made


@lru_cache(256)  # all replacements of an operation share its origins
def _attributes_of(origins: tuple[Origin, ...]) -> Mapping[str, Attribute | None]:
    """Returns the attributes that store `origins` on an operation. An attribute without any text is `None`."""
    columns = {
        ORIGIN: [origin.name for origin in origins],
        OP_TYPE: [origin.op_type for origin in origins],
        ROLE: [origin.role for origin in origins],
        MODULE: [origin.module for origin in origins],
    }
    return {key: _text_attribute(texts) if any(texts) else None for key, texts in columns.items()}


def _text_attribute(texts: Sequence[str]) -> Attribute:
    strings = [StringAttr(text) for text in texts]
    return strings[0] if len(strings) == 1 else ArrayAttr(strings)


def tensor_names(op: Operation) -> tuple[str, ...]:
    """Returns the model's name for each result of `op`; empty for a result without a name."""
    if TENSOR in op.attributes:
        return tuple(_padded(texts_of(op.attributes[TENSOR]), len(op.results)))
    origins = origins_of(op)
    own = [origins[0].name] if len(origins) == 1 and not origins[0].role else []
    return tuple(_padded(own, len(op.results)))


def tensor_name(value: OpResult) -> str:
    """Returns the model's name for one result.

    The names of the other results, of which there may be thousands, are not read.
    """
    found = value.op.attributes.get(TENSOR)
    names = cast(ArrayAttr[Attribute], found).data if isinstance(found, ArrayAttr) else ()
    name = names[value.index] if value.index < len(names) else None
    if isinstance(name, StringAttr):
        return name.data
    return tensor_names(value.op)[value.index]


def set_tensor_names(op: Operation, names: Sequence[str]) -> None:
    """Sets the model's names for the results of `op`; omits the attribute if the origin of `op` implies the names."""
    op.attributes.pop(TENSOR, None)
    if tensor_names(op) == tuple(names) or not any(names):
        return
    op.attributes[TENSOR] = _text_attribute(names)


def name_results(values: Iterable[SSAValue | None], names: Iterable[str]) -> None:
    """Sets the tensor name of each of `values` on the operation that defines it."""
    by_op: dict[Operation, dict[int, str]] = {}
    for value, name in zip(values, names, strict=False):
        if isinstance(value, OpResult):
            by_op.setdefault(value.op, {}).setdefault(value.index, name)
    for op, found in by_op.items():
        set_tensor_names(op, [found.get(index, "") for index in range(len(op.results))])


def merged_origins(ops: Iterable[Operation]) -> tuple[Origin, ...]:
    """Returns the origins of all `ops`, in order, without duplicates."""
    return tuple(dict.fromkeys(origin for op in ops for origin in origins_of(op)))


def hand_on(sources: Sequence[Operation], target: Operation) -> None:
    """Appends the origins of `sources` to those of `target`."""
    if not any(ORIGIN in source.attributes for source in sources):  # as in loops
        return
    set_origins(target, merged_origins((target, *sources)))


def hand_on_fused(producer: Operation, consumer: Operation, target: Operation) -> None:
    """Sets the origins of `target`, a fusion of `producer` into `consumer`, to those of both.

    The results of `target` take the names of the consumer's results, since the producer's value is no longer computed.
    """
    set_origins(target, merged_origins((producer, consumer)))
    set_tensor_names(target, tensor_names(consumer))


def assign_role(op: Operation, origins: Iterable[Origin], role: str) -> None:
    """Sets the origins of `op`, which becomes the part with role `role` of the composite with the given origins."""
    set_origins(op, (origin.within(role) for origin in origins))


def describe(op: Operation) -> str:
    """Returns the description of an operation for messages: `'nn.relu' op (relu1)`."""
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    origins = origins_of(op)
    if not origins:
        return f"'{name}' op"
    return f"'{name}' op ({', '.join(map(str, origins))})"
