"""Finds the schedules that a search has tuned for this machine, without importing the search."""

from collections.abc import Callable
from dataclasses import dataclass

from qmlir import registry


@dataclass(frozen=True)
class Tuned:
    """The path of a file of tuned schedules, and a digest of these schedules; both are empty if there is no file."""

    path: str = ""
    digest: str = ""


UNTUNED = Tuned()
"""No tuned schedules: programs are compiled with the tables of the instruction sets alone."""


def tuned_schedules(isa: str, threads: int, on_trouble: Callable[[str], None]) -> Tuned:
    """Returns the schedules that a search found on this machine; the service `tuned_schedules` provides them.

    Args:
        isa: The instruction set.
        threads: The number of threads.
        on_trouble: Called with the reason if any schedules are left out.
    """
    found: Callable[..., Tuned] | None = registry.service("tuned_schedules")
    return UNTUNED if found is None else found(isa, threads, on_trouble)
