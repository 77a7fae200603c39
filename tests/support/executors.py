"""Executors for tests, which stand for those that users pass."""

import pickle
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any


class PicklingExecutor(Executor):
    """Runs each call at once in a thread of its own, on pickled copies of everything, as another machine would."""

    def __init__(self) -> None:
        self.tasks: list[Any] = []
        """The task of each call that had one."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if len(args) > 2:
            self.tasks.append(args[2])
        sent = pickle.dumps((fn, args, kwargs))

        def call() -> Any:
            function, arguments, options = pickle.loads(sent)
            return pickle.loads(pickle.dumps(function(*arguments, **options)))

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(call)
