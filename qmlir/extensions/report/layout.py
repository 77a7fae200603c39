"""The graph of a report, and its layout."""

import math
from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import accumulate, pairwise
from statistics import median_low

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.nn.requantize import quantized_type
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.interfaces import MultipliesAndAdds
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.quantization.report import CASTS
from qmlir.specialization.inputs import shape_text
from qmlir.workflows.comparison.names import ModuleNames

# Layered graph drawing: every edge goes down, and no two nodes overlap.
#
# The method is Sugiyama's: ranks by longest paths, dummies where an edge passes a rank, an order within ranks by
# medians that reduces crossings, and coordinates that align neighbors.

NODE_WIDTH, NODE_HEIGHT = 176.0, 46.0
GAP, RANK_GAP = 22.0, 34.0
_DUMMY_WIDTH = 10.0

_SWEEPS = 12
"""The number of downward and upward sweeps that order the ranks; more have no effect on models with a thousand
nodes.
"""

_PULLS = 16
"""The number of sweeps that align nodes with their neighbors."""

_STRAIGHTNESS = 16.0
"""The weight of straight chains and long edges, relative to that of centering a node among its neighbors."""

Point = tuple[float, float]
Edge = tuple[int, int]


@dataclass(frozen=True)
class GraphLayout:
    """The centers of the nodes by number, the points of the edges in the given order, and the size of the drawing."""

    nodes: tuple[Point, ...]
    edges: tuple[tuple[Point, ...], ...]
    """The points of each edge, from the bottom of one node to the top of another, with two points at each rank it
    crosses.
    """

    width: float
    height: float


def ranks_of(count: int, edges: Sequence[Edge]) -> list[int]:
    """Returns the rank of each node: the length of the longest path to it.

    A node without predecessors is ranked directly above its first user.

    Raises `ValueError` if the edges form a cycle.
    """
    above: dict[int, list[int]] = {node: [] for node in range(count)}
    below: dict[int, list[int]] = {node: [] for node in range(count)}
    for source, target in edges:
        above[target].append(source)
        below[source].append(target)
    ranks = [0] * count
    for node in TopologicalSorter(above).static_order():
        ranks[node] = max((ranks[each] + 1 for each in above[node]), default=0)
    for node in range(count):
        if below[node] and not above[node]:
            ranks[node] = min(ranks[each] for each in below[node]) - 1
    return ranks


