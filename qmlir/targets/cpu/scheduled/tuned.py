"""Tuned schedules of a machine, which a search wrote: found without loading what makes schedules."""

from collections.abc import Callable
from dataclasses import dataclass

from qmlir import registry


@dataclass(frozen=True)
class Tuned:
    """The file that programs are compiled by, and a digest of the schedules that it has; both empty without one."""

    path: str = ""
    digest: str = ""


UNTUNED = Tuned()
"""The tables alone."""


def tuned_schedules(isa: str, threads: int, on_trouble: Callable[[str], None]) -> Tuned:
    """The schedules that a search found on this machine, by the service `tuned_schedules`.

    Args:
        isa: The instruction set.
        threads: The number of threads.
        on_trouble: Is called with the reason if something is left out.
    """
    found: Callable[..., Tuned] | None = registry.service("tuned_schedules")
    return UNTUNED if found is None else found(isa, threads, on_trouble)
