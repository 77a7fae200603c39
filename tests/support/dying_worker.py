"""A job that ends the process that does it."""

import os
import signal

from qmlir.interpreter.jobs.job import Begun


def begin_dying(shared: None) -> Begun:
    """Answers nothing."""

    def die(task: int) -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    return die
