"""Control of Python's cyclic garbage collector: paused while a long-lived module is built, as there is no garbage.

Compilation also creates garbage cycles; it only reduces the frequency of collections.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Generator[None]:
    """Pauses collection inside the block: if many long-lived objects are created, each collection would scan all of
    them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def rare_collection(objects: int) -> Generator[None]:
    """Runs the collector only after each `objects` new objects inside the block, since few of them are garbage."""
    first, *others = gc.get_threshold()
    gc.set_threshold(max(first, objects) if first else 0, *others)  # 0 is off
    try:
        yield
    finally:
        gc.set_threshold(first, *others)
