"""When Python's collector of cycles rests, and that it goes on as before, whatever happens."""

import gc

import pytest

from qmlir.ir.gc_control import paused_collection, rare_collection


def test_a_pause_ends_with_an_error_too() -> None:
    seen: list[bool] = []

    def fails() -> None:
        with paused_collection():
            seen.append(gc.isenabled())
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fails()
    assert seen == [False]
    assert gc.isenabled()


def test_seldom_is_as_seldom_as_asked_and_no_more_often_than_before() -> None:
    before = gc.get_threshold()
    rare = (before[0] + 1000, *before[1:])

    def fails() -> None:
        with rare_collection(rare[0]):
            seen.append(gc.get_threshold())
            with rare_collection(1):
                seen.append(gc.get_threshold())
            raise ValueError("stop")

    seen: list[tuple[int, ...]] = []
    with pytest.raises(ValueError, match="stop"):
        fails()
    assert seen == [rare, rare]
    assert gc.get_threshold() == before


def test_what_is_off_stays_off() -> None:
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with rare_collection(1000):
            assert gc.get_threshold()[0] == 0
        assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)
