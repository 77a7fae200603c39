"""Symbolic sizes: products of numbers and names of dynamic dimensions.

The factors are ordered by stride, outermost first. An axis with the factors `[batch, 12]` has twelve elements for each
sample. If a dynamic dimension is smaller than its capacity, index `(i, j)` of such an axis is valid if `i` is less than
the size of the dimension. In this way, the padding of axes that a reshape merges stays distinguishable.

The sizes of windows, slices and concatenations are quotients of dynamic dimensions, which a factor `Quotient`
represents. Simple quotients have a canonical form, so that equal sizes compare equal.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Quotient:
    """`min(floor((sum of scale * factor + add) / divisor), most)` of dynamic factors.

    A quotient is nondecreasing in each factor, because scales are positive. Runtime sizes for which it is below 1 are
    rejected.
    """

    terms: tuple[tuple["str | Quotient", int], ...]
    add: int
    divisor: int
    most: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The dynamic dimensions that the quotient depends on."""
        return _names(factor for factor, _ in self.terms)

    def at(self, sizes: Mapping[str, int]) -> int:
        """Returns the value of the quotient for these sizes of dynamic dimensions."""
        total = sum(scale * _number(factor, sizes) for factor, scale in self.terms)
        found = (total + self.add) // self.divisor
        return found if self.most is None else min(found, self.most)

    def __str__(self) -> str:
        total = " + ".join(f"{scale}*{factor}" if scale != 1 else str(factor) for factor, scale in self.terms)
        total += f" {'-' if self.add < 0 else '+'} {abs(self.add)}" if self.add else ""
        whole = f"({total})" if self.divisor == 1 else f"(({total}) // {self.divisor})"
        return whole if self.most is None else f"min({whole}, {self.most})"


Factor = int | str | Quotient


def _names(factors: Iterable[str | Quotient]) -> tuple[str, ...]:
    each = (factor.names if isinstance(factor, Quotient) else (factor,) for factor in factors)
    return tuple(dict.fromkeys(name for names in each for name in names))


def _number(factor: Factor, sizes: Mapping[str, int]) -> int:
    if isinstance(factor, int):
        return factor
    return sizes[factor] if isinstance(factor, str) else factor.at(sizes)


@dataclass(frozen=True)
class Extent:
    """The size of an axis as a product of factors. Adjacent numbers are multiplied, and factors of 1 are dropped."""

    factors: tuple[Factor, ...] = ()

    @staticmethod
    def of(*factors: Factor) -> "Extent":
        """Returns the product of `factors` in canonical form."""
        found: list[Factor] = []
        for factor in factors:
            last = found[-1] if found else None
            if isinstance(factor, int) and isinstance(last, int):
                found[-1] = last * factor
            elif factor != 1:
                found.append(factor)
        return Extent(tuple(found))

    def __mul__(self, other: "Extent | int") -> "Extent":
        return Extent.of(*self.factors, *(other.factors if isinstance(other, Extent) else (int(other),)))

    def __rmul__(self, other: int) -> "Extent":
        return Extent.of(int(other), *self.factors)

    def __add__(self, other: "Extent | int") -> "Extent":
        return joined([self, as_extent(other)])

    __radd__ = __add__

    def __sub__(self, other: int) -> "Extent":
        return quotient(self, -int(other), 1)

    def __floordiv__(self, other: int) -> "Extent":
        return quotient(self, 0, int(other))

    @property
    def opened(self) -> tuple[str | Quotient, ...]:
        """The factors that are dynamic dimensions or quotients of them."""
        return tuple(factor for factor in self.factors if not isinstance(factor, int))

    @property
    def scale(self) -> int:
        """The product of the static factors."""
        return math.prod(factor for factor in self.factors if isinstance(factor, int))

    @property
    def names(self) -> tuple[str, ...]:
        """The dynamic dimensions that the size depends on."""
        return _names(self.opened)

    @property
    def number(self) -> int | None:
        """The size if it is static, else `None`."""
        return self.at({}) if not self.names else None

    @property
    def grows(self) -> bool:
        """Whether the size is nondecreasing in each dynamic dimension of at least 1: no factor may be negative."""
        return all(_number(factor, dict.fromkeys(self.names, 1)) >= 0 for factor in self.factors)

    @property
    def counts_places(self) -> bool:
        """Whether the index of a valid element does not depend on the capacity, because only the outermost factor is
        dynamic."""
        return all(isinstance(factor, int) for factor in self.factors[1:])

    def at(self, sizes: Mapping[str, int]) -> int:
        """Returns the size of the axis for these sizes of dynamic dimensions."""
        return math.prod(_number(factor, sizes) for factor in self.factors)

    def digits(self, capacities: Mapping[str, int]) -> dict[str | Quotient, npt.NDArray[np.int64]]:
        """Returns, for each dynamic factor, the index along it of every element of the axis at full capacity."""
        numbers = [_number(factor, capacities) for factor in self.factors]
        positions = np.unravel_index(np.arange(self.at(capacities)), numbers) if numbers else ()
        named = zip(self.factors, positions, strict=True)
        return {factor: position.astype(np.int64) for factor, position in named if not isinstance(factor, int)}

    def __str__(self) -> str:
        return "*".join(map(str, self.factors)) or "1"


