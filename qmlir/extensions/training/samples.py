"""Training samples, held in memory for batches in any order, their labels, and the validation split."""

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.arrays import Array
from qmlir.interpreter.samples import Data, Samples
from qmlir.ir.diagnostics import text_error
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.specialization.inputs import function_of
from qmlir.workflows.evaluating import has_open_batch, together


class TrainingSamples:
    """All samples of the data, in memory, for batches in any order."""

    def __init__(self, module: ModuleOp, data: Data) -> None:
        self._samples = Samples(function_of(module, ENTRY), data)
        self._runs = list(self._samples)
        self.names = [each.port.name for each in self._samples.inputs]
        self.per_run = self._runs[0].samples
        """Samples per run: 1, or the batch size of the model if it is static."""

        self.is_open = has_open_batch(self._samples)
        shapes = [[array.shape for array in run.arguments] for run in self._runs]
        other = next((each for each in shapes if each != shapes[0]), None)
        if other is not None:
            raise text_error(f"training samples must have one shape, but got {shapes[0]} and {other}; pad or crop them")
        for position, run in enumerate(self._runs):
            for name, array in zip(self.names, run.arguments, strict=True):
                if np.issubdtype(array.dtype, np.floating) and np.isnan(array).any():
                    raise text_error(f"'{name}' is NaN in sample {position}, so it cannot be used for training")

    def __len__(self) -> int:
        return len(self._runs)

    def batch(self, positions: Sequence[int]) -> dict[str, Array]:
        """Returns the inputs of the runs with the indices `positions`, concatenated into a batch."""
        runs = [self._runs[position] for position in positions]
        return dict(zip(self.names, together(self._samples, runs), strict=True))

    @property
    def whole_inputs(self) -> list[str]:
        """The names of the inputs that are not floats, whose samples cannot be mixed."""
        return [
            name
            for name, array in zip(self.names, self._runs[0].arguments, strict=True)
            if not np.issubdtype(array.dtype, np.floating)
        ]

    def mixed(self, positions: Sequence[int], others: Sequence[int], shares: Array) -> dict[str, Array]:
        """Returns `share * x + (1 - share) * y` for each run `x` with an index of `positions`, and `y` of `others`.

        `shares` holds one share per pair of runs.
        """
        found = self.batch(positions)
        for (name, array), given in zip(self.batch(others).items(), self._samples.inputs, strict=True):
            mine, axis = found[name], given.axis or 0
            along = [-1 if each == axis else 1 for each in range(mine.ndim)] if len(shares) > 1 else []
            each = np.repeat(shares, mine.shape[axis] // len(shares)) if along else shares
            part = each.astype(mine.dtype).reshape(along)
            with np.errstate(invalid="ignore"):  # 0 times infinity, in a sample that is not mixed
                found[name] = np.ascontiguousarray(np.where(part < 1, part * mine + (1 - part) * array, mine))
        return found

    def items(self, positions: Sequence[int]) -> Iterator[dict[str, Array]]:
        """Yields the runs with the indices `positions`, each as an item of data (arrays by input name)."""
        for position in positions:
            yield dict(zip(self.names, self._runs[position].arguments, strict=True))

    def digest(self) -> str:
        """Returns a digest of all arrays, with their types and shapes."""
        found = hashlib.sha256()
        for array in (array for run in self._runs for array in run.arguments):
            found.update(f"{array.dtype} {array.shape}".encode())
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()


def parted(count: int, held_out: float, size: int, seed: int) -> tuple[int, Array, Array]:
    """Returns the batch size, at most `size`, and the indices of the training and of the held-out samples.

    The held-out samples form whole batches if there are enough samples. Raises `DiagnosticError` if there are fewer
    than two samples.
    """
    if count < 2:
        raise text_error(f"training requires at least 2 samples (training and validation), but got {count}")
    held = min(max(1, round(count * held_out)), count - 1)
    size = min(size, count - held)
    if held > size:
        held -= held % size
    order = np.random.default_rng(seed).permutation(count)
    return size, order[held:], order[:held]
