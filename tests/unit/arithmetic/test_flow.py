"""Binary choices by a minimum cut against all choices."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from qmlir.arithmetic.combinatorial import BinaryChoices

COUNT = 4
_VARIABLES = st.integers(0, COUNT - 1)
_MAYBE = st.none() | _VARIABLES
_TERM = st.tuples(
    st.sampled_from(["pay", "forbid", "any_one", "any_zero"]),
    st.lists(_VARIABLES, min_size=1, max_size=3, unique=True),
    _MAYBE,
    st.integers(0, 9),
)


def _cost(terms, chosen) -> int | None:
    """What a choice costs by the words of each term; `None` where one of them forbids it."""
    total = 0
    for kind, variables, other, cost in terms:
        first = chosen[variables[0]]
        if kind == "forbid":
            if first and not (other is not None and chosen[other]):
                return None
        elif kind == "pay":
            total += cost * (first and (other is None or not chosen[other]))
        elif kind == "any_one":
            total += cost * (any(chosen[each] for each in variables) and (other is None or not chosen[other]))
        else:
            total += cost * (not all(chosen[each] for each in variables) and (other is None or chosen[other]))
    return total


@given(st.lists(_TERM, max_size=8))
def test_least_of_all_choices(terms) -> None:
    choices = BinaryChoices(COUNT)
    for kind, variables, other, cost in terms:
        if kind == "forbid":
            choices.forbid(variables[0], other)
        elif kind == "pay":
            choices.pay(cost, one=variables[0], zero=other)
        elif kind == "any_one":
            choices.pay_if_any_is_one(variables, cost, zero=other)
        else:
            choices.pay_if_any_is_zero(variables, cost, one=other)
    least, chosen = choices.best()
    costs = [_cost(terms, each) for each in product([False, True], repeat=COUNT)]
    assert least == min(cost for cost in costs if cost is not None)
    assert _cost(terms, chosen) == least


def test_constants_and_variables_that_stay() -> None:
    choices = BinaryChoices(1)
    choices.pay(3)
    choices.pay_if_any_is_zero([None, 0], 5)
    choices.pay_if_any_is_one([None], 7)
    choices.pay(2, zero=0)
    assert choices.best() == (8, [True])
