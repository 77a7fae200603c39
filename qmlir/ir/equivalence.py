"""Structural equivalence of operations: what a round trip of the text, or a look for changes, compares.

xDSL's `is_structurally_equivalent` does not look at result types, and takes a value that is used before its definition
(in another block, or in a graph region) for a value from outside. This one compares both.
"""

from xdsl.ir import Block, Operation, SSAValue


class _Matcher:
    """Walks two operations in step, and remembers what corresponds to what."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Operation, Operation]] = []
        self.values: dict[SSAValue, SSAValue] = {}
        self.blocks: dict[Block, Block] = {}

    def match_operations(self, first: Operation, second: Operation) -> bool:
        """Whether all but operands and successors agree; these may refer to operations that the walk visits later."""
        if (
            first.name != second.name
            or first.result_types != second.result_types
            or len(first.operands) != len(second.operands)
            or len(first.successors) != len(second.successors)
            or len(first.regions) != len(second.regions)
            or first.properties != second.properties
            or first.attributes != second.attributes
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
        """Whether operands and successors correspond; what neither operation holds must be the same."""
        for first, second in self.pairs:
            operands = zip(first.operands, second.operands, strict=True)
            successors = zip(first.successors, second.successors, strict=True)
            if any(self.values.get(mine, mine) is not other for mine, other in operands):
                return False
            if any(self.blocks.get(mine, mine) is not other for mine, other in successors):
                return False
        return True


def equivalent(first: Operation, second: Operation) -> bool:
    """Whether two operations differ in nothing but locations and the names of values."""
    matcher = _Matcher()
    return matcher.match_operations(first, second) and matcher.match_uses()
