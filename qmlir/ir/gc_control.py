"""Python's collector of cycles, and when it rests: while a module is made that is kept, there is nothing to collect.

A compiler makes cycles that it drops, too: there the collector looks seldom.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Generator[None]:
    """No collection inside the block: where many objects are made that stay, each would look through all of them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def rare_collection(objects: int) -> Generator[None]:
    """Inside the block the collector runs only after each `objects` new objects: few of them are garbage."""
    first, *others = gc.get_threshold()
    gc.set_threshold(max(first, objects) if first else 0, *others)  # 0 is off
    try:
        yield
    finally:
        gc.set_threshold(first, *others)
