"""Adding up the statistics of values in a record: what compiled code calls for `kernel.record`.

A record is words of 64 bits (`qmlir.arithmetic.records` says which), and depends on the set of values alone, so sums
may be taken in any order as long as they are exact. A chunk of elements is made integers by one power of two, where
none of its elements is too small for that: `k = x * 2^-grid` has at most 50 bits, so sums of `k`, and of the products
of its halves of 25 bits, over 2^12 elements fit in 63 bits. Integers may be added in any order, so LLVM uses vectors. A
bin of the histogram is `k` shifted right, as bins are powers of two too. Where elements are so close to each other that
`k` has at most 41 bits, the integers are kept in f64, which has vectors of fewer instructions: with
`k = h * 2^21 + l`, where `h` is rounded to nearest, `|h|` and `|l|` are at most 2^20, so all sums over 2^12 elements
are at most 2^53, and exact in any order. Other chunks are added element by element.

The code is compiled once for all programs of a process, which find it by the name of a symbol.
"""

# numba has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedFunctionDecorator=false, reportUnknownParameterType=false, reportMissingParameterType=false

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, cast

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import cfunc, njit, types
from numba.core import cgutils
from numba.core.ccallback import CFunc
from numba.core.registry import cpu_target
from numba.np.numpy_support import carray

from ..entry import made_engine
from ..record_code import CHUNK, MOST_BINS, SCRATCH, record_symbol
from . import kernels
from .declare import Emission, declared, operation

BINS, INDICES, COUNT, ZEROS, NEGATIVE, POSITIVE, NANS = range(7)
"""Words: the number of bins, that of indices of the axis, of finite values, zeros, infinities of both signs, NaN."""

LOW, HIGH, RUN_LOW, RUN_HIGH = range(7, 11)
"""Words, the bits of f64: the range of all finite values, and of those of a run."""

EXPONENT = 11
"""The word of the exponent of the histogram."""

SUM, NEGATIVE_SUM, SQUARES, COUNTS = 12, 23, 34, 55
"""The first words of the sums of positive values, of the sizes of negative ones (in units of 2^-149) and of squares
(2^-298), 32 bits of a sum in a word, the lowest first; and of the histogram: bin `i` at `i`, or at `BINS + i` if `i` is
negative. The minimum of each index of the axis follows, and then the maximum, as bits of f64."""

_SPAN = 26
"""Bits below those of the largest element of a chunk that elements may use."""

_HALF = 25

_FLOAT_SPAN, _FLOAT_HALF = 17, 21
"""The same where sums are taken in f64."""

_MANY = 1 << 14
"""Elements from which on a histogram is counted in four parts: equal neighbours need not wait for each other."""

_ANY = 1 << 40
"""The size of an array whose size is not known, and of which parts are taken."""

_INFINITY = 0x7F800000
_MAGNITUDE = 0x7FFFFFFF
_WORD = 0xFFFFFFFF

jit: Any = njit  # its type knows fewer options than it takes
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "boundscheck": False}
_compiled = jit(**_OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)
_in_any_order = jit(**_OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath={"reassoc", "contract"})
"""For sums that are exact."""


@_compiled
def _add_to_sum(words, word, value, place):
    """Add `value * 2^place` to the sum that begins at `word`; of a negative place, that divides `value`."""
    if place < 0:
        value >>= -place
        place = 0
    word, shift = word + (place >> 5), place & 31
    low, high = (value & _WORD) << shift, (value >> 32) << shift
    carry = words[word] + (low & _WORD)
    words[word] = carry & _WORD
    carry = (carry >> 32) + words[word + 1] + (low >> 32) + (high & _WORD)
    words[word + 1] = carry & _WORD
    carry = (carry >> 32) + words[word + 2] + (high >> 32)
    words[word + 2] = carry & _WORD
    carry >>= 32
    while carry:
        word += 1
        carry += words[word + 2]
        words[word + 2] = carry & _WORD
        carry >>= 32


@_compiled
def _bin(value, exponent):
    return np.int64(math.floor(math.ldexp(value, -exponent)))


@_compiled
def _exponent(low, high, bins):
    """The exponent of a histogram of this range, which contains 0: that of `qmlir.arithmetic.histogram`."""
    width = 0
    while (bins - 1) >> width:
        width += 1
    exponent = max(math.frexp(max(-low, high))[1] - 1 - width, -1074)
    while _bin(high, exponent) - _bin(low, exponent) >= bins:
        exponent += 1
    return exponent


