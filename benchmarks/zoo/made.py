"""A model of the zoo as it lies in its folder: the file, the samples that calibrate and those that judge, the metric.

Makers write it with `keep`, the runner reads it as `ZooModel`: they share nothing else, and may run in different
environments.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from ml_dtypes import bfloat16
from onnx import ModelProto

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]

_MODEL, _ABOUT = "model.onnx", "about.json"
_KINDS = ("calibrating", "judged")


@dataclass(frozen=True)
class About:
    """What is told of a model."""

    source: str
    """Where it comes from, with what it is trained on, or that its weights are random."""

    metric: str
    """The name of a metric in `benchmarks.zoo.metrics`."""

    states: Mapping[str, str] = field(default_factory=dict[str, str])
    """Inputs that take what an output gave in the run before, by name; streams start from what the samples have."""


@dataclass(frozen=True)
class ZooModel:
    """A model in its folder."""

    folder: Path

    @property
    def name(self) -> str:
        """Its row on the page."""
        return self.folder.name

    @property
    def path(self) -> Path:
        """The float model, as it was brought."""
        return self.folder / _MODEL

    @cached_property
    def about(self) -> About:
        """What is told of it."""
        return About(**json.loads((self.folder / _ABOUT).read_text()))

    def _samples(self, kind: str) -> list[Feeds]:
        with np.load(self.folder / f"{kind}.npz") as archive:
            arrays = {
                name: array.view(bfloat16) if array.dtype.kind == "V" else array for name, array in archive.items()
            }
        return [
            {name: array[position] for name, array in arrays.items()}
            for position in range(len(next(iter(arrays.values()))))
        ]

    @cached_property
    def calibrating(self) -> Sequence[Feeds]:
        """Samples that calibrate, one run each."""
        return self._samples("calibrating")

    @cached_property
    def judged(self) -> Sequence[Feeds]:
        """Samples whose outputs are judged."""
        return self._samples("judged")

    @cached_property
    def labels(self) -> Array | None:
        """What is right for each judged sample, where that is known."""
        path = self.folder / "labels.npy"
        return np.load(path) if path.exists() else None


def zoo(folder: Path) -> dict[str, ZooModel]:
    """The models that were made in a folder, by name."""
    return {path.parent.name: ZooModel(path.parent) for path in sorted(folder.glob(f"*/{_ABOUT}"))}


@dataclass(frozen=True)
class Made:
    """What a maker gives."""

    model: ModelProto
    calibrating: Sequence[Feeds]
    judged: Sequence[Feeds]
    metric: str = "sqnr"
    labels: Array | None = None
    states: Mapping[str, str] = field(default_factory=dict[str, str])

    def keep(self, folder: Path, source: str) -> None:
        """Write all of it; the file that says that it is there comes last."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _MODEL).write_bytes(self.model.SerializeToString())
        for kind, samples in zip(_KINDS, (self.calibrating, self.judged), strict=True):
            arrays = {name: np.stack([sample[name] for sample in samples]) for name in samples[0]}
            np.savez_compressed(folder / f"{kind}.npz", allow_pickle=False, **arrays)
        if self.labels is not None:
            np.save(folder / "labels.npy", self.labels, allow_pickle=False)
        about = About(source, self.metric, self.states)
        (folder / _ABOUT).write_text(json.dumps(asdict(about), indent=2))
