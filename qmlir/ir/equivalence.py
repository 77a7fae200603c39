"""Structural equivalence of operations, and fingerprints of modules."""

import hashlib
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import cast

from xdsl.ir import Attribute, Block, Data, Operation, ParametrizedAttribute, SSAValue

# Structural equivalence of operations, used to check round trips of the text and to detect changes.
#
# xDSL's `is_structurally_equivalent` ignores result types, and treats a value that is used before its definition (in
# another block, or in a graph region) as an outside value. This one compares both.


class _Matcher:
    """Walks two operations in parallel, and records the corresponding values."""

    def __init__(self, without: Mapping[Operation, Collection[str]]) -> None:
        self.without = without
        self.pairs: list[tuple[Operation, Operation]] = []
        self.values: dict[SSAValue, SSAValue] = {}
        self.blocks: dict[Block, Block] = {}

    def match_operations(self, first: Operation, second: Operation) -> bool:
        """Returns whether the operations agree in everything except operands and successors.

        Operands and successors are compared separately, since they may refer to operations that are visited later.
        """
        without = self.without.get(first, ())
        if (
            first.name != second.name
            or without != self.without.get(second, ())
            or first.result_types != second.result_types
            or len(first.operands) != len(second.operands)
            or len(first.successors) != len(second.successors)
            or len(first.regions) != len(second.regions)
            or _entries(first.properties, without) != _entries(second.properties, without)
            or _entries(first.attributes, without) != _entries(second.attributes, without)
        ):
            return False
        self.pairs.append((first, second))
        self.values.update(zip(first.results, second.results, strict=True))
        for region, other in zip(first.regions, second.regions, strict=True):
            if len(region.blocks) != len(other.blocks):
                return False
            if not all(map(self._match_blocks, region.blocks, other.blocks)):
                return False
        return True

    def _match_blocks(self, first: Block, second: Block) -> bool:
        if first.arg_types != second.arg_types or len(first.ops) != len(second.ops):
            return False
        self.blocks[first] = second
        self.values.update(zip(first.args, second.args, strict=True))
        return all(map(self.match_operations, first.ops, second.ops))

    def match_uses(self) -> bool:
        """Returns whether operands and successors correspond; values and blocks defined outside must be identical."""
        for first, second in self.pairs:
            operands = zip(first.operands, second.operands, strict=True)
            successors = zip(first.successors, second.successors, strict=True)
            if any(self.values.get(mine, mine) is not other for mine, other in operands):
                return False
            if any(self.blocks.get(mine, mine) is not other for mine, other in successors):
                return False
        return True


def _entries(attributes: Mapping[str, Attribute], without: Collection[str]) -> Mapping[str, Attribute]:
    return {name: each for name, each in attributes.items() if name not in without} if without else attributes


def equivalent(
    first: Operation, second: Operation, without: Mapping[Operation, Collection[str]] = MappingProxyType({})
) -> bool:
    """Returns whether two operations differ at most in locations and value names.

    `without` has the names of properties and attributes of some operations that are not compared.
    """
    matcher = _Matcher(without)
    return matcher.match_operations(first, second) and matcher.match_uses()


# The fingerprint of a module. Modules that print differently have different fingerprints, but nothing is printed.
#
# For a module with quantized weights, printing numbers would dominate the time; here their bytes are hashed.


def _of(*parts: bytes) -> bytes:
    """Returns the digest of `parts`, each prefixed by its length, so that different lists don't collide."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()


def _number(position: int) -> bytes:
    return position.to_bytes(8, "little")


class _Hasher:
    """Computes digests of the components of one module; each attribute is hashed once."""

    def __init__(self, root: Operation) -> None:
        self._attributes: dict[Attribute, bytes] = {}
        # Values are numbered first, because a use may precede its definition.
        blocks = [block for op in root.walk() for region in op.regions for block in region.blocks]
        values = [value for op in root.walk() for value in op.results]
        values += [argument for block in blocks for argument in block.args]
        self._blocks = {block: _number(position) for position, block in enumerate(blocks)}
        self._values: dict[SSAValue, bytes] = {value: _number(position) for position, value in enumerate(values)}

    def attribute(self, attribute: Attribute) -> bytes:
        """Returns the digest of an attribute or type."""
        found = self._attributes.get(attribute)
        if found is None:
            found = self._attributes[attribute] = _of(attribute.name.encode(), *self._contents(attribute))
        return found

    def _contents(self, attribute: Attribute) -> list[bytes]:
        if isinstance(attribute, ParametrizedAttribute):
            return [self.attribute(each) for each in attribute.parameters]
        assert isinstance(attribute, Data), attribute
        return self._data(cast(Data[object], attribute).data)

    def _data(self, data: object) -> list[bytes]:
        match data:
            case bytes():
                return [data]
            case Attribute():
                return [self.attribute(data)]
            case tuple() | list():
                return [_of(*self._data(each)) for each in cast(tuple[object, ...], data)]
            case Mapping():
                items = sorted(cast(Mapping[str, object], data).items())
                return [_of(name.encode(), *self._data(each)) for name, each in items]
            case _:  # numbers, strings, enumerations, affine maps
                return [type(data).__name__.encode(), repr(data).encode()]

    def _named(self, attributes: Mapping[str, Attribute]) -> bytes:
        return _of(*(part for name in sorted(attributes) for part in (name.encode(), self.attribute(attributes[name]))))

    def _defined(self, value: SSAValue) -> bytes:
        return _of(self.attribute(value.type), (value.name_hint or "").encode())

    def _block(self, block: Block) -> bytes:
        arguments = [self._defined(argument) for argument in block.args]
        return _of(_of(*arguments), *(self.operation(op) for op in block.ops))

    def operation(self, op: Operation) -> bytes:
        """Returns the digest of an operation including its regions."""
        return _of(
            op.name.encode(),
            _of(*(self._values[operand] for operand in op.operands)),
            _of(*(self._defined(result) for result in op.results)),
            self._named(op.properties),
            self._named(op.attributes),
            _of(*(self._blocks[block] for block in op.successors)),
            *(_of(*map(self._block, region.blocks)) for region in op.regions),
        )


def fingerprint(op: Operation) -> str:
    """Returns a SHA-256 digest of `op`: its operations in order, their operands, value names, attributes and weights.

    `op` must not use values defined outside of it, which holds for modules.
    """
    return _Hasher(op).operation(op).hex()
