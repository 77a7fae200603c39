"""Windows over spatial axes as structured operations: channels last, padded as far as the windows reach."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qmlir.dialects.kernel.lowering.lowering import Input, Lowering
from qmlir.dialects.kernel.lowering.scalars import Number
from qmlir.dialects.nn.infer.windows import Windows
from qmlir.ir.builtin_types import element_of, shape_of


def channels_last(rank: int) -> tuple[int, ...]:
    """The order of axes that takes `[N, C, …]` to `[N, …, C]`."""
    return (0, *range(2, rank), 1)


def channels_first(rank: int) -> tuple[int, ...]:
    """The order of axes that takes `[N, …, C]` to `[N, C, …]`."""
    return (0, rank - 1, *range(1, rank - 1))


@dataclass(frozen=True)
class SlidingWindows:
    """Iterators `[N, windows…, C, taps…]` over windows of channels-last data."""

    windows: Windows
    counts: tuple[int, ...]
    """How many windows there are along each spatial axis."""
    batch: int
    channels: int

    @property
    def spatial(self) -> int:
        """How many spatial axes there are."""
        return len(self.counts)

    @property
    def dims(self) -> int:
        """How many iterators there are."""
        return 2 + 2 * self.spatial

    @property
    def shape(self) -> tuple[int, ...]:
        """One element for each window, `[N, windows…, C]`."""
        return (self.batch, *self.counts, self.channels)

    @property
    def taps(self) -> tuple[int, ...]:
        """The iterators over the kernel, which are reduced."""
        return tuple(range(2 + self.spatial, self.dims))

    @property
    def result_map(self) -> AffineMap:
        """From the iterators to the window."""
        return AffineMap(self.dims, 0, tuple(AffineExpr.dimension(axis) for axis in range(2 + self.spatial)))

    def data_map(self) -> AffineMap:
        """From the iterators to the element of the padded data."""
        places = [AffineExpr.dimension(0)]
        for axis in range(self.spatial):
            window, tap = AffineExpr.dimension(1 + axis), AffineExpr.dimension(2 + self.spatial + axis)
            places.append(window * self.windows.strides[axis] + tap * self.windows.dilations[axis])
        return AffineMap(self.dims, 0, (*places, AffineExpr.dimension(1 + self.spatial)))

    def padded(self, at: Lowering, last: SSAValue, number: Number) -> SSAValue:
        """Channels-last data with a border of `number`, as far as the windows reach."""
        low, high = [0], [0]
        for axis, (count, size) in enumerate(zip(self.counts, shape_of(last)[1:-1], strict=True)):
            begin, end = self.windows.padding(axis)
            reach = (count - 1) * self.windows.strides[axis] + self.windows.extent(axis)
            low.append(begin)
            high.append(max(end, reach - begin - size))
        return at.pad(last, (*low, 0), (*high, 0), number)

    def inputs(self, at: Lowering, padded: SSAValue, unsigned: bool = False) -> list[Input]:
        """The padded data, and an operand that is not read: its shape is that of the kernel."""
        taps = at.empty(self.windows.kernel, element_of(padded))
        map_ = AffineMap(self.dims, 0, tuple(AffineExpr.dimension(axis) for axis in self.taps))
        return [Input(padded, self.data_map(), unsigned), Input(taps, map_)]


def sliding(windows: Windows, counts: Sequence[int], shape: Sequence[int]) -> SlidingWindows:
    """Windows over `[N, C, …]` data of `shape`."""
    return SlidingWindows(windows, tuple(counts), shape[0], shape[1])
