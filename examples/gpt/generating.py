"""Continuing a text with a GPT: a prompt in any pieces, then token by token, the cache handed from call to call."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from examples.gpt.exporting import no_past, states
from examples.gpt.training import Array, Shape

Run = Callable[[Mapping[str, Array]], Mapping[str, Any]]
"""One call of the model, whether a session, a compiled program or the interpreter."""


class Reader:
    """A model with its cache: what it is given, it has read from then on."""

    def __init__(self, run: Run, shape: Shape, batch: int = 1, cache: npt.DTypeLike = np.int8):
        self.run, self.shape = run, shape
        self.state = no_past(shape, batch, cache)

    def read(self, tokens: Array) -> Array:
        """The logits `[batch, length, vocabulary]` after each of the `tokens [batch, length]`."""
        found = self.run({"tokens": tokens, **self.state})
        kept = {past: found[present] for past, present in states(self.shape).items()}
        self.state = {"past_length": self.state["past_length"] + tokens.shape[1], **kept}
        return found["logits"]

    def read_in_pieces(self, tokens: Array, lengths: Sequence[int]) -> Array:
        """What `read` gives for `tokens`, read in pieces of these lengths."""
        pieces = np.split(tokens, np.cumsum(lengths)[:-1], axis=1)
        return np.concatenate([self.read(piece) for piece in pieces], axis=1)

    def continued(self, prompt: Array, count: int) -> Iterator[Array]:
        """The `count` most likely tokens after a prompt, `[batch]` each."""
        logits = self.read(prompt)
        for _ in range(count):
            token = logits[:, -1].argmax(-1)
            yield token
            logits = self.read(token[:, np.newaxis])
