"""Python's collector of cycles, and when it rests: while a module is made that is kept, there is nothing to collect."""

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
