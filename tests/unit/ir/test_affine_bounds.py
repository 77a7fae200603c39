"""Whether an affine expression stays inside an axis, against every point one by one."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from xdsl.ir.affine import AffineExpr

from qmlir.ir.builtin_types import bounds_of, lies_outside

_LEAVES = st.one_of(st.integers(0, 2).map(AffineExpr.dimension), st.integers(-7, 9).map(AffineExpr.constant))
_DIVISORS = st.integers(1, 9)
EXPRESSIONS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, st.integers(-3, 3)).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, _DIVISORS).map(lambda pair: pair[0] % pair[1]),
        st.tuples(inner, _DIVISORS).map(lambda pair: pair[0] // pair[1]),
        st.tuples(inner, _DIVISORS).map(lambda pair: pair[0].ceil_div(pair[1])),
    ),
    max_leaves=6,
)


@given(EXPRESSIONS, st.tuples(*[st.integers(0, 6)] * 3), st.integers(0, 30))
def test_bounds_and_places(expression: AffineExpr, ranges: tuple[int, ...], size: int) -> None:
    values = [expression.eval(point, ()) for point in itertools.product(*map(range, ranges))]
    assert lies_outside(expression, ranges, size) == any(not 0 <= value < size for value in values)
    low, high = bounds_of(expression, ranges)
    assert all(low <= value <= high for value in values)