@_compiled
def _widen(words, reals, first, low, high):
    """Let a record's range contain `low` and `high`, and its histogram have bins for them."""
    bins, before = words[first + BINS], words[first + EXPONENT]
    old_low, old_high = reals[first + LOW], reals[first + HIGH]
    reals[first + LOW], reals[first + HIGH] = min(old_low, low), max(old_high, high)
    low, high = min(reals[first + LOW], 0.0), max(reals[first + HIGH], 0.0)
    if low == high:
        return
    exponent = _exponent(low, high, bins)
    words[first + EXPONENT] = exponent
    # In place: a bin goes to one that is no further from 0, after what was there has gone.
    old_low, old_high = min(old_low, 0.0), max(old_high, 0.0)
    if exponent == before or old_low >= old_high:
        return
    shift = min(exponent - before, 63)
    counts = first + COUNTS
    for place in range(1, _bin(old_high, before) + 1):
        count = words[counts + place]
        words[counts + place] = 0
        words[counts + (place >> shift)] += count
    for place in range(1, 1 - _bin(old_low, before)):
        count = words[counts + bins - place]
        words[counts + bins - place] = 0
        words[counts + bins + (-place >> shift)] += count


@_compiled
def _magnitude(key):
    """The magnitude of the float of a key."""
    return np.int32(key ^ _MAGNITUDE) & np.int32(_MAGNITUDE) if key < 0 else key


@_compiled
def _extent(bits):
    """The smallest and the largest of floats as keys that are ordered as they are, the smallest magnitude but for 0 and
    the largest one, and how many are 0."""
    least, most = np.int32(_MAGNITUDE), np.int32(-_MAGNITUDE - 1)
    smallest, zeros = np.uint32(_WORD), np.int32(0)
    for place in range(bits.size):
        each = bits[place]
        magnitude = np.int32(each & np.int32(_MAGNITUDE))
        key = np.int32(each ^ np.int32((each >> np.int32(31)) & np.int32(_MAGNITUDE)))
        least, most = min(least, key), max(most, key)
        zeros += np.int32(magnitude == np.int32(0))
        smallest = min(smallest, np.uint32(np.uint32(magnitude) - np.uint32(1)))  # 0 becomes the largest number
    largest = max(_magnitude(least), _magnitude(most))
    return least, most, min(np.int64(smallest) + 1, _MAGNITUDE), largest, np.int64(zeros)


@_compiled
def _float_of(key):
    """The float of a key of `_extent`; 0 has no sign."""
    return np.float64(np.int32(key ^ ((key >> 31) & _MAGNITUDE)).view(np.float32)) + 0.0


@_compiled
def _by_integers(x, words, first, exponent, indices):
    """Add the sums of elements of which the largest is below `2^exponent`, and leave the bin of each in `indices`."""
    grid = exponent - 24 - _SPAN
    scale = math.ldexp(1.0, -grid)
    shift = min(words[first + EXPONENT] - grid, 63)
    bins = words[first + BINS]
    total = sizes = high_squares = products = low_squares = np.int64(0)
    for place in range(x.size):
        k = np.int64(np.float64(x[place]) * scale)
        size = abs(k)
        high, low = size >> _HALF, size & ((1 << _HALF) - 1)
        total += k
        sizes += size
        high_squares += high * high
        products += high * low
        low_squares += low * low
        index = k >> shift
        indices[place] = index + (bins & (index >> 63))
    _add_to_sum(words, first + SUM, (sizes + total) >> 1, grid + 149)
    _add_to_sum(words, first + NEGATIVE_SUM, (sizes - total) >> 1, grid + 149)
    unit = 2 * grid + 298
    _add_to_sum(words, first + SQUARES, low_squares, unit)
    _add_to_sum(words, first + SQUARES, products, unit + _HALF + 1)
    _add_to_sum(words, first + SQUARES, high_squares, unit + 2 * _HALF)


@_in_any_order
def _float_sums(x, scale):
    """The sums of `k = x * scale`, of its sizes and of the products of its halves."""
    total = sizes = high_squares = products = low_squares = 0.0
    for place in range(x.size):
        k = np.float64(x[place]) * scale
        high = np.rint(k * (1.0 / (1 << _FLOAT_HALF)))
        low = k - high * (1 << _FLOAT_HALF)
        total += k
        sizes += abs(k)
        high_squares += high * high
        products += high * low
        low_squares += low * low
    return total, sizes, high_squares, products, low_squares


@_compiled
def _find_bins(x, per_bin, bins, indices):
    for place in range(x.size):
        index = np.int32(np.floor(x[place] * per_bin))
        indices[place] = index + (bins & np.int32(index >> np.int32(31)))


