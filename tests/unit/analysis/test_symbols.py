"""Free names: the smallest number where numbers are taken in order, in few questions."""

from qmlir.analysis.symbols import first_free, unique_name


def test_numbers_in_order() -> None:
    for taken in range(1, 70):
        assert first_free(lambda number, taken=taken: number < 3 + taken, 3) == 3 + taken
    assert first_free(lambda _: False, 5) == 5


def test_a_gap_gives_a_free_number() -> None:
    taken = {2, 3, 4, 5, 8, 9, 100}
    assert first_free(taken.__contains__, 2) not in taken


def test_many_wishes_for_one_name_take_few_questions() -> None:
    taken: set[str] = set()
    asked = 0
    for _ in range(1000):
        unique_name("v", taken)
    assert taken == {"v", *(f"v_{number}" for number in range(2, 1001))}

    def is_taken(number: int) -> bool:
        nonlocal asked
        asked += 1
        return number < 100_000

    assert first_free(is_taken, 1) == 100_000
    assert asked < 40
