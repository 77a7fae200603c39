"""The weights of the cost function of partitioning; the help of a command shows them, so nothing is imported here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Preferences:
    """The weights of the cost function of partitioning."""

    transfer_bytes: int = 4096
    """The latency of a transfer, as the number of bytes that could be moved in that time."""

    intensity: float = 0.0
    """The minimum work per byte that crosses to a device. If it is 0, a device gets all operations that it supports.

    Work is counted in multiply-adds, or in result elements for operations that don't multiply.
    """

    min_ops: int = 1
    """The minimum number of operations in a part; smaller parts go to the next target or the host."""

    def __post_init__(self) -> None:
        if self.transfer_bytes < 0 or self.intensity < 0 or self.min_ops < 1:
            raise ValueError("transfer_bytes and intensity must be >= 0, and min_ops must be >= 1")
