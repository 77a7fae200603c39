"""Reading files that a tool looks for itself: only regular ones, so that nothing waits for a pipe or a device."""

import errno
import os
import stat
from os import PathLike


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_regular(path: str | PathLike[str], limit: int = -1) -> bytes:
    """The bytes of a regular file, at most `limit` where that is not negative. Raises `OSError` for anything else."""
    with open(path, "rb", opener=_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
        return file.read(limit)
