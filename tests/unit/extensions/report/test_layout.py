"""The layout of random graphs: edges go down, nodes lie apart, and simple graphs look as one would draw them."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmlir.extensions.report.layout import NODE_HEIGHT, NODE_WIDTH, layout, ranks_of


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """A number of nodes, and edges from lower to higher numbers, some of them twice, renumbered at random."""
    count = draw(st.integers(0, 14))
    pairs = list(combinations(range(count), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=25)) if pairs else []
    names = draw(st.permutations(range(count)))
    return count, [(names[source], names[target]) for source, target in chosen]


@given(graphs())
@settings(deadline=None)
def test_edges_go_down_and_end_at_their_nodes(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    found = layout(count, edges)
    assert len(found.edges) == len(edges)
    for (source, target), points in zip(edges, found.edges, strict=True):
        (x, y), (u, v) = found.nodes[source], found.nodes[target]
        assert points[0] == (x, y + NODE_HEIGHT / 2)
        assert points[-1] == (u, v - NODE_HEIGHT / 2)
        assert all(one[1] < other[1] for one, other in pairwise(points))


@given(graphs())
@settings(deadline=None)
def test_nodes_lie_apart_and_within_the_page(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    found = layout(count, edges)
    for (x, y), (u, v) in combinations(found.nodes, 2):
        assert abs(x - u) >= NODE_WIDTH or abs(y - v) >= NODE_HEIGHT
    for x, y in found.nodes:
        assert NODE_WIDTH / 2 - 1e-6 <= x <= found.width - NODE_WIDTH / 2 + 1e-6
        assert NODE_HEIGHT / 2 - 1e-6 <= y <= found.height - NODE_HEIGHT / 2 + 1e-6


@given(graphs())
@settings(deadline=None)
def test_an_edge_passes_beside_the_nodes_of_the_ranks_between(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    found = layout(count, edges)
    for points in found.edges:
        for x, y in points[1:-1]:
            for u, v in found.nodes:
                inside = abs(x - u) < NODE_WIDTH / 2 and abs(y - v) <= NODE_HEIGHT / 2
                assert not inside


def test_a_chain_is_a_straight_line() -> None:
    found = layout(4, [(0, 1), (1, 2), (2, 3)])
    assert {x for x, _ in found.nodes} == {NODE_WIDTH / 2}
    assert found.width == NODE_WIDTH


def test_the_branches_of_a_diamond_lie_on_both_sides() -> None:
    found = layout(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    (top, _), (left, _), (right, _), (bottom, _) = found.nodes
    assert top == pytest.approx((left + right) / 2)
    assert bottom == pytest.approx((left + right) / 2)


def test_two_pairs_do_not_cross() -> None:
    found = layout(4, [(0, 3), (1, 2)])
    xs = [x for x, _ in found.nodes]
    assert (xs[0] < xs[1]) == (xs[3] < xs[2])


def test_ranks_are_longest_paths() -> None:
    assert ranks_of(4, [(0, 1), (1, 2), (0, 2), (3, 2)]) == [0, 1, 2, 1]


def test_a_cycle_has_no_layers() -> None:
    with pytest.raises(ValueError, match="cycle"):
        layout(2, [(0, 1), (1, 0)])