@_compiled
def _by_floats(x, words, first, exponent, indices):
    """What `_by_integers` does, for elements that `_FLOAT_SPAN` allows."""
    grid = exponent - 24 - _FLOAT_SPAN
    per_bin = np.float32(math.ldexp(1.0, -words[first + EXPONENT]))
    _find_bins(x, per_bin, np.int32(words[first + BINS]), indices)
    sums = _float_sums(x, math.ldexp(1.0, -grid))
    total, sizes, high_squares = np.int64(sums[0]), np.int64(sums[1]), np.int64(sums[2])
    products, low_squares = np.int64(sums[3]), np.int64(sums[4])
    _add_to_sum(words, first + SUM, (sizes + total) >> 1, grid + 149)
    _add_to_sum(words, first + NEGATIVE_SUM, (sizes - total) >> 1, grid + 149)
    # Products may be negative, and `h^2 - |h|` is not: their multiples of 2^20 go to the squares of `h`.
    unit, half = 2 * grid + 298, _FLOAT_HALF - 1
    _add_to_sum(words, first + SQUARES, low_squares, unit)
    _add_to_sum(words, first + SQUARES, products & ((1 << half) - 1), unit + _FLOAT_HALF + 1)
    _add_to_sum(words, first + SQUARES, high_squares + (products >> half), unit + 2 * _FLOAT_HALF)


@_compiled
def _one_by_one(x, bits, words, first, indices):
    """What `_by_integers` does, for any finite floats."""
    for place in range(x.size):
        field = (bits[place] >> 23) & 0xFF
        significand = np.int64(bits[place] & 0x7FFFFF) + (0x800000 if field else 0)
        position = max(field, 1) - 1
        _add_to_sum(words, first + (NEGATIVE_SUM if bits[place] < 0 else SUM), significand, position)
        _add_to_sum(words, first + SQUARES, significand * significand, 2 * position)
        index = _bin(np.float64(x[place]), words[first + EXPONENT])
        indices[place] = index + words[first + BINS] if index < 0 else index


@_compiled
def _gather(words, first, parts):
    """Move the counts in `parts`, four histograms, to the record."""
    bins = words[first + BINS]
    counts = words[first + COUNTS : first + COUNTS + bins]
    one, two = parts[:bins], parts[bins : 2 * bins]
    three, four = parts[2 * bins : 3 * bins], parts[3 * bins : 4 * bins]
    for place in range(bins):
        counts[place] += np.int64(one[place] + two[place] + three[place] + four[place])
    _clear(parts[: 4 * bins])


@_compiled
def _clear(counts):
    for place in range(counts.size):
        counts[place] = 0


@_compiled
def _fits_floats(smallest, field, exponent):
    """Whether `_by_floats` adds elements from `smallest` on, the largest with this exponent field, exactly.

    Their places in bins of `2^exponent` are f32, and not subnormal: a small negative one would lose its sign.
    """
    spans = smallest >= 0x800000 and field - (smallest >> 23) <= _FLOAT_SPAN
    return spans and field - 126 - 24 - _FLOAT_SPAN >= -149 and -126 <= exponent <= min((smallest >> 23) - 1, 126)


@_compiled
def _add_finite(x, bits, extent, words, reals, first, indices, parts, has_parts):
    """Add finite floats of this extent."""
    least, most, smallest, largest, zeros = extent
    low, high, size = _float_of(least), _float_of(most), x.size
    reals[first + RUN_LOW] = min(reals[first + RUN_LOW], low)
    reals[first + RUN_HIGH] = max(reals[first + RUN_HIGH], high)
    if low < reals[first + LOW] or high > reals[first + HIGH]:
        if has_parts:
            _gather(words, first, parts)
        _widen(words, reals, first, low, high)
    words[first + COUNT] += size
    words[first + ZEROS] += zeros
    if zeros == size:
        words[first + COUNTS] += zeros
        return
    field = largest >> 23
    if _fits_floats(smallest, field, words[first + EXPONENT]):
        _by_floats(x, words, first, field - 126, indices)
    elif smallest >= 0x800000 and field - (smallest >> 23) <= _SPAN and field - 126 - 24 - _SPAN >= -149:
        _by_integers(x, words, first, field - 126, indices)
    else:
        _one_by_one(x, bits, words, first, indices)
    if has_parts:
        bins, whole = np.uint64(words[first + BINS]), size & ~3
        for place in range(0, whole, 4):
            parts[indices[place]] += 1
            parts[bins + indices[place + 1]] += 1
            parts[2 * bins + indices[place + 2]] += 1
            parts[3 * bins + indices[place + 3]] += 1
        for place in range(whole, size):
            parts[indices[place]] += 1
    else:
        for place in range(size):
            words[first + COUNTS + indices[place]] += 1


