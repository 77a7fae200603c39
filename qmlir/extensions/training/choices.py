"""Choices and defaults that the help of commands shows: this module imports no compiler."""

import math
from dataclasses import dataclass
from enum import StrEnum

from qmlir.ir.messages import text_error

FIXED = "fixed"
"""The method that does not learn scales."""

SCALE_METHODS = (FIXED, "lsq", "tqt")
"""The methods of learning scales, by the names that `calib.fake_quant` uses for them."""


class OptimizerKind(StrEnum):
    """The update rule of weights and biases."""

    ADAM = "adam"
    SGD = "sgd"
    """Stochastic gradient descent with momentum."""


class FinetuneLoss(StrEnum):
    """The loss that training minimizes."""

    MSE = "mse"
    """The squared error against the results of the float model, divided by their variance."""

    KL = "kl"
    """The divergence between the softmax of the results and that of the float model, at a given temperature."""

    LABELS = "labels"
    """The cross entropy between the softmax of the logits and the labels, combined with a fraction of `kl`."""


@dataclass(frozen=True)
class FinetuneOptions:
    """Training options. The constructor raises `DiagnosticError` if a number is out of range."""

    loss: FinetuneLoss
    temperature: float = 2.0
    distill: float = 0.5
    """The fraction of `kl` in the loss `labels`."""

    validation_split: float = 0.1
    epochs: int = 10
    batch_size: int = 64
    mixup: float | None = None
    """The fraction of the samples of a batch that are mixed with another sample. `None` means `MIX` if the float model
    is the only teacher and all inputs are floats, and otherwise 0.
    """

    optimizer: OptimizerKind = OptimizerKind.ADAM
    learning_rate: float | None = None
    """The learning rate of weights and biases. `None` means `RATE` or `NARROW_RATE`, depending on the bits of the
    weights.
    """

    scale_rate: float = 4e-3
    warmup: float = 0.02
    """The fraction of the steps during which the learning rates rise."""

    patience: int | None = None
    """The number of epochs without improvement after which training stops; `None` runs all epochs."""

    seed: int = 0
    freeze_oscillating: bool = False
    """True if weights of at most `NARROW` bits that oscillate between two codes are frozen."""

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch_size", 1), ("patience", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise text_error(f"{name} must be at least {least}, but got {value}")
        for name in ("temperature", "learning_rate", "scale_rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise text_error(f"{name} must be greater than 0, but got {value:g}")
        for name in ("validation_split", "distill", "warmup"):
            value = getattr(self, name)
            is_open = name == "validation_split"
            if not 0 <= value <= 1 or (is_open and value in (0, 1)):
                raise text_error(f"{name} must be in {'(0, 1)' if is_open else '[0, 1]'}, but got {value:g}")
        if self.mixup is not None and not 0 <= self.mixup <= 1:
            raise text_error(f"mixup must be in [0, 1], but got {self.mixup:g}")
        if self.mixup and self.loss is FinetuneLoss.LABELS:
            raise text_error("mixup cannot be combined with labels: a mixed sample has no label")