Size = Extent | int


def product(axes: Iterable[Extent]) -> Extent:
    """Returns the number of elements of a tensor with these axes."""
    return Extent.of(*(factor for extent in axes for factor in extent.factors))


def quotient(extent: Extent, add: int, divisor: int, most: int | None = None) -> Extent:
    """Returns `min(floor((extent + add) / divisor), most)`; `extent` must have at most one dynamic factor."""
    number = extent.number
    if number is not None:
        found = (number + add) // divisor
        return Extent.of(found if most is None else min(found, most))
    (factor,) = extent.opened
    return _divided([(factor, extent.scale)], add, divisor, most, extent)


def _divided(
    terms: list[tuple[str | Quotient, int]], add: int, divisor: int, most: int | None, whole: Extent | None = None
) -> Extent:
    """Returns the canonical extent of a quotient; `whole` is the extent of its numerator without `add`, if known."""
    common = math.gcd(divisor, *(scale for _, scale in terms))
    if common > 1:  # floor((c x + a) / (c d)) = floor((x + floor(a / c)) / d)
        terms, add, divisor = [(factor, scale // common) for factor, scale in terms], add // common, divisor // common
        whole = None
    if divisor == 1 and add == 0 and most is None and len(terms) == 1:
        ((factor, scale),) = terms
        return Extent.of(factor, scale) if whole is None else whole
    if len(terms) == 1 and terms[0][1] == 1 and isinstance(terms[0][0], Quotient):
        # floor((floor((x + a) / c) + b) / d) = floor((x + a + c b) / (c d)); `min` commutes with monotone functions.
        inner = terms[0][0]
        bounds = [None if inner.most is None else (inner.most + add) // divisor, most]
        least = min((bound for bound in bounds if bound is not None), default=None)
        return _divided(list(inner.terms), inner.add + inner.divisor * add, inner.divisor * divisor, least)
    return Extent.of(Quotient(tuple(terms), add, divisor, most))


def joined(parts: Sequence[Extent]) -> Extent:
    """Returns the sum of `parts`, each of which must have at most one dynamic factor."""
    terms: Counter[str | Quotient] = Counter()
    add = 0
    for part in parts:
        if part.number is not None:
            add += part.number
            continue
        (factor,) = part.opened
        if isinstance(factor, Quotient) and factor.divisor == 1 and factor.most is None:
            add += part.scale * factor.add
            terms.update({inner: scale * part.scale for inner, scale in factor.terms})
        else:
            terms[factor] += part.scale
    return _divided(sorted(terms.items(), key=str), add, 1, None) if terms else Extent.of(add)


def extents(shape: Iterable[int]) -> tuple[Extent, ...]:
    """Returns the extents of a static shape."""
    return tuple(Extent.of(size) for size in shape)


def as_extent(size: Size) -> Extent:
    """Converts a size to an extent."""
    return size if isinstance(size, Extent) else Extent.of(int(size))


def _take(wanted: Extent, pending: list[Factor]) -> Extent | None:
    """Removes the first factors of `pending` whose product, in any order, is `wanted`, and returns that product."""
    names, number = Counter(wanted.opened), wanted.scale
    taken: list[Factor] = []
    while number != 1 or names.total():
        if not pending:
            return None
        factor = pending.pop(0)
        if not isinstance(factor, int):
            if not names[factor]:
                return None
            names[factor] -= 1
        elif number % factor == 0:
            number //= factor
        elif number > 1 and factor % number == 0:
            pending.insert(0, factor // number)
            factor, number = number, 1
        else:
            return None
        taken.append(factor)
    return Extent.of(*taken)


def _missing(before: Sequence[Extent], others: Sequence[Extent]) -> Extent | None:
    """Returns the size that a reshape infers for -1: all elements divided by the sizes of the other axes."""
    total, taken = product(before), product(others)
    names = Counter(total.opened)
    names.subtract(taken.opened)
    number, divisor = total.scale, taken.scale
    if min(names.values(), default=0) < 0 or not divisor or number % divisor:
        return None
    return Extent.of(number // divisor, *names.elements())


def reshaped(before: Sequence[Extent], after: Sequence[Size]) -> tuple[Extent, ...] | None:
    """Returns the extents after a reshape of `before` to `after`, which may contain one -1; `None` if they do not
    match.

    A reshape keeps the order of elements, so each new axis is a product of adjacent factors. A tensor without elements
    has no such order.
    """
    wanted = [None if size == -1 else as_extent(size) for size in after]
    if wanted.count(None) > 1 or any(0 in extent.factors for extent in before):
        return None
    missing = _missing(before, [each for each in wanted if each is not None])
    pending: list[Factor] = [factor for extent in before for factor in extent.factors]
    found: list[Extent] = []
    for each in wanted:
        target = missing if each is None else each
        taken = None if target is None else _take(target, pending)
        if taken is None:
            return None
        found.append(taken)
    return tuple(found) if all(factor == 1 for factor in pending) else None


def _take_sized(size: int, pending: list[Factor], capacities: Mapping[str, int]) -> list[Factor] | None:
    """Removes the first factors of `pending` that have `size` elements at full capacity, and returns them."""
    taken: list[Factor] = []
    while pending:
        factor = pending[0]
        number = _number(factor, capacities)
        if size == 1 and (taken or number != 1):
            break
        if isinstance(factor, int) and factor % size == 0:  # the rest belongs to the axes that follow
            taken.append(size)
            pending[0], size = factor // size, 1
        elif number and size % number == 0:
            taken.append(pending.pop(0))
            size //= number
        else:
            return None
        if pending and pending[0] == 1:
            pending.pop(0)
    return taken if size == 1 else None


def reshaped_sized(
    before: Sequence[Extent], shape: Sequence[int], capacities: Mapping[str, int]
) -> tuple[Extent, ...] | None:
    """Returns the extents after a reshape of `before` to `shape`, in which dynamic dimensions have their capacities.

    Returns `None` if a factor spans several axes. A dynamic dimension of capacity 1 could belong to any adjacent axis.
    It is assigned to an axis of size 1 if there is one, and otherwise to the axis after it. It is not assigned to the
    last of several axes, because contractions and norms compute along that axis.
    """
    if 0 in shape:
        return None
    pending: list[Factor] = [factor for extent in before for factor in extent.factors]
    found: list[list[Factor]] = []
    for position, size in enumerate(shape):
        taken = _take_sized(size, pending, capacities)
        if taken is None:
            return None
        found.append(taken)
        follows = shape[position + 1 :]
        while pending and isinstance(pending[0], str) and capacities[pending[0]] == 1 and _is_one_row(follows):
            taken.append(pending.pop(0))
    return None if pending else tuple(Extent.of(*each) for each in found)


def _is_one_row(shape: Sequence[int]) -> bool:
    """Returns True if the remaining shape is a scalar, or one axis whose size is not 1."""
    return not shape or (len(shape) == 1 and shape[0] != 1)


Content = npt.NDArray[Any]
"""The elements of a tensor that holds sizes: an object array of `Extent` and `int`."""


def content_of(sizes: Iterable[Size]) -> Content:
    """Returns a list of sizes as an object array, in which static sizes are numbers."""
    listed = [size.number if isinstance(size, Extent) and size.number is not None else size for size in sizes]
    found: Content = np.empty(len(listed), object)
    found[:] = listed
    return found


def sizes_in(content: Content) -> list[Size]:
    """Returns the elements of `content` as a flat list."""
    return cast(list[Size], content.reshape(-1).tolist())