class _Layers:
    """Ranks of nodes and dummies, with a changing order."""

    def __init__(self, count: int, edges: Sequence[Edge]) -> None:
        self.count = count
        self.rank = ranks_of(count, edges)
        self.above: list[list[int]] = [[] for _ in range(count)]
        self.below: list[list[int]] = [[] for _ in range(count)]
        self.routes = [self._route(*edge) for edge in edges]
        self.layers: list[list[int]] = [[] for _ in range(max(self.rank, default=-1) + 1)]
        for each in self._by_depth():
            self.layers[self.rank[each]].append(each)
        self.position = [0] * len(self.rank)
        for layer in self.layers:
            self._number(layer)

    def _route(self, source: int, target: int) -> list[int]:
        """Splits an edge into steps between adjacent ranks, with dummies between."""
        route = [source]
        for rank in range(self.rank[source] + 1, self.rank[target]):
            self.rank.append(rank)
            self.above.append([])
            self.below.append([])
            route.append(len(self.rank) - 1)
        route.append(target)
        for one, other in pairwise(route):
            self.below[one].append(other)
            self.above[other].append(one)
        return route

    def _by_depth(self) -> list[int]:
        """Returns all nodes in depth-first order, so that connected nodes start side by side."""
        seen: dict[int, None] = {}
        stack = [node for node in reversed(range(self.count)) if not self.above[node]]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen[node] = None
                stack.extend(reversed(self.below[node]))
        return list(seen)

    def _number(self, layer: Sequence[int]) -> None:
        for position, node in enumerate(layer):
            self.position[node] = position

    def crossings(self) -> int:
        """Returns the number of crossing pairs of edges."""
        found = 0
        for layer in self.layers:
            ends: list[int] = []
            for node in layer:
                below = sorted(self.position[each] for each in self.below[node])
                found += sum(len(ends) - bisect_right(ends, each) for each in below)
                for each in below:
                    insort(ends, each)
        return found

    def order(self) -> None:
        """Sorts ranks by the medians of neighbors, alternately down and up, and keeps the best order found."""
        best, fewest = [list(layer) for layer in self.layers], self.crossings()
        for sweep in range(_SWEEPS):
            if not fewest:
                break
            neighbours = self.below if sweep % 2 else self.above
            for layer in reversed(self.layers) if sweep % 2 else self.layers:
                medians = {
                    node: median_low(self.position[each] for each in neighbours[node] or [node]) for node in layer
                }
                layer.sort(key=medians.__getitem__)
                self._number(layer)
            found = self.crossings()
            if found < fewest:
                best, fewest = [list(layer) for layer in self.layers], found
        self.layers = best
        for layer in best:
            self._number(layer)

    def width(self, node: int) -> float:
        """Returns the width of a node or of a dummy."""
        return NODE_WIDTH if node < self.count else _DUMMY_WIDTH

    def across(self) -> list[float]:
        """Returns the horizontal center of every node and dummy, from 0 at the left."""
        x = [0.0] * len(self.rank)
        for layer in self.layers:
            for node, at in zip(layer, self._spread(layer, [0.0] * len(layer), [1.0] * len(layer)), strict=True):
                x[node] = at
        for turn in range(_PULLS):
            for layer in reversed(self.layers) if turn % 2 else self.layers:
                wanted, weights = zip(*(self._wanted(node, x, turn) for node in layer), strict=True)
                for node, at in zip(layer, self._spread(layer, wanted, weights), strict=True):
                    x[node] = at
        self._straighten(x)
        left = min((at - self.width(node) / 2 for node, at in enumerate(x)), default=0.0)
        return [at - left for at in x]

    def _straighten(self, x: list[float]) -> None:
        """Aligns every chain on one vertical line if its neighbors leave room."""
        seen: set[int] = set()
        for layer in self.layers:
            for start in layer:
                if start in seen:
                    continue
                chain = [start]
                while len(below := self.below[chain[-1]]) == 1 and self._is_alone(chain[-1], below[0]):
                    chain += below
                seen.update(chain)
                lows, highs = zip(*(self._room(node, x) for node in chain), strict=True)
                low, high = max(lows), min(highs)
                if len(chain) > 1 and low <= high:
                    at = min(max(sum(x[node] for node in chain) / len(chain), low), high)
                    for node in chain:
                        x[node] = at

    def _room(self, node: int, x: Sequence[float]) -> tuple[float, float]:
        """Returns how far left and right a node can move."""
        layer, position = self.layers[self.rank[node]], self.position[node]
        low, high = -math.inf, math.inf
        if position:
            low = x[layer[position - 1]] + (self.width(layer[position - 1]) + self.width(node)) / 2 + GAP
        if position + 1 < len(layer):
            high = x[layer[position + 1]] - (self.width(layer[position + 1]) + self.width(node)) / 2 - GAP
        return low, high

    def _wanted(self, node: int, x: Sequence[float], turn: int) -> tuple[float, float]:
        """Returns the desired center of a node, the middle of its neighbors, and the weight of this wish."""
        near = self.below[node] if turn % 2 else self.above[node]
        if turn >= _PULLS // 2 or not near:
            near = [*self.above[node], *self.below[node]]
        if not near:
            return x[node], 0.5
        pulls = [_STRAIGHTNESS if self._is_alone(node, each) else 1.0 for each in near]
        total = sum(pulls)
        return sum(pull * x[each] for pull, each in zip(pulls, near, strict=True)) / total, total

    def _is_alone(self, node: int, near: int) -> bool:
        """Returns true if the edge between two nodes is the only one on its side of both."""
        upper, lower = (node, near) if self.rank[node] < self.rank[near] else (near, node)
        return len(self.below[upper]) == 1 and len(self.above[lower]) == 1

    def _spread(self, layer: Sequence[int], wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
        """Returns ordered positions near `wanted` without overlaps: least squares, by pooling adjacent violators."""
        gaps = ((self.width(one) + self.width(other)) / 2 + GAP for one, other in pairwise(layer))
        offsets = list(accumulate(gaps, initial=0.0))
        blocks: list[tuple[float, float, int]] = []
        for want, weight, offset in zip(wanted, weights, offsets, strict=True):
            blocks.append((want - offset, weight, 1))
            while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
                (one, heavy, many), (other, light, few) = blocks[-2:]
                blocks[-2:] = [((one * heavy + other * light) / (heavy + light), heavy + light, many + few)]
        starts = [start for start, _, many in blocks for _ in range(many)]
        return [start + offset for start, offset in zip(starts, offsets, strict=True)]


def layout(count: int, edges: Sequence[Edge]) -> GraphLayout:
    """Returns positions for `count` nodes of `NODE_WIDTH` and `NODE_HEIGHT`, and for their edges.

    Raises `ValueError` if the edges form a cycle.
    """
    layers = _Layers(count, edges)
    layers.order()
    x = layers.across()
    step = NODE_HEIGHT + RANK_GAP
    half = NODE_HEIGHT / 2

    def points(route: Sequence[int]) -> tuple[Point, ...]:
        ends = [(x[route[0]], layers.rank[route[0]] * step + 2 * half)]
        for node in route[1:-1]:
            top = layers.rank[node] * step
            ends += [(x[node], top), (x[node], top + 2 * half)]
        return (*ends, (x[route[-1]], layers.rank[route[-1]] * step))

    width = max((at + layers.width(node) / 2 for node, at in enumerate(x)), default=0.0)
    nodes = tuple((x[node], layers.rank[node] * step + half) for node in range(count))
    height = len(layers.layers) * step - RANK_GAP if count else 0.0
    return GraphLayout(nodes, tuple(points(route) for route in layers.routes), width, height)


# The graph of a function as users of the model know it: operations, inputs and outputs, but no casts or constants.
#
# Nodes hold their operations and keys; edges connect node numbers.


@dataclass(frozen=True)
class GraphNode:
    """A node: an operation, or a port of the function."""

    number: int
    key: str
    """The key of its first value, or the name of the port."""

    operation: Operation | None = None
    """The operation; `None` for a port."""

    value: SSAValue | None = None
    """The value that the node represents; for a quantized input, this is the quantized value."""

    is_output: bool = False

    @property
    def shape(self) -> str:
        """The shape of the value, such as `1x16x8x8`; empty if it has none."""
        type_ = None if self.value is None else ranked_tensor(self.value.type)
        return "" if type_ is None else shape_text(type_.get_shape())

    @property
    def quantized(self) -> UniformQuantizedType | None:
        """The element type of the value; `None` if it is not quantized."""
        return None if self.value is None else quantized_type(self.value)

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds for one sample."""
        return self.operation.multiply_adds() if isinstance(self.operation, MultipliesAndAdds) else 0


class ReportGraph:
    """The graph of a function: the nodes in order of computation, and the edges without duplicates."""

    def __init__(self, function: FuncOp, names: ModuleNames) -> None:
        """Builds the graph of `function`; `names` holds the names of its values."""
        self.nodes: list[GraphNode] = []
        self.edges: list[Edge] = []
        self._names = names
        self._sources: dict[SSAValue, frozenset[int]] = {}
        """The nodes that each value comes from, through casts and other operations that are not drawn."""

        block = function.body.block
        for port, argument in zip(inputs_of(function), block.args, strict=True):
            self._add_input(port.name, argument)
        for op in block.ops:
            if isinstance(op, ReturnOp):
                for port, value in zip(outputs_of(function), op.operands, strict=False):
                    came = self._sources.get(value, frozenset())
                    self._add(f"output:{port.name}", None, value, came, is_output=True)
                continue
            read = (value for each in op.walk() for value in each.operands)
            came = frozenset(number for value in read for number in self._sources.get(value, ()))
            drawn = [value for value in op.results if value in names.values]
            if drawn and not isinstance(op, CASTS):
                came = self._add(names.values[drawn[0]], op, drawn[0], came)
            self._sources.update(dict.fromkeys(op.results, came))

    def _add_input(self, name: str, argument: SSAValue) -> None:
        known = self._names.values
        seen = [result for use in argument.uses for result in use.operation.results if result in known]
        value = next((each for each in seen if known[each] in (name, f"input:{name}")), None)
        key = self._names.inputs.get(name, name) if value is None else known[value]
        self._sources[argument] = self._add(key, None, value or argument, frozenset())

    def _add(
        self, key: str, op: Operation | None, value: SSAValue, came: frozenset[int], *, is_output: bool = False
    ) -> frozenset[int]:
        node = GraphNode(len(self.nodes), key, op, value, is_output)
        self.nodes.append(node)
        self.edges += [(source, node.number) for source in sorted(came)]
        return frozenset({node.number})
