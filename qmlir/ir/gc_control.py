"""Control of Python's cyclic garbage collector during long operations.

Building a long-lived module creates no garbage cycles, so collection is paused. Compilation does create some, so
collection only becomes less frequent.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Generator[None]:
    """Pauses collection inside the `with` block.

    If a block creates many long-lived objects, each collection would scan all of them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def free_dropped_modules() -> None:
    """Runs the collector: modules have cycles, and it counts their few objects, not the bytes of their weights."""
    gc.collect()


@contextmanager
def rare_collection(objects: int) -> Generator[None]:
    """Runs the collector only after every `objects` new objects inside the `with` block."""
    first, *others = gc.get_threshold()
    gc.set_threshold(max(first, objects) if first else 0, *others)  # 0 is off
    try:
        yield
    finally:
        gc.set_threshold(first, *others)