@_compiled
def _finite(x, words, first, kept):
    """Write the finite ones of some elements to `kept`, count the others, and say how many are finite."""
    count = 0
    for place in range(x.size):
        each = x[place]
        if each != each:
            words[first + NANS] += 1
        elif each - each != 0:
            words[first + (NEGATIVE if each < 0 else POSITIVE)] += 1
        else:
            kept[count] = each
            count += 1
    return count


@_compiled
def _add_along(x, size, words, reals, first, indices, inner):
    """Widen the range of each index of the axis, behind which `inner` elements lie together."""
    lows = first + COUNTS + words[first + BINS]
    for run in range(size // inner):
        low_place = lows + run % indices
        low, high = reals[low_place], reals[low_place + indices]
        for place in range(run * inner, run * inner + inner):
            each = np.float64(x[place])
            if each - each == 0:
                low, high = min(low, each), max(high, each)
        reals[low_place], reals[low_place + indices] = low + 0.0, high + 0.0


def _add(x_at, size, words_at, first, indices, inner, places_at, kept_at, parts_at):
    """Add the statistics of `size` f32 to the record that begins at the word `first`, and the ranges of `indices`
    of an axis behind which `inner` elements lie together, if there are some. The last three are working memory."""
    x, bits = carray(x_at, (size,), np.float32), carray(x_at, (size,), np.int32)
    words, reals = carray(words_at, (_ANY,), np.int64), carray(words_at, (1,), np.float64)
    places, parts = carray(places_at, (CHUNK,), np.uint32), carray(parts_at, (4 * MOST_BINS,), np.int32)
    kept, kept_bits = carray(kept_at, (CHUNK,), np.float32), carray(kept_at, (CHUNK,), np.int32)
    bins = words[first + BINS]
    has_parts = size >= _MANY and bins <= MOST_BINS
    if has_parts:
        _clear(parts[: 4 * bins])
    for begin in range(0, size, CHUNK):
        # Loops begin at 0: of other indices numba asks whether they are negative, and LLVM finds no vectors.
        values, values_bits = x[begin : begin + CHUNK], bits[begin : begin + CHUNK]
        extent = _extent(values_bits)
        if extent[3] >= _INFINITY:
            count = _finite(values, words, first, kept)
            values, values_bits = kept[:count], kept_bits[:count]
            extent = _extent(values_bits)
        if values.size > 0:
            _add_finite(values, values_bits, extent, words, reals, first, places, parts, has_parts)
    if has_parts:
        _gather(words, first, parts)
    if indices:
        _add_along(x, size, words, reals, first, indices, inner)


def _widen_ranges(bits_at, repeats, images, inner, ends_at):
    """Widen the range of each image: `inner` f32 of each lie together, one image after the other, `repeats` times.

    `ends` has the smallest and the largest of an image, and the next ones follow. Infinities and NaN do not count."""
    bits, ends = carray(bits_at, (repeats * images * inner,), np.int32), carray(ends_at, (2 * images,), np.float64)
    for run in range(repeats * images):
        least, most = np.int32(_MAGNITUDE), np.int32(-_MAGNITUDE - 1)
        part = bits[run * inner : run * inner + inner]
        for place in range(inner):
            each = part[place]
            key = np.int32(each ^ np.int32((each >> np.int32(31)) & np.int32(_MAGNITUDE)))
            is_finite = np.int32(each & np.int32(_MAGNITUDE)) < _INFINITY
            least = min(least, key if is_finite else np.int32(_MAGNITUDE))
            most = max(most, key if is_finite else np.int32(-_MAGNITUDE - 1))
        if least <= most:
            image = 2 * (run % images)
            ends[image] = min(ends[image], _float_of(least))
            ends[image + 1] = max(ends[image + 1], _float_of(most))


_SYMBOL = record_symbol()

_POINTER, _NUMBER = types.voidptr, types.int64


def _provide(symbol: str, code: Any, parameters: Sequence[Any]) -> None:
    """Let LLVM find a function by its name. It is compiled, or loaded from numba's cache, where no program did so."""
    if llvm.address_of_symbol(symbol) is not None:
        return
    if kernels.work.is_helper:  # it calls nothing
        llvm.add_symbol(symbol, 1)
        return
    signature = types.void(*parameters)
    address = _kept(code, signature)
    if address is None:
        made: Any = cfunc
        compiled = made(signature, cache=True, **_OPTIONS)(code)
        _KEPT.append(compiled)
        address = compiled.address
    llvm.add_symbol(symbol, address)


def _kept(code: Any, signature: Any) -> int | None:
    """The address of the code that numba's cache has of a function, loaded without what numba knows of types.

    That would take a third of a second in each process. `None` where there is none, or it needs what is not there.
    """
    made: Any = CFunc(code, (signature.args, signature.return_type), locals={}, options=_OPTIONS)
    made.enable_caching()
    cache, target = made._cache, cast(Any, cpu_target).target_context
    found = cache._cache_file.load(cache._index_key(signature, target.codegen()))
    if found is None or found[0][1] != "object":
        return None
    data, bitcode = found[0][2]
    helpers: Any = import_module("numba.core.runtime._nrt_python")
    for name, address in helpers.c_helpers.items():  # as numba does when it begins to compile
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
    functions = (each for each in llvm.parse_bitcode(bitcode).functions if each.is_declaration)
    needs = [each.name for each in functions if not each.name.startswith("llvm.")]
    # LLVM ends the process where a symbol is missing.
    if any(llvm.address_of_symbol(name) is None for name in needs):
        return None
    engine = made_engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    _KEPT.append(engine)
    return engine.get_function_address(found[1].llvm_cfunc_wrapper_name)


_ADD = (_POINTER, _NUMBER, _POINTER, _NUMBER, _NUMBER, _NUMBER, _POINTER, _POINTER, _POINTER)


@cache
def provide_records() -> None:
    """Let LLVM find `_add` by its name."""
    _provide(_SYMBOL, _add, _ADD)


_KEPT: list[Any] = []
"""Code lives as long as what holds it."""


def _called(symbol: str, parameters: Sequence[Any]) -> Callable[..., None]:
    kinds = [ctypes.c_void_p if each is _POINTER else ctypes.c_int64 for each in parameters]
    return ctypes.CFUNCTYPE(None, *kinds)(llvm.address_of_symbol(symbol))


class Recording:
    """What compiled code does with records, for callers in Python. One thread at a time may use it."""

    def __init__(self) -> None:
        provide_records()
        widen, ranges = f"{_SYMBOL}_ranges", (_POINTER, _NUMBER, _NUMBER, _NUMBER, _POINTER)
        _provide(widen, _widen_ranges, ranges)
        self._add, self._widen_ranges = _called(_SYMBOL, _ADD), _called(widen, ranges)
        self._memory = [np.empty(count, np.int32) for count in SCRATCH]
        self._places = [each.ctypes.data for each in self._memory]

    def add(self, values: Any, record: Any, inner: int) -> None:
        """Add contiguous f32 to a record; of the ranges of an axis those behind which `inner` elements lie together."""
        self._add(values.ctypes.data, values.size, record.ctypes.data, 0, int(record[INDICES]), inner, *self._places)

    def widen_ranges(self, values: Any, repeats: int, ends: Any) -> None:
        """Widen the range of each image of contiguous f32 in `ends`, f64 of `[images, 2]`."""
        images = len(ends)
        self._widen_ranges(
            values.ctypes.data, repeats, images, values.size // (repeats * images), ends.ctypes.data
        )  # fmt: skip


def _record_type(x: Any, place: Any, records: Any, *numbers: Any) -> Any:
    arrays = (x, place, records)
    is_one = all(isinstance(each, types.Array) for each in arrays) and len(numbers) == 3
    return types.void if is_one and all(isinstance(each, types.Integer) for each in numbers) else None


def _record(emission: Emission, x: Any, place: Any, records: Any, size: Any, indices: Any, inner: Any) -> Any:
    builder, operands = emission.builder, emission.operands
    integer, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
    at, place_at, words_at = (
        emission.field(type_, array, "data") for type_, array in zip(operands[:3], (x, place, records), strict=True)
    )
    element = ir.IntType(32)
    scratch = [cgutils.alloca_once(builder, element, size=ir.Constant(integer, count)) for count in SCRATCH]
    numbers = [pointer, integer, pointer, integer, integer, integer, pointer, pointer, pointer]
    code = declared(builder.module, _SYMBOL, ir.VoidType(), numbers)
    first = builder.load(place_at)
    at, words_at, *memory = (builder.bitcast(each, pointer) for each in (at, words_at, *scratch))
    builder.call(code, [at, size, words_at, first, indices, inner, *memory])
    return emission.target.get_dummy_value()


OPERATIONS: dict[str, Any] = {"record": operation("record", _record_type, _record)}
"""Name to operation; the emitted code imports them by name."""
